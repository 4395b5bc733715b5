// The stages of a kernel as text, and its decisions as data.
//
// Shown is what the latest call or `prepare` ran; before any, what C-contiguous inputs of typical
// extents would give. Which engine that is shows only when the code is made, so then it is.
#include "jit/show.hpp"
#include "jit/calibrate.hpp"
#include "jit/describe_call.hpp"
#include "jit/failure.hpp"
#include "jit/kernel.hpp"
#include "jit/native/backend.hpp"
#include "jit/predict.hpp"
#include "jit/shown.hpp"
#include "jit/why.hpp"
#include "kernel/layouts.hpp"

#include "ops/complex.hpp"
#include "ops/ops.hpp"
#include "plan/explain.hpp"
#include "scale/fold.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"
#include "text/print_typed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace broadloom {

using support::decide;
using support::Reason;

kernel::Layouts KernelImpl::layouts_to_show() const {
  if (const auto special = layout_cache_.latest()) return special->layouts;
  std::vector<AnyView> inputs;
  for (const Layout &layout : kernel::typical_inputs(setup_.typed))
    inputs.push_back({setup_.typed.inputs[inputs.size()].dtype, nullptr, false, layout});
  return layouts_of_given(inputs);
}

KernelImpl::Shown KernelImpl::what_to_show() const {
  Shown shown;
  shown.special = layout_cache_.latest();
  shown.layouts = shown.special ? shown.special->layouts : layouts_to_show();
  const plan::Resolved resolved =
      plan::resolve(setup_.typed, shown.layouts.inputs, shown.layouts.wanted);
  const auto plan_for = [&](int threads) {
    plan::Plan plan =
        make_plan(shown.layouts, resolved, threads, true,
                  shown.special ? shown.special->generality : plan::Generality::Exact);
    shown.threads = threads;
    shown.program = std::move(plan.program);
    shown.binding = std::move(plan.binding);
    shown.why = std::move(plan.why);
  };
  if (shown.special) { // its plan is made once more, now with the reasons
    shown.failure = shown.special->failure;
    shown.engine = shown.special->engine;
    shown.pattern = shown.special->pattern;
    if (shown.engine != Engine::reference) plan_for(shown.special->threads);
    return shown;
  }
  try { // as `build`
    plan_for(setup_.threads);
  } catch (const InternalError &error) {
    if (!jit::may_fall_back(setup_)) throw;
    shown.failure = error.message();
    try {
      plan_for(1);
    } catch (const InternalError &) {
      shown.engine = Engine::reference;
    }
  }
  return shown;
}

// What runs, or would run, the program.
void KernelImpl::find_engine(Shown &shown) const {
  if (shown.engine == Engine::reference) return;
  if (!shown.pattern)
    shown.pattern = patterns_.make(shown.program, loop::key(shown.program), shown.layouts);
  shown.engine = shown.pattern->code ? Engine::jit : Engine::interpreter;
  if (shown.special && shown.special->interpreter_failed) shown.engine = Engine::reference;
}

std::string_view name(Engine engine) {
  switch (engine) {
  case Engine::automatic: return "auto";
  case Engine::jit: return "jit";
  case Engine::interpreter: return "interpreter";
  case Engine::reference: return "reference";
  }
  return {};
}

Engine KernelImpl::engine_used() const {
  if (setup_.engine == Engine::reference) return setup_.engine;
  if (fills_output()) return Engine::jit; // native code that is there already
  if (const KernelImpl *part = latest_kernels().back(); part != this) return part->engine_used();
  if (const auto special = layout_cache_.latest())
    return special->interpreter_failed ? Engine::reference : special->engine;
  Shown shown = what_to_show();
  find_engine(shown);
  return shown.engine;
}

namespace {

void add_libm(const loop::Program &program, std::vector<Decision> &result) {
  std::set<ops::Op> seen;
  const auto add = [&](ops::Op op) {
    if (ops::info(op).math == ops::Math::Libm && seen.insert(op).second)
      result.push_back(decide(Reason::LaneAtATime, std::string(ops::info(op).spelling),
                              "one lane at a time",
                              fmt::format("{} runs one lane at a time", ops::info(op).spelling)));
  };
  for (const loop::Value &value : program.values) {
    if (value.kind != loop::ValueKind::Op) continue;
    if (is_complex(value.compute))
      for (const ops::Op op : ops::complex::made_of(value.op)) add(op);
    else
      add(value.op);
  }
}

} // namespace

// What runs the program.
Decision KernelImpl::explain_engine(const Shown &shown) const {
  if (shown.engine == Engine::reference) {
    const std::string reason =
        shown.failure.empty() ? "the interpreter failed by a bug of ours" : shown.failure;
    return decide(Reason::NoPlan, "", "reference",
                  "reference, for want of a program that runs: " + reason,
                  {{"native code", reason}, {"interpreter", reason}});
  }
  if (!setup_.target) {
    const bool asked = setup_.engine == Engine::interpreter;
    return decide(asked ? Reason::InterpreterAsked : Reason::NoNativeTarget, "", "interpreter",
                  std::string(name(setup_.engine)) + ": the loop IR, one point at a time");
  }
  const std::string native =
      fmt::format("native code for {} ({}, {}-bit vectors)", setup_.target->name,
                  setup_.target->cpu, setup_.target->vector_bits);
  if (shown.engine == Engine::interpreter)
    return decide(Reason::NoNativeCode, "", "interpreter",
                  "interpreter, for want of native code: " + shown.pattern->no_code,
                  {{"native code", shown.pattern->no_code}});
  return decide(Reason::NativeCode, "", "native code", native,
                {{"interpreter", "the same bits, far slower"}});
}

// What was decided about let k, and by its kernel.
std::vector<Decision> KernelImpl::explain_let(std::size_t k) const {
  std::vector<Decision> why;
  const spec::Materialised &spec = *lets_.specs()[k];
  const std::string &name = spec.typed.outputs[0].name;
  if (spec.join)
    return {decide(Reason::LetIsArray, name, "an array",
                   fmt::format("let '{}' is made up of {}: each is computed where it lies in it",
                               name, support::quoted_list(spec.join->parts)),
                   {{"copied together", "that would read and write all of it once more"}})};
  if (const auto &rows = lets_.rows_of_loop(k)) {
    const std::string &loop = lets_.specs()[rows->loop]->typed.outputs[0].name;
    return {
        decide(Reason::LetIsRows, name, "rows of " + loop,
               fmt::format("let '{}' is '{}' {} before, which lies there with what it begins with",
                           name, loop, support::count(rows->back, "step")),
               {{"an array", "that would write and read all of it once more"}})};
  }
  const KernelImpl &let = *lets_.kernels()[k];
  why.push_back(decide(Reason::LetIsArray, name, "an array",
                       fmt::format("let '{}' is read at positions: it is computed first, into "
                                   "an array of {}",
                                   name, broadloom::name(let.typed().outputs[0].dtype)),
                       {{"computed where it is read", "only a whole array has positions"}}));
  if (const std::optional<int> time = let.typed().time) {
    const std::string &axis = let.typed().axes[std::size_t(*time)].name;
    why.push_back(decide(Reason::LetGoesByStep, name, "step by step along " + axis,
                         fmt::format("let '{}' reads itself at other positions of '{}': a kernel "
                                     "of one step is run for one after the other",
                                     name, axis),
                         {{"all at once", "each step waits for the one before it"}}));
  }
  if (const std::int64_t rows = spec.recurrence ? spec.recurrence->lag + 1 : 0;
      lets_.keeps_last_rows(k))
    why.push_back(
        decide(Reason::LetKeepsRows, name, fmt::format("{} rows", rows),
               fmt::format("only the last position of let '{}' is read: {} {} kept, "
                           "which a step reads and writes",
                           name, support::count(rows, "position"), rows == 1 ? "is" : "are"),
               {{"all positions", "none but the last is read"}}));
  if (const auto layouts = lets_.latest()) {
    if (std::ranges::count(layouts->reordered, k) != 0)
      why.push_back(
          decide(Reason::LetOrder, name,
                 fmt::format("strides {}", fmt::join(layouts->lets[k].steps(), ", ")),
                 fmt::format("let '{}' lies as what reads it goes through it: {:.3g} bytes "
                             "in all, {:.3g} in the order of what it reads",
                             name, layouts->traffic, layouts->traffic_before),
                 {{"the order of what it reads", "more lines are read across"}}));
    if (layouts->segment[k] > 0 && !lets_.keeps_last_rows(k))
      why.push_back(decide(
          Reason::LetCheckpoints, name, fmt::format("every {} steps", layouts->segment[k]),
          fmt::format(
              "of let '{}' {} positions are kept at once, and one of every {}, from which the "
              "others are computed again for what goes back along it",
              name, layouts->kept_rows[k], layouts->segment[k]),
          {{"all positions", "they take more than BROADLOOM_LOOP_BYTES"}}));
  }
  const std::vector<Decision> own = let.why_one();
  why.insert(why.end(), own.begin(), own.end());
  return why;
}

std::vector<Decision> KernelImpl::explain_rest() const {
  std::vector<Decision> why;
  if (const auto layouts = lets_.latest()) {
    std::int64_t apart = 0;
    for (const std::int64_t bytes : layouts->bytes) apart += bytes;
    why.push_back(decide(Reason::LetsShareMemory, "",
                         fmt::format("{} bytes", layouts->places.bytes),
                         fmt::format("the arrays of lets take {} bytes at once, {} if none shared "
                                     "memory with another",
                                     layouts->places.bytes, apart),
                         {}, {.bytes = double(layouts->places.bytes)}));
  }
  const std::vector<Decision> own = why_one();
  why.insert(why.end(), own.begin(), own.end());
  return why;
}

// Text and JSON have them in the same order.
std::vector<Decision> KernelImpl::why() const try {
  const support::FloatWorld world;
  std::vector<Decision> result;
  const auto add = [&](const std::vector<Decision> &more) {
    result.insert(result.end(), more.begin(), more.end());
  };
  for (std::size_t k = 0; k < lets_.specs().size(); ++k) add(explain_let(k));
  add(explain_rest());
  return result;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

// Of one kernel, without its lets; what computes the values of sums through gathers comes first.
std::vector<Decision> KernelImpl::why_one() const {
  std::vector<Decision> result;
  const auto add = [&](const std::vector<Decision> &more) {
    result.insert(result.end(), more.begin(), more.end());
  };
  if (before_) add(before_->why_one());
  if (setup_.engine == Engine::reference) {
    add(setup_.typed.notes);
    result.push_back(decide(Reason::ReferenceAsked, "", "reference",
                            "reference: point by point from the definition"));
    return result;
  }
  if (fills_output()) {
    add(setup_.typed.notes);
    const std::string &name = setup_.typed.outputs[0].name;
    result.push_back(
        decide(Reason::GatherFillsOutput, name, "a gather",
               fmt::format("a gather fills '{}': no loop is run, and no code compiled", name),
               {{"native code", "it would move each element once more"}}));
    return result;
  }
  for (const KernelImpl *kernel : latest_kernels())
    add(kernel == this ? why_own() : kernel->why_one());
  explain_classes(result);
  explain_padding(result);
  return result;
}

std::vector<Decision> KernelImpl::why_own() const {
  std::vector<Decision> result = setup_.typed.notes;
  Shown shown = what_to_show();
  find_engine(shown);
  if (shown.engine == Engine::reference) {
    result.push_back(explain_engine(shown));
    return result;
  }
  const auto append = [&](const std::vector<Decision> &more) {
    result.insert(result.end(), more.begin(), more.end());
  };
  append(shown.why);
  append(plan::explain_program(setup_.typed, shown.program, shown.binding));
  if (!shown.failure.empty())
    result.push_back(decide(Reason::PlanFailed, "", "a plan for one thread",
                            "a plan for one thread: " + shown.failure,
                            {{"a plan for several threads", shown.failure}}));
  result.push_back(explain_engine(shown));
  if (shown.engine == Engine::jit) {
    const block::Program &blocks = shown.pattern->code->blocks();
    const loop::Numbers numbers = shown.binding.numbers();
    append(block::explain(shown.program, blocks, &numbers));
    append(jit::explain_weights(blocks.weights));
    add_libm(shown.program, result);
  }
  if (!shown.special) return result;
  result.push_back(shown.special->found);
  if (shown.pattern->code) {
    const Counters counters = this->counters();
    result.push_back(
        decide(Reason::CodeSize, "", fmt::format("{} bytes", shown.pattern->code->code_bytes()),
               fmt::format("{} bytes; {} compiled by this kernel in {:.2f} ms in all",
                           shown.pattern->code->code_bytes(),
                           support::count(counters.compiles, "pattern"), counters.compile_ms)));
  }
  append(jit::explain_threads(shown.program, shown.binding, setup_.machine(shown.threads)));
  return result;
}

KernelImpl::Shown KernelImpl::program_to_show() const {
  Shown shown = what_to_show();
  if (shown.engine == Engine::reference)
    support::fail(
        "E0501",
        fmt::format("kernel '{}' has no loop program: {}", setup_.typed.name, shown.failure), {},
        "the reference evaluates it, with the same results; please report the bug");
  return shown;
}

// A program whose calls run as native code.
KernelImpl::Shown KernelImpl::native_to_show() const {
  if (!setup_.target)
    support::fail("E0501",
                  fmt::format("kernel '{}' was compiled for the {} engine and has no native code",
                              setup_.typed.name, name(setup_.engine)),
                  {}, "compile it with Engine::automatic or Engine::jit");
  Shown shown = program_to_show();
  find_engine(shown);
  if (shown.engine != Engine::jit)
    support::fail("E0501",
                  fmt::format("kernel '{}' has no native code, and runs in the {}: {}",
                              setup_.typed.name, name(shown.engine), shown.pattern->no_code),
                  {}, "`--stage loop` shows what runs, `--stage why` the reasons");
  return shown;
}

Prediction KernelImpl::predict() const {
  if (const auto kernels = latest_kernels(); kernels.back() != this) {
    Prediction all;
    for (const KernelImpl *kernel : kernels) {
      const Prediction one = kernel == this ? predict_own() : kernel->predict();
      all.seconds += one.seconds;
      all.phases.insert(all.phases.end(), one.phases.begin(), one.phases.end());
    }
    return all;
  }
  return predict_own();
}

Prediction KernelImpl::predict_own() const {
  const support::FloatWorld world;
  if (fills_output()) return {};
  const Shown shown = native_to_show();
  Prediction all;
  const auto add = [&](const Prediction &one) {
    all.seconds += one.seconds;
    all.phases.insert(all.phases.end(), one.phases.begin(), one.phases.end());
  };
  for (const auto &let : lets_.kernels())
    if (let) add(let->predict());
  add(jit::predict(shown.program, shown.pattern->code->blocks(), shown.binding,
                   setup_.machine(shown.threads),
                   jit::rates_here(*setup_.target, setup_.threads, setup_.options.cache_dir)));
  return all;
}

// The decisions, and behind them what each phase is predicted to take where there is native code.
std::vector<Decision> KernelImpl::why_with_times() const {
  std::vector<Decision> result = why();
  if (engine_used() != Engine::jit || fills_output()) return result;
  const Prediction prediction = predict();
  for (std::size_t p = 0; p < prediction.phases.size(); ++p) {
    const std::string phase = fmt::format("phase {}", p);
    const std::string time = fmt::format("{:.3g} ms", prediction.phases[p] * 1e3);
    result.push_back(decide(Reason::PredictedTime, phase, time,
                            fmt::format("{} is predicted to take {}", phase, time), {},
                            {.ns = prediction.phases[p] * 1e9}));
  }
  return result;
}

// The kernels of lets come first, each under a line that names it. A drawing shows all of them.
std::string KernelImpl::show(Stage stage, const ShowFormat &format) const try {
  const support::FloatWorld world;
  const bool one = stage == Stage::spec || stage == Stage::call ||
                   (stage == Stage::why && format.json) ||
                   (stage == Stage::graph && format.graph != ShowFormat::Graph::text);
  if (one || lets_.empty()) return show_rest(stage, format);
  std::string text;
  for (std::size_t k = 0; k < lets_.kernels().size(); ++k)
    text += fmt::format("# let {}\n{}\n", lets_.specs()[k]->typed.outputs[0].name,
                        show_let(k, stage, format));
  return text + fmt::format("# kernel {}\n", setup_.typed.name) + show_rest(stage, format);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

static std::string text_of(std::span<const Decision> decisions) {
  std::string text;
  for (const Decision &decision : decisions)
    text += fmt::format("{}: {}\n", decision.topic, decision.text);
  return text;
}

std::string KernelImpl::show_let(std::size_t k, Stage stage, const ShowFormat &format) const {
  if (stage == Stage::why) return text_of(explain_let(k));
  if (const auto &join = lets_.specs()[k]->join)
    return "made up of " + support::quoted_list(join->parts) + "\n";
  const auto &rows = lets_.rows_of_loop(k);
  const bool of_text = stage == Stage::folded || stage == Stage::axes || stage == Stage::graph;
  if (rows && !of_text)
    return fmt::format("rows of '{}', which lie there\n",
                       lets_.specs()[rows->loop]->typed.outputs[0].name);
  return lets_.kernels()[k]->show_one(stage, format);
}

std::string KernelImpl::show_rest(Stage stage, const ShowFormat &format) const {
  if (stage == Stage::why) return format.json ? to_json(why_with_times()) : text_of(explain_rest());
  return show_one(stage, format);
}

// What computes the values of sums through gathers comes first.
std::string KernelImpl::show_one(Stage stage, const ShowFormat &format) const {
  const bool of_text = stage == Stage::spec || stage == Stage::call || stage == Stage::folded ||
                       stage == Stage::axes || stage == Stage::graph;
  if (before_ && !of_text) return before_->show_one(stage, format) + "\n" + show_own(stage, format);
  return show_own(stage, format);
}

// What runs last, and what the text says.
std::string KernelImpl::show_own(Stage stage, const ShowFormat &format) const {
  const bool of_program = stage == Stage::plan || stage == Stage::loop || stage == Stage::block ||
                          stage == Stage::llvm || stage == Stage::assembly;
  if (of_program && fills_output())
    return fmt::format("# no loop runs: a gather fills '{}' (--stage call)\n",
                       setup_.typed.outputs[0].name);
  if (const auto kernels = latest_kernels(); of_program && kernels.back() != this) {
    std::string text;
    for (const KernelImpl *kernel : kernels) {
      std::string names;
      for (const spec::TypedOutput &output : kernel->setup().typed.outputs)
        names += (names.empty() ? "" : ", ") + output.name;
      if (kernel == this) names = "the rest";
      if (kernels.size() > 1) text += fmt::format("# part {}\n", names);
      text += kernel == this ? show_stage(stage, format) : kernel->show_stage(stage, format);
    }
    return text;
  }
  return show_stage(stage, format);
}

std::string KernelImpl::show_stage(Stage stage, const ShowFormat &format) const {
  switch (stage) {
  case Stage::spec: return print(setup_.spec);
  case Stage::folded:
    return print(scale::is_wanted(setup_.spec.data()) ? fold_scales(setup_.spec) : setup_.spec);
  case Stage::axes: {
    const kernel::Layouts layouts = layouts_to_show();
    return spec::print_axes(setup_.whole()) +
           spec::print_axis_table(setup_.typed, layouts.inputs, layouts.outputs, layouts.wanted);
  }
  case Stage::graph: return show_graph(format.graph);
  case Stage::call: return calls::print(jit::describe_call(*this));
  case Stage::plan: {
    const Shown shown = program_to_show();
    return jit::plan_text(setup_.typed, shown.layouts, shown.program, shown.binding, shown.why);
  }
  case Stage::loop: return loop::print(program_to_show().program);
  case Stage::block: {
    const Shown shown = native_to_show();
    const loop::Numbers numbers = shown.binding.numbers();
    return block::print(shown.program, shown.pattern->code->blocks(), &numbers);
  }
  case Stage::llvm: {
    const Shown shown = native_to_show();
    return jit::backend().llvm_text(shown.program, shown.pattern->code->blocks(), *setup_.target);
  }
  case Stage::assembly: {
    const Shown shown = native_to_show();
    return jit::asm_listing(shown.program, shown.pattern->code->blocks(), shown.binding,
                            *setup_.target, format.whole);
  }
  case Stage::why: break; // show_rest
  }
  return {};
}

} // namespace broadloom

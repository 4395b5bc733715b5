// The stages of a kernel as text, and its decisions as data.
#include "jit/show/show.hpp"
#include "jit/native/backend.hpp"
#include "jit/nest/explain_program.hpp"
#include "jit/nest/show_asm.hpp"
#include "jit/nest/show_plan.hpp"
#include "jit/show/predict.hpp"
#include "jit/show/shown.hpp"
#include "jit/show/why.hpp"

#include "scale/fold.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"
#include "text/print_typed.hpp"

#include <fmt/format.h>

namespace broadloom::jit {

using support::decide;
using support::Reason;

namespace {

std::string text_of(std::span<const Decision> decisions) {
  std::string text;
  for (const Decision &decision : decisions)
    text += fmt::format("{}: {}\n", decision.topic, decision.text);
  return text;
}

// The decisions, and behind them what each phase is predicted to take where there is native code.
std::vector<Decision> why_with_times(const KernelImpl &kernel) {
  std::vector<Decision> result = why(kernel);
  const Nest &rest = kernel.nests().rest;
  if (engine_used(rest) != Engine::jit || fills_output(rest)) return result;
  const Prediction prediction = predict(kernel);
  for (std::size_t p = 0; p < prediction.phases.size(); ++p) {
    const std::string phase = fmt::format("phase {}", p);
    const std::string time = fmt::format("{:.3g} ms", prediction.phases[p] * 1e3);
    result.push_back(decide(Reason::PredictedTime, phase, time,
                            fmt::format("{} is predicted to take {}", phase, time), {},
                            {.ns = prediction.phases[p] * 1e9}));
  }
  return result;
}

std::string show_stage(const Nest &nest, Stage stage, const ShowFormat &format) {
  const Setup &setup = nest.setup();
  switch (stage) {
  case Stage::spec: return print(setup.spec);
  case Stage::folded:
    return print(scale::is_wanted(setup.spec.data()) ? fold_scales(setup.spec) : setup.spec);
  case Stage::axes: {
    const kernel::Layouts layouts = layouts_to_show(nest);
    return text::print_axes(setup.whole()) +
           text::print_axis_table(nest.typed(), layouts.inputs, layouts.outputs, layouts.wanted);
  }
  case Stage::graph: return text::print_graph(setup.whole());
  case Stage::plan: {
    const Shown shown = program_to_show(nest);
    return plan_text(nest.typed(), shown.layouts, shown.program, shown.binding, shown.why);
  }
  case Stage::loop: return loop::print(program_to_show(nest).program);
  case Stage::block: {
    const Shown shown = native_to_show(nest);
    const loop::Numbers numbers = shown.binding.numbers();
    return block::print(shown.program, shown.pattern->code->blocks(), &numbers);
  }
  case Stage::llvm: {
    const Shown shown = native_to_show(nest);
    return backend().llvm_text(shown.program, shown.pattern->code->blocks(), *setup.target);
  }
  case Stage::assembly: {
    const Shown shown = native_to_show(nest);
    return asm_listing(shown.program, shown.pattern->code->blocks(), shown.binding, *setup.target,
                       format.whole);
  }
  case Stage::call:
  case Stage::why: break; // show
  }
  return {};
}

// What runs last, and what the text says.
std::string show_own(const Nest &nest, Stage stage, const ShowFormat &format) {
  const bool of_program = stage == Stage::plan || stage == Stage::loop || stage == Stage::block ||
                          stage == Stage::llvm || stage == Stage::assembly;
  if (of_program && fills_output(nest))
    return fmt::format("# no loop runs: a gather fills '{}' (--stage call)\n",
                       nest.typed().outputs[0].name);
  if (const auto nests = latest_nests(nest); of_program && nests.back() != &nest) {
    std::string text;
    for (const Nest *part : nests) {
      const std::string names =
          part == &nest ? "the rest"
                        : support::joined(part->typed().outputs, &spec::TypedOutput::name);
      if (nests.size() > 1) text += fmt::format("# part {}\n", names);
      text += show_stage(*part, stage, format);
    }
    return text;
  }
  return show_stage(nest, stage, format);
}

// Of one nest, for all stages but the call; what computes the values of sums through gathers comes
// first.
std::string show_one(const Nest &nest, Stage stage, const ShowFormat &format) {
  const bool of_text = stage == Stage::spec || stage == Stage::folded || stage == Stage::axes ||
                       stage == Stage::graph;
  const Nest *before = nest.before();
  if (before != nullptr && !of_text)
    return show_one(*before, stage, format) + "\n" + show_own(nest, stage, format);
  return show_own(nest, stage, format);
}

std::string show_let(const KernelImpl &kernel, std::size_t k, Stage stage,
                     const ShowFormat &format) {
  const Lets &lets = kernel.nests().lets;
  if (stage == Stage::why) return text_of(explain_let(kernel, k));
  if (const auto &join = lets.specs()[k]->join)
    return "made up of " + support::quoted_list(join->parts) + "\n";
  const auto &rows = lets.rows_of_loop(k);
  const bool of_text = stage == Stage::folded || stage == Stage::axes || stage == Stage::graph;
  if (rows && !of_text)
    return fmt::format("rows of '{}', which lie there\n",
                       lets.specs()[rows->loop]->typed.outputs[0].name);
  if (!of_text && lets.is_shape(k)) return "not computed: only its shape is read\n";
  return show_one(*lets.nests()[k], stage, format);
}

} // namespace

// The kernels of lets come first, each under a line that names it. A drawing shows all of them.
std::string show(const KernelImpl &kernel, Stage stage, const ShowFormat &format) try {
  const support::FloatWorld world;
  const Lets &lets = kernel.nests().lets;
  if (stage == Stage::call) return calls::print(describe_call(kernel));
  if (stage == Stage::graph && format.graph != ShowFormat::Graph::text)
    return show_graph(kernel, format.graph);
  if (stage == Stage::why && format.json) return to_json(why_with_times(kernel));
  std::string text;
  for (std::size_t k = 0; k < lets.nests().size() && stage != Stage::spec; ++k)
    text += fmt::format("# let {}\n{}\n", lets.specs()[k]->typed.outputs[0].name,
                        show_let(kernel, k, stage, format));
  if (!text.empty()) text += fmt::format("# kernel {}\n", kernel.typed().name);
  return text + (stage == Stage::why ? text_of(explain_rest(kernel))
                                     : show_one(kernel.nests().rest, stage, format));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom::jit

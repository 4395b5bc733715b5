// See shown.hpp.
#include "jit/show/shown.hpp"
#include "jit/nest/specialise.hpp"

#include "jit/call/choose_call.hpp"
#include "jit/nest/failure.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

namespace broadloom {

std::string_view name(Engine engine) {
  switch (engine) {
  case Engine::automatic: return "auto";
  case Engine::jit: return "jit";
  case Engine::interpreter: return "interpreter";
  case Engine::reference: return "reference";
  }
  return {};
}

namespace jit {

std::vector<AnyView> typical_views(const spec::TypedSpec &typed) {
  std::vector<AnyView> views;
  for (const Layout &layout : kernel::typical_inputs(typed))
    views.push_back({typed.inputs[views.size()].dtype, nullptr, false, layout});
  return views;
}

std::vector<AnyView> with_outputs(const KernelImpl &kernel, kernel::Operands given) {
  std::vector<AnyView> operands;
  for (const AnyView *view : given) operands.push_back(*view);
  const kernel::Layouts layouts = kernel.layouts_of_given(operands);
  for (std::size_t o = 0; o < layouts.outputs.size(); ++o)
    operands.push_back({kernel.typed().outputs[o].dtype, nullptr, true, layouts.outputs[o]});
  return operands;
}

namespace {

// The operands of a call on C-contiguous inputs of typical extents.
std::vector<AnyView> typical_call(const KernelImpl &kernel) {
  const spec::TypedSpec &typed = kernel.typed();
  std::vector<AnyView> inputs = typical_views(typed), views;
  const std::vector<AnyView> typical = inputs;
  inputs.resize(typed.callers_inputs());
  const Lets &lets = kernel.subs().lets();
  const std::vector<const AnyView *> in = kernel::pointers_to(inputs);
  if (!lets.empty()) views = lets.views(*lets.layouts(in), nullptr);
  std::vector<const AnyView *> given = lets.operands_of_rest(in, views, {});
  std::optional<kernel::LentOperands> said; // or, of outputs that are not there, typical
  if (typed.lent_input() != nullptr)
    for (std::size_t i = given.size(); i < typed.given_inputs(); ++i) given.push_back(&typical[i]);
  else
    said.emplace(typed, given);
  const std::vector<AnyView> operands =
      with_outputs(kernel, said ? said->all() : kernel::Operands(given));
  inputs.insert(inputs.end(), operands.end() - std::ptrdiff_t(typed.outputs.size()),
                operands.end());
  return inputs;
}

std::shared_ptr<const CallPlan> planned_call(const KernelImpl &kernel) try {
  const auto latest = kernel.latest_windows();
  if (!latest)
    return choose_call(kernel, kernel::pointers_to(typical_call(kernel)), {}, Purpose::Tell);
  const spec::TypedSpec &typed = kernel.typed();
  std::vector<AnyView> views;
  for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
    views.push_back({typed.inputs[i].dtype, nullptr, false, latest->layouts.inputs[i]});
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    views.push_back({typed.outputs[o].dtype, nullptr, true, latest->layouts.outputs[o]});
  std::vector<const AnyView *> operands = kernel::pointers_to(views);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    if (!latest->layouts.wanted[o]) operands[typed.callers_inputs() + o] = nullptr;
  return choose_call(kernel, operands, {}, Purpose::Tell);
} catch (const ShapeError &error) {
  support::fail("E0501",
                fmt::format("kernel '{}' was not called, and no typical extents fit: {}",
                            kernel.typed().name, error.message()),
                {}, "call or prepare it first, or give data by --in");
}

} // namespace

std::shared_ptr<const CallPlan> plan_to_show(const KernelImpl &kernel) {
  const auto latest = kernel.plans().latest();
  return latest ? latest : planned_call(kernel);
}

calls::Call describe_call(const KernelImpl &kernel) { return plan_to_show(kernel)->shown; }

bool fills_output(const KernelImpl &kernel) {
  const auto is_gather = [](const spec::TypedInput &input) {
    return input.window && input.window->is_gather();
  };
  const spec::TypedSpec &typed = kernel.typed();
  if (typed.time || typed.inputs.empty() || !is_gather(typed.inputs.back())) return false;
  if (const auto latest = kernel.latest_windows()) return latest->fills_output;
  const std::vector<AnyView> given = typical_views(typed);
  const std::vector<AnyView> operands = with_outputs(kernel, kernel::pointers_to(given));
  return kernel::choose_windows(typed, kernel::pointers_to(operands), {}, kernel.setup().windows())
      .fills_output;
}

std::vector<const KernelImpl *> latest_kernels(const KernelImpl &kernel) {
  std::vector<const KernelImpl *> kernels;
  if (!kernel.setup().by_parts.empty())
    if (const auto latest = kernel.latest_windows())
      for (const kernel::PartId &id : last_parts(*latest))
        kernels.push_back(&kernel.subs().of_part(id));
  if (kernels.empty()) kernels.push_back(&kernel);
  return kernels;
}

kernel::Layouts layouts_to_show(const KernelImpl &kernel) {
  if (const auto special = kernel.latest()) return special->layouts;
  return kernel.layouts_of_given(typical_views(kernel.typed()));
}

Shown what_to_show(const KernelImpl &kernel) {
  Shown shown;
  shown.special = kernel.latest();
  shown.layouts = shown.special ? shown.special->layouts : layouts_to_show(kernel);
  const plan::Resolved resolved =
      plan::resolve(kernel.typed(), shown.layouts.inputs, shown.layouts.wanted);
  const auto plan_for = [&](int threads) {
    plan::Plan plan =
        make_plan(kernel.setup(), shown.layouts, resolved, threads, true,
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
  try { // as `specialise`
    plan_for(kernel.setup().threads);
  } catch (const InternalError &error) {
    if (!may_fall_back(kernel.setup())) throw;
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
void find_engine(const KernelImpl &kernel, Shown &shown) {
  if (shown.engine == Engine::reference) return;
  if (!shown.pattern)
    shown.pattern = kernel.patterns().make(shown.program, loop::key(shown.program), shown.layouts);
  shown.engine = shown.pattern->code ? Engine::jit : Engine::interpreter;
  if (shown.special && shown.special->interpreter_failed) shown.engine = Engine::reference;
}

Engine engine_used(const KernelImpl &kernel) {
  if (kernel.setup().engine == Engine::reference) return kernel.setup().engine;
  if (fills_output(kernel)) return Engine::jit; // native code that is there already
  if (const KernelImpl *part = latest_kernels(kernel).back(); part != &kernel)
    return engine_used(*part);
  if (const auto special = kernel.latest())
    return special->interpreter_failed ? Engine::reference : special->engine;
  Shown shown = what_to_show(kernel);
  find_engine(kernel, shown);
  return shown.engine;
}

Shown program_to_show(const KernelImpl &kernel) {
  Shown shown = what_to_show(kernel);
  if (shown.engine == Engine::reference)
    support::fail(
        "E0501",
        fmt::format("kernel '{}' has no loop program: {}", kernel.typed().name, shown.failure), {},
        "the reference evaluates it, with the same results; please report the bug");
  return shown;
}

// A program whose calls run as native code.
Shown native_to_show(const KernelImpl &kernel) {
  if (!kernel.setup().target)
    support::fail("E0501",
                  fmt::format("kernel '{}' was compiled for the {} engine and has no native code",
                              kernel.typed().name, name(kernel.setup().engine)),
                  {}, "compile it with Engine::automatic or Engine::jit");
  Shown shown = program_to_show(kernel);
  find_engine(kernel, shown);
  if (shown.engine != Engine::jit) fail_without_code(kernel, shown.engine, shown.pattern->no_code);
  return shown;
}

void fail_without_code(const KernelImpl &kernel, Engine engine, const std::string &why) {
  support::fail("E0501",
                fmt::format("kernel '{}' has no native code, and runs in the {}: {}",
                            kernel.typed().name, name(engine), why),
                {}, "`--stage loop` shows what runs, `--stage why` the reasons");
}

} // namespace jit

std::shared_ptr<const kernel::WindowChoice> KernelImpl::latest_windows() const {
  if (setup_.has_windows) {
    const std::lock_guard lock(mutex_);
    return latest_windows_;
  }
  const auto special = layout_cache_.latest();
  if (!special) return nullptr;
  kernel::WindowChoice choice{.layouts = special->layouts};
  choice.parts.push_back({{}, {}, {}, special->layouts.wanted, {}});
  return std::make_shared<const kernel::WindowChoice>(std::move(choice));
}

void KernelImpl::note_windows(std::shared_ptr<const kernel::WindowChoice> choice) const {
  const std::lock_guard lock(mutex_);
  latest_windows_ = std::move(choice);
}

} // namespace broadloom

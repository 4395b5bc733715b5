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
  case Engine::tiered: return "tiered";
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

std::vector<AnyView> with_outputs(const Nest &nest, kernel::Operands given) {
  std::vector<AnyView> operands;
  for (const AnyView *view : given) operands.push_back(*view);
  const kernel::Layouts layouts = nest.layouts_of_given(given);
  for (std::size_t o = 0; o < layouts.outputs.size(); ++o)
    operands.push_back({nest.typed().outputs[o].dtype, nullptr, true, layouts.outputs[o]});
  return operands;
}

namespace {

// The operands of a call on C-contiguous inputs of typical extents.
std::vector<AnyView> typical_call(const KernelImpl &kernel) {
  const spec::TypedSpec &typed = kernel.typed();
  std::vector<AnyView> inputs = typical_views(typed), views;
  const std::vector<AnyView> typical = inputs;
  inputs.resize(typed.callers_inputs());
  const Lets &lets = kernel.nests().lets;
  const std::vector<const AnyView *> in = kernel::pointers_to(inputs);
  if (!lets.empty()) views = lets.views(*lets.layouts(in), nullptr);
  std::vector<const AnyView *> given = lets.operands_of_rest(in, views, {});
  std::optional<kernel::LentOperands> said; // or, of outputs that are not there, typical
  if (typed.lent_input() != nullptr)
    for (std::size_t i = given.size(); i < typed.given_inputs(); ++i) given.push_back(&typical[i]);
  else
    said.emplace(typed, given);
  const std::vector<AnyView> operands =
      with_outputs(kernel.nests().rest, said ? said->all() : kernel::Operands(given));
  inputs.insert(inputs.end(), operands.end() - std::ptrdiff_t(typed.outputs.size()),
                operands.end());
  return inputs;
}

std::shared_ptr<const CallPlan> planned_call(const KernelImpl &kernel) try {
  const auto latest = kernel.nests().rest.latest_windows();
  if (!latest)
    return choose_call(kernel.nests(), kernel::pointers_to(typical_call(kernel)), {},
                       Purpose::Tell);
  const spec::TypedSpec &typed = kernel.typed();
  std::vector<AnyView> views;
  for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
    views.push_back({typed.inputs[i].dtype, nullptr, false, latest->layouts.inputs[i]});
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    views.push_back({typed.outputs[o].dtype, nullptr, true, latest->layouts.outputs[o]});
  std::vector<const AnyView *> operands = kernel::pointers_to(views);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    if (!latest->layouts.wanted[o]) operands[typed.callers_inputs() + o] = nullptr;
  return choose_call(kernel.nests(), operands, {}, Purpose::Tell);
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

bool fills_output(const Nest &nest) {
  const auto is_gather = [](const spec::TypedInput &input) {
    return input.window && input.window->is_gather();
  };
  const spec::TypedSpec &typed = nest.typed();
  if (typed.time || typed.inputs.empty() || !is_gather(typed.inputs.back())) return false;
  if (const auto latest = nest.latest_windows()) return latest->fills_output;
  const std::vector<AnyView> given = typical_views(typed);
  const std::vector<AnyView> operands = with_outputs(nest, kernel::pointers_to(given));
  return kernel::choose_windows(typed, kernel::pointers_to(operands), {}, nest.setup().windows())
      .fills_output;
}

std::vector<const Nest *> latest_nests(const Nest &nest) {
  std::vector<const Nest *> nests;
  if (!nest.setup().by_parts.empty())
    if (const auto latest = nest.latest_windows())
      for (const kernel::PartId &id : last_parts(*latest)) nests.push_back(&nest.of_part(id));
  if (nests.empty()) nests.push_back(&nest);
  return nests;
}

kernel::Layouts layouts_to_show(const Nest &nest) {
  if (const auto special = nest.latest()) return special->layouts;
  return nest.layouts_of_given(kernel::pointers_to(typical_views(nest.typed())));
}

Shown what_to_show(const Nest &nest) {
  Shown shown;
  shown.special = nest.latest();
  shown.layouts = shown.special ? shown.special->layouts : layouts_to_show(nest);
  const plan::Resolved resolved =
      plan::resolve(nest.typed(), shown.layouts.inputs, shown.layouts.wanted);
  const auto plan_for = [&](int threads) {
    plan::Plan plan =
        make_plan(nest.setup(), shown.layouts, resolved, threads, true,
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
    plan_for(nest.setup().threads);
  } catch (const InternalError &error) {
    if (!may_fall_back(nest.setup())) throw;
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
void find_engine(const Nest &nest, Shown &shown) {
  if (shown.engine == Engine::reference) return;
  if (!shown.pattern)
    shown.pattern = nest.patterns().make(shown.program, loop::key(shown.program), shown.layouts);
  shown.engine = shown.pattern->code ? Engine::jit : Engine::interpreter;
  if (shown.special && shown.special->interpreter_failed) shown.engine = Engine::reference;
}

Engine engine_used(const Nest &nest) {
  if (nest.setup().engine == Engine::reference) return nest.setup().engine;
  if (fills_output(nest)) return Engine::jit; // native code that is there already
  if (const Nest *part = latest_nests(nest).back(); part != &nest) return engine_used(*part);
  if (const auto special = nest.latest())
    return special->interpreter_failed ? Engine::reference : special->engine;
  Shown shown = what_to_show(nest);
  find_engine(nest, shown);
  return shown.engine;
}

Shown program_to_show(const Nest &nest) {
  Shown shown = what_to_show(nest);
  if (shown.engine == Engine::reference)
    support::fail(
        "E0501",
        fmt::format("kernel '{}' has no loop program: {}", nest.typed().name, shown.failure), {},
        "the reference evaluates it, with the same results; please report the bug");
  return shown;
}

// A program whose calls run as native code.
Shown native_to_show(const Nest &nest) {
  if (!nest.setup().target)
    support::fail("E0501",
                  fmt::format("kernel '{}' was compiled for the {} engine and has no native code",
                              nest.typed().name, name(nest.setup().engine)),
                  {}, "compile it with Engine::automatic or Engine::jit");
  Shown shown = program_to_show(nest);
  find_engine(nest, shown);
  if (shown.engine != Engine::jit) fail_without_code(nest, shown.engine, shown.pattern->no_code);
  return shown;
}

void fail_without_code(const Nest &nest, Engine engine, const std::string &why) {
  support::fail("E0501",
                fmt::format("kernel '{}' has no native code, and runs in the {}: {}",
                            nest.typed().name, name(engine), why),
                {}, "`--stage loop` shows what runs, `--stage why` the reasons");
}

} // namespace jit

} // namespace broadloom

// See shown.hpp.
#include "jit/shown.hpp"

#include "jit/failure.hpp"
#include "jit/parts.hpp"
#include "jit/specialise.hpp"
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
  try { // as `build`
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
  if (shown.engine != Engine::jit)
    support::fail("E0501",
                  fmt::format("kernel '{}' has no native code, and runs in the {}: {}",
                              kernel.typed().name, name(shown.engine), shown.pattern->no_code),
                  {}, "`--stage loop` shows what runs, `--stage why` the reasons");
  return shown;
}

} // namespace jit
} // namespace broadloom

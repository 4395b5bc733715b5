// The table of contents: read `compile` and `specialise` to know the compiler.
//
//   compile     text or expressions -> checked spec                        once for a kernel
//   specialise  layouts -> shapes -> plan (loop program and its numbers)   once for some layouts
//   find        loop program -> native code (patterns.cpp)                 once for a pattern
//
// A user's mistake is an Error of its class, ours an InternalError; the fences below say from where
// on only the second can come. failure.hpp says what then takes over.
#include "analysis/analyse.hpp"
#include "jit/cache/built_code.hpp"
#include "jit/cache/disk.hpp"
#include "jit/call/kernel.hpp"
#include "jit/gpu/open.hpp"
#include "jit/native/backend.hpp"
#include "jit/native/profile.hpp"
#include "jit/native/target.hpp"
#include "jit/nest/stopwatch.hpp"
#include "jit/runtime/machine.hpp"
#include "scale/fold.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/log.hpp"
#include "support/out_of_memory.hpp"
#include "support/reasons.hpp"
#include "support/undivided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace broadloom {
namespace {

using jit::Specialisation;

// What a kernel is being built for, or the better of what it was built for and what runs here.
jit::Target target_of(const jit::BuiltCode &built, const std::string &name, bool is_asked) {
  if (built.is_being_built()) return jit::target_to_build(name);
  jit::Target target = jit::find_target(name);
  if (!is_asked)
    for (const std::string &here : jit::targets_here()) // the widest last
      if (jit::Target one = jit::target_to_build(here); built.count(one.vector_bits()) > 0)
        target = std::move(one);
  if (built.count(target.vector_bits()) == 0)
    support::fail("E0503", "the kernel was built without code for " + std::string(target.isa->name),
                  {}, "build it for this target, too");
  target.asks_ahead = true; // as it was built
  return target;
}

// The target of native code; empty where the engine wants none, or where nobody asked for a target
// and this machine is none: then `spec` gets a note of it.
std::optional<jit::Target> find_target(const Options &options, spec::TypedSpec &spec,
                                       const std::shared_ptr<jit::BuiltCode> &built) {
  const char *variable = std::getenv("BROADLOOM_TARGET");
  const bool asked = !options.target.empty() || (variable != nullptr && *variable != '\0');
  const auto find = [&] {
    return built ? target_of(*built, options.target, asked) : jit::find_target(options.target);
  };
  switch (options.engine) {
  case Engine::automatic:
  case Engine::tiered: break;
  case Engine::jit: return find();
  case Engine::interpreter:
  case Engine::reference: return std::nullopt;
  }
  try {
    return find();
  } catch (const CompileError &error) {
    if (asked) throw;
    support::log().warn("kernel '{}' runs in the interpreter: {}", spec.name, error.message());
    spec.notes.push_back(support::decide(support::Reason::NoNativeTarget, "", "interpreter",
                                         "no native code: " + error.message(),
                                         {{"native code", error.message()}}));
    return std::nullopt;
  }
}

int thread_count(const Options &options) {
  constexpr int most = 1024;
  if (options.threads < 0)
    support::fail("E0321", fmt::format("a kernel cannot run on {} threads", options.threads), {},
                  "give the number of threads, or 0 for as many as there are processors");
  return std::min(options.threads > 0 ? options.threads : jit::runtime::default_threads(), most);
}

} // namespace

// Nothing takes over there where code cannot be made: the arrays are on the device.
static std::shared_ptr<const KernelImpl> make_on_device(const LoopSpec &spec, spec::TypedSpec typed,
                                                        Options options, double ms) {
  const auto refuse = [&](const char *what, const char *help) {
    support::fail("E0506",
                  fmt::format("kernel '{}' cannot run on the device '{}' with {}", typed.name,
                              options.device, what),
                  {}, help);
  };
  if (options.engine != Engine::automatic && options.engine != Engine::jit)
    refuse("this engine", "leave Options::engine or Options::device out");
  if (options.debug != Debug::none)
    refuse("checks of its calls", "check it without Options::device: the bits are the same");
  if (!options.target.empty())
    refuse("a target of its own", "leave Options::target out: the device says what it is");
  options.engine = Engine::jit;
  std::shared_ptr<jit::gpu::Device> device = jit::gpu::open(options.device);
  const jit::Target target = device->target();
  const int warps = device->warps();
  return std::make_shared<const KernelImpl>(
      spec, std::move(typed),
      jit::MadeFor{options, target, Profile::none, warps, nullptr, std::move(device)}, ms);
}

Kernel compile(const LoopSpec &spec, const Options &options) try {
  const support::FloatWorld world;
  std::shared_ptr<const KernelImpl> kernel = detail::make_kernel(spec, options, {});
  if (options.engine != Engine::reference)
    spec::warn_of_faults(kernel->setup().whole()); // it joins nothing
  return Kernel(std::move(kernel));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::shared_ptr<const KernelImpl> detail::make_kernel(const LoopSpec &spec, const Options &options,
                                                      const std::vector<std::string> &known) {
  return make_kernel(spec, options, known, nullptr);
}

std::shared_ptr<const KernelImpl> detail::make_kernel(const LoopSpec &spec, const Options &options,
                                                      const std::vector<std::string> &known,
                                                      std::shared_ptr<jit::BuiltCode> built) {
  const support::FloatWorld world;
  const support::Undivided here;
  const jit::Stopwatch watch;
  // The reference computes what is written.
  spec::TypedSpec typed = analysis::analyse(
      options.engine == Engine::reference ? scale::unfolded(spec.data()) : spec.data());
  for (spec::TypedInput &input : typed.inputs)
    if (std::ranges::find(known, input.name) != known.end()) input.sign = Sign::any;

  // Beyond this point the spec is right: what can still be wrong is the target, and the data of
  // calls.

  if (!options.device.empty()) return make_on_device(spec, std::move(typed), options, watch.ms());
  std::optional<jit::Target> target = find_target(options, typed, built);
  const int threads = thread_count(options);
  if (target && !built && !jit::DiskCache::wanted() && options.engine != Engine::tiered)
    jit::start_backend(*target, threads); // code must be made
  return std::make_shared<const KernelImpl>(spec, std::move(typed),
                                            jit::MadeFor{options, std::move(target),
                                                         jit::find_profile(options.profile),
                                                         threads, std::move(built), nullptr},
                                            watch.ms());
}

} // namespace broadloom

// What a call takes of memory for its time, and the arena that it comes from:
// include/broadloom/arena.hpp.
#include "jit/call/kernel.hpp"
#include "jit/call/run_tiles.hpp"
#include "support/fail.hpp"

#include <broadloom/arena.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace broadloom {

using jit::runtime::CallArena;

namespace {

// As Scratch asks for it: the memory of the call, and for the time of each step that of the step.
std::size_t bytes_of(const KernelImpl &kernel, kernel::Operands call) {
  const jit::Setup &setup = kernel.setup();
  if (setup.engine == Engine::reference || setup.device || setup.is_debugged()) return 0;
  if (setup.is_plain)
    return CallArena::rounded(kernel.nests().rest.bind(call, {}, jit::Use::Ready)->scratch_bytes);
  const std::shared_ptr<const jit::CallPlan> plan = kernel.plans().of(kernel.nests(), call);
  std::size_t most = 0;
  const auto look = [&](const std::vector<jit::Action> &actions) {
    for (const jit::Action &action : actions)
      if (const auto *run = std::get_if<jit::act::Run>(&action)) {
        std::vector<AnyView> views;
        for (const jit::MemRef &operand : run->operands) views.push_back(operand.view);
        most = std::max(
            most,
            run->nest->bind(jit::pointers_to(run->operands, views), {run->lies}, jit::Use::Ready)
                ->scratch_bytes);
      }
  };
  look(plan->actions);
  for (const jit::TimeLoop &loop : plan->loops) look(loop.body);
  most = CallArena::rounded(most);
  for (const jit::Tiles &tiles : plan->tiles) { // the smallest arena of oneTBB has two threads
    const std::size_t at_once =
        std::min(tiles.tasks.size(), std::size_t(std::max(setup.threads_now(), 2)));
    most = std::max(most, at_once * CallArena::rounded(jit::bytes_of_task(tiles)));
  }
  return most + CallArena::rounded(std::size_t(std::max<std::int64_t>(plan->bytes, 1)));
}

// Wherever the arena begins.
std::size_t with_slack(std::size_t bytes) {
  return bytes > 0 ? bytes + CallArena::alignment - 1 : 0;
}

} // namespace

bool jit::has_workspace(const KernelImpl &kernel, kernel::Operands call) {
  CallArena &arena = *CallArena::now();
  const std::size_t bytes = bytes_of(kernel, call);
  arena.measured = with_slack(bytes);
  if (arena.measures()) return false;
  if (bytes > arena.room())
    support::fail(
        "E0323",
        fmt::format("the arena is too small: this call of kernel '{}' takes {} bytes, and "
                    "{} are left",
                    kernel.typed().name, arena.measured, arena.room()),
        {}, "ask how many a call takes: bl::workspace, bl_workspace");
  return true;
}

std::size_t workspace(const Kernel &kernel, std::span<const AnyView> inputs,
                      std::span<const AnyView> outputs, std::source_location line) {
  CallArena measuring;
  const CallArena::Use here(&measuring);
  kernel.run(inputs, outputs, line);
  return measuring.measured;
}

std::size_t workspace_named(const Kernel &kernel, std::span<const NamedView> inputs,
                            std::span<const NamedView> outputs, std::source_location line) {
  CallArena measuring;
  const CallArena::Use here(&measuring);
  kernel.run_named(inputs, outputs, line);
  return measuring.measured;
}

struct Arena::State {
  CallArena arena;
  CallArena::Use use{&arena};
};

Arena::Arena(void *memory, std::size_t bytes) : state_(new State{{memory, bytes}}) {}
Arena::~Arena() = default;

} // namespace broadloom

// See explain_program.hpp.
#include "jit/nest/explain_program.hpp"

#include "plan/tasks.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::jit {

using support::decide;
using support::Reason;

std::vector<Decision> explain_weights(const block::Weights &weights) {
  std::vector<Decision> why;
  const auto called = [&](const std::string &subject) {
    why.push_back(decide(Reason::CalledOutOfLine, subject, "called", subject + " is called"));
  };
  for (const auto &[op, compute] : weights.called.ops)
    called(fmt::format("{} of {}", ops::info(op).spelling, name(compute)));
  for (const auto &[from, to] : weights.called.casts)
    called(fmt::format("the cast from {} to {}", name(from), name(to)));
  for (std::size_t p = 0; p < weights.split.size(); ++p)
    if (weights.split[p])
      why.push_back(decide(Reason::CutIntoPieces, fmt::format("phase {}", p), "several functions",
                           fmt::format("phase {} is cut into several functions", p)));
  return why;
}

namespace {

Decision explain_interleaved(const loop::Program &program, const plan::Binding &binding,
                             const plan::Interleaving &together, const support::Machine &machine) {
  bool on_threads = false;
  double cycles = 0;
  std::string phases;
  for (const std::size_t p : together.phases) {
    phases += phases.empty() ? "phases " : p == together.phases.back() ? " and " : ", ";
    phases += std::to_string(p);
    on_threads = on_threads || plan::grid_of(program, p, binding, machine).wakes_threads();
    cycles += binding.phase_work[p];
  }
  std::string input;
  for (const loop::Buffer &buffer : program.buffers)
    if (buffer.role == loop::Role::Input && buffer.operand == together.input) input = buffer.name;
  const std::string blocks = support::count(together.blocks, "block");
  return decide(
      Reason::PhasesInterleaved, phases, blocks,
      fmt::format("{} run as {}, each through all of them while its part of '{}' is in the caches, "
                  "on {}",
                  phases, blocks, input,
                  support::count(on_threads ? machine.threads : 1, "thread")),
      {{"one phase after the other", "each would read '" + input + "' from memory"}},
      {.cycles = cycles});
}

// ", each of at most 252 positions of i: what they read stays .."
std::string near_of(const loop::Program &program, std::size_t phase, const plan::Grid &grid) {
  if (!grid.near) return "";
  return fmt::format(
      ", each of at most {} positions of {}: what these read stays in a core's own caches",
      grid.step[*grid.near], program[program.phases[phase].parallel[*grid.near]].name);
}

} // namespace

std::vector<Decision> explain_threads(const loop::Program &program, const plan::Binding &binding,
                                      const support::Machine &machine) {
  const int threads = machine.threads;
  std::vector<Decision> why;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    const plan::Grid grid = plan::grid_of(program, p, binding, machine);
    const std::int64_t blocks = grid.blocks;
    if (const auto pipeline = plan::pipeline_of(program, p, binding, grid)) {
      const std::string phases = fmt::format("phases {} to {}", p, p + 2);
      const std::string way =
          support::count((pipeline->chunks + pipeline->step - 1) / pipeline->step, "block");
      why.push_back(decide(
          Reason::BlocksInTurn, phases, way,
          fmt::format("{} run as {}, each through all three while it is in the "
                      "caches, on {}",
                      phases, way, support::count(pipeline->on_threads ? threads : 1, "thread"))));
      p += 2;
      continue;
    }
    if (const auto together = std::ranges::find_if(binding.interleavings,
                                                   [&](const plan::Interleaving &interleaving) {
                                                     return std::ranges::count(interleaving.phases,
                                                                               p) > 0;
                                                   });
        together != binding.interleavings.end()) {
      if (p == together->phases.front())
        why.push_back(explain_interleaved(program, binding, *together, machine));
      continue;
    }
    const Reason reason = grid.only_if_awake                   ? Reason::SharedIfAwake
                          : blocks > 1                         ? Reason::WorkShared
                          : program.phases[p].parallel.empty() ? Reason::SerialPhase
                          : threads == 1                       ? Reason::OneThread
                                                               : Reason::TooLittleWork;
    why.push_back(
        decide(reason, fmt::format("phase {}", p), support::count(blocks, "block"),
               fmt::format("phase {} runs as {} on {}{}", p, support::count(blocks, "block"),
                           support::count(threads, "thread"), near_of(program, p, grid)),
               {}, {.cycles = binding.phase_work[p]}));
  }
  return why;
}

Decision explain_miss(const loop::Program &program, std::span<const loop::Program *const> known) {
  if (known.empty())
    return decide(Reason::FirstPattern, "", "miss", "miss: the first pattern of this kernel");
  std::vector<std::string> least;
  for (const loop::Program *other : known) {
    std::vector<std::string> found = loop::differences(program, *other);
    if (least.empty() || found.size() < least.size()) least = std::move(found);
  }
  const std::string text = support::joined(least, {}, "; ");
  return decide(Reason::NewPattern, "", "miss",
                fmt::format("miss: the nearest of the last {} differs: {}",
                            support::count(std::int64_t(known.size()), "pattern"), text),
                {{"the nearest pattern", text}});
}

} // namespace broadloom::jit

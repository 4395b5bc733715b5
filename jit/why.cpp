// See why.hpp.
#include "jit/why.hpp"

#include "jit/emit/emit.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::jit {

using support::decide;
using support::Reason;

runtime::Grid grid_of(const loop::Program &program, std::size_t index, const plan::Binding &binding,
                      int threads, bool interpreted, bool cancellable) {
  const loop::Phase &phase = program.phases[index];
  const bool in_order = loop::handing_loop(program, phase) != nullptr;
  if (in_order) threads = 1;
  std::vector<std::int64_t> extents;
  for (const loop::AxisId axis : phase.parallel) extents.push_back(binding.extents[axis.index]);
  std::optional<std::size_t> vector_axis;
  for (const loop::Loop &loop : program.loops)
    if (loop.parallel && loop.vector)
      if (const auto at = std::ranges::find(phase.parallel, loop.axis); at != phase.parallel.end())
        vector_axis = std::size_t(at - phase.parallel.begin());
  // The interpreter takes about 100 times as long, and runs the blocks one after the other.
  const double work = binding.phase_work[index] * (interpreted ? 100 : 1);
  return runtime::make_grid(extents, vector_axis, work, threads,
                            cancellable && !in_order ? runtime::cycles_between_looks : 0);
}

std::optional<runtime::Train> train_of(const loop::Program &program, std::size_t first,
                                       const plan::Binding &binding, const runtime::Grid &grid,
                                       std::span<const PhaseFn> code) {
  constexpr std::int64_t most_chunks = 16; // with their outputs some half of a second-level cache
  if (first + 2 >= program.phases.size()) return {};
  const std::vector<loop::AxisId> &axes = program.phases[first].parallel;
  const loop::Loop *middle = loop::handing_loop(program, program.phases[first + 1]);
  if (middle == nullptr || axes != program.phases[first + 1].parallel ||
      axes != program.phases[first + 2].parallel ||
      loop::handing_loop(program, program.phases[first + 2]) != nullptr)
    return {};
  for (const loop::Buffer &buffer : program.buffers)
    if (buffer.role == loop::Role::Row) return {};
  runtime::Train train;
  for (std::size_t k = 0; k < code.size() && k < 3; ++k) train.phases[k] = code[first + k];
  train.chunks = binding.extents[axes.front().index];
  train.step = std::clamp<std::int64_t>(train.chunks / std::max<std::int64_t>(grid.blocks, 1), 1,
                                        most_chunks);
  train.reverse = middle->reverse;
  train.on_threads = grid.blocks > 1;
  return train;
}

block::Program blocks_of(const loop::Program &program, const Target &target) {
  return block::choose(program, block::weigh(program), machine_of(target));
}

std::vector<Decision> explain_blocks(const loop::Program &program, const plan::Binding &binding,
                                     const Target &target) {
  const loop::Numbers numbers{binding.extents, binding.chunks, binding.strides};
  return block::explain(program, blocks_of(program, target), &numbers);
}

std::vector<Decision> explain_threads(const loop::Program &program, const plan::Binding &binding,
                                      int threads) {
  std::vector<Decision> why;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    const runtime::Grid grid = grid_of(program, p, binding, threads);
    const std::int64_t blocks = grid.blocks;
    if (const auto train = train_of(program, p, binding, grid, {})) {
      const std::string phases = fmt::format("phases {} to {}", p, p + 2);
      const std::string way =
          support::count((train->chunks + train->step - 1) / train->step, "block");
      why.push_back(decide(Reason::BlocksInTurn, phases, way,
                           fmt::format("{} run as {}, each through all three while it is in the "
                                       "caches, on {}",
                                       phases, way,
                                       support::count(train->on_threads ? threads : 1, "thread"))));
      p += 2;
      continue;
    }
    const Reason reason = blocks > 1                           ? Reason::WorkShared
                          : program.phases[p].parallel.empty() ? Reason::SerialPhase
                          : threads == 1                       ? Reason::OneThread
                                                               : Reason::TooLittleWork;
    why.push_back(
        decide(reason, fmt::format("phase {}", p), support::count(blocks, "block"),
               fmt::format("phase {} runs as {} on {}", p, support::count(blocks, "block"),
                           support::count(threads, "thread")),
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
  std::string text;
  for (const std::string &difference : least) text += (text.empty() ? "" : "; ") + difference;
  return decide(Reason::NewPattern, "", "miss",
                fmt::format("miss: the nearest of the last {} differs: {}",
                            support::count(std::int64_t(known.size()), "pattern"), text),
                {{"the nearest pattern", text}});
}

} // namespace broadloom::jit

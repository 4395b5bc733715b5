// What a launch is given: see device.hpp.
#include "jit/gpu/device.hpp"

#include "jit/native/backend.hpp"
#include "jit/runtime/launch.hpp"

#include <algorithm>
#include <bit>

namespace broadloom::jit::gpu {

// A position is a box of its own but along lanes, where a box has whole turns of a warp: enough of
// them that all warps have some work, and no more than that, as what is known for a box is computed
// once in it.
plan::Grid grid_of(const loop::Program &program, std::size_t phase,
                   std::span<const std::int64_t> extents, int warps) {
  const loop::Phase &own = program.phases[phase];
  const auto lanes = plan::vector_axis_of(program, own);
  const bool in_order = loop::handing_loop(program, own) != nullptr;
  constexpr std::int64_t most_turns = 16;
  plan::Grid grid;
  std::int64_t others = 1; // boxes along the other axes
  for (std::size_t k = 0; k < own.parallel.size(); ++k)
    if (!lanes || k != *lanes) others *= extents[own.parallel[k].index];
  for (std::size_t k = 0; k < own.parallel.size(); ++k) {
    const std::int64_t extent = extents[own.parallel[k].index];
    std::int64_t step = 1;
    if (in_order) {
      step = std::max<std::int64_t>(extent, 1);
    } else if (lanes && k == *lanes) {
      const std::int64_t turns = (extent + runtime::warp_threads - 1) / runtime::warp_threads;
      const std::int64_t asked =
          std::max<std::int64_t>(1, warps / std::max<std::int64_t>(others, 1));
      const std::int64_t own = std::clamp<std::int64_t>(turns / asked, 1, most_turns);
      // A power of two: where threads take neighbours, 2 to 8 turns are one.
      step = std::int64_t(std::bit_floor(std::uint64_t(own))) * runtime::warp_threads;
    }
    grid.lo.push_back(0);
    grid.hi.push_back(extent);
    grid.step.push_back(step);
    grid.count.push_back((extent + step - 1) / step);
    grid.blocks *= grid.count.back();
  }
  return grid;
}

int warps_with_rows(int warps, std::int64_t row_bytes) {
  constexpr std::int64_t most_bytes = std::int64_t{256} << 20; // of all together
  constexpr int least = 8, together = runtime::warps_of_group; // warps
  if (row_bytes == 0) return warps;
  const auto fit = int(std::min<std::int64_t>(warps, most_bytes / row_bytes));
  return std::min(warps, std::max(least, fit / together * together));
}

std::vector<std::int64_t> words_of(const loop::Program &program, std::size_t phase,
                                   const loop::Frame &frame, const plan::Grid &grid,
                                   std::int64_t row_bytes) {
  const runtime::LaunchLayout layout(program, phase);
  const std::size_t axes = program.axes.size(), buffers = program.buffers.size();
  std::vector<std::int64_t> words(layout.words);
  std::copy_n(frame.extents, axes, &words[layout.extents]);
  std::copy_n(frame.chunks, axes, &words[layout.chunks]);
  for (std::size_t b = 0; b < buffers; ++b) {
    for (std::size_t w = 0; w < program.buffers[b].walks.size(); ++w)
      words[layout.strides[b] + w] =
          frame.strides[b * axes + program.buffers[b].walks[w].axis.index];
    words[layout.buffers + b] = std::int64_t(reinterpret_cast<std::uintptr_t>(frame.buffers[b]));
  }
  words[layout.row_bytes] = row_bytes;
  words[layout.boxes] = grid.blocks;
  std::ranges::copy(grid.count, &words[layout.counts]);
  std::ranges::copy(grid.step, &words[layout.grains]);
  return words;
}

std::shared_ptr<const Code> code_to_show(const loop::Program &program, const Target &target) {
  block::Program blocks = blocks_of(program, target);
  const std::size_t bytes = backend().asm_text(program, blocks, target, nullptr).size();
  return std::make_shared<const Code>(Code::Place{}, std::vector<PhaseFn>(program.phases.size()),
                                      std::move(blocks), bytes, CompileTimes());
}

} // namespace broadloom::jit::gpu

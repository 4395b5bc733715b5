// See why.hpp.
#include "jit/why.hpp"

#include "jit/emit/emit.hpp"
#include "jit/emit/weights.hpp"
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

namespace {

Reason unroll_reason(LoopWidth::Shape shape) {
  switch (shape) {
  case LoopWidth::Shape::Map: return Reason::OneGroup;
  case LoopWidth::Shape::ColumnBlock: return Reason::ColumnBlock;
  case LoopWidth::Shape::RowBlock: return Reason::RowBlock;
  case LoopWidth::Shape::Fold: return Reason::RegistersOfLanes;
  case LoopWidth::Shape::HeavyFold: return Reason::HeavyBody;
  case LoopWidth::Shape::Scan: return Reason::GroupOfScan;
  }
  return Reason::OneGroup;
}

const char *unroll_text(LoopWidth::Shape shape) {
  switch (shape) {
  case LoopWidth::Shape::Map: return "more would gain nothing";
  case LoopWidth::Shape::ColumnBlock: return "pieces of whole cache lines";
  case LoopWidth::Shape::RowBlock: return "what rows share is loaded once";
  case LoopWidth::Shape::Fold: return "the 32 lanes of the fold";
  case LoopWidth::Shape::HeavyFold: return "the body is heavy";
  case LoopWidth::Shape::Scan: return "the 16 lanes of the scan";
  }
  return "";
}

} // namespace

std::vector<Decision> explain_widths(const loop::Program &program, const Target &target) {
  std::vector<Decision> why;
  const auto add = [&](Decision decision) { // loops of one axis and phase are often alike
    const auto same = [&](const Decision &d) {
      return d.code == decision.code && d.text == decision.text;
    };
    if (std::none_of(why.begin(), why.end(), same)) why.push_back(std::move(decision));
  };
  for (const LoopWidth &width : loop_widths(program, target)) {
    const std::string subject =
        fmt::format("phase {}, {}", width.phase, program[program[width.loop].axis].name);
    add(decide(width.narrow ? Reason::LanesOfWidest : Reason::LanesOfRegister, subject,
               support::count(width.lanes, "lane"),
               fmt::format("{}: {} at once, in vectors of {} bits", subject,
                           support::count(width.lanes, "position"), target.vector_bits)));
    std::string way = support::count(width.groups, "group");
    std::string lanes = way + " of lanes";
    if (width.rows > 1) {
      way += fmt::format(" by {} rows", width.rows);
      lanes += fmt::format(" of {} rows each", width.rows);
    }
    add(decide(unroll_reason(width.shape), subject, way,
               fmt::format("{}: {} in a turn: {}", subject, lanes, unroll_text(width.shape))));
  }
  return why;
}

std::vector<Decision> explain_weights(const loop::Program &program) {
  const Weights weights = weigh(program);
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

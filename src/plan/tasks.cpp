// See tasks.hpp.
#include "plan/tasks.hpp"

#include "plan/thresholds.hpp"
#include "support/check.hpp"

#include <algorithm>

namespace broadloom::plan {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

// As many for each thread: of 13 blocks one of two threads would run 7.
std::int64_t tasks_worth_making(double work, const Machine &machine, double task_cycles) {
  if (machine.threads <= 1 || !(work >= fewest_tasks * task_cycles)) return 1;
  const auto tasks =
      std::int64_t(std::min(work / task_cycles, double(machine.threads) * tasks_per_thread));
  return tasks > machine.threads ? tasks - tasks % machine.threads : tasks;
}

std::int64_t tasks_of_at_most(double most, double work) {
  return most > 0 && work > most ? std::int64_t(std::min(work / most, most_tasks)) + 1 : 1;
}

} // namespace

std::optional<std::size_t> vector_axis_of(const loop::Program &program, const loop::Phase &phase) {
  std::optional<std::size_t> vector_axis;
  for (const loop::Loop &loop : program.loops)
    if (loop.parallel && loop.vector)
      if (const auto at = std::ranges::find(phase.parallel, loop.axis); at != phase.parallel.end())
        vector_axis = std::size_t(at - phase.parallel.begin());
  return vector_axis;
}

std::int64_t granule_of(std::size_t k, std::size_t axes, std::optional<std::size_t> vector_axis,
                        std::int64_t granule) {
  return k != vector_axis ? 1 : k + 1 == axes ? granule : column_granule;
}

namespace {

bool stores_lines_along(const loop::Program &program, const std::vector<loop::Stmt> &body,
                        loop::AxisId axis) {
  return std::ranges::any_of(body, [&](const loop::Stmt &s) {
    if (s.kind == loop::StmtKind::Loop)
      return stores_lines_along(program, program[s.loop].body, axis);
    return s.kind == loop::StmtKind::Set &&
           std::ranges::any_of(program[s.buffer].walks, [&](const loop::Walk &w) {
             return w.axis == axis && w.stride == loop::StrideClass::Unit;
           });
  });
}

} // namespace

// Lanes that are rows, each of which has lines of its own, may be shared out by the register.
std::int64_t vector_granule_of(const loop::Program &program, const loop::Phase &phase) {
  const bool lines =
      phase.parallel.empty() || stores_lines_along(program, phase.body, phase.parallel.back());
  return lines ? vector_granule : loop::row_lanes;
}

std::optional<std::size_t> pipeline_with(const loop::Program &program, std::size_t phase) {
  for (std::size_t first = phase < 2 ? 0 : phase - 2; first <= phase; ++first)
    if (loop::is_pipeline(program, first)) return first;
  return std::nullopt;
}

namespace {

// The bytes that a fold of a register tile loads for each position of its rows, and that all
// columns share; 0 where it is in no such tile.
double bytes_of_row(const loop::Program &program, const loop::Phase &phase, loop::LoopId fold,
                    loop::AxisId rows, loop::AxisId columns,
                    std::span<const std::int64_t> extents) {
  bool by_columns = false;
  double bytes = 0;
  for (const loop::Stmt &s : program[fold].body) {
    if (s.kind != loop::StmtKind::Let || program[s.value].kind != loop::ValueKind::Load) continue;
    const loop::BufferId buffer = program[s.value].buffer;
    const bool down = loop::walk(program, buffer, rows) != nullptr;
    const bool across = loop::walk(program, buffer, columns) != nullptr;
    by_columns = by_columns || (across && !down);
    if (!down || across) continue;
    auto row = double(size_of(program[buffer].dtype));
    for (const loop::Walk &walk : program[buffer].walks)
      if (std::ranges::find(phase.parallel, walk.axis) == phase.parallel.end())
        row *= double(extents[walk.axis.index]);
    bytes += row;
  }
  return by_columns ? bytes : 0;
}

// How a register tile takes positions of a parallel axis.
struct Side {
  std::int64_t tile = 1; // positions, or a multiple of those of the tile; what is left goes alone
  std::int64_t most = 0; // positions whose operands stay in a core's own caches; 0: any number
};

// [parallel axis]. A tile of folds goes down its rows for a few columns, then for the next few.
std::vector<Side> sides_of_tiles(const loop::Program &program, const loop::Phase &phase,
                                 const Machine &machine, std::span<const std::int64_t> extents) {
  constexpr std::int64_t any_of_up_to_4 =
      12; // positions of either side of a tile of folds in lanes
  std::vector<Side> sides(phase.parallel.size());
  std::optional<loop::LoopId> next = loop::only_loop(phase.body);
  for (std::size_t k = 0; k + 1 < sides.size() && next; ++k) {
    const loop::Loop &rows = program[*next];
    next = loop::only_loop(rows.body);
    if (!next) break;
    const loop::Loop &inner = program[*next];
    for (const loop::Stmt &s : inner.body) {
      if (s.kind != loop::StmtKind::Loop || program[s.loop].accs.empty() || program[s.loop].scan)
        continue;
      const loop::Axis &axis = program[rows.axis];
      if (inner.vector) {
        sides[k].tile = axis.tile > 0 ? axis.tile : machine.sizes.tile_rows * (axis.tall ? 2 : 1);
        continue;
      }
      const double bytes = program[s.loop].vector ? bytes_of_row(program, phase, s.loop, rows.axis,
                                                                 inner.axis, extents)
                                                  : 0;
      if (bytes == 0) continue;
      sides[k].tile = sides[k + 1].tile = any_of_up_to_4;
      const double near = double(machine.own_caches) * part_of_caches_for_products / bytes;
      if (extents[inner.axis.index] >= fewest_columns_of_near_rows &&
          double(extents[rows.axis.index]) > near)
        sides[k].most =
            std::max(std::int64_t(near) / any_of_up_to_4, std::int64_t(1)) * any_of_up_to_4;
    }
  }
  return sides;
}

// `sides` are of register tiles. None is cut where there are enough of them for all threads.
Grid cut_into_blocks(std::span<const std::int64_t> extents, std::optional<std::size_t> vector_axis,
                     double work, const Machine &machine, double most, std::span<const Cut> cuts,
                     std::int64_t vector_granule, std::span<const Side> sides) {
  support::check(extents.size() <= most_parallel_axes, "a phase has too many parallel axes");
  Grid grid;
  grid.lo.assign(extents.size(), 0);
  grid.hi.assign(extents.begin(), extents.end());
  const auto asked = [&](std::size_t k) { return cuts.empty() ? Cut::AsItFits : cuts[k]; };
  std::vector<std::size_t> order; // in which axes are cut
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (asked(k) == Cut::First) order.push_back(k);
  const std::int64_t least = order.empty() ? 1 : machine.threads;
  for (std::size_t k = 0; k < extents.size(); ++k)
    if (asked(k) != Cut::First) order.push_back(k);
  std::int64_t tasks = std::max({least, tasks_worth_making(work, machine, machine.task_cycles),
                                 tasks_of_at_most(most, work)});
  if (tasks == 1) {
    tasks = tasks_worth_making(work, machine, machine.awake_task_cycles);
    grid.only_if_awake = tasks > 1;
  }
  const auto granule_at = [&](std::size_t k, bool whole) {
    const std::int64_t side = whole && !sides.empty() && asked(k) != Cut::First ? sides[k].tile : 1;
    return std::max(granule_of(k, extents.size(), vector_axis, vector_granule), side);
  };
  double tiles = 1;
  for (std::size_t k = 0; k < extents.size(); ++k)
    tiles *= double(ceil_div(extents[k], granule_at(k, true)));
  const bool whole = tiles >= fewest_tasks * machine.threads;
  grid.step.resize(extents.size());
  grid.count.resize(extents.size());
  for (const std::size_t k : order) {
    const std::int64_t extent = extents[k], granule = granule_at(k, whole);
    const bool cut = grid.blocks > 0 && asked(k) != Cut::Never;
    std::int64_t wanted = cut ? ceil_div(tasks, grid.blocks) : 1;
    if (cut && !sides.empty() && sides[k].most > 0) {
      const std::int64_t near = ceil_div(extent, sides[k].most);
      if (near > wanted) wanted = near, grid.near = k;
    }
    std::int64_t step = std::max<std::int64_t>(ceil_div(extent, wanted), 1);
    step = ceil_div(step, granule) * granule;
    grid.step[k] = step;
    grid.count[k] = ceil_div(extent, step);
    grid.blocks *= grid.count[k];
  }
  return grid;
}

} // namespace

Grid make_grid(std::span<const std::int64_t> extents, std::optional<std::size_t> vector_axis,
               double work, const Machine &machine, double most, std::span<const Cut> cuts,
               std::int64_t vector_granule) {
  return cut_into_blocks(extents, vector_axis, work, machine, most, cuts, vector_granule, {});
}

Grid grid_of(const loop::Program &program, std::size_t index, const Binding &binding,
             const Machine &machine, bool interpreted, bool cancellable) {
  const loop::Phase &phase = program.phases[index];
  const bool in_order = loop::handing_loop(program, phase) != nullptr;
  Machine used = machine;
  if (in_order) used.threads = 1;
  std::vector<std::int64_t> extents;
  for (const loop::AxisId axis : phase.parallel) extents.push_back(binding.extents[axis.index]);
  // The interpreter runs the blocks one after the other.
  const double work = binding.phase_work[index] * (interpreted ? interpreter_slowdown : 1);
  return cut_into_blocks(extents, vector_axis_of(program, phase), work, used,
                         cancellable && !in_order ? cycles_between_looks : 0,
                         index < binding.cuts.size() ? std::span<const Cut>(binding.cuts[index])
                                                     : std::span<const Cut>(),
                         vector_granule_of(program, phase),
                         sides_of_tiles(program, phase, machine, binding.extents));
}

bool is_soon_interpreted(const Binding &binding) {
  double work = 0;
  for (const double cycles : binding.phase_work) work += cycles;
  return work * interpreter_slowdown <= most_interpreted;
}

std::optional<Pipeline> pipeline_of(const loop::Program &program, std::size_t first,
                                    const Binding &binding, const Grid &grid) {
  if (!loop::is_pipeline(program, first)) return {};
  const loop::Phase &phase = program.phases[first];
  Pipeline pipeline;
  pipeline.chunks = binding.extents[phase.parallel.front().index];
  pipeline.on_threads = grid.wakes_threads();
  const std::int64_t blocks = pipeline.on_threads ? grid.blocks : 1;
  pipeline.step = std::clamp<std::int64_t>(pipeline.chunks / blocks, 1, most_pipelined_chunks);
  pipeline.reverse = loop::handing_loop(program, program.phases[first + 1])->reverse;
  return pipeline;
}

} // namespace broadloom::plan

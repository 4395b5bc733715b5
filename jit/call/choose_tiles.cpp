// See choose_tiles.hpp.
#include "jit/call/choose_tiles.hpp"

#include "jit/nest/setup.hpp"
#include "kernel/viewer.hpp"

#include <algorithm>

namespace broadloom::jit::choice {

std::optional<std::size_t> outermost_dim(const Layout &layout) {
  std::optional<std::size_t> outer;
  for (std::size_t d = 0; d < std::size_t(layout.rank); ++d)
    if (layout.extents[d] > 1 && (!outer || layout.strides[d] > layout.strides[*outer])) outer = d;
  if (!outer) return std::nullopt;
  std::int64_t reach = 1; // of one row, in elements
  for (std::size_t d = 0; d < std::size_t(layout.rank); ++d) {
    if (layout.extents[d] < 1 || layout.strides[d] < 0) return std::nullopt;
    if (d != *outer) reach += (layout.extents[d] - 1) * layout.strides[d];
  }
  return layout.strides[*outer] >= reach ? outer : std::nullopt;
}

std::int64_t apart_in_lines(std::int64_t row_bytes) {
  // Shorter rows would grow by more than a sixteenth. Sums over nine elements of two arrays take
  // 0.92 of the time, differences of six 0.88 (rows of 16 KiB).
  constexpr std::int64_t line = 64, shortest = 1024;
  return row_bytes < shortest ? row_bytes : (row_bytes + line - 1) / line * line;
}

namespace {

// Along the outermost dim of the array a multiple of the position along `axis`, and nothing else
// of the window goes by that.
bool goes_by_rows(const TypedWindow &window, std::size_t rows, int axis, std::int64_t &times) {
  if (window.is_gather() || window.sum || window.needs_zeros()) return false;
  if (const TypedWindow::Pad *pad = window.pad_of(int(rows)); pad && pad->mode == PadMode::Wrap)
    return false;
  times = 0;
  for (std::size_t dim = 0; dim < window.forms.size(); ++dim) {
    const TypedWindow::Form &form = window.forms[dim];
    for (const TypedWindow::Term &term : form.terms) {
      if (term.axis != axis) continue;
      if (dim != rows || form.divisor != 1 || times != 0 || term.times < 1) return false;
      times = term.times;
    }
  }
  return times > 0;
}

} // namespace

std::optional<RowsRead> rows_read(const TypedSpec &typed, std::span<const Layout> given,
                                  std::size_t array, int axis) {
  const std::optional<std::size_t> rows = outermost_dim(given[array]);
  if (!rows) return std::nullopt;
  std::optional<RowsRead> made;
  const auto add = [&](const RowsRead &read) {
    if (!made) made = read;
    if (made->times != read.times) return false;
    made->by_one_axis = made->by_one_axis && read.by_one_axis;
    made->low = std::min(made->low, read.low);
    made->high = std::max(made->high, read.high);
    return true;
  };
  const spec::TypedInput &input = typed.inputs[array];
  if (!input.in_windows_only)
    if (input.axis_of_dim[*rows] != axis || !add({0, 1, 0, 0})) return std::nullopt;
  kernel::Viewer viewer(typed, given);
  for (std::size_t i = typed.given_inputs(); i < typed.inputs.size(); ++i) {
    const TypedWindow &window = *typed.inputs[i].window;
    if (window.of != array || !viewer.is_read(i)) continue;
    std::int64_t times = 0;
    if (!goes_by_rows(window, *rows, axis, times)) return std::nullopt;
    kernel::Box row(typed.axes.size(), {0, -1, 1});
    row[std::size_t(axis)] = {0, 1, 1};
    const Padding::Dim read = viewer.positions(i, &row)[*rows];
    const TypedWindow::Pad *pad = window.pad_of(int(*rows));
    const std::int64_t before = pad != nullptr ? pad->before : 0;
    const bool by_one_axis = window.forms[*rows].terms.size() == 1;
    if (read.divisor != 1 || !add({0, times, read.first - before, read.last - before, by_one_axis}))
      return std::nullopt;
    const std::optional<Padding> padding = viewer.see(i).padding;
    if (padding && made->padding && made->padding != padding) return std::nullopt;
    if (padding) made->padding = padding;
  }
  return made;
}

namespace {

struct Rows {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// The border is filled as soon as the row beside it is there, from rows that are there then.
Rows with_border(const TileMember &member, Rows rows) {
  if (!member.border) return rows;
  const Tiles::Border &border = *member.border;
  const auto source = [&](std::int64_t row) {
    return kernel::row_in_border(border.padding, border.dim, row, member.rows);
  };
  if (rows.begin <= 0 && border.above > 0) rows.end = std::max(rows.end, source(-border.above) + 1);
  if (rows.end >= member.rows && border.below > 0)
    rows.begin = std::min(rows.begin, source(member.rows - 1 + border.below));
  return rows;
}

// The rows of each member that rows of the last one hang on, however far back.
std::vector<Rows> rows_needed(const TileGroup &group, const Rows &of_last) {
  std::vector<Rows> needed(group.members.size());
  needed.back() = of_last;
  for (std::size_t m = group.members.size(); m-- > 0;) {
    Rows &rows = needed[m];
    rows.begin = std::max<std::int64_t>(rows.begin, 0);
    rows.end = std::min(rows.end, group.members[m].rows);
    if (rows.empty()) continue;
    for (const RowsRead &read : group.members[m].reads) {
      Rows &of = needed[read.reads];
      const Rows more =
          with_border(group.members[read.reads], {read.times * rows.begin + read.low,
                                                  read.times * (rows.end - 1) + read.high + 1});
      of = of.empty() ? more : Rows{std::min(of.begin, more.begin), std::max(of.end, more.end)};
    }
  }
  return needed;
}

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

} // namespace

std::int64_t spare_rows(const TileGroup &group, std::int64_t most_bytes) {
  // Rows computed for each one that moves. Further room would only take more of the caches: a blur
  // of f32[4096, 4096] in tiles of 8 rows takes 4.69 ms with room for 8 more, 4.87 for 0 and 5.06
  // for 37.
  constexpr std::int64_t rows_of_moved = 8;
  const std::int64_t rows = group.members.back().rows;
  const std::vector<Rows> needed = rows_needed(group, {rows / 2, rows / 2 + group.rows});
  std::int64_t bytes = 0, more = 0, moved = 0;
  for (std::size_t m = 0; m + 1 < needed.size(); ++m) {
    const TileMember &member = group.members[m];
    const std::int64_t kept = needed[m].end - needed[m].begin;
    bytes += kept * member.row_bytes;
    more += member.times * member.row_bytes;
    moved = std::max(moved, up(kept, member.times) - group.rows);
  }
  const std::int64_t spare = (most_bytes - bytes) / std::max<std::int64_t>(more, 1);
  return std::max<std::int64_t>(std::min(spare, rows_of_moved * moved - group.rows), 0);
}

void choose_rows(TileGroup &group, std::int64_t asked, bool must, std::int64_t other_row_bytes,
                 const support::Machine &machine) {
  const std::int64_t rows = group.members.back().rows;
  const std::int64_t threads = std::max(machine.threads, 1);
  // Memory of a tile: as it grows by a row, and what rows of other tiles add.
  const auto bytes_of = [&](std::int64_t tile) {
    const std::vector<Rows> needed = rows_needed(group, {rows / 2, rows / 2 + tile});
    std::int64_t bytes = tile * other_row_bytes;
    for (std::size_t m = 0; m + 1 < needed.size(); ++m)
      bytes += (needed[m].end - needed[m].begin) * group.members[m].row_bytes;
    return bytes;
  };
  const auto cache = std::int64_t(machine.own_caches), most_bytes = cache / 4 * 3;
  group.rows = 0;
  if (asked > 0) {
    group.rows = std::min(asked, rows);
    group.tasks = std::min<std::int64_t>(up(rows, group.rows), threads > 1 ? 2 * threads : 1);
    group.spare = number_in("BROADLOOM_TILE_SPARE", spare_rows(group, most_bytes));
    return;
  }
  std::int64_t all = 0; // of the lets
  for (std::size_t m = 0; m + 1 < group.members.size(); ++m)
    all += group.members[m].rows * group.members[m].row_bytes;
  group.why_not = "tiles are off: BROADLOOM_TILE_ROWS is 0, or a device runs the kernel";
  if (asked == 0) return;
  group.why_not = "whole arrays stay in the caches";
  if (!must && all <= 2 * threads * cache) return;
  const std::int64_t one = bytes_of(1), more = bytes_of(2) - one;
  group.why_not = "the rows of one tile would not stay in a cache";
  if (!must && one > cache / 2) return;
  group.tasks = threads > 1 ? 2 * threads : 1;
  std::int64_t tile =
      1 + std::max<std::int64_t>(cache / 2 - one, 0) / std::max<std::int64_t>(more, 1);
  tile = std::min(tile, up(rows, 2 * group.tasks));
  for (std::int64_t even = tile; even > tile / 2; --even) // all tasks alike
    if (rows % (even * group.tasks) == 0) {
      tile = even;
      break;
    }
  // Rows that are computed twice, as two tasks need them.
  const std::vector<Rows> needed = rows_needed(group, {rows / 2, rows / 2 + 1});
  group.why_not = "many rows would be computed once for each thread";
  for (std::size_t m = 0; !must && m + 1 < needed.size(); ++m)
    if ((needed[m].end - needed[m].begin) * group.tasks * 16 > group.members[m].rows) return;
  group.rows = tile;
  group.spare = spare_rows(group, most_bytes);
}

std::vector<std::vector<Tiles::Piece>> pieces_of(const TileGroup &group,
                                                 std::span<const std::vector<NestRows>> nests) {
  const std::int64_t rows = group.members.back().rows, tiles = up(rows, group.rows);
  std::vector<std::vector<Tiles::Piece>> tasks;
  for (std::int64_t task = 0; task < group.tasks; ++task) {
    std::vector<Tiles::Piece> &pieces = tasks.emplace_back();
    std::vector<std::vector<Rows>> needed; // [tile of the task][member]
    for (std::int64_t tile = tiles * task / group.tasks; tile < tiles * (task + 1) / group.tasks;
         ++tile)
      needed.push_back(
          rows_needed(group, {tile * group.rows, std::min((tile + 1) * group.rows, rows)}));
    for (std::size_t t = needed.size(); t-- > 1;) // the last may go back for what it mirrors
      for (std::size_t m = 0; m < needed[t].size(); ++m)
        if (!needed[t][m].empty() && !needed[t - 1][m].empty())
          needed[t - 1][m].begin = std::min(needed[t - 1][m].begin, needed[t][m].begin);
    std::vector<std::int64_t> done(group.members.size(), -1); // rows before it are there
    for (const std::vector<Rows> &tile : needed)
      for (std::size_t m = 0; m < tile.size(); ++m) {
        const TileMember &member = group.members[m];
        const Rows now{std::max(tile[m].begin, done[m]), tile[m].end};
        if (tile[m].empty() || now.empty()) continue;
        done[m] = now.end;
        const bool has_above = member.border && tile[m].begin == 0;
        const std::int64_t kept_from = has_above ? -member.border->above : tile[m].begin;
        for (const NestRows &nest : nests[m]) {
          const Rows own{std::max(now.begin, nest.begin), std::min(now.end, nest.end)};
          if (!own.empty()) pieces.push_back({nest.nest, own.begin, own.end, kept_from});
        }
        if (member.border)
          pieces.push_back(
              {std::uint32_t(m), now.begin - (now.begin == 0 ? member.border->above : 0),
               now.end + (now.end == member.rows ? member.border->below : 0), kept_from, true});
      }
  }
  return tasks;
}

namespace {

// The axis that walks from row to row of each output, which has so many positions for a row.
struct RowAxis {
  std::uint32_t axis = 0;
  std::int64_t positions = 1;
};
std::optional<RowAxis> row_axis(const loop::Program &program, const plan::Binding &binding,
                                std::span<const Layout> outputs, std::span<const std::size_t> dims,
                                std::int64_t &rows) {
  std::optional<RowAxis> made;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const loop::Buffer &buffer = program.buffers[b];
    if (buffer.role != loop::Role::Output) continue;
    const std::size_t dim = dims[buffer.operand];
    const std::int64_t stride = outputs[buffer.operand].strides[dim];
    rows = outputs[buffer.operand].extents[dim];
    std::optional<RowAxis> own;
    for (const loop::Walk &walk : buffer.walks) {
      const std::uint32_t axis = walk.axis.index;
      const std::int64_t positions = rows < 2 ? 0 : binding.extents[axis] / rows;
      if (positions > 0 && !program.axes[axis].chunks_of &&
          binding.extents[axis] == positions * rows &&
          binding.strides[b * program.axes.size() + axis] * positions == stride)
        own = {axis, positions};
    }
    if (!own || (made && (made->axis != own->axis || made->positions != own->positions)))
      return std::nullopt;
    made = own;
  }
  return made;
}

} // namespace

std::optional<Tiles::RowsOfNest> rows_of_nest(const loop::Program &program,
                                              const plan::Binding &binding,
                                              std::span<const Layout> outputs,
                                              std::span<const std::size_t> dims) {
  std::int64_t rows = 0;
  const std::optional<RowAxis> axis = row_axis(program, binding, outputs, dims, rows);
  if (!axis) return std::nullopt;
  Tiles::RowsOfNest made{{}, axis->positions, {}};
  for (const loop::Phase &phase : program.phases) {
    const auto box = std::ranges::find(phase.parallel, loop::AxisId{axis->axis});
    if (box == phase.parallel.end() || loop::handing_loop(program, phase) != nullptr)
      return std::nullopt;
    made.boxes.push_back(std::size_t(box - phase.parallel.begin()));
  }
  made.scratch.resize(program.scratch_count);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const loop::Buffer &buffer = program.buffers[b];
    if (buffer.role != loop::Role::Scratch) continue;
    const std::int64_t bytes = binding.strides[b * program.axes.size() + axis->axis] *
                               axis->positions * std::int64_t(size_of(buffer.dtype));
    std::int64_t &known = made.scratch[buffer.operand];
    if (bytes * rows != binding.scratch_bytes[buffer.operand] || (known != 0 && known != bytes))
      return std::nullopt;
    known = bytes;
  }
  return made;
}

} // namespace broadloom::jit::choice

// See choose_tiles.hpp: the steps of a group, as they are run and as they are printed.
#include "jit/call/choose_tiles.hpp"

#include "jit/nest/specialise.hpp"

#include <algorithm>

namespace broadloom::jit::choice {
namespace {

using Piece = Tiles::Piece;

std::size_t member_of(const Piece &piece, std::span<const std::size_t> member_of_nest) {
  return piece.is_border ? piece.nest : member_of_nest[piece.nest];
}

// Rows of pieces as they count from the first row of a tile or a task.
std::vector<Piece> from_row(std::span<const Piece> pieces, const TileGroup &group,
                            std::span<const std::size_t> member_of_nest, std::int64_t row) {
  std::vector<Piece> made;
  for (const Piece &piece : pieces) {
    const std::int64_t shift = group.members[member_of(piece, member_of_nest)].times * row;
    made.push_back({piece.nest, piece.begin - shift, piece.end - shift, piece.needed - shift,
                    piece.is_border});
  }
  return made;
}

// The lets of a group among the operands of a nest.
std::uint64_t near(const TileGroup &group, std::size_t m, const Lets &lets,
                   const TypedSpec &typed) {
  const auto is_of_group = [&](const std::string &name) {
    for (std::size_t k = 0; k + 1 < group.members.size(); ++k)
      if (lets.specs()[group.members[k].let]->typed.outputs[0].name == name) return true;
    return false;
  };
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(typed.inputs.size(), 64); ++i) {
    const spec::TypedInput &array = typed.inputs[typed.array_of(i)];
    if (array.materialised && is_of_group(array.name)) bits |= std::uint64_t(1) << i;
  }
  if (m + 1 < group.members.size() && typed.inputs.size() < 64)
    bits |= std::uint64_t(1) << typed.inputs.size();
  return bits;
}

} // namespace

// All nests of a member; where they lie is not looked at.
bool TileChooser::add_nests(const TileGroup &group, std::size_t m, Reader &reader, Tiles &tiles,
                            std::vector<NestRows> &rows) {
  const TileMember &member = group.members[m];
  if (reader.choice->fills_output || !reader.choice->own_inputs.empty()) return false;
  for (const WindowChoice::Part &part : reader.choice->parts) {
    for (const kernel::Range &range : part.box)
      if (range.step != 1) return false;
    const Nest &part_nest = reader.nest.of_part(part.id);
    const PartViews views = part_views(reader, part);
    const std::vector<const AnyView *> operands = pointers_to_wanted(views.views, views.is_wanted);
    std::vector<Layout> outputs;
    std::vector<std::size_t> dims; // of rows
    for (const spec::TypedOutput &output : part_nest.typed().outputs) {
      outputs.push_back(views.views[part_nest.typed().inputs.size() + outputs.size()].layout);
      dims.push_back(
          std::size_t(std::ranges::find(output.axes, member.axis) - output.axes.begin()));
    }
    Tiles::Nest nest{.run = {&part_nest, reader.typed().name, {}, part.lies, plan_->runs++},
                     .axis = member.axis,
                     .special = nullptr};
    const kernel::Lies lies{part.lies, near(group, m, nests_.lets, part_nest.typed())};
    std::optional<Tiles::RowsOfNest> goes;
    if (is_run_) {
      nest.special = part_nest.bind(operands, lies, Use::Often);
      // One that stands in for native code may have to give way to the reference.
      const bool may_fail = nests_.rest.setup().may_stand_in();
      if (nest.special->engine == Engine::reference ||
          (nest.special->engine != Engine::jit && may_fail))
        return false;
      goes = rows_of_nest(nest.special->pattern->program, nest.special->binding, outputs, dims);
    } else {
      kernel::Layouts layouts;
      layouts.lies = part.lies;
      layouts.near = lies.near;
      const plan::Resolved resolved = resolve(part_nest.setup(), operands, layouts);
      const plan::Plan plan = make_plan(part_nest.setup(), layouts, resolved,
                                        part_nest.setup().threads, false, plan::Generality::Exact);
      goes = rows_of_nest(plan.program, plan.binding, outputs, dims);
    }
    if (!goes) return false;
    nest.rows = std::move(*goes);
    const bool is_all = part.box.empty() || part.box[std::size_t(member.axis)].count < 0;
    if (!is_all) nest.first = part.box[std::size_t(member.axis)].first;
    if (m + 1 < group.members.size()) nest.array = m;
    rows.push_back({std::uint32_t(tiles.nests.size()), nest.first,
                    is_all ? member.rows : nest.first + part.box[std::size_t(member.axis)].count});
    tiles.nests.push_back(std::move(nest));
  }
  return true;
}

// A copy with borders for all that read it, and the step that fills it: [member].
std::vector<Step> TileChooser::see_borders(const TileGroup &group, std::vector<Reader> &members) {
  std::vector<Step> fill(members.size());
  for (std::size_t m = 0; m + 1 < members.size(); ++m) {
    if (!group.members[m].border) continue;
    const MemRef &lies = group.members[m].border->copy;
    AnyView copy = lies.view;
    copy.data = static_cast<char *>(address_of(std::size_t(lies.array))) + lies.offset;
    const std::string name = fresh(members[m].outputs[0].array + "_padded");
    add(Owner::Copy, name, copy.dtype, copy.layout);
    for (std::size_t r = m + 1; r < members.size(); ++r)
      for (const RowsRead &read : group.members[r].reads) {
        if (read.reads != m || !read.padding) continue;
        members[r].copies.push_back({*read.padding, name, copy, {}});
        fill[m] = pad_step(members[r], members[r].copies.back(), std::nullopt);
      }
    for (Ref *ref : {&fill[m].to[0], &fill[m].from[0]})
      ref->at.resize(std::size_t(copy.layout.rank), Affine{.all = true});
  }
  return fill;
}

bool TileChooser::in_tiles(const TileGroup &group, std::vector<Reader> &members, Steps to) {
  Tiles tiles;
  const std::vector<Step> borders = see_borders(group, members);
  std::vector<std::vector<NestRows>> nests(members.size());
  for (std::size_t m = 0; m < members.size(); ++m)
    if (!add_nests(group, m, members[m], tiles, nests[m])) return false;
  tiles.tasks = pieces_of(group, nests);
  for (std::size_t m = 0; m + 1 < members.size(); ++m) {
    const AnyView &whole = members[m].views.back();
    Tiles::Array &array = tiles.arrays.emplace_back();
    array.number = std::size_t(operand_of(whole).array);
    array.row_bytes = group.members[m].row_bytes;
    array.rows = group.members[m].rows;
    array.whole = operand_of(whole);
    array.name = members[m].outputs[0].array;
    array.border = group.members[m].border;
  }
  for (const std::vector<Piece> &task : tiles.tasks)
    for (const Piece &piece : task) {
      if (!piece.is_border)
        if (const Tiles::Nest &nest = tiles.nests[piece.nest]; nest.special)
          tiles.scratch = std::max(tiles.scratch, nest.rows.starts(piece.end - piece.begin).back() +
                                                      std::int64_t(nest.special->rows.bytes));
      if (const auto array = piece.is_border ? std::optional<std::size_t>(piece.nest)
                                             : tiles.nests[piece.nest].array)
        tiles.arrays[*array].kept = std::max(tiles.arrays[*array].kept, piece.end - piece.needed);
    }
  for (std::size_t m = 0; m + 1 < members.size(); ++m)
    tiles.arrays[m].room = tiles.arrays[m].kept + group.spare * group.members[m].times;
  for (Reader &member : members) copies_of(member, to);
  check_apart(members.back(), to);
  std::size_t next = 0;
  for (Reader &member : members) {
    for (const WindowChoice::Part &part : member.choice->parts) {
      const PartViews views = part_views(member, part); // of copies, too, which are there now
      Run &run = tiles.nests[next++].run;
      for (std::size_t k = 0; k < views.views.size(); ++k)
        run.operands.push_back(operand_of(views.views[k], views.is_wanted[k]));
    }
  }
  for (std::size_t m = 0; m + 1 < members.size(); ++m)
    for (calls::Array &array : call_.arrays) {
      const Tiles::Array &tiled = tiles.arrays[m];
      const bool is_copy = tiled.border && array.name == borders[m].to[0].array;
      if (array.name != tiled.name && !is_copy) continue;
      array.rows = {*outermost_dim(members[m].views.back().layout), 0, tiled.kept, true};
      array.note = is_copy ? fmt::format("'{}' lies in it", tiled.name)
                           : fmt::format("for {} rows of {} at a time", group.rows,
                                         members.back().outputs[0].array);
    }
  show(group, members, borders, tiles, to.shown);
  to.actions.push_back(InTiles{plan_->tiles.size()});
  plan_->paths.push_back(Path::LetInTiles);
  for (const Tiles::Array &array : tiles.arrays)
    if (array.border) plan_->paths.push_back(Path::TilesPadded);
  plan_->tiles.push_back(std::move(tiles));
  return true;
}

// Tasks and tiles that differ in where they begin alone are printed as a loop.
void TileChooser::show(const TileGroup &group, std::vector<Reader> &members,
                       std::span<const Step> borders, const Tiles &tiles, std::vector<Step> &to) {
  std::vector<std::size_t> member_of_nest;
  std::vector<Step> steps; // [nest]
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const WindowChoice::Part &part : members[m].choice->parts) {
      member_of_nest.push_back(m);
      steps.push_back(run_step(members[m], part));
    }
  struct Loop {
    std::string axis;
    std::int64_t by = 0; // rows of the last member
  };
  const std::string axis_of_tasks = fresh("task"), axis_of_tiles = fresh("tile");
  const auto moves_of = [](std::span<const Loop> loops, std::int64_t times) {
    std::vector<Affine::Term> moves;
    for (const Loop &loop : loops)
      if (loop.by != 0) moves.push_back({loop.axis, times * loop.by});
    return moves;
  };
  const auto axis_of = [&](std::size_t m) -> const std::string & {
    return members[m].typed().axes[std::size_t(group.members[m].axis)].name;
  };
  // A piece whose tile begins at `row` and so much later from turn to turn of the loops around.
  const auto piece_step = [&](const Piece &piece, std::int64_t row, std::span<const Loop> loops) {
    const std::size_t m = member_of_nest[piece.nest];
    const std::int64_t times = group.members[m].times;
    const std::string &axis = axis_of(m);
    const std::int64_t begin = piece.begin + times * row;
    Step step = steps[piece.nest];
    for (Range &range : step.over)
      if (range.axis == axis)
        range = {axis, begin, piece.end - piece.begin, 1, moves_of(loops, times)};
    return step;
  };
  // Of borders: rows of the copy are those of the array, or stand for others before and behind it.
  const auto border_steps = [&](const Piece &piece, std::int64_t row, std::span<const Loop> loops,
                                std::vector<Step> &into) {
    const std::size_t m = piece.nest;
    const Tiles::Array &array = tiles.arrays[m];
    const std::int64_t shift = group.members[m].times * row;
    const Piece whole{piece.nest, piece.begin + shift, piece.end + shift, 0, true};
    for (const Tiles::PaddedRows &rows : Tiles::padded_rows(*array.border, array.rows, whole)) {
      Step step = borders[m];
      const std::vector<Affine::Term> moves = moves_of(loops, group.members[m].times);
      Affine from{.constant = rows.row, .terms = moves},
          to{.constant = rows.copy_row, .terms = moves};
      if (rows.count > 1) {
        step.over = {{axis_of(m), rows.row, rows.count, 1, moves}};
        from = {.terms = {{axis_of(m), 1}}};
        to = {.constant = rows.copy_row - rows.row, .terms = {{axis_of(m), 1}}};
      }
      step.from[0].at[array.border->dim] = from;
      step.to[0].at[array.border->dim] = to;
      into.push_back(std::move(step));
    }
  };
  struct Tile {
    std::int64_t row = 0;
    std::vector<Piece> pieces; // from that row
    bool operator==(const Tile &) const = default;
  };
  const auto tiles_of = [&](const std::vector<Piece> &task) { // a tile ends with the last member
    std::vector<Tile> made;
    for (std::size_t p = 0; p < task.size();) {
      std::size_t end = p;
      const auto is_last = [&](const Piece &piece) {
        return member_of(piece, member_of_nest) + 1 == members.size();
      };
      while (!is_last(task[end])) ++end;
      const std::int64_t row = task[end].begin / group.rows * group.rows;
      while (end < task.size() && is_last(task[end])) ++end;
      made.push_back(
          {row, from_row(std::span(task).subspan(p, end - p), group, member_of_nest, row)});
      p = end;
    }
    return made;
  };
  // Equal ones, one behind the other at equal distances, from the first on.
  const auto equal_ones = [](const auto &all, std::size_t first, const auto &row_of,
                             const auto &is_equal) {
    std::size_t end = first + 1;
    while (end < all.size() && is_equal(all[first], all[end]) &&
           row_of(all[end]) - row_of(all[end - 1]) == row_of(all[first + 1]) - row_of(all[first]))
      ++end;
    return end - first;
  };
  const auto show_tiles = [&](const std::vector<Tile> &all, std::vector<Loop> loops,
                              std::vector<Step> &into) {
    for (std::size_t t = 0; t < all.size();) {
      const std::size_t count = equal_ones(
          all, t, [](const Tile &tile) { return tile.row; },
          [](const Tile &a, const Tile &b) { return a.pieces == b.pieces; });
      std::vector<Step> body;
      std::vector<Loop> around = loops;
      if (count > 1) around.push_back({axis_of_tiles, all[t + 1].row - all[t].row});
      for (const Piece &piece : all[t].pieces)
        if (piece.is_border)
          border_steps(piece, all[t].row, around, body);
        else
          body.push_back(piece_step(piece, all[t].row, around));
      if (count > 1) {
        Step loop{.kind = Kind::For};
        loop.over = {{axis_of_tiles, 0, std::int64_t(count)}};
        loop.body = std::move(body);
        into.push_back(std::move(loop));
      } else {
        into.insert(into.end(), body.begin(), body.end());
      }
      t += count;
    }
  };
  std::vector<std::vector<Tile>> tasks;
  for (const std::vector<Piece> &task : tiles.tasks)
    if (!task.empty()) tasks.push_back(tiles_of(task));
  const auto is_like = [](const std::vector<Tile> &a, const std::vector<Tile> &b) {
    bool like = a.size() == b.size();
    for (std::size_t t = 0; like && t < a.size(); ++t)
      like = a[t].pieces == b[t].pieces && a[t].row - a[0].row == b[t].row - b[0].row;
    return like;
  };
  for (std::size_t first = 0; first < tasks.size();) {
    const std::size_t count =
        equal_ones(tasks, first, [](const auto &task) { return task[0].row; }, is_like);
    if (count == 1) {
      show_tiles(tasks[first], {}, to);
    } else {
      Step loop{.kind = Kind::For};
      loop.over = {{axis_of_tasks, 0, std::int64_t(count)}};
      loop.note = "may run at once";
      show_tiles(tasks[first], {{axis_of_tasks, tasks[first + 1][0].row - tasks[first][0].row}},
                 loop.body);
      to.push_back(std::move(loop));
    }
    first += count;
  }
}

} // namespace broadloom::jit::choice

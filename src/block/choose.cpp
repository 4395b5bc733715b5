// The choice of blocks: which positions of each loop are lanes, copies and turns. See block.hpp.
#include "block/chooser.hpp"

#include "block/rules.hpp"

#include <algorithm>
#include <bit>

namespace broadloom::block {

using namespace loop;

namespace {

Dim lanes_of(AxisId axis, int count) { return {axis, count, As::Lanes, false}; }
Dim copies_of(AxisId axis, int count) { return {axis, count, As::Copies, false}; }
Dim turns_of(AxisId axis, int count) { return {axis, count, As::Turns, false}; }

} // namespace

Box Chooser::box(std::vector<Dim> dims, const std::vector<Stmt> &body, const Place &place) const {
  Box box;
  box.dims = std::move(dims);
  box.masked = place.masked && box.count(As::Lanes) > 1;
  add_accesses(box, body, place);
  Place inside = place;
  inside.streamed.clear(); // loops inside move what is aligned here
  for (const Stmt &s : body)
    if (s.kind == StmtKind::Loop) box.runs.push_back(run(s.loop, inside));
  return box;
}

Run Chooser::run(LoopId id, const Place &place) const {
  const Loop &l = loop(id);
  if (l.turns > 0) return short_loop(id, place);
  if (l.scan || l.reverse) return scan(id, place);
  if (!l.accs.empty()) return fold(id, place);
  if (l.vector) return map(id, place);
  if (!lanes_are_threads()) {
    if (std::optional<Run> found = jam(id, place)) return *found;
    if (std::optional<Run> found = row_tile(id, place)) return *found;
    if (std::optional<Run> found = fold_tile(id, place)) return *found;
  }
  if (std::optional<Run> found = transposed_tile(id, place)) return *found;
  return turns(id, place);
}

Run Chooser::turns(LoopId id, const Place &place) const {
  return {id, Shape::Turns, {box({turns_of(loop(id).axis, 1)}, loop(id).body, place)}, {}};
}

// How many positions are lanes: a register of the narrowest type that varies, but no less than four
// bytes of it unless all types are that narrow, and eight where c64 is computed with in f64.
int Chooser::base_width(LoopId id) const {
  const Survey::LoopFacts &f = facts(id);
  const int bytes = f.widest <= 2 ? f.widest : f.narrowest <= 4 && !f.doubles ? 4 : 8;
  if (loop(id).scan) return scan_ways;
  if (lanes_are_threads())
    return machine_.warp;   // whatever their types: each has registers of its own
  constexpr int fewest = 2; // one lane is a turn
  const int width = std::max(fewest, machine_.vector_bytes() / bytes / machine_.sizes.narrower);
  return loop(id).accs.empty() ? width : std::min(width, fold_ways);
}

// Rows that have places side by side for so many lanes and no more.
bool Chooser::has_rows_in_lanes(LoopId id) const {
  for (std::size_t b = 0; b < program_.buffers.size(); ++b) { // inner loops may store them
    const BufferId row{std::uint32_t(b)};
    if (is_row_in_lanes(program_[row]) && is_row_of_lanes(program_, row, loop(id))) return true;
  }
  return false;
}

int Chooser::width_of_map(LoopId id) const {
  const int width = base_width(id);
  return has_rows_in_lanes(id) ? std::min(width, row_lanes) : width;
}

// Threads store by way of their caches.
std::vector<BufferId> Chooser::streamed(LoopId id) const {
  return lanes_are_threads() ? std::vector<BufferId>{} : streams(program_, id);
}

// How many neighbours a thread takes, so that it moves 16 bytes at once: where all that lies along
// the lanes does so side by side, and the body is light, as it stands for each of them.
int Chooser::apiece(LoopId id) const {
  const Loop &l = loop(id);
  const Survey::LoopFacts &f = facts(id);
  if (!lanes_are_threads() || f.costly || f.inner_loops || has_rows_in_lanes(id) ||
      l.body.size() > machine_.sizes.copied_body)
    return 1;
  std::size_t widest = 0;
  for (const BufferId buffer : f.buffers) {
    const Walk *along = walk(buffer, l.axis);
    if (along == nullptr) continue;
    if (along->stride != StrideClass::Unit || is_complex(program_[buffer].dtype)) return 1;
    widest = std::max(widest, size_of(program_[buffer].dtype));
  }
  constexpr int most = 8;
  return widest == 0 ? 1
                     : std::max(1, std::min(most, machine_.sizes.bytes_of_thread / int(widest)));
}

// A lane for each thread, and neighbours for each lane.
Box Chooser::neighbours(LoopId id, Place place, int apiece) const {
  const Loop &l = loop(id);
  place.vector = &l;
  place.width = machine_.warp;
  place.apiece = apiece;
  return box({lanes_of(l.axis, machine_.warp), copies_of(l.axis, apiece)}, l.body, place);
}

bool Chooser::takes_rows_inside(LoopId id) const {
  return std::ranges::any_of(loop(id).body, [&](const Stmt &s) {
    return s.kind == StmtKind::Loop && takes_rows(s.loop, loop(id));
  });
}

// A loop over columns with folds over rows inside takes a strip of columns, so that each row is
// read in pieces of several cache lines, as long as the accumulators fit.
int Chooser::map_width(LoopId id, const Place &place) const {
  const Survey::LoopFacts &f = facts(id);
  const int base = width_of_map(id), asked = program_[loop(id).axis].copies;
  if (has_rows_in_lanes(id) || takes_rows_inside(id) || lanes_are_threads()) return base;
  if (asked > 0 && !f.costly && !place.jammed && (f.inner_folds || !f.inner_loops))
    return asked * base;
  if (!f.inner_folds || f.costly) return base;
  int width = machine_.sizes.columns * base;
  while (width > base && width * f.acc_bytes > machine_.accumulator_bytes()) width /= 2;
  return width;
}

// What goes around the caches goes by the register, which is a line at best: of elements that are
// narrower than what is computed with, so many lanes as fill several. Else a line would be put
// together of parts, and asked for ahead once for each.
int Chooser::streamed_width(LoopId id, const std::vector<BufferId> &streamed) const {
  constexpr int most_registers = 4; // of a value
  const Survey::LoopFacts &f = facts(id);
  const int base = width_of_map(id), room = machine_.vector_bytes() / machine_.sizes.narrower;
  if (f.costly || f.inner_loops || loop(id).body.size() > machine_.sizes.copied_body ||
      !lies_along(id))
    return base;
  int narrowest = room; // bytes
  for (const BufferId buffer : streamed)
    narrowest = std::min(narrowest, int(size_of(program_[buffer].dtype)));
  int width = base;
  while (width < most_masked && width * narrowest < room &&
         2 * width * f.widest <= most_registers * room)
    width *= 2;
  return width;
}

Run Chooser::map(LoopId id, Place place) const {
  const Loop &l = loop(id);
  const Survey::LoopFacts &f = facts(id);
  place.streamed = streamed(id);
  const int base = place.streamed.empty() ? width_of_map(id) : streamed_width(id, place.streamed);
  Run run{id, Shape::Map, {}, {}};
  place.vector = &l;
  const auto add = [&](int width, bool masked) {
    place.width = width;
    place.masked = masked;
    std::vector<Dim> dims;
    if (width > base) dims.push_back(copies_of(l.axis, width / base));
    dims.push_back(lanes_of(l.axis, std::min(width, base)));
    run.boxes.push_back(box(std::move(dims), l.body, place));
    run.boxes.back().rest = run.boxes.size() > 1;
  };
  if (!place.streamed.empty()) {
    run.shape = Shape::StreamedMap;
    add(base, false);
    add(base, true); // up to the first aligned address, and at the end
    return run;
  }
  if (const int each = apiece(id); each > 1) {
    run.boxes.push_back(neighbours(id, place, each));
    add(base, true); // of what is left, and where not all is aligned
    return run;
  }
  // Heavy math takes long to compile, and so do blocks that are transposed: so there is one copy of
  // them for whole and partial groups, where masks cost nothing. Threads have it always: a thread
  // that has nothing to do waits.
  const bool long_code = f.costly || (f.inner_trees && lies_along(id)) || takes_rows_inside(id);
  if ((long_code && machine_.masks_free) || lanes_are_threads()) {
    run.shape = Shape::MaskedMap;
    add(base, true);
    return run;
  }
  add(map_width(id, place), false);
  add(base, true);
  // Columns that fill a part of a register only are folded in smaller ones: three channels in 4
  // lanes, not 16. What a tile leaves is not worth so much code.
  if (!f.inner_folds || long_code || place.left) return run;
  constexpr int narrow_register = 256; // bits
  for (int width = base; width > 2 && width * f.widest * 8 > narrow_register; width /= 2)
    add(width / 2, true);
  return run;
}

Run Chooser::short_loop(LoopId id, Place place) const {
  const Loop &l = loop(id);
  const Survey::LoopFacts &f = facts(id);
  const bool light = !f.costly && !f.inner_loops &&
                     l.body.size() * std::size_t(l.turns) <= machine_.sizes.short_statements;
  const bool copied = light || !identity_stays(program_, l);
  if (!lanes_are_threads() && l.turns <= fold_ways) note_rows(l, place);
  place.in_tree = l.ways > 1;
  const Dim dim = copied ? copies_of(l.axis, l.turns) : turns_of(l.axis, l.turns);
  return {id, Shape::Short, {box({dim}, l.body, place)}, {}};
}

// What the body moves of rows that lie along its loop, and can be moved as blocks before and after
// its turns.
void Chooser::note_rows(const Loop &row, Place &place) const {
  const auto as_rows = [&](BufferId buffer) {
    return lies_in_rows(buffer, row.axis, *place.vector) &&
           moves_as_one(program_, row.body, buffer);
  };
  for (const Stmt &s : row.body) {
    if (s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Load &&
        as_rows(program_[s.value].buffer))
      place.loaded_across.push_back(program_[s.value].buffer);
    if (s.kind == StmtKind::Set && as_rows(s.buffer)) place.stored_across.push_back(s.buffer);
  }
}

Run Chooser::fold(LoopId id, Place place) const {
  const Loop &l = loop(id);
  const Survey::LoopFacts &f = facts(id);
  if (runs_as_vector(program_, l)) {
    Run run{id, Shape::VectorFold, {}, {}};
    const int width = width_of_map(id);
    place.vector = &l;
    place.width = width;
    const bool light = !f.costly || f.functions <= machine_.sizes.copied_functions;
    if (const int each = folds_in_any_order(program_, l) ? apiece(id) : 1; each > 1) {
      run.boxes.push_back(neighbours(id, place, each));
    } else if (light && !f.inner_loops) {
      place.streamed = streamed(id);
      run.boxes.push_back(
          box({copies_of(l.axis, fold_ways / width), lanes_of(l.axis, width)}, l.body, place));
    }
    place.masked = true;
    run.boxes.push_back(box({lanes_of(l.axis, width)}, l.body, place));
    run.boxes.back().rest = run.boxes.size() > 1;
    return run;
  }
  if (statements_unrolled(id) <= machine_.sizes.short_statements)
    return {id,
            Shape::Unrolled,
            {box({copies_of(l.axis, program_[l.axis].positions)}, l.body, place)},
            {}};
  Run run{id, Shape::SerialFold, {}, {}};
  const int leaves = leaves_together(id, place.width);
  if (leaves > 1) run.boxes.push_back(box({{l.axis, leaves, As::Copies, true}}, l.body, place));
  if (has_leaves_in_threads(id, place)) {
    Place threads = place;
    threads.vector = &l;
    threads.width = machine_.warp;
    run.boxes.push_back(box({{l.axis, machine_.warp, As::Lanes, true}}, l.body, threads));
  }
  run.boxes.push_back(box({turns_of(l.axis, 1)}, l.body, place));
  run.boxes.back().rest = run.boxes.size() > 1;
  return run;
}

// Joins of what chunks have come to: a thread takes each of them, and neighbours are joined.
bool Chooser::has_leaves_in_threads(LoopId id, const Place &place) const {
  return lanes_are_threads() && place.vector == nullptr && loop(id).leaf == 1 &&
         !facts(id).inner_loops && !has_stores(loop(id).body);
}

// Of all steps of a fold over few positions, and of those inside it; as good as infinite where
// there is a loop among them.
std::size_t Chooser::statements_unrolled(LoopId id) const {
  constexpr std::size_t too_many = 1 << 20;
  const Loop &l = loop(id);
  const bool is_serial = !l.accs.empty() && !l.scan && !l.reverse && l.turns == 0 && !l.within &&
                         !runs_as_vector(program_, l);
  if (!is_serial || program_[l.axis].positions == 0 || facts(id).costly) return too_many;
  std::size_t statements = 0;
  for (const Stmt &s : l.body)
    statements += s.kind == StmtKind::Loop ? statements_unrolled(s.loop) : 1;
  return std::min(too_many, statements * std::size_t(program_[l.axis].positions));
}

// How many leaves run at the same time: each step of a leaf waits for the one before, and a few
// states leave most of the adders idle meanwhile.
int Chooser::leaves_together(LoopId id, int width) const {
  const Loop &l = loop(id);
  const Survey::LoopFacts &f = facts(id);
  const int asked = program_[l.axis].copies;
  if (l.leaf < 2 || !std::has_single_bit(std::uint64_t(l.leaf)) || f.costly || f.inner_loops ||
      has_stores(l.body) || lanes_are_threads())
    return 1;
  if (asked > 0) return asked;
  if (l.leaf < machine_.sizes.least_leaf || l.body.size() > machine_.sizes.copied_body) return 1;
  int registers = 0;
  for (const AccId acc : l.accs)
    for (const DType state : program_.recipe(acc).states) {
      const int lanes = survey_.acc_varies[acc.index] ? width : 1;
      registers += std::max(1, lanes * int(size_of(state)) * 8 / machine_.vector_bits);
    }
  int leaves = machine_.sizes.leaves;
  while (leaves > 1 && leaves * registers > machine_.sizes.leaf_registers) leaves /= 2;
  return leaves;
}

// Whether lanes of a row each read or store what lies in rows along the loop: a register of those
// lanes' elements is one column of a block, which is a few shuffles for each column, and a gather
// would be as many loads as there are lanes.
bool Chooser::takes_rows(LoopId id, const Loop &lanes) const {
  const Loop &l = loop(id);
  if (!(l.scan || l.reverse) || l.ways > 1 || facts(id).inner_loops || lanes_are_threads())
    return false;
  Place place;
  place.vector = &lanes;
  note_rows(l, place);
  return !place.loaded_across.empty() || !place.stored_across.empty();
}

Run Chooser::serial_scan(LoopId id, const Place &place) const {
  const Loop &l = loop(id);
  Run run{id, Shape::SerialScan, {}, {}};
  if (place.vector != nullptr && takes_rows(id, *place.vector)) {
    Place strip = place;
    note_rows(l, strip);
    strip.in_strip = true;
    const int count = std::min(place.width, scan_ways);
    std::size_t statements = l.body.size();
    for (const AccId acc : l.accs) statements += program_.recipe(acc).step.lines.size();
    const bool light =
        !facts(id).costly && statements * std::size_t(count) <= machine_.sizes.short_statements / 8;
    const Dim dim = light ? copies_of(l.axis, count) : turns_of(l.axis, count);
    run.boxes.push_back(box({dim}, l.body, strip));
  }
  // Threads of a warp load, and store, neighbours together; all of them take each step.
  if (lanes_are_threads() && place.vector == nullptr && is_chain(program_, l)) {
    Place threads = place;
    threads.vector = &l;
    threads.width = machine_.warp;
    run.boxes.push_back(box({lanes_of(l.axis, machine_.warp)}, l.body, threads));
  }
  run.boxes.push_back(box({turns_of(l.axis, 1)}, l.body, place));
  run.boxes.back().rest = run.boxes.size() > 1;
  return run;
}

Run Chooser::scan(LoopId id, Place place) const {
  const Loop &l = loop(id);
  if (l.ways == 1) return serial_scan(id, place);
  Run run{id, Shape::GroupScan, {}, {}};
  place.vector = &l;
  if (!facts(id).costly) {
    // Totals alone are joined for several groups at once, in full registers down to the last level.
    const bool totals = !reads_running(program_, l) && !l.reverse;
    // All threads of a warp are busy in two groups, whose joins are two turns'.
    const int groups = lanes_are_threads() ? machine_.warp / scan_ways
                       : totals            ? machine_.sizes.scan_totals
                                           : 1;
    if (!totals) place.streamed = streamed(id);
    place.width = groups * scan_ways;
    std::vector<Dim> dims;
    if (groups > 1) dims.push_back(copies_of(l.axis, groups));
    dims.push_back(lanes_of(l.axis, scan_ways));
    run.boxes.push_back(box(std::move(dims), l.body, place));
  }
  place.masked = true;
  place.width = scan_ways;
  run.boxes.push_back(box({lanes_of(l.axis, scan_ways)}, l.body, place));
  run.boxes.back().rest = run.boxes.size() > 1;
  return run;
}

namespace {

void number(Box &box, int &next) {
  box.id = next++;
  for (Run &run : box.runs)
    for (Box &inner : run.boxes) number(inner, next);
}

} // namespace

Program choose(const loop::Program &program, const Machine &machine) {
  Program blocks;
  blocks.machine = machine;
  blocks.weights = weigh(program);
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    blocks.surveys.push_back(survey(program, p, blocks.weights));
    const Chooser chooser(program, blocks.surveys.back(), blocks.machine);
    blocks.phases.push_back(chooser.box({}, program.phases[p].body, {}));
    number(blocks.phases.back(), blocks.boxes);
  }
  verify(program, blocks);
  return blocks;
}

} // namespace broadloom::block

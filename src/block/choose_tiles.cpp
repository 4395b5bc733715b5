// Two loops as one block: unroll-and-jam, register tiles, and tiles that are transposed. See
// block.hpp.
#include "block/chooser.hpp"

#include "block/rules.hpp"

#include <algorithm>

namespace broadloom::block {

using namespace loop;

namespace {

// Statements of a body that is light enough to have twice as many rows jammed: one load, and a step
// of one state. With eight rows, and their lines asked for as emit/prefetch.cpp says, sums of the
// columns of f32[4096, 4096] and [1024, 16384] take 0.95 and 0.85 of the time of four (two threads
// of a Sapphire Rapids).
constexpr std::size_t most_statements_of_tall_jam = 6;

} // namespace

// Several rows of a sweep at once, where a fold over rows keeps its states in a row of memory.
//
// Problem: `set s0[j] = s0[j] + f64(x[i, j])` in a loop over j inside one over i loads and stores
// each state once for every row, and reads one row of x at a time, which memory could deliver
// faster.
// Method: four or eight rows are copies of the body of the inner loop, in order. What the first
// stores of a state the next one takes from its register; only the last one stores to memory.
// Nothing but values known for the whole row is around the inner loop, and it runs over the same
// positions in every row.
std::optional<Run> Chooser::jam(LoopId id, const Place &place) const {
  const Loop &rows = loop(id);
  const std::optional<LoopId> found = only_loop(rows.body);
  if (!found || place.vector != nullptr) return std::nullopt;
  const Loop &inner = loop(*found);
  if (!inner.vector || !inner.accs.empty() || inner.scan || inner.within == rows.axis ||
      facts(*found).inner_loops || facts(*found).costly)
    return std::nullopt;
  if (const int count = rows_that_share(rows, *found); count > 1) return jam(id, place, count);
  if (rows.parallel || inner.body.size() > machine_.sizes.copied_body ||
      !streams(program_, *found).empty())
    return std::nullopt;
  bool states = false;
  for (const Stmt &s : inner.body) {
    if (s.kind != StmtKind::Set || walk(s.buffer, rows.axis) != nullptr) continue;
    const Walk *along = walk(s.buffer, inner.axis);
    if (along == nullptr || along->stride != StrideClass::Unit ||
        !is_stepped(program_, s.buffer, inner))
      return std::nullopt;
    states = true;
  }
  const int asked = program_[rows.axis].tile;
  if (!states || asked == 1) return std::nullopt;
  const bool is_light = inner.body.size() <= most_statements_of_tall_jam;
  return jam(id, place, asked > 0 ? asked : machine_.sizes.jammed_rows * (is_light ? 2 : 1));
}

// How many rows of a map at once load a quarter less, as they read each other's: no more than two,
// as all is to stay in registers, and tiles have few rows; else 1.
int Chooser::rows_that_share(const Loop &rows, LoopId id) const {
  if (program_[rows.axis].tile != 0 || has_rows_in_lanes(id)) return 1;
  const Loop &inner = loop(id);
  const std::vector<SharedRows> shared = rows_of_jam(program_, inner, rows.axis);
  const bool own = std::ranges::all_of(inner.body, [&](const Stmt &s) {
    return s.kind != StmtKind::Set || walk(s.buffer, rows.axis) != nullptr;
  });
  if (shared.empty() || !own) return 1;
  const auto loads = std::size_t(std::ranges::count_if(inner.body, [&](const Stmt &s) {
    return s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Load;
  }));
  for (int count = 2; count <= machine_.sizes.jammed_rows / 2; count *= 2) {
    if (inner.body.size() * std::size_t(count) > 4 * machine_.sizes.copied_body) break;
    std::size_t saved = 0;
    for (const SharedRows &of : shared)
      saved += of.loads.size() * std::size_t(count) - of.count(count);
    if (4 * saved >= loads * std::size_t(count)) return count;
  }
  return 1;
}

Run Chooser::jam(LoopId id, const Place &place, int count) const {
  const Loop &rows = loop(id);
  Run run{id, Shape::Jam, {}, *only_loop(rows.body)};
  Place jammed = place;
  jammed.jammed = rows.axis;
  for (const SharedRows &shared : rows_of_jam(program_, loop(run.inner), rows.axis))
    for (const auto &[buffer, by] : shared.loads) jammed.shared.push_back(buffer);
  run.boxes.push_back(box({{rows.axis, count, As::Copies, false}}, rows.body, jammed));
  add_single_rows(run, place);
  return run;
}

// What the whole blocks leave.
void Chooser::add_single_rows(Run &run, const Place &place) const {
  const Loop &rows = loop(run.loop);
  run.boxes.push_back(box({{rows.axis, 1, As::Turns, false}}, rows.body, place));
  run.boxes.back().rest = true;
}

// Outside of the loop inside, once for each row of a block.
void Chooser::add_known_of_rows(Run &run, const Place &place) const {
  Box values;
  add_accesses(values, loop(run.loop).body, place);
  for (const Access &access : values.accesses) run.boxes[0].accesses.push_back(access);
}

// Products of matrices and their like: several rows of the result at once.
//
// Problem: in c[i, j] = sum(a[i, k] * b[k, j], k) with lanes along j, every row of c reads all of
// b. The caches deliver it more slowly than the processor multiplies, where b is larger than a
// core's own.
// Method: R rows run as one group of lanes. Where a value walks the rows, each row has its own part
// of the lanes; else all rows have the same. So b is loaded once for R rows, and each state still
// has its own steps in their order. The rows go round inside of a few columns, which stay in the
// caches.
//
//   lanes      j0 j1 | j0 j1      R = 2 rows of W = 2 lanes
//   a[i, k]    a0 a0 | a1 a1
//   b[k, j]    b0 b1 | b0 b1
//   c[i, j]    row i | row i + 1
//
// The last few columns are a masked box of as many rows: f32 [2048, 784] by [784, 24] takes 0.4 of
// the time of rows one by one. The last tile of rows ends where they end, and takes some again
// (may_repeat_rows): f32 [100, 100] by [100, 100] takes 0.6 of the time. Where the result is stored
// around the caches, f32 [1000000, 16] by [16, 64] takes 0.6 of the time of plain stores.
std::optional<Run> Chooser::row_tile(LoopId id, const Place &place) const {
  const Loop &rows = loop(id);
  const std::optional<LoopId> found =
      place.vector == nullptr ? lanes_of_rows(program_, survey_, rows) : std::nullopt;
  if (!found) return std::nullopt;
  const LoopId inner = *found;
  const Loop &lanes = loop(inner);
  const Survey::LoopFacts &f = facts(inner);
  if (!lanes.vector || !lanes.accs.empty() || lanes.scan || lanes.turns > 0 ||
      lanes.within == rows.axis || f.costly || !(f.inner_folds || f.inner_trees) ||
      (f.inner_trees && !lies_along(inner)))
    return std::nullopt;
  const bool shared = std::any_of(f.buffers.begin(), f.buffers.end(), [&](BufferId buffer) {
    return program_[buffer].reread && walk(buffer, rows.axis) == nullptr &&
           walk(buffer, lanes.axis) != nullptr;
  });
  int height = 1, width = base_width(inner);
  const auto twice_fits = [&] {
    return 2 * height * width * f.acc_bytes <= machine_.accumulator_bytes();
  };
  const int asked = program_[rows.axis].tile, copies = program_[lanes.axis].copies;
  const int most = machine_.sizes.tile_rows * (program_[rows.axis].tall ? 2 : 1);
  while (asked == 0 && height < most && twice_fits()) height *= 2;
  if (asked > 0) height = asked;
  while (copies == 0 && twice_fits()) width *= 2;
  if (copies > 0) width *= copies;
  if ((!shared && asked == 0) || height == 1) return std::nullopt;
  Run run{id, Shape::RowTile, {}, inner};
  Place tiled = place;
  tiled.vector = &lanes;
  tiled.width = height * width;
  tiled.tiled = rows.axis;
  tiled.tile_lanes = &lanes;
  tiled.streamed = streamed(inner);
  run.boxes.push_back(
      box({{rows.axis, height, As::Copies, false}, {lanes.axis, width, As::Lanes, false}},
          lanes.body, tiled));
  if (width <= most_masked && moves_masked(inner) && !f.inner_trees) {
    tiled.masked = true;
    tiled.streamed.clear();
    Box beside = box(run.whole().dims, lanes.body, tiled);
    beside.rest = true;
    run.boxes.push_back(std::move(beside));
  }
  Place rest = place;
  rest.left = run.boxes.size() > 1;
  add_single_rows(run, rest);
  return run;
}

// Products of matrices whose rows both lie along the folded axis, and their like: several folds at
// once.
//
// Problem: c[i, j] = sum(a[i, k] * b[j, k], k) has lanes along k, and every fold loads a row of a
// and one of b for one product.
// Method: R positions of i by C of j fold side by side, each with ways of its own. What does not
// move along i, or along j, is loaded once for them: R + C rows for R times C products. The lanes
// of all are joined together.
//
//   R = 3, C = 4      loads of a turn 3 + 4, products 12
std::optional<Run> Chooser::fold_tile(LoopId id, const Place &place) const {
  const Loop &rows = loop(id);
  const std::optional<LoopId> inner = only_loop(rows.body);
  const std::optional<LoopId> found =
      inner && place.vector == nullptr ? fold_of_tile(program_, rows, *inner) : std::nullopt;
  if (!found || facts(*found).costly || program_[rows.axis].tile == 1) return std::nullopt;
  const Loop &columns = loop(*inner);
  bool rows_share = false, columns_share = false;
  for (const BufferId buffer : facts(*found).buffers) {
    const bool moves_down = walk(buffer, rows.axis) != nullptr;
    const bool moves_across = walk(buffer, columns.axis) != nullptr;
    rows_share |= !moves_down && moves_across;
    columns_share |= moves_down && !moves_across;
  }
  // A quarter of the registers holds what is loaded.
  const int states = machine_.registers * 3 / 4 * machine_.vector_bytes();
  const int most = std::min(machine_.sizes.tile_folds,
                            states / std::max(fold_ways * facts(*inner).acc_bytes, 1));
  const int rows_asked = program_[rows.axis].tile, columns_asked = program_[columns.axis].copies;
  int down = 1, across = 1;
  for (int r = 1; r <= (rows_share ? 4 : 1); ++r)
    for (int c = 1; c <= (columns_share ? 4 : 1); ++c) // the fewest loads for a product
      if (r * c <= most && (r + c) * down * across < (down + across) * r * c) down = r, across = c;
  if (rows_asked > 0) down = rows_asked;
  if (columns_asked > 0) across = columns_asked;
  if (down * across == 1) return std::nullopt;
  Run run{id, Shape::FoldTile, {}, *inner};
  run.boxes.push_back(
      box({{rows.axis, down, As::Copies, false}, {columns.axis, across, As::Copies, false}},
          columns.body, place));
  add_known_of_rows(run, place);
  add_single_rows(run, place);
  return run;
}

// Whether all that walks these lanes lies along them.
bool Chooser::lies_along(LoopId lanes) const {
  return std::ranges::all_of(facts(lanes).buffers, [&](BufferId id) {
    const Walk *along = walk(id, loop(lanes).axis);
    return along == nullptr || along->stride == StrideClass::Unit;
  });
}

// Whether all that walks these lanes moves as one under a mask.
bool Chooser::moves_masked(LoopId lanes) const {
  return std::ranges::all_of(facts(lanes).buffers, [&](BufferId id) {
    const Walk *along = walk(id, loop(lanes).axis);
    const DType dtype = program_[id].dtype;
    return along == nullptr || (along->stride == StrideClass::Unit && !is_complex(dtype) &&
                                machine_.has_masked_move(size_of(dtype)));
  });
}

std::vector<BufferId> Chooser::lying_across(const Loop &rows, const Loop &lanes, int width) const {
  std::vector<BufferId> found;
  for (const Stmt &s : lanes.body) {
    if (s.kind != StmtKind::Let || program_[s.value].kind != ValueKind::Load) continue;
    const BufferId id = program_[s.value].buffer;
    const Walk *along = walk(id, rows.axis), *across = walk(id, lanes.axis);
    if (along == nullptr || along->stride != StrideClass::Unit || across == nullptr) continue;
    const DType dtype = program_[id].dtype;
    const std::size_t size = size_of(dtype);
    const bool fits = (size == 4 || size == 8) &&
                      size * std::size_t(width) <= std::size_t(machine_.vector_bytes());
    if (is_complex(dtype) || !(fits || lanes_are_threads()) ||
        !moves_as_one(program_, lanes.body, id))
      continue;
    if (std::find(found.begin(), found.end(), id) == found.end()) found.push_back(id);
  }
  std::size_t bytes = 0; // at one position
  for (const BufferId id : found) bytes += size_of(program_[id].dtype);
  if (lanes_are_threads() && bytes > most_bytes_across_warp) return {};
  return found.size() > std::size_t(machine_.sizes.transposed) ? std::vector<BufferId>{} : found;
}

// Two loops of a tile together, where an operand lies across.
//
// Problem: in z[i, j] = a[i, j] + b[j, i] with lanes along j, the elements of b for the lanes of
// one vector lie in as many rows of memory, and are loaded one by one.
// Method: W turns of the loop over i run as one block. W by W elements of b are loaded as W vectors
// along i, which are transposed in registers by log2(W) rounds of shuffles; then each vector has
// the lanes along j for one i, and a loop runs the body for each of them. What is left over at the
// ends runs row by row. Example, W = 2: rows (b00 b01) and (b10 b11) in memory; i = 0 takes (b00
// b10), i = 1 takes (b01 b11). The threads of a warp transpose in memory that they share: each
// stores elements along i there and takes those along j.
std::optional<Run> Chooser::transposed_tile(LoopId id, const Place &place) const {
  const Loop &rows = loop(id);
  const std::optional<LoopId> inner = only_loop(rows.body);
  if (!inner || !rows.accs.empty() || !rows.within) return std::nullopt;
  const Loop &lanes = loop(*inner);
  if (!lanes.vector || !lanes.accs.empty() || lanes.scan ||
      rows.body.size() + lanes.body.size() > machine_.sizes.transposed_body ||
      facts(*inner).inner_loops || facts(*inner).costly)
    return std::nullopt;
  const int width = base_width(*inner);
  Place tile = place;
  tile.loaded_across = lying_across(rows, lanes, width);
  if (tile.loaded_across.empty()) return std::nullopt;
  tile.vector = &lanes;
  tile.width = width;
  tile.in_tile = true;
  tile.streamed = streamed(*inner);
  // Rows that lie far apart are no stream that the hardware would follow. With plain stores the
  // lines come in time.
  for (const Stmt &s : lanes.body) {
    if (tile.streamed.empty() || s.kind != StmtKind::Let ||
        program_[s.value].kind != ValueKind::Load)
      continue;
    const BufferId buffer = program_[s.value].buffer;
    if (walk(buffer, rows.axis) != nullptr && walk(buffer, lanes.axis) != nullptr)
      tile.next_block.push_back(buffer);
  }
  Run run{id, Shape::TransposedTile, {}, *inner};
  run.boxes.push_back(
      box({{rows.axis, width, As::Turns, false}, {lanes.axis, width, As::Lanes, false}}, lanes.body,
          tile));
  add_known_of_rows(run, place);
  add_single_rows(run, place);
  return run;
}

} // namespace broadloom::block

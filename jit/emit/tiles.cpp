// Two loops as one box: unroll-and-jam, register tiles, and tiles that are transposed in registers.
//
// - A jam takes several rows as copies of the body of the loop inside, in order. What the first
//   stores of a state the next one takes from its register; only the last one stores to memory.
// - A register tile takes several rows as one group of lanes. Where a value walks the rows, each
//   row has its own part of the lanes; else all rows have the same, which is loaded once.
//
//     lanes      j0 j1 | j0 j1      R = 2 rows of W = 2 lanes
//     a[i, k]    a0 a0 | a1 a1
//     b[k, j]    b0 b1 | b0 b1
//     c[i, j]    row i | row i + 1
//
// - A transposed tile loads a block of W by W elements of an operand that lies across as W vectors
//   along the rows, which are transposed in registers; then each vector has the lanes for one row,
//   and a loop runs the body for each of them. Example, W = 2: rows (b00 b01) and (b10 b11) in
//   memory; i = 0 takes (b00 b10), i = 1 takes (b01 b11).
//
// The states step as they would one row after the other, so the bits are the same. What is left
// over beside the boxes runs row by row.
#include "jit/emit/phase.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

void PhaseEmitter::jam(const Place &here, const block::Run &run, Range range) {
  const Loop &rows = program_[run.loop];
  const block::Box &box = run.whole();
  const int count = box.positions();
  const block::Run &inner = block::run_of(box, run.inner);
  llvm::Value *rest = context_.whole(range, count);
  if (llvm::Value *apart = memory_.apart(here, inner.whole(), rows.axis))
    rest = ir_.CreateSelect(ir_.CreateICmpEQ(apart, ir_.getInt64(0)), rest, range.begin);
  context_.each({range.begin, rest}, count, [&](llvm::Value *position) {
    context_.took(Path::RowsJammed);
    Place place;
    std::vector<Copy> copies;
    for (int r = 0; r < count; ++r) {
      place = moved(here, box, run.loop, position, r);
      body(place, rows.body, [](const Place &, LoopId) {});
      Copy &copy = copies.emplace_back(Copy{place.at, place.positions, {}});
      for (const Stmt &s : rows.body)
        if (s.kind == StmtKind::Let) copy.values.emplace_back(s.value, values_[s.value.index]);
    }
    place.copies = &copies;
    place.jam = &box.dims.front();
    loop(place, inner);
  });
  context_.each({rest, range.end}, 1, [&](llvm::Value *position) {
    context_.took(Path::RowsJammedRest);
    turn(here, run.rest(), run.loop, position);
  });
}

// Blocks of rows by lanes, then the lanes beside them and whole rows below.
void PhaseEmitter::tile(const Place &here, const block::Run &run, Range rows) {
  const Range lanes = context_.range(here, program_[run.inner]);
  const block::Box &box = run.whole(), &rest = run.rest();
  llvm::Value *whole_rows = context_.whole(rows, box.dims.front().count);
  llvm::Value *whole_lanes = context_.whole(lanes, box.positions());
  const bool transposed = run.shape == block::Shape::TransposedTile;
  if (transposed)
    transposed_blocks(here, run, {rows.begin, whole_rows}, {lanes.begin, whole_lanes});
  else
    register_blocks(here, run, {rows.begin, whole_rows}, {lanes.begin, whole_lanes});
  llvm::Value *left =
      ir_.CreateSelect(ir_.CreateICmpEQ(whole_lanes, lanes.end), whole_rows, rows.begin);
  context_.each({left, rows.end}, 1, [&](llvm::Value *row) {
    context_.took(transposed ? Path::TileBeside : Path::RegisterTileBeside);
    llvm::Value *from =
        ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_lanes, lanes.begin);
    body(moved(here, rest, run.loop, row), program_[run.loop].body,
         [&](const Place &in_row, LoopId inner) {
           map(in_row, block::run_of(rest, inner), {from, lanes.end});
         });
  });
}

void PhaseEmitter::register_blocks(const Place &here, const block::Run &run, Range rows,
                                   Range lanes) {
  const block::Box &box = run.whole();
  const int copies = box.count(block::As::Copies), width = box.count(block::As::Lanes);
  const bool panel =
      std::ranges::any_of(context_.survey.loops[run.inner.index].buffers, [&](BufferId buffer) {
        return program_[buffer].reread && program_[buffer].role == Role::Scratch;
      });
  context_.each(lanes, width, [&](llvm::Value *lane) {
    context_.each(rows, copies, [&](llvm::Value *row) {
      context_.took(Path::RegisterTile);
      if (panel) context_.took(Path::RegisterTileOfPanel);
      Place place = moved(here, box, run.loop, row);
      place.group = {
          &program_[run.inner], width, program_[run.loop].axis, copies, nullptr, nullptr};
      turn(place, box, run.inner, lane);
    });
  });
}

void PhaseEmitter::transposed_blocks(const Place &here, const block::Run &run, Range rows,
                                     Range lanes) {
  const block::Box &box = run.whole();
  const Loop &outer = program_[run.loop], &inner = program_[run.inner];
  const int width = box.positions();
  llvm::Value *wrong = memory_.stored_plainly(here, box, lanes.begin, width, outer.axis);
  context_.each(rows, width, [&](llvm::Value *row) {
    context_.each(lanes, width, [&](llvm::Value *lane) {
      context_.took(Path::TileBlock);
      Registers blocks = memory_.load_blocks(here, box, outer.axis, row, inner.axis, lane);
      const auto ahead = memory_.next_lines(here, run, rows, row, lane);
      const auto one_row = [&](const Place &around, llvm::Value *k) {
        for (const Memory::NextLines &lines : ahead) memory_.ask(lines, k);
        if (around.aligned) context_.took(Path::TileStreamed);
        Place place = moved(around, box, run.loop, ir_.CreateAdd(row, k));
        for (auto &[buffer, elements] : blocks) {
          elements.row = k;
          place.loaded[buffer] = &elements;
        }
        body(place, outer.body, [&](const Place &in_row, LoopId id) {
          turn(context_.lanes_of(in_row, inner, width), box, id, lane);
        });
      };
      const auto all_rows = [&](const Place &around) {
        context_.each({ir_.getInt64(0), context_.number(width)}, 1,
                      [&](llvm::Value *k) { one_row(around, k); });
        return Values{};
      };
      // Here, and not around all blocks, so that the shuffles stand once.
      memory_.around_caches(here, wrong, all_rows);
    });
  });
}

} // namespace broadloom::jit

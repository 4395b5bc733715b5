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
// - A register tile of folds takes folds at several positions of two loops side by side. What does
//   not move along one of them is loaded once for all that share it.
//
//     a[i, k]    a0 a0 | a1 a1      R = 2 by C = 2 folds: 4 loads for 4 products
//     b[j, k]    b0 b1 | b0 b1
//
// - A transposed tile loads a block of W by W elements of an operand that lies across as W vectors
//   along the rows, which are transposed in registers; then each vector has the lanes for one row,
//   and a loop runs the body for each of them. Example, W = 2: rows (b00 b01) and (b10 b11) in
//   memory; i = 0 takes (b00 b10), i = 1 takes (b01 b11).
//
// The states step as they would one row after the other, so the bits are the same. What is left
// over beside the boxes runs row by row.
#include "block/rules.hpp"
#include "jit/emit/phase.hpp"

#include <algorithm>
#include <span>

namespace broadloom::jit {

using namespace loop;

// What these statements have given, for a body that comes later.
void PhaseEmitter::note_values(Copy &copy, std::span<const Stmt> statements) const {
  for (const Stmt &s : statements)
    if (s.kind == StmtKind::Let) copy.values.emplace_back(s.value, values_[s.value.index]);
}

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
      note_values(copies.emplace_back(Copy{place.at, place.positions, {}, {}}), rows.body);
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
  const int height = box.dims.front().count;
  llvm::Value *whole_rows = context_.whole(rows, height);
  if (run.shape == block::Shape::RowTile && block::may_repeat_rows(program_, program_[run.loop]))
    whole_rows = ir_.CreateSelect(
        ir_.CreateICmpSGE(ir_.CreateSub(rows.end, rows.begin), ir_.getInt64(std::uint64_t(height))),
        rows.end, rows.begin);
  llvm::Value *whole_lanes = context_.whole(lanes, box.positions());
  const Range down{rows.begin, whole_rows}, across{lanes.begin, whole_lanes};
  Path beside = Path::TileBeside;
  if (run.shape == block::Shape::TransposedTile) {
    transposed_blocks(here, run, down, across);
  } else if (run.shape == block::Shape::FoldTile) {
    fold_blocks(here, run, down, across);
    beside = Path::FoldTileBeside;
  } else {
    register_blocks(here, run, box, down, across);
    beside = Path::RegisterTileBeside;
    if (run.beside() != nullptr) {
      register_blocks(here, run, *run.beside(), down, {whole_lanes, lanes.end});
      whole_lanes = lanes.end;
    }
  }
  llvm::Value *left =
      ir_.CreateSelect(ir_.CreateICmpEQ(whole_lanes, lanes.end), whole_rows, rows.begin);
  context_.each({left, rows.end}, 1, [&](llvm::Value *row) {
    context_.took(beside);
    llvm::Value *from =
        ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_lanes, lanes.begin);
    body(moved(here, rest, run.loop, row), program_[run.loop].body,
         [&](const Place &in_row, LoopId inner) {
           const block::Run &left = block::run_of(rest, inner);
           if (left.shape == block::Shape::Turns)
             plain_loop(in_row, left, {from, lanes.end});
           else
             map(in_row, left, {from, lanes.end});
         });
  });
}

// Of each fold all that comes before it, then the steps of all, then of each what comes after it.
void PhaseEmitter::fold_blocks(const Place &here, const block::Run &run, Range rows,
                               Range columns) {
  const block::Box &box = run.whole();
  const block::Run &folds = box.runs.front();
  const Loop &outer = program_[run.loop], &inner = program_[run.inner];
  const int down = box.dims[0].count, across = box.dims[1].count;
  const std::span<const Stmt> all = inner.body;
  const auto at = std::ranges::find(all, StmtKind::Loop, &Stmt::kind) - all.begin();
  const auto before = all.first(std::size_t(at)), after = all.subspan(std::size_t(at) + 1);
  const auto no_loop = [](const Place &, LoopId) {};
  context_.each(columns, across, [&](llvm::Value *column) {
    context_.each(rows, down, [&](llvm::Value *row) {
      context_.took(Path::FoldTile);
      std::vector<Place> places;
      std::vector<Copy> copies;
      for (int r = 0; r < down; ++r) {
        const Place in_row = moved(here, box, run.loop, row, r);
        body(in_row, outer.body, no_loop);
        for (int c = 0; c < across; ++c) {
          const Place &place = places.emplace_back(moved(in_row, box, run.inner, column, c));
          body(place, before, no_loop);
          Copy &copy = copies.emplace_back(Copy{place.at, place.positions, {}, {}});
          note_values(copy, outer.body);
          note_values(copy, before);
          for (std::uint32_t b = 0; b < program_.buffers.size(); ++b)
            copy.like.push_back((context_.walk({b}, outer.axis) != nullptr ? r * across : 0) +
                                (context_.walk({b}, inner.axis) != nullptr ? c : 0));
        }
      }
      Place tiled = places.front();
      tiled.copies = &copies;
      const Loop &fold = program_[folds.loop];
      const Blocks results = folds_.folded(tiled, folds, context_.range(tiled, fold));
      SharedRegisters none;
      for (std::size_t k = 0; k < copies.size(); ++k) {
        of_copy(places[k], copies[k], none);
        accs_.set_running(fold, results[k]);
        body(places[k], after, no_loop);
      }
    });
  });
}

void PhaseEmitter::register_blocks(const Place &here, const block::Run &run, const block::Box &box,
                                   Range rows, Range lanes) {
  const int copies = box.count(block::As::Copies), width = box.count(block::As::Lanes);
  const bool panel =
      std::ranges::any_of(context_.survey.loops[run.inner.index].buffers, [&](BufferId buffer) {
        return program_[buffer].reread && program_[buffer].role == Role::Scratch;
      });
  llvm::Value *wrong =
      memory_.stored_plainly(here, box, lanes.begin, width, program_[run.loop].axis);
  context_.each(lanes, width, [&](llvm::Value *lane) {
    context_.each(rows, copies, [&](llvm::Value *next) {
      // No later than the last one that is whole: see may_repeat_rows.
      llvm::Value *row = context_.least(next, ir_.CreateSub(rows.end, context_.number(copies)));
      context_.took(box.masked ? Path::RegisterTileMasked : Path::RegisterTile);
      context_.took(Path::RegisterTileBack, ir_.CreateICmpNE(row, next));
      if (panel) context_.took(Path::RegisterTileOfPanel);
      llvm::Value *active =
          box.masked ? context_.least(ir_.CreateSub(lanes.end, lane), context_.number(width))
                     : nullptr;
      Place place =
          context_.lanes_of(moved(here, box, run.loop, row), program_[run.inner], width, active);
      place.group.rows = program_[run.loop].axis;
      place.group.copies = copies;
      body(place, program_[run.loop].body, [&](const Place &in_rows, LoopId inner) {
        streamed_turn(moved(in_rows, box, inner, lane), program_[inner].body, wrong);
      });
    });
  });
}

// Only the stores stand twice, and not the folds before them.
void PhaseEmitter::streamed_turn(const Place &here, std::span<const Stmt> statements,
                                 llvm::Value *wrong) {
  const auto first = std::ranges::find_if(statements, [&](const Stmt &s) {
    return s.kind == StmtKind::Set &&
           here.box->access(s.buffer, true).move == block::Move::Streamed;
  });
  const auto before = std::size_t(first - statements.begin());
  body(here, statements.first(before));
  if (before == statements.size()) return;
  memory_.around_caches(here, wrong, [&](const Place &around) {
    if (around.aligned) context_.took(Path::RegisterTileStreamed);
    body(around, statements.subspan(before));
    return Values{};
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

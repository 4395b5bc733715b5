// Two loops as one box: unroll-and-jam, register tiles, and tiles that are transposed in registers.
//
// - A jam takes several rows as copies of the body of the loop inside, in order. What the first stores of a state the next one takes
//   from its register; only the last one stores to memory.
// - A register tile takes several rows as one group of lanes. Where a value walks the rows, each row has its own part of the
//   lanes; else all rows have the same, which is loaded once.
//
//     lanes      j0 j1 | j0 j1      R = 2 rows of W = 2 lanes
//     a[i, k]    a0 a0 | a1 a1
//     b[k, j]    b0 b1 | b0 b1
//     c[i, j]    row i | row i + 1
//
// - A transposed tile loads a block of W by W elements of an operand that lies across as W vectors along the rows, which are
//   transposed in registers; then each vector has the lanes for one row, and a loop runs the body for each of them. Example, W = 2:
//   rows (b00 b01) and (b10 b11) in memory; i = 0 takes (b00 b10), i = 1 takes (b01 b11).
//
// The states step as they would one row after the other, so the bits are the same. What is left over beside the boxes runs row by row.
#include "jit/emit/phase.hpp"

namespace broadloom::jit {

using namespace loop;

void PhaseEmitter::jam(const Place &here, const block::Run &run, llvm::Value *begin,
                       llvm::Value *end) {
  const Loop &rows = program_[run.loop];
  const block::Box &box = run.whole();
  const int count = box.positions();
  llvm::Value *rest = context_.whole(begin, end, count);
  lanes_.counted_loop(begin, rest, count, {}, [&](llvm::Value *position, Values) {
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
    loop(place, block::run_of(box, run.inner));
    return Values{};
  });
  lanes_.counted_loop(rest, end, 1, {}, [&](llvm::Value *position, Values) {
    context_.took(Path::RowsJammedRest);
    turn(here, run.rest(), run.loop, position);
    return Values{};
  });
}

void PhaseEmitter::register_tile(const Place &here, const block::Run &run, llvm::Value *begin,
                                 llvm::Value *end) {
  const block::Box &box = run.whole();
  const Loop &lanes = program_[run.inner];
  const int copies = box.count(block::As::Copies), width = box.count(block::As::Lanes);
  const auto [first, last] = context_.range(here, lanes);
  llvm::Value *whole_rows = context_.whole(begin, end, copies);
  llvm::Value *whole_lanes = context_.whole(first, last, width);
  lanes_.counted_loop(first, whole_lanes, width, {}, [&](llvm::Value *lane, Values) {
    lanes_.counted_loop(begin, whole_rows, copies, {}, [&](llvm::Value *row, Values) {
      context_.took(Path::RegisterTile);
      Place place = moved(here, box, run.loop, row);
      place.group = {&lanes, width, program_[run.loop].axis, copies, nullptr, nullptr};
      turn(place, box, run.inner, lane);
      return Values{};
    });
    return Values{};
  });
  // The lanes beside the blocks, and whole rows below them.
  llvm::Value *left = ir_.CreateSelect(ir_.CreateICmpEQ(whole_lanes, last), whole_rows, begin);
  lanes_.counted_loop(left, end, 1, {}, [&](llvm::Value *row, Values) {
    context_.took(Path::RegisterTileBeside);
    const Place place = moved(here, run.rest(), run.loop, row);
    map(place, block::run_of(run.rest(), run.inner),
        ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_lanes, first), last);
    return Values{};
  });
}

void PhaseEmitter::transposed_tile(const Place &here, const block::Run &run, llvm::Value *begin,
                                   llvm::Value *end) {
  const Loop &rows = program_[run.loop];
  const block::Box &box = run.whole();
  const int width = box.positions();
  const auto [first, last] = context_.range(here, program_[run.inner]);
  llvm::Value *whole_rows = context_.whole(begin, end, width);
  llvm::Value *whole_lanes = context_.whole(first, last, width);
  llvm::Value *wrong = nullptr; // zero where the stores are aligned in every row
  if (const std::vector<BufferId> stores = Memory::streamed(box); !stores.empty()) {
    wrong = memory_.misaligned(here, stores, first, width);
    for (const BufferId buffer : stores)
      if (context_.walk(buffer, rows.axis) != nullptr)
        wrong = ir_.CreateOr(wrong, ir_.CreateAnd(context_.step_bytes(buffer, rows.axis),
                                                  memory_.stream_alignment(buffer, width) - 1));
  }
  transposed_blocks(here, run, {begin, whole_rows}, {first, whole_lanes}, wrong);

  // The columns beside the blocks, and whole rows below them.
  llvm::Value *left = ir_.CreateSelect(ir_.CreateICmpEQ(whole_lanes, last), whole_rows, begin);
  lanes_.counted_loop(left, end, 1, {}, [&](llvm::Value *row, Values) {
    context_.took(Path::TileBeside);
    llvm::Value *from = ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_lanes, first);
    body(moved(here, run.rest(), run.loop, row), rows.body, [&](const Place &place, LoopId id) {
      map(place, block::run_of(run.rest(), id), from, context_.range(place, program_[id]).second);
    });
    return Values{};
  });
}

void PhaseEmitter::transposed_blocks(const Place &here, const block::Run &run, Memory::Range rows,
                                     Memory::Range lanes, llvm::Value *wrong) {
  const block::Box &box = run.whole();
  const Loop &outer = program_[run.loop], &inner = program_[run.inner];
  const int width = box.positions();
  lanes_.counted_loop(rows.first, rows.second, width, {}, [&](llvm::Value *row, Values) {
    lanes_.counted_loop(lanes.first, lanes.second, width, {}, [&](llvm::Value *lane, Values) {
      context_.took(Path::TileBlock);
      Registers blocks;
      for (const block::Access &access : box.accesses)
        if (!access.store && access.move == block::Move::Transposed)
          blocks[access.buffer] =
              memory_.load_block(here, access.buffer, outer.axis, row, inner.axis, lane, width);
      std::vector<Memory::NextLines> ahead;
      if (wrong != nullptr) ahead = memory_.next_lines(here, run, rows, row, lane);
      const auto all_rows = [&](const Place &around) {
        lanes_.counted_loop(ir_.getInt64(0), context_.number(width), 1, {},
                            [&](llvm::Value *k, Values) {
                              for (const Memory::NextLines &lines : ahead) memory_.ask(lines, k);
                              if (around.aligned) context_.took(Path::TileStreamed);
                              Place place = moved(around, box, run.loop, ir_.CreateAdd(row, k));
                              for (auto &[buffer, elements] : blocks) {
                                elements.row = k;
                                place.loaded[buffer] = &elements;
                              }
                              body(place, outer.body, [&](const Place &in_row, LoopId id) {
                                context_.range(in_row, inner);
                                turn(context_.lanes_of(in_row, inner, width), box, id, lane);
                              });
                              return Values{};
                            });
        return Values{};
      };
      // Here, and not around all blocks, so that the shuffles stand once.
      if (wrong == nullptr)
        all_rows(here);
      else
        around_caches(here, wrong, all_rows);
      return Values{};
    });
    return Values{};
  });
}

} // namespace broadloom::jit

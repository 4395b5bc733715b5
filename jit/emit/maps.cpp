// Loops without accumulators: see phase.hpp.
#include "jit/emit/phase.hpp"

#include <llvm/IR/Constants.h>

namespace broadloom::jit {

using namespace loop;

void PhaseEmitter::plain_loop(const Place &here, const block::Run &run, Range range) {
  context_.each(range, 1,
                [&](llvm::Value *position) { turn(here, run.whole(), run.loop, position); });
}

void PhaseEmitter::map(const Place &here, const block::Run &run, Range range) {
  if (run.shape == block::Shape::StreamedMap) return streamed_map(here, run, range);
  if (run.shape == block::Shape::MaskedMap) return masked_map(here, run, range);
  const int width = run.whole().positions(), part = run.boxes[1].positions();
  llvm::Value *rest = memory_.whole_and_aligned(here, run.whole(), range);
  whole_boxes(here, run, {range.begin, rest});
  llvm::Value *most = context_.number(part);
  context_.each({rest, range.end}, part, [&](llvm::Value *position) {
    llvm::Value *count = ir_.CreateSub(range.end, position);
    if (part < width) count = context_.least(count, most);
    narrowest_part(here, run, 1, position, count);
  });
}

void PhaseEmitter::whole_boxes(const Place &here, const block::Run &run, Range range) {
  const int width = run.whole().positions();
  const Place place = context_.lanes_of(here, program_[run.loop], width);
  context_.each(range, width, [&](llvm::Value *position) {
    if (run.whole().apiece() > 1) {
      context_.took(Path::MapWide);
      return neighbours(here, run, position);
    }
    context_.took(run.shape != block::Shape::StreamedMap ? Path::MapGroup
                  : here.aligned                         ? Path::StreamAligned
                                                         : Path::StreamMisaligned);
    turn(place, run.whole(), run.loop, position);
  });
}

// Copies of the body for the neighbours that each thread of a warp takes, which it moves at once.
void PhaseEmitter::neighbours(const Place &here, const block::Run &run, llvm::Value *position) {
  const block::Box &box = run.whole();
  Place place = context_.lanes_of(here, program_[run.loop], box.count(block::As::Lanes));
  place.group.apiece = box.apiece();
  const Place first = moved(place, box, run.loop, position);
  Registers loaded = memory_.neighbours(first, false), awaited = memory_.neighbours(first, true);
  for (auto &[id, elements] : loaded) place.loaded[id] = &elements;
  for (auto &[id, elements] : awaited) place.awaited[id] = &elements;
  for (int k = 0; k < box.apiece(); ++k) {
    for (Registers *all : {&loaded, &awaited})
      for (auto &[id, elements] : *all) elements.row = context_.number(k);
    turn(place, box, run.loop, position, k);
  }
  memory_.store_neighbours(first, awaited);
}

// The body for the `count` positions from `position`, at least one and at most those of the box.
void PhaseEmitter::part(const Place &here, const block::Run &run, const block::Box &box,
                        llvm::Value *position, llvm::Value *count) {
  const Place place = context_.lanes_of(here, program_[run.loop], box.positions(), count);
  context_.took(Path::MapRest);
  turn(place, box, run.loop, position);
}

// The rest in the smallest of the run's boxes that holds it, from this one on.
void PhaseEmitter::narrowest_part(const Place &here, const block::Run &run, std::size_t box,
                                  llvm::Value *position, llvm::Value *count) {
  if (box + 1 == run.boxes.size()) return part(here, run, run.boxes[box], position, count);
  lanes_.either(
      ir_.CreateICmpSLE(count, context_.number(run.boxes[box + 1].positions())),
      [&] {
        context_.took(Path::MapRestNarrowed);
        narrowest_part(here, run, box + 1, position, count);
        return Values{};
      },
      [&] {
        part(here, run, run.boxes[box], position, count);
        return Values{};
      });
}

// One copy of the code for whole and partial boxes:
//
//   for turn in 0, 1: for position from (turn ? rest : begin) to (turn ? end : rest): the body,
//   masked
//
// The mask does not change within a turn.
void PhaseEmitter::masked_map(const Place &here, const block::Run &run, Range range) {
  const auto [begin, end] = range;
  const int width = run.whole().positions();
  llvm::Value *rest = context_.whole(range, width);
  llvm::Value *all = context_.number(width);
  context_.each({ir_.getInt64(0), ir_.getInt64(2)}, 1, [&](llvm::Value *turn) {
    llvm::Value *last = ir_.CreateICmpNE(turn, ir_.getInt64(0));
    llvm::Value *from = ir_.CreateSelect(last, rest, begin);
    llvm::Value *to = ir_.CreateSelect(last, end, rest);
    llvm::Value *count = ir_.CreateSelect(last, ir_.CreateSub(end, rest), all);
    Place place = context_.lanes_of(here, program_[run.loop], width, count);
    if (!lanes_.are_threads()) {
      // From an integer: the code generator would sink a comparison into the loop.
      llvm::Value *bits =
          ir_.CreateLShr(ir_.getInt64(~std::uint64_t{0}), ir_.CreateSub(ir_.getInt64(64), count));
      place.group.mask = ir_.CreateBitCast(ir_.CreateTrunc(bits, ir_.getIntNTy(unsigned(width))),
                                           lanes_.type(DType::Bool, width));
    }
    context_.each({from, to}, width, [&](llvm::Value *position) {
      context_.took(Path::MapMasked);
      this->turn(place, run.whole(), run.loop, position);
    });
  });
}

// A loop whose stores go around the caches, and so must be aligned:
//
//   begin: a partial group up to the first aligned address of the first stream
//   middle: whole groups, with such stores where now all streams are aligned, and none is an
//           input, else with plain ones
//   end:   a partial group
//
// Both partial groups are one piece of code, in a loop of at most three turns: p is the position,
// and count the size of the partial group to run next (0: whole groups).
void PhaseEmitter::streamed_map(const Place &here, const block::Run &run, Range range) {
  const auto [begin, end] = range;
  const int width = run.whole().positions();
  llvm::Value *head = memory_.before_aligned(here, run.whole(), range, width);

  llvm::BasicBlock *before = ir_.GetInsertBlock();
  llvm::BasicBlock *next = context_.block("stream"), *part = context_.block("part");
  llvm::BasicBlock *middle = context_.block("middle"), *latch = context_.block("latch");
  llvm::BasicBlock *after = context_.block("after");
  ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), next, after);

  ir_.SetInsertPoint(next);
  llvm::PHINode *position = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  llvm::PHINode *count = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  position->addIncoming(begin, before);
  count->addIncoming(head, before);
  ir_.CreateCondBr(ir_.CreateICmpSGT(count, ir_.getInt64(0)), part, middle);

  ir_.SetInsertPoint(part);
  context_.took(Path::StreamHead);
  this->part(here, run, run.rest(), position, count);
  llvm::Value *after_part = ir_.CreateAdd(position, count);
  llvm::BasicBlock *part_end = ir_.GetInsertBlock();
  ir_.CreateBr(latch);

  ir_.SetInsertPoint(middle);
  llvm::Value *rest = context_.whole({position, end}, width);
  llvm::Value *wrong = memory_.stored_plainly(here, run.whole(), position, width);
  memory_.around_caches(here, wrong, [&](const Place &place) {
    whole_boxes(place, run, {position, rest});
    return Values{};
  });
  llvm::BasicBlock *done = ir_.GetInsertBlock();
  llvm::Value *remaining = ir_.CreateSub(end, rest);
  ir_.CreateBr(latch);

  ir_.SetInsertPoint(latch);
  llvm::PHINode *next_position = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  llvm::PHINode *next_count = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  next_position->addIncoming(after_part, part_end);
  next_count->addIncoming(ir_.getInt64(0), part_end);
  next_position->addIncoming(rest, done);
  next_count->addIncoming(remaining, done);
  position->addIncoming(next_position, latch);
  count->addIncoming(next_count, latch);
  ir_.CreateCondBr(ir_.CreateICmpSLT(next_position, end), next, after);
  ir_.SetInsertPoint(after);
}

} // namespace broadloom::jit

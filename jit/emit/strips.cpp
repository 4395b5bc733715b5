// Blocks of a scan of rows: its lanes are a row each.
//
// Problem: lanes that step along a row each load and store elements that lie a row apart: by
// gathers and scatters, or one by one.
// Method: as many positions as there are lanes are one block. What lies in rows is loaded as it
// lies, a piece of the row of each lane, and transposed in registers; then each position has its
// column, and the body runs once for each of them, in order. What is stored is transposed back
// after the last. Copies of the body have the columns in registers; of a heavy body there is one
// copy, with the columns on the stack. The states step as they would one position at a time.
// Example: x[i, j], lanes i, a block of two positions: (x00 x01), (x10 x11) in memory; the turns
// take (x00 x10), then (x01 x11).
#include "jit/emit/folds.hpp"

#include "jit/emit/phase.hpp"

namespace broadloom::jit {

using namespace loop;

AllStates Folds::strips(const Place &here, const block::Run &run, Range range,
                        const AllStates &start) {
  const Loop &loop = program_[run.loop];
  const int size = run.whole().positions();
  const auto turn = [&](llvm::Value *first, Blocks &now) {
    context_.took(Path::ScanOfRows);
    if (loop.reverse) // the turn for begin is that for the last block
      first = ir_.CreateSub(
          ir_.CreateAdd(range.begin, ir_.CreateSub(range.end, context_.number(size))), first);
    now[0] = strip(here, run, first, now[0]);
  };
  return accs_.counted_loop(loop, range, size, {start}, turn).front();
}

// The positions from `first` on, in the direction of the loop.
AllStates Folds::strip(const Place &here, const block::Run &run, llvm::Value *first,
                       const AllStates &start) {
  const Loop &loop = program_[run.loop];
  const block::Box &box = run.whole();
  const int size = box.positions();
  const bool copied = box.dims[0].as == block::As::Copies;
  const Place corner = walk_.moved(here, box, run.loop, first, 0);
  Registers loaded = memory_.columns(corner, run, false, !copied);
  Registers awaited = memory_.columns(corner, run, true, !copied);
  Place inside = here;
  for (auto &[buffer, elements] : loaded) inside.loaded[buffer] = &elements;
  for (auto &[buffer, elements] : awaited) inside.awaited[buffer] = &elements;
  const auto turn = [&](llvm::Value *number, llvm::Value *position, std::int64_t offset) {
    for (auto &[buffer, elements] : loaded) elements.row = number;
    for (auto &[buffer, elements] : awaited) elements.row = number;
    walk_.turn(inside, box, run.loop, position, offset);
  };
  AllStates after = start;
  if (copied) {
    accs_.set_running(loop, start);
    for (int k = 0; k < size; ++k) {
      const int number = loop.reverse ? size - 1 - k : k;
      turn(context_.number(number), first, number);
    }
    after = accs_.running(loop);
  } else {
    const auto one = [&](llvm::Value *number, Blocks &now) {
      if (loop.reverse) number = ir_.CreateSub(context_.number(size - 1), number);
      accs_.set_running(loop, now[0]);
      turn(number, ir_.CreateAdd(first, number), 0);
      now[0] = accs_.running(loop);
    };
    after =
        accs_.counted_loop(loop, {ir_.getInt64(0), context_.number(size)}, 1, {start}, one).front();
  }
  memory_.store_columns(corner, awaited);
  return after;
}

} // namespace broadloom::jit

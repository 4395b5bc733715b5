// Loops that run in order: scans, and ordered folds from the end. See loop.hpp for what they mean.
//
// Problem: the running state must have the same bits whether one thread walks the whole axis or
// many take a block each, from the carried states that an earlier phase has worked out.
// Method: the states step through a block of `leaf` positions from the recipe's start; the carried
// states of the blocks before are joined on at every position, which is one more combine, and never
// become part of the steps.
// Example: the running sums of 1 2 3 4 in blocks of 2 are 0+1, 0+3, 3+3, 3+7.
#include "jit/emit/scans.hpp"

#include "jit/emit/phase.hpp"

namespace broadloom::jit {

using namespace loop;

void Scans::scan(const Place &here, const block::Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  if (loop.leaf > 0) return scan_in_blocks(here, run, range);
  accs_.set_running(loop, scan_block(here, run, range, first_states(here, loop, range)));
  const Values last = flat(accs_.running(loop));
  if (!loop.handed.empty()) context_.took(Path::ScanHanded);
  for (std::size_t k = 0; k < loop.handed.size(); ++k) memory_.store(here, loop.handed[k], last[k]);
}

// From the start, or where an earlier box has run, from what it has handed on.
AllStates Scans::first_states(const Place &here, const Loop &loop, Range range) {
  const AllStates given = folds_.start(here, loop, true);
  if (loop.handed.empty()) return given;
  llvm::Value *goes_on = loop.reverse
                             ? ir_.CreateICmpSLT(range.end, context_.extents[loop.axis.index])
                             : ir_.CreateICmpSGT(range.begin, ir_.getInt64(0));
  Values states = flat(given);
  for (std::size_t k = 0; k < states.size(); ++k)
    states[k] = lanes_.select(goes_on, memory_.load(here, loop.handed[k]), states[k]);
  return accs_.shaped(loop, states);
}

//   carried = start; for each block { stepped = identity; steps; carried = carried (+) stepped }
void Scans::scan_in_blocks(const Place &here, const block::Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  llvm::Value *size = context_.number(loop.leaf);
  llvm::Value *count = context_.greatest(ir_.CreateSub(range.end, range.begin), ir_.getInt64(0));
  llvm::Value *blocks = ir_.CreateUDiv(ir_.CreateAdd(count, context_.number(loop.leaf - 1)), size);
  const auto turn = [&](llvm::Value *block, Blocks &now) {
    context_.took(Path::ScanBlock);
    for (std::size_t k = 0; k < loop.accs.size(); ++k) accs_[loop.accs[k]].carried = now[0][k];
    if (loop.reverse) block = ir_.CreateSub(ir_.CreateSub(blocks, ir_.getInt64(1)), block);
    llvm::Value *first = ir_.CreateAdd(range.begin, ir_.CreateMul(block, size));
    llvm::Value *last = context_.least(range.end, ir_.CreateAdd(first, size));
    const AllStates start = folds_.start(here, loop, false);
    now[0] = accs_.join(loop, now[0], scan_block(here, run, {first, last}, start));
  };
  const AllStates after =
      accs_.counted_loop(loop, {ir_.getInt64(0), blocks}, 1, {folds_.start(here, loop, true)}, turn)
          .front();
  for (const AccId acc : loop.accs) accs_[acc].carried.clear();
  accs_.set_running(loop, after);
}

AllStates Scans::scan_block(const Place &here, const block::Run &run, Range range,
                            const AllStates &start) {
  if (run.shape == block::Shape::GroupScan) return scan_groups(here, run, range, start);
  if (run.whole().count(block::As::Lanes) == 1) return folds_.serial_leaf(here, run, range, start);
  block::Run singles = run;
  singles.boxes.erase(singles.boxes.begin());
  llvm::Value *rest = context_.whole(range, run.whole().positions());
  const Range whole{range.begin, rest}, part{rest, range.end};
  return program_[run.loop].reverse
             ? chain(here, run, whole, folds_.serial_leaf(here, singles, part, start))
             : folds_.serial_leaf(here, singles, part, chain(here, run, whole, start), false);
}

// Neighbours in the threads of a warp, which load and store them together, and take all steps one
// after the other: each the same ones, of which it keeps the states of its own.
AllStates Scans::chain(const Place &here, const block::Run &run, Range range,
                       const AllStates &start) {
  const Loop &loop = program_[run.loop];
  const int width = run.whole().positions();
  llvm::Value *last = ir_.CreateSub(ir_.CreateAdd(range.begin, range.end), context_.number(width));
  const auto turn = [&](llvm::Value *position, Blocks &now) {
    if (loop.reverse) position = ir_.CreateSub(last, position);
    context_.took(Path::ScanChain);
    for (std::size_t k = 0; k < loop.accs.size(); ++k) {
      accs_[loop.accs[k]].before = now[0][k];
      accs_[loop.accs[k]].now.clear();
    }
    walk_.turn(context_.lanes_of(here, loop, width), run.whole(), run.loop, position);
    for (std::size_t k = 0; k < loop.accs.size(); ++k) {
      now[0][k] = accs_[loop.accs[k]].last;
      accs_[loop.accs[k]].before.clear();
    }
  };
  return accs_.counted_loop(loop, range, width, {start}, turn).front();
}

void Scans::step_chain(const Place &here, AccId acc, const std::vector<ValueId> &args) {
  Accumulator &own = accs_[acc];
  Values given;
  for (const ValueId arg : args) given.push_back(walk_.value(arg));
  const std::size_t states = own.before.size();
  Values carried = own.before; // then before this thread's step, and after it
  for (int k = 0; k < 2; ++k) carried.insert(carried.end(), own.before.begin(), own.before.end());
  const int width = here.group.width;
  const auto turn = [&](llvm::Value *k, const Values &now) {
    llvm::Value *number = ir_.CreateTrunc(k, ir_.getInt32Ty());
    if (here.group.loop->reverse) number = ir_.CreateSub(ir_.getInt32(unsigned(width) - 1), number);
    llvm::Value *mine = ir_.CreateICmpEQ(lanes_.thread(), number);
    Values taken, next(now.begin(), now.begin() + std::ptrdiff_t(states));
    for (llvm::Value *value : given) taken.push_back(lanes_.of_thread(value, number));
    if (own.takes_blocks) {
      next = taken;
    } else {
      next.insert(next.end(), taken.begin(), taken.end());
      next = lanes_.run(program_.recipe(acc).step, next);
    }
    for (std::size_t s = 0; s < states; ++s)
      next.push_back(lanes_.select(mine, now[s], now[states + s]));
    for (std::size_t s = 0; s < states; ++s)
      next.push_back(lanes_.select(mine, next[s], now[2 * states + s]));
    return next;
  };
  const Values all =
      lanes_.counted_loop(ir_.getInt64(0), context_.number(width), 1, std::move(carried), turn);
  const auto part = [&](std::size_t number) {
    const auto first = all.begin() + std::ptrdiff_t(number * states);
    return States(first, first + std::ptrdiff_t(states));
  };
  own.last = part(0), own.earlier = part(1), own.now = part(2);
}

llvm::Value *Scans::running_state(const Place &here, AccId acc, std::uint32_t state) {
  if (in_group(acc)) return running_group(here, acc)[state];
  const States &carried = accs_[acc].carried, &stepped = accs_[acc].now;
  return carried.empty() ? stepped[state] : accs_.join(acc, carried, stepped)[state];
}

} // namespace broadloom::jit

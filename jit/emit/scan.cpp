// Loops that run in order: scans, and ordered folds from the end. See loop.hpp for what they mean.
//
// Problem: the running state must have the same bits whether one thread walks the whole axis or many
// take a block each, from the carried states that an earlier phase has worked out.
// Method: the states step through a block of `leaf` positions from the recipe's start; the carried
// states of the blocks before are joined on at every position, which is one more combine, and never
// become part of the steps.
// Example: the running sums of 1 2 3 4 in blocks of 2 are 0+1, 0+3, 3+3, 3+7.
#include "jit/emit/phase.hpp"

namespace broadloom::jit {

using namespace loop;

void PhaseEmitter::scan(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Loop &loop = program_[run.loop];
  if (loop.leaf > 0) return scan_in_blocks(run, begin, end);
  set_running(loop, scan_block(run, begin, end, first_states(loop, begin, end)));
  const Values last = flat(running(loop));
  if (!loop.handed.empty()) took(Path::ScanHanded);
  for (std::size_t k = 0; k < loop.handed.size(); ++k) store(loop.handed[k], last[k]);
}

// From the start, or where an earlier box has run, from what it has handed on.
PhaseEmitter::AllStates PhaseEmitter::first_states(const Loop &loop, llvm::Value *begin,
                                                   llvm::Value *end) {
  const AllStates given = start(loop, true);
  if (loop.handed.empty()) return given;
  llvm::Value *goes_on = loop.reverse ? ir_.CreateICmpSLT(end, extents_[loop.axis.index])
                                      : ir_.CreateICmpSGT(begin, ir_.getInt64(0));
  Values states = flat(given);
  for (std::size_t k = 0; k < states.size(); ++k)
    states[k] = lanes_.select(goes_on, load(loop.handed[k]), states[k]);
  return shaped(loop, states);
}

//   carried = start; for each block { stepped = identity; steps; carried = carried (+) stepped }
void PhaseEmitter::scan_in_blocks(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Loop &loop = program_[run.loop];
  llvm::Value *size = ir_.getInt64(static_cast<std::uint64_t>(loop.leaf));
  llvm::Value *count =
      ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.CreateSub(end, begin), ir_.getInt64(0));
  llvm::Value *blocks = ir_.CreateUDiv(
      ir_.CreateAdd(count, ir_.getInt64(static_cast<std::uint64_t>(loop.leaf - 1))), size);
  const Values after = lanes_.counted_loop(
      ir_.getInt64(0), blocks, 1, flat(start(loop, true)), [&](llvm::Value *block, Values now) {
        took(Path::ScanBlock);
        const AllStates carried = shaped(loop, now);
        for (std::size_t k = 0; k < loop.accs.size(); ++k)
          carried_[loop.accs[k].index] = carried[k];
        if (loop.reverse) block = ir_.CreateSub(ir_.CreateSub(blocks, ir_.getInt64(1)), block);
        llvm::Value *first = ir_.CreateAdd(begin, ir_.CreateMul(block, size));
        llvm::Value *last =
            ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, ir_.CreateAdd(first, size));
        const AllStates stepped = scan_block(run, first, last, start(loop, false));
        AllStates joined;
        for (std::size_t k = 0; k < loop.accs.size(); ++k)
          joined.push_back(join(loop.accs[k], carried[k], stepped[k]));
        return flat(joined);
      });
  for (const AccId acc : loop.accs) carried_[acc.index].clear();
  set_running(loop, shaped(loop, after));
}

PhaseEmitter::AllStates PhaseEmitter::scan_block(const block::Run &run, llvm::Value *begin,
                                                 llvm::Value *end, AllStates start) {
  return run.shape == block::Shape::GroupScan ? scan_groups(run, begin, end, std::move(start))
                                              : serial_leaf(run, begin, end, std::move(start));
}

llvm::Value *PhaseEmitter::running_state(AccId acc, std::uint32_t state) {
  if (scans_groups(acc)) return running_group(acc)[state];
  const States &carried = carried_[acc.index];
  const States &stepped = accs_[acc.index];
  return carried.empty() ? stepped[state] : join(acc, carried, stepped)[state];
}

} // namespace broadloom::jit

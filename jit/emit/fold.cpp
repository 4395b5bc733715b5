// Loops with accumulators: the fixed tree of loop.hpp, whatever the width of the vectors.
//
// Problem: a row of x summed in 32 ways, leaves of 4096 positions, must give the same bits with 16
// lanes to a register as with 4, and be as fast as the hardware adds.
// Method: position p of a leaf belongs to lane p % 32, so U = 32 / W vectors of W lanes are kept
// and the body is emitted U times, once for each vector; or, for a heavy body, once with the
// vectors changing places after each step. The rest of a leaf runs masked. Lanes are joined by
// halving. Leaves are joined as a binary counter carries: after leaf number n (from 0), as many
// finished neighbours on a small stack are joined to it as n has low one bits.
// Example: leaves a b c: a is put on level 0; b meets a: (a b) on level 1; c on level 0; at the end
// c, the odd last one, is carried up: ((a b) c).
#include "jit/emit/folds.hpp"

#include "jit/emit/phase.hpp"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

AllStates Folds::start(const Place &here, const Loop &loop, bool given) {
  AllStates block;
  for (const AccId acc : loop.accs) {
    const int width = context_.survey.acc_varies[acc.index] ? here.group.lanes() : 1;
    block.push_back(accs_.identity(acc, width));
    const std::vector<ValueId> &values = program_[acc].start;
    for (std::size_t k = 0; given && k < values.size(); ++k)
      block.back()[k] = lanes_.splat(walk_.value(values[k]), width);
  }
  return block;
}

void Folds::step(const Place &here, AccId acc, const std::vector<ValueId> &args) {
  States &now = accs_[acc].now;
  const int width = Lanes::width(now[0]);
  States given;
  for (const ValueId arg : args) given.push_back(lanes_.splat(walk_.value(arg), width));
  States inputs = now;
  inputs.insert(inputs.end(), given.begin(), given.end());
  const States next =
      accs_[acc].takes_blocks ? given : lanes_.run(program_.recipe(acc).step, inputs);
  const Loop *loop = here.group.loop;
  const bool across_lanes =
      here.group.mask != nullptr &&
      std::find(loop->accs.begin(), loop->accs.end(), acc) != loop->accs.end();
  for (std::size_t k = 0; k < now.size(); ++k)
    now[k] = across_lanes ? lanes_.select(here.group.mask, next[k], now[k]) : next[k];
}

void Folds::fold(const Place &here, const block::Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  accs_.set_running(loop, folded(here, run, range).front());
}

Blocks Folds::folded(const Place &here, const block::Run &run, Range range) {
  return program_[run.loop].leaf == 0 ? leaf(here, run, range) : cascade(here, run, range);
}

Blocks Folds::leaf(const Place &here, const block::Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  if (run.shape == block::Shape::VectorFold) return vector_leaf(here, run, range);
  return {serial_leaf(here, run, range, start(here, loop, loop.leaf == 0))};
}

// Folds of a register tile share what they load in one turn.
void Folds::each_copy(const Place &here,
                      llvm::function_ref<void(const Place &, std::size_t)> turn) {
  if (here.copies == nullptr) return turn(here, 0);
  SharedRegisters shared;
  for (std::size_t k = 0; k < here.copies->size(); ++k)
    turn(walk_.of_copy(here, (*here.copies)[k], shared), k);
}

AllStates Folds::serial_leaf(const Place &here, const block::Run &run, Range range,
                             const AllStates &start, bool begins) {
  const Path path = program_[run.loop].scan ? Path::ScanSerial : Path::FoldSerial;
  const bool all = run.shape != block::Shape::SerialScan || run.boxes.size() == 1;
  const bool from_identity = begins && all && program_[run.loop].leaf > 0;
  const auto singles = [&](Range some, const AllStates &from) {
    return steps(here, run, run.rest(), some, 1, {from}, 0, path, from_identity).front();
  };
  if (all) return singles(range, start);
  llvm::Value *rest = context_.whole(range, run.whole().positions());
  const Range whole{range.begin, rest}, part{rest, range.end};
  return program_[run.loop].reverse ? strips(here, run, whole, singles(part, start))
                                    : singles(part, strips(here, run, whole, start));
}

// Steps of the box, a copy of its body for each block of states, whose positions lie `apart`; of
// each in turn for all copies of the place.
Blocks Folds::steps(const Place &here, const block::Run &run, const block::Box &box, Range range,
                    std::int64_t stride, const Blocks &blocks, std::int64_t apart,
                    std::optional<Path> path, bool from_identity) {
  const auto [begin, end] = range;
  const Loop &loop = program_[run.loop];
  const auto taken = [&, begin = begin](llvm::Value *position) {
    return ir_.CreateSDiv(ir_.CreateSub(position, begin), ir_.getInt64(std::uint64_t(stride)));
  };
  const auto turn = [&](llvm::Value *position, Blocks &now) {
    llvm::Value *at = position;
    // The other way round, the turn for begin is that for end - 1.
    if (loop.reverse)
      position = ir_.CreateSub(ir_.CreateAdd(begin, ir_.CreateSub(end, ir_.getInt64(1))), position);
    if (path) context_.took(*path);
    Blocks counted = now;
    if (from_identity) accs_.set_counts(loop, counted, taken(at));
    const std::size_t copies = here.count_copies();
    for (std::size_t u = 0; u < now.size() / copies; ++u)
      each_copy(here, [&](const Place &own, std::size_t k) {
        accs_.set_running(loop, counted[u * copies + k]);
        walk_.turn(own, box, run.loop, position, static_cast<std::int64_t>(u) * apart);
        now[u * copies + k] = accs_.running(loop);
      });
  };
  Blocks after = accs_.counted_loop(loop, range, stride, blocks, turn);
  if (from_identity) accs_.set_counts(loop, after, taken(end));
  return after;
}

Blocks Folds::vector_leaf(const Place &here, const block::Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  const int width = run.rest().positions();
  AllStates first;
  for (const AccId acc : loop.accs) first.push_back(accs_.identity(acc, width));
  const std::size_t copies = here.count_copies(), vectors = std::size_t(fold_ways / width);
  Blocks blocks(vectors * copies, first);
  llvm::Value *rest = range.begin;
  if (run.whole().apiece() > 1) {
    rest = memory_.whole_and_aligned(here, run.whole(), range);
    blocks = accs_.counted_loop(loop, {range.begin, rest}, run.whole().positions(), blocks,
                                [&](llvm::Value *position, Blocks &now) {
                                  context_.took(Path::FoldWide);
                                  accs_.set_running(loop, now.front());
                                  walk_.neighbours(here, run, position);
                                  now.front() = accs_.running(loop);
                                });
  } else if (run.boxes.size() > 1) {
    rest = context_.whole(range, fold_ways);
    // Whole groups of 32 positions, each copy of the body with lanes of its own.
    llvm::Value *wrong = memory_.stored_plainly(here, run.whole(), range.begin, width);
    const Values stepped = memory_.around_caches(here, wrong, [&](const Place &place) {
      return flat(steps(context_.lanes_of(place, loop, width), run, run.whole(),
                        {range.begin, rest}, fold_ways, blocks, width, Path::FoldGroups, true));
    });
    blocks = accs_.blocks(loop, stepped);
  }
  // Up to the next multiple of 32, so that every vector is back in its place.
  llvm::Value *stop =
      context_.whole({rest, ir_.CreateAdd(range.end, ir_.getInt64(fold_ways - 1))}, fold_ways);
  blocks = masked_steps(here, run, {rest, stop}, range.end, blocks);

  Blocks results(copies);
  for (std::size_t k = 0; k < loop.accs.size(); ++k) {
    std::vector<std::vector<States>> of_acc(copies);
    for (std::size_t b = 0; b < blocks.size(); ++b)
      of_acc[b % copies].push_back(std::move(blocks[b][k]));
    const std::vector<States> joined = accs_.join_lanes(loop.accs[k], std::move(of_acc));
    for (std::size_t c = 0; c < copies; ++c) results[c].push_back(joined[c]);
  }
  return results;
}

// Steps of one vector each, of which positions below `end` count. The vector
// that stepped goes to the back of the row, so the one that is next is always the first.
Blocks Folds::masked_steps(const Place &here, const block::Run &run, Range range, llvm::Value *end,
                           const Blocks &blocks) {
  const Loop &loop = program_[run.loop];
  const int width = run.rest().positions();
  const auto turn = [&](llvm::Value *position, Blocks &now) {
    llvm::Value *active = context_.least(ir_.CreateSub(end, position), context_.number(width));
    // Where no lane is active, addresses are those of the last position: inside the array.
    llvm::Value *inside = context_.least(position, ir_.CreateSub(end, ir_.getInt64(1)));
    const Place place = context_.lanes_of(here, loop, width, active);
    context_.took(Path::FoldMasked);
    each_copy(place, [&](const Place &own, std::size_t k) {
      accs_.set_running(loop, now[k]);
      walk_.turn(own, run.rest(), run.loop, inside);
      now[k] = accs_.running(loop);
    });
    std::ranges::rotate(now, now.begin() + std::ptrdiff_t(here.count_copies()));
  };
  llvm::BasicBlock *before = ir_.GetInsertBlock();
  Blocks after = accs_.counted_loop(loop, range, width, blocks, turn);
  if (run.boxes.size() > 1 && here.count_copies() > 1) expect_none(*before);
  return after;
}

// The states of a tile fill the registers, and masks need some more. Where LLVM takes the masked
// steps for as frequent as those of whole groups, it spills states around both. f32 [1024, 1024] by
// itself transposed, relaxed, takes 0.92 of the time without (one thread).
void Folds::expect_none(llvm::BasicBlock &before) {
  constexpr std::uint32_t taken = 1, passed = 2000;
  auto *branch = llvm::dyn_cast<llvm::BranchInst>(before.getTerminator());
  if (branch == nullptr || !branch->isConditional()) return;
  branch->setMetadata(llvm::LLVMContext::MD_prof,
                      llvm::MDBuilder(ir_.getContext()).createBranchWeights(taken, passed));
}

} // namespace broadloom::jit

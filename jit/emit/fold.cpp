// Loops with accumulators: the fixed tree of loop.hpp, whatever the width of the vectors.
//
// Problem: a row of x summed in 32 lanes, leaves of 4096 positions, must give the same bits with 16
// lanes to a register as with 4, and be as fast as the hardware adds.
// Method: position p of a leaf belongs to lane p % 32, so U = 32 / W vectors of W lanes are kept
// and the body is emitted U times, once for each vector; or, for a heavy body, once with the
// vectors changing places after each step. The rest of a leaf runs masked. Lanes are joined by
// halving. Leaves are joined as a binary counter carries: after leaf number n (from 0), as many
// finished neighbours on a small stack are joined to it as n has low one bits.
// Example: leaves a b c: a is put on level 0; b meets a: (a b) on level 1; c on level 0; at the end
// c, the odd last one, is carried up: ((a b) c).
#include "jit/emit/phase.hpp"

#include "loop/tree.hpp"
#include "support/check.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

// ------------------------------------------------------- the states of one or several accumulators

PhaseEmitter::States PhaseEmitter::identity(AccId acc, int width) {
  const ops::Recipe &recipe = program_.recipe(acc);
  States states;
  for (std::size_t k = 0; k < recipe.states.size(); ++k)
    states.push_back(lanes_.literal(recipe.states[k], recipe.start[k], width));
  return states;
}

// What the accumulators of a loop start from: the values given, or the recipes' own start.
PhaseEmitter::AllStates PhaseEmitter::start(const Loop &loop, bool given) {
  AllStates block;
  for (const AccId acc : loop.accs) {
    const int width = survey_.acc_varies[acc.index] ? width_ : 1;
    block.push_back(identity(acc, width));
    const std::vector<ValueId> &values = program_[acc].start;
    for (std::size_t k = 0; given && k < values.size(); ++k)
      block.back()[k] = lanes_.splat(value(values[k]), width);
  }
  return block;
}

PhaseEmitter::AllStates PhaseEmitter::running(const Loop &loop) const {
  AllStates block;
  for (const AccId acc : loop.accs) block.push_back(accs_[acc.index]);
  return block;
}

void PhaseEmitter::set_running(const Loop &loop, const AllStates &block) {
  for (std::size_t k = 0; k < loop.accs.size(); ++k) accs_[loop.accs[k].index] = block[k];
}

// Loops carry plain lists of values.
PhaseEmitter::Values PhaseEmitter::flat(const AllStates &block) {
  Values values;
  for (const States &states : block) values.insert(values.end(), states.begin(), states.end());
  return values;
}

PhaseEmitter::Values PhaseEmitter::flat(const std::vector<AllStates> &blocks) {
  Values values;
  for (const AllStates &block : blocks) {
    const Values more = flat(block);
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

PhaseEmitter::AllStates PhaseEmitter::shaped(const Loop &loop, const Values &values,
                                             std::size_t first) const {
  AllStates block;
  auto next = values.begin() + static_cast<std::ptrdiff_t>(first);
  for (const AccId acc : loop.accs) {
    const auto count = static_cast<std::ptrdiff_t>(program_.recipe(acc).states.size());
    block.emplace_back(next, next + count);
    next += count;
  }
  return block;
}

PhaseEmitter::States PhaseEmitter::join(AccId acc, const States &left, const States &right) {
  States inputs = left;
  inputs.insert(inputs.end(), right.begin(), right.end());
  return lanes_.run(program_.recipe(acc).combine, inputs);
}

void PhaseEmitter::step(AccId acc, const std::vector<ValueId> &args) {
  if (scans_groups(acc)) return step_group(acc, args);
  States &now = accs_[acc.index];
  const int width = Lanes::width(now[0]);
  States given;
  for (const ValueId arg : args) given.push_back(lanes_.splat(value(arg), width));
  States inputs = now;
  inputs.insert(inputs.end(), given.begin(), given.end());
  const States next =
      takes_blocks_[acc.index] ? given : lanes_.run(program_.recipe(acc).step, inputs);
  const bool across_lanes =
      mask_ != nullptr && vector_ != nullptr &&
      std::find(vector_->accs.begin(), vector_->accs.end(), acc) != vector_->accs.end();
  for (std::size_t k = 0; k < now.size(); ++k)
    now[k] = across_lanes ? lanes_.select(mask_, next[k], now[k]) : next[k];
}

// ------------------------------------------------------------------------------------- leaves

void PhaseEmitter::fold(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Loop &loop = program_[run.loop];
  set_running(loop, loop.leaf == 0 ? leaf(run, begin, end) : cascade(run, begin, end));
}

PhaseEmitter::AllStates PhaseEmitter::leaf(const block::Run &run, llvm::Value *begin,
                                           llvm::Value *end) {
  const Loop &loop = program_[run.loop];
  return run.shape == block::Shape::VectorFold
             ? vector_leaf(run, begin, end)
             : serial_leaf(run, begin, end, start(loop, loop.leaf == 0));
}

PhaseEmitter::AllStates PhaseEmitter::serial_leaf(const block::Run &run, llvm::Value *begin,
                                                  llvm::Value *end, AllStates start) {
  const Loop &loop = program_[run.loop];
  const Values outer = at_;
  const Values result =
      lanes_.counted_loop(begin, end, 1, flat(start), [&](llvm::Value *position, Values now) {
        set_running(loop, shaped(loop, now));
        // The other way round, the turn for begin is that for end - 1.
        if (loop.reverse)
          position =
              ir_.CreateSub(ir_.CreateAdd(begin, ir_.CreateSub(end, ir_.getInt64(1))), position);
        took(loop.scan ? Path::ScanSerial : Path::FoldSerial);
        turn(run.rest(), run.loop, outer, position);
        return flat(running(loop));
      });
  at_ = outer;
  return shaped(loop, result);
}

PhaseEmitter::AllStates PhaseEmitter::vector_leaf(const block::Run &run, llvm::Value *begin,
                                                  llvm::Value *end) {
  const Loop &loop = program_[run.loop];
  const int width = run.rest().positions();
  const std::size_t copies = static_cast<std::size_t>(fold_lanes / width);
  const Values outer = at_;
  AllStates first;
  for (const AccId acc : loop.accs) first.push_back(identity(acc, width));
  std::vector<AllStates> lanes(copies, first);
  const std::size_t in_a_block = flat(first).size();
  llvm::Value *rest = begin;
  if (run.boxes.size() > 1) {
    rest = whole(begin, end, fold_lanes);
    const std::vector<BufferId> buffers = streamed(run.whole());
    if (buffers.empty()) {
      lanes = whole_steps(run, begin, rest, lanes);
    } else {
      const Values chosen = around_caches(misaligned(buffers, begin, width), [&] {
        return flat(whole_steps(run, begin, rest, lanes));
      });
      for (std::size_t u = 0; u < copies; ++u) lanes[u] = shaped(loop, chosen, u * in_a_block);
    }
  }
  // Up to the next multiple of 32, so that every vector is back in its place.
  llvm::Value *stop = whole(rest, ir_.CreateAdd(end, ir_.getInt64(fold_lanes - 1)), fold_lanes);
  lanes = masked_steps(run, outer, rest, stop, end, std::move(lanes));
  set_lanes(nullptr, 1);
  at_ = outer;

  AllStates result;
  for (std::size_t k = 0; k < loop.accs.size(); ++k) {
    std::vector<States> of_acc;
    for (const AllStates &block : lanes) of_acc.push_back(block[k]);
    result.push_back(join_lanes(loop.accs[k], std::move(of_acc)));
  }
  return result;
}

// Whole groups of 32 positions, each copy of the body with lanes of its own.
std::vector<PhaseEmitter::AllStates>
PhaseEmitter::whole_steps(const block::Run &run, llvm::Value *begin, llvm::Value *end,
                          const std::vector<AllStates> &lanes) {
  const Loop &loop = program_[run.loop];
  const int width = run.whole().count(block::As::Lanes);
  const std::size_t in_a_block = flat(lanes[0]).size();
  const Values outer = at_;
  set_lanes(&loop, width);
  const Values stepped = lanes_.counted_loop(
      begin, end, fold_lanes, flat(lanes), [&](llvm::Value *position, Values now) {
        std::vector<AllStates> next;
        took(Path::FoldGroups);
        for (std::size_t u = 0; u < lanes.size(); ++u) {
          set_running(loop, shaped(loop, now, u * in_a_block));
          turn(run.whole(), run.loop, outer, position, static_cast<std::int64_t>(u) * width);
          next.push_back(running(loop));
        }
        return flat(next);
      });
  at_ = outer;
  std::vector<AllStates> result;
  for (std::size_t u = 0; u < lanes.size(); ++u)
    result.push_back(shaped(loop, stepped, u * in_a_block));
  return result;
}

// Steps of one vector each from `begin` to `stop`, of which positions below `end` count. The vector
// that stepped goes to the back of the row, so the one that is next is always the first.
std::vector<PhaseEmitter::AllStates>
PhaseEmitter::masked_steps(const block::Run &run, const Values &outer, llvm::Value *begin,
                           llvm::Value *stop, llvm::Value *end, std::vector<AllStates> lanes) {
  const Loop &loop = program_[run.loop];
  const int width = run.rest().positions();
  const std::size_t in_a_block = flat(lanes[0]).size();
  const Values stepped =
      lanes_.counted_loop(begin, stop, width, flat(lanes), [&](llvm::Value *position, Values now) {
        llvm::Value *left = ir_.CreateSub(end, position);
        llvm::Value *active = ir_.CreateBinaryIntrinsic(
            llvm::Intrinsic::smin, left, ir_.getInt64(static_cast<std::uint64_t>(width)));
        // Where no lane is active, addresses are those of the last position: inside the array.
        llvm::Value *inside = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, position,
                                                        ir_.CreateSub(end, ir_.getInt64(1)));
        set_lanes(&loop, width, active);
        set_running(loop, shaped(loop, now));
        took(Path::FoldMasked);
        turn(run.rest(), run.loop, outer, inside);
        const Values next = flat(running(loop));
        now.erase(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(in_a_block));
        now.insert(now.end(), next.begin(), next.end());
        return now;
      });
  for (std::size_t u = 0; u < lanes.size(); ++u) lanes[u] = shaped(loop, stepped, u * in_a_block);
  return lanes;
}

// The tree's halving: first whole vectors, then the halves of the one that is left.
PhaseEmitter::States PhaseEmitter::join_lanes(AccId acc, std::vector<States> lanes) {
  tree::halve(int(lanes.size()), [&](int into, int from) {
    lanes[std::size_t(into)] = join(acc, lanes[std::size_t(into)], lanes[std::size_t(from)]);
  });
  States states = lanes.front();
  const auto part = [&](int first, int count) {
    States out;
    for (llvm::Value *state : states) out.push_back(lanes_.some_lanes(state, first, count));
    return out;
  };
  for (int half = Lanes::width(states[0]) / 2; half >= 1; half /= 2)
    states = join(acc, part(0, half), part(half, half));
  return states;
}

} // namespace broadloom::jit

// Scans whose positions run in groups of lanes. See loop.hpp for the tree.
//
// Problem: a running sum is a chain of additions of four cycles each, however wide the vectors are.
// Method: a group of 16 neighbouring positions is one vector. Each lane takes one step from the recipe's
// start; then, at distances 1, 2, 4 and 8, the lanes of each later half are joined to the last lane of the
// earlier half, by one shuffle and one masked combine. Only the last lane goes on to the next group, so
// the chain has one combine for 16 positions.
// Example, 4 lanes:  1 2 3 4  ->  1 3 3 7  ->  1 3 6 10.
//
// In reverse the lanes stay as they lie in memory, and "earlier" is to the right.
#include "jit/emit/phase.hpp"

#include "loop/tree.hpp"
#include "support/check.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

// Whether we are in a group of the scan that carries this accumulator.
bool PhaseEmitter::scans_groups(AccId acc) const {
  return vector_ != nullptr && vector_->scan && !stepped_[acc.index].empty();
}

bool PhaseEmitter::reads_running(const Loop &loop, AccId acc) const {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](const Stmt &s) {
    return s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Running &&
           program_[s.value].acc == acc;
  });
}

// The groups of a block; the last one in memory may be partial, and comes first in reverse.
PhaseEmitter::AllStates PhaseEmitter::scan_groups(const block::Run &run, llvm::Value *begin,
                                                  llvm::Value *end, AllStates start) {
  const block::Box &box = run.whole(), &part = run.rest();
  if (box.masked) return run_groups(run, box, begin, end, std::move(start));
  llvm::Value *rest = whole(begin, end, box.positions());
  if (program_[run.loop].reverse)
    return whole_groups(run, begin, rest, run_groups(run, part, rest, end, std::move(start)));
  return run_groups(run, part, rest, end, whole_groups(run, begin, rest, std::move(start)));
}

PhaseEmitter::AllStates PhaseEmitter::whole_groups(const block::Run &run, llvm::Value *begin,
                                                   llvm::Value *end, AllStates start) {
  const block::Box &box = run.whole();
  const std::vector<BufferId> buffers = streamed(box);
  if (buffers.empty()) return run_groups(run, box, begin, end, std::move(start));
  const Values chosen = around_caches(misaligned(buffers, begin, scan_lanes), [&] {
    return flat(run_groups(run, box, begin, end, start));
  });
  return shaped(program_[run.loop], chosen);
}

PhaseEmitter::AllStates PhaseEmitter::run_groups(const block::Run &run, const block::Box &box,
                                                 llvm::Value *begin, llvm::Value *end,
                                                 AllStates start) {
  const Loop &loop = program_[run.loop];
  const bool masked = box.masked;
  const int groups = box.count(block::As::Copies);
  const Values outer = at_;
  llvm::Value *last = ir_.CreateSub(ir_.CreateSub(end, begin), ir_.getInt64(1));
  last = ir_.CreateAnd(last, ir_.getInt64(~static_cast<std::uint64_t>(scan_lanes - 1)));
  llvm::Value *both_ends = ir_.CreateAdd(begin, ir_.CreateAdd(begin, last));
  const Values result = lanes_.counted_loop(
      begin, end, groups * scan_lanes, flat(start), [&](llvm::Value *position, Values now) {
        if (loop.reverse) position = ir_.CreateSub(both_ends, position);
        llvm::Value *active =
            masked ? ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateSub(end, position),
                                               ir_.getInt64(scan_lanes))
                   : nullptr;
        set_lanes(&loop, groups * scan_lanes, active);
        took(masked         ? Path::ScanMasked
             : groups > 1   ? Path::ScanGroups
             : loop.reverse ? Path::ScanReverse
                            : Path::ScanGroup);
        const AllStates before = shaped(loop, now);
        for (std::size_t k = 0; k < loop.accs.size(); ++k) {
          stepped_[loop.accs[k].index] = before[k];
          accs_[loop.accs[k].index].clear();
        }
        turn(box, run.loop, outer, position);
        AllStates after;
        for (const AccId acc : loop.accs) {
          States last = stepped_[acc.index];
          for (int group = 0; group < groups; ++group)
            last = join(acc, last, last_of_group(accs_[acc.index], group));
          after.push_back(std::move(last));
        }
        for (const AccId acc : loop.accs) stepped_[acc.index].clear();
        set_lanes(nullptr, 1);
        return flat(after);
      });
  at_ = outer;
  return shaped(loop, result);
}

void PhaseEmitter::step_group(AccId acc, const std::vector<ValueId> &args) {
  if (!accs_[acc.index].empty()) { // running states were read before the step
    early_[acc.index] = false;
    return;
  }
  States inputs = identity(acc, width_);
  for (const ValueId arg : args) inputs.push_back(lanes_.splat(value(arg), width_));
  States states = lanes_.run(program_.recipe(acc).step, inputs);
  for (llvm::Value *&state : states) state = lanes_.splat(state, width_);
  accs_[acc.index] = mask_ == nullptr && !reads_running(*vector_, acc)
                         ? totals_of_groups(acc, std::move(states))
                         : join_group(acc, std::move(states));
}

PhaseEmitter::States PhaseEmitter::shuffled(const States &states, const std::vector<int> &sources) {
  States out;
  for (llvm::Value *state : states) out.push_back(lanes_.shuffle(state, state, sources));
  return out;
}

// Which lanes are joined at this distance. AVX-512 has masked operations, but the code generator would turn
// a constant mask into one more shuffle: so it must not see that the mask is constant. The highest bit of an
// address is 0.
llvm::Value *PhaseEmitter::later_lanes(int distance) {
  constexpr int half = scan_lanes / 2;
  const auto joins = [&](int lane) {
    const int place = vector_->reverse ? scan_lanes - 1 - lane : lane;
    return (place & distance) != 0;
  };
  if (!target_.avx512() || distance >= half) {
    std::vector<llvm::Constant *> later;
    for (int lane = 0; lane < scan_lanes; ++lane) later.push_back(ir_.getInt1(joins(lane)));
    return llvm::ConstantVector::get(later);
  }
  std::uint8_t bits = 0;
  for (int lane = 0; lane < half; ++lane) bits |= std::uint8_t(joins(lane) << lane);
  llvm::BasicBlock &entry = function_->getEntryBlock();
  Builder first(&entry, entry.begin());
  llvm::Value *zero = first.CreateLShr(
      first.CreatePtrToInt(function_->getArg(0), first.getInt64Ty()), first.getInt64(63));
  llvm::Value *mask = first.CreateXor(first.CreateTrunc(zero, first.getInt8Ty()), bits);
  mask = first.CreateBitCast(mask, llvm::FixedVectorType::get(first.getInt1Ty(), half));
  return mask;
}

// Where the mask is one for half a group, so are the registers of doubles: to repeat it would take an instruction
// for each use.
llvm::Value *PhaseEmitter::select_lanes(llvm::Value *mask, llvm::Value *a, llvm::Value *b) {
  const int width = Lanes::width(mask);
  if (width == width_) return lanes_.select(mask, a, b);
  if (a->getType()->getScalarSizeInBits() != 64)
    return lanes_.select(lanes_.joined({mask, mask}), a, b);
  const auto half = [&](int first) {
    return lanes_.select(mask, lanes_.some_lanes(a, first, width),
                         lanes_.some_lanes(b, first, width));
  };
  llvm::Value *low = half(0);
  return lanes_.joined({low, half(width)});
}

PhaseEmitter::States PhaseEmitter::join_group(AccId acc, States states) {
  const bool reverse = vector_->reverse;
  for (int distance = 1; distance < width_; distance *= 2) {
    std::vector<int> sources;
    for (int lane = 0; lane < width_; ++lane) {
      const int place = reverse ? width_ - 1 - lane : lane;
      const int earlier = tree::earlier(place, distance), from = earlier < 0 ? place : earlier;
      sources.push_back(reverse ? width_ - 1 - from : from);
    }
    const States joined = join(acc, shuffled(states, sources), states);
    llvm::Value *later = later_lanes(distance);
    // In reverse the lanes that do not count come first: they are not there.
    llvm::Value *there =
        reverse && mask_ != nullptr ? ir_.CreateShuffleVector(mask_, sources) : nullptr;
    for (std::size_t k = 0; k < states.size(); ++k) {
      llvm::Value *now = select_lanes(later, joined[k], states[k]);
      states[k] = there == nullptr ? now : lanes_.select(there, now, states[k]);
    }
  }
  return states;
}

// Where nobody reads the running states: neighbours are joined, in half as many lanes each time, until there is a lane
// for each group.
PhaseEmitter::States PhaseEmitter::totals_of_groups(AccId acc, States states) {
  const auto join_neighbours = [&](States left, States right) {
    if (vector_->reverse) std::swap(left, right);
    return join(acc, left, right);
  };
  int width = width_;
  for (; width > std::max(width_ / scan_lanes, 2); width /= 2) {
    std::vector<int> even, odd;
    for (int lane = 0; lane < width; lane += 2) {
      even.push_back(lane);
      odd.push_back(lane + 1);
    }
    states = join_neighbours(shuffled(states, even), shuffled(states, odd));
  }
  if (width_ > scan_lanes) return states;
  States left, right;
  for (llvm::Value *state : states) {
    left.push_back(lanes_.some_lanes(state, 0, 1));
    right.push_back(lanes_.some_lanes(state, 1, 1));
  }
  return join_neighbours(std::move(left), std::move(right));
}

PhaseEmitter::States PhaseEmitter::last_of_group(const States &joined, int group) {
  support::check(!joined.empty(), "a scan's group has not stepped");
  States last;
  const bool totals = Lanes::width(joined[0]) < scan_lanes; // a lane for each group
  llvm::Value *lane = ir_.getInt64(std::uint64_t(totals             ? group
                                                 : vector_->reverse ? 0
                                                                    : scan_lanes - 1));
  if (active_ != nullptr && !vector_->reverse) lane = ir_.CreateSub(active_, ir_.getInt64(1));
  for (llvm::Value *state : joined) last.push_back(lanes_.lane(state, lane));
  return last;
}

// The states after the step, or where it is still to come, before it.
PhaseEmitter::States PhaseEmitter::running_group(AccId acc) {
  if (accs_[acc.index].empty()) {
    const auto step = std::find_if(vector_->body.begin(), vector_->body.end(), [&](const Stmt &s) {
      return s.kind == StmtKind::Step && s.acc == acc;
    });
    step_group(acc, step->args);
    early_[acc.index] = true;
  }
  const bool exclusive = early_[acc.index];
  const States &carried = carried_[acc.index];
  States before = stepped_[acc.index];
  if (!carried.empty()) before = join(acc, carried, before);
  for (llvm::Value *&state : before) state = lanes_.splat(state, width_);
  States running = join(acc, before, accs_[acc.index]);
  if (!exclusive) return running;
  std::vector<int> sources; // lane 0 of `before`, then all lanes but the last
  for (int lane = 0; lane < width_; ++lane)
    sources.push_back(vector_->reverse ? (lane + 1 == width_ ? width_ : lane + 1)
                                       : (lane == 0 ? width_ : lane - 1));
  for (std::size_t k = 0; k < running.size(); ++k) {
    if (vector_->reverse && mask_ != nullptr)
      running[k] = lanes_.select(mask_, running[k], before[k]);
    running[k] = lanes_.shuffle(running[k], before[k], sources);
  }
  return running;
}

} // namespace broadloom::jit

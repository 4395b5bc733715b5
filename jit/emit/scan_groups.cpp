// Scans whose positions run in groups of lanes. See loop.hpp for the tree.
//
// Problem: a running sum is a chain of additions of four cycles each, however wide the vectors are.
// Method: a group of 16 neighbouring positions is one vector. Each lane takes one step from the
// recipe's start; then, at distances 1, 2, 4 and 8, the lanes of each later half are joined to the
// last lane of the earlier half, by one shuffle and one masked combine. Only the last lane goes on
// to the next group, so the chain has one combine for 16 positions. Example, 4 lanes: 1 2 3 4 -> 1
// 3 3 7 -> 1 3 6 10.
//
// In reverse the lanes stay as they lie in memory, and "earlier" is to the right.
#include "jit/emit/scans.hpp"

#include "jit/emit/phase.hpp"
#include "loop/tree.hpp"
#include "support/check.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

bool Scans::reads_running(const Loop &loop, AccId acc) const {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](const Stmt &s) {
    return s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Running &&
           program_[s.value].acc == acc;
  });
}

// The groups of a block; the last one in memory may be partial, and comes first in reverse.
AllStates Scans::scan_groups(const Place &here, const block::Run &run, Range range,
                             const AllStates &start) {
  const block::Box &box = run.whole();
  if (box.masked) return run_groups(here, run, box, range, start);
  llvm::Value *rest = context_.whole(range, box.positions());
  const auto whole_groups = [&](const AllStates &from) {
    llvm::Value *wrong = memory_.stored_plainly(here, box, range.begin, scan_ways);
    return accs_.shaped(program_[run.loop],
                        memory_.around_caches(here, wrong, [&](const Place &place) {
                          return flat(run_groups(place, run, box, {range.begin, rest}, from));
                        }));
  };
  const auto part = [&](const AllStates &from) {
    return run_groups(here, run, run.rest(), {rest, range.end}, from);
  };
  return program_[run.loop].reverse ? whole_groups(part(start)) : part(whole_groups(start));
}

AllStates Scans::run_groups(const Place &here, const block::Run &run, const block::Box &box,
                            Range range, const AllStates &start) {
  const auto [begin, end] = range;
  const Loop &loop = program_[run.loop];
  const bool masked = box.masked;
  const int groups = box.count(block::As::Copies);
  llvm::Value *last = ir_.CreateSub(ir_.CreateSub(end, begin), ir_.getInt64(1));
  last = ir_.CreateAnd(last, context_.number(-groups * scan_ways));
  llvm::Value *both_ends = ir_.CreateAdd(begin, ir_.CreateAdd(begin, last));
  const auto turn = [&](llvm::Value *position, Blocks &now) {
    if (loop.reverse) position = ir_.CreateSub(both_ends, position);
    llvm::Value *active =
        masked ? context_.least(ir_.CreateSub(end, position), ir_.getInt64(scan_ways)) : nullptr;
    const Place place = context_.lanes_of(here, loop, groups * scan_ways, active);
    context_.took(masked         ? Path::ScanMasked
                  : groups > 1   ? Path::ScanGroups
                  : loop.reverse ? Path::ScanReverse
                                 : Path::ScanGroup);
    for (std::size_t k = 0; k < loop.accs.size(); ++k) {
      accs_[loop.accs[k]].before = now[0][k];
      accs_[loop.accs[k]].now.clear();
    }
    walk_.turn(place, box, run.loop, position);
    for (std::size_t k = 0; k < loop.accs.size(); ++k) {
      Accumulator &acc = accs_[loop.accs[k]];
      for (int g = 0; g < groups; ++g) {
        const int group = loop.reverse ? groups - 1 - g : g;
        now[0][k] = accs_.join(loop.accs[k], now[0][k], last_of_group(place.group, acc.now, group));
      }
      acc.before.clear();
    }
  };
  return accs_.counted_loop(loop, range, groups * scan_ways, {start}, turn).front();
}

void Scans::step_group(const Place &here, AccId acc, const std::vector<ValueId> &args) {
  Accumulator &accumulator = accs_[acc];
  if (!accumulator.now.empty()) { // running states were read before the step
    accumulator.early = false;
    return;
  }
  if (here.group.loop->ways == 1) return step_chain(here, acc, args);
  const int width = here.group.width;
  States inputs = accs_.identity(acc, width);
  for (const ValueId arg : args) inputs.push_back(lanes_.splat(walk_.value(arg), width));
  States states = lanes_.run(program_.recipe(acc).step, inputs);
  for (llvm::Value *&state : states) state = lanes_.splat(state, width);
  const bool totals = here.group.mask == nullptr && !reads_running(*here.group.loop, acc);
  accumulator.now = totals && !lanes_.are_threads()
                        ? totals_of_groups(here.group, acc, std::move(states))
                        : join_group(here.group, acc, std::move(states));
}

States Scans::shuffled(const States &states, const std::vector<int> &sources) {
  States out;
  for (llvm::Value *state : states) out.push_back(lanes_.shuffle(state, state, sources));
  return out;
}

// Which lanes are joined at this distance. AVX-512 has masked operations, but the code generator
// would turn a constant mask into one more shuffle: so it must not see that the mask is constant.
// The highest bit of an address is 0.
llvm::Value *Scans::later_lanes(bool reverse, int distance) {
  constexpr int half = scan_ways / 2;
  const auto joins = [&](int lane) {
    const int place = reverse ? scan_ways - 1 - lane : lane;
    return (place & distance) != 0;
  };
  if (lanes_.are_threads()) {
    std::uint32_t bits = 0;
    for (int lane = 0; lane < scan_ways; ++lane) bits |= std::uint32_t(joins(lane)) << lane;
    llvm::Value *own = ir_.CreateAnd(lanes_.thread(), ir_.getInt32(scan_ways - 1));
    return ir_.CreateTrunc(ir_.CreateLShr(ir_.getInt32(bits), own), ir_.getInt1Ty());
  }
  if (!context_.target.isa->core.masks_free || distance >= half) {
    std::vector<llvm::Constant *> later;
    for (int lane = 0; lane < scan_ways; ++lane) later.push_back(ir_.getInt1(joins(lane)));
    return llvm::ConstantVector::get(later);
  }
  std::uint8_t bits = 0;
  for (int lane = 0; lane < half; ++lane) bits |= std::uint8_t(joins(lane) << lane);
  llvm::BasicBlock &entry = context_.function->getEntryBlock();
  Builder first(&entry, entry.begin());
  llvm::Value *zero = first.CreateLShr(
      first.CreatePtrToInt(context_.function->getArg(0), first.getInt64Ty()), first.getInt64(63));
  llvm::Value *mask = first.CreateXor(first.CreateTrunc(zero, first.getInt8Ty()), bits);
  mask = first.CreateBitCast(mask, llvm::FixedVectorType::get(first.getInt1Ty(), half));
  return mask;
}

// Where the mask is one for half a group, so are the registers of doubles: to repeat it would take
// an instruction for each use.
llvm::Value *Scans::select_lanes(llvm::Value *mask, llvm::Value *a, llvm::Value *b) {
  const int width = Lanes::width(mask);
  if (width == scan_ways || lanes_.are_threads()) return lanes_.select(mask, a, b);
  if (a->getType()->getScalarSizeInBits() != 64)
    return lanes_.select(lanes_.joined({mask, mask}), a, b);
  const auto half = [&](int first) {
    return lanes_.select(mask, lanes_.some_lanes(a, first, width),
                         lanes_.some_lanes(b, first, width));
  };
  llvm::Value *low = half(0);
  return lanes_.joined({low, half(width)});
}

States Scans::join_group(const Group &group, AccId acc, States states) {
  const bool reverse = group.loop->reverse;
  constexpr int width = scan_ways; // of a warp, each half has a group
  for (int distance = 1; distance < width; distance *= 2) {
    std::vector<int> sources;
    for (int lane = 0; lane < width; ++lane) {
      const int place = reverse ? width - 1 - lane : lane;
      const int earlier = tree::earlier(place, distance), from = earlier < 0 ? place : earlier;
      sources.push_back(reverse ? width - 1 - from : from);
    }
    const States joined = accs_.join(acc, shuffled(states, sources), states);
    llvm::Value *later = later_lanes(reverse, distance);
    // In reverse the lanes that do not count come first: they are not there.
    llvm::Value *there = reverse && group.mask != nullptr
                             ? lanes_.shuffle(group.mask, group.mask, sources)
                             : nullptr;
    for (std::size_t k = 0; k < states.size(); ++k) {
      llvm::Value *now = select_lanes(later, joined[k], states[k]);
      states[k] = there == nullptr ? now : lanes_.select(there, now, states[k]);
    }
  }
  return states;
}

// Where nobody reads the running states: neighbours are joined, in half as many lanes each time,
// until there is a lane for each group.
States Scans::totals_of_groups(const Group &group, AccId acc, States states) {
  const auto join_neighbours = [&](States left, States right) {
    if (group.loop->reverse) std::swap(left, right);
    return accs_.join(acc, left, right);
  };
  for (int width = group.width; width > std::max(group.width / scan_ways, 2); width /= 2) {
    std::vector<int> even, odd;
    for (int lane = 0; lane < width; lane += 2) {
      even.push_back(lane);
      odd.push_back(lane + 1);
    }
    states = join_neighbours(shuffled(states, even), shuffled(states, odd));
  }
  if (group.width > scan_ways) return states;
  States left, right;
  for (llvm::Value *state : states) {
    left.push_back(lanes_.some_lanes(state, 0, 1));
    right.push_back(lanes_.some_lanes(state, 1, 1));
  }
  return join_neighbours(std::move(left), std::move(right));
}

States Scans::last_of_group(const Group &group, const States &joined, int number) {
  support::check(!joined.empty(), "a scan's group has not stepped");
  const bool totals =
      !lanes_.are_threads() && Lanes::width(joined[0]) < scan_ways; // a lane for each group
  const bool reverse = group.loop->reverse;
  const int own = (lanes_.are_threads() ? number * scan_ways : 0) + (reverse ? 0 : scan_ways - 1);
  llvm::Value *lane = context_.number(totals ? number : own);
  if (group.active != nullptr && !reverse) lane = ir_.CreateSub(group.active, ir_.getInt64(1));
  States last;
  for (llvm::Value *state : joined) last.push_back(lanes_.lane(state, lane));
  return last;
}

// The states after the step, or where it is still to come, before it.
States Scans::running_group(const Place &here, AccId acc) {
  const Loop *loop = here.group.loop;
  llvm::Value *mask = here.group.mask;
  constexpr int width = scan_ways;
  Accumulator &accumulator = accs_[acc];
  if (accumulator.now.empty()) {
    const auto step = std::find_if(loop->body.begin(), loop->body.end(), [&](const Stmt &s) {
      return s.kind == StmtKind::Step && s.acc == acc;
    });
    step_group(here, acc, step->args);
    accumulator.early = true;
  }
  if (loop->ways == 1) {
    const States &own = accumulator.early ? accumulator.earlier : accumulator.now;
    return accumulator.carried.empty() ? own : accs_.join(acc, accumulator.carried, own);
  }
  States before = accumulator.before;
  if (here.group.width > width) { // the second group of a warp goes on from the first one
    const States last = last_of_group(here.group, accumulator.now, loop->reverse ? 1 : 0);
    const States next = accs_.join(acc, before, last);
    llvm::Value *upper = ir_.CreateICmpUGE(lanes_.thread(), ir_.getInt32(unsigned(width)));
    for (std::size_t k = 0; k < before.size(); ++k)
      before[k] = loop->reverse ? lanes_.select(upper, before[k], next[k])
                                : lanes_.select(upper, next[k], before[k]);
  }
  if (!accumulator.carried.empty()) before = accs_.join(acc, accumulator.carried, before);
  for (llvm::Value *&state : before) state = lanes_.splat(state, width);
  States running = accs_.join(acc, before, accumulator.now);
  if (!accumulator.early) return running;
  std::vector<int> sources; // lane 0 of `before`, then all lanes but the last
  for (int lane = 0; lane < width; ++lane)
    sources.push_back(loop->reverse ? (lane + 1 == width ? width : lane + 1)
                                    : (lane == 0 ? width : lane - 1));
  for (std::size_t k = 0; k < running.size(); ++k) {
    if (loop->reverse && mask != nullptr) running[k] = lanes_.select(mask, running[k], before[k]);
    running[k] = lanes_.shuffle(running[k], before[k], sources);
  }
  return running;
}

} // namespace broadloom::jit

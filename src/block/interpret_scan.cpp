// Loops that run in order: see interpreter.hpp, and loop.hpp for what they mean.
#include "block/interpreter.hpp"

#include "support/check.hpp"

#include <algorithm>

namespace broadloom::block {

using namespace loop;

void Interpreter::scan(const Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  if (loop.leaf == 0) {
    set_running(loop, scan_block(run, range, first_states(loop, range)));
    std::size_t next = 0;
    for (const AccId acc : loop.accs)
      for (const Scalar &state : accs_[acc.index].now.at(0))
        if (next < loop.handed.size()) {
          const BufferId handed = loop.handed[next++];
          set_element(handed, at_[handed.index], state);
        }
    return;
  }
  AllStates carried = start(loop, true);
  const std::int64_t blocks = (range.count() + loop.leaf - 1) / loop.leaf;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = range.begin + (loop.reverse ? blocks - 1 - b : b) * loop.leaf;
    for (std::size_t k = 0; k < loop.accs.size(); ++k)
      accs_[loop.accs[k].index].carried = carried[k];
    AllStates stepped =
        scan_block(run, {first, std::min(range.end, first + loop.leaf)}, start(loop, false));
    join(loop, carried, stepped);
    carried = std::move(stepped);
  }
  for (const AccId acc : loop.accs) accs_[acc.index].carried.clear();
  set_running(loop, std::move(carried));
}

// From the start, or where an earlier box has run, from what it has handed on.
Interpreter::AllStates Interpreter::first_states(const Loop &loop, Range range) {
  AllStates all = start(loop, true);
  const bool goes_on = loop.reverse ? range.end < frame_.extents[loop.axis.index] : range.begin > 0;
  std::size_t next = 0;
  for (LaneStates &lanes : all)
    for (Scalar &state : lanes.at(0))
      if (goes_on && next < loop.handed.size()) {
        const BufferId handed = loop.handed[next++];
        state = element(handed, at_[handed.index]);
      }
  return all;
}

Interpreter::AllStates Interpreter::scan_block(const Run &run, Range range, AllStates start) {
  const Box &box = run.whole();
  if (run.shape == Shape::SerialScan && box.count(As::Lanes) > 1) {
    Run singles = run;
    singles.boxes.erase(singles.boxes.begin());
    const std::int64_t rest = range.whole(box.positions());
    const Range whole{range.begin, rest}, part{rest, range.end};
    return program_[run.loop].reverse
               ? chain(run, whole, serial_leaf(singles, part, std::move(start)))
               : serial_leaf(singles, part, chain(run, whole, std::move(start)));
  }
  if (run.shape != Shape::GroupScan) return serial_leaf(run, range, std::move(start));
  if (box.masked) return groups(run, box, range, std::move(start));
  const std::int64_t rest = range.whole(box.positions());
  const Range whole{range.begin, rest}, part{rest, range.end};
  if (program_[run.loop].reverse)
    return groups(run, box, whole, groups(run, run.rest(), part, std::move(start)));
  return groups(run, run.rest(), part, groups(run, box, whole, std::move(start)));
}

// All groups of the range by one box, in the direction of the loop; the last one in memory may be
// partial.
Interpreter::AllStates Interpreter::groups(const Run &run, const Box &box, Range range,
                                           AllStates start) {
  const Loop &loop = program_[run.loop];
  const Addresses outer = at_;
  const int width = box.positions();
  const int groups = box.count(As::Copies);
  const std::int64_t last = range.begin + (range.count() - 1) / width * width;
  for (std::int64_t p = range.begin; p < range.end; p += width) {
    const std::int64_t first = loop.reverse ? range.begin + last - p : p;
    const std::int64_t left = range.end - first;
    support::check(box.masked || left >= width, "a group of a scan takes what is not there");
    set_lanes(&loop, width, int(std::min<std::int64_t>(left, width)));
    for (std::size_t k = 0; k < loop.accs.size(); ++k) {
      Acc &acc = accs_[loop.accs[k].index];
      acc.stepped = start[k].at(0);
      acc.now.clear();
      acc.first = 0;
    }
    turn(box, run.loop, outer, first);
    for (std::size_t k = 0; k < loop.accs.size(); ++k) {
      Acc &acc = accs_[loop.accs[k].index];
      States &now = start[k][0];
      for (int k = 0; k < groups; ++k)
        acc.code.join(now, last_of_group(acc, box, loop.reverse ? groups - 1 - k : k), now);
      acc.stepped.clear();
    }
    set_lanes(nullptr, 1, 1);
  }
  at_ = outer;
  return start;
}

// Positions in lanes, whose steps are taken one after the other.
Interpreter::AllStates Interpreter::chain(const Run &run, Range range, AllStates start) {
  const Loop &loop = program_[run.loop];
  const Addresses outer = at_;
  const int width = run.whole().positions();
  for (std::int64_t p = range.begin; p < range.end; p += width) {
    set_lanes(&loop, width, width);
    for (std::size_t k = 0; k < loop.accs.size(); ++k) {
      Acc &acc = accs_[loop.accs[k].index];
      acc.stepped = start[k].at(0);
      acc.now.clear();
      acc.first = 0;
    }
    turn(run.whole(), run.loop, outer, loop.reverse ? range.begin + range.end - width - p : p);
    for (std::size_t k = 0; k < loop.accs.size(); ++k) {
      Acc &acc = accs_[loop.accs[k].index];
      start[k][0] = loop.reverse ? acc.now.front() : acc.now.back();
      acc.stepped.clear();
    }
    set_lanes(nullptr, 1, 1);
  }
  at_ = outer;
  return start;
}

void Interpreter::step_chain(AccId id, const std::vector<ValueId> &args) {
  Acc &acc = accs_[id.index];
  acc.now.resize(std::size_t(width_));
  acc.earlier.resize(std::size_t(width_));
  States state = acc.stepped;
  for (int k = 0; k < width_; ++k) {
    const int lane = vector_->reverse ? width_ - 1 - k : k;
    acc.earlier[std::size_t(lane)] = state;
    States given;
    for (const ValueId arg : args) given.push_back(value(arg, lane));
    if (acc.takes_blocks) {
      state = given;
    } else {
      acc.code.inputs = state;
      acc.code.inputs.insert(acc.code.inputs.end(), given.begin(), given.end());
      acc.code.take(acc.code.recipe->step, state);
    }
    acc.now[std::size_t(lane)] = state;
  }
}

// One step in each lane, then the joins of each group.
void Interpreter::step_group(AccId id, const std::vector<ValueId> &args) {
  Acc &acc = accs_[id.index];
  if (!acc.now.empty()) { // running states were read before the step
    acc.early = false;
    return;
  }
  if (vector_->ways == 1) return step_chain(id, args);
  acc.now.resize(std::size_t(width_));
  for (int lane = 0; lane < active_; ++lane) {
    acc.code.inputs = acc.code.recipe->start;
    for (const ValueId arg : args) acc.code.inputs.push_back(value(arg, lane));
    acc.code.take(acc.code.recipe->step, acc.now[std::size_t(lane)]);
  }
  const auto mirrored = [&](int place) { return vector_->reverse ? scan_ways - 1 - place : place; };
  for (int distance = 1; distance < scan_ways; distance *= 2)
    for (int lane = 0; lane < active_; ++lane) {
      const int group = lane / scan_ways * scan_ways;
      const int from = tree::earlier(mirrored(lane - group), distance);
      if (from < 0 || group + mirrored(from) >= active_) continue; // positions that are not there
      States &state = acc.now[std::size_t(lane)];
      acc.code.join(acc.now[std::size_t(group) + std::size_t(mirrored(from))], state, state);
    }
}

Interpreter::States Interpreter::last_of_group(const Acc &acc, const Box &box, int group) const {
  const bool reverse = vector_->reverse;
  const int lanes = box.count(As::Lanes);
  const int last = std::min(active_, (group + 1) * lanes) - 1;
  return acc.now.at(std::size_t(reverse ? group * lanes : last));
}

void Interpreter::running_state(AccId id, std::uint32_t state, Lanes &out) {
  Acc &acc = accs_[id.index];
  if (vector_ != nullptr && vector_->scan && !acc.stepped.empty())
    return running_in_group(id, state, out);
  for (int lane = 0; lane < active_; ++lane) {
    States now = acc.now.at(acc.first + std::size_t(lane));
    if (!acc.carried.empty()) acc.code.join(acc.carried.at(std::size_t(lane)), now, now);
    out[std::size_t(lane)] = now.at(state);
  }
}

// The states after the step, or where it is still to come, before it.
void Interpreter::running_in_group(AccId id, std::uint32_t state, Lanes &out) {
  Acc &acc = accs_[id.index];
  if (acc.now.empty()) {
    const auto step = std::ranges::find_if(
        vector_->body, [&](const Stmt &s) { return s.kind == StmtKind::Step && s.acc == id; });
    step_group(id, step->args);
    acc.early = true;
  }
  if (vector_->ways == 1) {
    for (int lane = 0; lane < active_; ++lane) {
      States now = (acc.early ? acc.earlier : acc.now).at(std::size_t(lane));
      if (!acc.carried.empty()) acc.code.join(acc.carried.at(0), now, now);
      out[std::size_t(lane)] = now.at(state);
    }
    return;
  }
  const int groups = std::max(1, width_ / scan_ways);
  States stepped = acc.stepped, before, now;
  for (int k = 0; k < groups; ++k) { // in the direction of the loop
    const int group = vector_->reverse ? groups - 1 - k : k;
    const int first = group * scan_ways, end = std::min(active_, first + scan_ways);
    before = stepped;
    if (!acc.carried.empty()) acc.code.join(acc.carried.at(0), before, before);
    const int earlier = !acc.early ? 0 : vector_->reverse ? 1 : -1; // the lane that is read
    for (int lane = first; lane < end; ++lane) {
      const int from = lane + earlier;
      if (from < first || from >= end)
        now = before;
      else
        acc.code.join(before, acc.now[std::size_t(from)], now);
      out[std::size_t(lane)] = now.at(state);
    }
    acc.code.join(stepped, acc.now[std::size_t(vector_->reverse ? first : end - 1)], stepped);
  }
}

} // namespace broadloom::block

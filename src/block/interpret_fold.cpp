// Folds and short rows: see interpreter.hpp. The states of copies and lanes are apart until the
// tree of loop/tree.hpp joins them.
#include "block/interpreter.hpp"

#include "support/check.hpp"

#include <algorithm>

namespace broadloom::block {

using namespace loop;

// What the accumulators of a loop start from in each lane: the values given, or the recipes' own
// start.
Interpreter::AllStates Interpreter::start(const Loop &loop, bool given) {
  AllStates all;
  for (const AccId acc : loop.accs) {
    LaneStates &lanes =
        all.emplace_back(LaneStates(std::size_t(width_), program_.recipe(acc).start));
    const std::vector<ValueId> &values = program_[acc].start;
    for (int lane = 0; given && lane < active_; ++lane)
      for (std::size_t k = 0; k < values.size(); ++k)
        lanes[std::size_t(lane)][k] = value(values[k], lane);
  }
  return all;
}

Interpreter::AllStates Interpreter::running(const Loop &loop) const {
  AllStates all;
  for (const AccId acc : loop.accs) all.push_back(accs_[acc.index].now);
  return all;
}

void Interpreter::set_running(const Loop &loop, AllStates states) {
  for (std::size_t k = 0; k < loop.accs.size(); ++k) {
    Acc &acc = accs_[loop.accs[k].index];
    acc.now = std::move(states[k]);
    acc.first = 0;
  }
}

void Interpreter::join(const Loop &loop, const AllStates &earlier, AllStates &later) {
  for (std::size_t k = 0; k < loop.accs.size(); ++k)
    for (std::size_t lane = 0; lane < later[k].size(); ++lane)
      accs_[loop.accs[k].index].code.join(earlier[k][lane], later[k][lane], later[k][lane]);
}

void Interpreter::step(const Stmt &s) {
  Acc &acc = accs_[s.acc.index];
  if (vector_ != nullptr && vector_->scan && !acc.stepped.empty()) return step_group(s.acc, s.args);
  for (int lane = 0; lane < active_; ++lane) {
    States &now = acc.now.at(acc.first + std::size_t(lane));
    if (acc.takes_blocks) {
      for (std::size_t k = 0; k < s.args.size(); ++k) now[k] = value(s.args[k], lane);
      continue;
    }
    acc.code.inputs = now;
    for (const ValueId arg : s.args) acc.code.inputs.push_back(value(arg, lane));
    acc.code.take(acc.code.recipe->step, now);
  }
}

void Interpreter::fold(const Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  if (range.count() == 0) return set_running(loop, start(loop, true));
  if (loop.leaf == 0) return set_running(loop, leaf(run, range));
  tree::Leaves<AllStates> leaves;
  const auto joined = [&](const AllStates &a, AllStates &b) { join(loop, a, b); };
  std::int64_t p = range.begin;
  if (const Box &box = run.whole();
      box.dims[0].leaves) // all groups but for one that ends the range
    for (; p + box.positions() * loop.leaf < range.end; p += box.positions() * loop.leaf)
      leaves.add(leaves_together(run, p), std::uint64_t(box.positions()), joined);
  for (; p < range.end; p += loop.leaf)
    leaves.add(leaf(run, {p, std::min(range.end, p + loop.leaf)}), 1, joined);
  set_running(loop, leaves.all(joined));
}

Interpreter::AllStates Interpreter::leaf(const Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  return run.shape == Shape::VectorFold ? vector_leaf(run, range)
                                        : serial_leaf(run, range, start(loop, loop.leaf == 0));
}

Interpreter::AllStates Interpreter::serial_leaf(const Run &run, Range range, AllStates start) {
  const Loop &loop = program_[run.loop];
  if (run.shape == Shape::SerialScan && run.boxes.size() > 1) {
    const std::int64_t rest = range.whole(run.whole().positions());
    if (!loop.reverse) {
      start = strips(run, {range.begin, rest}, std::move(start));
      range.begin = rest;
    } else if (rest > range.begin) {
      Run singles = run;
      singles.boxes.erase(singles.boxes.begin());
      start = serial_leaf(singles, {rest, range.end}, std::move(start));
      return strips(run, {range.begin, rest}, std::move(start));
    }
  }
  const Addresses outer = at_;
  set_running(loop, std::move(start));
  const int turns = run.shape == Shape::Unrolled ? 1 : run.rest().positions();
  for (std::int64_t p = range.begin; p < range.end; p += turns)
    turn(run.rest(), run.loop, outer, loop.reverse ? range.begin + range.end - 1 - p : p);
  at_ = outer;
  return running(loop);
}

// Blocks of positions in each lane's row: what lies in rows is loaded for all turns of a block, and
// stored after them.
Interpreter::AllStates Interpreter::strips(const Run &run, Range range, AllStates start) {
  const Loop &loop = program_[run.loop];
  const Addresses outer = at_;
  const std::vector<Columns> around = columns_;
  set_running(loop, std::move(start));
  const int size = run.whole().positions();
  for (std::int64_t p = range.begin; p < range.end; p += size) {
    const std::int64_t first = loop.reverse ? range.begin + range.end - size - p : p;
    move(run.loop, outer, first);
    load_columns(run, first);
    for (int k = 0; k < size; ++k)
      turn(run.whole(), run.loop, outer, first + (loop.reverse ? size - 1 - k : k));
    move(run.loop, outer, first);
    store_columns(run);
  }
  at_ = outer;
  columns_ = around;
  return running(loop);
}

// The lanes of the tree are those of the copies, side by side. A masked turn takes the next of
// them, round and round.
Interpreter::AllStates Interpreter::vector_leaf(const Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  const Addresses outer = at_;
  set_lanes(&loop, fold_ways, fold_ways);
  set_running(loop, start(loop, false));
  const auto step = [&](const Box &box, std::int64_t p, int first, int active) {
    set_lanes(&loop, box.count(As::Lanes), active);
    for (const AccId acc : loop.accs) accs_[acc.index].first = std::size_t(first);
    turn(box, run.loop, outer, p);
  };
  std::int64_t p = range.begin;
  if (const Box &box = run.whole(); box.apiece() > 1) {
    apiece_ = box.apiece();
    for (const std::int64_t end = whole_end(run, range); p < end; p += box.positions())
      for (copy_ = 0; copy_ < apiece_; ++copy_) step(box, p, 0, box.count(As::Lanes));
    apiece_ = 1, copy_ = 0;
  } else if (!box.masked)
    for (; p + box.positions() <= range.end; p += box.positions())
      for (int copy = 0; copy < box.count(As::Copies); ++copy) {
        const int first = copy * box.count(As::Lanes);
        step(box, p + first, first, box.count(As::Lanes));
      }
  for (int first = 0; p < range.end; p += run.rest().positions()) {
    const std::int64_t left = range.end - p;
    step(run.rest(), p, first, int(std::min<std::int64_t>(left, run.rest().positions())));
    first = (first + run.rest().positions()) % fold_ways;
  }
  set_lanes(nullptr, 1, 1);
  at_ = outer;
  return joined_lanes(loop, [](const auto &join) { tree::halve(fold_ways, join); });
}

// What all lanes have come to, by the joins (into, from) of a tree.
template <class Tree>
Interpreter::AllStates Interpreter::joined_lanes(const Loop &loop, const Tree &tree) {
  AllStates all = running(loop);
  for (std::size_t k = 0; k < all.size(); ++k) {
    tree([&](int into, int from) {
      States &state = all[k][std::size_t(into)];
      accs_[loop.accs[k].index].code.join(state, all[k][std::size_t(from)], state);
    });
    all[k].resize(1);
  }
  return all;
}

// Leaves from `begin` on, step by step in turn, or of one position in a lane each.
Interpreter::AllStates Interpreter::leaves_together(const Run &run, std::int64_t begin) {
  const Loop &loop = program_[run.loop];
  if (run.whole().count(As::Lanes) > 1) return leaves_in_lanes(run, begin);
  const Addresses outer = at_;
  std::vector<AllStates> leaves(std::size_t(run.whole().positions()), start(loop, false));
  for (std::int64_t p = begin; p < begin + loop.leaf; ++p)
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      set_running(loop, std::move(leaves[k]));
      turn(run.whole(), run.loop, outer, p + std::int64_t(k) * loop.leaf);
      leaves[k] = running(loop);
    }
  at_ = outer;
  tree::pair(int(leaves.size()), [&](int into, int from) {
    join(loop, leaves[std::size_t(into)], leaves[std::size_t(from)]);
    leaves[std::size_t(into)] = std::move(leaves[std::size_t(from)]);
  });
  return leaves[0];
}

Interpreter::AllStates Interpreter::leaves_in_lanes(const Run &run, std::int64_t begin) {
  const Loop &loop = program_[run.loop];
  const Addresses outer = at_;
  const int lanes = run.whole().positions();
  set_lanes(&loop, lanes, lanes);
  set_running(loop, start(loop, false));
  turn(run.whole(), run.loop, outer, begin);
  set_lanes(nullptr, 1, 1);
  at_ = outer;
  return joined_lanes(loop, [lanes](const auto &join) { tree::pair(lanes, join); });
}

// Each lane has a row of its own, of so many known positions.
void Interpreter::short_row(const Run &run) {
  const Loop &loop = program_[run.loop];
  support::check(vector_ != nullptr, "a short row outside of a vector loop");
  const std::vector<Columns> around = columns_;
  const Addresses outer = at_;
  load_columns(run, 0);
  if (loop.ways > 1) {
    set_running(loop, short_tree(run));
  } else {
    set_running(loop, start(loop, true));
    for (int p = 0; p < run.whole().positions(); ++p) turn(run.whole(), run.loop, outer, p);
  }
  at_ = outer;
  store_columns(run);
  columns_ = around;
}

// A lane of the tree for each position; those without one hold what the fold begins with.
Interpreter::AllStates Interpreter::short_tree(const Run &run) {
  const Loop &loop = program_[run.loop];
  const Addresses outer = at_;
  std::vector<AllStates> lanes(std::size_t(loop.ways), start(loop, false));
  for (int p = 0; p < run.whole().positions(); ++p) {
    AllStates &lane = lanes.at(std::size_t(p % loop.ways));
    set_running(loop, std::move(lane));
    turn(run.whole(), run.loop, outer, p);
    lane = running(loop);
  }
  at_ = outer;
  tree::halve(loop.ways, [&](int into, int from) {
    join(loop, lanes[std::size_t(into)], lanes[std::size_t(from)]);
    lanes[std::size_t(into)] = std::move(lanes[std::size_t(from)]);
  });
  return lanes[0];
}

} // namespace broadloom::block

// Inside the interpreter: an accumulator while its loop runs. Lanes, leaves and groups are those of
// loop.hpp.
#pragma once

#include "loop/interpret_value.hpp"
#include "loop/tree.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace broadloom::loop::interpreted {

// One accumulator while its loop runs.
struct Fold {
  RecipeRunner code;
  std::vector<std::uint32_t> start_values; // or none: the recipe's own start
  States start;                            // of this run of the loop
  std::vector<States> ways;
  tree::Leaves<States> leaves;
  States carried;               // of a scan in blocks: what the blocks before have come to
  States joined;                // of a scan in groups: the group up to the last step, or nothing
  std::array<States, 4> halves; // the last of the earlier half, at distances 1, 2, 4, 8
  bool grouped = false;
  bool takes_blocks = false;
  States result;

  void join(const States &a, const States &b, States &out) { code.join(a, b, out); }
  void begin() {
    leaves.clear();
    carried.clear();
  }
  void begin_group() {
    joined.clear();
    for (States &half : halves) half.clear();
  }
  // One step at this place of the group: see loop.hpp for the tree.
  void step_in_group(std::size_t place) {
    code.take(code.recipe->step, joined);
    for (std::size_t k = 0; k < halves.size(); ++k) {
      const std::size_t distance = std::size_t(1) << k;
      if ((place & distance) == 0 && ((place + 1) & (distance - 1)) == 0)
        halves[k] = joined;
      else if ((place & distance) != 0 && !halves[k].empty())
        join(halves[k], joined, joined);
    }
  }
  void end_group() { join(ways[0], joined, ways[0]); }
  void begin_leaf(bool from_start) {
    for (States &way : ways) way = from_start ? start : code.recipe->start;
    begin_group();
  }
  void end_leaf() {
    tree::halve(int(ways.size()), [&](int into, int from) {
      join(ways[std::size_t(into)], ways[std::size_t(from)], ways[std::size_t(into)]);
    });
    leaves.add(ways[0], 1, [&](const States &a, States &b) { join(a, b, b); });
  }
  void end() {
    result =
        leaves.empty() ? start : leaves.all([&](const States &a, States &b) { join(a, b, b); });
  }
};

} // namespace broadloom::loop::interpreted

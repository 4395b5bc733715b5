// Inside the interpreter: an accumulator while its loop runs. Lanes, leaves and groups are those of loop.hpp.
#pragma once

#include "ops/recipe.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace broadloom::loop::interpreted {

using ops::Scalar;
using States = std::vector<Scalar>;

// One accumulator while its loop runs.
struct Fold {
  const ops::Recipe *recipe = nullptr;
  Accuracy accuracy = Accuracy::high;
  std::vector<std::uint32_t> start_values; // or none: the recipe's own start
  States start;                            // of this run of the loop
  std::vector<States> lanes;
  std::uint64_t leaves = 0;     // leaves done; its binary digits are the blocks that wait
  std::vector<States> waiting;  // joined blocks, greatest and earliest first
  States carried;               // of a scan in blocks: what the blocks before have come to
  States joined;                // of a scan in groups: the group up to the last step, or nothing
  std::array<States, 4> halves; // the last of the earlier half, at distances 1, 2, 4, 8
  bool grouped = false;
  bool takes_blocks = false;
  States result;
  States inputs, work; // of the code that runs

  void take(const ops::Code &code, States &out) {
    ops::run(code, inputs, work, accuracy);
    out.resize(code.results.size());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = work[code.results[k]];
  }
  void join(const States &a, const States &b, States &out) {
    inputs = a;
    inputs.insert(inputs.end(), b.begin(), b.end());
    take(recipe->combine, out);
  }
  void begin() {
    leaves = 0;
    waiting.clear();
    carried.clear();
  }
  void begin_group() {
    joined.clear();
    for (States &half : halves) half.clear();
  }
  // One step at this place of the group: see loop.hpp for the tree.
  void step_in_group(std::size_t place) {
    take(recipe->step, joined);
    for (std::size_t k = 0; k < halves.size(); ++k) {
      const std::size_t distance = std::size_t(1) << k;
      if ((place & distance) == 0 && ((place + 1) & (distance - 1)) == 0)
        halves[k] = joined;
      else if ((place & distance) != 0 && !halves[k].empty())
        join(halves[k], joined, joined);
    }
  }
  void end_group() { join(lanes[0], joined, lanes[0]); }
  void begin_leaf(bool from_start) {
    for (States &lane : lanes) lane = from_start ? start : recipe->start;
    begin_group();
  }
  // Joins the lanes by halving, then equal blocks pairwise: 0 with 1, 2 with 3, then these.
  void end_leaf() {
    for (std::size_t half = lanes.size() / 2; half > 0; half /= 2)
      for (std::size_t l = 0; l < half; ++l) join(lanes[l], lanes[l + half], lanes[l]);
    States block = lanes[0];
    for (std::uint64_t n = leaves++; n & 1; n >>= 1) {
      join(waiting.back(), block, block);
      waiting.pop_back();
    }
    waiting.push_back(std::move(block));
  }
  // What is left over is carried up, the last and smallest block first.
  void end() {
    if (waiting.empty()) {
      result = start;
      return;
    }
    result = waiting.back();
    for (waiting.pop_back(); !waiting.empty(); waiting.pop_back())
      join(waiting.back(), result, result);
  }
};

} // namespace broadloom::loop::interpreted

// See loops.hpp.
#include "reference/loops.hpp"

#include <algorithm>
#include <future>
#include <system_error>

namespace broadloom::reference {
namespace {

constexpr std::int64_t points_per_thread = 1 << 15; // worth more than the start of a thread

bool continues(const Loop &outer, const Loop &inner) {
  for (std::size_t k = 0; k < outer.steps.size(); ++k)
    if (outer.steps[k] != inner.steps[k] * inner.count) return false;
  return true;
}

// The loop that blocks run along: the innermost one of some length, as its elements are likely
// neighbours, else the longest one.
std::size_t loop_of_blocks(const Nest &nest) {
  constexpr std::int64_t long_enough = 32;
  for (std::size_t l = nest.size(); l-- > 0;)
    if (nest[l].count >= long_enough) return l;
  const auto longest = std::max_element(
      nest.begin(), nest.end(), [](const Loop &a, const Loop &b) { return a.count < b.count; });
  return std::size_t(longest - nest.begin());
}

// Does work(begin, end) for ranges that are 0 .. count together, one on this thread.
void in_ranges(std::int64_t count, int threads,
               const std::function<void(std::int64_t, std::int64_t)> &work) {
  std::vector<std::future<void>> others; // a range that throws: the others come to their end first
  const auto border = [&](int t) { return count * t / threads; };
  for (int t = 1; t < threads; ++t) {
    try {
      others.push_back(std::async(std::launch::async, work, border(t), border(t + 1)));
    } catch (const std::system_error &) { // no more threads are to be had
      work(border(t), border(t + 1));
    }
  }
  work(border(0), border(1));
  for (std::future<void> &other : others) other.get();
}

} // namespace

Nest nest_of(const Extents &space, const std::vector<Operand> &operands) {
  Nest nest;
  for (std::size_t a = 0; a < space.size(); ++a) {
    if (space[a].count == 1) continue;
    Loop loop{space[a].count, {}};
    for (const Operand &operand : operands) loop.steps.push_back(operand.strides[a]);
    if (!nest.empty() && continues(nest.back(), loop)) {
      loop.count *= nest.back().count;
      nest.back() = std::move(loop);
    } else {
      nest.push_back(std::move(loop));
    }
  }
  return nest;
}

Addresses starts_of(const std::vector<Operand> &operands) {
  Addresses at;
  for (const Operand &operand : operands) at.push_back(operand.data);
  return at;
}

void for_each_block(const Nest &nest, const Addresses &at, std::int64_t longest,
                    std::int64_t points, const Workers &workers,
                    const std::function<Block()> &make) {
  Nest outer = nest;
  Loop row{1, Steps(at.size(), 0)};
  if (!nest.empty()) {
    const std::size_t l = loop_of_blocks(nest);
    row = outer[l];
    outer.erase(outer.begin() + std::ptrdiff_t(l));
  }
  const std::int64_t per_row = (row.count + longest - 1) / longest;
  std::int64_t blocks = per_row;
  for (const Loop &loop : outer) blocks *= loop.count;

  const auto work = [&](std::int64_t begin, std::int64_t end) {
    const Block block = make();
    Addresses here(at.size());
    for (std::int64_t b = begin; b < end && !workers.cancelled(); ++b) {
      const std::int64_t first = b % per_row * longest;
      for (std::size_t k = 0; k < at.size(); ++k) here[k] = at[k] + first * row.steps[k];
      std::int64_t rest = b / per_row;
      for (std::size_t l = outer.size(); l-- > 0; rest /= outer[l].count) {
        const std::int64_t index = rest % outer[l].count;
        for (std::size_t k = 0; k < at.size(); ++k) here[k] += index * outer[l].steps[k];
      }
      block(here, std::min(longest, row.count - first), row.steps);
    }
  };
  const std::int64_t useful = std::min(blocks, points / points_per_thread);
  const int threads = int(std::clamp<std::int64_t>(useful, 1, workers.threads));
  in_ranges(blocks, threads, work);
}

} // namespace broadloom::reference

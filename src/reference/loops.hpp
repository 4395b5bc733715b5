// Loops over the elements of several operands, each read through its strides.
//
//   z[i, j] = x[i, j] + y[j], f32[4, 3]: operands z, x, y step 12, 12, 0 bytes along i and 4, 4, 4
//   along j
//
// Two kinds of loop are taken. In a nest in order every point follows those before it, in C order,
// as the elements of one fold do. The positions of a nest of blocks have nothing to do with each
// other, as the folds of a kernel have: they are taken in rows of some positions, by any number of
// threads.
#pragma once

#include "reference/shapes.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace broadloom::reference {

// The elements of a value, with the bytes between them along each axis of the iteration space; 0
// where the value does not vary.
struct Operand {
  char *data = nullptr;
  std::vector<std::int64_t> strides;
};

using Addresses = std::vector<char *>;   // of each operand
using Steps = std::vector<std::int64_t>; // of each operand, in bytes

struct Loop {
  std::int64_t count = 1;
  Steps steps;
};
using Nest = std::vector<Loop>; // outer loops first

// The loops over the axes of `space` in C order. Axes with one element have none, and two loops
// that are one for all operands are merged.
Nest nest_of(const Extents &space, const std::vector<Operand> &operands);
Addresses starts_of(const std::vector<Operand> &operands);

// Calls row(addresses, count, steps) for each row along the innermost loop, in C order; never where
// a loop is empty. A nest of no loops is one row of one point.
template <class Row> void for_each_row(const Nest &nest, Addresses at, Row row) {
  for (const Loop &loop : nest)
    if (loop.count == 0) return;
  const Loop point{1, Steps(at.size(), 0)};
  const Loop &inner = nest.empty() ? point : nest.back();
  const std::size_t outer = nest.empty() ? 0 : nest.size() - 1;
  std::vector<std::int64_t> index(outer, 0);
  while (true) {
    row(at, inner.count, inner.steps);
    std::size_t l = outer;
    while (l-- > 0) {
      const bool carry = ++index[l] == nest[l].count;
      const std::int64_t moved = carry ? 1 - nest[l].count : 1;
      for (std::size_t k = 0; k < at.size(); ++k) at[k] += nest[l].steps[k] * moved;
      if (!carry) break;
      index[l] = 0;
    }
    if (l > outer) return; // the outermost loop has come to its end
  }
}

// What is done with a row of at most `longest` positions.
using Block = std::function<void(const Addresses &at, std::int64_t count, const Steps &steps)>;

// Who works, and until when.
struct Workers {
  int threads = 1;
  const std::atomic<bool> *cancel = nullptr; // null: never

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
};

// Takes all positions of the nest in blocks of at most `longest`, each thread with a Block that
// `make` makes for it. `points` says how much work it is: little work stays on one thread. Leaves
// early where it is cancelled.
void for_each_block(const Nest &nest, const Addresses &at, std::int64_t longest,
                    std::int64_t points, const Workers &workers,
                    const std::function<Block()> &make);

} // namespace broadloom::reference

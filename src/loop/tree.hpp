// The trees of folds and scans as pure functions of numbers: which states are joined, in which
// order. loop.hpp says what they mean; the interpreters of loops and of blocks and the emitter ask
// here, so that there is one tree.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace broadloom::loop::tree {

// Lanes by halving, as join(into, from). Of 4: 0 with 2, 1 with 3, then 0 with 1. What comes of
// them is in 0.
template <class Join> void halve(int count, Join join) {
  for (int half = count / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) join(k, k + half);
}

// Neighbours pairwise, a power of two of them. Of 4: 0 with 1, 2 with 3, then 0 with 2. What comes
// of them is in 0.
template <class Join> void pair(int count, Join join) {
  for (int apart = 1; apart < count; apart *= 2)
    for (int k = 0; k + apart < count; k += 2 * apart) join(k, k + apart);
}

// In a group of a scan, the place whose state is joined to that of `place` at this distance: the
// last one of the earlier half.
// None: -1.
inline int earlier(int place, int distance) {
  return (place & distance) != 0 ? (place & ~(distance - 1)) - 1 : -1;
}

// Leaves of a fold joined as a binary counter carries, as join(earlier, later), which leaves the
// result in the later one.
// Example: of leaves a b c, b meets a; c, the odd last one, is carried up: ((a b) c).
template <class Block> class Leaves {
public:
  // What `count` leaves have come to: a power of two, and of those before a multiple of it.
  template <class Join> void add(Block block, std::uint64_t count, Join join) {
    for (int n = std::countr_one(done_ / count); n > 0; --n) {
      join(waiting_.back(), block);
      waiting_.pop_back();
    }
    waiting_.push_back(std::move(block));
    done_ += count;
  }

  bool empty() const { return waiting_.empty(); }
  void clear() { waiting_.clear(), done_ = 0; }

  // What is left over is carried up, the last and smallest block first.
  template <class Join> Block all(Join join) {
    Block block = std::move(waiting_.back());
    for (waiting_.pop_back(); !waiting_.empty(); waiting_.pop_back()) join(waiting_.back(), block);
    done_ = 0;
    return block;
  }

private:
  std::vector<Block> waiting_; // greatest and earliest first
  std::uint64_t done_ = 0;     // leaves; its binary digits are the blocks that wait
};

} // namespace broadloom::loop::tree

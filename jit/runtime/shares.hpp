// Blocks of a job in as many shares as there are threads: each takes its own one first, then what
// is left of the others'. So a thread that has the same seat in call after call finds its data in
// its own caches, and counts on a line of its own.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace broadloom::jit::runtime {

// How many threads share work that is too little to wake one for: as many as have so many blocks
// each. On 16 cores a*b + c of 65,536 elements, which is 6 blocks, took 7 us on two threads, and 11
// us on 4, 8 and 16: its operands went from core to core.
inline constexpr std::int64_t fewest_awake_blocks = 2;
inline int threads_awake(std::int64_t blocks, int threads) {
  return int(std::clamp<std::int64_t>(blocks / fewest_awake_blocks, 2, std::max(threads, 2)));
}

class Shares {
public:
  Shares(std::int64_t blocks, int threads)
      : blocks_(blocks), count_(std::clamp(threads, 1, int(lines_.size()))) {}

  // Calls visit(block) for one block after the other until all are taken, by whomever, or it says
  // false.
  template <class Visit> void take(int seat, const Visit &visit) {
    for (int k = 0; k < count_; ++k) {
      const int share = (seat + k) % count_;
      const std::int64_t first = begin(share), size = begin(share + 1) - first;
      for (;;) {
        const std::int64_t next =
            lines_[std::size_t(share)].taken.fetch_add(1, std::memory_order_relaxed);
        if (next >= size) break;
        if (!visit(first + next)) return;
      }
    }
  }

private:
  std::int64_t begin(int share) const { return blocks_ * share / count_; }

  struct alignas(64) Line {
    std::atomic<std::int64_t> taken{0};
  };
  const std::int64_t blocks_;
  std::array<Line, 16> lines_;
  const int count_;
};

} // namespace broadloom::jit::runtime

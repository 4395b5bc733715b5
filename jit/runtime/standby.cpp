// See standby.hpp.
#include "jit/runtime/standby.hpp"

#include "support/relax.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace broadloom::jit::runtime {
namespace {

// How long a thread looks out after the last job it has seen, and how soon after each other jobs
// are to end for one to be sent. oneTBB keeps its own threads for about as long.
constexpr std::chrono::microseconds patience{60};
constexpr int looks_between_times = 32; // reading the clock takes as long as some looks

constexpr std::uint64_t one_round = Standby::most_seats + 1;

} // namespace

bool Standby::offer(int fewest, int seats, void (*part)(const void *, int), const void *job) {
  const auto count = std::uint64_t(std::min(seats, most_seats));
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  if (std::popcount(taken & ((std::uint64_t(1) << count) - 1)) < fewest) return false;
  if (offered_.exchange(true, std::memory_order_acquire)) return false;
  part_ = part;
  job_ = job;
  open_.store(true); // after what it is, and before the round
  const std::uint64_t before = round_.load(std::memory_order_relaxed);
  round_.store((before / one_round + 1) * one_round + count, std::memory_order_release);
  return true;
}

int Standby::sit_down() {
  std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  for (;;) {
    const int seat = std::countr_one(taken | 1); // the caller's is 0
    if (seat >= most_seats) return 0;
    if (taken_.compare_exchange_weak(taken, taken | std::uint64_t(1) << seat)) return seat;
  }
}

// A thread is counted in before it asks whether the job is still on offer, and the job is taken off
// before the count is read: of two that meet, one sees the other, as all four are sequentially
// consistent.
void Standby::close() {
  open_.store(false);
  while (inside_.load() != 0) support::relax();
  offered_.store(false, std::memory_order_release);
}

void Standby::look_out() {
  const int seat = sit_down();
  sent_.fetch_sub(1);
  if (seat == 0) return;
  std::uint64_t seen = 0;
  auto end = Clock::now() + patience;
  do {
    for (int look = 0; look < looks_between_times; ++look) {
      const std::uint64_t round = round_.load(std::memory_order_acquire);
      if (round == seen) {
        support::relax();
        continue;
      }
      seen = round;
      if (std::uint64_t(seat) >= round % one_round) continue;
      inside_.fetch_add(1);
      try {
        if (open_.load()) part_(job_, seat);
      } catch (const std::bad_alloc &) { // the others do the job
      }
      inside_.fetch_sub(1);
      end = Clock::now() + patience;
    }
  } while (Clock::now() < end && elsewhere_.load(std::memory_order_relaxed) == 0);
  taken_.fetch_and(~(std::uint64_t(1) << seat));
}

void Standby::expect_more(int seats) {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  const Clock::rep before = last_end_.exchange(now, std::memory_order_relaxed);
  if (Clock::duration(now - before) > patience) return;
  const int most = std::min(most_.load(std::memory_order_relaxed), seats - 1);
  for (int there = std::popcount(taken_.load()) + sent_.load(); there < most; ++there) {
    sent_.fetch_add(1);
    try {
      arena_.enqueue([this] { look_out(); });
    } catch (const std::bad_alloc &) { // the next job is shared without it
      sent_.fetch_sub(1);
      return;
    }
  }
}

} // namespace broadloom::jit::runtime

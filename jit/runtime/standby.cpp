// See standby.hpp.
#include "jit/runtime/standby.hpp"

#include "jit/native/processor.hpp"

#include <new>

namespace broadloom::jit::runtime {
namespace {

// How long a thread looks out after the last job it has seen, and how soon after each other jobs are to end for one to be sent.
// oneTBB keeps its own threads for about as long.
constexpr std::chrono::microseconds patience{60};
constexpr int looks_between_times = 32; // reading the clock takes as long as some looks

} // namespace

bool Standby::offer(int threads, void (*part)(const void *, int), const void *job) {
  if (looking_.load(std::memory_order_relaxed) < threads) return false;
  if (offered_.exchange(true, std::memory_order_acquire)) return false;
  part_ = part;
  job_ = job;
  places_.store(0, std::memory_order_relaxed);
  open_.store(true); // after what it is, and before the round
  round_.fetch_add(1, std::memory_order_release);
  return true;
}

// A thread is counted in before it asks whether the job is still on offer, and the job is taken off before the count is read: of
// two that meet, one sees the other, as all four are sequentially consistent.
void Standby::close() {
  open_.store(false);
  while (inside_.load() != 0) relax();
  offered_.store(false, std::memory_order_release);
}

void Standby::look_out() {
  sent_.fetch_sub(1);
  looking_.fetch_add(1);
  std::uint64_t seen = 0;
  auto end = Clock::now() + patience;
  do {
    for (int look = 0; look < looks_between_times; ++look) {
      const std::uint64_t round = round_.load(std::memory_order_acquire);
      if (round == seen) {
        relax();
        continue;
      }
      seen = round;
      inside_.fetch_add(1);
      try {
        if (open_.load()) part_(job_, 1 + places_.fetch_add(1));
      } catch (const std::bad_alloc &) { // the others do the job
      }
      inside_.fetch_sub(1);
      end = Clock::now() + patience;
    }
  } while (Clock::now() < end && elsewhere_.load(std::memory_order_relaxed) == 0);
  looking_.fetch_sub(1);
}

void Standby::expect_more() {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  const Clock::rep before = last_end_.exchange(now, std::memory_order_relaxed);
  if (Clock::duration(now - before) > patience) return;
  const int most = most_.load(std::memory_order_relaxed);
  for (int there = looking_.load() + sent_.load(); there < most; ++there) {
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

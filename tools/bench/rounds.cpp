// See rounds.hpp.
#include "bench/rounds.hpp"

#include "bench/loops.hpp"
#include "bench/paired.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace bench {

namespace {

constexpr std::chrono::milliseconds pause{20};

void compute_until(std::chrono::steady_clock::time_point end) {
  const Loops *loops = loops_here();
  while (std::chrono::steady_clock::now() < end)
    if (loops != nullptr) {
      const float volatile keep = loops->fma(1000);
      (void)keep;
    }
}

// All cores compute, because one that sleeps for 20 ms comes back at a low clock: 64K elements of
// exp, sin and sqrt took 25 % longer, which is not what a program in the midst of its work sees.
void wait_warm() {
  const auto end = std::chrono::steady_clock::now() + pause;
  std::vector<std::jthread> others;
  for (int k = 1; k < tbb::this_task_arena::max_concurrency(); ++k)
    others.emplace_back(compute_until, end);
  compute_until(end);
}

} // namespace

double Rounds::quantile(std::size_t participant, double part) const {
  std::vector<double> values = seconds[participant];
  const std::size_t at = std::size_t(part * double(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(at), values.end());
  return values[at];
}

double Rounds::median(std::size_t participant) const { return bench::median(seconds[participant]); }

double Rounds::ratio(std::size_t a, std::size_t b) const {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < seconds[a].size(); ++round)
    ratios.push_back(seconds[a][round] / seconds[b][round]);
  return bench::median(ratios);
}

Rounds alternate(const std::vector<Participant> &participants, const RoundLimits &limits) {
  const std::size_t count = participants.size();
  std::vector<int> repeats(count, 1);
  for (std::size_t p = 0; p < count; ++p) {
    if (participants[p].once) continue;
    participants[p].seconds(1);
    double once = participants[p].seconds(1);
    // A call of microseconds is known only after some more of them.
    if (once < 1e-4) once = participants[p].seconds(50);
    repeats[p] = int(std::clamp(std::ceil(1e-3 / std::max(once, 1e-9)), 1.0, 1e5));
  }
  Rounds rounds;
  rounds.seconds.resize(count);
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < limits.most; ++round) {
    if (round >= limits.least && seconds_since(start) > limits.seconds) break;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t p = (k + std::size_t(round)) % count;
      // Thread pools of others go on spinning for some milliseconds after their work, and ours
      // would always come after the same neighbour.
      wait_warm();
      // Everybody finds in the caches what its own call leaves there, and not what a neighbour, who
      // may read the same arrays, has left.
      if (!participants[p].once && repeats[p] < 4) participants[p].seconds(1);
      rounds.seconds[p].push_back(participants[p].seconds(repeats[p]));
    }
  }
  return rounds;
}

} // namespace bench

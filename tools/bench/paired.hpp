// Two ways of doing one thing, timed in alternating rounds.
//
// Machines change their speed while one measures (memory bandwidth by a factor of two within
// minutes on shared ones), so only ratios of neighbouring rounds mean anything: A B A B .., and the
// median of A/B.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Paired {
  double ours = 0, theirs = 0; // seconds, medians
  double ratio = 0;            // median of ours / theirs, round by round
};

// Runs each once unmeasured, then `rounds` rounds; each measurement repeats its call `repeat`
// times.
template <class Ours, class Theirs>
Paired run_paired(int rounds, int repeat, const Ours &ours, const Theirs &theirs) {
  const auto time = [&](const auto &call) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < repeat; ++k) call();
    return seconds_since(start) / repeat;
  };
  ours(), theirs();
  std::vector<double> a, b, ratios;
  for (int round = 0; round < rounds; ++round) {
    // The order within a round alternates too, so that neither always finds the caches warm.
    const bool first = round % 2 == 0;
    if (!first) b.push_back(time(theirs));
    a.push_back(time(ours));
    if (first) b.push_back(time(theirs));
    ratios.push_back(a.back() / b.back());
  }
  return {median(a), median(b), median(ratios)};
}

} // namespace bench

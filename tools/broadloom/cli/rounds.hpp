// Times of several ways in alternating rounds: A B C, A B C, ..
//
// A machine changes its speed while one measures: another program runs, a clock falls. Only times
// of the same round can be held against each other, and what counts is the median of their ratios.
//
//   kernel  100  100  300  100      the second half was shared with another program:
//   roof     50   50  150   50      the median of roof / kernel is 0.5 all the same
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace broadloom::cli {

// What most values are: the 10th, the 50th and the 90th percentile.
struct Spread {
  double low = 0, median = 0, high = 0;
};
Spread spread_of(std::vector<double> values); // zeros where there are none

// The 90th percentile by the 10th. Above this something else must have run beside.
double unrest(const Spread &times);
inline constexpr double most_quiet = 1.5;

// a[k] / b[k] of each round.
Spread paired_ratio(const std::vector<double> &a, const std::vector<double> &b);

struct Rounds {
  std::vector<std::vector<double>> ns; // of one call: [way][round]
  std::vector<std::int64_t> calls;     // that were timed: [way]
};

// Runs the ways for about so many seconds, at least five rounds. Short calls are timed in batches,
// of which each counts as one time; what is no batch finds in the caches what its own last call has
// left there. What a way throws passes through.
Rounds alternate(const std::vector<std::function<void()>> &ways, double seconds);

} // namespace broadloom::cli

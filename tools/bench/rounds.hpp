// Several ways of doing one thing, timed in alternating rounds: A B C, B C A, C A B, ..
//
// Machines change their speed while one measures (memory bandwidth by a factor of two within
// minutes on shared ones), so only ratios within a round mean anything.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

struct Participant {
  std::string name;
  std::function<double(int repeat)> seconds; // of one call, measured over `repeat` of them
  bool once = false;                         // a call cannot be repeated within a measurement
};

struct Rounds {
  std::vector<std::vector<double>> seconds; // [participant][round]

  double median(std::size_t participant) const;
  double quantile(std::size_t participant, double part) const;
  // The median of a / b, round by round.
  double ratio(std::size_t a, std::size_t b) const;
};

struct RoundLimits {
  double seconds = 3; // for all rounds together
  int least = 5, most = 41;
};

// Each participant first runs unmeasured, to warm up and to find out how often its call must be
// repeated for a measurement of 0.3 ms. A long call also runs once unmeasured before each
// measurement. Exceptions of participants pass through.
Rounds alternate(const std::vector<Participant> &participants, const RoundLimits &limits);

} // namespace bench

// See rounds.hpp.
#include "tools/broadloom/cli/rounds.hpp"

#include <algorithm>
#include <chrono>

namespace broadloom::cli {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double run_batch(const std::function<void()> &way, std::int64_t batch) {
  const auto start = Clock::now();
  for (std::int64_t k = 0; k < batch; ++k) way();
  return since(start);
}

// So many calls that the clock, which takes some 30 ns itself, and a short pause do not matter.
std::int64_t batch_for(const std::function<void()> &way) {
  constexpr double shortest = 500e3; // ns
  std::int64_t batch = 1;
  run_batch(way, 1);
  while (run_batch(way, batch) < shortest && batch < (1 << 20)) batch *= 2;
  return batch;
}

} // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  // Between two values in proportion: of 1 and 2 the median is 1.5.
  const auto at = [&](double part) {
    const double position = part * double(values.size() - 1);
    const auto below = std::size_t(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (position - double(below)) * (values[above] - values[below]);
  };
  return {at(0.1), at(0.5), at(0.9)};
}

double unrest(const Spread &times) { return times.low > 0 ? times.high / times.low : 1; }

Spread paired_ratio(const std::vector<double> &a, const std::vector<double> &b) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(a.size(), b.size()); ++round)
    ratios.push_back(a[round] / b[round]);
  return spread_of(std::move(ratios));
}

Rounds alternate(const std::vector<std::function<void()>> &ways, double seconds) {
  constexpr std::size_t least_rounds = 5, most_rounds = 1000;
  constexpr double long_call = 50e6; // ns: beside it the caches are filled at once
  Rounds rounds;
  rounds.ns.resize(ways.size());
  rounds.calls.resize(ways.size());
  std::vector<std::int64_t> batches;
  for (const auto &way : ways) batches.push_back(batch_for(way));
  const auto begin = Clock::now();
  for (std::size_t round = 0; round < most_rounds; ++round) {
    if (round >= least_rounds && since(begin) > seconds * 1e9) break;
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const bool is_long = !rounds.ns[w].empty() && rounds.ns[w].back() > long_call;
      if (batches[w] < 4 && !is_long) ways[w]();
      rounds.ns[w].push_back(run_batch(ways[w], batches[w]) / double(batches[w]));
      rounds.calls[w] += batches[w];
    }
  }
  return rounds;
}

} // namespace broadloom::cli

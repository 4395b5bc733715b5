// See slope.hpp.
#include "grad/slope.hpp"

#include "support/check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace broadloom::grad {
namespace {

constexpr int steps = 7;
constexpr double first_step = 0x1p-6; // the last one is 2^-18
constexpr double ratio = 4;
constexpr double largest_error = 1e-6; // of what is smooth
constexpr double largest_gap = 1e-3;   // between the slope and the difference over the last step

struct Around { // the values at -h and at h, for each h
  std::array<double, steps> below, above;
};

Measured measured(double here, const Around &around) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr double unit = std::numeric_limits<double>::epsilon();
  Measured best{0, infinite, false};
  std::array<std::array<double, steps>, steps> table; // [order][step]
  double gap_before = 0, h = first_step;
  for (int k = 0; k < steps; ++k, h /= ratio) {
    const double up = around.above[std::size_t(k)], down = around.below[std::size_t(k)];
    table[0][std::size_t(k)] = (up - down) / (2 * h);
    // The gap is f''(0) h + O(h^3) where there is no corner.
    const double gap = ((up - here) - (here - down)) / h;
    const double corner = std::fabs(ratio * gap - gap_before) / (ratio - 1);
    gap_before = gap;
    if (k == 0) continue;
    const double noise = 4 * unit * std::max({std::fabs(up), std::fabs(down), std::fabs(here)}) / h;
    double power = 1;
    for (int order = 1; order <= k; ++order) {
      const auto o = std::size_t(order), s = std::size_t(k);
      power *= ratio * ratio;
      table[o][s] = (power * table[o - 1][s] - table[o - 1][s - 1]) / (power - 1);
      const double spread = std::max(std::fabs(table[o][s] - table[o - 1][s]),
                                     std::fabs(table[o][s] - table[o - 1][s - 1]));
      const double error = spread + corner / 2 + noise;
      if (error < best.error) best = {table[o][s], error, false}; // never of NaN
    }
  }
  const double scale = std::max(std::fabs(best.slope), std::fabs(here));
  // Stairs that are finer than the large steps are a slope for these only: floor(4096 t + 1000.5).
  const double closest = table[0][steps - 1];
  best.smooth = std::isfinite(here) && best.error <= largest_error * scale &&
                std::fabs(closest - best.slope) <= largest_gap * scale;
  return best;
}

} // namespace

std::vector<Measured> measure(const std::function<std::vector<double>(double)> &f) {
  const std::vector<double> here = f(0);
  std::vector<Around> around(here.size());
  double h = first_step;
  for (std::size_t k = 0; k < steps; ++k, h /= ratio) {
    const std::vector<double> below = f(-h), above = f(h);
    support::check(below.size() == here.size() && above.size() == here.size(), "one size");
    for (std::size_t e = 0; e < here.size(); ++e)
      around[e].below[k] = below[e], around[e].above[k] = above[e];
  }
  std::vector<Measured> result;
  for (std::size_t e = 0; e < here.size(); ++e) result.push_back(measured(here[e], around[e]));
  return result;
}

} // namespace broadloom::grad

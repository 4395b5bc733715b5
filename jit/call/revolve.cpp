// See revolve.hpp.
#include "jit/call/revolve.hpp"

#include <algorithm>

namespace broadloom::jit {
namespace {

// Each segment is computed so many times more at most.
constexpr std::int64_t most_times = 6;
constexpr std::int64_t many = std::int64_t(1) << 40; // more than a loop has steps

// How many segments go, where each is computed `times` more at most.
std::int64_t reach(std::int64_t places, std::int64_t times) {
  if (places < 0 || times < 0) return 0;
  std::int64_t product = 1;
  for (std::int64_t k = 1; k <= std::min(places, times); ++k) {
    product = product * (places + times - std::min(places, times) + k) / k;
    if (product > many) return many;
  }
  return product;
}

std::int64_t times_of(std::int64_t segments, std::int64_t places) {
  if (places == 1) return segments - 1;
  std::int64_t times = 0;
  while (reach(places, times) < segments) ++times;
  return times;
}

} // namespace

// Any number would do from which both parts reach as far as they must (2000, theorem 3.1).
std::int64_t saved_next(std::int64_t segments, std::int64_t places) {
  const std::int64_t times = times_of(segments, places);
  return std::min(reach(places, times - 1), segments - reach(places - 1, times - 1));
}

std::int64_t segments_again(std::int64_t segments, std::int64_t places) {
  const std::int64_t times = times_of(segments, places);
  return times * segments - reach(places + 1, times - 1);
}

Segments choose_segments(std::int64_t steps, const Costs &costs) {
  Segments best;
  double least = 0;
  for (std::int64_t times = 1; times <= most_times; ++times) {
    for (std::int64_t places = 1;; ++places) {
      if (best.steps > 0 && double(places) * costs.place >= least) break;
      const std::int64_t segments = reach(places, times);
      const Segments now{std::max<std::int64_t>(1, (steps + segments - 1) / segments), places};
      const double bytes = double(now.steps) * costs.step + double(places) * costs.place;
      if (best.steps == 0 || bytes < least) {
        best = now;
        least = bytes;
      }
      if (now.steps == 1) break;
    }
    if (least <= costs.most) break;
  }
  return best;
}

} // namespace broadloom::jit

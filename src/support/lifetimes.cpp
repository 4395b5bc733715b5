// See lifetimes.hpp.
#include "support/lifetimes.hpp"

#include <broadloom/error.hpp>

#include <algorithm>

namespace broadloom::support {
namespace {

bool live_at_once(const Lifetime &a, const Lifetime &b) {
  return a.made <= b.last_read && b.made <= a.last_read;
}

std::int64_t end_of(std::int64_t start, std::int64_t bytes) {
  std::int64_t end = 0;
  if (__builtin_add_overflow(start, bytes, &end) || __builtin_add_overflow(end, 63, &end))
    throw DataError("E0305", "the arrays of the lets leave the range of i64", {},
                    "pass smaller arrays");
  return end / 64 * 64;
}

} // namespace

Places places_of(std::span<const Lifetime> arrays) {
  Places places;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    struct Taken {
      std::int64_t start, end;
    };
    std::vector<Taken> taken;
    for (std::size_t other = 0; other < k; ++other)
      if (live_at_once(arrays[other], arrays[k]))
        taken.push_back({places.starts[other], end_of(places.starts[other], arrays[other].bytes)});
    std::ranges::sort(taken, {}, &Taken::start);
    std::int64_t start = 0;
    for (const Taken &range : taken) {
      if (end_of(start, arrays[k].bytes) <= range.start) break;
      start = std::max(start, range.end);
    }
    places.starts.push_back(start);
    places.bytes = std::max(places.bytes, end_of(start, arrays[k].bytes));
  }
  return places;
}

} // namespace broadloom::support

// Arrays that share memory: those that never live at once may lie at one place.
//
//   a: made in step 0, last read in step 1      0 .. 100
//   b: made in step 1, last read in step 2    100 .. 200
//   c: made in step 2, last read in step 3      0 .. 100      where a was
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace broadloom::support {

struct Lifetime {
  std::int64_t bytes = 0;
  std::size_t made = 0, last_read = 0; // steps, both included
};

struct Places {
  std::vector<std::int64_t> starts; // [array] in bytes, multiples of 64
  std::int64_t bytes = 0;           // of all together
};

// Each at the lowest place that is free while it lives, in the order given. Throws DataError E0305
// beyond i64.
Places places_of(std::span<const Lifetime> arrays);

} // namespace broadloom::support

// Which states of a loop are kept while it is computed again back to front. Griewank's schedule
// needs the fewest steps for so many places (Griewank and Walther, "Algorithm 799: revolve", 2000).
// All rows of a segment, which is a number of steps, are there at once.
//
//   10 segments, 3 places     the way there saves what segments 0, 4 and 7 begin with, and
//                             segment 9 is there then. 8 is computed from 7, and 7; 5 has the
//                             place of 7 when 6 is computed from 4.
//
// No segment is computed more than `times` times more, the least number for which there are no more
// segments than binomial(places + times, places).
#pragma once

#include <cstdint>

namespace broadloom::jit {

// Which segment is saved next, counted from the first of so many: that one begins with what lies in
// one of the places. The last need not be saved.
std::int64_t saved_next(std::int64_t segments, std::int64_t places);

// How many segments are computed again, until all were there once.
std::int64_t segments_again(std::int64_t segments, std::int64_t places);

struct Segments {
  std::int64_t steps = 0;  // of each; 0: nothing is computed again
  std::int64_t places = 0; // for what they begin with
  // Of a loop of so many steps.
  std::int64_t count(std::int64_t all) const { return (all + steps - 1) / steps; }
};

// In bytes: of the rows of a step, of what a segment begins with, and the most that there may be.
struct Costs {
  double step = 0, place = 0, most = 0;
};

// Those that are computed least often within `most`, and of these the ones that take least memory.
// If none fits, those that take least of all.
Segments choose_segments(std::int64_t steps, const Costs &costs);

} // namespace broadloom::jit

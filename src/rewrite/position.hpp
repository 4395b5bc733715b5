// Positions as affine forms of axes and of extents, over a divisor: what transpose_windows
// calculates with.
//
//   p = 2*i + u - n      solved for i:      i = (p - u + n) / 2
//
// Every number is exact; one that leaves i64 is an error (ShapeError E0142).
#pragma once

#include "spec/spec.hpp"

#include <map>

namespace broadloom::rewrite {

struct Position {
  // An extent: (input, dim).
  using Dim = std::pair<std::uint32_t, int>;

  std::int64_t constant = 0;
  std::map<int, std::int64_t> axes; // multiples, none of them 0
  std::map<Dim, std::int64_t> counts;
  std::int64_t divisor = 1; // of all of it; above 0

  static Position of_axis(int axis) {
    Position position;
    position.axes[axis] = 1;
    return position;
  }
  // The axis that this is, or -1.
  int axis() const {
    const bool alone = constant == 0 && counts.empty() && divisor == 1 && axes.size() == 1;
    return alone && axes.begin()->second == 1 ? axes.begin()->first : -1;
  }
  std::int64_t times(int axis) const {
    const auto found = axes.find(axis);
    return found == axes.end() ? 0 : found->second;
  }
};

Position position_of(const spec::TypedWindow &window, std::size_t dim);

// The arithmetic, with a place for its errors.
class Positions {
public:
  explicit Positions(Place where) : where_(std::move(where)) {}

  Position sum(const Position &a, const Position &b, std::int64_t times) const; // a + times * b
  Position over(Position a, std::int64_t number) const;                         // a / number
  // With these in place of axes. `by` gives a Position or null.
  template <class By> Position substitute(const Position &a, By by) const {
    Position made;
    made.constant = a.constant;
    made.counts = a.counts;
    for (const auto &[axis, times] : a.axes) {
      const Position *instead = by(axis);
      made = sum(made, instead ? *instead : Position::of_axis(axis), times);
    }
    return over(made, a.divisor);
  }
  // The axis at which `a` is the position p: (p - the rest of a) / its multiple.
  Position solve(const Position &a, int axis, const Position &p) const;

private:
  std::int64_t product(std::int64_t a, std::int64_t b) const;
  std::int64_t sum(std::int64_t a, std::int64_t b) const;
  Position reduced(Position a) const;

  Place where_;
};

} // namespace broadloom::rewrite

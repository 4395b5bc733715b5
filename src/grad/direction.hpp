// Inside the gradient check: random directions in which an input moves.
//
//   x = {2, 0, -8}      v = {1.6, -3.5, 5}      x moves to x + t v
//
// Each number moves by as much as it is large, so that data of mixed magnitude is moved by as much
// as it can bear.
#pragma once

#include <broadloom/array.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace broadloom::grad {

// The same numbers with every standard library.
class Draw {
public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  // 0.5 to 1, and minus that.
  double weight() {
    const double size = 0.5 + double(engine_() >> 11) * 0x1p-54;
    return engine_() >> 63 ? size : -size;
  }
  std::size_t below(std::size_t n) { return std::size_t(engine_() % n); }

private:
  std::mt19937_64 engine_;
};

// The real numbers of an f64 or c128 array, by which each of them moves.
using Direction = std::vector<double>;

// How far each may move: as much as the element is large; a zero, as the others are on average;
// what is not finite, not at all.
Direction scales(const Array &array);

// A copy at x + t v.
Array moved(const Array &array, const Direction &direction, double t);

} // namespace broadloom::grad

// See position.hpp.
#include "rewrite/position.hpp"

#include "support/fail.hpp"

#include <numeric>

namespace broadloom::rewrite {

Position position_of(const spec::TypedWindow &window, std::size_t dim) {
  const spec::TypedWindow::Form &form = window.forms[dim];
  Position position;
  position.constant = form.start;
  for (const spec::TypedWindow::Term &term : form.terms) position.axes[term.axis] = term.times;
  for (const spec::TypedWindow::Count &count : form.counts)
    position.counts[{count.input, count.dim}] += count.times;
  if (form.from_end) {
    position.counts[{window.of, int(dim)}] += 1;
    position.constant += window.padded(int(dim), 0);
  }
  position.divisor = form.divisor;
  return position;
}

std::int64_t Positions::product(std::int64_t a, std::int64_t b) const {
  std::int64_t result = 0;
  // The least number has no positive counterpart, which a sign may ask for.
  if (__builtin_mul_overflow(a, b, &result) || result == INT64_MIN)
    support::fail("E0142", "the numbers of these positions leave the range of i64", where_,
                  "use smaller numbers");
  return result;
}

std::int64_t Positions::sum(std::int64_t a, std::int64_t b) const {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result) || result == INT64_MIN)
    support::fail("E0142", "the numbers of these positions leave the range of i64", where_,
                  "use smaller numbers");
  return result;
}

Position Positions::reduced(Position a) const {
  std::erase_if(a.axes, [](const auto &term) { return term.second == 0; });
  std::erase_if(a.counts, [](const auto &term) { return term.second == 0; });
  std::int64_t common = std::gcd(a.divisor, a.constant);
  for (const auto &[axis, times] : a.axes) common = std::gcd(common, times);
  for (const auto &[dim, times] : a.counts) common = std::gcd(common, times);
  if (a.divisor < 0) common = -common; // gcd is not negative, and the divisor is not 0
  a.constant /= common;
  for (auto &[axis, times] : a.axes) times /= common;
  for (auto &[dim, times] : a.counts) times /= common;
  a.divisor /= common;
  return a;
}

Position Positions::sum(const Position &a, const Position &b, std::int64_t times) const {
  const std::int64_t common = std::gcd(a.divisor, b.divisor);
  const std::int64_t of_a = b.divisor / common, of_b = product(a.divisor / common, times);
  Position made;
  made.divisor = product(a.divisor, of_a);
  made.constant = sum(product(a.constant, of_a), product(b.constant, of_b));
  for (const auto &[axis, n] : a.axes) made.axes[axis] = product(n, of_a);
  for (const auto &[axis, n] : b.axes) made.axes[axis] = sum(made.axes[axis], product(n, of_b));
  for (const auto &[dim, n] : a.counts) made.counts[dim] = product(n, of_a);
  for (const auto &[dim, n] : b.counts) made.counts[dim] = sum(made.counts[dim], product(n, of_b));
  return reduced(std::move(made));
}

Position Positions::over(Position a, std::int64_t number) const {
  a.divisor = product(a.divisor, number);
  return reduced(std::move(a));
}

Position Positions::solve(const Position &a, int axis, const Position &p) const {
  Position rest = a;
  rest.axes.erase(axis);
  // p = (rest + times * axis) / divisor
  Position scaled;
  scaled = sum(scaled, p, a.divisor);
  rest.divisor = 1;
  return over(sum(scaled, rest, -1), a.times(axis));
}

} // namespace broadloom::rewrite

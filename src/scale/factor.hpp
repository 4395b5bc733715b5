// Inside the stage that moves scales: factors, as products of powers of constants.
//
//   gamma / sqrt(var + 1e-5)        gamma^1 r^-1, r the value of the root
//   prod(x * s, j)                  s^extent(j)
//
// Exponents are counted in halves, as a square root halves them. They may go by the number of
// elements of a product, which a call says.
#pragma once

#include "scale/values.hpp"

#include <map>
#include <optional>

namespace broadloom::scale {

class Factor {
public:
  static constexpr Id once = Id(-1);
  struct Base {
    Id constant = 0;
    Id counted = once; // to the power of the number of elements that this reduction folds
    friend auto operator<=>(const Base &, const Base &) = default;
    // What the power has: the type of the constant, or of a number that of the product.
    DType dtype(const Values &values) const;
  };
  using Halves = std::map<Base, int>;

  Factor() = default; // 1
  explicit Factor(Id constant, int power = 1) { halves_[{constant}] = 2 * power; }

  bool is_one() const { return halves_.empty(); }
  const Halves &halves() const { return halves_; }

  Factor &operator*=(const Factor &other);
  Factor inverse() const { return *to_power(-1); }
  std::optional<Factor> to_power(std::int64_t n) const; // none where that is beyond all use
  std::optional<Factor> to_count(Id reduction) const;   // none where it has such a power already
  std::optional<Factor> root() const;                   // none where it would be a fourth root
  friend bool operator==(const Factor &, const Factor &) = default;

  AxisSet axes(const Values &values) const;
  bool is_counted() const; // has a power that goes by a number of elements
  bool is_finite(const Values &values) const;
  bool is_not_zero(const Values &values) const; // and finite
  bool is_positive(const Values &values) const; // and finite
  bool is_negative(const Values &values) const; // below 0 and finite
  // Does a value of this type keep its type beside it?
  bool fits(const Values &values, DType dtype) const;
  std::string name(const Values &values) const;

private:
  // +1 or -1 where all elements have that sign; else 0.
  int sign(const Values &values) const;

  Halves halves_;
};

} // namespace broadloom::scale

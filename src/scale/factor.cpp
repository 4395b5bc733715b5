// See factor.hpp.
#include "scale/factor.hpp"

#include <algorithm>
#include <cstdlib>

namespace broadloom::scale {

namespace {
constexpr int greatest = 1 << 16; // of exponents
}

Factor &Factor::operator*=(const Factor &other) {
  for (const auto &[base, halves] : other.halves_)
    if ((halves_[base] += halves) == 0) halves_.erase(base);
  return *this;
}

std::optional<Factor> Factor::to_power(std::int64_t n) const {
  if (n == 0 || n > greatest || n < -greatest) return {};
  Factor made;
  for (const auto &[base, halves] : halves_) {
    if (std::abs(halves * n) > greatest) return {};
    made.halves_[base] = int(halves * n);
  }
  return made;
}

std::optional<Factor> Factor::to_count(Id reduction) const {
  Factor made;
  for (const auto &[base, halves] : halves_) {
    if (base.counted != once) return {};
    made.halves_[{base.constant, reduction}] = halves;
  }
  return made;
}

DType Factor::Base::dtype(const Values &values) const {
  const Value &value = values[constant];
  return value.weak && counted != once ? values[counted].dtype : value.dtype;
}

std::optional<Factor> Factor::root() const {
  Factor made;
  for (const auto &[base, halves] : halves_) {
    if (halves % 2 != 0) return {};
    made.halves_[base] = halves / 2;
  }
  return made;
}

AxisSet Factor::axes(const Values &values) const {
  AxisSet axes;
  for (const auto &[base, halves] : halves_) axes = axes | values[base.constant].axes;
  return axes;
}

bool Factor::is_counted() const {
  return std::ranges::any_of(halves_,
                             [](const auto &power) { return power.first.counted != once; });
}

bool Factor::is_finite(const Values &values) const {
  for (const auto &[base, halves] : halves_) {
    const Known &known = values[base.constant].known;
    if (!known.finite || (halves < 0 && !known.not_zero()) ||
        (halves % 2 != 0 && !known.not_negative()))
      return false;
  }
  return true;
}

bool Factor::is_not_zero(const Values &values) const {
  for (const auto &[base, halves] : halves_)
    if (!values[base.constant].known.not_zero()) return false;
  return is_finite(values);
}

bool Factor::is_positive(const Values &values) const { return sign(values) > 0; }
bool Factor::is_negative(const Values &values) const { return sign(values) < 0; }

int Factor::sign(const Values &values) const {
  int negative = 0;
  for (const auto &[base, halves] : halves_) {
    const Known &known = values[base.constant].known;
    if (known.above_zero() || (halves % 4 == 0 && known.not_zero())) continue;
    if (!known.below_zero() || base.counted != once) return 0;
    ++negative;
  }
  return !is_finite(values) ? 0 : negative % 2 == 0 ? 1 : -1;
}

bool Factor::fits(const Values &values, DType dtype) const {
  for (const auto &[base, halves] : halves_)
    if ((!values[base.constant].weak || base.counted != once) &&
        promote(base.dtype(values), dtype) != dtype)
      return false;
  return true;
}

std::string Factor::name(const Values &values) const {
  std::string text;
  Id last = once;
  for (const auto &[base, halves] : halves_) {
    if (base.constant != last) text += (text.empty() ? "" : ", ") + values.name_of(base.constant);
    last = base.constant;
  }
  return text;
}

} // namespace broadloom::scale

// The remainder of a division that is cut towards zero, exact: for threads of a GPU, which have no
// libm. Processors call that of the system (libm.hpp), with the same bits, as there is one right
// answer.
//
// Method: the dividend's significand is shifted left a place at a time, down to the divisor's
// exponent, and the divisor's taken off wherever it fits: at most 2,100 steps of a double.
// Example: fmod_by_shifts(7.0, 4.0) is 3, fmod_by_shifts(-7.0, 4.0) is -3.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace broadloom::math {

template <class T> inline T fmod_by_shifts(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int places = std::numeric_limits<T>::digits - 1, width = 8 * sizeof(T);
  constexpr Bits sign_bit = Bits(1) << (width - 1), implicit = Bits(1) << places;
  constexpr int special = (1 << (width - 1 - places)) - 1; // the exponent of infinities and NaN
  const Bits sign = std::bit_cast<Bits>(x) & sign_bit;
  Bits a = std::bit_cast<Bits>(x) & ~sign_bit, b = std::bit_cast<Bits>(y) & ~sign_bit;
  int of_a = int(a >> places), of_b = int(b >> places);
  if (b == 0 || of_a == special || b > (Bits(special) << places))
    return std::numeric_limits<T>::quiet_NaN();
  if (a < b) return x;
  const auto normalise = [](Bits &bits, int &exponent) {
    bits &= implicit - 1;
    if (exponent > 0) {
      bits |= implicit;
      return;
    }
    for (exponent = 1; (bits & implicit) == 0; --exponent) bits <<= 1;
  };
  normalise(a, of_a);
  normalise(b, of_b);
  for (; of_a > of_b; --of_a) {
    if (a >= b) a -= b;
    a <<= 1;
  }
  if (a >= b) a -= b;
  if (a == 0) return std::bit_cast<T>(sign);
  for (; (a & implicit) == 0; --of_a) a <<= 1;
  a = of_a > 0 ? (a & ~implicit) | Bits(of_a) << places : a >> (1 - of_a);
  return std::bit_cast<T>(Bits(sign | a));
}

} // namespace broadloom::math

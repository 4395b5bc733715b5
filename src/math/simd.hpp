// Values of one or several lanes under one set of operations.
//
// Problem: a math function is written once and must run as a scalar (the interpreter, constant
// folding, g++) and as vectors of any width (the native kernels, clang), with equal bits.
// Method: Vec<T, N> is T itself for one lane and a clang vector for more; both know + - * / and the
// comparisons, and the functions here add what is missing. Only correctly rounded operations are
// offered, and nothing that a compiler may contract or reorder, so every width and every
// instruction set gives the same bits (but for the sign and payload of a NaN, which compilers do
// not keep). Compile with -ffp-contract=off.
// Example:
//   template <class D> D hypotenuse_squared(D x, D y) { return fma(x, x, y * y); }
//   hypotenuse_squared<double>(3, 4);              // one lane
//   hypotenuse_squared<Vec<double, 8>>(xs, ys);    // eight
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace broadloom::math {

template <class T, int N> struct VecOf;
template <class T> struct VecOf<T, 1> {
  using type = T;
};
#if defined(__clang__)
template <class T, int N>
  requires(N > 1)
struct VecOf<T, N> {
  typedef T type __attribute__((ext_vector_type(N)));
};
#endif
// N lanes of T.
template <class T, int N> using Vec = typename VecOf<T, N>::type;

template <class V> struct LanesOf {
  static constexpr int count = sizeof(V) / sizeof(std::declval<V>()[0]);
};
template <> struct LanesOf<double> {
  static constexpr int count = 1;
};
template <> struct LanesOf<float> {
  static constexpr int count = 1;
};
template <class V> inline constexpr int lanes_of = LanesOf<V>::count;

template <class V> struct ElementOf {
  using type = std::remove_cvref_t<decltype(std::declval<V>()[0])>;
};
template <> struct ElementOf<double> {
  using type = double;
};
template <> struct ElementOf<float> {
  using type = float;
};
template <class V> using Element = typename ElementOf<V>::type;

// The unsigned integers with the bits of D: double, float or a vector of them.
template <class D>
using Word = std::conditional_t<sizeof(Element<D>) == 8, std::uint64_t, std::uint32_t>;
template <class D> using Bits = Vec<Word<D>, lanes_of<D>>;
// Keeps an argument out of deduction: fma(x, 2.0, y) takes its type from x.
template <class V> using Same = std::type_identity_t<V>;

template <class D> inline constexpr Word<D> sign_bit_of = Word<D>{1} << (8 * sizeof(Word<D>) - 1);
inline constexpr std::uint64_t sign_bit = sign_bit_of<double>;

template <class D> inline Bits<D> to_bits(D x) { return std::bit_cast<Bits<D>>(x); }
template <class D> inline D from_bits(Same<Bits<D>> b) { return std::bit_cast<D>(b); }

template <class D> inline D fma(D a, Same<D> b, Same<D> c) {
  if constexpr (lanes_of<D> == 1) {
    if constexpr (sizeof(D) == 4)
      return __builtin_fmaf(a, b, c);
    else
      return __builtin_fma(a, b, c);
  } else {
#if defined(__clang__)
    return __builtin_elementwise_fma(a, b, c);
#endif
  }
}

// To an integer, ties to even.
template <class D> inline D rint(D x) {
  if constexpr (lanes_of<D> == 1) {
    if constexpr (sizeof(D) == 4)
      return __builtin_rintf(x);
    else
      return __builtin_rint(x);
  } else {
#if defined(__clang__)
    return __builtin_elementwise_rint(x);
#endif
  }
}

template <class D> inline D sqrt(D x) {
  if constexpr (lanes_of<D> == 1) {
    if constexpr (sizeof(D) == 4)
      return __builtin_sqrtf(x);
    else
      return __builtin_sqrt(x);
  } else {
#if defined(__clang__)
    return __builtin_elementwise_sqrt(x);
#endif
  }
}

// condition ? a : b in each lane. Both are computed.
template <class D, class Mask> inline D select(Mask condition, D a, Same<D> b) {
  return condition ? a : b;
}

template <class D, class Mask> inline bool any(Mask condition) {
  if constexpr (lanes_of<D> == 1) {
    return condition;
  } else {
#if defined(__clang__)
    return __builtin_reduce_or(condition) != 0;
#endif
  }
}

template <class D> inline D abs(D x) { return from_bits<D>(to_bits(x) & ~sign_bit_of<D>); }
template <class D> inline Bits<D> sign_of(D x) { return to_bits(x) & sign_bit_of<D>; }
// Flips the sign of x where `sign` has the sign bit; the other bits of `sign` must be zero.
template <class D> inline D flip_sign(D x, Same<Bits<D>> sign) {
  return from_bits<D>(to_bits(x) ^ sign);
}

// An arithmetic shift: the sign bit moves in from the left.
template <class D> inline Bits<D> shift_right_signed(Same<Bits<D>> n, int count) {
  if constexpr (sizeof(Element<D>) == 4)
    return std::bit_cast<Bits<D>>(std::bit_cast<Vec<std::int32_t, lanes_of<D>>>(n) >> count);
  else
    return std::bit_cast<Bits<D>>(std::bit_cast<Vec<std::int64_t, lanes_of<D>>>(n) >> count);
}

// An integer below 2^52 as a double, without the conversion instruction that AVX2 lacks.
template <class D> inline D small_to_double(Same<Bits<D>> n) {
  return from_bits<D>(n | to_bits(0x1p52)) - 0x1p52;
}

template <int N> inline Vec<double, N> widen(Vec<float, N> x) {
  if constexpr (N == 1) {
    return x;
  } else {
#if defined(__clang__)
    return __builtin_convertvector(x, Vec<double, N>);
#endif
  }
}

template <int N> inline Vec<float, N> narrow(Vec<double, N> x) {
  if constexpr (N == 1) {
    return static_cast<float>(x);
  } else {
#if defined(__clang__)
    return __builtin_convertvector(x, Vec<float, N>);
#endif
  }
}

template <class D> inline Element<D> lane(D x, int i) {
  if constexpr (lanes_of<D> == 1)
    return x;
  else
    return x[i];
}

template <class V, class S> inline void set_lane(V &x, int i, S value) {
  if constexpr (std::is_same_v<V, S>)
    x = value;
  else
    x[i] = value;
}

// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule, unrolled so that the coefficients are constants.
template <const auto &Coefficients, class D> inline D polynomial(D x) {
  constexpr std::size_t count = std::size(Coefficients);
  return [x]<std::size_t... I>(std::index_sequence<I...>) {
    D sum = D(Coefficients[count - 1]);
    ((sum = fma(sum, x, D(Coefficients[count - 2 - I]))), ...);
    return sum;
  }(std::make_index_sequence<count - 1>());
}

// ---- Pairs: an unevaluated sum of two, about 106 bits of double
// -----------------------------------

template <class D> struct Pair {
  D high;
  D low;
};

// a + b exactly, for |a| >= |b| or a == 0.
template <class D> inline Pair<D> fast_two_sum(D a, Same<D> b) {
  const D sum = a + b;
  return {sum, b - (sum - a)};
}

// a + b exactly, for any order of magnitude.
template <class D> inline Pair<D> two_sum(D a, Same<D> b) {
  const D sum = a + b;
  const D from_b = sum - a;
  return {sum, (a - (sum - from_b)) + (b - from_b)};
}

// a * b exactly.
template <class D> inline Pair<D> two_product(D a, Same<D> b) {
  const D product = a * b;
  return {product, fma(a, b, -product)};
}

// The product of two pairs, relative error about 2^-103. The low part is left at up to two ulps of
// the high one: enough for further products and sums, and three operations less.
template <class D> inline Pair<D> multiply(Pair<D> a, Pair<D> b) {
  const Pair<D> p = two_product(a.high, b.high);
  return {p.high, fma(a.high, b.low, fma(a.low, b.high, p.low))};
}

// The sum of two pairs for |a| >= |b| or a == 0, the low part left as by multiply.
template <class D> inline Pair<D> add(Pair<D> a, Pair<D> b) {
  const Pair<D> sum = fast_two_sum(a.high, b.high);
  return {sum.high, sum.low + (a.low + b.low)};
}

} // namespace broadloom::math

// Complex arithmetic as fixed sequences of real operations, each written once for all engines.
//
// Problem: the interpreter, the reference and native code must give the same bits, and C++'s own
// complex functions are not ours to fix.
// Method: templates over R, "a real number": a double in evaluate_complex.cpp, a vector of lanes in
// jit/emit/lanes_complex.cpp. R has + - * / and comparisons, whose answers (`auto`) have && || !,
// and
//   apply(op, x), apply(op, x, y)   an operation of the table
//   fused(x, y, z)                  x y + z, rounded once
//   choose(c, x, y)                 c ? x : y, in each lane
//   number(x, 0.5)                  a constant of the type of x
// Example: multiply({a, b}, {c, d}) is {a c - b d, a d + b c}, each operation rounded, in this
// order.
//
// c64 adds, multiplies and divides in f32, as NumPy does; its functions (is_function) are computed
// in f64 and rounded at the end. Infinities and zeros follow C's Annex G, except in products and
// quotients, where NumPy has plain formulas. No branches: both sides of a `choose` are computed.
#pragma once

#include "ops/ops.hpp"
#include "support/check.hpp"

#include <limits>
#include <string>
#include <vector>

namespace broadloom::ops::complex {

template <class R> struct Number {
  R re, im;
};

// Of c64 computed in f64.
constexpr bool is_function(Op op) {
  return op == Op::Sqrt || op == Op::Exp || op == Op::Log || op == Op::Sin || op == Op::Cos ||
         op == Op::Tanh || op == Op::Pow;
}

// The operations on real numbers that one on complex numbers is made of.
std::vector<Op> made_of(Op op);

inline constexpr double infinity = std::numeric_limits<double>::infinity();

template <class R> R magnitude(R x) { return apply(Op::Abs, x); }
template <class R> auto is_infinite(R x) { return apply(Op::Abs, x) == number(x, infinity); }
template <class R> auto is_finite(R x) { return apply(Op::Abs, x) < number(x, infinity); }
template <class R> auto is_zero(Number<R> z) {
  return z.re == number(z.re, 0) && z.im == number(z.re, 0);
}
template <class T, class R> Number<R> choose(T c, Number<R> x, Number<R> y) {
  return {choose(c, x.re, y.re), choose(c, x.im, y.im)};
}

template <class R> Number<R> multiply(Number<R> x, Number<R> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

// Smith's method: everything over the greater part of the divisor. By zero, part by part.
template <class R> Number<R> divide(Number<R> x, Number<R> y) {
  const auto flat = magnitude(y.re) >= magnitude(y.im);
  const R great = choose(flat, y.re, y.im), less = choose(flat, y.im, y.re);
  const R ratio = less / great;
  const R scale = number(ratio, 1) / (great + less * ratio);
  const Number<R> if_flat{(x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale};
  const Number<R> if_steep{(x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale};
  const R zero = magnitude(y.re);
  return choose(is_zero(y), Number<R>{x.re / zero, x.im / zero}, choose(flat, if_flat, if_steep));
}

// z / |z|; 0 for 0, and along the axis where one part is infinite.
template <class R> Number<R> sign(Number<R> z) {
  const R zero = number(z.re, 0), size = apply(Op::Hypot, z.re, z.im);
  const auto wide = is_infinite(z.re), high = is_infinite(z.im);
  const auto axis = (wide && !high) || (high && !wide);
  const Number<R> along{choose(wide, apply(Op::Sign, z.re), zero),
                        choose(high, apply(Op::Sign, z.im), zero)};
  const Number<R> ratio{z.re / size, z.im / size};
  return choose(is_zero(z), Number<R>{zero, zero}, choose(axis, along, ratio));
}

// e^re (cos im + i sin im). Beyond 709 e^re is out of range where the product may not be: there
// e^128 is multiplied last.
template <class R> Number<R> exp(Number<R> z) {
  const R zero = number(z.re, 0), one = number(z.re, 1);
  const auto far = z.re > number(z.re, 709);
  const R size = apply(Op::Exp, z.re - choose(far, number(z.re, 128), zero));
  const R scale = choose(far, number(z.re, 0x1.95e54c5dd4217p+184), one); // e^128
  const R re = size * apply(Op::Cos, z.im) * scale, im = size * apply(Op::Sin, z.im) * scale;
  const auto astray = !is_finite(z.im);
  const auto vanishes = z.re == number(z.re, -infinity) && astray;
  const auto explodes = z.re == number(z.re, infinity) && astray;
  return {choose(vanishes, zero, choose(explodes, z.re, re)),
          choose(vanishes, apply(Op::CopySign, zero, z.im), choose(z.im == zero, z.im, im))};
}

// An unevaluated sum of two numbers.
template <class R> struct Pair {
  R high, low;
};
template <class R> Pair<R> two_sum(R a, R b) {
  const R sum = a + b, from_b = sum - a;
  return {sum, (a - (sum - from_b)) + (b - from_b)};
}

// a^2 + b^2 - 1 to twice the digits, whatever cancels.
template <class R> Pair<R> square_beyond_one(R a, R b) {
  const R a2 = a * a, b2 = b * b;
  const R low = fused(a, a, -a2) + fused(b, b, -b2);
  const Pair<R> first = two_sum(a2, number(a, -1)), second = two_sum(first.high, b2);
  return two_sum(second.high, second.low + (first.low + low));
}

// log |z| + i atan2(im, re). Near |z| = 1 by way of |z|^2 - 1; huge parts are made smaller, so that
// |z| stays in range.
template <class R> Number<R> log(Number<R> z) {
  const R a = magnitude(z.re), b = magnitude(z.im), one = number(a, 1);
  const R great = choose(a < b, b, a), less = choose(a < b, a, b);
  const auto huge = great > number(a, 0x1p1021);
  const R scale = choose(huge, number(a, 0.25), one);
  const R size = apply(Op::Hypot, z.re * scale, z.im * scale);
  const R plain = apply(Op::Log, size) + choose(huge, number(a, 0x1.62e42fefa39efp0), number(a, 0));
  const Pair<R> beyond = square_beyond_one(great, less);
  const R close =
      number(a, 0.5) * (apply(Op::Log1p, beyond.high) + beyond.low / (one + beyond.high));
  const auto near = !huge && size > number(a, 0.5) && size < number(a, 2);
  return {choose(near, close, plain), apply(Op::Atan2, z.im, z.re)};
}

// With t = sqrt((|re| + |z|) / 2): t + i im / 2t to the right, |im| / 2t +- i t to the left of the
// imaginary axis. Huge and tiny parts are scaled by a power of four.
template <class R> Number<R> sqrt(Number<R> z) {
  const R zero = number(z.re, 0), a = magnitude(z.re), b = magnitude(z.im);
  const R great = choose(a < b, b, a);
  const auto huge = great > number(a, 0x1p1020), tiny = great < number(a, 0x1p-1000);
  const R down = choose(huge, number(a, 0x1p-4), choose(tiny, number(a, 0x1p104), number(a, 1)));
  const R up = choose(huge, number(a, 0x1p2), choose(tiny, number(a, 0x1p-52), number(a, 1)));
  const R x = z.re * down, y = z.im * down;
  const R t = apply(Op::Sqrt, number(a, 0.5) * (magnitude(x) + apply(Op::Hypot, x, y)));
  const R other = y / (t + t);
  const auto right = x >= zero;
  const Number<R> root{choose(right, t, magnitude(other)) * up,
                       choose(right, other, apply(Op::CopySign, t, y)) * up};
  const Number<R> at_zero{zero, z.im}, high{number(a, infinity), z.im};
  return choose(is_zero(z), at_zero, choose(is_infinite(z.im), high, root));
}

// A product in which a zero of `x` wins over infinity and NaN of `y`.
template <class R> R zero_wins(R x, R y) {
  const R zero = x * apply(Op::CopySign, number(x, 1), y);
  return choose(x == number(x, 0), zero, x * y);
}

// Of an infinite imaginary part without a direction, one part is infinite and the other NaN.
template <class R> Number<R> sin(Number<R> z) {
  const auto astray = is_infinite(z.im) && !is_finite(z.re);
  const R im = zero_wins(apply(Op::Sinh, z.im), apply(Op::Cos, z.re));
  return {zero_wins(apply(Op::Sin, z.re), apply(Op::Cosh, z.im)),
          choose(astray, number(z.re, infinity), im)};
}

template <class R> Number<R> cos(Number<R> z) {
  const R sine = apply(Op::Sin, z.re), steep = apply(Op::Sinh, z.im);
  const R im = choose(sine == number(sine, 0), zero_wins(sine, steep), zero_wins(steep, sine));
  const auto astray = is_infinite(z.im) && !is_finite(z.re);
  const R re = apply(Op::Cos, z.re) * apply(Op::Cosh, z.im);
  // Of these zeros C leaves the sign open: NumPy's.
  const R zero = number(z.re, 0);
  const auto right = z.re == zero && !(z.im == z.im), plus = z.im == zero && !is_finite(z.re);
  return {choose(astray, number(z.re, infinity), re), choose(right, z.re, choose(plus, zero, -im))};
}

// a b over a pair, with the rounding of the last step only.
template <class R> R exact_ratio(R a, R b, Pair<R> divisor) {
  const R product = a * b, quotient = product / divisor.high;
  const R rest =
      fused(-quotient, divisor.high, product) + (fused(a, b, -product) - quotient * divisor.low);
  return quotient + rest / divisor.high;
}

// (sinh re cosh re + i sin im cos im) / (sinh^2 re + cos^2 im), of which no term cancels. With
// sqrt(1 + sinh^2) for cosh the error of sinh cancels where tanh is next to 1. Far out, 1 and 4 sin
// im cos im e^-2|re|.
template <class R> Number<R> tanh(Number<R> z) {
  const R one = number(z.re, 1), zero = number(z.re, 0);
  const R sinh = apply(Op::Sinh, z.re), cos = apply(Op::Cos, z.im), sin = apply(Op::Sin, z.im);
  const R sinh2 = sinh * sinh, cos2 = cos * cos;
  Pair<R> divisor = two_sum(sinh2, cos2);
  divisor.low = divisor.low + (fused(sinh, sinh, -sinh2) + fused(cos, cos, -cos2));
  const Number<R> near{exact_ratio(sinh, apply(Op::Sqrt, one + sinh2), divisor),
                       exact_ratio(sin, cos, divisor)};
  const R size = magnitude(z.re);
  const R turn = sin * cos;
  const R faint = number(size, 4) * turn * apply(Op::Exp, number(size, -2) * size);
  const R sign = choose(is_finite(z.im), turn, z.im);
  const Number<R> far{apply(Op::CopySign, one, z.re),
                      choose(is_infinite(size), apply(Op::CopySign, zero, sign), faint)};
  const Number<R> with_zeros{choose(z.re == zero, z.re, near.re),
                             choose(z.im == zero, z.im, near.im)};
  return choose(size > number(size, 22), far, with_zeros);
}

// e^(y log x); 1 for y = 0; for x = 0, 0 where the real part of y is positive, else NaN: NumPy's.
template <class R> Number<R> power(Number<R> x, Number<R> y) {
  const R zero = number(x.re, 0), nan = number(x.re, std::numeric_limits<double>::quiet_NaN());
  const Number<R> general = exp(multiply(y, log(x)));
  const auto vanishes = y.re > zero;
  const Number<R> of_zero{choose(vanishes, zero, nan), choose(vanishes, zero, nan)};
  const Number<R> with_zero = choose(is_zero(x), of_zero, general);
  return choose(is_zero(y), Number<R>{number(zero, 1), zero}, with_zero);
}

// The operations whose value is complex; unary ones do not read y.
template <class R> Number<R> value(Op op, Number<R> x, Number<R> y) {
  switch (op) {
  case Op::Add: return {x.re + y.re, x.im + y.im};
  case Op::Sub: return {x.re - y.re, x.im - y.im};
  case Op::Mul: return multiply(x, y);
  case Op::Div: return divide(x, y);
  case Op::Pow: return power(x, y);
  case Op::Neg: return {-x.re, -x.im};
  case Op::Conj: return {x.re, -x.im};
  case Op::Sign: return sign(x);
  case Op::Sqrt: return sqrt(x);
  case Op::Exp: return exp(x);
  case Op::Log: return log(x);
  case Op::Sin: return sin(x);
  case Op::Cos: return cos(x);
  case Op::Tanh: return tanh(x);
  default: support::bug("no complex value of " + std::string(info(op).enumerator));
  }
}

// Those whose value is real.
template <class R> R part(Op op, Number<R> z) {
  switch (op) {
  case Op::Abs: return apply(Op::Hypot, z.re, z.im);
  case Op::Real: return z.re;
  case Op::Imag: return z.im;
  default: support::bug("no real value of " + std::string(info(op).enumerator));
  }
}

// Those whose value is a bool.
template <class R> auto truth(Op op, Number<R> x, Number<R> y) {
  switch (op) {
  case Op::Eq: return x.re == y.re && x.im == y.im;
  case Op::Ne: return !(x.re == y.re && x.im == y.im);
  case Op::IsNan: return !(x.re == x.re && x.im == x.im);
  case Op::IsInf: return is_infinite(x.re) || is_infinite(x.im);
  case Op::IsFinite: return is_finite(x.re) && is_finite(x.im);
  default: support::bug("no truth of " + std::string(info(op).enumerator));
  }
}

} // namespace broadloom::ops::complex

// The one definition of bl_log_near_one: log(e^x + e^y) where the sum is too near to 1 for pairs of
// doubles. Included by one file of each program that has logaddexp in machine code.
//
// Problem: e^x + e^y of two doubles comes as near to 1 as 2^-110 of 1 - e^x, and one ulp of the
// difference takes 165 bits of both.
// Method: fixed point of 192 digits. With x = -t, t = m 2^s and 1/2 <= m < 1, all is in units of
// 2^(s + 1):
//   1 - e^-t = 2^s m p(t) with p(t) = (1 - e^-t) / t = 1 - t/2! + t^2/3! - ..,
//   e^y = 2^(s + 1) (e^-h)^2 with h = ((s + 1) log 2 - y) / 2, which the nearness to 1 puts
//   between 0.34 and 0.87, and e^-h = 1 - h p(h).
// Example: x = -log 2 rounded down and up: 1.7e-17 of sums of which 54 bits are those of 1.
#pragma once

#include "math/functions/activation.hpp"

#include <bit>
#include <cstdint>
#include <iterator>

namespace broadloom::math::lanes {

// word[0] 2^-64 + word[1] 2^-128 + word[2] 2^-192, modulo 1.
struct Fraction {
  std::uint64_t word[3];
};
__extension__ typedef unsigned __int128 TwoWords;

static Fraction operator-(const Fraction &a, const Fraction &b) {
  Fraction result;
  std::uint64_t borrow = 0;
  for (int i = 2; i >= 0; --i) {
    const TwoWords difference = TwoWords{a.word[i]} - b.word[i] - borrow;
    result.word[i] = static_cast<std::uint64_t>(difference);
    borrow = static_cast<std::uint64_t>(difference >> 64) & 1;
  }
  return result;
}

// Cut off, which is 2^-192 too little at most.
static Fraction operator*(const Fraction &a, const Fraction &b) {
  std::uint64_t product[6] = {};
  for (int i = 2; i >= 0; --i) {
    std::uint64_t carry = 0;
    for (int j = 2; j >= 0; --j) {
      const TwoWords sum = TwoWords{a.word[i]} * b.word[j] + product[i + j + 1] + carry;
      product[i + j + 1] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    product[i] = carry;
  }
  return {{product[0], product[1], product[2]}};
}

// 1 - a, less 2^-192: a may be 0.
static Fraction one_less(const Fraction &a) { return {{~a.word[0], ~a.word[1], ~a.word[2]}}; }

// significand 2^-64, moved to the right.
static Fraction moved_right(std::uint64_t significand, int digits) {
  Fraction result{{0, 0, 0}};
  const int at = digits / 64, shift = digits % 64;
  if (at < 3) result.word[at] = significand >> shift;
  if (at < 2 && shift != 0) result.word[at + 1] = significand << (64 - shift);
  return result;
}

// (1 - e^-x) / x for 0 <= x <= 0.87, by Horner's rule.
static Fraction mean_decay(const Fraction &x) {
  constexpr int terms = int{std::size(inverse_factorial_bits)};
  const auto coefficient = [](int i) {
    const auto &c = inverse_factorial_bits[i];
    return Fraction{{c[0], c[1], c[2]}};
  };
  Fraction sum = coefficient(terms - 1);
  for (int i = terms - 2; i >= 0; --i) sum = coefficient(i) - x * sum;
  return one_less(x * sum);
}

// value = significand 2^(exponent - 64) with the first bit of the significand set, for value > 0.
struct Normalised {
  std::uint64_t significand;
  int exponent;
};
static Normalised normalised(double value) {
  const std::uint64_t bits = to_bits(value);
  const std::uint64_t fraction = bits & 0x000fffffffffffff;
  const int biased = static_cast<int>(bits >> 52);
  const std::uint64_t significand = biased == 0 ? fraction : fraction | 0x0010000000000000;
  const int shift = std::countl_zero(significand);
  return {significand << shift, (biased == 0 ? 1 : biased) - 1075 + 64 - shift};
}

// (y - count log 2) / 2 for 0 <= y < 1024 and |count| < 2^11, where that is between 0 and 1.
static Fraction half_of_rest(double y, int count) {
  // y is whole 2^53 + a fraction of 53 digits and more: shifted by 2^-11, it is a Fraction in full.
  const Normalised n = normalised(y);
  const Fraction moved_y = moved_right(n.significand, 11 - n.exponent);
  const std::uint64_t magnitude = static_cast<std::uint64_t>(count < 0 ? -count : count);
  const Fraction scale = {{magnitude << 53, 0, 0}}; // count 2^-11
  const Fraction logarithm = scale * Fraction{{ln2_bits[0], ln2_bits[1], ln2_bits[2]}};
  const Fraction zero{{0, 0, 0}};
  const Fraction rest = moved_y - (count < 0 ? zero - logarithm : logarithm);
  Fraction result; // 2^10 times that
  for (int i = 0; i < 3; ++i)
    result.word[i] = rest.word[i] << 10 | (i < 2 ? rest.word[i + 1] >> 54 : 0);
  return result;
}

static double log_near_one(double greater, double lesser) {
  const Normalised t = normalised(-greater);
  const Fraction fall =
      moved_right(t.significand, 1) * mean_decay(moved_right(t.significand, -t.exponent));
  const int scale = t.exponent + 1; // the unit is 2^scale
  const Fraction h = half_of_rest(-lesser, -scale);
  const Fraction root = one_less(h * mean_decay(h));
  Fraction rest = root * root - fall; // e^greater + e^lesser - 1
  const bool negative = rest.word[0] >> 63;
  if (negative) rest = Fraction{{0, 0, 0}} - rest;
  int zeros = 0; // at its start
  for (int moved = 0; moved < 2 && rest.word[0] == 0; ++moved, zeros += 64)
    rest = {{rest.word[1], rest.word[2], 0}};
  const int shift = std::countl_zero(rest.word[0] | 1);
  if (shift > 0) {
    rest.word[0] = rest.word[0] << shift | rest.word[1] >> (64 - shift);
    rest.word[1] = rest.word[1] << shift | rest.word[2] >> (64 - shift);
  }
  zeros += shift;
  // log(1 + d) = d - d^2 / 2 + .., and |d| < 2^-40.
  const double head = static_cast<double>(rest.word[0] >> 11) * 0x1p-53;
  const double tail = static_cast<double>(rest.word[0] << 53 | rest.word[1] >> 11) * 0x1p-117;
  const auto power = [](int exponent) { return power_of_two<double>(1023 + exponent); };
  const int first = scale / 2; // two steps, of which only the second may round
  const auto scaled = [&](double x) {
    return x * power(-zeros) * power(first) * power(scale - first);
  };
  const double d = scaled(head);
  const double value = head + fma(head * d, negative ? 0.5 : -0.5, tail);
  return scaled(negative ? -value : value);
}

void bl_log_near_one(double greater, double lesser, double *result) {
  *result = log_near_one(greater, lesser);
}

} // namespace broadloom::math::lanes

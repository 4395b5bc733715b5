// The arguments that the math is tried on where not all can be: the same on every machine.
//
// Method: argument number i follows from i alone (a hash of it), so that blocks of arguments can be
// made in any order on any thread. The first arguments are edges: special values, thresholds of the
// functions and what lies within 64 ulps of them; the rest are random, one of several kinds in
// turn.
// Example: sample<double>(12345), sample_pair<float>(7).x
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace broadloom::prove {

template <class T> using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// A hash of 64 bits in which every bit depends on every bit (the finaliser of SplitMix64).
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <class T> bool same_bits(T a, T b) { // all NaNs are one
  return std::bit_cast<BitsOf<T>>(a) == std::bit_cast<BitsOf<T>>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// What a list of results is known by: the sum of this over all arguments, in any order.
template <class T> std::uint64_t fingerprint(T x, T y, T result) {
  constexpr BitsOf<T> nan = sizeof(T) == 4 ? BitsOf<T>(0x7fc00000) : BitsOf<T>(0x7ff8000000000000);
  const auto bits = [](T v) { return std::uint64_t(std::bit_cast<BitsOf<T>>(v)); };
  return mixed(mixed(mixed(bits(x)) + bits(y)) + (std::isnan(result) ? nan : bits(result)));
}

// Number i of the list: a function of one argument, of two.
template <class T> T sample(std::uint64_t i);
template <class T> struct Two {
  T x, y;
};
template <class T> Two<T> sample_pair(std::uint64_t i);
// For logaddexp: e^x + e^y next to 1, at distances from one rounding of y up to 1 - e^x.
template <class T> Two<T> sample_near_one(std::uint64_t i);

// How many of the first samples are edges.
template <class T> std::uint64_t edge_count();

} // namespace broadloom::prove

// Small tables of floats held in registers, and powers of two.
//
// Problem: a table of 8 or 16 entries shortens a polynomial to a few terms, but clang's generic
// vectors have neither a permutation by a variable index nor a scaling by 2^n.
// Method: the instructions where there are some (vpermps, vscalefps, tbl), plain operations
// elsewhere. Both are exact or correctly rounded, so every form gives the same bits.
// Example: lookup<eighth_powers, Vec<float, 16>>(index); scale(x, n, biased).
#pragma once

#include "math/simd.hpp"

#if defined(__clang__) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace broadloom::math {

#if defined(__clang__) && (defined(__AVX2__) || defined(__aarch64__))
// N entries of a table from First on, from its start again after its end.
template <const auto &Table, int N, int First = 0> inline Vec<float, N> table_part() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return Vec<float, N>{Table[(First + I) % int{std::size(Table)}]...};
  }(std::make_integer_sequence<int, N>());
}
#endif

// Table[index modulo its size] in each lane, for 8 or 16 floats.
template <const auto &Table, class F> inline F lookup(Same<Bits<F>> index) {
  constexpr int size = std::size(Table);
  static_assert(size == 8 || size == 16);
  if constexpr (lanes_of<F> == 1) {
    return Table[index & (size - 1)];
#if defined(__clang__) && defined(__AVX512F__)
  } else if constexpr (lanes_of<F> == 16) {
    return __builtin_ia32_permvarsf512(table_part<Table, 16>(), std::bit_cast<Vec<int, 16>>(index));
#endif
#if defined(__clang__) && defined(__AVX2__)
  } else if constexpr (lanes_of<F> == 8) {
    const auto at = std::bit_cast<Vec<int, 8>>(index);
    const F low = __builtin_ia32_permvarsf256(table_part<Table, 8>(), at);
    if constexpr (size == 8) {
      return low;
    } else {
      const F high = __builtin_ia32_permvarsf256(table_part<Table, 8, 8>(), at);
      return select((index & 8) != 0, high, low);
    }
#endif
#if defined(__clang__) && defined(__aarch64__)
  } else if constexpr (lanes_of<F> == 4) { // four bytes of a table of bytes for each lane
    const auto part = [](Vec<float, 4> four) { return std::bit_cast<uint8x16_t>(four); };
    const Bits<F> first = (index & (size - 1)) * 4;
    const auto bytes = std::bit_cast<uint8x16_t>(first * 0x01010101 + 0x03020100);
    if constexpr (size == 8) {
      return std::bit_cast<F>(
          vqtbl2q_u8({{part(table_part<Table, 4>()), part(table_part<Table, 4, 4>())}}, bytes));
    } else {
      return std::bit_cast<F>(
          vqtbl4q_u8({{part(table_part<Table, 4>()), part(table_part<Table, 4, 4>()),
                       part(table_part<Table, 4, 8>()), part(table_part<Table, 4, 12>())}},
                     bytes));
    }
#endif
  } else {
    F result;
    for (int i = 0; i < lanes_of<F>; ++i) set_lane(result, i, Table[lane(index, i) & (size - 1)]);
    return result;
  }
}

// c[0] + c[1] x + .. by Horner's rule, where each coefficient is a table of its own.
template <const auto &Rows, class F> inline F polynomial_of_lookups(Same<Bits<F>> index, F x) {
  constexpr std::size_t count = std::size(Rows);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    F sum = lookup<Rows[count - 1], F>(index);
    ((sum = fma(sum, x, lookup<Rows[count - 2 - I], F>(index))), ...);
    return sum;
  }(std::make_index_sequence<count - 1>());
}

// x 2^floor(n), rounded once, for floats 1/16 <= x <= 16 and |n| < 240. `biased` is floor(n) + 254
// in its low nine bits.
template <class F> inline F scale(F x, Same<F> n, Same<Bits<F>> biased) {
#if defined(__clang__) && defined(__AVX512F__)
  if constexpr (lanes_of<F> == 16)
    return __builtin_ia32_scalefps512_mask(x, n, x, static_cast<unsigned short>(-1), 4);
#if defined(__AVX512VL__)
  if constexpr (lanes_of<F> == 8)
    return __builtin_ia32_scalefps256_mask(x, n, x, static_cast<unsigned char>(-1));
#endif
#endif
  // Two steps, of which only the second can round.
  static_cast<void>(n);
  const Bits<F> total = biased & 0x1ff;
  const Bits<F> first = total >> 1;
  return x * from_bits<F>(first << 23) * from_bits<F>((total - first) << 23);
}

} // namespace broadloom::math

// Values out of a small table, each lane by its own index.
//
// Problem: a function made of pieces needs the coefficients of its piece in every lane; written as
// one load for each lane that costs more than the polynomial.
// Method: tables of 16 doubles, which AVX-512 holds in two registers and permutes in one
// instruction; AVX2 gathers them, and NEON loads two. The values are the same, so the bits are.
// Example: table_value<erf_slope, D>(to_bits(shifted)) for shifted = k + 1.5 * 2^52, k = 0 .. 15.
#pragma once

#include "math/simd.hpp"

#if defined(__clang__) && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace broadloom::math {

inline constexpr int table_size = 16;

// Table[index modulo 16] in each lane, as a D.
template <const auto &Table, class D> inline D table_value(Same<Bits<D>> index) {
  static_assert(std::size(Table) == table_size);
  constexpr int lanes = lanes_of<D>;
  if constexpr (lanes == 1) {
    return Table[index % table_size];
#if defined(__clang__) && defined(__AVX512F__)
  } else if constexpr (lanes == 8) {
    return D(
        _mm512_permutex2var_pd(_mm512_loadu_pd(Table), __m512i(index), _mm512_loadu_pd(Table + 8)));
#endif
#if defined(__clang__) && defined(__AVX2__)
  } else if constexpr (lanes == 4) {
    return D(_mm256_i64gather_pd(Table, __m256i(index % table_size), sizeof(double)));
#else
  } else if constexpr (lanes == 2) {
    return D{Table[index[0] % table_size], Table[index[1] % table_size]};
#endif
  } else {
    using Half = Vec<double, lanes / 2>;
    const Half low = table_value<Table, Half>(index.lo), high = table_value<Table, Half>(index.hi);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return D(__builtin_shufflevector(low, high, I...));
    }(std::make_index_sequence<lanes>());
  }
}

// c[0] + c[1] x + .. by Horner's rule, where each coefficient is a table of its own.
template <const auto &Rows, class D> inline D polynomial_of_rows(Same<Bits<D>> index, D x) {
  constexpr std::size_t count = std::size(Rows);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    D sum = table_value<Rows[count - 1], D>(index);
    ((sum = fma(sum, x, table_value<Rows[count - 2 - I], D>(index))), ...);
    return sum;
  }(std::make_index_sequence<count - 1>());
}

} // namespace broadloom::math

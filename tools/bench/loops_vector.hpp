// What the loops of loops_table.cpp share: registers of AVX2 or AVX-512, and a loop that stores
// around the caches. For loops_table.cpp alone, like the other headers with an unnamed namespace
// beside it.
#pragma once

#include "bench/loops.hpp"

// g++ 12 sees the deliberately undefined registers of its own intrinsics as uninitialised
// variables.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#include <math.h>

namespace bench {
namespace {

using Int = std::int64_t;

#if defined(__AVX512F__)
using Vector = __m512;
inline Vector load(const float *p) { return _mm512_loadu_ps(p); }
inline void store(float *p, Vector v) { _mm512_storeu_ps(p, v); }
inline Vector splat(float x) { return _mm512_set1_ps(x); }
inline Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
inline Vector greatest(Vector a, Vector b) { return _mm512_max_ps(a, b); }
inline Vector fmadd(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
inline void stream_line(char *to, const char *from) {
  _mm512_stream_si512((__m512i *)to, _mm512_loadu_si512(from));
}
inline Vector widen(const std::uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
inline void narrow(std::uint16_t *p, Vector v) {
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
#else
using Vector = __m256;
inline Vector load(const float *p) { return _mm256_loadu_ps(p); }
inline void store(float *p, Vector v) { _mm256_storeu_ps(p, v); }
inline Vector splat(float x) { return _mm256_set1_ps(x); }
inline Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
inline Vector greatest(Vector a, Vector b) { return _mm256_max_ps(a, b); }
inline Vector fmadd(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
inline void stream_line(char *to, const char *from) {
  _mm256_stream_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
  _mm256_stream_si256((__m256i *)(to + 32), _mm256_loadu_si256((const __m256i *)(from + 32)));
}
inline Vector widen(const std::uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
inline void narrow(std::uint16_t *p, Vector v) {
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
#endif
constexpr Int lanes = sizeof(Vector) / sizeof(float);

template <class T> const T *in(const Operands &o, int k) { return static_cast<const T *>(o.in[k]); }
template <class T> T *out(const Operands &o, int k = 0) { return static_cast<T *>(o.out[k]); }

// to[i] = f(i) for lo <= i < hi. When streaming, values are made in the first-level cache and go to
// memory by whole lines.
template <class T, class F> inline void each(T *to, Int lo, Int hi, bool stream, F f) {
  constexpr Int piece = 4096 / sizeof(T), line = 64 / sizeof(T);
  Int i = lo;
  if (stream) {
    alignas(64) T made[piece];
    for (; i < hi && (std::uintptr_t(to + i) & 63) != 0; ++i) to[i] = f(i);
    for (; i + line <= hi;) {
      const Int n = (hi - i < piece ? hi - i : piece) / line * line;
#pragma omp simd
      for (Int k = 0; k < n; ++k) made[k] = f(i + k);
      for (Int k = 0; k < n; k += line) stream_line((char *)(to + i + k), (const char *)(made + k));
      i += n;
    }
  }
#pragma omp simd
  for (Int k = i; k < hi; ++k) to[k] = f(k);
  if (stream) _mm_sfence();
}

} // namespace
} // namespace bench

// See loops.hpp. BENCH_LOOPS is the name of the table that this compilation makes: loops_v3 or loops_v4.
#include "bench/loops.hpp"

// g++ 12 sees the deliberately undefined registers of its own intrinsics as uninitialised variables.
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

// to[i] = f(i) for lo <= i < hi. When streaming, values are made in the first-level cache and go to memory
// by whole lines.
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

// --- the probe -------------------------------------------------------------------------------------

double read(const float *x, Int lo, Int hi) {
  Vector s[8];
  for (Vector &v : s) v = splat(0);
  Int i = lo;
  for (; i + 8 * lanes <= hi; i += 8 * lanes)
    for (int k = 0; k < 8; ++k) s[k] = add(s[k], load(x + i + k * lanes));
  float parts[lanes];
  double total = 0;
  for (const Vector &v : s) {
    store(parts, v);
    for (float part : parts) total += double(part);
  }
  for (; i < hi; ++i) total += double(x[i]);
  return total;
}

template <int Reads> void move_some(const Operands &o, Int lo, Int hi) {
  const float *x[4] = {in<float>(o, 0), in<float>(o, 1), in<float>(o, 2), in<float>(o, 3)};
  float *z = out<float>(o);
  Int i = lo;
  for (; i + lanes <= hi; i += lanes) {
    Vector v = splat(1);
    for (int k = 0; k < Reads; ++k) v = add(v, load(x[k] + i));
    if (!o.stream) {
      store(z + i, v);
    } else {
#if defined(__AVX512F__)
      _mm512_stream_ps(z + i, v);
#else
      _mm256_stream_ps(z + i, v);
#endif
    }
  }
  for (; i < hi; ++i) {
    float v = 1;
    for (int k = 0; k < Reads; ++k) v += x[k][i];
    z[i] = v;
  }
  _mm_sfence();
}

void move(int reads, const Operands &o, Int lo, Int hi) {
  switch (reads) {
  case 0: return move_some<0>(o, lo, hi);
  case 1: return move_some<1>(o, lo, hi);
  case 2: return move_some<2>(o, lo, hi);
  case 3: return move_some<3>(o, lo, hi);
  default: return move_some<4>(o, lo, hi);
  }
}

constexpr int chains = 16;
float fma(Int iterations) {
  Vector s[chains];
  for (int k = 0; k < chains; ++k) s[k] = splat(float(k));
  const Vector factor = splat(0.999f), term = splat(0.001f);
  for (Int i = 0; i < iterations; ++i)
    for (int k = 0; k < chains; ++k) s[k] = fmadd(s[k], factor, term);
  Vector total = s[0];
  for (int k = 1; k < chains; ++k) total = add(total, s[k]);
  float parts[lanes];
  store(parts, total);
  return parts[0];
}

// --- over elements -----------------------------------------------------------------------------------

void triad(const Operands &o, Int lo, Int hi) {
  const float *a = in<float>(o, 0), *b = in<float>(o, 1), *c = in<float>(o, 2);
  each(out<float>(o), lo, hi, o.stream, [=](Int i) { return a[i] * b[i] + c[i]; });
}

void map(const Operands &o, Int lo, Int hi) {
  const float *x = in<float>(o, 0), *y = in<float>(o, 1), *z = in<float>(o, 2);
  each(out<float>(o), lo, hi, o.stream,
       [=](Int i) { return expf(-x[i] * x[i]) * sinf(y[i]) + sqrtf(fabsf(z[i])); });
}

void gelu(const Operands &o, Int lo, Int hi) {
  const float *x = in<float>(o, 0);
  each(out<float>(o), lo, hi, o.stream, [=](Int i) {
    const float v = x[i];
    return 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  });
}

void black_scholes(const Operands &o, Int lo, Int hi) {
  const float *s = in<float>(o, 0), *k = in<float>(o, 1), *t = in<float>(o, 2);
  each(out<float>(o), lo, hi, o.stream, [=](Int i) {
    const float price = 5 + 25 * s[i], strike = 1 + 99 * k[i], term = 0.25f + 9.75f * t[i];
    const float width = 0.3f * sqrtf(term);
    const float d1 = (logf(price / strike) + (0.02f + 0.045f) * term) / width;
    const float n1 = 0.5f * erfcf(-0.70710678f * d1);
    const float n2 = 0.5f * erfcf(-0.70710678f * (d1 - width));
    return price * n1 - strike * expf(-0.02f * term) * n2;
  });
}

void triad_i32(const Operands &o, Int lo, Int hi) {
  const std::uint32_t *a = in<std::uint32_t>(o, 0), *b = in<std::uint32_t>(o, 1),
                      *c = in<std::uint32_t>(o, 2); // unsigned: wraps
  each(out<std::uint32_t>(o), lo, hi, o.stream, [=](Int i) { return a[i] * b[i] + c[i]; });
}

// A block at a time, so that the vector loop and the store around the caches stay apart.
void triad_f16(const Operands &o, Int lo, Int hi) {
  const std::uint16_t *a = in<std::uint16_t>(o, 0), *b = in<std::uint16_t>(o, 1),
                      *c = in<std::uint16_t>(o, 2);
  std::uint16_t *z = out<std::uint16_t>(o);
  alignas(64) std::uint16_t made[2048];
  for (Int i = lo; i < hi; i += 2048) {
    const Int n = hi - i < 2048 ? hi - i : 2048;
    Int k = 0;
    for (; k + lanes <= n; k += lanes)
      narrow(made + k, fmadd(widen(a + i + k), widen(b + i + k), widen(c + i + k)));
    for (; k < n; ++k)
      made[k] = _cvtss_sh(_cvtsh_ss(a[i + k]) * _cvtsh_ss(b[i + k]) + _cvtsh_ss(c[i + k]), 0);
    each(z, i, i + n, o.stream, [&](Int at) { return made[at - i]; });
  }
}

inline float from_bf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, 4);
  return value;
}
inline std::uint16_t to_bf16(float value) { // of no NaN
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
void triad_bf16(const Operands &o, Int lo, Int hi) {
  const std::uint16_t *a = in<std::uint16_t>(o, 0), *b = in<std::uint16_t>(o, 1),
                      *c = in<std::uint16_t>(o, 2);
  each(out<std::uint16_t>(o), lo, hi, o.stream,
       [=](Int i) { return to_bf16(from_bf16(a[i]) * from_bf16(b[i]) + from_bf16(c[i])); });
}

void clip_u8(const Operands &o, Int lo, Int hi) {
  const std::uint8_t *a = in<std::uint8_t>(o, 0), *b = in<std::uint8_t>(o, 1);
  each(out<std::uint8_t>(o), lo, hi, o.stream, [=](Int i) {
    const float v = float(a[i]) * 1.5f + float(b[i]);
    return std::uint8_t(std::int32_t(v > 255 ? 255.f : v));
  });
}

// --- over rows ---------------------------------------------------------------------------------------

void affine(const Operands &o, Int lo, Int hi) {
  const float *row = in<float>(o, 2);
  for (Int i = lo; i < hi; ++i) {
    const float *x = in<float>(o, 0) + i * o.columns, col = in<float>(o, 1)[i];
    each(out<float>(o) + i * o.columns, 0, o.columns, o.stream,
         [=](Int j) { return x[j] * col + row[j]; });
  }
}

// Blocks of 64 x 64: a block of b is transposed in the first-level cache.
void add_transposed(const Operands &o, Int lo, Int hi) {
  constexpr Int tile = 64;
  const float *a = in<float>(o, 0), *b = in<float>(o, 1);
  float *z = out<float>(o);
  const Int n = o.columns;
  alignas(64) static thread_local float turned[tile][tile + 16];
  for (Int i0 = lo * tile; i0 < hi * tile; i0 += tile)
    for (Int j0 = 0; j0 < n; j0 += tile) {
      for (Int j = 0; j < tile; ++j)
        for (Int i = 0; i < tile; ++i) turned[i][j] = b[(j0 + j) * n + i0 + i];
      for (Int i = 0; i < tile; ++i) {
        const float *row = a + (i0 + i) * n, *other = turned[i];
        each(z + (i0 + i) * n, j0, j0 + tile, o.stream,
             [=](Int j) { return row[j] + other[j - j0]; });
      }
    }
}

// in[0] is a[::2, ::3]: rows are 2 * 4096 apart, elements 3.
void scale_strided(const Operands &o, Int lo, Int hi) {
  for (Int i = lo; i < hi; ++i) {
    const float *a = in<float>(o, 0) + i * 2 * 4096;
    each(out<float>(o) + i * o.columns, 0, o.columns, o.stream,
         [=](Int j) { return a[3 * j] * 2; });
  }
}

void softmax(const Operands &o, Int lo, Int hi) {
  alignas(64) static thread_local float made[1 << 14];
  for (Int i = lo; i < hi; ++i) {
    const float *x = in<float>(o, 0) + i * o.columns;
    float most = x[0], total = 0;
#pragma omp simd reduction(max : most)
    for (Int j = 0; j < o.columns; ++j) most = x[j] > most ? x[j] : most;
    float *e = made;
#pragma omp simd reduction(+ : total)
    for (Int j = 0; j < o.columns; ++j) total += e[j] = expf(x[j] - most);
    const float factor = 1 / total;
    each(out<float>(o) + i * o.columns, 0, o.columns, o.stream,
         [=](Int j) { return e[j] * factor; });
  }
}

void layernorm(const Operands &o, Int lo, Int hi) {
  const float *scale = in<float>(o, 1), *shift = in<float>(o, 2);
  for (Int i = lo; i < hi; ++i) {
    const float *x = in<float>(o, 0) + i * o.columns;
    float total = 0, squares = 0;
#pragma omp simd reduction(+ : total)
    for (Int j = 0; j < o.columns; ++j) total += x[j];
    const float mean = total / float(o.columns);
#pragma omp simd reduction(+ : squares)
    for (Int j = 0; j < o.columns; ++j) squares += (x[j] - mean) * (x[j] - mean);
    const float factor = 1 / sqrtf(squares / float(o.columns) + 1e-5f);
    each(out<float>(o) + i * o.columns, 0, o.columns, o.stream,
         [=](Int j) { return (x[j] - mean) * factor * scale[j] + shift[j]; });
  }
}

inline float row_sum(const float *x, Int n) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (Int j = 0; j < n; ++j) total += x[j];
  return total;
}
void sum_rows(const Operands &o, Int lo, Int hi) {
  const float *x = in<float>(o, 0);
  if (o.columns == 8) { // a number that is known is what makes short rows fast
    for (Int i = lo; i < hi; ++i) {
      float total = 0;
      for (Int j = 0; j < 8; ++j) total += x[8 * i + j];
      out<float>(o)[i] = total;
    }
  } else {
    for (Int i = lo; i < hi; ++i) out<float>(o)[i] = row_sum(x + i * o.columns, o.columns);
  }
}
void mean_rows(const Operands &o, Int lo, Int hi) {
  for (Int i = lo; i < hi; ++i)
    out<float>(o)[i] = row_sum(in<float>(o, 0) + i * o.columns, o.columns) / float(o.columns);
}

// in: x, row, d_y; a row is [i, j, :] of [64, 256, 1024].
void row_scale_dx(const Operands &o, Int lo, Int hi) {
  for (Int i = lo; i < hi; ++i) {
    const float factor = in<float>(o, 1)[i % 256], *d_y = in<float>(o, 2) + i * 1024;
    each(out<float>(o) + i * 1024, 0, 1024, o.stream, [=](Int k) { return d_y[k] * factor; });
  }
}

// --- images and rank 6 -------------------------------------------------------------------------------

// Over pixels of three channels, 16 at a time, so that the channels repeat in whole vectors.
template <class T> void scale_pixels(const Operands &o, Int lo, Int hi) {
  const T *x = in<T>(o, 0);
  float centre[48], scale[48];
  for (int k = 0; k < 48; ++k) {
    centre[k] = in<float>(o, 1)[k % 3];
    scale[k] = in<float>(o, 2)[k % 3];
  }
  float *z = out<float>(o);
  Int i = 3 * lo;
  for (; i + 48 <= 3 * hi; i += 48) {
#pragma omp simd
    for (int k = 0; k < 48; ++k) z[i + k] = (float(x[i + k]) - centre[k]) * scale[k];
  }
  for (int k = 0; i < 3 * hi; ++i, ++k) z[i] = (float(x[i]) - centre[k]) * scale[k];
}
void image_scale(const Operands &o, Int lo, Int hi) { scale_pixels<float>(o, lo, hi); }
void image_bytes(const Operands &o, Int lo, Int hi) { scale_pixels<std::uint8_t>(o, lo, hi); }

// z[a, b, c, d, e, f] = 2 x + y[c, f, a, b, e, d], 16 each; over a and b as one.
void permuted(const Operands &o, Int lo, Int hi) {
  const float *x = in<float>(o, 0), *y = in<float>(o, 1);
  float *z = out<float>(o);
  for (Int ab = lo; ab < hi; ++ab)
    for (Int c = 0; c < 16; ++c) {
      const Int at = (ab * 16 + c) * 4096;
      const float *from = y + c * (1 << 20) + ab * 256;
      for (Int d = 0; d < 16; ++d)
        for (Int e = 0; e < 16; ++e) {
          const Int here = at + (d * 16 + e) * 16;
#pragma omp simd
          for (Int f = 0; f < 16; ++f) z[here + f] = x[here + f] * 2 + from[f * 65536 + e * 16 + d];
        }
    }
}

// --- folds -------------------------------------------------------------------------------------------

void sum_of_columns(const Operands &o, Int lo, Int hi) {
  const float *x = in<float>(o, 0);
  const Int rows = o.rows, columns = o.columns;
  each(out<float>(o), lo, hi, false, [=](Int j) {
    float total = 0;
    for (Int i = 0; i < rows; ++i) total += x[i * columns + j];
    return total;
  });
}

void sum(const Operands &o, Int lo, Int hi, double *sums) {
  const float *x = in<float>(o, 0);
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (Int i = lo; i < hi; ++i) total += double(x[i]);
  *sums += total;
}

void distance(const Operands &o, Int lo, Int hi, double *sums) {
  const float *x = in<float>(o, 0), *y = in<float>(o, 1);
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (Int i = lo; i < hi; ++i) total += double((x[i] - y[i]) * (x[i] - y[i]));
  *sums += total;
}

// Eight rows at a time, so that the sums are loaded and stored an eighth as often.
template <bool Weighted> void add_rows(const Operands &o, Int lo, Int hi, double *sums) {
  const Int n = o.columns;
  const float *col = Weighted ? in<float>(o, 1) : nullptr;
  Int i = lo;
  for (; i + 8 <= hi; i += 8) {
    const float *x = in<float>(o, 0) + i * n;
#pragma omp simd
    for (Int j = 0; j < n; ++j) {
      float part = 0;
      for (int k = 0; k < 8; ++k) part += Weighted ? x[k * n + j] * col[i + k] : x[k * n + j];
      sums[j] += double(part);
    }
  }
  for (; i < hi; ++i) {
    const float *x = in<float>(o, 0) + i * n;
#pragma omp simd
    for (Int j = 0; j < n; ++j) sums[j] += double(Weighted ? x[j] * col[i] : x[j]);
  }
}

// Few columns: 8 rows of 8 are a run of 64 elements.
void add_tall(const Operands &o, Int lo, Int hi, double *sums) {
  float parts[64] = {};
  Int i = lo;
  for (; i + 8 <= hi;) {
    const Int end = hi - i < 1024 ? i + (hi - i) / 8 * 8 : i + 1024;
    for (; i < end; i += 8) {
      const float *x = in<float>(o, 0) + i * 8;
#pragma omp simd
      for (int k = 0; k < 64; ++k) parts[k] += x[k];
    }
    for (int k = 0; k < 64; ++k) {
      sums[k % 8] += double(parts[k]);
      parts[k] = 0;
    }
  }
  for (; i < hi; ++i)
    for (int k = 0; k < 8; ++k) sums[k] += double(in<float>(o, 0)[8 * i + k]);
}

void sum_columns(const Operands &o, Int lo, Int hi, double *sums) {
  if (o.columns == 8)
    add_tall(o, lo, hi, sums);
  else
    add_rows<false>(o, lo, hi, sums);
}
void weighted_columns(const Operands &o, Int lo, Int hi, double *sums) {
  add_rows<true>(o, lo, hi, sums);
}

void image_mean(const Operands &o, Int lo, Int hi, double *sums) {
  Int i = 3 * lo;
  while (i + 48 <= 3 * hi) {
    float parts[48] = {};
    const Int end = 3 * hi - i < 48 * 64 ? i + (3 * hi - i) / 48 * 48 : i + 48 * 64;
    for (; i < end; i += 48) {
      const float *x = in<float>(o, 0) + i;
#pragma omp simd
      for (int k = 0; k < 48; ++k) parts[k] += x[k];
    }
    for (int k = 0; k < 48; ++k) sums[k % 3] += double(parts[k]);
  }
  for (int k = 0; i < 3 * hi; ++i, ++k) sums[k % 3] += double(in<float>(o, 0)[i]);
}

void row_scale_drow(const Operands &o, Int lo, Int hi, double *sums) {
  for (Int i = lo; i < hi; ++i)
    for (Int j = 0; j < 256; ++j) {
      const float *x = in<float>(o, 0) + (i * 256 + j) * 1024;
      const float *d_y = in<float>(o, 2) + (i * 256 + j) * 1024;
      float total = 0;
#pragma omp simd reduction(+ : total)
      for (Int k = 0; k < 1024; ++k) total += x[k] * d_y[k];
      sums[j] += double(total);
    }
}

void cumsum(const Operands &o, Int lo, Int hi, double *sums) {
  const float *x = in<float>(o, 0);
  float *z = out<float>(o);
  for (Int i = lo; i < hi; i += 1024) { // f32 within a run of 1024, f64 between runs
    const Int n = hi - i < 1024 ? hi - i : 1024;
    const float start = float(*sums);
    float running = 0;
#pragma omp simd reduction(inscan, + : running)
    for (Int k = 0; k < n; ++k) {
      running += x[i + k];
#pragma omp scan inclusive(running)
      z[i + k] = start + running;
    }
    *sums += double(running);
  }
}

} // namespace

extern const Loops BENCH_LOOPS;
const Loops BENCH_LOOPS = {
    .read = read,
    .move = move,
    .fma = fma,
    .fma_operations = chains * lanes,
    .triad = triad,
    .map = map,
    .gelu = gelu,
    .black_scholes = black_scholes,
    .triad_i32 = triad_i32,
    .triad_f16 = triad_f16,
    .triad_bf16 = triad_bf16,
    .clip_u8 = clip_u8,
    .affine = affine,
    .add_transposed = add_transposed,
    .scale_strided = scale_strided,
    .softmax = softmax,
    .layernorm = layernorm,
    .sum_rows = sum_rows,
    .mean_rows = mean_rows,
    .row_scale_dx = row_scale_dx,
    .image_scale = image_scale,
    .image_bytes = image_bytes,
    .permuted = permuted,
    .sum_of_columns = sum_of_columns,
    .sum = sum,
    .distance = distance,
    .sum_columns = sum_columns,
    .weighted_columns = weighted_columns,
    .image_mean = image_mean,
    .row_scale_drow = row_scale_drow,
    .cumsum = cumsum,
};

} // namespace bench

// The loops that store each element on its own: see loops.hpp for what they compute.
#pragma once

#include "bench/loops_vector.hpp"

#include <cstring>

namespace bench {
namespace {

// --- over elements
// -----------------------------------------------------------------------------------

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

// --- over rows
// ---------------------------------------------------------------------------------------

void affine(const Operands &o, Int lo, Int hi) {
  const float *row = in<float>(o, 2);
  for (Int i = lo; i < hi; ++i) {
    const float *x = in<float>(o, 0) + i * o.columns, col = in<float>(o, 1)[i];
    each(out<float>(o) + i * o.columns, 0, o.columns, o.stream,
         [=](Int j) { return x[j] * col + row[j]; });
  }
}

// Blocks of 64 x 64: a block of b is transposed in the first-level cache.
void gather_rows(const Operands &o, Int lo, Int hi) {
  const float *x = in<float>(o, 0);
  const std::int32_t *k = in<std::int32_t>(o, 1);
  for (Int i = lo; i < hi; ++i)
    std::memcpy(out<float>(o) + i * o.columns, x + 7919 * Int(k[i]) % o.rows * o.columns,
                std::size_t(o.columns) * sizeof(float));
}

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

// --- images and rank 6
// -------------------------------------------------------------------------------

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

} // namespace
} // namespace bench

// The loops that fold: see loops.hpp for what they compute.
#pragma once

#include "bench/loops_vector.hpp"

namespace bench {
namespace {

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
} // namespace bench

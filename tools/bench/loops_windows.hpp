// Stencils, depthwise convolutions and pooling: see loops.hpp for what they compute.
#pragma once

#include "bench/loops_vector.hpp"

namespace bench {
namespace {

void jacobi(const Operands &o, Int lo, Int hi) {
  const Int n = o.columns;
  for (Int i = lo; i < hi; ++i) {
    const float *up = in<float>(o, 0) + i * n, *x = up + n, *down = x + n;
    each(out<float>(o) + i * (n - 2), 0, n - 2, o.stream,
         [=](Int j) { return 0.2f * (x[j + 1] + up[j + 1] + down[j + 1] + x[j] + x[j + 2]); });
  }
}

void sobel(const Operands &o, Int lo, Int hi) {
  const Int n = o.columns;
  for (Int i = lo; i < hi; ++i) {
    const float *up = in<float>(o, 0) + i * n, *x = up + n, *down = x + n;
    each(out<float>(o) + i * (n - 2), 0, n - 2, o.stream, [=](Int j) {
      const float a = up[j + 2] - up[j] + 2 * (x[j + 2] - x[j]) + down[j + 2] - down[j];
      const float b = down[j] - up[j] + 2 * (down[j + 1] - up[j + 1]) + down[j + 2] - up[j + 2];
      return sqrtf(a * a + b * b);
    });
  }
}

constexpr Int channels = 64, wide = 56;

// The weights of some channels stay in registers along a row.
void depthwise(const Operands &o, Int lo, Int hi) {
  constexpr Int from = wide + 2;
  for (Int row = lo; row < hi; ++row) {
    const float *x = in<float>(o, 0) + (row / wide * from + row % wide) * from * channels;
    float *z = out<float>(o) + row * wide * channels;
    for (Int c = 0; c < channels; c += lanes) {
      Vector w[9];
      for (int k = 0; k < 9; ++k) w[k] = load(in<float>(o, 1) + k * channels + c);
      for (Int j = 0; j < wide; ++j) {
        Vector sum = splat(0);
        for (int u = 0; u < 3; ++u)
          for (int v = 0; v < 3; ++v)
            sum = fmadd(load(x + (u * from + j + v) * channels + c), w[u * 3 + v], sum);
        store(z + j * channels + c, sum);
      }
    }
  }
}

template <int side> void pool(const Operands &o, Int lo, Int hi) {
  constexpr Int from = 2 * wide + side - 2;
  for (Int row = lo; row < hi; ++row) {
    const float *x = in<float>(o, 0) + (row / wide * from + row % wide * 2) * from * channels;
    float *z = out<float>(o) + row * wide * channels;
    for (Int j = 0; j < wide; ++j)
      for (Int c = 0; c < channels; c += lanes) {
        Vector most = load(x + j * 2 * channels + c);
        for (int a = 0; a < side; ++a)
          for (int b = 0; b < side; ++b)
            most = greatest(load(x + (a * from + 2 * j + b) * channels + c), most);
        store(z + j * channels + c, most);
      }
  }
}
void max_pool(const Operands &o, Int lo, Int hi) { pool<2>(o, lo, hi); }
void max_pool_3(const Operands &o, Int lo, Int hi) { pool<3>(o, lo, hi); }

} // namespace
} // namespace bench

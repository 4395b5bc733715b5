// Loops as an engineer would write them by hand: plain C++ that g++ vectorises, compiled once for
// AVX2 and once for AVX-512, with fast-math. They run on one thread; hand_written.cpp spreads them
// over oneTBB.
//
// loops_table.cpp includes nothing that has inline functions of external linkage: the linker could
// otherwise keep the AVX-512 copy of one for the whole program.
#pragma once

#include <cstdint>

namespace bench {

// The operands of a loop. Which are used, and of what type, is said at each loop below.
struct Operands {
  const void *in[4] = {};
  void *out[2] = {};
  std::int64_t rows = 0, columns = 0; // of in[0] seen as a matrix
  bool stream = false;                // store around the caches
};

// Over elements or rows lo .. hi - 1.
using MapLoop = void (*)(const Operands &, std::int64_t lo, std::int64_t hi);
// Adds rows lo .. hi - 1 to `columns` sums, or elements to one.
using FoldLoop = void (*)(const Operands &, std::int64_t lo, std::int64_t hi, double *sums);

struct Loops {
  // The roofline probe: moves bytes with next to no work.
  double (*read)(const float *x, std::int64_t lo, std::int64_t hi);
  void (*move)(int reads, const Operands &, std::int64_t lo, std::int64_t hi);
  // 16 independent chains of fused multiply-adds; gives something that depends on all of them.
  float (*fma)(std::int64_t iterations);
  std::int64_t fma_operations; // of one iteration, an fma being one

  // Over elements, f32: a*b+c; W2's map; gelu_tanh; the price of a call (see black_scholes.loom).
  MapLoop triad, map, gelu, black_scholes;
  // Over elements, the type in the name; f16 and bf16 compute in f32.
  MapLoop triad_i32, triad_f16, triad_bf16, clip_u8;
  // Over rows, f32: x*col+row; a+b.T (over blocks of 64 rows); a*2 of every third element; softmax;
  // layernorm; sums and means of rows; dx of x*row, where a row is one [1024] of [64, 256, 1024].
  MapLoop affine, add_transposed, scale_strided, softmax, layernorm, sum_rows, mean_rows,
      row_scale_dx;
  // Over pixels: (x - centre) * scale; over the first two axes of rank 6.
  MapLoop image_scale, image_bytes, permuted;
  // Over indices: row 7919 k modulo the number of rows of a matrix, for each k.
  MapLoop gather_rows;
  // Stencils of two rows less; over rows of images of NHWC of 64 channels: depthwise convolution of
  // 3 by 3 points of 58 by 58 to 56 by 56, the greatest of each 2 by 2 points of 112 by 112, and of
  // each 3 by 3 points of 113 by 113 at every second.
  MapLoop jacobi, sobel, depthwise, max_pool, max_pool_3;
  // One column sum for each column, of a block of columns lo .. hi - 1 of a matrix with few rows.
  MapLoop sum_of_columns;

  FoldLoop sum, distance;                 // one sum
  FoldLoop sum_columns, weighted_columns; // sums[column]
  FoldLoop image_mean;                    // over pixels, three sums
  FoldLoop row_scale_drow;                // over the 64 of [64, 256, 1024], 256 sums
  // The running sum of elements lo .. hi - 1 that begins at *sums, which it moves on.
  FoldLoop cumsum;
};

extern const Loops loops_v3, loops_v4;

// Those for this machine; null where it has no AVX2.
const Loops *loops_here();

} // namespace bench

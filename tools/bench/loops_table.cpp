// The probe's loops and the table of all: see loops.hpp. BENCH_LOOPS is the name of the table that
// this compilation makes, loops_v3 or loops_v4.
#include "bench/loops.hpp"

#include "bench/loops_folds.hpp"
#include "bench/loops_maps.hpp"
#include "bench/loops_vector.hpp"
#include "bench/loops_windows.hpp"

namespace bench {
namespace {

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
    .gather_rows = gather_rows,
    .jacobi = jacobi,
    .sobel = sobel,
    .depthwise = depthwise,
    .max_pool = max_pool,
    .max_pool_3 = max_pool_3,
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

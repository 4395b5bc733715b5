// See hand_written.hpp.
#include "bench/hand_written.hpp"

// g++ 12 sees the deliberately undefined registers of its own intrinsics as uninitialised variables.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>

namespace bench {
namespace {

using Range = tbb::blocked_range<std::int64_t>;
constexpr std::int64_t block = 64 * 1024;

__attribute__((target("avx512f"))) void triad_512(const float *a, const float *b, const float *c,
                                                  float *z, std::int64_t lo, std::int64_t hi,
                                                  bool stream) {
  std::int64_t i = lo;
  for (; i + 16 <= hi; i += 16) {
    const __m512 v = _mm512_add_ps(_mm512_mul_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i)),
                                   _mm512_loadu_ps(c + i));
    if (stream)
      _mm512_stream_ps(z + i, v);
    else
      _mm512_storeu_ps(z + i, v);
  }
  for (; i < hi; ++i) z[i] = a[i] * b[i] + c[i];
  _mm_sfence();
}

__attribute__((target("avx2"))) void triad_256(const float *a, const float *b, const float *c,
                                               float *z, std::int64_t lo, std::int64_t hi,
                                               bool stream) {
  std::int64_t i = lo;
  for (; i + 8 <= hi; i += 8) {
    const __m256 v = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)),
                                   _mm256_loadu_ps(c + i));
    if (stream)
      _mm256_stream_ps(z + i, v);
    else
      _mm256_storeu_ps(z + i, v);
  }
  for (; i < hi; ++i) z[i] = a[i] * b[i] + c[i];
  _mm_sfence();
}

// b == nullptr: a is read alone.
__attribute__((target("avx512f"))) void traffic_512(const float *a, const float *b, float *z,
                                                    std::int64_t lo, std::int64_t hi, bool stream) {
  std::int64_t i = lo;
  for (; i + 16 <= hi; i += 16) {
    const __m512 u = _mm512_loadu_ps(a + i);
    const __m512 v = b ? _mm512_mul_ps(u, _mm512_loadu_ps(b + i)) : _mm512_add_ps(u, u);
    if (stream)
      _mm512_stream_ps(z + i, v);
    else
      _mm512_storeu_ps(z + i, v);
  }
  for (; i < hi; ++i) z[i] = b ? a[i] * b[i] : a[i] + a[i];
  _mm_sfence();
}

__attribute__((target("avx2"))) void traffic_256(const float *a, const float *b, float *z,
                                                 std::int64_t lo, std::int64_t hi, bool stream) {
  std::int64_t i = lo;
  for (; i + 8 <= hi; i += 8) {
    const __m256 u = _mm256_loadu_ps(a + i);
    const __m256 v = b ? _mm256_mul_ps(u, _mm256_loadu_ps(b + i)) : _mm256_add_ps(u, u);
    if (stream)
      _mm256_stream_ps(z + i, v);
    else
      _mm256_storeu_ps(z + i, v);
  }
  for (; i < hi; ++i) z[i] = b ? a[i] * b[i] : a[i] + a[i];
  _mm_sfence();
}

__attribute__((target("avx512f"))) double sum_512(const float *a, std::int64_t lo,
                                                  std::int64_t hi) {
  __m512d s[4] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(),
                  _mm512_setzero_pd()};
  std::int64_t i = lo;
  for (; i + 32 <= hi; i += 32)
    for (int k = 0; k < 4; ++k)
      s[k] = _mm512_add_pd(s[k], _mm512_cvtps_pd(_mm256_loadu_ps(a + i + 8 * k)));
  double total =
      _mm512_reduce_add_pd(_mm512_add_pd(_mm512_add_pd(s[0], s[1]), _mm512_add_pd(s[2], s[3])));
  for (; i < hi; ++i) total += double(a[i]);
  return total;
}

double sum_plain(const float *a, std::int64_t lo, std::int64_t hi) {
  double s[8] = {};
  std::int64_t i = lo;
  for (; i + 8 <= hi; i += 8)
    for (int k = 0; k < 8; ++k) s[k] += double(a[i + k]);
  for (; i < hi; ++i) s[0] += double(a[i]);
  return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

} // namespace

void triad_by_hand(const float *a, const float *b, const float *c, float *z, std::int64_t n,
                   bool stream) {
  const auto kernel = __builtin_cpu_supports("avx512f") ? triad_512 : triad_256;
  if (n <= 2 * block) return kernel(a, b, c, z, 0, n, stream);
  tbb::parallel_for(Range(0, n, block), [&](const Range &r) {
    kernel(a, b, c, z, r.begin(), r.end(), stream && r.begin() % 16 == 0);
  });
}

void read_read_write_by_hand(const float *a, const float *b, float *z, std::int64_t n,
                             bool stream) {
  const auto kernel = __builtin_cpu_supports("avx512f") ? traffic_512 : traffic_256;
  tbb::parallel_for(Range(0, n, block), [&](const Range &r) {
    kernel(a, b, z, r.begin(), r.end(), stream && r.begin() % 16 == 0);
  });
}

void read_write_by_hand(const float *a, float *z, std::int64_t n, bool stream) {
  read_read_write_by_hand(a, nullptr, z, n, stream);
}

double sum_by_hand(const float *a, std::int64_t n) {
  const auto kernel = __builtin_cpu_supports("avx512f") ? sum_512 : sum_plain;
  return tbb::parallel_reduce(
      Range(0, n, block), 0.0,
      [&](const Range &r, double s) { return s + kernel(a, r.begin(), r.end()); },
      [](double x, double y) { return x + y; });
}

} // namespace bench

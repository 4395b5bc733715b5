// What an engineer would write by hand: the yardstick of the benchmark.
#pragma once

#include <cstdint>

namespace bench {

// z = a * b + c over n floats, oneTBB and AVX-512 (AVX2 where that is missing). `stream` stores around
// the caches. Arrays must be 64-byte aligned.
void triad_by_hand(const float *a, const float *b, const float *c, float *z, std::int64_t n,
                   bool stream);

// The least traffic of kernels that read one or two arrays and write one, with next to no work: z = a + a
// and z = a * b. Stored around the caches where `stream` says so.
void read_write_by_hand(const float *a, float *z, std::int64_t n, bool stream);
void read_read_write_by_hand(const float *a, const float *b, float *z, std::int64_t n, bool stream);

// The sum of n floats in double accumulators, parallel.
double sum_by_hand(const float *a, std::int64_t n);

} // namespace bench

// What an engineer would write by hand, as peers of the cases: the loops of loops_table.cpp spread
// over oneTBB.
#pragma once

#include <broadloom/array.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct HandWritten {
  std::string name; // "C++", "C++ streaming" (stores go around the caches)
  std::vector<broadloom::Array> outputs;
  std::function<void()> call;
};

// The ways in which a case is written by hand, each with outputs of its own; none for a `key`
// (Case::peer_key) that is unknown, for operands in another layout than the loops assume, and
// without AVX2.
std::vector<HandWritten> find_hand_written(const std::string &key,
                                           const std::vector<broadloom::Array> &inputs,
                                           const std::vector<broadloom::Array> &outputs);

// The least traffic of kernels that read one or two arrays and write one, with next to no work: z =
// 1 + a and z = 1 + a + b. Stored around the caches where `stream` says so. Arrays must be 64-byte
// aligned.
void read_write_by_hand(const float *a, float *z, std::int64_t n, bool stream);
void read_read_write_by_hand(const float *a, const float *b, float *z, std::int64_t n, bool stream);

} // namespace bench

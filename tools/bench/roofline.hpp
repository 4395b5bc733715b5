// The roofline of the moment: how fast this machine moves bytes and does arithmetic right now.
//
// Hand-written loops (loops_table.cpp) over memory with huge pages move as many bytes as a case
// must, in the same proportion of reads to writes, in between the rounds of that case: with
// ordinary stores and around the caches, on one thread and on all. The fastest of these ways is the
// roof.
#pragma once

#include "bench/row.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// A case's traffic as streams of equal length that are read, and one that is written.
//   read 192 MB, write 64 MB -> {reads 3, writes, 16M floats, scale 1}
//   read 64 MB + 1 KB, write nothing to speak of -> {reads 1, no writes, 16M floats, scale 1.00001}
struct Mix {
  int reads = 0;
  bool writes = false;
  std::int64_t elements = 0; // of f32, for each stream
  double scale = 1;          // bytes of the case over bytes of the streams
};
Mix mix_for(std::int64_t read_bytes, std::int64_t write_bytes);

class Probe {
public:
  // Throws std::runtime_error on a machine without AVX2.
  Probe();
  ~Probe();

  struct Way {
    std::string name;
    std::function<void()> call;
    double scale = 1; // the least time of the case is that of the call times this
    double gb = 0;    // moved by the call, in GB
  };
  // For traffic of the case's size; small ones also on one thread.
  std::vector<Way> ways(const Mix &mix);

  // One measurement of all threads: floating-point operations in a second, an fma being one. 400000
  // iterations take some 2 ms, beside which waking a thread is short.
  double operations_per_second(std::int64_t iterations = 400000) const;

  // The machine's own numbers: read, copy and triad over 64 MB streams, with both kinds of stores,
  // on one thread and all; and the peak of arithmetic.
  std::vector<ProbeLine> table();

private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

} // namespace bench

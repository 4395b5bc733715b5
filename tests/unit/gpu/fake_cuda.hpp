// What the fake driver has been asked for, and what it shall do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace broadloom::gpu::test {

struct Seen {
  struct Launch {
    std::string phase;
    unsigned groups, threads;
    std::vector<std::int64_t> words;
  };
  std::vector<Launch> launches;
  int version = 12040, depth = 0, modules = 0;
  std::size_t bytes = 0, most_bytes = std::size_t(1) << 30;
  std::string fails_at; // a function of the driver
};

} // namespace broadloom::gpu::test

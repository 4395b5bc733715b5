// What the fake driver has been asked for, and what it shall do.
#pragma once

#include <atomic>
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
    void *stream;
  };
  struct Wait { // of a stream for what was on another
    void *stream, *for_stream;
  };
  std::vector<Launch> launches;
  std::vector<Wait> waits;
  int version = 12040, depth = 0, modules = 0, links = 0, events = 0;
  int copies_out = 0, copies_there = 0; // to the host, and within the device
  int fails_with = 0;                   // what fails_at gives; 0: what is likely there
  std::size_t bytes = 0, most_bytes = std::size_t(1) << 30;
  std::string fails_at;              // a function of the driver
  std::atomic<bool> *sets = nullptr; // by each launch
};

} // namespace broadloom::gpu::test

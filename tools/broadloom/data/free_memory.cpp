// See memory.hpp.
#include "tools/broadloom/data/free_memory.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>

namespace broadloom::cli {

namespace {

constexpr std::int64_t unlimited = std::int64_t(1) << 62;
constexpr std::int64_t small = std::int64_t(64) << 20; // not worth reading files for

std::int64_t available() { // of the machine
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::int64_t kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
  }
  return unlimited;
}

std::optional<std::int64_t> number_in(const char *path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt; // "max" is none
}

// In a container the group's files stand at the mount point, of version 2 or 1.
std::int64_t available(const char *limit, const char *used) {
  const auto most = number_in(limit), now = number_in(used);
  return most && now ? std::max<std::int64_t>(*most - *now, 0) : unlimited;
}

} // namespace

std::int64_t free_memory() {
  return std::min({available(),
                   available("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
                   available("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                             "/sys/fs/cgroup/memory/memory.usage_in_bytes")});
}

void require_memory(std::int64_t bytes, const std::string &what) {
  if (bytes < small) return;
  const std::int64_t free = free_memory();
  if (bytes <= free) return;
  throw DataError("E0305",
                  fmt::format("no memory for {}: {:.1f} GB are needed, {:.1f} GB are free", what,
                              double(bytes) * 1e-9, double(free) * 1e-9),
                  {}, "use smaller arrays, or a machine with more memory");
}

std::int64_t bytes_of(std::int64_t elements, std::int64_t size) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(elements, size, &bytes) ? unlimited : std::min(bytes, unlimited);
}

} // namespace broadloom::cli

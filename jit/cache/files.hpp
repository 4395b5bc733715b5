// What the parts of the disk cache know of its files: see disk.hpp.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>

namespace broadloom::jit {

inline constexpr std::string_view entry_prefix = "llvmcache-";
inline constexpr std::string_view unfinished_prefix = "unfinished-";
inline constexpr std::time_t hour = 3600;

struct Descriptor {
  int fd;
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

inline bool put(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    content.remove_prefix(std::size_t(count));
  }
  return true;
}

} // namespace broadloom::jit

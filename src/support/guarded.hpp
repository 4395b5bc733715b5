// Memory between two pages that nobody may touch.
#pragma once

#include <cstddef>
#include <span>

namespace broadloom::support {

// `size` bytes that begin at the page after a forbidden one, or (`at_end`) end at the page before
// one. A copy lies likewise.
class Guarded {
public:
  Guarded() = default;
  Guarded(std::size_t size, bool at_end);
  Guarded(const Guarded &other);
  Guarded(Guarded &&other) noexcept;
  Guarded &operator=(Guarded other) noexcept;
  ~Guarded();

  unsigned char *data() { return data_; }
  const unsigned char *data() const { return data_; }
  std::size_t size() const { return size_; }
  // What lies between the forbidden page before and the first byte: all that is left of the first
  // page, where `at_end`.
  std::span<unsigned char> slack();
  void forbid_writes();

private:
  void *mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  unsigned char *data_ = nullptr;
  std::size_t size_ = 0;
  bool at_end_ = false;
};

} // namespace broadloom::support

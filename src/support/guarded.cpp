// See guarded.hpp.
#include "support/guarded.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <utility>

namespace broadloom::support {

static std::size_t page_size() { return std::size_t(sysconf(_SC_PAGESIZE)); }

Guarded::Guarded(std::size_t size, bool at_end) : size_(size), at_end_(at_end) {
  const std::size_t page = page_size();
  const std::size_t inside = (size + page - 1) / page * page;
  mapped_bytes_ = inside + 2 * page;
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  unsigned char *first = static_cast<unsigned char *>(mapped_) + page;
  if (inside > 0 && mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped_, mapped_bytes_);
    throw std::bad_alloc();
  }
  data_ = at_end ? first + (inside - size) : first;
}

Guarded::Guarded(const Guarded &other) : Guarded(other.size_, other.at_end_) {
  if (size_ > 0) std::memcpy(data_, other.data_, size_);
}

Guarded::Guarded(Guarded &&other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)), mapped_bytes_(other.mapped_bytes_),
      data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
      at_end_(other.at_end_) {}

Guarded &Guarded::operator=(Guarded other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(at_end_, other.at_end_);
  return *this;
}

Guarded::~Guarded() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

std::span<unsigned char> Guarded::slack() {
  if (mapped_ == nullptr) return {};
  unsigned char *first = static_cast<unsigned char *>(mapped_) + page_size();
  return {first, std::size_t(data_ - first)};
}

void Guarded::forbid_writes() {
  const std::size_t inside = mapped_bytes_ - 2 * page_size();
  if (mapped_ != nullptr && inside > 0)
    mprotect(static_cast<unsigned char *>(mapped_) + page_size(), inside, PROT_READ);
}

} // namespace broadloom::support

// An uninitialised array of trivial elements, on the stack where it is small.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace broadloom::jit {

template <class T, std::size_t size> class Small {
public:
  explicit Small(std::size_t count) {
    if (count > size) many_.resize(count);
    data_ = count > size ? many_.data() : reinterpret_cast<T *>(few_);
  }
  Small(const Small &) = delete;
  Small &operator=(const Small &) = delete;
  T &operator[](std::size_t k) { return data_[k]; }
  T *data() { return data_; }

private:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  alignas(T) std::byte few_[sizeof(T) * size];
  std::vector<T> many_;
  T *data_;
};

inline constexpr std::size_t few_operands = 24;
inline constexpr std::size_t few_buffers = 32;

} // namespace broadloom::jit

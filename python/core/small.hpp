// A row of a few values without an allocation; more of them are allocated.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace broadloom::python {

template <class T, std::size_t few = 8> class Small {
  static_assert(std::is_trivially_destructible_v<T>);

public:
  explicit Small(std::size_t count) : size_(count) {
    std::byte *place = here_;
    if (count > few) {
      there_ = std::make_unique<std::byte[]>(count * sizeof(T));
      place = there_.get();
    }
    data_ = reinterpret_cast<T *>(place);
    for (std::size_t k = 0; k < count; ++k) new (data_ + k) T();
  }
  Small(const Small &) = delete;
  Small &operator=(const Small &) = delete;

  T &operator[](std::size_t k) { return data_[k]; }
  const T &operator[](std::size_t k) const { return data_[k]; }
  T *begin() { return data_; }
  T *end() { return data_ + size_; }
  T *data() { return data_; }
  std::size_t size() const { return size_; }

private:
  std::size_t size_;
  T *data_;
  std::unique_ptr<std::byte[]> there_;
  alignas(T) std::byte here_[few * sizeof(T)];
};

} // namespace broadloom::python

// Arrays of random layout and content, in memory of their own with a margin around.
#pragma once

#include "ops/ops.hpp"
#include "random.hpp"

#include <broadloom/array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace broadloom::differential {

// Equal bits, all NaNs being equal; of complex numbers, part by part.
bool same(ops::Scalar a, ops::Scalar b, DType dtype);

// An array in C or F order or with its dims shuffled, some of them reversed, stepped or (where it is
// only read) repeated with stride 0, at an address that is aligned to its elements and no more.
class Operand {
public:
  Operand(Random &random, DType dtype, std::span<const std::int64_t> shape, bool writable);

  void fill(Random &random, bool exact);
  // Numbers of a size near 1, all different, so that few of them lie at the corners of functions.
  void fill_smooth(Random &random);

  AnyView view();
  const Layout &layout() const { return layout_; }
  std::int64_t count() const { return element_count(layout_); }

  // The element at position k in C order.
  ops::Scalar element(std::int64_t k) const;

  // Whether all bytes that belong to no element are those of `before`, which has the same layout.
  bool only_elements_changed(const Operand &before) const;

private:
  std::int64_t offset(std::int64_t k) const; // in bytes, into the storage
  unsigned char *bytes() { return reinterpret_cast<unsigned char *>(storage_.data()); }
  const unsigned char *bytes() const {
    return reinterpret_cast<const unsigned char *>(storage_.data());
  }

  DType dtype_;
  bool writable_;
  Layout layout_;
  std::int64_t first_ = 0; // of the element at position 0, in elements
  std::vector<std::uint64_t> storage_;
};

} // namespace broadloom::differential

// Arrays of random layout and content, each in memory of its own between forbidden pages.
#pragma once

#include "random.hpp"

#include "ops/ops.hpp"
#include "support/guarded.hpp"

#include <broadloom/array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace broadloom::differential {

// Equal bits, all NaNs being equal; of complex numbers, part by part.
bool same(ops::Scalar a, ops::Scalar b, DType dtype);

// C or F order or dims shuffled, some of them reversed, stepped or (where it is only read) repeated
// with stride 0.
Layout random_layout(Random &random, std::span<const std::int64_t> shape, bool writable,
                     bool &at_end);

// An array in memory of its own, whose lowest element (or `at_end` its highest) touches a page that
// nobody may touch. Bytes between its elements hold a pattern.
class Operand {
public:
  static constexpr unsigned char pattern = 0xa5;

  Operand(Random &random, DType dtype, std::span<const std::int64_t> shape, bool writable);
  Operand(DType dtype, const Layout &layout, bool at_end, bool writable,
          unsigned char filled_with = pattern);

  void fill(Random &random, bool exact);
  // Numbers of a size near 1, all different, so that few of them lie at the corners of functions.
  void fill_smooth(Random &random);
  void fill_from(const AnyView &other); // of this shape and dtype

  AnyView view();
  const Layout &layout() const { return layout_; }
  std::int64_t count() const { return element_count(layout_); }

  // The element at position k in C order.
  ops::Scalar element(std::int64_t k) const;
  std::vector<unsigned char> dense() const; // all elements in C order

  // Whether all bytes that belong to no element are those of `before`, which has the same layout.
  bool only_elements_changed(const Operand &before) const;

private:
  void allocate(bool at_end, unsigned char filled_with);
  void fill_many(Random &random, bool exact);
  void fill_values(Random &random, bool exact, bool specials);
  std::int64_t offset(std::int64_t k) const; // in bytes, into the storage
  unsigned char *bytes() { return storage_.data(); }
  const unsigned char *bytes() const { return storage_.data(); }

  DType dtype_;
  bool writable_;
  Layout layout_;
  std::int64_t first_ = 0; // of the element at position 0, in elements
  support::Guarded storage_;
};

} // namespace broadloom::differential

// Copies of arrays with borders around them (expr/pad.hpp), and with zeros around and between their
// elements: what windows see that look there.
//
//   pad(x, 0: (2, 1), reflect)                  x0 x1 x2   is copied as   x2 x1 x0 x1 x2 x1
//   x[(p - u) / 2], p in 0..5, u in 0..2        x of three elements, positions -2 to 5:  0 0 x0 0
//                                               x1 0 x2 0
//
// Along each dim the copy is made up of runs of neighbours in the array, forwards, backwards or
// standing still, and of runs of one number. Such a copy is made once in a call for all windows
// that look at the same positions.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <optional>
#include <vector>

namespace broadloom::kernel {

using Pads = std::vector<spec::TypedWindow::Pad>;

struct Padding {
  struct Dim {
    std::int64_t first = 0, last = -1; // the positions, before they are divided
    std::int64_t divisor = 1;
    friend bool operator==(const Dim &, const Dim &) = default;
  };
  std::uint32_t of = 0;  // the input
  Pads pads;             // with its borders, in the order in which they are filled
  std::vector<Dim> dims; // positions in it; empty: all of it, and no zeros
  // The dim that lies outermost, of any extent: that of the steps of a loop. Where few rows are
  // kept along it, the others lie as they do in a copy of all rows.
  std::optional<int> outermost = {};
  // The border along a dim of the array; null: there is none. And its elements before the first.
  const spec::TypedWindow::Pad *pad_of(std::size_t dim) const {
    for (const spec::TypedWindow::Pad &pad : pads)
      if (std::size_t(pad.dim) == dim) return &pad;
    return nullptr;
  }
  std::int64_t before(std::size_t dim) const {
    const spec::TypedWindow::Pad *pad = pad_of(dim);
    return pad != nullptr ? pad->before : 0;
  }
  friend bool operator==(const Padding &, const Padding &) = default;
};

// How elements are brought to a copy: here by this process, elsewhere by a device.
class Elements {
public:
  virtual ~Elements() = default;
  // As array::copy_elements.
  virtual void copy(const AnyView &from, void *to, const Layout &layout) const;
  virtual void fill(DType dtype, const void *number, void *to, const Layout &layout) const;
  static const Elements &here();
};

// The dims of an array from the slowest to the fastest; those of 1 and those that repeat stay where
// C order has them.
std::vector<int> dims_in_order(const Layout &of);

// Where it lies: without gaps, dims in the order in which they lie in the array but for
// `outermost`. Throws ShapeError E0112.
Layout padded_layout(const Padding &padding, const Layout &of);

// Fills a copy that lies so. No dim of 0 elements has a border of others.
void pad(const Padding &padding, const AnyView &of, const AnyView &copy,
         const Elements &elements = Elements::here());
// The zeros and borders of numbers alone, and all but these.
void pad_numbers(const Padding &padding, const AnyView &of, const AnyView &copy,
                 const Elements &elements = Elements::here());
void pad_again(const Padding &padding, const AnyView &of, const AnyView &copy,
               const Elements &elements = Elements::here());
// The same of rows `first` to `first + count` along a dim of the array alone, which has no borders
// along it.
void pad_rows_again(const Padding &padding, const AnyView &of, const AnyView &copy, std::size_t dim,
                    std::int64_t first, std::int64_t count,
                    const Elements &elements = Elements::here());

// Of an array that lies inside of its copy: the borders alone of these rows of it, which are there.
// Rows before the first and behind the last one, of as many as the border has, are all border.
void pad_around(const Padding &padding, const AnyView &of, const AnyView &copy, std::size_t dim,
                std::int64_t first, std::int64_t count);
// The row that stands in place of row `row` of `rows`, in a border along `dim` that does not wrap.
std::int64_t row_in_border(const Padding &padding, std::size_t dim, std::int64_t row,
                           std::int64_t rows);

} // namespace broadloom::kernel

// See borders.hpp. The array goes into the middle; then dim after dim is filled, each from what is there: so a later padding also fills
// the corners, from borders or with its number.
#include "kernel/borders.hpp"

#include "array/copy.hpp"
#include "kernel/padding.hpp"

namespace broadloom::kernel {
namespace {

class Filler {
public:
  Filler(const Pads &pads, const AnyView &of, const AnyView &copy)
      : of_(of), strides_(copy.layout), element_(std::int64_t(size_of(of.dtype))),
        elements_(static_cast<char *>(copy.data)), filled_(of.layout) {
    for (const auto &pad : pads) start_ += pad.before * stride(pad.dim);
  }

  void middle() {
    filled_.strides = strides_.strides;
    array::copy_elements(of_, at(start_), filled_);
  }

  void border(const spec::TypedWindow::Pad &pad) {
    const std::int64_t count = filled_.extents[std::size_t(pad.dim)], first = start_;
    switch (pad.mode) {
    case PadMode::Constant: {
      ops::store(number_, of_.dtype, pad.value);
      constant(pad, first - pad.before * stride(pad.dim), pad.before);
      constant(pad, first + count * stride(pad.dim), pad.after);
      break;
    }
    case PadMode::Edge:
      copy(pad, -pad.before, 0, 0, pad.before);
      copy(pad, count, count - 1, 0, pad.after);
      break;
    case PadMode::Wrap:
    case PadMode::Reflect:
      repeat(pad, -pad.before, 0, count);
      repeat(pad, count, count + pad.after, count);
      break;
    }
    start_ -= pad.before * stride(pad.dim);
    filled_.extents[std::size_t(pad.dim)] += pad.before + pad.after;
  }

private:
  std::int64_t stride(int dim) const { return strides_.strides[std::size_t(dim)]; }
  char *at(std::int64_t offset) const { return elements_ + offset * element_; }

  // So many rows from `offset` on.
  void constant(const spec::TypedWindow::Pad &pad, std::int64_t offset, std::int64_t rows) const {
    Layout to = filled_;
    to.extents[std::size_t(pad.dim)] = rows;
    AnyView from{of_.dtype, const_cast<char *>(number_), false, to};
    for (int d = 0; d < to.rank; ++d) from.layout.strides[std::size_t(d)] = 0;
    if (rows > 0) array::copy_elements(from, at(offset), to);
  }

  // So many rows of the middle, in steps of -1, 0 or 1 from row `read` on, to those from `write` on.
  void copy(const spec::TypedWindow::Pad &pad, std::int64_t write, std::int64_t read,
            std::int64_t step, std::int64_t rows) const {
    if (rows <= 0) return;
    Layout to = filled_;
    to.extents[std::size_t(pad.dim)] = rows;
    AnyView from{of_.dtype, at(start_ + read * stride(pad.dim)), false, to};
    from.layout.strides[std::size_t(pad.dim)] = step * stride(pad.dim);
    array::copy_elements(from, at(start_ + write * stride(pad.dim)), to);
  }

  // Rows from `row` to before `end`, outside of the `count` of the middle, run by run of neighbours there.
  void repeat(const spec::TypedWindow::Pad &pad, std::int64_t row, std::int64_t end,
              std::int64_t count) const {
    if (count == 1) return copy(pad, row, 0, 0, end - row);
    const bool turns = pad.mode == PadMode::Reflect;
    const std::int64_t period = turns ? 2 * (count - 1) : count;
    while (row < end) {
      const std::int64_t in_period = (row % period + period) % period;
      const bool is_back = turns && in_period >= count - 1;
      const std::int64_t left = is_back || !turns ? period - in_period : count - 1 - in_period;
      const std::int64_t rows = std::min(left, end - row);
      copy(pad, row, is_back ? period - in_period : in_period, is_back ? -1 : 1, rows);
      row += rows;
    }
  }

  const AnyView &of_;
  const Layout strides_;
  const std::int64_t element_;
  char *const elements_;
  Layout filled_;          // how far the copy is filled
  std::int64_t start_ = 0; // of the middle, in elements
  alignas(16) char number_[16] = {};
};

} // namespace

Layout bordered_layout(const Pads &pads, const Layout &of) {
  std::vector<std::int64_t> shape(of.shape().begin(), of.shape().end());
  for (const auto &pad : pads) shape[std::size_t(pad.dim)] += pad.before + pad.after;
  return dense_as(shape, of);
}

Array bordered(const Pads &pads, const AnyView &of) {
  Array copy = Array::to_be_written(of.dtype, bordered_layout(pads, of.layout));
  border_again(pads, of, copy);
  return copy;
}

void border_again(const Pads &pads, const AnyView &of, const AnyView &copy) {
  Filler filler(pads, of, copy);
  filler.middle();
  for (const auto &pad : pads) filler.border(pad);
}

} // namespace broadloom::kernel

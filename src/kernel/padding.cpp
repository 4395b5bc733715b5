// See padding.hpp.
#include "kernel/padding.hpp"

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "kernel/layouts.hpp"

#include <algorithm>
#include <cstring>

namespace broadloom::kernel {
namespace {

// Neighbours along a dim of the copy that are neighbours in the array, or elements of a border of
// one number.
struct Run {
  std::int64_t write = 0, write_step = 1, count = 0;
  std::int64_t read = 0, read_step = 0;
  int number = -1; // the border that it is in, of Padding::pads
  bool is_inside = false;
};

class Runs {
public:
  Runs(const Padding &padding, std::size_t dim, std::int64_t extent) : extent_(extent) {
    for (std::size_t k = 0; k < padding.pads.size(); ++k)
      if (std::size_t(padding.pads[k].dim) == dim) pad_ = &padding.pads[k], index_ = int(k);
    if (pad_ != nullptr) before_ = pad_->before, after_ = pad_->after;
    if (!padding.dims.empty())
      positions_ = padding.dims[dim];
    else
      positions_ = {0, before_ + extent + after_ - 1, 1};
  }

  std::vector<Run> find() {
    // Element k of the padded array is at position k * divisor. What is left out is zero.
    const std::int64_t divisor = positions_.divisor;
    const std::int64_t least =
        positions_.first <= 0 ? 0 : positions_.first / divisor + (positions_.first % divisor != 0);
    const std::int64_t end =
        positions_.last < 0 ? 0
                            : std::min(positions_.last / divisor + 1, before_ + extent_ + after_);
    if (least >= end) return {};
    border(least, std::min(end, before_));
    neighbours(std::max(least, before_), std::min(end, before_ + extent_), 0, 1);
    border(std::max(least, before_ + extent_), end);
    return std::move(runs_);
  }

private:
  void add(std::int64_t position, Run run) {
    run.write = position * positions_.divisor - positions_.first;
    run.write_step = positions_.divisor;
    runs_.push_back(run);
  }
  // Elements from..end of the padded array, of which the one at `from` is `read` behind the
  // neighbour there.
  void neighbours(std::int64_t from, std::int64_t end, std::int64_t first, std::int64_t step) {
    if (from < end)
      add(from, {.count = end - from,
                 .read = first + (from - before_) * step,
                 .read_step = step,
                 .is_inside = true});
  }
  void border(std::int64_t from, std::int64_t end) {
    if (from >= end) return;
    switch (pad_->mode) {
    case PadMode::Constant: return add(from, {.count = end - from, .number = index_});
    case PadMode::Edge:
      return add(from, {.count = end - from, .read = from < before_ ? 0 : extent_ - 1});
    case PadMode::Wrap:
    case PadMode::Reflect: return repeat(from, end);
    }
  }
  void repeat(std::int64_t from, std::int64_t end) {
    if (extent_ == 1) return add(from, {.count = end - from});
    const bool turns = pad_->mode == PadMode::Reflect;
    const std::int64_t period = turns ? 2 * (extent_ - 1) : extent_;
    while (from < end) {
      const std::int64_t at = ((from - before_) % period + period) % period;
      const bool is_back = turns && at >= extent_ - 1;
      const std::int64_t left = is_back || !turns ? period - at : extent_ - 1 - at;
      const std::int64_t count = std::min(left, end - from);
      add(from,
          {.count = count, .read = is_back ? period - at : at, .read_step = is_back ? -1 : 1});
      from += count;
    }
  }

  const std::int64_t extent_;
  const spec::TypedWindow::Pad *pad_ = nullptr;
  int index_ = -1;
  std::int64_t before_ = 0, after_ = 0;
  Padding::Dim positions_;
  std::vector<Run> runs_;
};

enum class Which { Numbers, Elements, Borders };

// Brings each box of runs to the copy. In a corner between borders of numbers stands that of the
// border which was filled last.
void fill(const Padding &padding, const AnyView &of, const AnyView &copy, Which which,
          const Elements &elements) {
  const auto rank = std::size_t(of.layout.rank);
  std::vector<std::vector<Run>> runs;
  for (std::size_t d = 0; d < rank; ++d) {
    runs.push_back(Runs(padding, d, of.layout.extents[d]).find());
    if (runs.back().empty()) return;
  }
  const auto element = std::int64_t(size_of(of.dtype));
  std::vector<std::size_t> box(rank);
  for (;;) {
    AnyView from = of;
    Layout to = copy.layout;
    std::int64_t read = 0, written = 0; // elements before the first that is copied
    int number = -1;
    bool is_inside = true;
    for (std::size_t d = 0; d < rank; ++d) {
      const Run &run = runs[d][box[d]];
      is_inside = is_inside && run.is_inside;
      from.layout.extents[d] = to.extents[d] = run.count;
      read += run.read * of.layout.strides[d];
      written += run.write * copy.layout.strides[d];
      from.layout.strides[d] *= run.read_step;
      to.strides[d] *= run.write_step;
      number = std::max(number, run.number);
    }
    from.data = static_cast<char *>(of.data) + read * element;
    char *const target = static_cast<char *>(copy.data) + written * element;
    if (which == Which::Borders ? !is_inside : (number < 0) == (which == Which::Elements)) {
      if (number < 0) {
        elements.copy(from, target, to);
      } else {
        alignas(16) char value[16] = {};
        ops::store(value, of.dtype, padding.pads[std::size_t(number)].value);
        elements.fill(of.dtype, value, target, to);
      }
    }
    std::size_t d = rank;
    while (d > 0 && ++box[d - 1] == runs[d - 1].size()) box[--d] = 0;
    if (d == 0) return;
  }
}

} // namespace

void Elements::copy(const AnyView &from, void *to, const Layout &layout) const {
  array::copy_elements(from, to, layout);
}

void Elements::fill(DType dtype, const void *number, void *to, const Layout &layout) const {
  const auto *bytes = static_cast<const char *>(number);
  const bool is_zero = std::all_of(bytes, bytes + size_of(dtype), [](char c) { return c == 0; });
  if (is_zero && array::is_c_contiguous(layout)) {
    std::memset(to, 0, std::size_t(element_count(layout)) * size_of(dtype));
    return;
  }
  Layout still = layout;
  still.strides = {};
  array::copy_elements({dtype, const_cast<void *>(number), false, still}, to, layout);
}

const Elements &Elements::here() {
  static const Elements made;
  return made;
}

Layout padded_layout(const Padding &padding, const Layout &of) {
  std::vector<std::int64_t> shape(of.shape().begin(), of.shape().end());
  for (std::size_t d = 0; d < padding.dims.size(); ++d)
    shape[d] = padding.dims[d].last - padding.dims[d].first + 1;
  if (padding.dims.empty())
    for (const auto &pad : padding.pads) shape[std::size_t(pad.dim)] += pad.before + pad.after;
  std::vector<int> dims = dims_in_order(of);
  if (padding.outermost) {
    const auto at = std::ranges::find(dims, *padding.outermost);
    std::rotate(dims.begin(), at, at + 1);
  }
  return dense_in_order(contiguous_layout(shape), dims); // the size is checked
}

std::vector<int> dims_in_order(const Layout &of) {
  std::vector<std::int64_t> strides;
  for (int d = 0; d < of.rank; ++d)
    strides.push_back(of.extents[std::size_t(d)] > 1 ? of.strides[std::size_t(d)] : 0);
  return slowest_first(strides);
}

void pad_numbers(const Padding &padding, const AnyView &of, const AnyView &copy,
                 const Elements &elements) {
  alignas(16) constexpr char zero[16] = {};
  if (!padding.dims.empty()) // zeros may lie between and around the elements
    elements.fill(of.dtype, zero, copy.data, copy.layout);
  fill(padding, of, copy, Which::Numbers, elements);
}

void pad(const Padding &padding, const AnyView &of, const AnyView &copy, const Elements &elements) {
  pad_numbers(padding, of, copy, elements);
  fill(padding, of, copy, Which::Elements, elements);
}

void pad_again(const Padding &padding, const AnyView &of, const AnyView &copy,
               const Elements &elements) {
  fill(padding, of, copy, Which::Elements, elements);
}

void pad_rows_again(const Padding &padding, const AnyView &of, const AnyView &copy, std::size_t dim,
                    std::int64_t first, std::int64_t count, const Elements &elements) {
  Padding rows = padding;
  std::int64_t before = first; // rows of the copy
  if (!rows.dims.empty()) {
    before -= rows.dims[dim].first;
    rows.dims[dim] = {0, count - 1, 1};
  }
  fill(rows, array::rows_of(of, dim, first, count), array::rows_of(copy, dim, before, count),
       Which::Elements, elements);
}

void pad_around(const Padding &padding, const AnyView &of, const AnyView &copy, std::size_t dim,
                std::int64_t first, std::int64_t count) {
  Padding rows = padding;
  for (const std::int64_t extent : copy.layout.shape()) rows.dims.push_back({0, extent - 1, 1});
  first += padding.before(dim);
  rows.dims[dim] = {first, first + count - 1, 1};
  fill(rows, of, array::rows_of(copy, dim, first, count), Which::Borders, Elements::here());
}

std::int64_t row_in_border(const Padding &padding, std::size_t dim, std::int64_t row,
                           std::int64_t rows) {
  const std::int64_t nearest = std::clamp<std::int64_t>(row, 0, rows - 1);
  const spec::TypedWindow::Pad *pad = padding.pad_of(dim);
  return pad != nullptr && pad->mode == PadMode::Reflect ? 2 * nearest - row : nearest;
}

} // namespace broadloom::kernel

// Printing in two passes: format the elements that are shown, then lay them out at one width.
//
//   [[0.5, 1.0, ..., 2.5],
//    [3.0, 3.5, ..., 4.0]]
#include "array/print.hpp"

#include "support/element.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

namespace broadloom::array {

namespace {

constexpr std::int64_t elide_above = 1000; // elements
constexpr std::int64_t edge = 3;           // elements shown at each end of an elided axis

// The fewest digits that read back as the same value; five are enough for f16, four for bf16.
template <class T> std::string shortest(T value) {
  if constexpr (support::is_narrow<T>) {
    const float exact = value;
    for (int digits = 1; digits < 5; ++digits) {
      const std::string text = fmt::format("{:.{}g}", exact, digits);
      if (float(T(std::stod(text))) == exact) return fmt::format("{}", std::stod(text));
    }
    return fmt::format("{}", std::stod(fmt::format("{:.5g}", exact)));
  } else {
    return fmt::format("{}", value);
  }
}

template <class T> std::string element_text(T value, int digits) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", std::int64_t(0) + value);
  } else if constexpr (support::is_complex_type<T>) {
    const std::string im = element_text(value.imag(), digits);
    return element_text(value.real(), digits) + (im[0] == '-' ? "" : "+") + im + "j";
  } else {
    if (std::isnan(value)) return "nan";
    std::string text = digits > 0 ? fmt::format("{:.{}g}", double(value), digits) : shortest(value);
    if (text.find_first_not_of("-0123456789") == text.npos) text += ".0";
    return text;
  }
}

class Printer {
public:
  Printer(const Array &array, int columns, int digits)
      : array_(array), line_width_(std::size_t(std::max(columns, 1))), digits_(digits),
        elide_(array.size() > elide_above) {}

  std::string print() {
    format(0, 0);
    for (const std::string &cell : cells_) width_ = std::max(width_, cell.size());
    lay_out(0);
    return text_;
  }

private:
  // The indices of a dim that are shown; -1 stands for those that are left out.
  std::vector<std::int64_t> shown(int dim) const {
    const std::int64_t extent = array_.shape()[dim];
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < extent; ++i) {
      if (elide_ && extent > 2 * edge && i == edge) {
        indices.push_back(-1);
        i = extent - edge;
      }
      indices.push_back(i);
    }
    return indices;
  }

  // The depth of both walks is the rank, 16 at most.
  void format(int dim, std::int64_t offset) {
    if (dim == array_.rank()) {
      cells_.push_back(support::with_type(array_.dtype(), [&](auto zero) {
        return element_text(array_.data<decltype(zero)>()[offset], digits_);
      }));
      return;
    }
    for (std::int64_t i : shown(dim))
      if (i >= 0) format(dim + 1, offset + i * array_.strides()[dim]);
  }

  void lay_out(int dim) {
    if (dim == array_.rank()) {
      const std::string &cell = cells_[next_++];
      text_.append(array_.rank() > 0 ? width_ - cell.size() : 0, ' ');
      text_ += cell;
      return;
    }
    const bool row = dim == array_.rank() - 1;
    text_ += '[';
    bool first = true;
    for (std::int64_t i : shown(dim)) {
      if (!first) {
        text_ += ',';
        const std::size_t needed = 2 + (i >= 0 ? width_ : 3);
        const bool full = text_.size() - line_start() + needed > line_width_;
        if (row && !full) text_ += ' ';
        if (row && full) break_line(1, dim);
        if (!row) break_line(array_.rank() - 1 - dim, dim);
      }
      first = false;
      if (i >= 0)
        lay_out(dim + 1);
      else
        text_ += "...";
    }
    text_ += ']';
  }

  void break_line(int lines, int dim) {
    text_.append(std::size_t(lines), '\n');
    text_.append(std::size_t(dim) + 1, ' ');
  }

  std::size_t line_start() const {
    const std::size_t at = text_.rfind('\n');
    return at == text_.npos ? 0 : at + 1;
  }

  const Array &array_;
  const std::size_t line_width_;
  const int digits_;
  bool elide_;
  std::vector<std::string> cells_;
  std::size_t width_ = 0, next_ = 0;
  std::string text_;
};

} // namespace

std::string print_digits(const Array &array, int columns, int digits) {
  if (array.raw() == nullptr && array.size() > 0) return "(no memory)";
  return Printer(array, columns, digits).print();
}

} // namespace broadloom::array

namespace broadloom {

std::string print(const Array &array, int columns) {
  return array::print_digits(array, columns, 0);
}

std::ostream &operator<<(std::ostream &out, const Array &array) { return out << print(array); }

} // namespace broadloom

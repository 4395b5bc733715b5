// See plot.hpp.
#include "tools/broadloom/data/plot.hpp"

#include "ops/ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace broadloom::cli {

namespace {

constexpr std::int64_t most_columns = 96, most_rows = 48;
constexpr std::array heights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array shades{" ", "░", "▒", "▓", "█"};

double value_at(const Array &array, std::int64_t offset) {
  const auto step = std::ptrdiff_t(size_of(array.dtype()));
  const ops::Scalar value =
      ops::load(static_cast<const char *>(array.raw()) + offset * step, array.dtype());
  return ops::as_f64(ops::convert(value, array.dtype(), DType::F64));
}

template <class Blocks>
std::string block(const Blocks &blocks, double value, double least, double greatest) {
  if (!std::isfinite(value)) return "?";
  const double share =
      greatest > least ? (value / 2 - least / 2) / (greatest / 2 - least / 2) : 0.5;
  const auto last = double(blocks.size() - 1);
  return blocks[std::size_t(std::clamp(std::round(share * last), 0.0, last))];
}

} // namespace

std::string plot_array(const Array &array, int terminal, int digits) {
  if (is_complex(array.dtype()) || array.rank() < 1 || array.rank() > 2 || array.size() < 2)
    return {};
  const bool matrix = array.rank() == 2;
  const std::int64_t rows = matrix ? array.shape()[0] : 1, columns = array.shape().back();
  if (rows > most_rows || columns > most_columns) return {};
  const std::int64_t down = matrix ? array.strides()[0] : 0, right = array.strides().back();

  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const double value = value_at(array, i * down + j * right);
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
  if (least > greatest) return {};

  constexpr std::int64_t indentation = 4;
  const std::int64_t width = matrix ? 2 : 1; // of an element
  const bool fits = terminal <= 0 || indentation + columns * width <= terminal;
  const std::int64_t drawn =
      fits ? columns : std::max<std::int64_t>(1, (terminal - indentation - 1) / width);
  std::string text;
  for (std::int64_t i = 0; i < rows; ++i) {
    text.append(indentation, ' ');
    for (std::int64_t j = 0; j < drawn; ++j) {
      const double value = value_at(array, i * down + j * right);
      // A cell of a terminal is twice as high as wide.
      text += matrix ? block(shades, value, least, greatest) + block(shades, value, least, greatest)
                     : block(heights, value, least, greatest);
    }
    text += fits ? "\n" : "…\n";
  }
  return text + fmt::format("    {:.{}g} to {:.{}g}\n", least, digits, greatest, digits);
}

} // namespace broadloom::cli

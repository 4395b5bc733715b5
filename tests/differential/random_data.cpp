// See random_data.hpp.
#include "random_data.hpp"

#include "ops/ops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace broadloom::differential {
namespace {

constexpr std::int64_t margin = 64; // elements

double random_float(Random &random, bool exact, bool specials) {
  if (exact) return random.pick<double>({0, 0.5, -0.5, 1, 1, -1, 2, -2, -0.0});
  if (specials && random.chance(5)) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    return random.pick<double>({inf, -inf, std::numeric_limits<double>::quiet_NaN(), -0.0, 0});
  }
  const double value = random.unit() * 2 - 1;
  return random.chance(20) ? std::ldexp(value, random.between(-30, 30)) : value * 3;
}

std::int64_t random_integer(Random &random, bool exact, bool is_signed) {
  if (exact || random.chance(80)) return random.between(is_signed ? -3 : 0, 3);
  return std::int64_t(random.bits());
}

} // namespace

bool same(ops::Scalar a, ops::Scalar b, DType dtype) {
  if (a == b) return true;
  if (!is_float(dtype) && !is_complex(dtype)) return false;
  const auto is_nan = [&](std::uint64_t part) {
    return std::isnan(ops::as_f64(ops::convert({part}, real_dtype(dtype), DType::F64)));
  };
  const auto same_part = [&](std::uint64_t x, std::uint64_t y) {
    return x == y || (is_nan(x) && is_nan(y));
  };
  return same_part(a.bits, b.bits) && same_part(a.imag, b.imag);
}

Operand::Operand(Random &random, DType dtype, std::span<const std::int64_t> shape, bool writable)
    : dtype_(dtype), writable_(writable) {
  layout_ = contiguous_layout(shape);
  std::vector<int> order; // the dim that varies fastest first
  for (int d = layout_.rank; d-- > 0;) order.push_back(d);
  const int kind = random.below(4);
  if (kind == 1) std::reverse(order.begin(), order.end());
  if (kind == 2) random.shuffle(order);
  std::int64_t stride = 1;
  first_ = margin + random.below(4);
  for (int d : order) {
    const std::int64_t n = layout_.extents[std::size_t(d)];
    std::int64_t &own = layout_.strides[std::size_t(d)];
    if (!writable && random.chance(6)) {
      own = 0;
      continue;
    }
    if (random.chance(15)) stride *= random.between(2, 3);
    own = stride;
    stride *= std::max<std::int64_t>(n, 1);
    if (random.chance(15)) {
      first_ += own * (std::max<std::int64_t>(n, 1) - 1);
      own = -own;
    }
  }
  const std::int64_t elements = stride + 2 * margin + 4;
  storage_.assign(std::size_t(elements) * size_of(dtype) / 8 + 1, 0xa5a5a5a5a5a5a5a5u);
}

std::int64_t Operand::offset(std::int64_t k) const {
  std::int64_t at = first_;
  for (int d = layout_.rank; d-- > 0;) {
    const std::int64_t n = layout_.extents[std::size_t(d)];
    at += k % n * layout_.strides[std::size_t(d)];
    k /= n;
  }
  return at * std::int64_t(size_of(dtype_));
}

void Operand::fill(Random &random, bool exact) {
  const bool specials = random.chance(25);
  for (std::int64_t k = 0; k < count(); ++k) {
    ops::Scalar value;
    const auto part = [&] {
      return ops::convert(ops::scalar_from(random_float(random, exact, specials)), DType::F64,
                          real_dtype(dtype_));
    };
    if (dtype_ == DType::Bool)
      value = ops::scalar_from(random.chance(50));
    else if (is_float(dtype_) || is_complex(dtype_))
      value = {part().bits, is_complex(dtype_) ? part().bits : 0};
    else
      value =
          ops::convert(ops::scalar_from(random_integer(random, exact, is_signed_integer(dtype_))),
                       DType::I64, dtype_);
    ops::store(bytes() + offset(k), dtype_, value);
  }
}

void Operand::fill_smooth(Random &random) {
  const bool positive = random.chance(60);
  const auto number = [&](DType dtype) {
    const double size = 0.3 + 1.4 * random.unit();
    return ops::convert(ops::scalar_from(positive || random.chance(50) ? size : -size), DType::F64,
                        dtype);
  };
  for (std::int64_t k = 0; k < count(); ++k) {
    ops::Scalar value;
    if (is_float(dtype_) || is_complex(dtype_)) {
      value.bits = number(real_dtype(dtype_)).bits;
      if (is_complex(dtype_)) value.imag = number(real_dtype(dtype_)).bits;
    } else {
      value =
          ops::convert(ops::scalar_from(std::int64_t(random.between(1, 4))), DType::I64, dtype_);
    }
    ops::store(bytes() + offset(k), dtype_, value);
  }
}

AnyView Operand::view() {
  return {dtype_, bytes() + first_ * std::int64_t(size_of(dtype_)), writable_, layout_};
}

ops::Scalar Operand::element(std::int64_t k) const {
  return ops::load(bytes() + offset(k), dtype_);
}

bool Operand::only_elements_changed(const Operand &before) const {
  Operand expected = before;
  for (std::int64_t k = 0; k < count(); ++k)
    std::memcpy(expected.bytes() + offset(k), bytes() + offset(k), size_of(dtype_));
  return expected.storage_ == storage_;
}

} // namespace broadloom::differential

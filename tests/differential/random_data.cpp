// See random_data.hpp.
#include "random_data.hpp"

#include "array/copy.hpp"
#include "ops/ops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace broadloom::differential {
namespace {

constexpr std::int64_t many = 20000; // elements, filled from a few different values

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

Layout random_layout(Random &random, std::span<const std::int64_t> shape, bool writable,
                     bool &at_end) {
  Layout layout = contiguous_layout(shape);
  std::vector<int> order; // the dim that varies fastest first
  for (int d = layout.rank; d-- > 0;) order.push_back(d);
  const int kind = random.below(4);
  if (kind == 1) std::reverse(order.begin(), order.end());
  if (kind == 2) random.shuffle(order);
  at_end = random.below(4) % 2 == 0;
  std::int64_t stride = 1;
  for (int d : order) {
    const std::int64_t n = layout.extents[std::size_t(d)];
    std::int64_t &own = layout.strides[std::size_t(d)];
    if (!writable && random.chance(6)) {
      own = 0;
      continue;
    }
    if (random.chance(15)) stride *= random.between(2, 3);
    own = stride;
    stride *= std::max<std::int64_t>(n, 1);
    if (random.chance(15)) own = -own;
  }
  return layout;
}

Operand::Operand(Random &random, DType dtype, std::span<const std::int64_t> shape, bool writable)
    : dtype_(dtype), writable_(writable) {
  bool at_end = false;
  layout_ = random_layout(random, shape, writable, at_end);
  allocate(at_end, pattern);
}

Operand::Operand(DType dtype, const Layout &layout, bool at_end, bool writable,
                 unsigned char filled_with)
    : dtype_(dtype), writable_(writable), layout_(layout) {
  allocate(at_end, filled_with);
}

void Operand::allocate(bool at_end, unsigned char filled_with) {
  std::int64_t lowest = 0, highest = 0;
  for (int d = 0; d < layout_.rank; ++d) {
    const std::int64_t last =
        (layout_.extents[std::size_t(d)] - 1) * layout_.strides[std::size_t(d)];
    (last < 0 ? lowest : highest) += last;
  }
  if (count() == 0) lowest = 0, highest = -1;
  first_ = -lowest;
  storage_ = support::Guarded(std::size_t(highest - lowest + 1) * size_of(dtype_), at_end);
  if (storage_.size() > 0) std::memset(storage_.data(), filled_with, storage_.size());
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

// Each element one of some hundred values, and in a quarter of the arrays a few special ones: else
// no long sum would be finite.
void Operand::fill_many(Random &random, bool exact) {
  constexpr int values = 509;
  const Layout few = contiguous_layout(std::vector<std::int64_t>{values});
  Operand pool(dtype_, few, true, true);
  pool.fill_values(random, exact, false);
  const std::size_t size = size_of(dtype_);
  std::vector<unsigned char> elements(std::size_t(count()) * size);
  std::uint64_t state = random.bits() | 1;
  for (std::size_t k = 0; k < std::size_t(count()); ++k) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::memcpy(&elements[k * size], pool.bytes() + state % values * size, size);
  }
  if (!exact && random.chance(25)) {
    Operand special(dtype_, few, true, true);
    special.fill_values(random, false, true);
    for (int k = random.between(1, 5); k > 0; --k)
      std::memcpy(&elements[std::size_t(random.bits() % std::uint64_t(count())) * size],
                  special.bytes() + random.bits() % values * size, size);
  }
  fill_from({dtype_, elements.data(), false, contiguous_layout(layout_.shape())});
}

void Operand::fill(Random &random, bool exact) {
  if (count() > many) return fill_many(random, exact);
  fill_values(random, exact, random.chance(25));
}

void Operand::fill_values(Random &random, bool exact, bool specials) {
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

void Operand::fill_from(const AnyView &other) {
  array::copy_elements(other, bytes() + first_ * std::int64_t(size_of(dtype_)), layout_);
}

std::vector<unsigned char> Operand::dense() const {
  std::vector<unsigned char> elements(std::size_t(count()) * size_of(dtype_));
  auto *first = const_cast<unsigned char *>(bytes()) + first_ * std::int64_t(size_of(dtype_));
  array::copy_elements({dtype_, first, false, layout_}, elements.data(),
                       contiguous_layout(layout_.shape()));
  return elements;
}

bool Operand::only_elements_changed(const Operand &before) const {
  if (storage_.size() == std::size_t(count()) * size_of(dtype_))
    return true; // there is nothing else
  Operand expected = before;
  const std::vector<unsigned char> elements = dense();
  expected.fill_from({dtype_, const_cast<unsigned char *>(elements.data()), false,
                      contiguous_layout(layout_.shape())});
  return std::memcmp(expected.bytes(), bytes(), storage_.size()) == 0;
}

} // namespace broadloom::differential

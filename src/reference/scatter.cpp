// See scatter.hpp.
#include "reference/scatter.hpp"

#include "ops/ops.hpp"
#include "reference/windows.hpp"

#include <cmath>

namespace broadloom::reference {
namespace {

struct Sum { // of one part of a number
  long double total = 0, lost = 0;
  void add(long double x) {
    const long double sum = total + x, rest = sum - total;
    if (std::isfinite(sum)) lost += (total - (sum - rest)) + (x - rest);
    total = sum;
  }
};

struct Sums {
  Sum real, imag;
  std::uint64_t whole = 0; // of integers, modulo 2^64
};

} // namespace

void sum_through_gather(const spec::TypedSpec &spec, const expr::Node &node,
                        std::span<const AnyView> inputs, const Operand &values,
                        const Extents &of_values, const Operand &sums, const Extents &of_sums) {
  const std::uint32_t window = spec.graph.like(node)[0];
  const std::vector<int> &axes = spec.inputs[window].axis_of_dim;
  const std::vector<int> &places = spec.inputs[spec.inputs[window].window->of].axis_of_dim;
  const DType dtype = node.dtype, real = real_dtype(dtype);
  const auto size = std::int64_t(size_of(dtype));
  const auto part_of = [&](std::uint64_t bits) {
    return static_cast<long double>(ops::as_f64(ops::convert({bits}, real, DType::F64)));
  };
  std::int64_t points = 1, count = 1;
  for (const Extent &extent : of_sums) points *= extent.count;
  for (const int axis : axes) count *= of_values[std::size_t(axis)].count;
  std::vector<Sums> all;
  all.resize(std::size_t(points));
  std::vector<std::int64_t> indices(of_values.size(), 0);
  for (std::int64_t n = 0; n < count; ++n) {
    const Read target = read_by(spec, window, inputs, indices);
    const auto &at = target.position;
    std::int64_t place = 0, read = 0; // in bytes
    for (std::size_t d = 0; at && d < places.size(); ++d)
      place += (*at)[d] * sums.strides[std::size_t(places[d])];
    for (const int axis : axes)
      read += indices[std::size_t(axis)] * values.strides[std::size_t(axis)];
    const ops::Scalar value = ops::load(values.data + read, dtype);
    Sums nowhere; // what is read of a number goes there
    Sums &sum = at ? all[std::size_t(place / size)] : nowhere;
    if (is_integer(real)) {
      sum.whole += value.bits;
    } else {
      sum.real.add(part_of(value.bits));
      sum.imag.add(part_of(value.imag));
    }
    for (std::size_t k = axes.size(); k-- > 0;) {
      std::int64_t &index = indices[std::size_t(axes[k])];
      if (++index < of_values[std::size_t(axes[k])].count) break;
      index = 0;
    }
  }
  const auto bits_of = [&](const Sum &sum) {
    return ops::convert(ops::scalar_from(double(sum.total + sum.lost)), DType::F64, real).bits;
  };
  for (std::int64_t p = 0; p < points; ++p) {
    const Sums &sum = all[std::size_t(p)];
    ops::Scalar stored{sum.whole};
    if (!is_integer(real)) stored.bits = bits_of(sum.real);
    if (is_complex(dtype)) stored.imag = bits_of(sum.imag);
    ops::store(sums.data + p * size, dtype, stored);
  }
}

} // namespace broadloom::reference

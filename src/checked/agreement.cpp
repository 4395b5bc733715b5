// See agreement.hpp.
#include "checked/agreement.hpp"

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "ops/ops.hpp"
#include "reference/reference.hpp"
#include "spec/materialise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace broadloom::checked {
namespace {

double unit_of(DType dtype) { // half the distance from 1 to the next number
  switch (real_dtype(dtype)) {
  case DType::F16: return 0x1p-11;
  case DType::BF16: return 0x1p-8;
  case DType::F32: return 0x1p-24;
  default: return 0x1p-53;
  }
}

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::uint64_t draws = 16; // for each size of errors

bool is_continuous(DType dtype) { return is_float(dtype) || is_complex(dtype); }

// The widest rounding behind folds that round, by let; 0 where no fold rounds.
using Units = std::unordered_map<std::string, double>;

// The same by output.
std::vector<double> units_of(const spec::TypedSpec &typed, const Units &lets) {
  std::vector<bool> rounds(typed.graph.size());
  std::vector<double> unit(typed.graph.size(), 0);
  for (const expr::NodeId id : typed.graph.ids()) {
    const expr::Node &node = typed.graph[id];
    if (node.kind == expr::NodeKind::Fold || node.kind == expr::NodeKind::Scan) {
      const ops::Recipe &recipe = typed.graph.recipe(id);
      rounds[id.index] = is_continuous(node.dtype) && !recipe.exact && recipe.has_combine();
    }
    if (node.kind == expr::NodeKind::Input)
      if (const auto let = lets.find(typed.inputs[typed.array_of(node.payload)].name);
          let != lets.end() && let->second > 0) {
        rounds[id.index] = true;
        unit[id.index] = let->second;
      }
    for (const expr::NodeId arg : typed.graph.operands(id)) {
      rounds[id.index] = rounds[id.index] || rounds[arg.index];
      unit[id.index] = std::max(unit[id.index], unit[arg.index]);
    }
    if (rounds[id.index] && is_continuous(node.dtype))
      unit[id.index] = std::max(unit[id.index], unit_of(node.dtype));
  }
  std::vector<double> result;
  for (const spec::TypedOutput &output : typed.outputs) {
    const std::size_t source = (output.add ? output.addend : output.value).index;
    result.push_back(rounds[source] ? std::max(unit[source], unit_of(output.dtype)) : 0);
  }
  return result;
}

// Of lets that read themselves or each other, all round where one does, or what one begins with.
Units units_of_lets(const spec::TypedSpec &typed) {
  Units lets;
  for (const auto &let : typed.materialised) {
    const std::size_t first = let->recurrence ? let->recurrence->first : 0;
    const std::size_t count = let->recurrence ? let->recurrence->count : 1;
    double &widest = lets[let->typed.outputs[0].name];
    if (!let->recurrence) {
      widest = units_of(let->typed, lets)[0];
      for (const std::string &part : let->join ? let->join->parts : std::vector<std::string>())
        widest = std::max(widest, lets[part]);
      continue;
    }
    for (std::size_t k = first; k < first + count; ++k) {
      const spec::Materialised &one = *typed.materialised[k];
      widest = std::max(widest, units_of(one.typed, lets)[0]);
      if (const auto &start = one.recurrence->start)
        widest = std::max(widest, lets[typed.materialised[*start]->typed.outputs[0].name]);
    }
  }
  return lets;
}

// The allowed difference for a greatest element of 1, by output: 0 where no fold rounds.
std::vector<double> relative_tolerances(const spec::TypedSpec &typed) {
  std::vector<double> result;
  for (const double narrow : units_of(typed, units_of_lets(typed))) {
    const double narrowed = narrow > unit_of(DType::F64) ? 64 * narrow : 0;
    result.push_back(narrow > 0 ? 4096 * unit_of(DType::F64) + narrowed : 0);
  }
  return result;
}

std::vector<ops::Scalar> elements(const AnyView &view) {
  const Array dense = array::dense_copy(view);
  std::vector<ops::Scalar> values;
  const auto step = std::ptrdiff_t(size_of(dense.dtype()));
  for (std::int64_t k = 0; k < dense.size(); ++k)
    values.push_back(ops::load(static_cast<const char *>(dense.raw()) + k * step, dense.dtype()));
  return values;
}

// The real parts of an element, or the two of a complex one.
std::array<double, 2> numbers(ops::Scalar value, DType dtype) {
  const DType real = real_dtype(dtype);
  const auto part = [&](std::uint64_t bits) {
    return ops::as_f64(ops::convert({bits}, real, DType::F64));
  };
  return {part(value.bits), is_complex(dtype) ? part(value.imag) : 0};
}

bool same(double x, double y) {
  if (std::isnan(x) && std::isnan(y)) return true;
  return x == y && std::signbit(x) == std::signbit(y);
}

// The real parts of all elements, two for each.
std::vector<double> parts(const AnyView &array) {
  std::vector<double> all;
  for (const ops::Scalar element : elements(array))
    for (const double part : numbers(element, array.dtype)) all.push_back(part);
  return all;
}

// Held against the reference; `moved` is how far each part of an element may be off beside that (or
// nothing).
OutputCheck compare(const std::string &name, const AnyView &got, const AnyView &wanted,
                    double relative, const std::vector<double> &moved) {
  OutputCheck check{name, true, 0, 0, -1};
  const std::vector<double> x = parts(got), y = parts(wanted);
  double largest = 0, worst = -1;
  for (const double part : y)
    if (std::isfinite(part)) largest = std::max(largest, std::fabs(part));
  check.tolerance = relative * largest;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (same(x[k], y[k])) continue;
    const double tolerance = relative * largest + (moved.empty() ? 0 : moved[k]);
    double difference = x[k] == y[k] ? 0 : std::fabs(x[k] - y[k]); // zeros of two signs
    if (!std::isfinite(difference)) difference = std::numeric_limits<double>::quiet_NaN();
    const bool passed = std::isinf(tolerance) || (relative > 0 && difference <= tolerance);
    check.passed = check.passed && passed;
    // Of 0 allowed, any difference is the whole of it.
    const double share = std::isinf(tolerance)    ? 0
                         : std::isnan(difference) ? std::numeric_limits<double>::infinity()
                         : difference == 0        ? 0
                                                  : difference / tolerance;
    if (share > worst) {
      worst = share;
      check.difference = difference;
      check.tolerance = tolerance;
      check.at = std::int64_t(k / 2);
    }
  }
  return check;
}

// How far the reference lets each output's parts be off: 4 times what moving the elements of folds
// does. `before`: of all outputs.
std::vector<std::vector<double>> bounds(const spec::TypedSpec &typed,
                                        std::span<const AnyView> views,
                                        const std::vector<AnyView> &before,
                                        const std::atomic<bool> *cancel) {
  const auto all = [&](const std::vector<Array> &outputs) {
    std::vector<std::vector<double>> values;
    for (const Array &output : outputs) values.push_back(parts(output));
    return values;
  };
  const auto still = all(reference::evaluate(typed, views, before, cancel));
  // How far the draws move each part.
  const auto moved_by = [&](double units) {
    std::vector<std::vector<double>> moved;
    for (const auto &values : still) moved.emplace_back(values.size(), 0);
    for (std::uint64_t draw = 1; draw <= draws; ++draw) {
      const auto now = all(reference::evaluate_shaken(typed, views, before, units, draw, cancel));
      for (std::size_t o = 0; o < now.size(); ++o)
        for (std::size_t k = 0; k < now[o].size(); ++k) {
          if (same(now[o][k], still[o][k])) continue;
          const double by = std::fabs(now[o][k] - still[o][k]);
          moved[o][k] = std::isnan(by) ? infinite : std::max(moved[o][k], by);
        }
    }
    return moved;
  };
  std::vector<std::vector<double>> moved = moved_by(64);
  const std::vector<std::vector<double>> less = moved_by(0.5);
  for (std::size_t o = 0; o < moved.size(); ++o)
    for (std::size_t k = 0; k < moved[o].size();
         ++k) // 1 / sum(x - mean(x, j), j) moves more, the smaller the errors are
      moved[o][k] = less[o][k] > moved[o][k] ? infinite : 4 * moved[o][k];
  return moved;
}

// Zeros for outputs that were not computed.
std::vector<AnyView> all_before(const spec::TypedSpec &typed, std::span<const AnyView> inputs,
                                const Results &results, std::vector<Array> &zeros) {
  const auto shapes = reference::output_shapes(typed, array::layouts_of(inputs));
  std::vector<AnyView> before;
  for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
    const auto at = std::ranges::find(results.names, typed.outputs[o].name) - results.names.begin();
    before.push_back(std::size_t(at) < results.names.size()
                         ? results.before[std::size_t(at)]
                         : AnyView(zeros.emplace_back(typed.outputs[o].dtype, shapes[o])));
  }
  return before;
}

} // namespace

std::vector<OutputCheck> hold_against(const spec::TypedSpec &typed, std::span<const AnyView> inputs,
                                      const Results &results, const std::atomic<bool> *cancel) {
  const std::vector<double> relative = relative_tolerances(typed);
  std::vector<OutputCheck> checks;
  std::vector<std::vector<double>> moved; // had when it is needed
  for (std::size_t k = 0; k < results.names.size(); ++k) {
    const std::string &name = results.names[k];
    std::size_t index = 0;
    while (typed.outputs[index].name != name) ++index;
    checks.push_back(compare(name, results.got[k], results.wanted[k], relative[index], {}));
    if (checks.back().passed || relative[index] == 0) continue;
    if (moved.empty()) {
      std::vector<Array> zeros;
      moved = bounds(typed, inputs, all_before(typed, inputs, results, zeros), cancel);
    }
    checks.back() = compare(name, results.got[k], results.wanted[k], relative[index], moved[index]);
  }
  return checks;
}

bool same_bits(const char *a, const char *b, DType dtype) {
  const std::size_t size = size_of(dtype);
  if (std::memcmp(a, b, size) == 0) return true;
  if (!is_continuous(dtype)) return false;
  const DType real = real_dtype(dtype);
  const auto is_nan = [&](const char *part) {
    return std::isnan(ops::as_f64(ops::convert(ops::load(part, real), real, DType::F64)));
  };
  for (std::size_t k = 0; k < size; k += size_of(real))
    if (std::memcmp(a + k, b + k, size_of(real)) != 0 && !(is_nan(a + k) && is_nan(b + k)))
      return false;
  return true;
}

std::string value_text(const char *element, DType dtype) {
  return print(Array(std::shared_ptr<void>(), dtype, const_cast<char *>(element), Layout()));
}

std::vector<std::int64_t> indices_of(const Layout &layout, std::int64_t element) {
  std::vector<std::int64_t> indices(layout.shape().size());
  for (std::size_t d = indices.size(); d-- > 0; element /= layout.extents[d])
    indices[d] = element % layout.extents[d];
  return indices;
}

std::string position_text(std::span<const std::int64_t> indices) {
  return fmt::format("[{}]", fmt::join(indices, ", "));
}

const char *element_at(const AnyView &view, std::int64_t element) {
  std::int64_t offset = 0;
  for (int d = view.layout.rank; d-- > 0; element /= view.layout.extents[std::size_t(d)])
    offset += element % view.layout.extents[std::size_t(d)] * view.layout.strides[std::size_t(d)];
  return static_cast<const char *>(view.data) + offset * std::int64_t(size_of(view.dtype));
}

} // namespace broadloom::checked

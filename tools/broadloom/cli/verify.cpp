// See verify.hpp.
//
// Elements differ from the reference only by the rounding of folds, and what becomes of it: the compiled
// fold adds up in another order. So an output that depends on no such fold must have equal bits. Others may
// be off by 4096 units of f64 and 64 of the narrowest type that a fold is rounded to, of the greatest
// element: folds are good to 64 units, and few kernels make an error larger than 64 times.
//
// What cancels does: sum(x - mean(x, j), j) is all rounding. Where an output does not keep to this, the reference is
// evaluated some more times with the elements of folds moved by 64 units, and an element may be off by 4 times what that
// moves it. An element of which no bound can be had that way may be anything: it is NaN in one of these and not in another,
// or moves more where errors are less.
#include "tools/broadloom/cli/verify.hpp"

#include "expr/function.hpp"
#include "ops/ops.hpp"
#include "reference/reference.hpp"
#include "spec/materialise.hpp"
#include "support/check.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace broadloom::cli {

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
  for (std::uint32_t n = 0; n < typed.graph.size(); ++n) {
    const expr::NodeId id{n};
    const expr::Node &node = typed.graph[id];
    if (node.kind == expr::NodeKind::Fold || node.kind == expr::NodeKind::Scan) {
      const ops::Recipe &recipe = typed.graph.recipe(id);
      rounds[n] = is_continuous(node.dtype) && !recipe.exact && recipe.has_combine();
    }
    if (node.kind == expr::NodeKind::Input)
      if (const auto let = lets.find(typed.inputs[typed.array_of(node.payload)].name);
          let != lets.end() && let->second > 0) {
        rounds[n] = true;
        unit[n] = let->second;
      }
    for (const expr::NodeId arg : typed.graph.operands(id)) {
      rounds[n] = rounds[n] || rounds[arg.index];
      unit[n] = std::max(unit[n], unit[arg.index]);
    }
    if (rounds[n] && is_continuous(node.dtype)) unit[n] = std::max(unit[n], unit_of(node.dtype));
  }
  std::vector<double> result;
  for (const spec::TypedOutput &output : typed.outputs) {
    const std::size_t source = (output.add ? output.addend : output.value).index;
    result.push_back(rounds[source] ? std::max(unit[source], unit_of(output.dtype)) : 0);
  }
  return result;
}

// Of lets that read themselves or each other, all round where one does.
Units units_of_lets(const spec::TypedSpec &typed) {
  Units lets;
  for (const auto &let : typed.materialised) {
    const std::size_t first = let->recurrence ? let->recurrence->first : 0;
    const std::size_t count = let->recurrence ? let->recurrence->count : 1;
    if (!let->recurrence) {
      lets[let->typed.outputs[0].name] = units_of(let->typed, lets)[0];
      continue;
    }
    double widest = 0;
    for (std::size_t k = first; k < first + count; ++k)
      widest = std::max(widest, units_of(typed.materialised[k]->typed, lets)[0]);
    lets[let->typed.outputs[0].name] = widest;
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

std::vector<ops::Scalar> elements(const Array &array) {
  const Array dense = array.copy();
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
std::vector<double> parts(const Array &array) {
  std::vector<double> all;
  for (const ops::Scalar element : elements(array))
    for (const double part : numbers(element, array.dtype())) all.push_back(part);
  return all;
}

// Held against the reference; `moved` is how far each part of an element may be off beside that (or nothing).
OutputCheck compare(const std::string &name, const Array &got, const Array &wanted, double relative,
                    const std::vector<double> &moved) {
  OutputCheck check{name, true, 0, 0};
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
    if (share > worst) worst = share, check.difference = difference, check.tolerance = tolerance;
  }
  return check;
}

std::vector<Layout> layouts_of(const std::vector<Array> &arrays) {
  std::vector<Layout> layouts;
  for (const Array &array : arrays) layouts.push_back(AnyView(array).layout);
  return layouts;
}

// How far the reference lets each output's parts be off: 4 times what moving the elements of folds does.
std::vector<std::vector<double>> bounds(const spec::TypedSpec &typed,
                                        const std::vector<Array> &inputs,
                                        const std::vector<std::string> &names,
                                        const std::vector<Array> &initial,
                                        const std::atomic<bool> *cancel) {
  const std::vector<AnyView> views(inputs.begin(), inputs.end());
  const auto shapes = reference::output_shapes(typed, layouts_of(inputs));
  std::vector<Array> zeros; // of outputs that were not asked for
  std::vector<AnyView> before;
  for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
    const auto at = std::find(names.begin(), names.end(), typed.outputs[o].name) - names.begin();
    before.push_back(std::size_t(at) < names.size()
                         ? AnyView(initial[std::size_t(at)])
                         : AnyView(zeros.emplace_back(typed.outputs[o].dtype, shapes[o])));
  }
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

std::string number_or_null(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
}

const char *word(Slope slope) {
  switch (slope) {
  case Slope::agrees: return "agrees";
  case Slope::differs: return "differs";
  case Slope::not_smooth: return "not smooth";
  case Slope::no_gradient: return "no gradient";
  }
  return "";
}

} // namespace

bool RunCheck::passed() const {
  return gradient.passed() &&
         std::all_of(outputs.begin(), outputs.end(), [](const OutputCheck &o) { return o.passed; });
}

// A state of the next call has no gradient.
static bool is_update(const spec::TypedSpec &typed, const std::string &output) {
  return std::ranges::any_of(
      typed.outputs, [&](const spec::TypedOutput &o) { return o.update && o.name == output; });
}

RunCheck check_run(const LoopSpec &spec, const std::vector<Array> &inputs,
                   const std::vector<std::string> &names, const std::vector<Array> &outputs,
                   const std::vector<Array> &initial, Engine engine,
                   std::shared_ptr<const std::atomic<bool>> cancel) {
  const spec::TypedSpec typed = spec::analyse(spec.data());
  std::vector<NamedView> input_views, output_views;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    input_views.push_back({typed.inputs[i].name, inputs[i]});
  for (std::size_t o = 0; o < names.size(); ++o) output_views.push_back({names[o], initial[o]});
  std::vector<Array> begin; // the run below writes to `initial`
  for (const Array &array : initial) begin.push_back(array.copy());
  compile(spec, {.engine = Engine::reference, .cancel = cancel})
      .run_named(input_views, output_views);
  const std::vector<double> relative = relative_tolerances(typed);
  RunCheck check;
  std::vector<std::vector<double>> moved; // had when it is needed
  for (std::size_t o = 0; o < names.size(); ++o) {
    std::size_t index = 0;
    while (typed.outputs[index].name != names[o]) ++index;
    check.outputs.push_back(compare(names[o], outputs[o], initial[o], relative[index], {}));
    if (check.outputs.back().passed || relative[index] == 0) continue;
    if (moved.empty()) moved = bounds(typed, inputs, names, begin, cancel.get());
    check.outputs.back() = compare(names[o], outputs[o], initial[o], relative[index], moved[index]);
  }
  GradientCheckOptions options;
  options.engine = engine;
  options.cancel = cancel;
  for (std::size_t o = 0; o < names.size(); ++o)
    if (is_continuous(outputs[o].dtype()) && !is_update(typed, names[o]))
      options.of.push_back(names[o]);
  if (!options.of.empty()) check.gradient = check_gradient(spec, input_views, options);
  return check;
}

std::string to_text(const RunCheck &check) {
  std::string text;
  for (const OutputCheck &output : check.outputs) {
    text += "check: " + output.name;
    if (output.difference == 0 && output.passed)
      text += " equals the reference\n";
    else
      text += fmt::format(" {} the reference: {:.1e} apart, {:.1e} allowed\n",
                          output.passed ? "is near" : "differs from", output.difference,
                          output.tolerance);
  }
  for (const SlopeCheck &slope : check.gradient.slopes)
    text += "check: gradient of " + describe(slope) + "\n";
  return text;
}

std::string to_json(const RunCheck &check) {
  std::string outputs, slopes;
  for (const OutputCheck &output : check.outputs)
    outputs += fmt::format(R"({}{}: {{"passed": {}, "difference": {}, "tolerance": {}}})",
                           outputs.empty() ? "" : ", ", json_string(output.name), output.passed,
                           number_or_null(output.difference), number_or_null(output.tolerance));
  for (const SlopeCheck &slope : check.gradient.slopes)
    slopes += fmt::format(R"({}{{"output": {}, "input": {}, "slope": "{}", "derived": {}, )"
                          R"("measured": {}, "difference": {}, "tolerance": {}}})",
                          slopes.empty() ? "" : ", ", json_string(slope.output),
                          json_string(slope.input), word(slope.slope),
                          number_or_null(slope.derived), number_or_null(slope.measured),
                          number_or_null(slope.difference), number_or_null(slope.tolerance));
  return fmt::format(R"({{"passed": {}, "outputs": {{{}}}, "gradient": [{}]}})", check.passed(),
                     outputs, slopes);
}

void require_passed(const LoopSpec &spec, const RunCheck &check) {
  for (const OutputCheck &output : check.outputs)
    if (!output.passed)
      throw InternalError("the compiled kernel does not give what its definition says",
                          to_text(check) + print(spec));
  if (check.gradient.passed()) return;
  const std::string worst = describe(check.gradient.worst());
  std::vector<Expr> values;
  for (const OutputDecl &output : spec.data().outputs) values.push_back(output.value);
  for (const auto &function : functions_called(values))
    if (!function->derivatives.empty())
      throw SpecError("E0604", "the gradient of " + worst,
                      support::with_text(function->derivatives[0].where, spec.data().source.get()),
                      "correct the derivative clauses of '" + function->name +
                          "', or leave them out: it is then derived by its body");
  throw InternalError("the gradient of " + worst, print(spec));
}

} // namespace broadloom::cli

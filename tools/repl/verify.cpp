// See verify.hpp.
//
// Elements differ from the reference only by the rounding of folds, and what becomes of it: the compiled
// fold adds up in another order. So an output that depends on no such fold must have equal bits. Others may
// be off by 4096 units of f64 and 64 of the narrowest type that a fold is rounded to, of the greatest
// element: folds are good to 64 units, and few kernels make an error larger than 64 times.
#include "tools/repl/verify.hpp"

#include "expr/function.hpp"
#include "ops/ops.hpp"
#include "support/check.hpp"
#include "support/text.hpp"
#include "tools/repl/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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

bool is_continuous(DType dtype) { return is_float(dtype) || is_complex(dtype); }

// The allowed difference for a greatest element of 1, by output: 0 where no fold rounds.
std::vector<double> relative_tolerances(const spec::TypedSpec &typed) {
  std::vector<bool> rounds(typed.graph.size());
  std::vector<double> unit(typed.graph.size(), 0); // the widest rounding behind such a fold
  for (std::uint32_t n = 0; n < typed.graph.size(); ++n) {
    const expr::NodeId id{n};
    const expr::Node &node = typed.graph[id];
    if (node.kind == expr::NodeKind::Fold || node.kind == expr::NodeKind::Scan) {
      const ops::Recipe &recipe = typed.graph.recipe(id);
      rounds[n] = is_continuous(node.dtype) && !recipe.exact && recipe.has_combine();
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
    const double narrow = std::max(unit[source], unit_of(output.dtype));
    const double narrowed = narrow > unit_of(DType::F64) ? 64 * narrow : 0;
    result.push_back(rounds[source] ? 4096 * unit_of(DType::F64) + narrowed : 0);
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

OutputCheck compare(const std::string &name, const Array &got, const Array &wanted,
                    double relative) {
  OutputCheck check{name, true, 0, 0};
  const std::vector<ops::Scalar> a = elements(got), b = elements(wanted);
  double largest = 0;
  bool equal = true, finite = true;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const std::array<double, 2> x = numbers(a[k], got.dtype()), y = numbers(b[k], got.dtype());
    for (std::size_t part = 0; part < 2; ++part) {
      if (std::isfinite(y[part])) largest = std::max(largest, std::fabs(y[part]));
      const bool both_nan = std::isnan(x[part]) && std::isnan(y[part]);
      if (both_nan || (x[part] == y[part] && std::signbit(x[part]) == std::signbit(y[part])))
        continue;
      equal = false;
      if (x[part] == y[part]) continue; // zeros of two signs
      const double difference = std::fabs(x[part] - y[part]);
      finite = finite && std::isfinite(difference);
      check.difference = std::max(check.difference, difference);
    }
  }
  if (!finite) check.difference = std::numeric_limits<double>::quiet_NaN();
  check.tolerance = relative * largest;
  check.passed = equal || (relative > 0 && check.difference <= check.tolerance);
  return check;
}

std::string number_or_null(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
}

const char *word(Slope slope) {
  switch (slope) {
  case Slope::Agrees: return "agrees";
  case Slope::Differs: return "differs";
  case Slope::NotSmooth: return "not smooth";
  case Slope::NoGradient: return "no gradient";
  }
  return "";
}

} // namespace

bool RunCheck::passed() const {
  return gradient.passed() &&
         std::all_of(outputs.begin(), outputs.end(), [](const OutputCheck &o) { return o.passed; });
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
  compile(spec, {.engine = Engine::Reference, .cancel = cancel})
      .run_named(input_views, output_views);
  const std::vector<double> relative = relative_tolerances(typed);
  RunCheck check;
  for (std::size_t o = 0; o < names.size(); ++o) {
    std::size_t index = 0;
    while (typed.outputs[index].name != names[o]) ++index;
    check.outputs.push_back(compare(names[o], outputs[o], initial[o], relative[index]));
  }
  GradientCheckOptions options;
  options.engine = engine;
  options.cancel = cancel;
  for (std::size_t o = 0; o < names.size(); ++o)
    if (is_continuous(outputs[o].dtype())) options.of.push_back(names[o]);
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

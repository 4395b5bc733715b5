// See verify.hpp.
#include "tools/broadloom/cli/verify.hpp"

#include "analysis/analyse.hpp"
#include "expr/function.hpp"
#include "spec/materialise.hpp"
#include "support/check.hpp"
#include "support/json.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace broadloom::cli {

namespace {

bool is_continuous(DType dtype) { return is_float(dtype) || is_complex(dtype); }

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
  const spec::TypedSpec typed = analysis::analyse(spec.data());
  std::vector<NamedView> input_views, output_views;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    input_views.push_back({typed.inputs[i].name, inputs[i]});
  for (std::size_t o = 0; o < names.size(); ++o) output_views.push_back({names[o], initial[o]});
  std::vector<Array> begin; // the run below writes to `initial`
  for (const Array &array : initial) begin.push_back(array.copy());
  compile(spec, {.engine = Engine::reference, .cancel = cancel})
      .run_named(input_views, output_views);
  checked::Results results{names, {}, {}, {}};
  for (std::size_t o = 0; o < names.size(); ++o) {
    results.got.push_back(outputs[o]);
    results.wanted.push_back(initial[o]);
    results.before.push_back(begin[o]);
  }
  const std::vector<AnyView> views(inputs.begin(), inputs.end());
  RunCheck check;
  check.outputs = checked::hold_against(typed, views, results, cancel.get());
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
    outputs +=
        fmt::format(R"({}{}: {{"passed": {}, "difference": {}, "tolerance": {}}})",
                    outputs.empty() ? "" : ", ", support::json_string(output.name), output.passed,
                    number_or_null(output.difference), number_or_null(output.tolerance));
  for (const SlopeCheck &slope : check.gradient.slopes)
    slopes += fmt::format(R"({}{{"output": {}, "input": {}, "slope": "{}", "derived": {}, )"
                          R"("measured": {}, "difference": {}, "tolerance": {}}})",
                          slopes.empty() ? "" : ", ", support::json_string(slope.output),
                          support::json_string(slope.input), word(slope.slope),
                          number_or_null(slope.derived), number_or_null(slope.measured),
                          number_or_null(slope.difference), number_or_null(slope.tolerance));
  return fmt::format(R"({{"passed": {}, "outputs": {{{}}}, "gradient": [{}]}})", check.passed(),
                     outputs, slopes);
}

void require_passed(const LoopSpec &spec, const RunCheck &check) {
  if (check.passed()) return;
  const auto faults = spec::all_faults(analysis::analyse(spec.data()));
  if (!faults.empty()) throw faults.front();
  for (const OutputCheck &output : check.outputs)
    if (!output.passed)
      throw InternalError("the compiled kernel does not give what its definition says",
                          to_text(check) + print(spec));
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

// The report of a run as JSON and as a line of text. Times keep their nanoseconds.
#include "tools/broadloom/cli/report.hpp"

#include "support/json.hpp"
#include "tools/broadloom/cli/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::cli {

using support::json_string;

namespace {

struct Summary { // milliseconds
  double min = 0, p10 = 0, median = 0, p90 = 0, max = 0;
  double unrest = 1;
};

Summary summarise(const std::vector<std::int64_t> &ns) {
  if (ns.empty()) return {};
  const Spread most = spread_of({ns.begin(), ns.end()});
  const auto [least, greatest] = std::ranges::minmax(ns);
  return {double(least) * 1e-6, most.low * 1e-6,         most.median * 1e-6,
          most.high * 1e-6,     double(greatest) * 1e-6, unrest(most)};
}

struct Step {
  const char *name;
  double ms;
};

// In the order in which they happen.
std::vector<Step> steps_of(const RunReport &report) {
  const CompileSteps &steps = report.steps;
  return {{"parse", report.parse_ms}, {"analyse", steps.analyse}, {"plan", steps.plan},
          {"block", steps.block},     {"load", steps.load},       {"start", steps.start},
          {"emit", steps.emit},       {"math", steps.math},       {"optimise", steps.optimise},
          {"select", steps.select},   {"link", steps.link}};
}

} // namespace

std::string to_json(const RunReport &report) {
  std::string outputs;
  for (const OutputReport &output : report.outputs) {
    outputs +=
        fmt::format(R"({}{}: {{"dtype": "{}", "shape": [{}], "order": "{}", "path": {}}})",
                    outputs.empty() ? "" : ", ", json_string(output.name), name(output.dtype),
                    fmt::join(output.shape, ", "), output.fortran_order ? "f" : "c",
                    output.path ? json_string(*output.path) : "null");
  }
  std::string steps;
  for (const Step &step : steps_of(report))
    steps += fmt::format(R"({}"{}": {:.6f})", steps.empty() ? "" : ", ", step.name, step.ms);
  const Summary time = summarise(report.run_ns);
  return fmt::format(
      R"({{"kernel": {}, "outputs": {{{}}}, "compile_ms": {:.6f}, )"
      R"("steps_ms": {{{}}}, "cache": "{}", )"
      R"("run_ms": {{"min": {:.6f}, "p10": {:.6f}, "median": {:.6f}, "p90": {:.6f}, "max": {:.6f}, "n": {}}}, )"
      R"("threads": {}, "engine": "{}", "bytes": {}{}}})",
      json_string(report.kernel), outputs, report.compile_ms, steps, report.cache, time.min,
      time.p10, time.median, time.p90, time.max, report.run_ns.size(), report.threads,
      name(report.engine), report.bytes,
      report.check.empty() ? "" : ", \"check\": " + report.check);
}

std::string to_text(const RunReport &report) {
  const Summary time = summarise(report.run_ns);
  std::string steps;
  for (const Step &step : steps_of(report))
    if (step.ms >= 0.005)
      steps += fmt::format("{}{} {:.2f}", steps.empty() ? "" : ", ", step.name, step.ms);
  return fmt::format(
      "{}: compiled in {:.3f} ms; {} calls: min {:.6f}, p10 {:.6f}, median {:.6f}, p90 {:.6f}, "
      "max {:.6f} ms on {} threads{}{}{}",
      report.kernel, report.compile_ms, report.run_ns.size(), time.min, time.p10, time.median,
      time.p90, time.max, report.threads,
      time.unrest > most_quiet
          ? fmt::format("; the machine was busy: p90 is {:.1f} times p10", time.unrest)
          : "",
      steps.empty() ? "" : "\n  ms of the first call: ", steps);
}

} // namespace broadloom::cli

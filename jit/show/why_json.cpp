// Decisions as JSON: see include/broadloom/decision.hpp.
#include "support/json.hpp"

#include <broadloom/decision.hpp>

#include <fmt/format.h>

#include <cmath>

namespace broadloom {
namespace {

using support::json_string;

std::string text_of(const Cost &cost) {
  const auto number = [](const std::optional<double> &value) {
    return value && std::isfinite(*value) ? fmt::format("{}", *value) : std::string("null");
  };
  return fmt::format(R"("bytes":{},"flops":{},"cycles":{},"ns":{})", number(cost.bytes),
                     number(cost.flops), number(cost.cycles), number(cost.ns));
}

std::string text_of(const Decision &decision) {
  std::string others;
  for (const Alternative &other : decision.alternatives)
    others +=
        fmt::format(R"({}{{"choice":{},"why_not":{},{}}})", others.empty() ? "" : ",",
                    json_string(other.choice), json_string(other.why_not), text_of(other.cost));
  return fmt::format(
      R"({{"topic":{},"code":{},"subject":{},"choice":{},{},"alternatives":[{}],"text":{}}})",
      json_string(decision.topic), json_string(decision.code), json_string(decision.subject),
      json_string(decision.choice), text_of(decision.cost), others, json_string(decision.text));
}

} // namespace

std::string to_json(std::span<const Decision> decisions) {
  std::string text = "[";
  for (std::size_t k = 0; k < decisions.size(); ++k)
    text += (k == 0 ? "\n" : ",\n") + text_of(decisions[k]);
  return text + "\n]\n";
}

} // namespace broadloom

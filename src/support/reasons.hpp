// The reasons that `why` can give: one closed list, so that programs can rely on the words.
//
// Each row of reasons.def is a reason: its code, the topic of the decisions that it is given for,
// and its meaning.
#pragma once

#include <broadloom/decision.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace broadloom::support {

enum class Reason : std::uint8_t {
#define BL_REASON(enumerator, ...) enumerator,
#include "support/reasons.def"
#undef BL_REASON
};

struct ReasonInfo {
  Reason reason;
  std::string_view code, topic, meaning;
  // What happens in most kernels: `--stage why` says it, the listing of `--stage plan` does not.
  bool usual = false;
};

const ReasonInfo &info(Reason reason);
std::span<const ReasonInfo> all_reasons();
bool is_usual(const Decision &decision); // by its code

// A decision of this reason's topic and code; cost and alternatives can be added to it.
Decision decide(Reason reason, std::string subject, std::string choice, std::string text,
                std::vector<Alternative> alternatives = {}, Cost cost = {});

} // namespace broadloom::support

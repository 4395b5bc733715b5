// The table of reasons: see reasons.hpp.
#include "support/reasons.hpp"

#include <algorithm>
#include <array>

namespace broadloom::support {
namespace {

constexpr bool usual = true;

constexpr auto table = std::to_array<ReasonInfo>({
#define BL_REASON(enumerator, ...) {Reason::enumerator, __VA_ARGS__},
#include "support/reasons.def"
#undef BL_REASON
});

} // namespace

const ReasonInfo &info(Reason reason) { return table[std::size_t(reason)]; }

std::span<const ReasonInfo> all_reasons() { return table; }

bool is_usual(const Decision &decision) {
  return std::any_of(table.begin(), table.end(),
                     [&](const ReasonInfo &row) { return row.usual && row.code == decision.code; });
}

Decision decide(Reason reason, std::string subject, std::string choice, std::string text,
                std::vector<Alternative> alternatives, Cost cost) {
  return {std::string(info(reason).topic),
          std::move(text),
          std::string(info(reason).code),
          std::move(subject),
          std::move(choice),
          std::move(alternatives),
          cost};
}

} // namespace broadloom::support

// Inside of what goes through the steps of a call: what a view shows.
#pragma once

#include "calls/call.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::calls {

// `z[i + 4, 0] = view a[i] over i [0, 3)`: where in `a` the element of z at these positions lies;
// none where that part of z is another's.
inline std::optional<std::vector<std::int64_t>> seen_through(const Step &view,
                                                             const std::vector<std::int64_t> &at) {
  std::map<std::string, std::int64_t> axes;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const Affine &position = view.to[0].at[d];
    std::int64_t behind = at[d] - position.constant;
    if (position.terms.empty() && behind != 0) return std::nullopt;
    if (position.terms.empty()) continue;
    const Affine::Term &term = position.terms[0];
    const auto range = std::ranges::find(view.over, term.axis, &Range::axis);
    if (range == view.over.end() || behind % term.times != 0) return std::nullopt;
    behind = behind / term.times - range->first;
    if (behind < 0 || behind >= range->count) return std::nullopt;
    axes[term.axis] = range->first + behind;
  }
  std::vector<std::int64_t> seen;
  for (const Affine &position : view.from[0].at) {
    seen.push_back(position.constant);
    for (const Affine::Term &term : position.terms) seen.back() += term.times * axes[term.axis];
  }
  return seen;
}

} // namespace broadloom::calls

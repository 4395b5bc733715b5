// Inside of what goes through the steps of a call, with values or with marks: how an array lies,
// which axes a reference walks, and what a view shows.
#pragma once

#include "calls/call.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::calls {

using Position = std::vector<std::int64_t>; // [dim]

struct Laid { // an array, and how it lies
  const Array *array = nullptr;
  std::vector<const Step *> views = {}; // what it shows of others

  bool has_rows(std::size_t dim) const { return array->rows && array->rows->dim == dim; }
  bool is_ring() const { return array->rows && array->rows->kept > 0; }
  std::int64_t first(std::size_t dim) const { return has_rows(dim) ? array->rows->from : 0; }
  std::int64_t extent(std::size_t dim) const { return array->extents[dim]; }
  std::int64_t kept(std::size_t dim) const {
    return has_rows(dim) && is_ring() ? array->rows->kept : extent(dim);
  }
  bool is_inside(std::size_t dim, std::int64_t at) const {
    return at >= first(dim) && at < first(dim) + extent(dim);
  }
};

inline bool walks(const Ref &ref, const std::string &axis) {
  return std::ranges::any_of(ref.at, [&](const Affine &position) {
    return std::ranges::find(position.terms, axis, &Affine::Term::axis) != position.terms.end();
  });
}

// In C order, from `first` on.
template <class Visit>
void for_each(const Position &first, const Position &extents, const Visit &visit) {
  if (std::ranges::count(extents, 0) > 0) return;
  Position at = first;
  for (;;) {
    visit(std::as_const(at));
    std::size_t d = extents.size();
    while (d > 0 && ++at[d - 1] == first[d - 1] + extents[d - 1]) --d, at[d] = first[d];
    if (d == 0) return;
  }
}

// `z[i + 4, 0] = view a[i] over i [0, 3)`: where in `a` the element of z at these positions lies;
// none where that part of z is another's.
inline std::optional<Position> seen_through(const Step &view, const Position &at) {
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
  Position seen;
  for (const Affine &position : view.from[0].at) {
    seen.push_back(position.constant);
    for (const Affine::Term &term : position.terms) seen.back() += term.times * axes[term.axis];
  }
  return seen;
}

} // namespace broadloom::calls

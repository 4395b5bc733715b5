// Inside the interpreter of calls: the arrays of a call, each in memory of its own, and what a
// reference stands for with the axes as they are.
#pragma once

#include "calls/views.hpp"

#include <broadloom/array.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::calls::interpreted {

[[noreturn]] void fail(const std::string &what);

struct Stored : Laid {
  std::vector<char> own = {};
  AnyView view = {}; // of the rows that are kept

  // The positions of the steps: neither the rows that a loop begins with nor those behind it.
  std::int64_t begin(std::size_t dim) const {
    return has_rows(dim) ? std::max<std::int64_t>(first(dim), 0) : 0;
  }
  std::int64_t end(std::size_t dim) const {
    return first(dim) + extent(dim) - (has_rows(dim) ? array->rows->behind : 0);
  }
  std::size_t size() const { return size_of(array->dtype); }
};

// Sets an element to another, or to zero where that is null.
inline void put(char *to, const char *from, std::size_t size) {
  from != nullptr ? void(std::memcpy(to, from, size)) : void(std::memset(to, 0, size));
}

template <class Visit> void for_each(const Position &extents, const Visit &visit) {
  calls::for_each(Position(extents.size()), extents, visit);
}

class Elements {
public:
  // Memory that no step has written has garbage.
  Elements(const Call &call, const std::map<std::string, AnyView, std::less<>> &arrays);

  Stored &memory_of(const Ref &ref);
  // Of an array, or of what it is a view of. It must be inside.
  char *at(Stored &memory, const Position &at);
  // What a reference stands for; null: a zero.
  char *read(const Ref &ref);
  // Along a dim; none between two elements, and outside where zeros are.
  std::optional<std::int64_t> position(const Affine &affine, const Stored &memory, std::size_t dim);
  std::int64_t sum(const std::vector<Affine::Term> &terms, std::int64_t constant) const;

  // Of a step, where the axes are.
  std::vector<Range> ranges_now(const Step &step) const;
  template <class Visit> void for_each(const Step &step, const Visit &visit) {
    const auto outer = axes;
    const std::vector<Range> ranges = ranges_now(step);
    Position extents;
    for (const Range &range : ranges) extents.push_back(range.count);
    interpreted::for_each(extents, [&](const Position &at) {
      for (std::size_t r = 0; r < ranges.size(); ++r)
        axes[ranges[r].axis] = ranges[r].first + at[r] * ranges[r].step;
      visit();
    });
    axes = outer;
  }

  std::map<std::string, std::int64_t> axes; // where the loops around a step, and the step, are

private:
  std::map<std::string, Stored> memory_;
};

// A step that runs no nest and is no loop: elements go where it says.
void move_elements(Elements &elements, const Step &step);
void scatter(Elements &elements, const Step &step);
void pad(Elements &elements, const Step &step);

} // namespace broadloom::calls::interpreted

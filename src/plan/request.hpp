// Inside the plan stage: what is asked of it, as it is handed from function to function. How
// operands move along the classes is worked out once (walk.cpp); a short operand that is repeated
// beforehand changes what is asked (repeat.hpp).
#pragma once

#include "plan/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::plan {

using Group = std::vector<ClassId>; // classes merged into one loop, outermost first

// [node]: is its value needed for the wanted outputs? What only lends its shape is not.
std::vector<bool> needed_nodes(const spec::TypedSpec &spec, const std::vector<bool> &wanted);

// The strides of one operand by class; classes that it does not walk (or walks with stride 0) are
// left out.
struct Step {
  ClassId cls;
  std::int64_t stride;
};
using Steps = std::vector<Step>;

std::int64_t stride_along(const Steps &steps, ClassId cls);
std::int64_t stride_along(const Steps &steps, const Group &group); // of its innermost class

// An input that is read once, into a scratch array over more classes, which takes its place: see
// repeat.hpp.
struct Repeated {
  std::uint32_t input;
  Group classes; // of the scratch array, outermost first
  Steps own;     // how the input itself lies
  // Where the array holds a block of the loop and not all of it: the loop that is cut into such
  // blocks, of so many positions. Every block reads the same array.
  Group loop = {};
  std::int64_t block = 0;
};

struct Walks {
  std::vector<Steps> inputs, outputs;
  std::vector<Steps> lies; // [input]: by which the trees of folds go
  std::vector<Repeated> repeated;

  // As the input itself lies, and not an array into which it is repeated.
  const Steps &own_steps(std::size_t input) const;
};
// `lies` are of the windows of the spec; empty: as they lie.
Walks walks_of(const spec::TypedSpec &spec, const Resolved &resolved,
               std::span<const Layout> inputs, std::span<const Layout> outputs,
               std::span<const Layout> lies = {});

// Of a generic plan (generic.hpp): classes of extent 1, which fill up the loops over kept and over
// folded axes, so that there are as many for every shape.
struct Fillers {
  Group kept, folded;
  bool has(ClassId cls) const {
    return std::ranges::count(kept, cls) + std::ranges::count(folded, cls) > 0;
  }
};

// Whether windows of one array differ along this dim in where they start, and in nothing else.
inline bool are_same_but_for_start(const spec::TypedWindow::Form &a,
                                   const spec::TypedWindow::Form &b) {
  return a.from_end == b.from_end && a.counts == b.counts && a.divisor == b.divisor &&
         a.stretches == b.stretches &&
         std::ranges::equal(a.terms, b.terms, [](const auto &s, const auto &t) {
           return s.axis == t.axis && s.times == t.times;
         });
}

struct Request {
  const spec::TypedSpec &spec;
  Resolved resolved;
  Walks walks;
  std::vector<bool> wanted; // [output]
  bool explain = true;      // else no decision is put into words
  std::optional<Fillers> generic = {};
  std::uint64_t near = 0; // bit k: a core's caches hold operand k, whatever its extents say
  bool is_near(std::size_t operand) const { return operand < 64 && (near >> operand & 1) != 0; }
};

// The decisions so far. A call with new layouts plans without them: putting them into words takes
// as long as a fair part of the planning.
struct Why {
  bool wanted = true;
  std::vector<Decision> decisions = {};

  template <class Make> void add(Make make) {
    if (wanted) decisions.push_back(make());
  }
};

// Sorts classes so that the one with the greatest strides comes first. Operands that walk more of
// the classes decide before others; where no operand walks both of two classes, their order stays.
std::vector<ClassId> sort_by_stride(std::vector<ClassId> classes,
                                    const std::vector<const Steps *> &operands);

// Whether each operand walks `outer` and `inner` as if they were one axis.
bool merges(ClassId outer, ClassId inner, const Resolved &resolved,
            const std::vector<const Steps *> &operands);

std::string group_name(const Resolved &resolved, const Group &group); // "i" or "i.j"
std::int64_t group_extent(const Resolved &resolved, const Group &group);

} // namespace broadloom::plan

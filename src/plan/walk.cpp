// How operands move along the classes: strides, their order, and what merges.
#include "plan/request.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

namespace broadloom::plan {

std::vector<bool> needed_nodes(const spec::TypedSpec &spec, const std::vector<bool> &wanted) {
  std::vector<bool> needed(spec.graph.size(), false);
  for (std::size_t k = 0; k < spec.outputs.size(); ++k)
    if (wanted[k]) needed[spec.outputs[k].addend.index] = true;
  for (std::uint32_t n = std::uint32_t(spec.graph.size()); n-- > 0;) {
    if (!needed[n]) continue;
    for (expr::NodeId arg : spec.graph.operands(expr::NodeId{n})) needed[arg.index] = true;
  }
  return needed;
}

std::int64_t stride_along(const Steps &steps, ClassId cls) {
  for (const Step &step : steps)
    if (step.cls == cls) return step.stride;
  return 0;
}

std::int64_t stride_along(const Steps &steps, const Group &group) {
  return stride_along(steps, group.back());
}

namespace {

Steps steps_of(const std::vector<std::optional<ClassId>> &classes, const Layout &layout) {
  Steps steps;
  // What has no elements moves along all its axes, whatever its strides (those of NumPy are 0): a
  // load before the loop that makes no turns would read, and turns of another would share a store.
  const bool empty = std::ranges::count(layout.shape(), 0) != 0;
  for (std::size_t d = 0; d < classes.size(); ++d) {
    if (!classes[d]) continue;
    const std::int64_t stride = empty && layout.strides[d] == 0 ? 1 : layout.strides[d];
    if (stride != 0) steps.push_back({*classes[d], stride});
  }
  return steps;
}

} // namespace

Walks walks_of(const spec::TypedSpec &spec, const Resolved &resolved,
               std::span<const Layout> inputs, std::span<const Layout> outputs,
               std::span<const Layout> lies) {
  Walks walks;
  std::size_t window = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    walks.inputs.push_back(steps_of(resolved.input_classes[i], inputs[i]));
    const bool has_own = !lies.empty() && spec.inputs[i].window;
    walks.lies.push_back(has_own ? steps_of(resolved.input_classes[i], lies[window++])
                                 : walks.inputs.back());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    walks.outputs.push_back(steps_of(resolved.output_classes[i], outputs[i]));
  return walks;
}

const Steps &Walks::own_steps(std::size_t input) const {
  for (const Repeated &one : repeated)
    if (one.input == input) return one.own;
  return inputs[input];
}

std::vector<ClassId> sort_by_stride(std::vector<ClassId> classes,
                                    const std::vector<const Steps *> &operands) {
  // Those that walk most come first, equal ones in the order given.
  std::multimap<std::size_t, const Steps *, std::greater<>> by_rank;
  for (const Steps *steps : operands) by_rank.emplace(steps->size(), steps);
  // -1: a goes outside b, +1: inside, 0: nothing says.
  const auto compare = [&](ClassId a, ClassId b) {
    for (const auto &[rank, steps] : by_rank) {
      const std::int64_t sa = std::abs(stride_along(*steps, a)),
                         sb = std::abs(stride_along(*steps, b));
      if (sa != 0 && sb != 0 && sa != sb) return sa > sb ? -1 : 1;
    }
    return 0;
  };
  // Insertion, since "nothing says" is no ordering that a library sort could use: move left past
  // every class that must be inside, stop at the first that must be outside.
  for (std::size_t k = 1; k < classes.size(); ++k) {
    std::size_t target = k;
    for (std::size_t p = k; p-- > 0;) {
      const int order = compare(classes[p], classes[k]);
      if (order < 0) break;
      if (order > 0) target = p;
    }
    std::rotate(classes.begin() + target, classes.begin() + k, classes.begin() + k + 1);
  }
  return classes;
}

bool merges(ClassId outer, ClassId inner, const Resolved &resolved,
            const std::vector<const Steps *> &operands) {
  const std::int64_t extent = resolved[inner].extent;
  return std::all_of(operands.begin(), operands.end(), [&](const Steps *steps) {
    return stride_along(*steps, outer) == stride_along(*steps, inner) * extent;
  });
}

std::string group_name(const Resolved &resolved, const Group &group) {
  return support::joined(group, [&](ClassId cls) { return resolved[cls].name; }, ".");
}

std::int64_t group_extent(const Resolved &resolved, const Group &group) {
  std::int64_t n = 1;
  for (ClassId cls : group)
    if (resolved[cls].extent == 0) return 0;
  for (ClassId cls : group) n *= resolved[cls].extent; // bounded: an operand walks them all
  return n;
}

} // namespace broadloom::plan

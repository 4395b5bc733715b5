// See repeat.hpp.
#include "plan/repeat.hpp"

#include <algorithm>
#include <set>

namespace broadloom::plan {
namespace {

constexpr double most_repeated_bytes = 32 * 1024; // all of them: they stay in the nearest cache
constexpr std::int64_t fewest_reads = 16;         // of each repeated element, or it is not worth it

using expr::NodeId;
using expr::NodeKind;

class Repeater {
public:
  Repeater(const spec::TypedSpec &spec, const Resolved &resolved, const std::vector<bool> &wanted,
           Walks &walks)
      : spec_(spec), resolved_(resolved), walks_(walks) {
    const std::vector<bool> needed = needed_nodes(spec, wanted);
    for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
      if (!needed[n]) continue;
      const expr::Node &node = spec.graph[NodeId{n}];
      if (node.kind == NodeKind::Input) inputs_.insert(node.payload);
      plain_ = plain_ && node.kind != NodeKind::Fold && node.kind != NodeKind::Scan &&
               node.kind != NodeKind::Index;
    }
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (wanted[k]) outputs_.push_back(k);
  }

  void run() {
    if (!plain_ || outputs_.empty() || !find_axes()) return;
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t input : inputs_) {
      const Steps &steps = walks_.inputs[input];
      if (lies_as_one(steps)) continue;
      const bool only_inner = steps.size() == 1 && steps[0].cls == inner_;
      if (!only_inner) return; // w and c would not be one axis all the same
      chosen.push_back(input);
    }
    if (chosen.empty() || !is_worth_it(chosen)) return;
    for (std::uint32_t input : chosen) {
      walks_.repeated.push_back({input, {outer_, inner_}, walks_.inputs[input]});
      walks_.inputs[input] = {{outer_, extent(inner_)}, {inner_, 1}};
    }
  }

private:
  std::int64_t extent(int cls) const { return resolved_.classes[cls].extent; }

  bool lies_as_one(const Steps &steps) const { return merges(outer_, inner_, resolved_, {&steps}); }

  // The two innermost axes, which every output has side by side.
  bool find_axes() {
    std::vector<int> classes;
    for (int c = 0; c < int(resolved_.classes.size()); ++c) classes.push_back(c);
    std::vector<const Steps *> operands;
    for (std::uint32_t input : inputs_) operands.push_back(&walks_.inputs[input]);
    for (std::size_t output : outputs_) operands.push_back(&walks_.outputs[output]);
    const std::vector<int> order = sort_by_stride(classes, operands);
    inner_ = order.back();
    outer_ = order[order.size() - 2];
    return std::all_of(outputs_.begin(), outputs_.end(), [&](std::size_t output) {
      const Steps &steps = walks_.outputs[output];
      return stride_along(steps, inner_) == 1 && lies_as_one(steps) &&
             steps.size() == resolved_.classes.size();
    });
  }

  bool is_worth_it(const std::vector<std::uint32_t> &chosen) const {
    double row = double(extent(outer_)) * double(extent(inner_)), bytes = 0, reads = 1;
    for (std::uint32_t input : chosen) bytes += row * double(size_of(spec_.inputs[input].dtype));
    for (int c = 0; c < int(resolved_.classes.size()); ++c)
      if (c != outer_ && c != inner_) reads *= double(extent(c));
    return extent(inner_) < shortest_line && row >= double(shortest_line) &&
           bytes <= most_repeated_bytes && reads >= double(fewest_reads);
  }

  const spec::TypedSpec &spec_;
  const Resolved &resolved_;
  Walks &walks_;
  std::set<std::uint32_t> inputs_;
  std::vector<std::size_t> outputs_;
  bool plain_ = true;
  int outer_ = one, inner_ = one;
};

} // namespace

void repeat_short_operands(const spec::TypedSpec &spec, const Resolved &resolved,
                           const std::vector<bool> &wanted, Walks &walks) {
  if (resolved.classes.size() < 3) return; // nothing outside of the two axes would read it again
  Repeater(spec, resolved, wanted, walks).run();
}

} // namespace broadloom::plan

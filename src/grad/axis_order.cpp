// See axis_order.hpp.
#include "grad/axis_order.hpp"

#include <algorithm>
#include <vector>

namespace broadloom::grad {
namespace {

// Nothing where an axis has no label: those come by their positions.
std::vector<std::string> labels_of(const spec::TypedSpec &spec, std::size_t output) {
  std::vector<std::string> labels;
  for (const int axis : spec.outputs[output].axes) {
    if (!spec.axes[std::size_t(axis)].labelled) return {};
    labels.push_back(spec.axes[std::size_t(axis)].name);
  }
  return labels;
}

} // namespace

void keep_axis_order(SpecData &derived, const SpecData &kernel,
                     const std::unordered_map<std::string, std::string> &names) {
  const spec::TypedSpec before = spec::analyse(kernel), after = spec::analyse(derived);
  for (std::size_t o = 0; o < kernel.outputs.size(); ++o) {
    const auto called = names.find(kernel.outputs[o].name);
    if (called == names.end()) continue;
    const auto found = std::ranges::find(derived.outputs, called->second, &OutputDecl::name);
    if (found == derived.outputs.end() || found->has_axes) continue;
    const std::vector<std::string> own = labels_of(before, o);
    const std::vector<std::string> made =
        labels_of(after, std::size_t(found - derived.outputs.begin()));
    if (own == made || !std::ranges::is_permutation(own, made)) continue;
    found->has_axes = true;
    found->axes.assign(own.begin(), own.end());
  }
}

} // namespace broadloom::grad

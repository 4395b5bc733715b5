// See axis_order.hpp.
#include "grad/axis_order.hpp"

#include "analysis/analyse.hpp"
#include "expr/window.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <vector>

namespace broadloom::grad {
namespace {

// Nothing where an axis has no label: those come by their positions.
std::vector<std::string> labels_of_output(const spec::TypedSpec &spec, std::size_t output) {
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
  if (std::ranges::none_of(kernel.inputs, [](const auto &input) { return bool(input->window); }))
    return; // labels of inputs come in the order of the inputs
  const spec::TypedSpec before = analysis::analyse(kernel), after = analysis::analyse(derived);
  for (std::size_t o = 0; o < kernel.outputs.size(); ++o) {
    const auto called = names.find(kernel.outputs[o].name);
    if (called == names.end()) continue;
    const auto found = std::ranges::find(derived.outputs, called->second, &OutputDecl::name);
    if (found == derived.outputs.end() || found->has_axes) continue;
    const std::vector<std::string> own = labels_of_output(before, o);
    const std::vector<std::string> made =
        labels_of_output(after, std::size_t(found - derived.outputs.begin()));
    if (own == made || !std::ranges::is_permutation(own, made)) continue;
    found->has_axes = true;
    found->axes.assign(own.begin(), own.end());
  }
}

void keep_said(SpecData &derived, const SpecData &kernel,
               const std::unordered_map<std::string, std::string> &names) {
  const auto output_called = [&](const std::string &name) {
    return std::ranges::find(derived.outputs, name, &OutputDecl::name);
  };
  const auto is_derived = [&](const OutputDecl &output) {
    const auto name = names.find(output.name);
    return name != names.end() && output_called(name->second) != derived.outputs.end();
  };
  const auto is_of_inputs = [](const AffineForm &form) {
    return std::ranges::all_of(form.extents, [](const AffineForm::Extent &extent) {
      return extent.of.node()->kind == ExprKind::Input;
    });
  };
  std::vector<SaidExtent> lost;
  for (const OutputDecl &output : kernel.outputs)
    for (std::size_t d = 0; output.said && !is_derived(output) && d < output.said->dims.size(); ++d)
      if (is_of_inputs(output.said->said->of[d]))
        lost.push_back({output.said->dims[d].label, output.said->said->of[d]});
  if (lost.empty()) return;
  const spec::TypedSpec typed = analysis::analyse(derived);
  for (std::size_t o = 0; o < derived.outputs.size(); ++o) {
    OutputDecl &output = derived.outputs[o];
    const std::vector<std::string> labels = labels_of_output(typed, o);
    std::vector<SaidExtent> said;
    for (std::size_t d = 0; output.said && d < output.said->dims.size(); ++d)
      said.push_back({output.said->dims[d].label, output.said->said->of[d]});
    const std::size_t own = said.size();
    std::erase_if(lost, [&](const SaidExtent &extent) {
      if (std::ranges::count(labels, extent.axis) == 0) return false;
      if (std::ranges::count(said, extent.axis, &SaidExtent::axis) == 0) said.push_back(extent);
      return true;
    });
    if (said.size() == own) continue;
    output.has_axes = true;
    output.axes.assign(labels.begin(), labels.end());
    output.said = make_said(output.name, said,
                            [&] { return support::with_text(output.where, kernel.source.get()); });
  }
}

void keep_counted(SpecData &derived, const spec::Split &split) {
  const auto say = [](const std::vector<std::shared_ptr<const InputDecl>> &axes,
                      const std::string &label) {
    return std::ranges::any_of(axes,
                               [&](const auto &axis) { return axis->dims[0].label == label; });
  };
  const auto is_another = [&](const auto &let, const std::string &label) { // a u of its own
    return !say(let->data.axes, label) &&
           std::ranges::count(let->typed.axes, label, &spec::Axis::name);
  };
  for (const auto &let : split.lets)
    for (const auto &axis : let->data.axes) {
      const std::string &label = axis->dims[0].label;
      if (!say(derived.axes, label) && std::ranges::none_of(split.lets, [&](const auto &other) {
            return is_another(other, label);
          }))
        derived.axes.push_back(axis);
    }
}

} // namespace broadloom::grad

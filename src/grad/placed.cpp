// See placed.hpp.
#include "grad/placed.hpp"

#include "analysis/analyse.hpp"
#include "grad/labels.hpp"
#include "spec/materialise.hpp"
#include "spec/own_axis.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace broadloom::grad {
namespace {

using spec::TypedInput;
using spec::TypedSpec;
using NamesOfAxes = std::vector<std::set<std::string>>; // of each axis: what it may be called

// By their numbers: those that stand along an axis beside others in an operation, or that a value
// with axes is like. Where others lie is no matter.
std::vector<bool> inputs_met(const TypedSpec &kernel) {
  std::vector<bool> are_met(kernel.inputs.size());
  std::vector<std::set<std::uint32_t>> held(
      kernel.graph.size()); // by node: those whose axes it has
  for (std::uint32_t n = 0; n < kernel.graph.size(); ++n) {
    const expr::Node &node = kernel.graph[{n}];
    std::set<std::uint32_t> &own = held[n];
    if (node.kind == expr::NodeKind::Input) own.insert(node.payload);
    for (const expr::NodeId arg : kernel.graph.args({n}))
      own.insert(held[arg.index].begin(), held[arg.index].end());
    if (node.kind != expr::NodeKind::Extent && !own.empty())
      for (const std::uint32_t input : kernel.graph.like(node)) own.insert(input);
    if (own.size() > 1)
      for (const std::uint32_t input : own) are_met[input] = true;
    std::erase_if(own, [&](std::uint32_t input) {
      return (kernel.inputs[input].axes() & node.axes).empty();
    });
  }
  return are_met;
}

// The rest of a kernel, or the kernel of a let.
struct Part {
  std::string let; // "": the rest
  SpecData data;
  TypedSpec typed;
  std::vector<bool> are_met = inputs_met(typed);

  // Those whose dims lie somewhere by their number.
  std::vector<const TypedInput *> placed() const {
    std::vector<const TypedInput *> inputs;
    for (std::size_t k = 0; k < typed.inputs.size(); ++k) {
      const TypedInput &input = typed.inputs[k];
      if (are_met[k] && !input.labelled && !input.window && !input.in_windows_only &&
          !input.materialised && !input.axis_of_dim.empty() && !input.is_lent())
        inputs.push_back(&input);
    }
    return inputs;
  }
};

std::vector<Part> parts_of(const SpecData &kernel) {
  std::vector<Part> parts;
  if (const auto split = spec::split_lets(kernel, analysis::analyse)) {
    for (const auto &let : split->lets)
      if (!let->join) parts.push_back({let->data.outputs[0].name, let->data, let->typed});
    parts.push_back({"", split->rest, analysis::analyse(split->rest)});
  } else {
    parts.push_back({"", kernel, analysis::analyse(kernel)});
  }
  return parts;
}

// Axes without labels meet where `order` aligns them.
std::string name_of(const Part &part, int axis) {
  const spec::Axis &known = part.typed.axes[std::size_t(axis)];
  if (known.labelled) return known.name;
  const auto placed = int(std::ranges::count(part.typed.axes, false, &spec::Axis::implied));
  return "#" + std::to_string(part.data.order == Order::c ? axis : axis - placed);
}

std::vector<std::string> placed_axes(const Part &part) {
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < part.typed.axes.size(); ++axis)
    if (!part.typed.axes[axis].implied) names.push_back(name_of(part, int(axis)));
  return names;
}

// What gradients call an axis of this part elsewhere: h_0 is the first dim of let h and of its
// cotangent.
std::set<std::string> names_elsewhere(const Part &part, int axis) {
  const std::string name = name_of(part, axis);
  std::set<std::string> names{name, name + "_" + part.let};
  for (const spec::TypedOutput &output : part.typed.outputs)
    for (std::size_t dim = 0; dim < output.axes.size(); ++dim)
      if (output.axes[dim] == axis) names.insert(spec::own_axis(output.name, dim));
  return names;
}

bool lies_at(const Part &part, const TypedInput &input, const NamesOfAxes &names) {
  if (input.axis_of_dim.size() != names.size()) return false;
  for (std::size_t dim = 0; dim < names.size(); ++dim)
    if (!names[dim].contains(name_of(part, input.axis_of_dim[dim]))) return false;
  return true;
}

class Comparison {
public:
  Comparison(const SpecData &kernel, const SpecData &derived)
      : before_(parts_of(kernel)), after_(parts_of(derived)) {}

  bool run() const {
    return std::ranges::all_of(after_, [&](const Part &part) {
      const Part *same = part.let.empty() ? nullptr : before(part.let);
      for (const TypedInput *input : part.placed())
        if (!(same ? lies_in(part, *input, *same) : lies_as_in_all(part, *input))) return false;
      return same != nullptr || !counts_axes(part.data) || counts_as_in_all(part);
    });
  }

private:
  const Part *before(const std::string &let) const {
    const auto found = std::ranges::find(before_, let, &Part::let);
    return found == before_.end() ? nullptr : &*found;
  }

  // The let as it is written.
  static bool lies_in(const Part &part, const TypedInput &input, const Part &same) {
    return std::ranges::any_of(same.placed(), [&](const TypedInput *known) {
      return known->name == input.name && lies_at(part, input, names_in(same, *known));
    });
  }
  static NamesOfAxes names_in(const Part &part, const TypedInput &input) {
    NamesOfAxes names;
    for (const int axis : input.axis_of_dim) names.push_back(names_elsewhere(part, axis));
    return names;
  }

  // What is made of several parts has no place for an input that lies elsewhere in each.
  bool lies_as_in_all(const Part &part, const TypedInput &input) const {
    bool is_known = false;
    for (const Part &old : before_)
      for (const TypedInput *known : old.placed()) {
        if (known->name != input.name) continue;
        is_known = true;
        if (!lies_at(part, input, names_in(old, *known))) return false;
      }
    return is_known || lies_as_output(part, input);
  }

  // A cotangent lies as its output does, if a number counts its axes.
  bool lies_as_output(const Part &part, const TypedInput &input) const {
    const Part &rest = before_.back();
    for (const spec::TypedOutput &output : rest.typed.outputs) {
      if (input.name != "d_" + output.name) continue;
      if (std::ranges::any_of(output.axes,
                              [&](int axis) { return rest.typed.axes[std::size_t(axis)].implied; }))
        return true;
      NamesOfAxes names;
      for (const int axis : output.axes) names.push_back(names_elsewhere(rest, axis));
      return lies_at(part, input, names);
    }
    return true;
  }

  bool counts_as_in_all(const Part &part) const {
    return std::ranges::all_of(before_, [&](const Part &old) {
      return !counts_axes(old.data) || placed_axes(old) == placed_axes(part);
    });
  }

  const std::vector<Part> before_, after_;
};

} // namespace

bool has_labels_alone(const SpecData &kernel) {
  return !counts_axes(kernel) && std::ranges::all_of(kernel.inputs, [](const auto &input) {
    return input->window || input->dims.empty() || input->labelled();
  });
}

bool is_of_places(const std::string &code) {
  return code == "E0101" || code == "E0102" || code == "E0103" || code == "E0104" ||
         code == "E0131" || code == "E0140";
}

bool lies_as_before(const SpecData &kernel, const SpecData &derived) {
  return has_labels_alone(kernel) || Comparison(kernel, derived).run();
}

} // namespace broadloom::grad

// Names and axes of a kernel looked up, and told: see space.hpp.
#include "spec/space.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"

#include <set>

namespace broadloom::spec {

using support::fail;

std::uint32_t Space::input_called(const std::string &name, const Place &where,
                                  const char *option) const {
  auto it = by_name_.find(name);
  if (it != by_name_.end()) {
    const InputDecl &decl = *decls_[it->second];
    // What is like a window is like the input that it is of.
    const InputDecl &whole = decl.window ? *decl.window->of : decl;
    const std::vector<int> &axes = out_.inputs[by_name_.at(whole.name)].axis_of_dim;
    if (!whole.labelled() && std::set<int>(axes.begin(), axes.end()).size() < axes.size())
      too_many_dims(whole.name, int(whole.dims.size()), where);
    return it->second;
  }
  std::vector<std::string> names;
  for (const auto &decl : decls_)
    if (!decl->window) names.push_back(decl->name);
  std::string near = support::closest(name, names);
  fail("E0003", std::string(option) + " names an input, and there is no input '" + name + "'",
       shown(where), near.empty() ? "name an input of the kernel" : "did you mean '" + near + "'?");
}

std::vector<std::uint32_t> Space::inputs_called(const std::vector<std::string> &names,
                                                const Place &where) const {
  std::vector<std::uint32_t> inputs;
  for (const std::string &name : names) {
    inputs.push_back(input_called(name, where));
    if (const InputDecl &decl = *decls_[inputs.back()]; names.size() > 1 && decl.window)
      fail("E0021", "like= of several inputs takes whole ones, and " + name + " is a window",
           shown(where),
           "for the extents of the input write " + decl.window->of->name +
               " alone; what goes back through the window is a sum of its own, sum(.., like=" +
               name + ")");
  }
  return inputs;
}

std::vector<std::uint32_t> Space::whole_inputs_called(const std::vector<std::string> &names,
                                                      const Place &where) const {
  const std::vector<std::uint32_t> inputs = inputs_called(names, where);
  if (!inputs.empty() && decls_[inputs[0]]->window)
    fail("E0021", "a mode takes no like= of a window", shown(where),
         "write the sum as the value: sum(.., like=" + names[0] + ")");
  return inputs;
}

int Space::axis(const AxisRef &ref, const Place &where) const {
  int axes = placed_axes_;
  if (const int *position = std::get_if<int>(&ref.value())) {
    int axis = *position < 0 ? *position + axes : *position;
    if (axis >= 0 && axis < axes) return axis;
    fail("E0104",
         "there is no axis " + std::to_string(*position) + ": the kernel has " +
             std::to_string(axes) + (axes == 1 ? " axis" : " axes"),
         shown(where), "positions count from 0, negative ones from the end");
  }
  const std::string &label = std::get<std::string>(ref.value());
  auto it = label_axis_.find(label);
  if (it != label_axis_.end()) return it->second;
  std::vector<std::string> labels;
  for (const Axis &axis : out_.axes)
    if (axis.labelled) labels.push_back(axis.name);
  std::string near = support::closest(label, labels);
  std::string help = labels.empty() ? "no input has labels: name axes by position, 0, 1 or -1"
                     : near.empty() ? "the axes are " + support::quoted_list(labels)
                                    : "did you mean '" + near + "'?";
  fail("E0104", "there is no axis '" + label + "'", shown(where), help);
}

std::string Space::axis_name(int axis) const {
  const Axis &a = out_.axes[std::size_t(axis)];
  return a.labelled ? "'" + a.name + "'" : a.name;
}

std::string Space::axis_list(expr::AxisSet axes) const {
  int left = axes.size();
  if (left == 0) return "no axes";
  std::string text = left == 1 ? "axis " : "axes ";
  for (const int axis : axes) {
    text += axis_name(axis);
    --left;
    if (left > 0) text += left == 1 ? " and " : ", ";
  }
  return text;
}

Place Space::shown(const Place &where) const {
  return support::with_text(where, data_.source.get());
}

} // namespace broadloom::spec

// See bounds.hpp.
#include "grad/bounds.hpp"

#include "expr/walk.hpp"
#include "support/free_name.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace broadloom::grad {

std::string bound_of(const Window &window, std::size_t dim) {
  std::string text = window.of->name + " " + std::to_string(dim) + " " + print(window.forms[dim]);
  for (const DimPad &pad : window.pads)
    if (pad.dim == dim) text += " " + std::to_string(pad.before + pad.after);
  return text;
}

namespace {

template <class Visit> void for_each_bound(const Window &window, Visit visit) {
  for (std::size_t dim = 0; dim < window.forms.size(); ++dim)
    if (window.forms[dim].indices.empty()) // elements bound no axis
      for (const AffineForm::Term &term : window.forms[dim].terms) visit(term.axis, dim);
}

} // namespace

void keep_bounds(SpecData &data, const std::vector<std::shared_ptr<const InputDecl>> &inputs) {
  std::set<std::string> labels, read, bounds, axes, names;
  for (const auto &input : data.inputs) {
    names.insert(input->name);
    for (const Dim &dim : input->dims)
      if (!input->window && !dim.label.empty()) labels.insert(dim.label);
  }
  const auto note = [&](const InputDecl &decl) {
    if (!read.insert(decl.name).second || !decl.window) return;
    for_each_bound(*decl.window, [&](const std::string &axis, std::size_t dim) {
      axes.insert(axis);
      bounds.insert(bound_of(*decl.window, dim));
    });
  };
  const auto note_name = [&](const std::string &name) {
    for (const auto &input : data.inputs)
      if (input->name == name) note(*input);
  };
  expr::Walker walker;
  const auto walk = [&](const Expr &root) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) names.insert(node.name);
      if (node.kind == ExprKind::Input) note(*node.input);
      for (const std::string &name : node.of) note_name(name);
      if (node.use)
        for (const std::string &name : node.use->like) note_name(name);
    });
  };
  for (const Expr &let : data.lets) walk(let);
  for (const OutputDecl &output : data.outputs) {
    walk(output.value);
    for (const Expr &init : output.mode.use.init) walk(init);
  }
  for (const OutputDecl &output : data.outputs) {
    names.insert(output.name);
    for (const std::string &name : output.mode.use.like) note_name(name);
  }
  for (const auto &input : inputs) {
    if (!input->window || input->window->is_whole || read.contains(input->name)) continue;
    bool bounds_one = false;
    for_each_bound(*input->window, [&](const std::string &axis, std::size_t dim) {
      bounds_one = bounds_one || (axes.contains(axis) && !labels.contains(axis) &&
                                  !bounds.contains(bound_of(*input->window, dim)));
    });
    if (!bounds_one) continue;
    note(*input);
    if (std::ranges::none_of(data.inputs,
                             [&](const auto &known) { return known->name == input->name; }))
      data.inputs.push_back(input);
    const std::string name = support::free_name(
        "bound", [&](const std::string &free) { return names.insert(free).second; });
    const Expr window = make_input(input, input->where);
    data.lets.push_back(make_let(name, window, input->where));
  }
}

} // namespace broadloom::grad

// What axes and lets are called in the gradient of a kernel whose lets are arrays: see
// lets_gradient.hpp.
#include "grad/lets_gradient.hpp"

#include "expr/exchange.hpp"
#include "spec/own_axis.hpp"

namespace broadloom::grad {

void ThroughLets::name_starts() {
  for (const auto &let : split_.lets)
    if (let->recurrence && let->recurrence->start) {
      const spec::Materialised &begun = *split_.lets[*let->recurrence->start];
      const std::string &name = begun.data.outputs[0].name;
      const Expr &start = lets_.at(let->data.outputs[0].name).node()->args[1];
      taken_.insert(name);
      lets_.emplace(name, spec::let_of_start(begun.typed, name, start, start.node()->where));
    }
}

ThroughLets::Names
ThroughLets::names_of_cotangents(const std::vector<std::shared_ptr<const InputDecl>> &inputs) {
  const std::unordered_set<std::string> declared = declared_labels();
  std::unordered_set<std::string> own;
  for (const auto &let : split_.lets) {
    for (const spec::Axis &axis : let->typed.axes)
      if (is_walked(let->typed, axis) && !declared.contains(axis.name)) own.insert(axis.name);
    // By these own_names() calls its dims, where d_h[h_0] beside x[h_0] may end before x does.
    for (const std::string &axis :
         spec::own_axes(let->data.outputs[0].name, let->typed.outputs[0].axes.size()))
      own.insert(axis);
  }
  Names names;
  for (const auto &input : inputs) {
    if (input->window || input->materialised || taken_.contains(input->name)) continue;
    for (std::size_t dim = 0; dim < input->dims.size(); ++dim)
      if (own.contains(input->dims[dim].label))
        names.try_emplace(input->dims[dim].label,
                          fresh_axis(input->name.substr(2) + "_" + std::to_string(dim)));
  }
  return names;
}

bool ThroughLets::is_walked(const spec::TypedSpec &kernel, const spec::Axis &axis) {
  const auto at = int(&axis - kernel.axes.data());
  return axis.labelled && (!axis.implied || std::ranges::any_of(kernel.inputs, [&](const auto &in) {
           return in.window && in.axes().has(at);
         }));
}

std::unordered_set<std::string> ThroughLets::declared_labels() const {
  std::unordered_set<std::string> declared;
  for (const auto &input : data_.inputs)
    for (const Dim &dim : input->dims)
      if (!input->window) declared.insert(dim.label);
  return declared;
}

bool ThroughLets::is_read_by_a_let(const std::string &name) const {
  return std::any_of(split_.lets.begin(), split_.lets.end(), [&](const auto &let) {
    const std::vector<std::string> names = read_by(let->data);
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

bool ThroughLets::holds_once(const spec::Materialised &let) {
  const expr::Graph &graph = let.typed.graph;
  const spec::TypedOutput &output = let.typed.outputs[0];
  if (graph[output.value].kind != expr::NodeKind::Expand) return true;
  return graph[graph.operands(output.value)[0]].axes.contains(expr::AxisSet::of(output.axes));
}

ThroughLets::Names ThroughLets::own_names(const spec::Materialised &let) {
  const std::unordered_set<std::string> declared = declared_labels();
  std::unordered_set<std::string> others;
  add_axes(split_.rest, others);
  for (const auto &other : split_.lets)
    if (other.get() != &let) add_axes(other->data, others);
  const std::string &name = let.data.outputs[0].name;
  const std::vector<int> &dims = let.typed.outputs[0].axes;
  Names names;
  for (std::size_t a = 0; a < let.typed.axes.size(); ++a) {
    const spec::Axis &axis = let.typed.axes[a];
    if (!is_walked(let.typed, axis) || declared.contains(axis.name)) continue;
    const auto dim = std::find(dims.begin(), dims.end(), int(a));
    if (dim != dims.end())
      names[axis.name] = spec::own_axis(name, std::size_t(dim - dims.begin()));
    else if (others.contains(axis.name))
      say_as(axis.name, names[axis.name] = fresh_axis(axis.name + "_" + name), let.data.axes);
  }
  return names;
}

void ThroughLets::say_as(const std::string &axis, const std::string &now, const Decls &of_let) {
  for (const Decls *all : {&data_.axes, &of_let})
    for (const auto &said : *all) {
      if (said->dims[0].label != axis) continue;
      said_.push_back(make_said("axis", {{now, said->said->of[0]}}, [&] { return said->where; }));
      return;
    }
}

std::string ThroughLets::fresh_axis(const std::string &name) {
  if (axes_.empty()) {
    axes_ = declared_labels();
    add_axes(split_.rest, axes_);
    for (const auto &let : split_.lets) add_axes(let->data, axes_);
  }
  return support::fresh_name(name, axes_);
}

void ThroughLets::add_axes(const SpecData &kernel, std::unordered_set<std::string> &axes) {
  expr::Walker walker;
  for (const OutputDecl &output : kernel.outputs)
    walker.walk(output.value.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Input)
        for (const Dim &dim : node.input->dims) axes.insert(dim.label);
    });
}

Expr ThroughLets::of_windows(const ExprNode &node) {
  std::vector<std::string> of = node.of;
  for (std::string &name : of) {
    if (!array_names_.contains(name)) continue;
    const auto let = std::ranges::find_if(
        split_.lets, [&](const auto &one) { return one->data.outputs[0].name == name; });
    const auto own = spec::own_axes(name, (*let)->typed.outputs[0].axes.size());
    named_.push_back(make_window(lets_.at(name), spec::along(own), node.where).node()->input);
    name = named_.back()->name;
  }
  if (of == node.of) return {};
  return with_of(node, node.axes[0], of);
}

std::vector<AxisRef> ThroughLets::axes_if_named(const std::string &array, std::size_t rank,
                                                const Expr &value) const {
  const std::vector<std::string> own = spec::own_axes(array, rank);
  std::vector<AxisRef> axes(own.begin(), own.end());
  bool named = false;
  const auto note = [&](const InputDecl &decl) {
    for (const Dim &dim : decl.dims)
      for (const AxisRef &axis : axes)
        named = named || std::get<std::string>(axis.value()) == dim.label;
  };
  expr::Walker().walk(value.node(), [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input) note(*node.input);
    for (const auto *decls : {&windows_, &data_.inputs})
      for (const auto &decl : *decls)
        if (std::ranges::count(node.of, decl->name) != 0) note(*decl);
  });
  return named && rank > 1 ? axes : std::vector<AxisRef>();
}

// Each output may become a part of a let, with axes of its own.
void ThroughLets::stay_inside_one_by_one(const Decls &bounds) {
  if (std::ranges::none_of(bounds, [](const auto &input) { return bool(input->window); })) return;
  const Decls inputs = made_.inputs;
  std::unordered_set<std::string> known;
  for (const auto &input : inputs) known.insert(input->name);
  for (OutputDecl &output : made_.outputs) {
    SpecData alone;
    alone.inputs = inputs;
    alone.outputs = {output};
    stay_inside(alone, bounds, false);
    output = alone.outputs[0];
    for (const auto &input : alone.inputs)
      if (known.insert(input->name).second) made_.inputs.push_back(input);
  }
}

void ThroughLets::say_axes() {
  std::set<std::string> walked;
  const auto note = [&](const InputDecl &decl) {
    for (const Dim &dim : decl.dims) walked.insert(dim.label);
  };
  for (const auto &input : made_.inputs) note(*input);
  spec::for_each_node(made_, [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input) note(*node.input);
    for (const AxisRef &axis : node.axes)
      if (const auto *label = std::get_if<std::string>(&axis.value())) walked.insert(*label);
  });
  for (const auto &axis : said_)
    if (walked.contains(axis->dims[0].label)) made_.axes.push_back(axis);
}

} // namespace broadloom::grad

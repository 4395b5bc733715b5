// See batch.hpp: which axes the values of a kernel have, and what hangs on the inputs that get one
// more.
#include "grad/batch_facts.hpp"

#include "analysis/analyse.hpp"
#include "expr/stretch.hpp"
#include "spec/own_axis.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace broadloom::grad {

AxisNames joined(AxisNames a, const AxisNames &b) {
  for (const std::string &axis : b)
    if (std::ranges::count(a, axis) == 0) a.push_back(axis);
  return a;
}

AxisNames without(const AxisNames &a, const AxisNames &b) {
  AxisNames left;
  for (const std::string &axis : a)
    if (std::ranges::count(b, axis) == 0) left.push_back(axis);
  return left;
}

std::vector<std::shared_ptr<const InputDecl>> whole_inputs(const SpecData &data) {
  std::vector<std::shared_ptr<const InputDecl>> inputs;
  for (const auto &decl : data.inputs)
    if (!decl->window && !decl->is_output) inputs.push_back(decl);
  return inputs;
}

std::set<std::string> labels_of(const SpecData &data) {
  std::set<std::string> labels;
  const auto add = [&](const AxisRef &axis) {
    if (const auto *label = std::get_if<std::string>(&axis.value())) labels.insert(*label);
  };
  const auto add_dims = [&](const InputDecl &decl) {
    for (const Dim &dim : decl.dims)
      if (!dim.label.empty()) labels.insert(dim.label);
    for (std::size_t d = 0; !decl.labelled() && d < decl.dims.size(); ++d)
      labels.insert(spec::own_axis(decl.name, d));
  };
  for (const auto &input : data.inputs) add_dims(*input);
  for (const auto &axis : data.axes) add_dims(*axis);
  spec::for_each_node(data, [&](const ExprNode &node) {
    for (const AxisRef &axis : node.axes) add(axis);
    if (node.input) add_dims(*node.input);
  });
  for (const OutputDecl &output : data.outputs) {
    for (const AxisRef &axis : output.axes) add(axis);
    if (output.said) add_dims(*output.said);
  }
  return labels;
}

BatchFacts::BatchFacts(const SpecData &data, const std::set<std::string> &inputs)
    : data_(data), inputs_(inputs), typed_(analysis::analyse(data)),
      split_(spec::split_lets(spec::expand_calls(data), analysis::analyse)),
      lets_(spec::lets_by_name(data)),
      plain_(spec::Calls::All, "kernel '" + data.name + "'", data.source.get()) {
  const auto has_label = [](const spec::Axis &axis) { return axis.labelled && !axis.implied; };
  const auto lies_by_number = [&](const auto &decl) {
    return std::ranges::any_of(axes_of_input(*decl),
                               [](const std::string &axis) { return axis[0] == '#'; });
  };
  by_position_ = std::ranges::none_of(typed_.axes, has_label) &&
                 std::ranges::any_of(whole_inputs(data), lies_by_number);
  find_arrays();
  find_open_axes();
  find_moving_lets();
}

void BatchFacts::fail(const std::string &why, const Place &where, const std::string &help) const {
  support::fail("E0061", "kernel '" + data_.name + "' gets no axis of a batch: " + why,
                support::with_text(where, data_.source.get()), help);
}

void BatchFacts::find_arrays() {
  if (!split_) return;
  for (const auto &let : split_->lets) {
    const std::string &name = let->data.outputs[0].name;
    const auto known = lets_.find(name);
    if (known == lets_.end()) continue; // what a loop begins with
    const ExprNode &node = *known->second.node();
    AxisNames dims;
    for (const AxisRef &axis : node.axes)
      if (const auto *label = std::get_if<std::string>(&axis.value())) dims.push_back(*label);
    if (node.axes.empty())
      for (const AffineForm &form : spec::own_positions(let->typed))
        dims.push_back(form.terms[0].axis);
    if (dims.size() != let->typed.outputs[0].axes.size())
      fail("the axes of let '" + name + "', which is an array, have no names", node.where,
           "give the inputs that it reads labels, or list its dims by labels");
    dims_.emplace(name, std::move(dims));
  }
}

void BatchFacts::find_open_axes() {
  std::set<std::string> read;
  spec::for_each_node(data_, [&](const ExprNode &node) {
    if (node.kind == ExprKind::Input && !node.input->window) read.insert(node.input->name);
    const int *number = node.axes.empty() || node.kind == ExprKind::Join
                            ? nullptr
                            : std::get_if<int>(&node.axes[0].value());
    if (split_ && number != nullptr)
      fail("it has lets that are arrays, and axes by numbers", node.where, "name axes by labels");
  });
  for (const auto &decl : whole_inputs(data_)) {
    if (split_ && !decl->labelled() && !decl->dims.empty() && read.contains(decl->name))
      fail("it has lets that are arrays, and '" + decl->name + "' has no labels", decl->where,
           "label its dims");
    const AxisNames axes = axes_of_input(*decl);
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (!decl->labelled() || expr::is_one_of_more(decl->dims[d])) open_.insert(axes[d]);
  }
}

// A let depends on what it reads and what it begins with; joins, and lets that read each other,
// until nothing is new.
void BatchFacts::find_moving_lets() {
  for (bool more = !inputs_.empty(); more;) {
    more = false;
    for (const auto &[name, dims] : dims_) {
      const Expr &let = lets_.at(name);
      if (moving_.contains(name) ||
          std::ranges::none_of(let.node()->args, [&](const Expr &arg) { return depends(arg); }))
        continue;
      moving_.insert(name);
      more = true;
    }
    depends_walker_ = {};
    depends_.clear();
  }
}

const spec::Materialised &BatchFacts::array(const std::string &let) const {
  return **std::ranges::find_if(
      split_->lets, [&](const auto &made) { return made->data.outputs[0].name == let; });
}

const InputDecl *BatchFacts::window_called(const std::string &name) const {
  for (const auto &input : data_.inputs)
    if (input->window && input->name == name) return input.get();
  return nullptr;
}

std::string BatchFacts::name(const AxisRef &ref, const Place &where) const {
  if (const auto *label = std::get_if<std::string>(&ref.value())) return *label;
  const auto count = int(std::ranges::count(typed_.axes, false, &spec::Axis::implied));
  const int given = std::get<int>(ref.value());
  const int axis = given < 0 ? given + count : given;
  if (axis < 0 || axis >= count) fail("it names an axis that is not there", where, "name another");
  const spec::Axis &known = typed_.axes[std::size_t(axis)];
  return known.labelled ? known.name : "#" + std::to_string(axis);
}

AxisNames BatchFacts::axes_of_input(const InputDecl &decl) const {
  AxisNames axes;
  if (decl.labelled()) {
    for (const Dim &dim : decl.dims) axes.push_back(dim.label);
    return axes;
  }
  for (const spec::TypedInput &input : typed_.inputs)
    if (input.name == decl.name && !input.window)
      for (const int axis : input.axis_of_dim) {
        const spec::Axis &known = typed_.axes[std::size_t(axis)];
        axes.push_back(known.labelled ? known.name : "#" + std::to_string(axis));
      }
  // Of a kernel with arrays the inputs that only these read are not there.
  for (std::size_t d = axes.size(); d < decl.dims.size(); ++d)
    axes.push_back(spec::own_axis(decl.name, d));
  return axes;
}

AxisNames BatchFacts::axes_seen(const InputDecl &window) const {
  const InputDecl &of = *window.window->of;
  if (!of.is_let) return axes_of_input(of);
  AxisNames axes;
  for (std::size_t d = 0; d < dims(of.name).size(); ++d) axes.push_back(spec::own_axis(of.name, d));
  return axes;
}

AxisNames BatchFacts::axes_of_output(std::size_t k) const {
  AxisNames axes;
  for (const int axis : typed_.outputs[k].axes) {
    const spec::Axis &known = typed_.axes[std::size_t(axis)];
    axes.push_back(known.labelled ? known.name : "#" + std::to_string(axis));
  }
  return axes;
}

AxisNames BatchFacts::axes_of(const ExprNode &node) {
  AxisNames axes;
  const auto add_args = [&](std::size_t first = 0) {
    for (std::size_t a = first; a < node.args.size(); ++a)
      axes = joined(std::move(axes), axes_.at(node.args[a].node()));
  };
  switch (node.kind) {
  case ExprKind::Input:
    if (!node.input->window) return axes_of_input(*node.input);
    for (const Dim &dim : node.input->dims) axes.push_back(dim.label);
    return axes;
  case ExprKind::Iota: return {name(node.axes[0], node.where)};
  case ExprKind::Let: return is_array(node.name) ? dims(node.name) : axes_.at(node.args[0].node());
  case ExprKind::Fold:
    for (const std::string &like : node.use->like) {
      const InputDecl *window = window_called(like);
      if (window != nullptr) axes = joined(std::move(axes), axes_seen(*window));
      for (const auto &input : data_.inputs)
        if (!input->window && input->name == like)
          axes = joined(std::move(axes), axes_of_input(*input));
    }
    if (node.use->like.empty() && !node.axes.empty()) {
      add_args();
      AxisNames folded;
      for (const AxisRef &axis : node.axes) folded.push_back(name(axis, node.where));
      return without(axes, folded);
    }
    add_args(node.folded);
    return axes;
  case ExprKind::Literal:
  case ExprKind::Op:
  case ExprKind::Cast:
  case ExprKind::Scan:
  case ExprKind::Extent:
  case ExprKind::Parameter:
  case ExprKind::Join:
  case ExprKind::Call: add_args(); return axes;
  }
  return axes;
}

AxisNames BatchFacts::axes(const Expr &expr) {
  const Expr root = plain_.expand(expr);
  kept_.push_back(root);
  axes_walker_.walk(root.node(), [&](const ExprNode &node) { axes_[&node] = axes_of(node); });
  return axes_.at(root.node());
}

bool BatchFacts::reads(const InputDecl &decl) const {
  if (!decl.window) return depends(decl.name);
  if (depends(decl.window->of->name)) return true;
  for (const AffineForm &form : decl.window->forms)
    for (const AffineForm::Index &index : form.indices)
      if (reads(*index.read)) return true;
  return false;
}

bool BatchFacts::depends_on(const ExprNode &node) const {
  if (node.kind == ExprKind::Input) return reads(*node.input); // extents are no elements
  if (node.kind == ExprKind::Let && is_array(node.name)) return moving_.contains(node.name);
  if (node.use)
    for (const std::string &like : node.use->like) {
      const InputDecl *window = window_called(like);
      if (window != nullptr ? reads(*window) : depends(like)) return true;
    }
  return std::ranges::any_of(node.args, [&](const Expr &arg) { return depends_.at(arg.node()); });
}

bool BatchFacts::depends(const Expr &expr) {
  kept_.push_back(expr);
  depends_walker_.walk(expr.node(),
                       [&](const ExprNode &node) { depends_[&node] = depends_on(node); });
  return depends_.at(expr.node());
}

} // namespace broadloom::grad

// See facts.hpp.
#include "grad/facts.hpp"

#include "expr/definition.hpp"
#include "grad/bind.hpp"

#include <algorithm>

namespace broadloom::grad {
namespace {

spec::TypedSpec begin(const SpecData &data) {
  spec::TypedSpec spec;
  spec.name = data.name;
  spec.source = data.source;
  spec.order = data.order;
  return spec;
}

} // namespace

Facts::Facts(const SpecData &data, const std::vector<std::string> &wrt)
    : spec_(begin(data)), space_(data, spec_), reads_(space_, spec_), typer_(spec_, space_, reads_),
      wrt_(wrt) {}

void Facts::add(const Expr &root) {
  reads_.add(root);
  walker_.walk(root.node(), [&](const ExprNode &node) {
    const bool asked = node.kind == ExprKind::Input &&
                       std::find(wrt_.begin(), wrt_.end(), node.input->name) != wrt_.end();
    const bool reached = std::any_of(node.args.begin(), node.args.end(), [&](const Expr &arg) {
      return depends_.count(arg.node()) != 0;
    });
    if (asked || reached) depends_.insert(&node);
    if (node.use && node.use->accumulator.definition())
      accumulators_.insert(node.use->accumulator.definition()->name);
  });
}

AxisSet Facts::axes(const Expr &root) {
  if (!root.node()) return {};
  kept_.push_back(root);
  axes_walker_.walk(root.node(), [&](const ExprNode &node) {
    AxisSet set;
    for (const Expr &arg : node.args) set = set | axes_.at(arg.node());
    switch (node.kind) {
    case ExprKind::Input: {
      const auto made = new_inputs_.find(node.input->name);
      set = made != new_inputs_.end() ? made->second
                                      : spec_.inputs[space_.index_of(*node.input)].axes();
      break;
    }
    case ExprKind::Iota: set = AxisSet::of(space_.axis(node.axes[0], node.where)); break;
    case ExprKind::Fold:
      if (!node.use->like.empty())
        set = spec_.inputs[space_.input_called(node.use->like, node.where)].axes();
      else if (node.axes.empty())
        set = {};
      for (const AxisRef &ref : node.axes) set = set - AxisSet::of(space_.axis(ref, node.where));
      break;
    case ExprKind::Literal:
    case ExprKind::Op:
    case ExprKind::Cast:
    case ExprKind::Scan:
    case ExprKind::Let:
    case ExprKind::Extent:
    case ExprKind::Parameter:
    case ExprKind::Call: break;
    }
    axes_[&node] = set;
  });
  return axes_.at(root.node());
}

std::string Facts::free_name(const std::string &name) const {
  std::string free = name;
  for (int k = 2; accumulators_.count(free) != 0; ++k) free = name + "_" + std::to_string(k);
  return free;
}

AxisRef Facts::axis_ref(int axis) const {
  const spec::Axis &known = spec_.axes[std::size_t(axis)];
  return known.labelled ? AxisRef(known.name) : AxisRef(axis);
}

std::vector<AxisRef> Facts::axis_refs(AxisSet axes) const {
  std::vector<AxisRef> refs;
  for (int axis = 0; axis < expr::max_axes; ++axis)
    if (axes.has(axis)) refs.push_back(axis_ref(axis));
  return refs;
}

std::vector<std::string> Facts::lenders(const Expr &expr, int axis) const {
  std::vector<std::string> names;
  for (std::size_t i : reads_.lenders(expr, axis)) names.push_back(spec_.inputs[i].name);
  return names;
}

Expr Facts::bound(const Expr &root) const { return Binder(spec_, space_, reads_).bind(root); }

bool Facts::is_single(const Expr &expr, int axis) const {
  bool single = false;
  for (std::size_t i : reads_.inputs(expr))
    for (std::size_t dim = 0; dim < spec_.inputs[i].axis_of_dim.size(); ++dim) {
      if (spec_.inputs[i].axis_of_dim[dim] != axis) continue;
      if (spec_.inputs[i].extents[dim] != 1) return false;
      single = true;
    }
  return single;
}

bool Facts::is_firm(int axis) const {
  int inputs = 0;
  bool stretches = false;
  for (const spec::TypedInput &input : spec_.inputs)
    for (std::size_t dim = 0; dim < input.axis_of_dim.size(); ++dim)
      if (input.axis_of_dim[dim] == axis) ++inputs, stretches = stretches || input.may_stretch[dim];
  return inputs == 1 || !stretches;
}

bool Facts::may_be_repeated(const std::vector<std::string> &own, int axis) const {
  bool others = false, rigid = false;
  for (const spec::TypedInput &input : spec_.inputs) {
    if (!input.axes().has(axis)) continue;
    const bool mine = std::find(own.begin(), own.end(), input.name) != own.end();
    others = others || !mine;
    for (std::size_t dim = 0; mine && dim < input.axis_of_dim.size(); ++dim)
      if (input.axis_of_dim[dim] == axis) rigid = rigid || !input.may_stretch[dim];
  }
  return others && !rigid && !own.empty();
}

} // namespace broadloom::grad

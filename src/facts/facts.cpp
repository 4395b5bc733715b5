// See facts.hpp.
#include "facts/facts.hpp"

#include "expr/definition.hpp"
#include "expr/window.hpp"
#include "facts/bind.hpp"
#include "support/free_name.hpp"

#include <algorithm>

namespace broadloom::facts {
namespace {

spec::TypedSpec begin(const SpecData &data) {
  spec::TypedSpec spec;
  spec.name = data.name;
  spec.source = data.source;
  spec.order = data.order;
  return spec;
}

// The input that it is, or that it is a window of.
const InputDecl &whole(const InputDecl &input) { return input.window ? *input.window->of : input; }

} // namespace

Facts::Facts(const SpecData &data, const std::vector<std::string> &wrt)
    : spec_(begin(data)), space_(data, spec_), reads_(space_, spec_), typer_(spec_, space_, reads_),
      expander_(spec::Calls::All, "kernel '" + data.name + "'", data.source.get()), calls_(data),
      wrt_(wrt), sets_(spec_.inputs.size() + data.outputs.size()) {
  for (const auto &decl : data.inputs)
    if (decl->window) windows_[decl->name] = decl;
}

void Facts::declare(const std::string &input, const std::vector<int> &dims) {
  new_inputs_[input] = {AxisSet::of(dims), dims, spec_.inputs.size() + new_names_.size()};
  new_names_.push_back(input);
}

std::vector<int> Facts::dims(const InputDecl &input) const {
  if (const auto made = new_inputs_.find(input.name); made != new_inputs_.end())
    return made->second.dims;
  if (!input.window) {
    const auto like = likes_.find(input.name);
    const std::string &name = like == likes_.end() ? input.name : like->second;
    return spec_.inputs[space_.input_called(name, input.where)].axis_of_dim;
  }
  std::vector<int> axes;
  for (const Dim &dim : input.dims) axes.push_back(space_.axis(AxisRef(dim.label), input.where));
  return axes;
}

AxisSet Facts::axes_like(const std::vector<std::string> &names, const Place &where) const {
  AxisSet axes;
  for (const std::string &name : names) {
    const spec::TypedInput &like = spec_.inputs[space_.input_called(name, where)];
    axes = axes | (like.window ? spec_.inputs[like.window->of] : like).axes();
  }
  return axes;
}

const InputDecl *Facts::window_called(const std::vector<std::string> &like) const {
  const auto found = like.size() == 1 ? windows_.find(like[0]) : windows_.end();
  return found == windows_.end() ? nullptr : found->second.get();
}

void Facts::add(const Expr &root) {
  reads_.add(plain(root));
  walker_.walk(root.node(), [&](const ExprNode &node) {
    const bool asked = node.kind == ExprKind::Input &&
                       std::find(wrt_.begin(), wrt_.end(), whole(*node.input).name) != wrt_.end();
    const bool reached = std::any_of(node.args.begin(), node.args.end(), [&](const Expr &arg) {
      return depends_.count(arg.node()) != 0;
    });
    if ((asked || reached) && !calls_.is_constant(&node)) depends_.insert(&node);
    // A function may ignore what it is given.
    if (node.kind == ExprKind::Call)
      for (const Expr &arg : node.args) reads_.add(plain(arg));
    if (node.use && node.use->accumulator.definition())
      accumulators_.insert(node.use->accumulator.definition()->name);
  });
}

Expr Facts::by_body(const Expr &call) {
  const auto found = bodies_.find(call.node());
  if (found != bodies_.end()) return found->second;
  kept_.push_back(call);
  Expr body = calls_.by_body(call);
  if (body.node()) {
    add(body);
    body = Binder(spec_, space_, reads_, expander_, calls_).bind_part(body);
    add(body);
  }
  return bodies_[call.node()] = body;
}

AxisSet Facts::axes(const Expr &written) {
  if (!written.node()) return {};
  const Expr root = plain(written);
  kept_.push_back(root);
  axes_walker_.walk(root.node(), [&](const ExprNode &node) {
    AxisSet set;
    for (const Expr &arg : node.args) set = set | axes_.at(arg.node());
    switch (node.kind) {
    case ExprKind::Input: set = set | AxisSet::of(dims(*node.input)); break;
    case ExprKind::Iota: set = AxisSet::of(space_.axis(node.axes[0], node.where)); break;
    case ExprKind::Fold:
      if (!node.use->like.empty())
        set = axes_like(node.use->like, node.where);
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
    case ExprKind::Join:
    case ExprKind::Call: break;
    }
    axes_[&node] = set;
  });
  return axes_.at(root.node());
}

std::string Facts::free_name(const std::string &name) const {
  return support::free_name(
      name, [&](const std::string &free) { return accumulators_.count(free) == 0; });
}

AxisRef Facts::axis_ref(int axis) const {
  const spec::Axis &known = spec_.axes[std::size_t(axis)];
  return known.labelled ? AxisRef(known.name) : AxisRef(axis);
}

std::vector<AxisRef> Facts::axis_refs(AxisSet axes) const {
  std::vector<AxisRef> refs;
  for (const int axis : axes) refs.push_back(axis_ref(axis));
  return refs;
}

std::vector<std::string> Facts::lenders(const Expr &written, int axis) {
  const Expr expr = plain(written);
  kept_.push_back(expr);
  Lenders &known = lenders_[axis];
  known.walker.walk(expr.node(),
                    [&](const ExprNode &node) { known.of[&node] = lenders_of(node, axis, known); });
  std::vector<std::string> names;
  std::vector<std::size_t> inputs, made;
  for (std::size_t i : sets_.members(known.of.at(expr.node())))
    (i < spec_.inputs.size() ? inputs : made).push_back(i);
  for (std::size_t i : spec::lenders_of(spec_, inputs, axis)) names.push_back(spec_.inputs[i].name);
  for (std::size_t i : made) names.push_back(new_names_[i - spec_.inputs.size()]);
  return names;
}

bool Facts::is_as_long(const std::string &input, const std::string &other, int axis) {
  if (input == other) return true;
  const auto value = shapes_.find(input);
  return value != shapes_.end() && lenders(value->second, axis) == std::vector{other};
}

spec::SetId Facts::lenders_of(const ExprNode &node, int axis, const Lenders &known) {
  const auto lent_by = [&](std::string name) -> spec::SetId {
    if (const auto window = likes_.find(name); window != likes_.end()) name = window->second;
    const auto made = new_inputs_.find(name);
    if (made != new_inputs_.end())
      return made->second.axes.has(axis) ? sets_.single(made->second.id) : 0;
    const std::size_t input = space_.input_called(name, node.where);
    return spec_.inputs[input].axes().has(axis) ? sets_.single(input) : 0;
  };
  const auto is_axis = [&](const AxisRef &ref) { return space_.axis(ref, node.where) == axis; };
  if (node.kind == ExprKind::Input) {
    const spec::SetId lent = lent_by(node.input->name);
    return lent != 0 || !likes_.contains(node.input->name) ? lent
                                                           : lent_by(whole(*node.input).name);
  }
  spec::SetId all = 0;
  if (node.kind == ExprKind::Iota && is_axis(node.axes[0]))
    for (const std::string &name : node.of) all = sets_.unite(all, lent_by(name));
  std::size_t first = 0;
  if (node.kind == ExprKind::Fold) {
    const bool is_listed = std::any_of(node.axes.begin(), node.axes.end(), is_axis);
    const InputDecl *window = window_called(node.use->like);
    for (const std::string &name : node.use->like)
      all = sets_.unite(all, lent_by(window ? whole(*window).name : name));
    if (!node.use->like.empty() || node.axes.empty() || is_listed) first = node.folded;
  }
  for (std::size_t k = first; k < node.args.size(); ++k)
    all = sets_.unite(all, known.of.at(node.args[k].node()));
  return all;
}

Expr Facts::bound(const Expr &root) {
  return Binder(spec_, space_, reads_, expander_, calls_).bind(root);
}

bool Facts::may_be_one(const Expr &expr, int axis) {
  bool every = true;
  for (const std::string &name : lenders(expr, axis))
    for (const spec::TypedInput &input : spec_.inputs)
      for (std::size_t dim = 0; input.name == name && dim < input.axis_of_dim.size(); ++dim)
        if (input.axis_of_dim[dim] == axis)
          every = every && (input.extents[dim] == 1 || input.may_stretch[dim]);
  return every;
}

bool Facts::is_firm(AxisSet axes) const {
  for (const int axis : axes)
    if (!facts::is_firm(spec_, axis)) return false;
  return true;
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

} // namespace broadloom::facts

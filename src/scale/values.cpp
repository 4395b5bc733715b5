// See values.hpp.
#include "scale/values.hpp"

#include "expr/window.hpp"
#include "spec/definition.hpp"
#include "support/number.hpp"
#include "support/text.hpp"

#include <bit>
#include <unordered_set>

namespace broadloom::scale {

using ops::Scaling;

Values::Values(const SpecData &data, facts::Facts &facts, const KnownParameters &parameters,
               const std::string &open)
    : facts_(facts), parameters_(parameters), open_(open) {
  std::vector<Expr> roots = data.lets;
  std::vector<Expr> ends;
  for (const OutputDecl &output : data.outputs) {
    ends.push_back(output.value);
    ends.insert(ends.end(), output.mode.use.init.begin(), output.mode.use.init.end());
  }
  roots.insert(roots.end(), ends.begin(), ends.end());

  std::unordered_map<const ExprNode *, Expr> handles;
  expr::Walker walker;
  std::vector<const ExprNode *> order;
  for (const Expr &root : roots) {
    facts_.add(root);
    handles[root.node()] = root;
    walker.walk(root.node(), [&](const ExprNode &node) {
      order.push_back(&node);
      for (const Expr &arg : node.args) handles[arg.node()] = arg;
    });
  }
  std::unordered_set<std::string> named;
  for (const ExprNode *node : order) {
    if (node->kind == ExprKind::Let) {
      ids_[node] = ids_.at(node->args[0].node());
      if (named.insert(node->name).second) lets_.push_back({node->name, ids_[node]});
    } else {
      ids_[node] = add(handles.at(node));
    }
  }
  for (const Expr &end : ends) all_[id_of(end)].output = true;
}

bool is_read_of(const InputDecl &decl, const std::string &array) {
  const InputDecl &whole = decl.window ? *decl.window->of : decl;
  return whole.materialised && whole.name == array;
}

Id Values::add(const Expr &expr) {
  const ExprNode &node = *expr.node();
  Value value;
  for (const Expr &arg : node.args) value.args.push_back(ids_.at(arg.node()));
  const auto [found, fresh] = by_key_.try_emplace(key(node, value.args), Id(all_.size()));
  if (!fresh) return found->second;

  value.written = expr;
  value.axes = facts_.axes(expr);
  value.dtype = facts_.dtype(expr);
  std::vector<Known> known;
  bool constant = node.kind == ExprKind::Literal || node.kind == ExprKind::Op ||
                  node.kind == ExprKind::Cast || node.kind == ExprKind::Fold ||
                  node.kind == ExprKind::Scan;
  value.weak = node.kind == ExprKind::Literal || node.kind == ExprKind::Op;
  value.is_count = node.kind == ExprKind::Extent || value.is(ops::Op::Mul);
  for (const Id arg : value.args) {
    const bool is_power = value.is(ops::Op::Pow) && arg != value.args[0] && all_[arg].is_count;
    constant = constant && (all_[arg].constant || is_power);
    value.is_count = value.is_count && all_[arg].is_count;
    value.weak = value.weak && all_[arg].weak;
    known.push_back(all_[arg].known);
  }
  if (node.use) {
    constant = constant && node.use->like.empty();
    value.folded = !node.use->like.empty() ? folded_by_like(value)
                   : node.axes.empty()     ? all_[value.args[0]].axes
                                           : axes_of(node, node.axes);
  }
  bool is_parameter = node.kind == ExprKind::Input;
  if (is_parameter && !node.input->window) is_parameter = node.input->role == InputRole::parameter;
  if (is_parameter) // and so are the elements that say where it is read
    for_each_read_by(*node.input, [&](const std::shared_ptr<const InputDecl> &read) {
      is_parameter = is_parameter && read->role == InputRole::parameter;
    });
  if (is_parameter) {
    constant = true;
    const InputDecl &whole = node.input->window ? *node.input->window->of : *node.input;
    const auto told = parameters_.find(whole.name);
    value.known = told != parameters_.end() ? told->second : Known::of(whole.sign);
    if (node.input->window)
      for (const DimPad &pad : node.input->window->pads)
        if (pad.mode == PadMode::Constant) value.known = either(value.known, known_of(pad.value));
  } else if (constant) {
    const bool is_power = value.is(ops::Op::Pow) && all_[value.args[1]].is_count;
    value.known =
        is_power ? to_count(known[0])
                 : known_of(node, known, value.args.size() == 2 && value.args[0] == value.args[1]);
  }
  value.constant = constant;
  value.is_open = !open_.empty() && node.kind == ExprKind::Input && is_read_of(*node.input, open_);
  for (const Id arg : value.args)
    if (all_[arg].users.empty() || all_[arg].users.back() != found->second)
      all_[arg].users.push_back(found->second);
  all_.push_back(std::move(value));
  return found->second;
}

// Axes that sum(e, like=x) may fold: those that x lacks, or along which it may have 1 element.
AxisSet Values::folded_by_like(const Value &value) const {
  AxisSet folded;
  for (const int axis : all_[value.args[0]].axes)
    if (!value.axes.has(axis) || !facts_.is_firm(AxisSet::of(axis)))
      folded = folded | AxisSet::of(axis);
  return folded;
}

AxisSet Values::axes_of(const ExprNode &node, const std::vector<AxisRef> &refs) const {
  AxisSet axes;
  for (const AxisRef &ref : refs) axes = axes | AxisSet::of(facts_.space().axis(ref, node.where));
  return axes;
}

std::string Values::key(const ExprNode &node, const std::vector<Id> &args) const {
  std::string key = std::to_string(int(node.kind)) + ":";
  switch (node.kind) {
  case ExprKind::Input: key += node.input->name; break;
  case ExprKind::Literal:
    key += std::to_string(int(node.number.kind)) + "," + std::to_string(node.number.integer) + "," +
           std::to_string(std::bit_cast<std::uint64_t>(node.number.real));
    break;
  case ExprKind::Op: key += std::to_string(int(node.op)); break;
  case ExprKind::Cast: key += name(node.dtype); break;
  case ExprKind::Fold:
  case ExprKind::Scan: {
    const FoldUse &use = *node.use;
    key += std::string(spec::name_of(use.accumulator)) + "," + support::tuple(use.like) + "," +
           (use.acc ? std::string(name(*use.acc)) : "") + "," +
           (use.correction ? std::to_string(std::bit_cast<std::uint64_t>(*use.correction)) : "") +
           (use.exclusive ? ",exclusive" : "") + (use.reverse ? ",reverse" : "") + "," + use.state +
           "," + std::to_string(node.folded);
    break;
  }
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Let:
  case ExprKind::Parameter:
  case ExprKind::Call:
  case ExprKind::Join: break;
  }
  key += "[";
  for (const AxisRef &axis : node.axes)
    key += std::to_string(facts_.space().axis(axis, node.where)) + ",";
  for (const std::string &input : node.of) key += input + ",";
  key += node.use && node.axes.empty() ? "all]" : "]";
  for (const Id arg : args) key += std::to_string(arg) + ",";
  return key;
}

Scaling Values::scaling(Id id) const {
  const ExprNode &node = all_[id].node();
  switch (node.kind) {
  case ExprKind::Op: return ops::info(node.op).scaling;
  case ExprKind::Cast: return Scaling::Linear;
  case ExprKind::Fold:
  case ExprKind::Scan: {
    const Fold fold = node.use->accumulator.fold();
    if (fold == Fold::User || node.folded != 1) return Scaling::None;
    const Scaling scaling = ops::info(fold).scaling;
    if (!node.use->like.empty() && (scaling != Scaling::Linear || node.args.size() > 1))
      return Scaling::None;
    const bool running = scaling == Scaling::Linear || scaling == Scaling::Homogeneous;
    if (node.kind == ExprKind::Scan) // running means and norms are no operations
      return running && ops::info(fold).kind == ops::FoldKind::Operation ? scaling : Scaling::None;
    if (node.args.size() > 1 && ops::info(fold).kind != ops::FoldKind::Operation)
      return Scaling::None;
    return scaling;
  }
  case ExprKind::Input:
  case ExprKind::Literal:
  case ExprKind::Let:
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Parameter:
  case ExprKind::Call:
  case ExprKind::Join: return Scaling::None;
  }
  return Scaling::None;
}

int Values::constant_side(Id id) const {
  const Value &value = all_[id];
  if (value.constant || value.args.size() != 2) return -1;
  const bool left = all_[value.args[0]].constant, right = all_[value.args[1]].constant;
  if (value.is(ops::Op::Mul)) return left == right ? -1 : left ? 0 : 1;
  return value.is(ops::Op::Div) && right && !left ? 1 : -1;
}

bool Values::is_zero(Id id) const {
  const ExprNode &node = all_[id].node();
  return node.kind == ExprKind::Literal && node.number.integer == 0 && node.number.real == 0;
}

std::int64_t Values::folded_count(Id id) const {
  const AxisSet folded = all_[id].folded;
  if (!facts_.is_firm(folded)) return -1;
  std::int64_t count = 1;
  for (const int axis : folded) {
    std::int64_t extent = -1;
    for (const spec::TypedInput &input : facts_.spec().inputs)
      for (std::size_t dim = 0; dim < input.axis_of_dim.size(); ++dim)
        if (input.axis_of_dim[dim] == axis && input.extents[dim] >= 0) extent = input.extents[dim];
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return -1;
  }
  return count;
}

Expr Values::count(Id id) const {
  const Value &value = all_[id];
  const facts::Terms t(value.node().where);
  Expr count;
  for (const int axis : value.folded) {
    if (facts_.lenders(value.node().args[0], axis).empty()) return {};
    const Expr extent = facts_.extent(value.node().args[0], axis, t);
    count = count.node() ? t.mul(count, extent) : extent;
  }
  return count;
}

std::string Values::name_of(Id id) const {
  std::vector<std::string> names;
  std::unordered_set<Id> seen;
  std::vector<Id> work{id};
  while (!work.empty() && names.size() < 4) {
    const Id at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    const ExprNode &node = all_[at].node();
    if (node.kind == ExprKind::Input) {
      const InputDecl &whole = node.input->window ? *node.input->window->of : *node.input;
      names.push_back(whole.name);
    }
    work.insert(work.end(), all_[at].args.rbegin(), all_[at].args.rend());
  }
  if (names.empty() && all_[id].node().kind == ExprKind::Literal) {
    const Number &number = all_[id].node().number;
    if (number.kind == Number::Kind::Bool || number.kind == Number::Kind::Int)
      return std::to_string(number.integer);
    return support::shortest(number.real) + (number.kind == Number::Kind::Imaginary ? "j" : "");
  }
  return names.empty() ? "a number" : support::joined(names);
}

} // namespace broadloom::scale

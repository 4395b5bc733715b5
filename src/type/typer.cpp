// See typer.hpp. Here: the walk, inputs, folds and repeats; operations are in type_op.cpp.
#include "type/typer.hpp"

#include "support/check.hpp"
#include "support/fail.hpp"

#include <algorithm>
#include <array>

namespace broadloom::type {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using support::fail;

namespace {

bool is_mark(const ExprNode &node) {
  return node.kind == ExprKind::Op && (node.op == ops::Op::Keep || node.op == ops::Op::Recompute);
}

// Of a number, which has no axes: is its fold the number, still weak?
bool is_itself(const ExprNode &node) {
  const Fold fold = node.use->accumulator.fold();
  return node.kind == ExprKind::Fold && node.args.size() == 1 && node.use->like.empty() &&
         (fold == Fold::Sum || fold == Fold::Prod || fold == Fold::Min || fold == Fold::Max);
}

} // namespace

Typer::Memo &Typer::memo(const Entry &entry) {
  if (!entry.use) return memos_[UseKey()];
  const FoldUse &use = *entry.use;
  std::vector<const ExprNode *> init;
  for (const Expr &value : use.init) init.push_back(value.node());
  return memos_[{true, use.accumulator.fold(), use.accumulator.definition().get(),
                 use.acc ? int(*use.acc) : -1, use.correction.value_or(0),
                 use.correction.has_value(), std::move(init), entry.kept.bits()}];
}

int Typer::open_scope(spec::SetId inputs, int outer) {
  if (outer >= 0 && scopes_[std::size_t(outer)].inputs == inputs) return outer;
  auto [it, fresh] = scope_ids_.try_emplace({inputs, outer}, int(scopes_.size()));
  if (fresh) scopes_.push_back({inputs, outer});
  return it->second;
}

Typer::Key Typer::key_of_arg(const ExprNode &node, std::size_t arg, int scope) {
  const ExprNode *to = node.args[arg].node();
  // What is accumulated is an expression of its own; init= is one of those around it.
  if (arg < node.folded && reads_.scoped(*to)) scope = open_scope(reads_[node].accumulated, scope);
  return key(to, scope);
}

Value Typer::type(const Expr &root, const Entry &entry) {
  return type(key(root.node(), open_scope(reads_[root].inputs, -1)), entry, memo(entry));
}

Value Typer::type_defined(const Expr &root, const Parameters &parameters) {
  Memo known;
  parameters_ = &parameters;
  const Value value = type({root.node(), -1}, {}, known);
  parameters_ = nullptr;
  return value;
}

Value Typer::type(const Key &root, const Entry &entry, Memo &known) {
  std::vector<Key> work{root};
  while (!work.empty()) {
    const Key key = work.back();
    const ExprNode &node = *key.first;
    if (known.count(key)) {
      work.pop_back();
      continue;
    }
    std::size_t before = work.size();
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      const Key arg = key_of_arg(node, i, key.second);
      if (!known.count(arg)) work.push_back(arg);
    }
    if (work.size() > before) {
      std::reverse(work.begin() + std::ptrdiff_t(before), work.end()); // leftmost first
      continue;
    }
    work.pop_back();
    if (++steps_ > 16 * expr::max_nodes)
      fail("E0013", "the kernel is too large: its outputs together need too many operations",
           space_.shown(node.where), "split the kernel");
    known.emplace(key, type_node(node, key.second, entry, known));
  }
  return known.at(root);
}

Value Typer::type_node(const ExprNode &node, int scope, const Entry &entry, const Memo &memo) {
  auto value_of = [&](std::size_t arg) { return memo.at(key_of_arg(node, arg, scope)); };
  switch (node.kind) {
  case ExprKind::Input: return type_input(node, entry);
  case ExprKind::Literal: return type_number(node);
  case ExprKind::Let: note_let(node, value_of(0).node); return value_of(0);
  case ExprKind::Extent:
  case ExprKind::Iota: return type_counted(node, scope);
  case ExprKind::Cast: return {cast(value_of(0).node, node.dtype, node.where), false};
  case ExprKind::Call: support::bug("typer: a call was not written out");
  case ExprKind::Join: support::bug("typer: a join was not taken out");
  case ExprKind::Parameter:
    support::check(parameters_ && parameters_->count(node.name), "typer: an unknown parameter");
    return parameters_->at(node.name);
  case ExprKind::Fold:
  case ExprKind::Scan:
  case ExprKind::Op: break;
  }
  std::vector<Value> args;
  for (std::size_t i = 0; i < node.args.size(); ++i) args.push_back(value_of(i));
  if (node.kind == ExprKind::Op) return type_op(node, std::move(args));
  if (is_itself(node) && args[0].weak) return args[0];
  return {close(type_fold(node, std::move(args)), node.where), false};
}

// The inputs that give `axis` its extent: those named, or those of the expression that the node
// stands in.
std::vector<std::size_t> Typer::lenders(const ExprNode &node, int axis, int scope) const {
  std::vector<std::size_t> found;
  for (const std::string &name : node.of) {
    const std::size_t input = space_.input_called(name, node.where, "of=");
    if (!spec_.inputs[input].axes().has(axis))
      fail("E0103",
           "input '" + name + "' lacks axis " + space_.axis_name(axis) + ": it has " +
               space_.axis_list(spec_.inputs[input].axes()),
           space_.shown(node.where), "name an axis that the input has");
    found.push_back(input);
  }
  if (!found.empty()) return spec::lenders_of(spec_, found, axis);
  for (int s = scope; s >= 0 && found.empty(); s = scopes_[std::size_t(s)].outer)
    found = spec::lenders_of(spec_, reads_.members(scopes_[std::size_t(s)].inputs), axis);
  for (std::size_t i = 0; i < spec_.inputs.size() && found.empty(); ++i)
    if (!spec_.inputs[i].said.empty() && spec_.inputs[i].axes().has(axis)) found.push_back(i);
  if (found.empty())
    fail("E0103",
         "no input of this expression has axis " + space_.axis_name(axis) + ", whose " +
             (node.kind == ExprKind::Iota ? "index" : "extent") + " it asks for",
         space_.shown(node.where),
         "name an axis of an input that it reads, write of=x, or say how long it is, as in axis u "
         "< 3");
  return found;
}

Value Typer::type_counted(const ExprNode &node, int scope) {
  const int axis = space_.axis(node.axes[0], node.where);
  const bool is_index = node.kind == ExprKind::Iota;
  Node made{.kind = is_index ? NodeKind::Index : NodeKind::Extent, .dtype = DType::I64};
  (is_index ? made.axes : made.folded) = AxisSet::of(axis);
  std::vector<NodeId> args;
  Facts met;
  for (std::size_t i : lenders(node, axis, scope)) {
    args.push_back(input(i, node.where));
    meet(met, along(facts_[args.back().index], AxisSet::of(axis)), node.where);
  }
  return {add(made, args, is_index ? met : Facts(), node.where), !is_index};
}

// What is left of the facts on these axes alone.
Typer::Facts Typer::along(Facts facts, AxisSet axes) {
  facts.visible = visible_.filter(
      facts.visible, [&](std::size_t i) { return axes.contains(spec_.inputs[i].axes()); });
  facts.rigid = facts.rigid & axes;
  facts.fixed = fixed_.without(facts.fixed, expr::every_axis - axes);
  return facts;
}

Value Typer::type_input(const ExprNode &node, const Entry &entry) {
  NodeId value = input(space_.index_of(*node.input), node.where);
  AxisSet extra = spec_.graph[value].axes - entry.kept;
  if (!entry.use || extra.empty()) return {value, false};
  const Place &where = entry.where ? *entry.where : node.where;
  const FoldJob job{*entry.use, {{value, false}}, init_of(*entry.use), extra, {}, false, where};
  return {close(fold(job), node.where), false};
}

Folded Typer::type_whole(const Expr &root, const Entry &entry) {
  const ExprNode *node = root.node();
  std::vector<const ExprNode *> marks, lets; // around it; marks are keep and recompute
  while (node->kind == ExprKind::Let || is_mark(*node)) {
    (is_mark(*node) ? marks : lets).push_back(node);
    node = node->args[0].node();
  }
  if (node->kind == ExprKind::Fold || node->kind == ExprKind::Scan) {
    const int scope = open_scope(reads_[root].inputs, -1);
    std::vector<Value> values;
    for (std::size_t i = 0; i < node->args.size(); ++i)
      values.push_back(type(key_of_arg(*node, i, scope), entry, memo(entry)));
    if (!is_itself(*node) || !values[0].weak) {
      Folded folded = type_fold(*node, std::move(values));
      folded.open = true; // over no axes it leaves no Fold behind, and is one
      for (const ExprNode *mark : marks)
        spec_.marks.push_back({folded.node, mark->op == ops::Op::Keep, mark->where});
      for (const ExprNode *let : lets) note_let(*let, folded.node);
      return folded;
    }
  }
  Value value = type(root, entry);
  return {value.node, dtype(value)};
}

void Typer::note_let(const ExprNode &let, NodeId value) {
  if (named_.contains(let.name)) spec_.lets.push_back({let.name, value});
}

NodeId Typer::close(const Folded &folded, const Place &where) {
  NodeId value = cast(folded.node, folded.result, where);
  return expand(value, {folded.like.begin(), folded.like.end()}, where);
}

NodeId Typer::expand(NodeId value, const std::vector<std::size_t> &inputs, const Place &where,
                     AxisSet wanted) {
  Facts facts = facts_[value.index];
  std::vector<NodeId> args{value};
  AxisSet axes = spec_.graph[value].axes;
  for (std::size_t i : inputs) {
    const spec::TypedInput &x = spec_.inputs[i];
    const AxisSet lent = x.axes() & wanted;
    if (lent.empty()) continue;
    AxisSet rigid; // here a label gives the value the extent that x has
    for (std::size_t dim = 0; dim < x.axis_of_dim.size(); ++dim)
      if (x.labelled && !x.may_stretch[dim]) rigid = rigid | AxisSet::of(x.axis_of_dim[dim]);
    bool given = visible_.has(facts.visible, i) || (facts.rigid & rigid).contains(lent);
    if (given) continue;
    NodeId shape = input(i, where);
    args.push_back(shape);
    axes = axes | lent;
    meet(facts, facts_[shape.index], where);
  }
  if (args.size() == 1) return value;
  return add({.kind = NodeKind::Expand, .dtype = dtype(value), .axes = axes}, args, facts, where);
}

NodeId Typer::expand_along(NodeId value, std::size_t input, int axis, const Place &where) {
  const NodeId shape = index(this->input(input, where), axis, where);
  Facts facts = facts_[value.index];
  meet(facts, facts_[shape.index], where);
  const AxisSet axes = spec_.graph[value].axes | AxisSet::of(axis);
  return add({.kind = NodeKind::Expand, .dtype = dtype(value), .axes = axes},
             std::array{value, shape}, facts, where);
}

NodeId Typer::cast(NodeId value, DType to, const Place &where) {
  DType from = dtype(value);
  if (from == to) return value;
  if (is_complex(from) && !is_complex(to) && to != DType::Bool)
    fail("E0205",
         "a complex number does not become " + std::string(name(to)) +
             ": its imaginary part would be lost",
         space_.shown(where), "take real(x), imag(x) or abs(x)");
  if (is_literal(value))
    return literal(to, ops::convert(spec_.graph[value].literal, from, to), where);
  return add({.kind = NodeKind::Cast, .dtype = to, .axes = spec_.graph[value].axes},
             std::span(&value, 1), Facts(facts_[value.index]), where);
}

NodeId Typer::input(std::size_t index, const Place &where) {
  const spec::TypedInput &x = spec_.inputs[index];
  const Node node{
      .kind = NodeKind::Input, .dtype = x.dtype, .axes = x.axes(), .payload = std::uint32_t(index)};
  Facts facts;
  facts.visible = visible_.single(index);
  std::vector<spec::FixedExtent> fixed;
  for (std::size_t dim = 0; dim < x.axis_of_dim.size(); ++dim) {
    int axis = x.axis_of_dim[dim];
    if (x.labelled && !x.may_stretch[dim]) {
      facts.rigid = facts.rigid | AxisSet::of(axis);
      if (const spec::DimExtent *by = space_.fixed(axis)) fixed.push_back({axis, *by});
    } else if (x.extents[dim] != -1 && x.extents[dim] != 1) {
      fixed.push_back({axis, {index, dim, x.extents[dim]}});
    }
  }
  std::sort(fixed.begin(), fixed.end());
  facts.fixed = fixed_.intern(std::move(fixed));
  return add(node, {}, facts, where);
}

NodeId Typer::literal(DType dtype, ops::Scalar value, const Place &where) {
  return add({.dtype = dtype, .literal = value}, {}, {}, where);
}

NodeId Typer::add(Node node, std::span<const NodeId> args, const Facts &facts, const Place &where) {
  if (spec_.graph.size() >= expr::max_nodes)
    fail("E0013",
         "the kernel is too large: it has more than " + std::to_string(expr::max_nodes) +
             " operations",
         space_.shown(where), "split the kernel");
  NodeId id = spec_.graph.add(node, args, where);
  if (id.index == facts_.size()) facts_.push_back(facts);
  return id;
}

// The operands meet in one operation: their extents must agree.
void Typer::meet(Facts &into, const Facts &other, const Place &where) {
  into.visible = visible_.unite(into.visible, other.visible);
  into.rigid = into.rigid | other.rigid;
  into.fixed = fixed_.unite(into.fixed, other.fixed,
                            [&](const spec::DimExtent &a, const spec::DimExtent &b) {
                              spec::fail_extents(spec_, a, b, space_.shown(where));
                            });
}

} // namespace broadloom::type

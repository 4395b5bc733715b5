// See typer.hpp. Here: the walk, inputs, folds and repeats; operations are in type_op.cpp.
#include "spec/typer.hpp"

#include "support/fail.hpp"

#include <algorithm>

namespace broadloom::spec {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using support::fail;

namespace {

constexpr std::size_t max_nodes = std::size_t(1) << 20;

} // namespace

Typer::Memo &Typer::memo(const Entry &entry) {
  if (!entry.accumulate) return memos_[{false, Fold::Sum, 0}];
  return memos_[{true, entry.fold, entry.kept.bits()}];
}

Value Typer::type(const Expr &root, const Entry &entry) {
  Memo &known = memo(entry);
  std::vector<const ExprNode *> work{root.node()};
  while (!work.empty()) {
    const ExprNode *node = work.back();
    if (known.count(node)) {
      work.pop_back();
      continue;
    }
    std::size_t before = work.size();
    for (const Expr &arg : node->args)
      if (!known.count(arg.node())) work.push_back(arg.node());
    if (work.size() > before) {
      std::reverse(work.begin() + std::ptrdiff_t(before), work.end()); // leftmost first
      continue;
    }
    work.pop_back();
    if (++steps_ > 16 * max_nodes)
      fail("E0013", "the kernel is too large: its outputs together need too many operations",
           space_.shown(node->where), "split the kernel");
    known.emplace(node, type_node(*node, entry, known));
  }
  return known.at(root.node());
}

Value Typer::type_node(const ExprNode &node, const Entry &entry, const Memo &memo) {
  switch (node.kind) {
  case ExprKind::Input: return type_input(node, entry);
  case ExprKind::Literal: return type_number(node);
  case ExprKind::Let: return memo.at(node.args[0].node());
  case ExprKind::Cast: {
    if (!is_supported(node.dtype))
      fail("E0204",
           "a cast to " + std::string(name(node.dtype)) + ", which this version does not have",
           space_.shown(node.where), "use bool, an integer type, f32 or f64");
    return {cast(memo.at(node.args[0].node()).node, node.dtype, node.where), false};
  }
  case ExprKind::Fold: {
    Value arg = memo.at(node.args[0].node());
    if (arg.weak && node.like.empty()) return arg; // a number has no axes: its own sum
    return {close(type_fold(node, arg), node.where), false};
  }
  case ExprKind::Op: break;
  }
  std::vector<Value> args;
  for (const Expr &arg : node.args) args.push_back(memo.at(arg.node()));
  return type_op(node, std::move(args));
}

Value Typer::type_input(const ExprNode &node, const Entry &entry) {
  NodeId value = input(space_.index_of(*node.input), node.where);
  AxisSet extra = spec_.graph[value].axes - entry.kept;
  if (!entry.accumulate || extra.empty()) return {value, false};
  return {close(fold({value, false}, entry.fold, extra, expr::no_input, node.where), node.where),
          false};
}

Folded Typer::type_whole(const Expr &root, const Entry &entry) {
  const ExprNode *node = root.node();
  while (node->kind == ExprKind::Let) node = node->args[0].node();
  if (node->kind == ExprKind::Fold) {
    Value arg = type(node->args[0], entry);
    if (!arg.weak || !node->like.empty()) return type_fold(*node, arg);
  }
  NodeId value = type(root, entry).node;
  return {value, dtype(value), expr::no_input};
}

// An inner reduction: its axes are those that the expression itself names, of which `accumulate` may
// have taken some already.
Folded Typer::type_fold(const ExprNode &node, Value arg) {
  AxisSet has = spec_.graph[arg.node].axes;
  AxisSet gone = reads_[node.args[0]].axes - has;
  AxisSet wanted = reads_[node].folded;
  if (!(wanted & gone).empty())
    fail("E0105",
         "'" + std::string(ops::info(node.fold).name) + "' folds " +
             space_.axis_list(wanted & gone) + ", which accumulate has already folded",
         space_.shown(node.where),
         "use reduce(..) to fold after the expression, or name the kept axes in brackets");
  std::uint32_t like =
      node.like.empty() ? expr::no_input : space_.input_called(node.like, node.where);
  return fold(arg, node.fold, wanted & has, like, node.where);
}

Folded Typer::fold(Value value, Fold fold, AxisSet axes, std::uint32_t like, const Place &where) {
  NodeId arg = value.node;
  DType type = dtype(arg), accumulate = ops::accumulate_dtype(fold, type);
  Folded result{arg, ops::result_dtype(fold, type), like};
  AxisSet left = spec_.graph[arg].axes - axes;
  AxisSet may_fold; // axes on which the input may be 1 where the argument is not
  if (like != expr::no_input) {
    const TypedInput &x = spec_.inputs[like];
    for (std::size_t dim = 0; dim < x.axis_of_dim.size(); ++dim)
      if (x.may_stretch[dim] && left.has(x.axis_of_dim[dim]))
        may_fold = may_fold | AxisSet::of(x.axis_of_dim[dim]);
  }
  if (axes.empty() && may_fold.empty()) return result; // nothing folds, now or at any call

  arg = cast(arg, accumulate, where);
  Node node;
  node.kind = NodeKind::Fold;
  node.fold = fold;
  node.dtype = accumulate;
  node.axes = left;
  node.folded = axes;
  node.like = may_fold.empty() ? expr::no_input : like;
  Facts facts = facts_[arg.index];
  facts.visible = visible_.filter(facts.visible, [&](std::size_t i) {
    return (spec_.inputs[i].axes() & (axes | may_fold)).empty();
  });
  facts.rigid = facts.rigid - axes - may_fold;
  facts.fixed = fixed_.without(facts.fixed, axes | may_fold);
  result.node = add(node, std::span(&arg, 1), facts, where);
  return result;
}

NodeId Typer::close(const Folded &folded, const Place &where) {
  NodeId value = cast(folded.node, folded.result, where);
  if (folded.like == expr::no_input) return value;
  return expand(value, {folded.like}, where);
}

NodeId Typer::expand(NodeId value, const std::vector<std::size_t> &inputs, const Place &where,
                     AxisSet wanted) {
  Facts facts = facts_[value.index];
  std::vector<NodeId> args{value};
  AxisSet axes = spec_.graph[value].axes;
  for (std::size_t i : inputs) {
    const TypedInput &x = spec_.inputs[i];
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
  Node node;
  node.kind = NodeKind::Expand;
  node.dtype = dtype(value);
  node.axes = axes;
  return add(node, args, facts, where);
}

NodeId Typer::cast(NodeId value, DType to, const Place &where) {
  DType from = dtype(value);
  if (from == to) return value;
  if (is_literal(value))
    return literal(to, ops::convert(ops::Scalar{spec_.graph[value].bits}, from, to), where);
  Node node;
  node.kind = NodeKind::Cast;
  node.dtype = to;
  node.axes = spec_.graph[value].axes;
  return add(node, std::span(&value, 1), Facts(facts_[value.index]), where);
}

NodeId Typer::input(std::size_t index, const Place &where) {
  const TypedInput &x = spec_.inputs[index];
  Node node;
  node.kind = NodeKind::Input;
  node.dtype = x.dtype;
  node.axes = x.axes();
  node.payload = std::uint32_t(index);
  Facts facts;
  facts.visible = visible_.single(index);
  std::vector<FixedExtent> fixed;
  for (std::size_t dim = 0; dim < x.axis_of_dim.size(); ++dim) {
    int axis = x.axis_of_dim[dim];
    if (x.labelled && !x.may_stretch[dim]) {
      facts.rigid = facts.rigid | AxisSet::of(axis);
      if (const DimExtent *by = space_.fixed(axis)) fixed.push_back({axis, *by});
    } else if (x.extents[dim] != -1 && x.extents[dim] != 1) {
      fixed.push_back({axis, {index, dim, x.extents[dim]}});
    }
  }
  std::sort(fixed.begin(), fixed.end());
  facts.fixed = fixed_.intern(std::move(fixed));
  return add(node, {}, facts, where);
}

NodeId Typer::literal(DType dtype, ops::Scalar value, const Place &where) {
  Node node;
  node.kind = NodeKind::Literal;
  node.dtype = dtype;
  node.bits = value.bits;
  return add(node, {}, {}, where);
}

NodeId Typer::add(Node node, std::span<const NodeId> args, const Facts &facts, const Place &where) {
  if (spec_.graph.size() >= max_nodes)
    fail("E0013",
         "the kernel is too large: it has more than " + std::to_string(max_nodes) + " operations",
         space_.shown(where), "split the kernel");
  NodeId id = spec_.graph.add(node, args, where);
  if (id.index == facts_.size()) facts_.push_back(facts);
  return id;
}

// The operands meet in one operation: their extents must agree.
void Typer::meet(Facts &into, const Facts &other, const Place &where) {
  into.visible = visible_.unite(into.visible, other.visible);
  into.rigid = into.rigid | other.rigid;
  into.fixed = fixed_.unite(into.fixed, other.fixed, [&](const DimExtent &a, const DimExtent &b) {
    fail_extents(spec_, a, b, space_.shown(where));
  });
}

} // namespace broadloom::spec

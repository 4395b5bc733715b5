// See costly_parts.hpp.
#include "grad/costly_parts.hpp"

#include "expr/walk.hpp"
#include "facts/substitute.hpp"
#include "ops/ops.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::grad {
namespace {

constexpr int worth_an_array = 20; // an exp

struct Known {
  std::set<std::string> axes;
  bool is_named = true; // all axes have names
  bool is_costly = false;
};

// Of a node, given those of its arguments.
Known known_of(const ExprNode &node, const std::unordered_map<const ExprNode *, Known> &known) {
  Known made;
  const auto name = [&](const AxisRef &axis) {
    const auto *label = std::get_if<std::string>(&axis.value());
    made.is_named = made.is_named && label != nullptr;
    return label != nullptr ? *label : std::string();
  };
  for (const Expr &arg : node.args) {
    if (node.kind == ExprKind::Input) break; // the let that it is a window of
    const Known &of = known.at(arg.node());
    made.axes.insert(of.axes.begin(), of.axes.end());
    made.is_named = made.is_named && of.is_named;
    made.is_costly = made.is_costly || of.is_costly;
  }
  switch (node.kind) {
  case ExprKind::Input:
    for (const Dim &dim : node.input->dims) made.axes.insert(dim.label);
    made.is_named = node.input->dims.empty() || node.input->labelled();
    break;
  case ExprKind::Op:
    made.is_costly = made.is_costly || ops::info(node.op).cost >= worth_an_array;
    break;
  case ExprKind::Fold:
    made.is_costly = true;
    made.is_named = made.is_named && node.use->like.empty();
    if (node.axes.empty()) made.axes.clear();
    for (const AxisRef &axis : node.axes) made.axes.erase(name(axis));
    break;
  case ExprKind::Scan:
  case ExprKind::Call: made.is_costly = true; break;
  case ExprKind::Iota: made.axes.insert(name(node.axes[0])); break;
  case ExprKind::Join:
  case ExprKind::Parameter: made.is_named = false; break;
  case ExprKind::Literal:
  case ExprKind::Cast:
  case ExprKind::Let:
  case ExprKind::Extent: break;
  }
  return made;
}

} // namespace

std::shared_ptr<const InputDecl>
part_input(const std::string &name, const std::vector<std::string> &axes, const Place &where) {
  auto decl = std::make_shared<InputDecl>();
  decl->name = name;
  decl->where = where;
  for (const std::string &axis : axes) decl->dims.emplace_back(axis);
  return decl;
}

Expr add_part(CostlyPart part, std::vector<CostlyPart> &parts) {
  const Expr read = make_input(part.input, part.input->where);
  parts.push_back(std::move(part));
  return read;
}

Expr take_costly_parts(const Expr &value, const std::vector<std::string> &axes,
                       const std::function<std::string()> &fresh, std::vector<CostlyPart> &parts) {
  std::unordered_map<const ExprNode *, Known> known;
  std::unordered_map<const ExprNode *, Expr> nodes;
  expr::Walker walker;
  walker.walk(value.node(), [&](const ExprNode &node) {
    known.emplace(&node, known_of(node, known));
    for (const Expr &arg : node.args) nodes.emplace(arg.node(), arg);
  });
  nodes.emplace(value.node(), value);
  const auto is_part = [&](const ExprNode *node) {
    const Known &of = known.at(node);
    return of.is_costly && of.is_named && !of.axes.empty() &&
           std::ranges::all_of(of.axes, [&](const std::string &axis) {
             return std::ranges::count(axes, axis) != 0;
           });
  };
  // From above, so that of two parts one in the other the greater is taken.
  std::unordered_map<const ExprNode *, Expr> instead;
  std::unordered_set<const ExprNode *> seen;
  std::vector<const ExprNode *> open{value.node()};
  while (!open.empty()) {
    const ExprNode *node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (!is_part(node)) {
      if (node->kind != ExprKind::Input)
        for (const Expr &arg : node->args) open.push_back(arg.node());
      continue;
    }
    auto part = std::ranges::find_if(
        parts, [&](const CostlyPart &one) { return one.value.node() == node; });
    if (part != parts.end()) {
      instead.emplace(node, make_input(part->input, node->where));
      continue;
    }
    CostlyPart made{nodes.at(node), nullptr, {}};
    for (const std::string &axis : axes)
      if (known.at(node).axes.contains(axis)) made.axes.push_back(axis);
    made.input = part_input(fresh(), made.axes, node->where);
    instead.emplace(node, add_part(std::move(made), parts));
  }
  return facts::exchange(value, [&](const ExprNode &node) {
    const auto found = instead.find(&node);
    return found == instead.end() ? Expr() : found->second;
  });
}

} // namespace broadloom::grad

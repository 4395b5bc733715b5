// See join.hpp.
#include "expr/join.hpp"

#include "expr/walk.hpp"
#include "expr/window.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace broadloom {

Expr make_join(AxisRef axis, std::vector<Expr> parts, bool stacks, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Join;
  node->axes = {std::move(axis)};
  node->args = std::move(parts);
  node->stacks = stacks;
  node->where = std::move(where);
  return Expr(std::move(node));
}

Expr make_join_at(std::vector<Expr> parts, JoinPositions positions, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Join;
  node->args = std::move(parts);
  node->places = std::make_shared<const JoinPositions>(std::move(positions));
  node->where = std::move(where);
  return Expr(std::move(node));
}

void check_positions_of_part(const std::string &whole, const std::vector<AffineForm> &positions,
                             const PlaceOf &shown) {
  std::unordered_set<std::string> seen;
  for (const AffineForm &form : positions) {
    const bool has_one = form.terms.size() == 1 && form.indices.empty();
    if (!has_one || form.terms[0].times < 1)
      support::fail("E0034",
                    "a part of '" + whole + "' lies at " + print(form) +
                        ", and a position of a part is one axis, times 1 or more, plus numbers",
                    shown(), "write such as " + whole + "[i + 3] or " + whole + "[2*i + 1]");
    if (!seen.insert(form.terms[0].axis).second)
      support::fail("E0034",
                    "axis '" + form.terms[0].axis + "' stands in two positions of a part of '" +
                        whole + "'",
                    shown(), "give each dim an axis of its own");
  }
}

bool is_join(const Expr &expr) {
  return expr.node() != nullptr && expr.node()->kind == ExprKind::Join;
}

std::size_t dim_of_join(const std::string &let, const ExprNode &join,
                        const std::vector<AxisRef> &dims, const PlaceOf &shown) {
  const auto &axis = join.axes[0].value();
  const int *number = std::get_if<int>(&axis);
  if (number != nullptr && *number >= 0 && std::size_t(*number) < dims.size())
    return std::size_t(*number);
  const auto found = std::find_if(dims.begin(), dims.end(),
                                  [&](const AxisRef &dim) { return dim.value() == axis; });
  if (number == nullptr && found != dims.end()) return std::size_t(found - dims.begin());
  const std::string word =
      number ? std::to_string(*number) : "'" + std::get<std::string>(axis) + "'";
  support::fail("E0104", "'" + let + "' has no dim " + word + " along which its parts could lie",
                shown(), "list it among the dims: let " + let + "[i, j] = concat(i, x, y)");
}

// Such a let has an array of its own, with what it begins from before it.
static bool reads_itself(const ExprNode &let) {
  if (let.args.size() > 1) return true;
  bool reads = false;
  expr::reach(let.args[0].node(), [&](const ExprNode &node) {
    reads = reads || (node.kind == ExprKind::Input && reads_ahead(node));
    return node.kind != ExprKind::Input && (node.kind != ExprKind::Let || node.axes.empty());
  });
  return reads;
}

Expr let_of_join(const std::string &name, const std::vector<AxisRef> &dims, const Expr &join,
                 Place where, const std::function<bool(const std::string &)> &is_free,
                 const std::function<void(const Expr &)> &made,
                 std::unordered_set<const ExprNode *> taken) {
  const ExprNode &node = *join.node();
  if (node.places)
    for (const std::vector<AffineForm> &positions : node.places->of_parts) {
      const PlaceOf shown = [&] { return node.where; };
      if (positions.size() != dims.size())
        support::fail("E0034",
                      "'" + name + "' lists " + support::count(std::int64_t(dims.size()), "dim") +
                          ", and a part of it lies at " +
                          support::count(std::int64_t(positions.size()), "position"),
                      node.where, "give each part one position for each dim");
      check_positions_of_part(name, positions, shown);
    }
  std::vector<AxisRef> own = dims;
  if (node.stacks) {
    const auto dim = dim_of_join(name, node, dims, [&] { return node.where; });
    own.erase(own.begin() + std::ptrdiff_t(dim));
  }
  const auto has_dims = [&](const ExprNode &let) {
    return let.axes.size() == own.size() &&
           std::equal(own.begin(), own.end(), let.axes.begin(),
                      [](const AxisRef &a, const AxisRef &b) { return a.value() == b.value(); });
  };
  std::vector<Expr> parts;
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    const Expr &arg = node.args[k];
    const ExprNode *let = arg.node();
    LetLoop loop;
    if (node.places) {
      own.clear();
      for (const AffineForm &form : node.places->of_parts[k]) own.emplace_back(form.terms[0].axis);
      if (!node.places->said.empty()) loop.said = node.places->said[k];
    }
    const bool is_array = !loop.said && let != nullptr && let->kind == ExprKind::Let &&
                          has_dims(*let) && !reads_itself(*let) && taken.insert(let).second;
    if (is_array) {
      parts.push_back(arg);
      continue;
    }
    std::string part = name + "_part" + std::to_string(k);
    while (!is_free(part)) part += "_";
    parts.push_back(make_let(part, arg, where, own, std::move(loop)));
    made(parts.back());
  }
  Expr joined = node.places ? make_join_at(std::move(parts), {node.places->of_parts}, node.where)
                            : make_join(node.axes[0], std::move(parts), node.stacks, node.where);
  return make_let(name, std::move(joined), std::move(where), dims);
}

} // namespace broadloom

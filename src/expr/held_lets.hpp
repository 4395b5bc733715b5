// Lets whose elements or extents stand in the positions of a read. The read knows them by name; its
// node has them as arguments, behind the let that it is of itself.
//
//   x[q[i], j]         an Input node whose arguments are the let q
#pragma once

#include "expr/window.hpp"

#include <set>
#include <string>
#include <vector>

namespace broadloom {

// The same read, whose node has these lets as arguments, too.
Expr holding(const Expr &read, const std::vector<Expr> &lets);

// The lets that the elements in its positions are of, and those in the positions of these, by name.
std::set<std::string> lets_in_positions(const Window &window);

// Those of the arguments of a node that these elements are of: now(let) for each.
template <class Now> std::vector<Expr> lets_held(const ExprNode &node, Now now) {
  const std::set<std::string> names = lets_in_positions(*node.input->window);
  std::vector<Expr> lets;
  for (const Expr &arg : names.empty() ? std::vector<Expr>() : node.args)
    if (arg.node()->kind == ExprKind::Let && names.contains(arg.node()->name))
      lets.push_back(now(arg));
  return lets;
}

// With other reads in place of those whose elements stand in it: `now(read)`, or the same where
// that is empty.
template <class Now> void exchange_elements(AffineForm &form, Now now) {
  for (AffineForm::Index &index : form.indices)
    if (const Expr read = now(*index.read); read.node()) index.read = read.node()->input;
}

} // namespace broadloom

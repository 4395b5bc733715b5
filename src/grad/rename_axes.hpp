// Axes by other names, in expressions and in the windows that these name.
//
//   i -> i_h       sum(d_h[i] * x[i + u], i)   becomes   sum(d_h[i_h] * x[i_h + u], i_h)
#pragma once

#include "expr/definition.hpp"
#include "expr/node.hpp"

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::grad {

using Accumulators =
    std::unordered_map<const AccumulatorDef *, Accumulator>; // by what they take the place of

struct Renaming {
  std::unordered_map<std::string, std::string> axes;
  // The declarations of windows that like= and of= may name.
  std::vector<std::shared_ptr<const InputDecl>> windows;
  // Axes that are only to stay inside of a dim at whose position they stand alone: i of x[i]
  // becomes i + 0.
  std::set<std::string> inside = {};
  Accumulators accumulators = {};
  bool keeps_names = false; // of lets that are no arrays: the roots are all of a kernel
};

// Lets that are no arrays lose their names where something in them changes, as elsewhere the old
// ones may stand; arrays stay as they are. Iterative.
std::vector<Expr> renamed(const std::vector<Expr> &roots, const Renaming &renaming);
// Of a window its positions, of an input its labels.
std::shared_ptr<const InputDecl> renamed(const std::shared_ptr<const InputDecl> &decl,
                                         const Renaming &renaming);

} // namespace broadloom::grad

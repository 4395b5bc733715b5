// Inside the gradient stage: the parts of a value that are worth an array, where the value is read
// at positions that move.
//
//   sum(d_h[t, i] * slope(sum(x[k] * v[k, i], k)) * w[u], like=h[t, i + u])
//       reads the inner sum at i - u, once for each u
//   sum(p[t, i] * w[u], like=h[t, i + u])
//       with p[t, i] = d_h[t, i] * slope(..)
#pragma once

#include "expr/node.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace broadloom::grad {

struct CostlyPart {
  Expr value;
  std::shared_ptr<const InputDecl> input; // in its place
  std::vector<std::string> axes;          // [dim of it]
};

std::shared_ptr<const InputDecl>
part_input(const std::string &name, const std::vector<std::string> &axes, const Place &where);
// What stands in its place.
Expr add_part(CostlyPart part, std::vector<CostlyPart> &parts);

// The value with an input in place of the greatest parts of it that have no axes but some of
// `axes`, have a name for each, and take about as long as an exp. Adds them to `parts`; those that
// are there stand for the same again. Iterative.
Expr take_costly_parts(const Expr &value, const std::vector<std::string> &axes,
                       const std::function<std::string()> &fresh, std::vector<CostlyPart> &parts);

} // namespace broadloom::grad

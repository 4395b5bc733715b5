// Inside the gradient stage: accumulators by their definitions, for those that go through them step by step
// (recurrence.cpp) or in blocks (associative.cpp).
#pragma once

#include "grad/folds.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::grad {

using Names = std::unordered_map<std::string, Expr>;

inline Expr named(const std::string &name) { return make_parameter(name, {}); }

// The accumulator in the form of a definition, its result complete.
struct Steps {
  std::vector<std::string> states, args;
  Names init, step, combine; // combine: of user accumulators that have one
  Expr result;
};
Steps steps_of(const FoldUse &use, const Terms &t);

// The axis that a fold or scan goes along, if it is one. Throws SpecError E0601.
int only_axis(Facts &facts, const ExprNode &node, const std::string &name);

// Throws SpecError E0601 where something accumulated or started from is complex.
void check_real(Facts &facts, const ExprNode &node, const std::string &name);

// The inputs that give what is accumulated its extent along an axis.
std::vector<std::string> lenders_of(Facts &facts, const ExprNode &node, int axis);

// d step . seeds: the cotangents of the names in clauses, from one for each state.
Names pull_clauses(Facts &facts, const Steps &steps, const Names &clauses, const Names &seeds,
                   const Terms &t);

// Whether a fold is the kind that the next function is for.
bool is_associative(const ExprNode &fold);
void pull_associative(Sweep &sweep, const Expr &fold, const Cotangent &g);

} // namespace broadloom::grad

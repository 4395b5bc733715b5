// What an accumulator of the user's own consists of, as written: checked by spec/definition.hpp.
//
//   accumulator damped(a; m) {       states {"a"}, args {"m"}
//     init a = 0                     init  {{"a", 0}}
//     step a = 0.5 * a + m           step  {{"a", 0.5 * a + m}}
//   }                                combine {}, result null
//
// In the expressions a state or an argument is a Parameter node.
#pragma once

#include "expr/node.hpp"

#include <broadloom/accumulator.hpp>

#include <string>
#include <vector>

namespace broadloom {

using detail::AccumulatorDef;

struct detail::AccumulatorDef {
  struct Clause { // STATE = value
    std::string state;
    Expr value;
    Place where;
  };
  std::string name;
  std::vector<std::string> states, args;
  std::vector<Clause> init, step, combine; // in the order written; combine empty: there is none
  Expr result;                             // null: the first state
  Place where;
};

// Calls visit(root) for each expression in it.
template <class Visit> void for_each_expression(const AccumulatorDef &definition, Visit visit) {
  for (const auto *clauses : {&definition.init, &definition.step, &definition.combine})
    for (const AccumulatorDef::Clause &clause : *clauses) visit(clause.value);
  if (definition.result.node()) visit(definition.result);
}

} // namespace broadloom

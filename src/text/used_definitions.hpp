// Which functions and accumulators a kernel's text must define, in which order and under which
// names.
#pragma once

#include "expr/definition.hpp"
#include "expr/function.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::text {

// One to print. A function of the API may use a part of its body several times; the text has no
// lets there, so that each such part becomes a function of its own: `def f_1(a, b) = ..`.
struct PrintedDefinition {
  const AccumulatorDef *accumulator = nullptr; // and nothing else
  std::string name;
  std::vector<std::string> params;
  const ExprNode *body = nullptr;
  bool is_part = false;                   // of the function after it
  const FunctionDecl *function = nullptr; // with its derivatives; null for a part
};

struct UsedDefinitions {
  std::vector<PrintedDefinition> all; // each after those that it uses
  std::unordered_map<const FunctionDecl *, std::string> names;
  std::unordered_map<const ExprNode *, std::string> parts; // "f_1(a, b)"
};

// The arguments are what the kernel itself uses, in order of first appearance. Of two functions of
// one name the second is called NAME_2, and so is one that has the name of an accumulator.
UsedDefinitions used_definitions(const std::vector<const AccumulatorDef *> &accumulators,
                                 const std::vector<const FunctionDecl *> &functions);

} // namespace broadloom::text

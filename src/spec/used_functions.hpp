// Which user functions a kernel's text must define, in which order and under which names.
#pragma once

#include "expr/function.hpp"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::spec {

// A `def` to print. A function of the API may use a part of its body several times; the text has no
// lets there, so that each such part becomes a function of its own: `def f_1(a, b) = ..`.
struct PrintedFunction {
  std::string name;
  std::vector<std::string> params;
  const ExprNode *body = nullptr;
  bool is_part = false;                   // of the function after it
  const FunctionDecl *function = nullptr; // with its derivatives; null for a part
};

struct UsedFunctions {
  std::vector<PrintedFunction> functions; // each after those that it calls
  std::unordered_map<const FunctionDecl *, std::string> names;
  std::unordered_map<const ExprNode *, std::string> parts; // "f_1(a, b)"
};

// `roots` are those that the kernel calls, in order of first appearance; `taken` are names that other
// callables have. Of two functions of one name the second is called NAME_2.
UsedFunctions used_functions(const std::vector<const FunctionDecl *> &roots,
                             std::unordered_set<std::string> taken);

} // namespace broadloom::spec

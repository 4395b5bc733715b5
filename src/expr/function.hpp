// What a call of a user's function points to.
//
//   def norm2(a, b) = a * a + b * b      params: a, b     body: over these very Parameter nodes
#pragma once

#include "expr/node.hpp"

#include <string>
#include <vector>

namespace broadloom {

struct detail::FunctionDecl {
  struct Derivative {
    std::size_t param = 0;
    Expr value; // over the params and the cotangent
    Place where;
  };
  std::string name;
  std::vector<Expr> params; // Parameter nodes, each of this function alone
  Expr cotangent;           // the Parameter node called `g`
  Expr body;
  std::vector<Derivative> derivatives; // in the order written, at most one for each param
  Place where;
};

inline constexpr const char *cotangent_name = "g";

Expr make_call(std::shared_ptr<const FunctionDecl> function, std::vector<Expr> args, Place where);

// The functions that the expressions call and those that these call, each once and after all that
// it calls.
std::vector<std::shared_ptr<const FunctionDecl>> functions_called(const std::vector<Expr> &roots);

} // namespace broadloom

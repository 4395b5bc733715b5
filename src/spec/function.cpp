// bl::Function: see broadloom/function.hpp.
#include "expr/function.hpp"

#include "expr/walk.hpp"
#include "spec/words.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <broadloom/function.hpp>

#include <algorithm>

namespace broadloom {

using support::fail;

namespace {

// The first node below `root` that is not allowed in a function: an input, a let, or a parameter of
// another; null where there is none.
const ExprNode *foreign_to(const FunctionDecl &function, const Expr &root, bool with_cotangent) {
  auto own = [&](const ExprNode &node) {
    if (with_cotangent && function.cotangent.node() == &node) return true;
    return std::any_of(function.params.begin(), function.params.end(),
                       [&](const Expr &param) { return param.node() == &node; });
  };
  const ExprNode *found = nullptr;
  expr::Walker().walk(root.node(), [&](const ExprNode &node) {
    bool foreign = node.kind == ExprKind::Input || node.kind == ExprKind::Let ||
                   (node.kind == ExprKind::Parameter && !own(node));
    if (foreign && !found) found = &node;
  });
  return found;
}

void check_reads(const FunctionDecl &function, const Expr &root, bool with_cotangent,
                 const Place &where) {
  if (!root.node())
    fail("E0003", "function '" + function.name + "' gives no expression", where,
         "return an expression over the arguments");
  const ExprNode *foreign = foreign_to(function, root, with_cotangent);
  if (!foreign) return;
  const std::string &name = foreign->kind == ExprKind::Input ? foreign->input->name : foreign->name;
  fail("E0003",
       "function '" + function.name + "' reads '" + name + "', which is not one of its arguments",
       where, "make it an argument");
}

} // namespace

std::vector<Expr> Function::make_params(const std::vector<std::string> &names,
                                        std::source_location where) {
  std::vector<Expr> params;
  for (const std::string &name : names) {
    const spec::NameCheck found = spec::check_name(name, "an argument");
    if (!found.code.empty()) fail(found.code.c_str(), found.message, place_of(where), found.help);
    for (const Expr &other : params)
      if (other.node()->name == name)
        fail("E0004", "argument '" + name + "' is defined twice", place_of(where),
             "give it another name");
    params.push_back(make_parameter(name, place_of(where)));
  }
  return params;
}

Function Function::define(std::string name, std::vector<Expr> params, Expr body,
                          std::source_location where) {
  const spec::NameCheck found = spec::check_callable_name(name, "a function");
  if (!found.code.empty()) fail(found.code.c_str(), found.message, place_of(where), found.help);
  auto decl = std::make_shared<FunctionDecl>();
  decl->name = std::move(name);
  decl->params = std::move(params);
  decl->cotangent = make_parameter(cotangent_name, place_of(where));
  decl->body = std::move(body);
  decl->where = place_of(where);
  check_reads(*decl, decl->body, false, decl->where);
  return Function(std::move(decl));
}

const std::string &Function::name() const { return decl_->name; }
std::vector<Expr> Function::params() const { return decl_->params; }
Expr Function::cotangent() const { return decl_->cotangent; }

void Function::check_count(std::size_t takes, std::size_t given) {
  if (takes != given)
    fail("E0009",
         "the body of a function takes " + support::count(std::int64_t(takes), "argument") +
             ", not " + std::to_string(given),
         {}, "name one parameter for each argument; a derivative takes the cotangent as well");
}

Expr Function::call(std::vector<Expr> args, std::source_location where) const {
  if (args.size() != decl_->params.size())
    fail("E0009",
         "'" + name() + "' takes " +
             support::count(std::int64_t(decl_->params.size()), "argument") + ", not " +
             std::to_string(args.size()),
         place_of(where), "give one value for each argument");
  return make_call(decl_, std::move(args), place_of(where));
}

Function Function::with_derivative(const std::string &param, Expr value,
                                   std::source_location where) const {
  auto decl = std::make_shared<FunctionDecl>(*decl_);
  const Place place = place_of(where);
  std::size_t index = 0;
  while (index < decl->params.size() && decl->params[index].node()->name != param) ++index;
  if (index == decl->params.size())
    fail("E0003", "function '" + name() + "' has no argument '" + param + "'", place,
         "name one of its arguments");
  for (const Expr &other : decl->params)
    if (other.node()->name == cotangent_name)
      fail("E0004",
           std::string("an argument cannot be called '") + cotangent_name +
               "' where there are derivatives",
           place, "in a derivative that is the cotangent; give the argument another name");
  for (const FunctionDecl::Derivative &other : decl->derivatives)
    if (other.param == index)
      fail("E0004", "the derivative by '" + param + "' is given twice", place, "give it once");
  check_reads(*decl, value, true, place);
  decl->derivatives.push_back({index, std::move(value), place});
  return Function(std::move(decl));
}

} // namespace broadloom

// Functions of your own: a name for an expression over arguments, and how its derivatives are
// taken.
//
//   auto huber = bl::function("huber", {"a"}, [](bl::Expr a) {
//                  return where(abs(a) < 1, a * a / 2, abs(a) - 0.5);
//                }).derivative("a", [](bl::Expr a, bl::Expr g) { return g * clip(a, -1, 1); });
//   spec.out("z", huber(x - y));
//
// The text form has the same as `def`. A call means the body with the arguments in the places of
// the parameters; the text that `print` gives keeps the call and the definition.
#pragma once

#include <broadloom/expr.hpp>

#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace broadloom {

namespace detail {
struct FunctionDecl; // src/expr/function.hpp
}

class Function;

// Throws SpecError where a name cannot be one (E0001, E0004, E0005), or the body reads anything but
// its arguments (E0003).
template <class Body>
Function function(std::string name, const std::vector<std::string> &params, Body body,
                  std::source_location where = std::source_location::current());

class Function {
public:
  explicit Function(std::shared_ptr<const detail::FunctionDecl> decl) : decl_(std::move(decl)) {}

  // Throws SpecError E0009 where the number of arguments is wrong.
  template <class... Rest> Expr operator()(const Operand &first, const Rest &...rest) const {
    return call({first.expr(), Operand(rest).expr()...}, first.where());
  }

  // The same function with a rule for gradients, by one of its arguments: an expression over the
  // arguments and the cotangent, which comes last. At most one each (E0004); by an argument without
  // one the body is derived.
  template <class Rule>
  Function derivative(const std::string &param, Rule rule,
                      std::source_location where = std::source_location::current()) const {
    std::vector<Expr> args = params();
    args.push_back(cotangent());
    return with_derivative(param, apply(rule, args), where);
  }

  const std::string &name() const;
  const std::shared_ptr<const detail::FunctionDecl> &decl() const { return decl_; }

private:
  // Parts of `function`, which is a template only for the sake of its body.
  template <class Body>
  friend Function function(std::string name, const std::vector<std::string> &params, Body body,
                           std::source_location where);
  static std::vector<Expr> make_params(const std::vector<std::string> &names,
                                       std::source_location where);
  static Function define(std::string name, std::vector<Expr> params, Expr body,
                         std::source_location where);

  // Calls `body` with the expressions as its arguments.
  template <class Body> static Expr apply(Body &body, const std::vector<Expr> &args) {
    return apply(body, args, std::make_index_sequence<arity<Body>()>());
  }
  // How many expressions `Body` takes.
  template <class Body, std::size_t... I> static constexpr bool takes(std::index_sequence<I...>) {
    return requires(Body &body, const Expr &e) { body((static_cast<void>(I), e)...); };
  }
  template <class Body, std::size_t N = 1> static constexpr std::size_t arity() {
    if constexpr (takes<Body>(std::make_index_sequence<N>()))
      return N;
    else {
      static_assert(N < 64, "a body takes its arguments as bl::Expr, one for each parameter");
      return arity<Body, N + 1>();
    }
  }
  template <class Body, std::size_t... I>
  static Expr apply(Body &body, const std::vector<Expr> &args, std::index_sequence<I...>) {
    check_count(sizeof...(I), args.size());
    return body(args[I]...);
  }
  static void check_count(std::size_t takes, std::size_t given);

  Expr call(std::vector<Expr> args, std::source_location where) const;
  Function with_derivative(const std::string &param, Expr value, std::source_location where) const;
  std::vector<Expr> params() const;
  Expr cotangent() const;

  std::shared_ptr<const detail::FunctionDecl> decl_;
};

template <class Body>
Function function(std::string name, const std::vector<std::string> &params, Body body,
                  std::source_location where) {
  std::vector<Expr> args = Function::make_params(params, where);
  Expr value = Function::apply(body, args);
  return Function::define(std::move(name), std::move(args), std::move(value), where);
}

} // namespace broadloom

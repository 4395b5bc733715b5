// For gradients and scales: extents and indices that say of which inputs they are.
//
//   sum(w * iota(j), j)      ->  sum(w * iota(j, of=w), j)
//
// An extent or an index without of= belongs to the expression that it stands in. The backward pass
// takes parts of the forward one elsewhere, where that may be another one, or none that has the
// axis. The functions of calls that stay are left as they are. Where a fold in such a function
// reads its argument, that stands in an expression that is not seen here: then only along a firm
// axis it does not matter in which.
#pragma once

#include "facts/calls.hpp"
#include "spec/reads.hpp"

#include <unordered_map>
#include <vector>

namespace broadloom::facts {

// Do all inputs of the kernel that have the axis have one extent along it, at every call?
bool is_firm(const spec::TypedSpec &spec, int axis);

class Binder {
public:
  // `reads` must know what is bound as `plain` writes it out.
  Binder(const spec::TypedSpec &spec, const spec::Space &space, const spec::Reads &reads,
         spec::Expander &plain, Calls &calls)
      : spec_(spec), space_(space), reads_(reads), plain_(plain), calls_(calls) {}

  // A whole expression: an output's, or that of an `init=` of its mode. A let in which something
  // changes loses its name. Iterative.
  Expr bind(const Expr &root);
  // An expression that stands in another one.
  Expr bind_part(const Expr &root);

private:
  // As in the typer: the expression that a node stands in, and the one around that.
  struct Scope {
    spec::SetId inputs = 0;
    int outer = -1;
    bool known = true; // or does it only hold the expression that the node stands in?
    bool operator==(const Scope &) const = default;
  };
  struct Part {
    Expr expr;
    int scope;
  };
  using Key = std::pair<const ExprNode *, int>;
  struct KeyHash {
    std::size_t operator()(const Key &key) const {
      return std::hash<const ExprNode *>()(key.first) * 31 + std::size_t(key.second);
    }
  };

  const spec::Read &read(const Expr &expr) { return reads_[plain_.expand(expr)]; }
  int open_scope(const Scope &scope);
  Expr bind(const Expr &root, int scope);
  std::vector<Part> parts(const Part &whole);
  const Expr *done(const Part &part) const;
  Expr made(const Part &part);
  std::vector<std::string> lenders(const ExprNode &node, int scope) const;

  const spec::TypedSpec &spec_;
  const spec::Space &space_;
  const spec::Reads &reads_;
  spec::Expander &plain_;
  Calls &calls_;
  std::vector<Scope> scopes_;
  std::unordered_map<Key, Expr, KeyHash> done_;
};

} // namespace broadloom::facts

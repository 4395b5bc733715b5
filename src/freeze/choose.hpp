// Inside the freeze stage: which values of a kernel are computed once.
#pragma once

#include "expr/walk.hpp"
#include "facts/facts.hpp"

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::freeze {

// A value that is computed once: the dims of its array are those of a parameter, less those that
// were folded.
struct Chosen {
  Expr value;
  std::shared_ptr<const InputDecl> like; // the parameter
  std::vector<std::size_t> dims;         // of it
};

class Chooser {
public:
  Chooser(const SpecData &data, const spec::TypedSpec &typed, facts::Facts &facts,
          const std::unordered_set<std::string> &names)
      : data_(data), typed_(typed), facts_(facts), names_(names) {}

  // In an order in which arguments come before their users; also the outputs that are computed as a
  // whole.
  std::vector<Chosen> run();
  bool is_whole(std::size_t output) const { return whole_[output]; }

private:
  // Under which folds an expression is read: the axes that each of them folds.
  struct Context {
    std::vector<expr::AxisSet> folds;
    bool keeps_axes = false; // its axes are those of its inputs: nothing in it may be folded
    bool stays = false;
    bool is_root = false; // of an output
    bool is_read = false;
  };
  struct Facts {
    bool constant = false, frozen = false, folds = false;
    std::vector<const InputDecl *> params; // of frozen ones, each once
  };

  void look(const std::vector<Expr> &roots);
  void enter(const Expr &root, const Context &context);
  void hand_on(const ExprNode &node, const Context &context);
  bool is_whole_output(const OutputDecl &output) const;
  Context context_of(std::size_t output);
  bool is_parameter(const InputDecl &decl) const;
  std::optional<Chosen> choose(const ExprNode &node, const Context &context);
  bool keeps_order(const std::vector<const InputDecl *> &params, const InputDecl &like,
                   const Context &context) const;
  // Whether these are all parameters, of extents that are those of their axes: a value has no
  // declaration that says that a 1 is repeated.
  bool may_name(const std::vector<std::string> &like) const;

  const SpecData &data_;
  const spec::TypedSpec &typed_;
  facts::Facts &facts_;
  const std::unordered_set<std::string> &names_;
  std::vector<bool> whole_;
  expr::Walker walker_;
  std::vector<const ExprNode *> order_; // arguments before their users
  std::unordered_map<const ExprNode *, Expr> handles_;
  std::unordered_map<const ExprNode *, Facts> known_;
  std::unordered_map<const ExprNode *, Context> contexts_;
};

} // namespace broadloom::freeze

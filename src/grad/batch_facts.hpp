// Inside the gradient stage: what is known of the expressions of a kernel that gets one more axis
// (batch.hpp).
#pragma once

#include "expr/exchange.hpp"
#include "expr/window.hpp"
#include "spec/cut.hpp"
#include "spec/expand.hpp"

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::grad {

// What axes are called anywhere.
std::set<std::string> labels_of(const SpecData &data);

// The inputs of a kernel without the windows of them.
std::vector<std::shared_ptr<const InputDecl>> whole_inputs(const SpecData &data);

// Axes by their labels; "#2" is one without.
using AxisNames = std::vector<std::string>;
AxisNames joined(AxisNames a, const AxisNames &b);
AxisNames without(const AxisNames &a, const AxisNames &b);

// What follows from the kernel as it is.
class BatchFacts {
public:
  // The kernel has all inputs declared and only calls that stay.
  BatchFacts(const SpecData &data, const std::set<std::string> &inputs);

  const SpecData &data() const { return data_; }
  const spec::TypedSpec &typed() const { return typed_; }
  const std::optional<spec::Split> &split() const { return split_; }
  const spec::LetsByName &lets() const { return lets_; }

  // Has no axis a label? Then the new one has none, and is the first.
  bool is_by_position() const { return by_position_; }
  AxisNames axes(const Expr &expr);
  AxisNames axes_of_input(const InputDecl &decl) const; // no window
  // Those of what is summed back through a window.
  AxisNames axes_seen(const InputDecl &window) const;
  AxisNames axes_of_output(std::size_t k) const;
  std::string name(const AxisRef &ref, const Place &where) const;
  // Along which all inputs that have it have one extent at every call.
  bool is_firm(const std::string &axis) const { return !open_.contains(axis) && axis[0] != '#'; }

  // Does a value hang on an input that gets the axis?
  bool depends(const Expr &expr);
  bool depends(const std::string &array) const { // an input or a let
    return inputs_.contains(array) || moving_.contains(array);
  }
  bool reads(const InputDecl &window) const; // this or one in its positions
  bool is_array(const std::string &let) const { return dims_.contains(let); }
  const AxisNames &dims(const std::string &let) const { return dims_.at(let); }
  const spec::Materialised &array(const std::string &let) const;
  // The window that like= or of= names; null for a whole input.
  const InputDecl *window_called(const std::string &name) const;
  // All dims of its arrays have labels, and all reads are of such: what is not is told as E0061.
  [[noreturn]] void fail(const std::string &why, const Place &where, const std::string &help) const;

private:
  void find_arrays();
  void find_open_axes();
  void find_moving_lets();
  AxisNames axes_of(const ExprNode &node);
  bool depends_on(const ExprNode &node) const;

  const SpecData &data_;
  const std::set<std::string> &inputs_;
  spec::TypedSpec typed_;
  std::optional<spec::Split> split_;
  spec::LetsByName lets_;
  spec::Expander plain_;
  std::unordered_map<std::string, AxisNames> dims_; // of lets that are arrays
  std::set<std::string> moving_;                    // such lets
  std::set<std::string> open_;                      // axes along which an input may be 1
  bool by_position_ = false;
  expr::Walker axes_walker_;
  std::unordered_map<const ExprNode *, AxisNames> axes_;
  std::unordered_map<const ExprNode *, bool> depends_;
  expr::Walker depends_walker_;
  std::vector<Expr> kept_; // what is known by its address must not go away
};

} // namespace broadloom::grad

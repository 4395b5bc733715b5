// Inside the stage that moves scales: the values of a kernel as a graph, equal ones once.
//
//   let y = sum(x[i, k] * w[k, o], k)            0: x   1: w (constant)   2: 0 * 1
//       3: sum 2 over {k}
//   out z = maximum(y * s, 0)                    4: s (constant)   5: 3 * 4   6: 0 (constant)
//       7: maximum(5, 6)
//
// What is made of parameters and numbers only is *constant*: after freezing it costs nothing in a
// call.
#pragma once

#include "facts/facts.hpp"
#include "scale/known.hpp"

#include <string>
#include <vector>

namespace broadloom::scale {

using expr::AxisSet;
using Id = std::uint32_t;

struct Value {
  Expr written; // the node; its arguments are those of `args`
  std::vector<Id> args;
  std::vector<Id> users; // each once
  AxisSet axes;
  AxisSet folded; // of a reduction; of a scan the axis that it runs along
  DType dtype = DType::F32;
  bool weak = false;     // numbers only: it takes the type of what it meets
  bool constant = false; // made of parameters and numbers, or such a one to the power of a count
  bool is_count = false; // an extent, or a product of some
  bool output = false;   // of an output, or where its fold starts
  bool is_open = false;  // what is read of the array that others multiply (Boundary)
  Known known;           // of constants

  const ExprNode &node() const { return *written.node(); }
  bool is(ops::Op op) const { return node().kind == ExprKind::Op && node().op == op; }
  // A value computed in f32 or f64: others have ranges too short, or no signs.
  bool is_real() const { return dtype == DType::F32 || dtype == DType::F64; }
};

class Values {
public:
  // `data` has no calls, no mode `accumulate`, and no extent or iota without of=. `open`: a let
  // that is an array and read here; what is read of it may be multiplied, as the kernel that
  // computes it will do so.
  Values(const SpecData &data, facts::Facts &facts, const KnownParameters &parameters,
         const std::string &open = {});

  const Value &operator[](Id id) const { return all_[id]; }
  Id size() const { return Id(all_.size()); }
  const std::vector<std::pair<std::string, Id>> &lets() const { return lets_; }
  Id id_of(const Expr &expr) const { return ids_.at(expr.node()); }

  // How a factor passes it: of an operation, a cast, a reduction or a scan.
  ops::Scaling scaling(Id id) const;
  // Of a product or a quotient of data and a constant: which argument is the constant; -1 where it
  // is none.
  int constant_side(Id id) const;
  // The other argument of such a product or quotient: what is multiplied.
  Id data_of(Id id) const { return all_[id].args[std::size_t(1 - constant_side(id))]; }
  bool is_zero(Id id) const; // the number 0
  // How many elements a reduction folds, where the text fixes that; else -1.
  std::int64_t folded_count(Id id) const;
  // The same as a call says it; empty where it cannot be written.
  Expr count(Id id) const;
  // Do all inputs have one extent along these axes, at every call?
  bool is_firm(AxisSet axes) const { return facts_.is_firm(axes); }
  // For people: the parameters that it is made of, or the number that it is.
  std::string name_of(Id id) const;

private:
  Id add(const Expr &expr);
  std::string key(const ExprNode &node, const std::vector<Id> &args) const;
  AxisSet folded_by_like(const Value &value) const;
  AxisSet axes_of(const ExprNode &node, const std::vector<AxisRef> &refs) const;

  facts::Facts &facts_;
  const KnownParameters &parameters_;
  const std::string open_;
  std::vector<Value> all_;
  std::unordered_map<const ExprNode *, Id> ids_; // of lets: of what they name
  std::unordered_map<std::string, Id> by_key_;
  std::vector<std::pair<std::string, Id>> lets_; // in the order of definition
};

// Does it read elements of this let, which a kernel of its own computes?
bool is_read_of(const InputDecl &decl, const std::string &array);

} // namespace broadloom::scale

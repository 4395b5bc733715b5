// Values at other positions: a node with some of its axes put in terms of others.
//
//   d_y[i] * k[u]   at i := p - u       is   d_y[p - u] * k[u], a read of a derived window and one
//                                            that stays
//   max(x[i + u], u)                    is   max(x[p - u + v], v): what a fold folds gets another
//                                            name, as u means the outer one
//   iota(i)                             is   iota(p) - iota(u)
//
// A read becomes one of a derived window (TypedWindow), and where its positions may be outside of
// the array, that reads 0. Nothing is said of whether i is inside: who asks masks the value.
#pragma once

#include "rewrite/position.hpp"

namespace broadloom::rewrite {

// What one axis becomes.
struct Instead {
  Position at;
  bool inside = false; // always one of the axis' own indices
  bool part = false;   // some of them, but not all: no mere renaming
};

struct Substitution {
  std::map<int, Instead> axes;
  // Axes that stand in the positions above and have no dim of what is read to go by.
  std::map<int, spec::TypedWindow::ExtentOf> extents;
  std::map<int, std::uint32_t> lenders; // inputs that have them, each in its full extent
};

class Reindexer {
public:
  // Adds nodes and inputs to the spec.
  explicit Reindexer(spec::TypedSpec &spec) : spec_(spec) {}

  // Throws SpecError E0605 for scans along axes that become other than an axis. Iterative.
  expr::NodeId run(expr::NodeId root, const Substitution &by);

  // An axis like this one in all but its name.
  int fresh_axis(int like, const Place &where);
  // The value of a position, without its divisor; `lender(axis)` gives a node that has the axis.
  template <class Lender>
  expr::NodeId value_of(const Position &position, Lender lender, const Place &where);

  expr::NodeId number(std::int64_t value, const Place &where);
  expr::NodeId op(ops::Op op, DType result, std::initializer_list<expr::NodeId> args,
                  const Place &where);
  expr::NodeId input(std::uint32_t input, const Place &where);
  // The input at the positions of a substitution: itself where none of its axes changes.
  std::uint32_t derived(std::uint32_t input, const Substitution &by, const Place &where);
  // A window that has this axis alone, in so many positions: nothing but indices are read of it.
  std::uint32_t counting(std::uint32_t input, int dim, int axis, std::int64_t extent,
                         const Place &where);
  expr::NodeId extent(expr::NodeId of, int axis, const Place &where);
  expr::NodeId index(expr::NodeId lender, int axis, const Place &where);

private:
  using Key = std::pair<std::uint32_t, std::size_t>; // node, substitution
  bool stays(expr::NodeId id, std::size_t by) const;
  // The substitution for the arguments of a node.
  std::size_t inner(expr::NodeId id, std::size_t by);
  expr::NodeId made(expr::NodeId id, std::size_t by);
  expr::NodeId made_index(expr::NodeId id, std::size_t by, const std::vector<expr::NodeId> &args);
  [[noreturn]] void fail_scan(expr::NodeId id) const;
  expr::AxisSet images(const Substitution &by, expr::AxisSet of) const;
  expr::NodeId add(expr::Node node, std::span<const expr::NodeId> args, const Place &where);
  std::string text_of(const spec::TypedWindow &window) const;
  std::uint32_t added(spec::TypedInput window);

  spec::TypedSpec &spec_;
  std::vector<Substitution> all_;    // of this run
  std::map<Key, std::size_t> inner_; // of folds that rename
  std::map<Key, expr::NodeId> done_;
  std::map<std::string, std::uint32_t> derived_; // by what they are
};

template <class Lender>
expr::NodeId Reindexer::value_of(const Position &position, Lender lender, const Place &where) {
  std::optional<expr::NodeId> total;
  const auto add_term = [&](expr::NodeId value, std::int64_t times) {
    const bool minus = total && times < 0;
    const std::int64_t shown = minus ? -times : times;
    if (shown != 1) value = op(ops::Op::Mul, DType::I64, {value, number(shown, where)}, where);
    total =
        total ? op(minus ? ops::Op::Sub : ops::Op::Add, DType::I64, {*total, value}, where) : value;
  };
  for (const bool minus : {false, true}) // p - u, not -u + p
    for (const auto &[axis, times] : position.axes)
      if ((times < 0) == minus) add_term(index(lender(axis), axis, where), times);
  for (const auto &[dim, times] : position.counts)
    add_term(extent(input(dim.first, where),
                    spec_.inputs[dim.first].axis_of_dim[std::size_t(dim.second)], where),
             times);
  if (position.constant != 0 || !total) {
    const expr::NodeId constant = number(position.constant, where);
    total = total ? op(ops::Op::Add, DType::I64, {*total, constant}, where) : constant;
  }
  return *total;
}

} // namespace broadloom::rewrite

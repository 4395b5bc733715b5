// Where a fold or a scan is: how many points it has met, and the index over the axes that it folds.
//
//   mean(x, j)     sum over extent(j)          argmax(x, i, j)     at i * extent(j) + j
#include "type/typer.hpp"

#include <bit>

namespace broadloom::type {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;

NodeId Typer::extent(NodeId arg, AxisSet axes, const std::vector<std::uint32_t> &like,
                     const Place &where) {
  return add({.kind = NodeKind::Extent,
              .dtype = DType::I64,
              .folded = axes,
              .like = spec_.graph.add_like(like)},
             std::span(&arg, 1), {}, where);
}

NodeId Typer::index(NodeId arg, int axis, const Place &where) {
  const AxisSet axes = AxisSet::of(axis);
  return add({.kind = NodeKind::Index, .dtype = DType::I64, .axes = axes}, std::span(&arg, 1),
             along(facts_[arg.index], axes), where);
}

// How many points the value at hand has accumulated.
NodeId Typer::points(const FoldJob &job, NodeId arg) {
  if (!job.is_scan)
    return extent(arg, job.axes, may_fold(job).empty() ? std::vector<std::uint32_t>() : job.like,
                  job.where);
  auto number = [&](std::int64_t n) { return literal(DType::I64, ops::scalar_from(n), job.where); };
  auto make = [&](Op op, NodeId a, NodeId b) {
    return emit(op, DType::I64, DType::I64, {a, b}, job.where);
  };
  const NodeId at = index(arg, std::countr_zero(job.axes.bits()), job.where);
  if (!job.use.reverse) return job.use.exclusive ? at : make(Op::Add, at, number(1));
  const NodeId left = make(Op::Sub, extent(arg, job.axes, {}, job.where), at);
  return job.use.exclusive ? make(Op::Sub, left, number(1)) : left;
}

// The index over the folded axes as if they were one, the last fastest.
NodeId Typer::position(const FoldJob &job, const std::vector<NodeId> &args) {
  const AxisSet may = may_fold(job);
  NodeId at = literal(DType::I64, ops::scalar_from(std::int64_t(0)), job.where);
  auto make = [&](Op op, NodeId a, NodeId b) {
    return emit(op, DType::I64, DType::I64, {a, b}, job.where);
  };
  bool first = true;
  for (const int axis : job.axes | may) {
    NodeId here = index(args[0], axis, job.where);
    if (job.is_scan) return here;
    // An axis that only may fold counts where it does: else its extent here is 1.
    const NodeId count = job.axes.has(axis) ? extent(here, AxisSet::of(axis), {}, job.where)
                                            : extent(here, {}, job.like, job.where);
    if (may.has(axis)) {
      const NodeId one = literal(DType::I64, ops::scalar_from(std::int64_t(1)), job.where);
      const NodeId folds = emit(Op::Gt, DType::I64, DType::Bool, {count, one}, job.where);
      here = make(Op::Mul, here, cast(folds, DType::I64, job.where));
    }
    at = first ? here : make(Op::Add, make(Op::Mul, at, count), here);
    first = false;
  }
  return at;
}

} // namespace broadloom::type

// See affine.hpp. Numbers stay far below the ends of i64, so that what the graph computes, which
// wraps around, is what is meant.
#include "kernel/affine.hpp"

#include <algorithm>

namespace broadloom::kernel {
namespace {

using expr::Graph;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;
using Terms = std::vector<Affine::Term>;

constexpr std::int64_t most_times = std::int64_t(1) << 20, most_constant = std::int64_t(1) << 40;

// a + times * b; false where a number becomes too large.
bool add(Terms &a, const Terms &b, std::int64_t times) {
  for (const Affine::Term &term : b) {
    const auto at = std::ranges::lower_bound(a, term.axis, {}, &Affine::Term::axis);
    const bool known = at != a.end() && at->axis == term.axis;
    const std::int64_t sum = (known ? at->times : 0) + times * term.times;
    if (sum > most_times || sum < -most_times) return false;
    if (!known)
      a.insert(at, {term.axis, sum});
    else if (sum == 0)
      a.erase(at);
    else
      at->times = sum;
  }
  return true;
}

std::optional<Affine> sum_of(Affine a, const Affine &b, std::int64_t times) {
  if (times > most_times || times < -most_times || b.constant > most_constant / most_times ||
      b.constant < -most_constant / most_times) {
    if (times != 1 && times != -1) return {};
  }
  a.constant += times * b.constant;
  if (a.constant > most_constant || a.constant < -most_constant) return {};
  if (!add(a.positions, b.positions, times) || !add(a.counts, b.counts, times)) return {};
  return a;
}

bool is_number(const Affine &value) { return value.positions.empty() && value.counts.empty(); }

std::optional<Affine> of_operation(Op op, const Affine &a, const Affine &b) {
  if (op == Op::Add) return sum_of(a, b, 1);
  if (op == Op::Sub) return sum_of(a, b, -1);
  if (op != Op::Mul || (!is_number(a) && !is_number(b))) return {};
  const Affine &number = is_number(b) ? b : a, &other = is_number(b) ? a : b;
  if (number.constant == 0) return Affine{};
  return sum_of({}, other, number.constant);
}

} // namespace

std::int64_t Affine::times(int axis) const {
  const auto at = std::ranges::lower_bound(positions, axis, {}, &Term::axis);
  return at != positions.end() && at->axis == axis ? at->times : 0;
}

std::optional<int> only_axis(expr::AxisSet axes) {
  if (axes.size() != 1) return {};
  return *axes.begin();
}

std::optional<int> counted_axis(const Graph &graph, NodeId id) {
  const Node &node = graph[id];
  if (node.kind != NodeKind::Extent || node.like.given()) return {};
  const std::optional<int> axis = only_axis(node.folded);
  for (const NodeId arg : graph.args(id))
    if (axis && graph[arg].axes.has(*axis)) return axis;
  return {};
}

std::vector<std::optional<Affine>> affine_numbers(const Graph &graph) {
  std::vector<std::optional<Affine>> numbers(graph.size());
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const Node &node = graph[NodeId{n}];
    if (node.dtype != DType::I64) continue;
    switch (node.kind) {
    case NodeKind::Literal: {
      const std::int64_t number = ops::as_i64(node.literal);
      if (number <= most_constant && number >= -most_constant) numbers[n] = Affine{number, {}, {}};
      break;
    }
    case NodeKind::Index:
      if (const auto axis = only_axis(node.axes)) numbers[n] = Affine{0, {{*axis, 1}}, {}};
      break;
    case NodeKind::Extent:
      if (const auto axis = counted_axis(graph, NodeId{n}))
        numbers[n] = Affine{0, {}, {{*axis, 1}}};
      break;
    case NodeKind::Op: {
      const auto args = graph.args(NodeId{n});
      if (args.size() == 2 && numbers[args[0].index] && numbers[args[1].index])
        numbers[n] = of_operation(node.op, *numbers[args[0].index], *numbers[args[1].index]);
      break;
    }
    case NodeKind::Input:
    case NodeKind::Cast:
    case NodeKind::Fold:
    case NodeKind::Scan:
    case NodeKind::Expand: break;
    }
  }
  return numbers;
}

std::optional<Condition> condition_of(const Graph &graph, NodeId id,
                                      const std::vector<std::optional<Affine>> &numbers) {
  const Node &node = graph[id];
  const auto args = graph.args(id);
  if (node.kind != NodeKind::Op || args.size() != 2 || graph[args[0]].dtype != DType::I64)
    return {};
  const auto at_least = [&](NodeId a, NodeId b, std::int64_t more) -> std::optional<Condition> {
    const auto &x = numbers[a.index], &y = numbers[b.index];
    if (!x || !y) return {};
    std::optional<Affine> rest = sum_of(*x, *y, -1);
    if (rest) rest = sum_of(*rest, Affine{more, {}, {}}, -1);
    return rest ? std::optional(Condition{Condition::Kind::AtLeastZero, *rest, 0, {}})
                : std::nullopt;
  };
  if (node.op == Op::Ge) return at_least(args[0], args[1], 0);
  if (node.op == Op::Gt) return at_least(args[0], args[1], 1);
  if (node.op == Op::Le) return at_least(args[1], args[0], 0);
  if (node.op == Op::Lt) return at_least(args[1], args[0], 1);
  if (node.op != Op::Eq) return {};
  for (const bool second : {false, true}) {
    const NodeId rest = args[second], zero = args[!second];
    if (numbers[zero.index] != Affine{} || graph[rest].kind != NodeKind::Op ||
        graph[rest].op != Op::Mod)
      continue;
    const auto &value = numbers[graph.args(rest)[0].index];
    const auto &divisor = numbers[graph.args(rest)[1].index];
    if (value && divisor && is_number(*divisor) && divisor->constant > 0)
      return Condition{Condition::Kind::Multiple, *value, divisor->constant, {}};
  }
  const auto &x = numbers[args[0].index], &y = numbers[args[1].index];
  if (x && y) {
    const std::optional<Affine> rest = sum_of(*x, *y, -1);
    return rest ? std::optional(Condition{Condition::Kind::Equal, *rest, 0, {}}) : std::nullopt;
  }
  if (!x && !y) return {};
  return Condition{Condition::Kind::Equal, x ? *x : *y, 0, x ? args[1] : args[0]};
}

std::optional<std::pair<std::int64_t, std::int64_t>>
bounds_of(const Graph &graph, NodeId id, std::span<const std::int64_t> extents) {
  constexpr std::int64_t most_points = 4096;
  constexpr std::size_t most_nodes = 64;
  // What it is made of, arguments first.
  std::vector<char> needed(id.index + 1);
  needed[id.index] = 1;
  std::vector<NodeId> nodes;
  std::vector<int> axes;
  std::int64_t points = 1;
  for (std::uint32_t n = id.index + 1; n-- > 0;) {
    if (!needed[n]) continue;
    const Node &node = graph[NodeId{n}];
    nodes.insert(nodes.begin(), NodeId{n});
    if (node.dtype != DType::I64 || nodes.size() > most_nodes) return {};
    switch (node.kind) {
    case NodeKind::Literal: break;
    case NodeKind::Extent: {
      const std::optional<int> axis = counted_axis(graph, NodeId{n});
      if (!axis || extents[std::size_t(*axis)] < 0) return {};
      break;
    }
    case NodeKind::Index: {
      const std::optional<int> axis = only_axis(node.axes);
      if (!axis) return {};
      if (std::ranges::count(axes, *axis) > 0) break;
      axes.push_back(*axis);
      if (extents[std::size_t(*axis)] < 1 || extents[std::size_t(*axis)] > most_points / points)
        return {};
      points *= extents[std::size_t(*axis)];
      break;
    }
    case NodeKind::Op:
      for (const NodeId arg : graph.args(NodeId{n})) needed[arg.index] = 1;
      break;
    case NodeKind::Input:
    case NodeKind::Cast:
    case NodeKind::Fold:
    case NodeKind::Scan:
    case NodeKind::Expand: return {};
    }
  }
  std::vector<ops::Scalar> values(id.index + 1);
  std::pair<std::int64_t, std::int64_t> bounds{INT64_MAX, INT64_MIN};
  for (std::int64_t point = 0; point < points; ++point) {
    for (const NodeId one : nodes) {
      const Node &node = graph[one];
      ops::Scalar &value = values[one.index];
      if (node.kind == NodeKind::Literal) value = node.literal;
      if (node.kind == NodeKind::Extent)
        value = ops::scalar_from(extents[std::size_t(*counted_axis(graph, one))]);
      if (node.kind == NodeKind::Index) {
        std::int64_t rest = point;
        for (const int axis : axes) {
          const std::int64_t extent = extents[std::size_t(axis)];
          if (node.axes.has(axis)) value = ops::scalar_from(rest % extent);
          rest /= extent;
        }
      }
      if (node.kind != NodeKind::Op) continue;
      std::vector<ops::Scalar> args;
      for (const NodeId arg : graph.args(one)) args.push_back(values[arg.index]);
      value = ops::evaluate(node.op, DType::I64, args);
    }
    const std::int64_t value = ops::as_i64(values[id.index]);
    bounds = {std::min(bounds.first, value), std::max(bounds.second, value)};
  }
  return bounds;
}

} // namespace broadloom::kernel

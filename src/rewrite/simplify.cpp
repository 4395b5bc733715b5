// See simplify.hpp.
//
// One walk in evaluation order makes a new graph; each rule sees arguments that are simple already.
// A rule may drop an operand only where what is left has the same extents at every call and no
// error of the operand is lost: an operand that reads no inputs but those that the rest reads too,
// element by element.
#include "rewrite/simplify.hpp"

#include "rewrite/live_nodes.hpp"
#include "spec/sets.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace broadloom::rewrite {

namespace {

using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;

bool is_whole(DType d) { return is_integer(d) || d == DType::Bool; }

// Does every value of `from` have its equal in `to`?
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (is_narrow_float(from) || is_narrow_float(to) || is_complex(from) || is_complex(to))
    return false;
  if (from == DType::Bool) return true;
  const int bits = 8 * int(size_of(from)), to_bits = 8 * int(size_of(to));
  if (is_integer(from) && is_integer(to))
    return is_signed_integer(from) ? is_signed_integer(to) && bits <= to_bits
                                   : bits + is_signed_integer(to) <= to_bits;
  if (is_integer(from)) return is_float(to) && bits <= (to == DType::F64 ? 32 : 16);
  return from == DType::F32 && to == DType::F64;
}

// Does a cast through `middle` give what a cast at once gives? Integers wrap where they narrow, but
// stop at the ends of the type where they come as floats: u16(i16(-5)) is 65531, u16(f32(i16(-5)))
// is 0.
bool may_skip(DType from, DType middle, DType to) {
  if (!widens(from, middle)) return false;
  return !is_integer(from) || !is_float(middle) || !is_integer(to) || widens(from, to);
}

// As a float that converts to the integer with all bits set.
double all_ones(DType type) {
  if (type == DType::Bool) return 1;
  return is_signed_integer(type) ? -1 : std::ldexp(1.0, 8 * int(size_of(type)));
}

bool rounds_to_integer(Op op) {
  return op == Op::Floor || op == Op::Ceil || op == Op::Round || op == Op::Trunc;
}

class Simplifier {
public:
  explicit Simplifier(spec::TypedSpec &spec)
      : spec_(spec), graph_(expr::Graph::with_recipes_of(spec.graph)), sets_(spec.inputs.size()) {}

  void run() {
    rebuild(spec_, spec_.graph, [&](NodeId id, std::vector<NodeId> args) {
      where_ = &spec_.graph.where(id);
      return simple(spec_.graph[id], std::move(args));
    });
    spec_.graph = std::move(graph_);
  }

private:
  // The inputs with axes that a node reads element by element.
  struct Reads {
    spec::SetId inputs = 0;
    bool all = true; // is that all that it reads?
  };

  NodeId simple(const Node &node, std::vector<NodeId> args) {
    std::optional<NodeId> same;
    if (node.kind == NodeKind::Op && !is_complex(graph_[args.back()].dtype))
      same = op_rule(node, args);
    if (node.kind == NodeKind::Cast) same = cast_rule(node, args[0]);
    // The value of an operation on f16 or bf16 is not of its compute type.
    if (same && graph_[*same].dtype == node.dtype && graph_[*same].axes == node.axes) return *same;
    if (node.kind == NodeKind::Op && ops::commutes(node.op)) {
      // The first form that was made serves both.
      const auto low = std::min(args[0], args[1]), high = std::max(args[0], args[1]);
      auto [it, fresh] = orders_.try_emplace({node.op, low, high}, args[0] == low);
      if ((args[0] == low) != it->second) std::swap(args[0], args[1]);
    }
    return add(node, args);
  }

  NodeId add(const Node &node, const std::vector<NodeId> &args) {
    const NodeId id = graph_.add(node, args, *where_);
    if (id.index < reads_.size()) return id;
    Reads reads;
    // A scalar gives nobody an extent.
    if (node.kind == NodeKind::Input && !node.axes.empty())
      reads.inputs = sets_.single(node.payload);
    reads.all = node.kind == NodeKind::Input || node.kind == NodeKind::Literal ||
                node.kind == NodeKind::Op || node.kind == NodeKind::Cast;
    if (node.kind == NodeKind::Op || node.kind == NodeKind::Cast)
      for (NodeId arg : args) {
        reads.inputs = sets_.unite(reads.inputs, reads_[arg.index].inputs);
        reads.all = reads.all && reads_[arg.index].all;
      }
    reads_.push_back(reads);
    return id;
  }

  bool is_literal(NodeId id) const { return graph_[id].kind == NodeKind::Literal; }
  bool is(NodeId id, double number) const {
    const Node &node = graph_[id];
    return node.kind == NodeKind::Literal && !is_narrow_float(node.dtype) &&
           node.literal == ops::convert(ops::scalar_from(number), DType::F64, node.dtype);
  }

  // May `dropped` go where `kept` stays?
  bool may_drop(NodeId dropped, NodeId kept) {
    const Reads &gone = reads_[dropped.index];
    const spec::SetId left = reads_[kept.index].inputs;
    return gone.all && sets_.unite(gone.inputs, left) == left;
  }
  std::optional<NodeId> keep(NodeId kept, std::initializer_list<NodeId> dropped) {
    for (NodeId id : dropped)
      if (!may_drop(id, kept)) return {};
    return kept;
  }

  // A number in place of an operation on these arguments, in their extents.
  std::optional<NodeId> constant(const Node &node, const std::vector<NodeId> &args, double number) {
    if (is_narrow_float(node.dtype)) return {};
    spec::SetId inputs = 0;
    for (NodeId arg : args) {
      if (!reads_[arg.index].all) return {};
      inputs = sets_.unite(inputs, reads_[arg.index].inputs);
    }
    const ops::Scalar literal = ops::convert(ops::scalar_from(number), DType::F64, node.dtype);
    std::vector<NodeId> shaped{add({.dtype = node.dtype, .literal = literal}, {})};
    if (node.axes.empty()) return shaped[0];
    for (std::size_t i : sets_.members(inputs)) {
      const spec::TypedInput &input = spec_.inputs[i];
      shaped.push_back(add({.kind = NodeKind::Input,
                            .dtype = input.dtype,
                            .axes = input.axes(),
                            .payload = std::uint32_t(i)},
                           {}));
    }
    return add({.kind = NodeKind::Expand, .dtype = node.dtype, .axes = node.axes}, shaped);
  }

  std::optional<NodeId> op_rule(const Node &node, const std::vector<NodeId> &args) {
    switch (args.size()) {
    case 1: return unary_rule(node, args);
    case 2: return binary_rule(node, args);
    default: return node.op == Op::Where ? where_rule(args) : std::nullopt;
    }
  }

  std::optional<NodeId> where_rule(const std::vector<NodeId> &args) {
    if (is_literal(args[0]))
      return graph_[args[0]].literal.bits != 0 ? keep(args[1], {args[2]})
                                               : keep(args[2], {args[1]});
    if (args[1] == args[2]) return keep(args[1], {args[0]});
    return {};
  }

  std::optional<NodeId> unary_rule(const Node &node, const std::vector<NodeId> &args) {
    const NodeId x = args[0];
    const DType type = graph_[x].dtype;
    auto inner = [&] { return graph_.args(x)[0]; };
    switch (node.op) {
    case Op::Neg:
    case Op::BitNot:
      if (graph_.is(x, node.op)) return inner();
      return {};
    case Op::Not: // of a bool; of another type it would say whether that is zero
      if (graph_.is(x, Op::Not) && graph_[inner()].dtype == DType::Bool) return inner();
      return {};
    case Op::Abs:
      if (graph_.is(x, Op::Abs) || type == DType::Bool || is_unsigned_integer(type)) return x;
      if (graph_.is(x, Op::Neg)) return simple(node, {inner()});
      return {};
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      if (is_whole(type)) return x;
      if (graph_[x].kind == NodeKind::Op && rounds_to_integer(graph_[x].op)) return x;
      return {};
    case Op::IsNan:
    case Op::IsInf:
    case Op::IsFinite: {
      const bool whole =
          is_whole(type) || (graph_[x].kind == NodeKind::Cast && is_whole(graph_[inner()].dtype));
      if (whole) return constant(node, args, node.op == Op::IsFinite);
      return {};
    }
    default: return {};
    }
  }

  std::optional<NodeId> binary_rule(const Node &node, const std::vector<NodeId> &args) {
    const NodeId x = args[0], y = args[1];
    const DType type = graph_[x].dtype;
    const bool whole = is_whole(type);
    // x op `number` is x, on either side or on the right only.
    auto neutral = [&](double number) -> std::optional<NodeId> {
      if (is(y, number)) return x;
      return is(x, number) ? std::optional(y) : std::nullopt;
    };
    auto neutral_right = [&](double number) {
      return is(y, number) ? std::optional(x) : std::nullopt;
    };
    auto absorbs = [&](double number) -> std::optional<NodeId> {
      if (is(x, number) || is(y, number)) return constant(node, args, number);
      return {};
    };
    auto first_of = [](std::optional<NodeId> a, auto b) { return a ? a : b(); };
    switch (node.op) {
    case Op::Add: return neutral(whole ? 0.0 : -0.0);
    case Op::Sub: return neutral_right(0.0);
    case Op::Mul:
      if (!whole) return neutral(1);
      return first_of(neutral(1), [&] { return absorbs(0); });
    case Op::Div:
    case Op::Pow: return neutral_right(1);
    case Op::FloorDiv: return whole ? neutral_right(1) : std::nullopt; // a float is floored
    case Op::BitXor:
    case Op::Shl:
    case Op::Shr: return node.op == Op::BitXor ? neutral(0) : neutral_right(0);
    case Op::BitAnd:
    case Op::And:
      if (x == y) return x;
      return first_of(neutral(all_ones(type)), [&] { return absorbs(0); });
    case Op::BitOr:
    case Op::Or:
      if (x == y) return x;
      if (type == DType::Bool) return first_of(neutral(0), [&] { return absorbs(1); });
      return neutral(0);
    case Op::Maximum:
    case Op::Minimum:
    case Op::Fmax:
    case Op::Fmin: return x == y ? std::optional(x) : std::nullopt;
    default: return {};
    }
  }

  // u8(clip(x, 0, 255)) = u8(x), as the conversion stops at the ends of the type by itself; between
  // them may stand an operation that rounds to an integer, which keeps the order of values and
  // whole limits as they are.
  std::optional<NodeId> without_limits(const Node &node, NodeId x) {
    if (!is_integer(node.dtype) || !is_float(graph_[x].dtype) || is_narrow_float(graph_[x].dtype))
      return {};
    const bool rounds = graph_[x].kind == NodeKind::Op && rounds_to_integer(graph_[x].op);
    const NodeId limited = rounds ? graph_.args(x)[0] : x;
    NodeId inside = limited;
    while (const std::optional<NodeId> next = without_limit(node.dtype, inside, rounds))
      inside = *next;
    if (inside == limited) return {};
    return add(node, {rounds ? add(Node(graph_[x]), {inside}) : inside});
  }

  // What minimum or maximum leaves as it is, but for values beyond the ends of the type.
  std::optional<NodeId> without_limit(DType type, NodeId x, bool whole) {
    if (!graph_.is(x, Op::Minimum) && !graph_.is(x, Op::Maximum)) return {};
    const auto args = graph_.args(x);
    const std::size_t kept = is_literal(args[0]) ? 1 : 0;
    const NodeId limit = args[1 - kept];
    if (!is_literal(limit) || graph_[args[kept]].axes != graph_[x].axes) return {};
    const auto in_type = [&](double number) {
      return ops::convert(ops::scalar_from(number), DType::F64, type);
    };
    const double value =
        ops::as_f64(ops::convert(graph_[limit].literal, graph_[limit].dtype, DType::F64));
    const double end = graph_.is(x, Op::Minimum) ? HUGE_VAL : -HUGE_VAL;
    if (std::isnan(value) || (whole && value != std::floor(value)) ||
        graph_[args[kept]].dtype != graph_[x].dtype || in_type(value) != in_type(end))
      return {};
    return args[kept];
  }

  std::optional<NodeId> cast_rule(const Node &node, NodeId x) {
    if (const std::optional<NodeId> same = without_limits(node, x)) return same;
    const Node &inner = graph_[x];
    if (inner.kind != NodeKind::Cast || is_narrow_float(node.dtype) || is_complex(node.dtype))
      return {};
    const NodeId first = graph_.args(x)[0];
    if (!may_skip(graph_[first].dtype, inner.dtype, node.dtype)) return {};
    if (graph_[first].dtype == node.dtype) return first;
    return add(node, {first});
  }

  spec::TypedSpec &spec_;
  expr::Graph graph_;
  spec::InputSets sets_;
  std::vector<Reads> reads_;                              // by node of the new graph
  std::map<std::tuple<Op, NodeId, NodeId>, bool> orders_; // was it made with the lower node first?
  const Place *where_ = nullptr;
};

} // namespace

void simplify(spec::TypedSpec &spec) { Simplifier(spec).run(); }

} // namespace broadloom::rewrite

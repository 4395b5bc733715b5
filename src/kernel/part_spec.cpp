// See part_spec.hpp.
#include "kernel/part_spec.hpp"

#include "kernel/affine.hpp"
#include "rewrite/live_nodes.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <vector>

namespace broadloom::kernel {

using expr::AxisSet;
using expr::Graph;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;
using spec::TypedSpec;

bool is_part_number(const spec::TypedInput &input) {
  return input.name.starts_with("first of ") || input.name.starts_with("extent of ");
}

std::vector<PartNumber> numbers_asked(const Graph &graph, AxisSet axes) {
  std::vector<PartNumber> numbers;
  std::set<std::pair<int, bool>> seen;
  for (const NodeId id : graph.ids()) {
    const bool first = graph[id].kind == NodeKind::Index;
    const std::optional<int> axis = first ? only_axis(graph[id].axes) : counted_axis(graph, id);
    if (axis && axes.has(*axis) && seen.insert({*axis, first}).second)
      numbers.push_back({first ? PartNumber::Kind::First : PartNumber::Kind::Count, *axis});
  }
  return numbers;
}

namespace {

// What a fold is made of.
struct Inside {
  std::size_t folds = 0; // and scans
  std::set<std::uint32_t> inputs;
  friend bool operator==(const Inside &, const Inside &) = default;
};

// Inputs behind so many are numbers that a part is given.
Inside inside_of(const Graph &graph, NodeId fold, std::size_t inputs) {
  Inside inside;
  std::vector<bool> seen(fold.index + 1);
  std::vector<NodeId> work(graph.folded_args(fold).begin(), graph.folded_args(fold).end());
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    if (seen[id.index]) continue;
    seen[id.index] = true;
    const Node &node = graph[id];
    inside.folds += node.kind == NodeKind::Fold || node.kind == NodeKind::Scan;
    if (node.kind == NodeKind::Input && node.payload < inputs) inside.inputs.insert(node.payload);
    for (const NodeId arg : graph.operands(id)) work.push_back(arg);
  }
  return inside;
}

class Rewriter {
public:
  Rewriter(const TypedSpec &spec, std::span<const std::int64_t> steps, AxisSet axes)
      : spec_(spec), steps_(steps), axes_(axes), made_(spec) {}

  // None where what is left of the masks does not have the axes that they gave.
  std::optional<TypedSpec> run(std::span<const PartNumber> numbers, const KnownConditions &known) {
    const Graph &old = spec_.graph;
    made_.graph = Graph::with_recipes_of(old);
    for (const PartNumber &number : numbers) add_input(number);
    now_.resize(old.size());
    known_.resize(old.size());
    std::vector<AxisSet> asked(old.size()); // [node]: the axes whose positions it is made of
    for (const NodeId id : old.ids()) {
      const Node &node = old[id];
      if (node.kind == NodeKind::Index) asked[id.index] = node.axes;
      for (const NodeId arg : old.operands(id))
        asked[id.index] = asked[id.index] | asked[arg.index];
      known_[id.index] = known.hold.contains(id)   ? Known::True
                         : known.fail.contains(id) ? Known::False
                                                   : Known::No;
      if (known_[id.index] != Known::No) continue;
      if (!rewrite(id)) return {};
      if (node.kind != NodeKind::Fold || made_.graph[now_[id.index]].kind != NodeKind::Fold)
        continue;
      // None reads less than in the whole, as trees go by that.
      const std::size_t inputs = spec_.inputs.size();
      if (!old.recipe(id).exact &&
          inside_of(old, id, inputs) != inside_of(made_.graph, now_[id.index], inputs))
        return {};
      // No fold of two that were different may become one of both.
      const auto [at, fresh] = made_.apart.try_emplace(now_[id.index], asked[id.index]);
      if (!fresh && at->second != asked[id.index]) return {};
    }
    for (spec::TypedOutput &output : made_.outputs)
      for (NodeId *value : {&output.value, &output.addend}) {
        if (is_known(*value) || made_.graph[now_[value->index]].axes != old[*value].axes) return {};
        *value = now_[value->index];
      }
    for (const spec::Mark &mark : made_.marks)
      if (is_known(mark.value)) return {};
    for (const spec::NamedValue &let : made_.lets)
      if (is_known(let.value)) return {};
    for (spec::Mark &mark : made_.marks) mark.value = now_[mark.value.index];
    for (spec::NamedValue &let : made_.lets) let.value = now_[let.value.index];
    rewrite::keep_live_nodes(made_);
    finish();
    return std::move(made_);
  }

private:
  enum class Known : std::uint8_t { No, True, False };
  bool is_known(NodeId id) const { return known_[id.index] != Known::No; }
  bool is_true(NodeId id) const { return known_[id.index] == Known::True; }
  bool is_false(NodeId id) const { return known_[id.index] == Known::False; }

  void add_input(const PartNumber &number) {
    const bool first = number.kind == PartNumber::Kind::First;
    spec::TypedInput input;
    input.name = fmt::format("{} of {}", first ? "first" : "extent",
                             spec_.axes[std::size_t(number.axis)].name);
    input.dtype = DType::I64;
    input.where = spec_.where({0});
    numbers_[{first, number.axis}] = std::uint32_t(made_.inputs.size());
    made_.inputs.push_back(std::move(input));
  }

  NodeId number(bool first, int axis, const Place &where) {
    const std::uint32_t input = numbers_.at({first, axis});
    return made_.graph.add({.kind = NodeKind::Input, .dtype = DType::I64, .payload = input}, {},
                           where);
  }

  NodeId operation(Op op, NodeId a, NodeId b, const Place &where) {
    const AxisSet axes = made_.graph[a].axes | made_.graph[b].axes;
    return made_.graph.add({.kind = NodeKind::Op, .op = op, .dtype = DType::I64, .axes = axes},
                           std::array{a, b}, where);
  }

  bool rewrite(NodeId id) {
    const Graph &old = spec_.graph;
    const Node &node = old[id];
    const auto args = old.args(id);
    const auto same = [&](NodeId arg) {
      return !is_known(arg) && made_.graph[now_[arg.index]].axes == old[arg].axes;
    };
    const Place &where = old.where(id);
    if (old.is(id, Op::And) && (is_known(args[0]) || is_known(args[1]))) {
      known_[id.index] = is_false(args[0]) || is_false(args[1]) ? Known::False
                         : is_true(args[0]) && is_true(args[1]) ? Known::True
                                                                : Known::No;
      now_[id.index] = now_[args[is_true(args[0])].index];
      return true;
    }
    if (old.is(id, Op::Where) && is_true(args[0])) {
      now_[id.index] = now_[args[1].index];
      return !is_known(args[1]);
    }
    if (old.is(id, Op::Where) && is_false(args[0])) {
      now_[id.index] = now_[args[2].index];
      return made_.graph.is_zero(now_[id.index]);
    }
    if (node.kind == NodeKind::Fold) {
      AxisSet before, after;
      for (const NodeId arg : args) {
        if (is_known(arg)) return false;
        before = before | old[arg].axes;
        after = after | made_.graph[now_[arg.index]].axes;
      }
      if (before != after) { // nothing added up is nothing
        const auto is_nothing = [&](NodeId arg) {
          NodeId summed = now_[arg.index];
          while (made_.graph[summed].kind == NodeKind::Cast) summed = made_.graph.args(summed)[0];
          return made_.graph.is_zero(summed);
        };
        if (!ops::adds_up(old.recipe(id)) || !std::ranges::all_of(args, is_nothing)) return false;
        now_[id.index] = made_.graph.add({.dtype = node.dtype}, {}, where);
        return true;
      }
    }
    if (const auto axis = counted_axis(old, id); axis && axes_.has(*axis)) {
      now_[id.index] = number(false, *axis, where);
      return true;
    }
    Node made = node;
    std::vector<NodeId> now;
    if (node.kind == NodeKind::Op || node.kind == NodeKind::Cast) made.axes = {};
    for (const NodeId arg : args) {
      if (is_known(arg)) return false;
      now.push_back(now_[arg.index]);
      if (node.kind == NodeKind::Op || node.kind == NodeKind::Cast)
        made.axes = made.axes | made_.graph[now.back()].axes;
      else if (node.kind != NodeKind::Fold && !same(arg))
        return false;
    }
    // What is masked has the axes of its mask.
    if (node.kind == NodeKind::Op && node.op == Op::Where && made.axes != node.axes) return false;
    now_[id.index] = made_.graph.add(made, now, where);
    if (node.kind == NodeKind::Index && axes_.contains(node.axes)) {
      const int axis = *only_axis(node.axes);
      NodeId at = now_[id.index];
      if (const std::int64_t step = steps_[std::size_t(axis)]; step != 1) {
        const Node literal{.dtype = DType::I64, .literal = ops::scalar_from(step)};
        at = operation(Op::Mul, at, made_.graph.add(literal, {}, where), where);
      }
      const NodeId first = number(true, axis, where);
      now_[id.index] = operation(Op::Add, at, first, where);
    }
    return true;
  }

  // A part is given all that it reads, and has other extents than those that are declared.
  void finish() {
    made_.materialised.clear();
    for (spec::TypedInput &input : made_.inputs)
      for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d)
        if (axes_.has(input.axis_of_dim[d])) input.extents[d] = -1;
  }

  const TypedSpec &spec_;
  const std::span<const std::int64_t> steps_;
  const AxisSet axes_;
  TypedSpec made_;
  std::map<std::pair<bool, int>, std::uint32_t> numbers_;
  std::vector<NodeId> now_;
  std::vector<Known> known_;
};

} // namespace

std::optional<TypedSpec> part_spec(const TypedSpec &spec, std::span<const PartNumber> numbers,
                                   std::span<const std::int64_t> steps, AxisSet axes,
                                   const KnownConditions &known) {
  return Rewriter(spec, steps, axes).run(numbers, known);
}

} // namespace broadloom::kernel

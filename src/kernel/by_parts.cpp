// See by_parts.hpp.
#include "kernel/by_parts.hpp"

#include "kernel/check.hpp"
#include "rewrite/live_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace broadloom::kernel {
namespace {

using expr::AxisSet;
using expr::Graph;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;
using spec::TypedSpec;

constexpr std::int64_t most_classes = 16;

bool is_zero(const Graph &graph, NodeId id) {
  return graph[id].kind == NodeKind::Literal && graph[id].literal == ops::Scalar{};
}

bool is_op(const Graph &graph, NodeId id, Op op) {
  return graph[id].kind == NodeKind::Op && graph[id].op == op;
}

bool is_sum(const Graph &graph, NodeId fold) {
  return ops::only_op(graph.recipe(fold)) == Op::Add && graph.args(fold).size() == 1;
}

// All that must hold for a mask to.
std::set<NodeId> conjuncts(const Graph &graph, NodeId mask) {
  std::set<NodeId> found;
  std::vector<NodeId> work{mask};
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    if (!found.insert(id).second || !is_op(graph, id, Op::And)) continue;
    for (const NodeId arg : graph.args(id)) work.push_back(arg);
  }
  return found;
}

// The kernel of a part: positions and extents are numbers that it is given, and what is known to hold is not asked.
class Rewriter {
public:
  Rewriter(const TypedSpec &spec, const ByParts &parts, AxisSet axes)
      : spec_(spec), parts_(parts), axes_(axes), made_(spec) {}

  // None where what is left of the masks does not have the axes that they gave.
  std::optional<TypedSpec> run(const std::set<NodeId> &hold, const std::set<NodeId> &fail) {
    const Graph &old = spec_.graph;
    made_.graph = Graph::with_recipes_of(old);
    for (const ByParts::Number &number : parts_.numbers) add_input(number);
    now_.resize(old.size());
    known_.resize(old.size());
    std::vector<AxisSet> asked(old.size()); // [node]: the axes whose positions it is made of
    for (std::uint32_t n = 0; n < old.size(); ++n) {
      const NodeId id{n};
      const Node &node = old[id];
      if (node.kind == NodeKind::Index) asked[n] = node.axes;
      for (const NodeId arg : old.operands(id)) asked[n] = asked[n] | asked[arg.index];
      known_[n] = hold.contains(id) ? Known::True : fail.contains(id) ? Known::False : Known::No;
      if (known_[n] != Known::No) continue;
      if (!rewrite(id)) return {};
      if (node.kind != NodeKind::Fold || made_.graph[now_[n]].kind != NodeKind::Fold) continue;
      // No fold of two that were different may become one of both.
      const auto [at, fresh] = made_.apart.try_emplace(now_[n], asked[n]);
      if (!fresh && at->second != asked[n]) return {};
    }
    for (spec::TypedOutput &output : made_.outputs)
      for (NodeId *value : {&output.value, &output.addend}) {
        if (is_known(*value) || made_.graph[now_[value->index]].axes != old[*value].axes)
          return {};
        *value = now_[value->index];
      }
    for (const spec::Mark &mark : made_.marks)
      if (is_known(mark.value)) return {};
    for (const spec::NamedValue &let : made_.lets)
      if (is_known(let.value)) return {};
    for (spec::Mark &mark : made_.marks) mark.value = now_[mark.value.index];
    for (spec::NamedValue &let : made_.lets) let.value = now_[let.value.index];
    const auto kept = spec::keep_live_nodes(made_);
    std::map<NodeId, AxisSet> apart;
    for (const auto &[fold, asked_for] : made_.apart)
      if (kept[fold.index]) apart.emplace(*kept[fold.index], asked_for);
    made_.apart = std::move(apart);
    finish();
    return std::move(made_);
  }

private:
  enum class Known : std::uint8_t { No, True, False };
  bool is_known(NodeId id) const { return known_[id.index] != Known::No; }
  bool is_true(NodeId id) const { return known_[id.index] == Known::True; }
  bool is_false(NodeId id) const { return known_[id.index] == Known::False; }

  void add_input(const ByParts::Number &number) {
    const bool first = number.kind == ByParts::Number::Kind::First;
    spec::TypedInput input;
    input.name = fmt::format("{} of {}", first ? "first" : "extent",
                             spec_.axes[std::size_t(number.axis)].name);
    input.dtype = DType::I64;
    input.where = spec_.where({0});
    numbers_[{first, number.axis}] = std::uint32_t(made_.inputs.size());
    made_.inputs.push_back(std::move(input));
  }

  NodeId number(bool first, int axis, const Place &where) {
    Node node;
    node.kind = NodeKind::Input;
    node.dtype = DType::I64;
    node.payload = numbers_.at({first, axis});
    return made_.graph.add(node, {}, where);
  }

  NodeId operation(Op op, NodeId a, NodeId b, const Place &where) {
    Node node;
    node.kind = NodeKind::Op;
    node.op = op;
    node.dtype = DType::I64;
    node.axes = made_.graph[a].axes | made_.graph[b].axes;
    const NodeId args[] = {a, b};
    return made_.graph.add(node, args, where);
  }

  bool rewrite(NodeId id) {
    const Graph &old = spec_.graph;
    const Node &node = old[id];
    const auto args = old.args(id);
    const auto same = [&](NodeId arg) {
      return !is_known(arg) && made_.graph[now_[arg.index]].axes == old[arg].axes;
    };
    const Place &where = old.where(id);
    if (is_op(old, id, Op::And) && (is_known(args[0]) || is_known(args[1]))) {
      known_[id.index] = is_false(args[0]) || is_false(args[1]) ? Known::False
                         : is_true(args[0]) && is_true(args[1]) ? Known::True
                                                                : Known::No;
      now_[id.index] = now_[args[is_true(args[0])].index];
      return true;
    }
    if (is_op(old, id, Op::Where) && is_true(args[0])) {
      now_[id.index] = now_[args[1].index];
      return same(args[1]) && old[args[1]].axes == node.axes;
    }
    if (is_op(old, id, Op::Where) && is_false(args[0])) {
      now_[id.index] = now_[args[2].index];
      return is_zero(made_.graph, now_[id.index]);
    }
    if (node.kind == NodeKind::Fold && !same(args[0]) && is_sum(old, id)) {
      NodeId summed = now_[args[0].index]; // nothing added up is nothing
      while (made_.graph[summed].kind == NodeKind::Cast) summed = made_.graph.args(summed)[0];
      if (is_known(args[0]) || !is_zero(made_.graph, summed)) return false;
      Node zero;
      zero.dtype = node.dtype;
      now_[id.index] = made_.graph.add(zero, {}, where);
      return true;
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
      else if (!same(arg))
        return false;
    }
    // What is masked has the axes of its mask.
    if (node.kind == NodeKind::Op && node.op == Op::Where && made.axes != node.axes) return false;
    now_[id.index] = made_.graph.add(made, now, where);
    if (node.kind == NodeKind::Index && axes_.contains(node.axes)) {
      const int axis = *only_axis(node.axes);
      NodeId at = now_[id.index];
      if (const std::int64_t step = parts_.steps[std::size_t(axis)]; step != 1) {
        Node literal;
        literal.dtype = DType::I64;
        literal.literal = ops::scalar_from(step);
        const NodeId times = made_.graph.add(literal, {}, where);
        at = operation(Op::Mul, at, times, where);
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
  const ByParts &parts_;
  const AxisSet axes_;
  TypedSpec made_;
  std::map<std::pair<bool, int>, std::uint32_t> numbers_;
  std::vector<NodeId> now_;
  std::vector<Known> known_;
};

class Finder {
public:
  explicit Finder(const TypedSpec &spec)
      : spec_(spec), graph_(spec.graph), numbers_(affine_numbers(spec.graph)) {}

  std::optional<ByParts> run() {
    parts_.axes = separable_axes(spec_);
    parts_.steps.assign(spec_.axes.size(), 1);
    find_masks();
    if (asked_.empty() || parts_.axes.empty()) return {};
    for (const auto &[id, condition] : asked_)
      if (condition.kind == Condition::Kind::Multiple) add_residue(id, condition);
    if (count_classes() > most_classes) forget_residues();
    std::set<NodeId> hold;
    AxisSet axes = parts_.axes;
    for (const ByParts::Residue &residue : parts_.residues) axes = axes | AxisSet::of(residue.folded);
    for (const auto &[id, condition] : asked_)
      if (is_residue(condition)) hold.insert(id);
    ask_for_numbers(axes);
    std::optional<TypedSpec> border = Rewriter(spec_, parts_, axes).run(hold, {});
    if (!border) return {};
    parts_.border = std::move(*border);
    find_interior(hold, axes);
    if (parts_.residues.empty() && !parts_.has_interior) return {};
    return std::move(parts_);
  }

private:
  // Of what is 0 where its mask does not hold, the conditions.
  void find_masks() {
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      const NodeId id{n};
      if (!is_op(graph_, id, Op::Where) || !is_zero(graph_, graph_.args(id)[2])) continue;
      bool asks = false;
      for (const NodeId part : conjuncts(graph_, graph_.args(id)[0]))
        if (const auto condition = condition_of(graph_, part, numbers_))
          if (!condition->value.positions.empty()) {
            asked_.emplace(part, *condition);
            asks = true;
          }
      if (asks) parts_.masked.push_back(graph_[id].axes);
    }
  }

  bool is_residue(const Condition &condition) const {
    return std::ranges::any_of(parts_.residues, [&](const ByParts::Residue &residue) {
      return residue.condition == condition;
    });
  }

  std::int64_t count_classes() const {
    std::int64_t classes = 1;
    for (int axis = 0; axis < int(spec_.axes.size()); ++axis)
      if (parts_.axes.has(axis)) classes = std::min(classes * parts_.steps[std::size_t(axis)], most_classes + 1);
    return classes;
  }

  void forget_residues() {
    parts_.residues.clear();
    std::ranges::fill(parts_.steps, 1);
  }

  // One axis that is kept, and one that is folded under this condition alone, have the residues.
  void add_residue(NodeId id, const Condition &condition) {
    int of = -1, folded = -1;
    for (const Affine::Term &term : condition.value.positions) {
      if (term.times % condition.divisor == 0) continue;
      int &axis = parts_.axes.has(term.axis) ? of : folded;
      if (axis >= 0) return;
      axis = term.axis;
    }
    if (of < 0 || folded < 0 || condition.divisor > most_classes ||
        std::gcd(condition.value.times(folded), condition.divisor) != 1 ||
        parts_.steps[std::size_t(folded)] != 1 || !is_masked_where_folded(folded, id))
      return;
    parts_.residues.push_back({condition, of, folded});
    parts_.steps[std::size_t(folded)] = condition.divisor;
    std::int64_t &step = parts_.steps[std::size_t(of)];
    step = std::lcm(step, condition.divisor);
  }

  // Whether nothing goes along the axis but sums of what is 0 where the condition does not hold.
  bool is_masked_where_folded(int axis, NodeId condition) const {
    for (const spec::TypedOutput &output : spec_.outputs)
      if (std::ranges::count(output.axes, axis) > 0) return false;
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      const NodeId id{n};
      const Node &node = graph_[id];
      if (node.kind == NodeKind::Scan && node.folded.has(axis)) return false;
      if (node.kind != NodeKind::Fold || !node.folded.has(axis)) continue;
      if (!is_sum(graph_, id)) return false;
      NodeId value = graph_.args(id)[0];
      while (graph_[value].kind == NodeKind::Cast) value = graph_.args(value)[0];
      if (!is_op(graph_, value, Op::Where) || !is_zero(graph_, graph_.args(value)[2]) ||
          !conjuncts(graph_, graph_.args(value)[0]).contains(condition))
        return false;
    }
    return true;
  }

  void ask_for_numbers(AxisSet axes) {
    std::set<std::pair<int, bool>> seen;
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      const Node &node = graph_[NodeId{n}];
      const bool first = node.kind == NodeKind::Index;
      const std::optional<int> axis = first ? only_axis(node.axes) : counted_axis(graph_, NodeId{n});
      if (axis && axes.has(*axis) && seen.insert({*axis, first}).second)
        parts_.numbers.push_back(
            {first ? ByParts::Number::Kind::First : ByParts::Number::Kind::Count, *axis});
    }
  }

  void find_interior(std::set<NodeId> hold, AxisSet axes) {
    std::set<NodeId> fail;
    for (const auto &[id, condition] : asked_) {
      if (is_residue(condition)) continue;
      if (condition.kind == Condition::Kind::Multiple)
        parts_.has_interior = false; // no range of positions is without
      if (std::ranges::none_of(condition.value.positions, [&](const Affine::Term &term) {
            return parts_.axes.has(term.axis);
          }))
        continue;
      if (condition.other && !(graph_[*condition.other].axes & axes).empty()) continue;
      (condition.kind == Condition::Kind::Equal ? fail : hold).insert(id);
      parts_.conditions.push_back(condition);
    }
    parts_.read_inside = elements_read(spec_);
    if (!parts_.has_interior || parts_.conditions.empty()) return;
    std::optional<TypedSpec> interior = Rewriter(spec_, parts_, axes).run(hold, fail);
    parts_.has_interior = interior.has_value();
    if (!interior) return;
    parts_.interior = std::move(*interior);
    parts_.read_inside = elements_read(parts_.interior);
  }

  const TypedSpec &spec_;
  const Graph &graph_;
  const std::vector<std::optional<Affine>> numbers_;
  std::map<NodeId, Condition> asked_;
  ByParts parts_;
};

} // namespace

AxisSet separable_axes(const TypedSpec &spec) {
  AxisSet axes = expr::every_axis;
  const auto drop = [&](AxisSet some) { axes = axes - some; };
  for (const spec::TypedOutput &output : spec.outputs) {
    AxisSet has;
    for (const int axis : output.axes) has = has | AxisSet::of(axis);
    drop(axes - has);
  }
  for (std::uint32_t id = 0; id < spec.graph.size(); ++id) {
    const Node &node = spec.graph[NodeId{id}];
    switch (node.kind) {
    case NodeKind::Fold:
    case NodeKind::Scan:
      if (node.like != expr::no_input) return {}; // which axes these are depends on extents
      drop(node.folded);
      break;
    case NodeKind::Extent:
      if (node.like != expr::no_input) return {};
      if (!counted_axis(spec.graph, NodeId{id})) drop(node.folded);
      break;
    case NodeKind::Index:
    case NodeKind::Input:
    case NodeKind::Literal:
    case NodeKind::Op:
    case NodeKind::Cast:
    case NodeKind::Expand: break;
    }
  }
  if (spec.time) drop(AxisSet::of(*spec.time));
  return axes;
}

std::optional<ByParts> by_parts(const TypedSpec &spec) {
  if (spec.given_inputs() == spec.inputs.size()) return {}; // nothing is copied, nothing derived
  for (const spec::TypedInput &input : spec.inputs)
    if (input.window && (input.window->is_gather() || input.window->sum)) return {};
  return Finder(spec).run();
}

} // namespace broadloom::kernel

// See by_parts.hpp.
#include "kernel/by_parts.hpp"

#include "kernel/check.hpp"
#include "rewrite/live_nodes.hpp"

#include <algorithm>
#include <bit>
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

// All that must hold for a mask to.
std::set<NodeId> conjuncts(const Graph &graph, NodeId mask) {
  std::set<NodeId> found;
  std::vector<NodeId> work{mask};
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    if (!found.insert(id).second || !graph.is(id, Op::And)) continue;
    for (const NodeId arg : graph.args(id)) work.push_back(arg);
  }
  return found;
}

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
    for (const ByParts::Residue &residue : parts_.residues)
      axes = axes | AxisSet::of(residue.folded);
    for (const auto &[id, condition] : asked_)
      if (is_residue(condition)) hold.insert(id);
    parts_.numbers = numbers_asked(graph_, axes);
    std::optional<TypedSpec> border =
        part_spec(spec_, parts_.numbers, parts_.steps, axes, {hold, {}});
    if (!border) return {};
    parts_.border = std::move(*border);
    find_interior(hold, axes);
    if (parts_.residues.empty() && !parts_.has_interior) return {};
    return std::move(parts_);
  }

private:
  // Of what is 0 where its mask does not hold, the conditions.
  void find_masks() {
    std::vector<char> asks(graph_.size()),
        guards(graph_.size()); // [node]: of positions; what a mask is made of
    std::map<NodeId, Condition> conditions;
    for (const NodeId id : graph_.ids()) {
      const auto condition = condition_of(graph_, id, numbers_);
      if (condition && !condition->value.positions.empty()) conditions.emplace(id, *condition);
      asks[id.index] = conditions.contains(id);
      if (graph_.is(id, Op::And))
        for (const NodeId arg : graph_.args(id)) asks[id.index] |= asks[arg.index];
      if (!graph_.is(id, Op::Where) || !graph_.is_zero(graph_.args(id)[2])) continue;
      const NodeId mask = graph_.args(id)[0];
      guards[mask.index] = 1;
      if (asks[mask.index] && std::ranges::count(parts_.masked, graph_[id].axes) == 0)
        parts_.masked.push_back(graph_[id].axes);
    }
    for (std::uint32_t n = std::uint32_t(graph_.size()); n-- > 0;) {
      if (!guards[n]) continue;
      if (const auto at = conditions.find(NodeId{n}); at != conditions.end()) asked_.insert(*at);
      if (graph_.is(NodeId{n}, Op::And))
        for (const NodeId arg : graph_.args(NodeId{n})) guards[arg.index] = 1;
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
      if (parts_.axes.has(axis))
        classes = std::min(classes * parts_.steps[std::size_t(axis)], most_classes + 1);
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
    bool is_folded = false;
    for (const NodeId id : graph_.ids()) {
      const Node &node = graph_[id];
      if (node.kind == NodeKind::Scan && node.folded.has(axis)) return false;
      if (node.kind != NodeKind::Fold || !node.folded.has(axis)) continue;
      if (!ops::adds_up(graph_.recipe(id))) return false;
      for (NodeId value : graph_.args(id)) {
        while (graph_[value].kind == NodeKind::Cast) value = graph_.args(value)[0];
        if (!graph_.is(value, Op::Where) || !graph_.is_zero(graph_.args(value)[2]) ||
            !conjuncts(graph_, graph_.args(value)[0]).contains(condition))
          return false;
      }
      is_folded = true;
    }
    return is_folded;
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
      if (condition.other) parts_.graph = graph_;
    }
    parts_.read_inside = elements_read(spec_);
    if (!parts_.has_interior || parts_.conditions.empty()) return;
    std::optional<TypedSpec> interior =
        part_spec(spec_, parts_.numbers, parts_.steps, axes, {hold, fail});
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
  for (const spec::TypedOutput &output : spec.outputs) drop(axes - AxisSet::of(output.axes));
  for (std::uint32_t id = 0; id < spec.graph.size(); ++id) {
    const Node &node = spec.graph[NodeId{id}];
    switch (node.kind) {
    case NodeKind::Fold:
    case NodeKind::Scan:
      if (node.like.given()) return {}; // which axes these are depends on extents
      drop(node.folded);
      // Such a scan goes by how many rows there are.
      if (node.kind == NodeKind::Scan && ops::is_scaled_number(spec.graph.recipe(NodeId{id})))
        drop(node.axes);
      break;
    case NodeKind::Extent:
      if (node.like.given()) return {};
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

static TypedSpec of_output(const TypedSpec &spec, std::size_t output) {
  TypedSpec one = spec;
  one.outputs = {spec.outputs[output]};
  if (output < spec.wishes.stores.size()) one.wishes.stores = {spec.wishes.stores[output]};
  rewrite::keep_live_nodes(one);
  return one;
}

constexpr std::size_t most_outputs = 16; // each is looked at for itself

// [output], of at most so many: does it fold nothing that another output folds, too?
static std::vector<bool> fold_alone(const TypedSpec &spec) {
  const Graph &graph = spec.graph;
  std::vector<std::uint32_t> users(graph.size()); // [node]: a bit for each output
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    for (const NodeId value : {spec.outputs[o].value, spec.outputs[o].addend})
      users[value.index] |= 1u << o;
  std::uint32_t together = 0;
  for (std::uint32_t n = std::uint32_t(graph.size()); n-- > 0;) {
    const NodeKind kind = graph[NodeId{n}].kind;
    if ((kind == NodeKind::Fold || kind == NodeKind::Scan) && !std::has_single_bit(users[n]))
      together |= users[n];
    for (const NodeId arg : graph.args(NodeId{n})) users[arg.index] |= users[n];
  }
  std::vector<bool> alone;
  for (std::size_t o = 0; o < spec.outputs.size(); ++o) alone.push_back((together >> o & 1) == 0);
  return alone;
}

std::vector<ByParts> by_parts(const TypedSpec &spec) {
  if (spec.given_inputs() == spec.inputs.size()) return {}; // nothing is copied, nothing derived
  for (const spec::TypedInput &input : spec.inputs)
    if (input.window && (input.window->is_gather() || input.window->sum)) return {};
  std::vector<ByParts> groups;
  if (std::optional<ByParts> all = Finder(spec).run()) {
    for (std::size_t o = 0; o < spec.outputs.size(); ++o) all->outputs.push_back(o);
    groups.push_back(std::move(*all));
    return groups;
  }
  const bool is_one = spec.outputs.size() == 1 || spec.outputs.size() > most_outputs ||
                      std::ranges::any_of(spec.pairings, &Pairing::fuse);
  if (is_one) return {};
  const std::vector<bool> alone = fold_alone(spec);
  for (std::size_t o = 0; o < spec.outputs.size(); ++o) {
    if (!alone[o]) continue;
    std::optional<ByParts> one = Finder(of_output(spec, o)).run();
    if (!one) continue;
    one->outputs = {o};
    groups.push_back(std::move(*one));
  }
  return groups;
}

} // namespace broadloom::kernel

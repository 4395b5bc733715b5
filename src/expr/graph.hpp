// The typed expression graph: hash-consed nodes in one flat vector, named by 32-bit ids.
//
//   n0 = input 0 : f32 {i j}        a node's axes are those along which its value varies
//   n1 = input 1 : f32 {i}
//   n2 = mul n0 n1 : f32 {i j}
//   n3 = cast n2 : f64 {i j}
//   n4 = fold sum n3 over {j} : f64 {i}
//
// Types are explicit: the arguments of an operation already have its compute type, a fold takes and
// gives its accumulate type, and every conversion is a Cast. Arguments come before their users, so
// a walk by ascending id is a walk in evaluation order and nothing needs recursion.
#pragma once

#include "ops/recipe.hpp"

#include <broadloom/error.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace broadloom::expr {

inline constexpr std::size_t max_nodes = std::size_t(1) << 20; // of a kernel; more are E0013

struct NodeId {
  std::uint32_t index = 0;
  friend auto operator<=>(const NodeId &, const NodeId &) = default;
};

// `for (const NodeId id : NodeIds{count})`: the first ones.
struct NodeIds {
  std::uint32_t count = 0;
  struct Iterator {
    std::uint32_t index = 0;
    NodeId operator*() const { return {index}; }
    Iterator &operator++() { return ++index, *this; }
    friend bool operator==(const Iterator &, const Iterator &) = default;
  };
  Iterator begin() const { return {}; }
  Iterator end() const { return {count}; }
};

struct RecipeId { // of an accumulator, in the graph that uses it
  std::uint32_t index = 0;
  friend auto operator<=>(const RecipeId &, const RecipeId &) = default;
};

struct LikeId { // of a list of inputs, in the graph that uses it
  std::uint32_t index = 0xffffffff;
  bool given() const { return index != 0xffffffff; }
  friend auto operator<=>(const LikeId &, const LikeId &) = default;
};

// A set of axes of the iteration space; `for (const int axis : set)` takes them in ascending order.
inline constexpr int max_axes = 64;
class AxisSet {
public:
  constexpr AxisSet() = default;
  constexpr explicit AxisSet(std::uint64_t bits) : bits_(bits) {}
  static constexpr AxisSet of(int axis) { return AxisSet(std::uint64_t(1) << axis); }
  static constexpr AxisSet of(std::span<const int> axes) {
    AxisSet set;
    for (const int axis : axes) set = set | of(axis);
    return set;
  }

  struct Iterator {
    std::uint64_t left = 0;
    constexpr int operator*() const { return __builtin_ctzll(left); }
    constexpr Iterator &operator++() { return left &= left - 1, *this; }
    friend constexpr bool operator==(const Iterator &, const Iterator &) = default;
  };
  constexpr Iterator begin() const { return {bits_}; }
  constexpr Iterator end() const { return {}; }
  std::vector<int> list() const {
    std::vector<int> axes;
    for (const int axis : *this) axes.push_back(axis);
    return axes;
  }

  constexpr bool has(int axis) const { return bits_ >> axis & 1; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return __builtin_popcountll(bits_); }
  constexpr bool contains(AxisSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr std::uint64_t bits() const { return bits_; }
  constexpr AxisSet operator|(AxisSet o) const { return AxisSet(bits_ | o.bits_); }
  constexpr AxisSet operator&(AxisSet o) const { return AxisSet(bits_ & o.bits_); }
  constexpr AxisSet operator-(AxisSet o) const { return AxisSet(bits_ & ~o.bits_); }
  friend constexpr bool operator==(AxisSet, AxisSet) = default;

private:
  std::uint64_t bits_ = 0;
};

inline constexpr AxisSet every_axis{~std::uint64_t(0)};

enum class NodeKind : std::uint8_t {
  Input,   // payload: input index
  Literal, // literal: the value in `dtype`
  Op,      // op on args of one compute type
  Cast,    // one argument to `dtype`
  Fold, // one state (`payload`) of the accumulator `recipe` after it has folded its arguments over
        // `folded` and `like`; an ordered one may have a start value for each state after them
  Scan, // one state of `recipe` at each position along the only axis of `folded`: after the step
  // there, or before it (`exclusive`), from the end where `reverse`; else as a Fold. Of an
  // accumulator with a combine the start values are what the blocks before have come to. A `total`
  // lacks the axis: what one block has come to
  Expand, // repeats args[0] along the axes of the inputs args[1..], which lend only their shapes
  Extent, // how many elements the arguments, which lend only their shapes, have along the axes that
          // `folded` and `like` say, as in a Fold: i64
  Index,  // the position along its only axis, of which the arguments lend the extent: i64
};

struct Node {
  NodeKind kind = NodeKind::Literal;
  ops::Op op = ops::Op::Add;
  bool exclusive = false, reverse = false, total = false; // Scan
  RecipeId recipe = {};                                   // Fold, Scan
  DType dtype = DType::F32;
  AxisSet axes = {};
  AxisSet folded = {}; // Fold: axes that are always folded; Extent: axes that are always counted
  // Fold, Extent: also the axes in which the inputs of this list are 1 and the argument is not.
  LikeId like = {};
  std::uint32_t payload = 0; // Input; Fold, Scan: which state
  ops::Scalar literal = {};
  std::uint32_t first_arg = 0;
  std::uint32_t arg_count = 0;
};

class Graph {
public:
  // Returns the id of this node, the old one where an equal node exists. `where` is kept for the
  // first one: errors about extents point there.
  NodeId add(Node node, std::span<const NodeId> args, const Place &where);

  Graph() = default;
  // An empty graph that knows the accumulators of another by the same ids, and its lists of inputs.
  static Graph with_recipes_of(const Graph &other) {
    Graph graph;
    graph.recipes_ = other.recipes_;
    graph.likes_ = other.likes_;
    return graph;
  }

  // The id of these inputs, the old one where equal ones have one; none of no inputs.
  LikeId add_like(std::vector<std::uint32_t> inputs);
  std::span<const std::uint32_t> like(const Node &node) const {
    if (!node.like.given()) return {};
    return likes_[node.like.index];
  }

  // The id of this accumulator, the old one where an equal one exists.
  RecipeId add_recipe(const ops::Recipe &recipe) { return {ops::intern(recipes_, recipe)}; }
  const ops::Recipe &recipe(RecipeId id) const { return recipes_[id.index]; }
  const ops::Recipe &recipe(NodeId id) const { return recipes_[nodes_[id.index].recipe.index]; }
  // Of a Fold or Scan: what is accumulated, and where an ordered accumulator starts (or nothing).
  std::span<const NodeId> folded_args(NodeId id) const {
    return args(id).first(recipe(id).args.size());
  }
  std::span<const NodeId> start_args(NodeId id) const {
    return args(id).subspan(recipe(id).args.size());
  }

  const Node &operator[](NodeId id) const { return nodes_[id.index]; }
  std::span<const Node> nodes() const { return nodes_; }
  NodeIds ids() const { return {std::uint32_t(nodes_.size())}; }
  std::span<const NodeId> args(NodeId id) const {
    const Node &n = nodes_[id.index];
    return {args_.data() + n.first_arg, n.arg_count};
  }
  // The arguments, each of which has become another: [node].
  std::vector<NodeId> args_now(NodeId id, std::span<const NodeId> now) const {
    std::vector<NodeId> args;
    for (const NodeId arg : this->args(id)) args.push_back(now[arg.index]);
    return args;
  }
  // The arguments whose values are read: others lend only their shapes.
  std::span<const NodeId> operands(NodeId id) const {
    const NodeKind kind = nodes_[id.index].kind;
    if (kind == NodeKind::Extent || kind == NodeKind::Index) return {};
    return kind == NodeKind::Expand ? args(id).first(1) : args(id);
  }
  bool is(NodeId id, ops::Op op) const {
    return nodes_[id.index].kind == NodeKind::Op && nodes_[id.index].op == op;
  }
  // A literal of all bits 0: no -0.
  bool is_zero(NodeId id) const {
    return nodes_[id.index].kind == NodeKind::Literal && nodes_[id.index].literal == ops::Scalar{};
  }
  const Place &where(NodeId id) const { return places_[id.index]; }
  std::size_t size() const { return nodes_.size(); }

private:
  std::vector<Node> nodes_;
  std::vector<NodeId> args_;
  std::vector<Place> places_;
  std::vector<ops::Recipe> recipes_;
  std::vector<std::vector<std::uint32_t>> likes_;
  std::unordered_multimap<std::uint64_t, NodeId> index_; // structural hash to candidates
};

} // namespace broadloom::expr

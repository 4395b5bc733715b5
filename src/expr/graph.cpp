// Hash-consing: a node is looked up by its structure before it is made, so that equal
// sub-expressions are one node and later stages never compute anything twice.
#include "expr/graph.hpp"

#include "support/check.hpp"

#include <algorithm>

namespace broadloom::expr {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(const Node &n, std::span<const NodeId> args) {
  std::uint64_t hash = mix(std::uint64_t(n.kind),
                           std::uint64_t(n.op) << 32 | std::uint64_t(n.recipe.index) << 11 |
                               std::uint64_t(n.total) << 10 | std::uint64_t(n.exclusive) << 9 |
                               std::uint64_t(n.reverse) << 8 | std::uint64_t(n.dtype));
  hash = mix(hash, n.axes.bits());
  hash = mix(hash, n.folded.bits());
  hash = mix(hash, std::uint64_t(n.like.index) << 32 | n.payload);
  hash = mix(hash, n.literal.bits);
  hash = mix(hash, n.literal.imag);
  for (NodeId arg : args) hash = mix(hash, arg.index);
  return hash;
}

bool same(const Node &a, const Node &b) {
  return a.kind == b.kind && a.op == b.op && a.recipe == b.recipe && a.exclusive == b.exclusive &&
         a.reverse == b.reverse && a.total == b.total && a.dtype == b.dtype && a.axes == b.axes &&
         a.folded == b.folded && a.like == b.like && a.payload == b.payload &&
         a.literal == b.literal;
}

} // namespace

LikeId Graph::add_like(std::vector<std::uint32_t> inputs) {
  if (inputs.empty()) return {};
  const auto known = std::ranges::find(likes_, inputs);
  if (known != likes_.end()) return {std::uint32_t(known - likes_.begin())};
  likes_.push_back(std::move(inputs));
  return {std::uint32_t(likes_.size() - 1)};
}

NodeId Graph::add(Node node, std::span<const NodeId> args, const Place &where) {
  std::uint64_t hash = hash_of(node, args);
  for (auto [it, end] = index_.equal_range(hash); it != end; ++it)
    if (same((*this)[it->second], node) && std::ranges::equal(this->args(it->second), args))
      return it->second;
  for (NodeId arg : args) support::check(arg.index < nodes_.size(), "an argument comes later");

  NodeId id{std::uint32_t(nodes_.size())};
  node.first_arg = std::uint32_t(args_.size());
  node.arg_count = std::uint32_t(args.size());
  args_.insert(args_.end(), args.begin(), args.end());
  nodes_.push_back(node);
  places_.push_back(where);
  index_.emplace(hash, id);
  return id;
}

} // namespace broadloom::expr

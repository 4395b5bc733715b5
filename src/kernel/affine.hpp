// Numbers of a graph that are sums of positions and extents, as masks compare them.
//
//   iota(h) - iota(u) >= 0 && iota(h) - iota(u) < 2 * extent(i) && (iota(h) - iota(u)) % 2 == 0
//
//   h - u              positions h and -1 u
//   2*i_count - 1 - h + u
#pragma once

#include "spec/spec.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace broadloom::kernel {

struct Affine {
  struct Term {
    int axis = 0;
    std::int64_t times = 0;
    friend bool operator==(const Term &, const Term &) = default;
  };
  std::int64_t constant = 0;
  std::vector<Term> positions,
      counts; // by ascending axis, none with 0: positions along axes, and extents of axes
  std::int64_t times(int axis) const; // of its position
  friend bool operator==(const Affine &, const Affine &) = default;
};

// A value that must be 0 or more, a multiple, or equal to another.
struct Condition {
  enum class Kind : std::uint8_t { AtLeastZero, Multiple, Equal } kind = Kind::AtLeastZero;
  Affine value;
  std::int64_t divisor = 0;          // of a multiple
  std::optional<expr::NodeId> other; // of an equation: any number of positions and extents; none: 0
  friend bool operator==(const Condition &, const Condition &) = default;
};

std::optional<int> only_axis(expr::AxisSet axes);
// Of an Extent that counts the positions of one axis.
std::optional<int> counted_axis(const expr::Graph &graph, expr::NodeId id);

// [node]: the numbers that are such sums. Extents count where they are those of one axis. Linear in
// the size of the graph.
std::vector<std::optional<Affine>> affine_numbers(const expr::Graph &graph);

// What a comparison of such numbers asks; none of others.
std::optional<Condition> condition_of(const expr::Graph &graph, expr::NodeId id,
                                      const std::vector<std::optional<Affine>> &numbers);

// The least and the greatest value of a number of positions and extents, which are [axis], -1:
// unknown. None of other numbers, or where that takes more than some thousand operations.
std::optional<std::pair<std::int64_t, std::int64_t>>
bounds_of(const expr::Graph &graph, expr::NodeId id, std::span<const std::int64_t> extents);

} // namespace broadloom::kernel

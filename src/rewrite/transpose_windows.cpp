// See transpose_windows.hpp.
#include "rewrite/transpose_windows.hpp"

#include "rewrite/live_nodes.hpp"
#include "rewrite/reindex.hpp"
#include "rewrite/scatters.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace broadloom::rewrite {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;

namespace {

bool is_transposed(const spec::TypedSpec &spec, const Node &node) {
  return spec.summed_through(node) != nullptr && !is_scatter(spec, node);
}

// The axes of a window in terms of the positions in its array.
class Solution {
public:
  // `all`: the axes that have all positions of a dim where they stand alone.
  Solution(const spec::TypedWindow &window, AxisSet all, const Place &where) : positions_(where) {
    for (std::size_t dim = 0; dim < window.forms.size(); ++dim) take(window, dim, all);
  }

  static int place(std::size_t dim) {
    return expr::max_axes + int(dim);
  } // the position along a dim, as an axis

  static std::size_t dim_of(int place) { return std::size_t(place - expr::max_axes); }

  struct Axis {
    Position at;
    bool exact = false; // it is the position along a dim of the same extent
  };
  struct Condition { // at the place along the dim is this
    Position at;
    std::size_t dim;
  };
  const std::map<int, Axis> &axes() const { return axes_; }
  const std::vector<Condition> &conditions() const { return conditions_; }
  const Positions &positions() const { return positions_; }

private:
  void take(const spec::TypedWindow &window, std::size_t dim, AxisSet all) {
    const spec::TypedWindow::Form &form = window.forms[dim];
    const Position known = with_known(position_of(window, dim));
    std::vector<int>
        open; // its own axes first: of u - i and u, the second says i, by u of the first
    for (const spec::TypedWindow::Term &term : form.terms) open.push_back(term.axis);
    for (const auto &[axis, times] : known.axes)
      if (axis < expr::max_axes) open.push_back(axis);
    for (const int axis : open) {
      if (axes_.contains(axis) || known.times(axis) == 0) continue;
      const Position at = positions_.solve(known, axis, Position::of_axis(place(dim)));
      for (auto &[other, solved] : axes_)
        solved.at = positions_.substitute(solved.at,
                                          [&](int named) { return named == axis ? &at : nullptr; });
      axes_[axis] = {at, form.is_axis() && form.terms[0].axis == axis && all.has(axis)};
      return;
    }
    conditions_.push_back({known, dim});
  }

  Position with_known(const Position &position) const {
    return positions_.substitute(position, [&](int axis) {
      const auto found = axes_.find(axis);
      return found == axes_.end() ? nullptr : &found->second.at;
    });
  }

  Positions positions_;
  std::map<int, Axis> axes_;
  std::vector<Condition> conditions_;
};

class Transposer {
public:
  explicit Transposer(spec::TypedSpec &spec)
      : spec_(spec), all_(expr::every_axis - spec.free_axes()), reindexer_(spec) {
    if (spec.time) all_ = all_ | AxisSet::of(*spec.time); // there is a step for each
  }

  void run() {
    const expr::Graph old = std::move(spec_.graph);
    spec_.graph = expr::Graph::with_recipes_of(old);
    rebuild(spec_, old, [&](NodeId id, const std::vector<NodeId> &args) {
      return is_transposed(spec_, old[id]) ? written_out(old[id], args[0], old.where(id))
                                           : spec_.graph.add(old[id], args, old.where(id));
    });
  }

private:
  // The sum of what is gathered from the array and from each border that repeats elements of it, or
  // corner of such borders.
  NodeId written_out(const Node &fold, NodeId summed, const Place &where) {
    const spec::TypedWindow window = *spec_.summed_through(fold)->window; // the inputs grow
    const Solution solution(window, all_, support::with_text(where, spec_.source.get()));
    std::optional<NodeId> total;
    for (const std::vector<Region> &regions : regions_of(window, where)) {
      const NodeId value = gathered(fold, summed, window, solution, regions, where);
      total = total ? reindexer_.op(Op::Add, fold.dtype, {*total, value}, where) : value;
    }
    return *total;
  }

  // Along one dim: the elements of the array, or those of a border.
  struct Region {
    const spec::TypedWindow::Pad *pad = nullptr;
    bool is_before = false;
    int border = -1;            // its axis; -1: the array itself
    std::uint32_t counting = 0; // an input over this axis
  };

  static constexpr std::size_t most_regions = 729; // six dims

  std::vector<std::vector<Region>> regions_of(const spec::TypedWindow &window, const Place &where) {
    std::vector<std::vector<Region>> all(1);
    for (std::size_t dim = 0; dim < window.forms.size(); ++dim) {
      const spec::TypedWindow::Pad *pad = window.pad_of(int(dim));
      std::vector<Region> here{{pad}};
      if (pad != nullptr && pad->mode != PadMode::Constant)
        for (const bool is_before : {true, false}) {
          const std::int64_t count = is_before ? pad->before : pad->after;
          if (count == 0) continue;
          const int axis = border_axis(window.of, dim, count, where);
          here.push_back(
              {pad, is_before, axis, reindexer_.counting(window.of, int(dim), axis, count, where)});
        }
      std::vector<std::vector<Region>> longer;
      for (const std::vector<Region> &regions : all)
        for (const Region &region : here) {
          longer.push_back(regions);
          longer.back().push_back(region);
        }
      all = std::move(longer);
      if (all.size() > most_regions)
        support::fail("E0013",
                      "a sum through " + window.seen + " has more than " +
                          std::to_string(most_regions) + " borders and corners",
                      support::with_text(where, spec_.source.get()),
                      "repeat elements around fewer dims: zeros need no sum of their own");
    }
    return all;
  }

  // One for all sums: each folds it, and what is read inside of another gets names of its own
  // (reindex.hpp).
  int border_axis(std::uint32_t input, std::size_t dim, std::int64_t count, const Place &where) {
    const auto [known, fresh] = borders_.try_emplace({input, dim, count}, -1);
    if (fresh) known->second = reindexer_.fresh_axis(spec_.inputs[input].axis_of_dim[dim], where);
    return known->second;
  }

  // The position in the padded array.
  Position position_of(const Region &region, const spec::TypedWindow &window,
                       std::size_t dim) const {
    const int place = spec_.inputs[window.of].axis_of_dim[dim];
    Position position = Position::of_axis(region.border < 0 ? place : region.border);
    if (region.pad == nullptr || (region.border >= 0 && region.is_before)) return position;
    position.constant = region.pad->before;
    if (region.border >= 0) position.counts[{window.of, int(dim)}] = 1;
    return position;
  }

  // The index of the element that an element of a border repeats.
  NodeId repeated_index(const Region &region, NodeId count, const Place &where) {
    const auto op = [&](Op op, NodeId a, NodeId b) {
      return reindexer_.op(op, DType::I64, {a, b}, where);
    };
    const auto number = [&](std::int64_t n) { return reindexer_.number(n, where); };
    const NodeId last = op(Op::Sub, count, number(1));
    const NodeId at =
        reindexer_.index(reindexer_.input(region.counting, where), region.border, where);
    // From the first element, or from the one behind the last: below 0 before the array.
    const NodeId from = region.is_before ? op(Op::Sub, at, number(region.pad->before)) : at;
    switch (region.pad->mode) {
    case PadMode::Constant: break;
    case PadMode::Edge: return region.is_before ? number(0) : last;
    case PadMode::Wrap: return op(Op::Mod, from, count);
    case PadMode::Reflect: {
      // There and back is one period; of one element, 1.
      const NodeId period = op(Op::Maximum, op(Op::Mul, last, number(2)), number(1));
      const NodeId turned = op(Op::Mod, region.is_before ? from : op(Op::Add, count, from), period);
      return op(Op::Minimum, turned, op(Op::Sub, period, turned));
    }
    }
    support::bug("transpose_windows: a border that repeats nothing");
  }

  NodeId gathered(const Node &fold, NodeId summed, const spec::TypedWindow &window,
                  const Solution &solution, const std::vector<Region> &regions,
                  const Place &where) {
    const std::uint32_t seen = spec_.graph.like(fold)[0];
    const std::vector<int> places = spec_.inputs[window.of].axis_of_dim;
    const AxisSet of_result = spec_.inputs[window.of].axes();

    // Axes that are folded must not have the names of those of the result.
    Substitution by, renaming;
    const AxisSet walked = spec_.inputs[seen].axes(), all = spec_.graph[summed].axes | walked;
    const bool divides = std::ranges::any_of(
        solution.axes(), [](const auto &solved) { return solved.second.at.divisor != 1; });
    for (const int axis : all) {
      if (solution.axes().contains(axis)) continue;
      int now = axis;
      if (of_result.has(axis) || (divides && is_taken(axis))) {
        now = reindexer_.fresh_axis(axis, where);
        by.axes[axis] = renaming.axes[axis] = {Position::of_axis(now), true};
      }
      if (walked.has(axis)) by.extents[now] = {axis, 0, 0};
    }
    for (std::size_t dim = 0; dim < places.size(); ++dim)
      by.extents[places[dim]] = {-1, window.of, int(dim)};
    std::map<int, Position> names; // of places and of what was renamed
    for (std::size_t dim = 0; dim < places.size(); ++dim) {
      const Region &region = regions[dim];
      names[Solution::place(dim)] = position_of(region, window, dim);
      if (region.border >= 0)
        by.extents[region.border] = {-1, 0, 0,
                                     region.is_before ? region.pad->before : region.pad->after};
    }
    for (const auto &[axis, instead] : renaming.axes) names[axis] = instead.at;
    const auto named = [&](const Position &position) {
      return solution.positions().substitute(position, [&](int axis) {
        const auto found = names.find(axis);
        return found == names.end() ? nullptr : &found->second;
      });
    };
    for (const auto &[axis, solved] : solution.axes())
      by.axes[axis] = {named(solved.at), solved.exact,
                       solved.exact && regions[Solution::dim_of(solved.at.axis())].pad != nullptr};

    // What has the axes that now stand in positions: those of the result, and the others of the
    // window.
    const std::uint32_t renamed = reindexer_.derived(seen, renaming, where);
    for (const auto &[axis, extent] : by.extents)
      by.lenders[axis] = of_result.has(axis) ? window.of : renamed;
    for (const Region &region : regions)
      if (region.border >= 0) by.lenders[region.border] = region.counting;

    // Only where the position is that of an element: elsewhere what is read is no more than a
    // number.
    std::optional<NodeId> mask;
    const auto ask = [&](NodeId condition) {
      mask = mask ? reindexer_.op(Op::And, DType::Bool, {*mask, condition}, where) : condition;
    };
    const auto compare = [&](Op op, NodeId a, NodeId b) {
      ask(reindexer_.op(op, DType::Bool, {a, b}, where));
    };
    const auto number = [&](std::int64_t n) { return reindexer_.number(n, where); };
    const auto times = [&](NodeId a, std::int64_t n) {
      return n == 1 ? a : reindexer_.op(Op::Mul, DType::I64, {a, number(n)}, where);
    };
    const auto lender = [&](int axis) { return reindexer_.input(by.lenders.at(axis), where); };
    for (const auto &[axis, solved] : solution.axes()) {
      if (solved.exact) continue;
      const Position &at = by.axes.at(axis).at;
      const NodeId value = reindexer_.value_of(at, lender, where);
      const NodeId count = reindexer_.extent(reindexer_.input(seen, where), axis, where);
      compare(Op::Ge, value, number(0));
      compare(Op::Lt, value, times(count, at.divisor));
      if (at.divisor != 1) {
        const NodeId zero = number(0);
        compare(Op::Eq, reindexer_.op(Op::Mod, DType::I64, {value, number(at.divisor)}, where),
                zero);
      }
    }
    for (const auto &[at, dim] : solution.conditions()) {
      const Position wanted = named(at);
      const Position place = position_of(regions[dim], window, dim);
      const NodeId there = times(reindexer_.value_of(place, lender, where), wanted.divisor);
      compare(Op::Eq, reindexer_.value_of(wanted, lender, where), there);
    }
    for (std::size_t dim = 0; dim < places.size(); ++dim) {
      if (regions[dim].border < 0) continue;
      const NodeId whole = reindexer_.input(window.of, where);
      const NodeId index = reindexer_.index(whole, places[dim], where);
      compare(Op::Eq,
              repeated_index(regions[dim], reindexer_.extent(whole, places[dim], where), where),
              index);
    }

    std::vector<Node> casts; // to the type of the sum: what is masked is what was there before
    NodeId value = summed;
    for (; spec_.graph[value].kind == NodeKind::Cast; value = spec_.graph.args(value)[0])
      casts.push_back(spec_.graph[value]);
    value = reindexer_.run(value, by);
    if (mask) {
      const DType type = spec_.graph[value].dtype, compute = ops::compute_dtype(type);
      const NodeId nothing = spec_.graph.add({.dtype = compute}, {}, where);
      value = cast(value, compute, where); // no operation is one of f16 or bf16
      value = cast(reindexer_.op(Op::Where, compute, {*mask, value, nothing}, where), type, where);
    }
    for (; !casts.empty(); casts.pop_back()) {
      casts.back().axes = spec_.graph[value].axes;
      value = spec_.graph.add(casts.back(), std::span(&value, 1), where);
    }
    return repeated(folded(fold, value, of_result, where), window.of, where);
  }

  NodeId cast(NodeId value, DType type, const Place &where) {
    if (spec_.graph[value].dtype == type) return value;
    return spec_.graph.add({.kind = NodeKind::Cast, .dtype = type, .axes = spec_.graph[value].axes},
                           std::span(&value, 1), where);
  }

  // Whether another sum folds the axis: each shall have residues of its own (kernel/by_parts.hpp),
  // as long as there are names.
  bool is_taken(int axis) {
    const bool taken = taken_.has(axis) && spec_.axes.size() + 8 < std::size_t(expr::max_axes);
    taken_ = taken_ | AxisSet::of(axis);
    return taken;
  }

  NodeId folded(Node fold, NodeId value, AxisSet kept, const Place &where) {
    fold.like = {};
    fold.folded = spec_.graph[value].axes - kept;
    fold.axes = spec_.graph[value].axes & kept;
    return fold.folded.empty() ? value : spec_.graph.add(fold, std::span(&value, 1), where);
  }

  // Along axes of the result that the sum lacks.
  NodeId repeated(NodeId value, std::uint32_t like, const Place &where) {
    if (spec_.graph[value].axes == spec_.inputs[like].axes()) return value;
    const NodeId args[] = {value, reindexer_.input(like, where)};
    return spec_.graph.add({.kind = NodeKind::Expand,
                            .dtype = spec_.graph[value].dtype,
                            .axes = spec_.inputs[like].axes()},
                           args, where);
  }

  spec::TypedSpec &spec_;
  AxisSet taken_; // by sums through windows that move by more than one
  AxisSet all_;   // that have all positions where they stand alone
  Reindexer reindexer_;
  std::map<std::tuple<std::uint32_t, std::size_t, std::int64_t>, int> borders_;
};

} // namespace

void transpose_windows(spec::TypedSpec &spec) {
  for (std::uint32_t n = 0; n < spec.graph.size(); ++n)
    if (is_transposed(spec, spec.graph[{n}])) return Transposer(spec).run();
}

} // namespace broadloom::rewrite

// See fold_blocks.hpp.
#include "jit/fold_blocks.hpp"

#include "array/copy.hpp"
#include "jit/kernel.hpp"
#include "kernel/layouts.hpp"
#include "loop/tree.hpp"
#include "plan/fold_borders.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace broadloom::jit {
namespace {

using kernel::pointers_to;
using support::fail;

bool same_form(const Array &a, const Array &b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.shape(), b.shape());
}

// However many leaves there are.
bool same_leaf_form(const Array &a, const Array &b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.shape().subspan(1), b.shape().subspan(1));
}

// What a round came to, which all of its blocks were given.
bool same_states(const Partial::Piece &a, const Partial::Piece &b) {
  const auto same = [](const Array &x, const Array &y) {
    if (!same_form(x, y)) return false;
    if (x.raw() == y.raw() && std::ranges::equal(x.strides(), y.strides())) return true;
    const Array dense_x = x.copy(), dense_y = y.copy(); // in the order of their dims
    return std::memcmp(dense_x.raw(), dense_y.raw(), std::size_t(x.size()) * size_of(x.dtype())) ==
           0;
  };
  return a.extent == b.extent && a.leaves == b.leaves &&
         std::ranges::equal(a.states, b.states, same) && std::ranges::equal(a.scans, b.scans, same);
}

} // namespace

FoldBlocks::FoldBlocks(const spec::TypedSpec &whole, const std::string &axis,
                       const Compile &compile)
    : name_(whole.name), axis_(axis), inputs_(whole.given().begin(), whole.given().end()),
      split_(spec::split_folds(whole, axis)), whole_(spec::of_any_extent(whole, split_.axis)),
      rest_(compile(split_.rest)) {
  for (const spec::FoldRound &round : split_.rounds) {
    const auto made = [&](const spec::TypedSpec &spec) {
      return spec.outputs.empty() ? nullptr : compile(spec);
    };
    rounds_.push_back({made(round.block), made(round.join), made(round.leaf), made(round.before)});
    for (const expr::NodeId fold : round.folds)
      all_exact_ = all_exact_ && round.block.graph.recipe(fold).exact;
    for (const spec::ScanOfRound &scan : round.scans)
      all_exact_ = all_exact_ && round.leaf.graph.recipe(scan.total).exact;
  }
}

// An input of extent 1 that is repeated along the axis is the same in all blocks.
bool FoldBlocks::is_cut(std::span<const AnyView> inputs, std::size_t input,
                        std::int64_t extent) const {
  if (split_.dims[input].empty()) return false;
  const auto dim = std::size_t(split_.dims[input][0]);
  return extent == 1 || inputs[input].layout.extents[dim] != 1 || !inputs_[input].may_stretch[dim];
}

std::int64_t FoldBlocks::extent_of(std::span<const AnyView> inputs) const {
  std::int64_t extent = 1;
  std::size_t first = inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (split_.dims[i].empty()) continue;
    const auto dim = std::size_t(split_.dims[i][0]);
    const std::int64_t here = inputs[i].layout.extents[dim];
    if (here == 1 && inputs_[i].may_stretch[dim]) continue;
    if (first < inputs.size() && here != extent)
      fail("E0102",
           fmt::format("a block has {} positions along '{}' in '{}', and {} in '{}'", extent, axis_,
                       inputs_[first].name, here, inputs_[i].name),
           {}, "cut all inputs at the same places");
    extent = here;
    first = std::min(first, i);
  }
  return extent;
}

FoldBlocks::Cut FoldBlocks::cut_of(std::span<const AnyView> inputs) const {
  std::vector<const AnyView *> operands = pointers_to(inputs);
  const AnyView offset{DType::I64, nullptr, false, {}};
  if (split_.takes_offset) operands.push_back(&offset);
  kernel::check_operands(rounds_[0].any().typed(), operands); // ranks, before dims are asked for
  const std::int64_t extent = extent_of(inputs), most = std::max<std::int64_t>(extent, 2);
  std::vector<Layout> known; // of the states of the rounds so far
  // A block of one position lies as a longer one does.
  const auto layouts_of = [&](const spec::TypedSpec &spec, std::int64_t least, std::int64_t last,
                              bool takes_offset) {
    std::vector<AnyView> views(inputs.begin(), inputs.end());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (is_cut(inputs, i, extent)) {
        std::int64_t &here = views[i].layout.extents[std::size_t(split_.dims[i][0])];
        here = std::clamp(here, least, last);
      }
    if (takes_offset) views.push_back({DType::I64, nullptr, false, {}});
    for (std::size_t k = 0; views.size() < spec.given_inputs(); ++k)
      views.push_back({spec.inputs[views.size()].dtype, nullptr, false, known[k]});
    const std::vector<const AnyView *> operands = pointers_to(views);
    kernel::check_operands(spec, operands);
    const kernel::WindowedOperands windowed(
        spec, operands, {}, {.elements = kernel::WindowedOperands::Elements::NotThere});
    plan::BlockLayouts made;
    for (const AnyView *view : windowed.all()) made.inputs.push_back(view->layout);
    made.resolved = plan::resolve(spec, made.inputs, std::vector<bool>(spec.outputs.size(), true));
    for (const auto &shape : made.resolved.output_shapes)
      made.outputs.push_back(contiguous_layout(shape));
    return made;
  };
  const auto refuse = [&](const spec::TypedSpec &spec, const std::string &why, expr::NodeId fold,
                          const char *help) {
    fail("E0060", fmt::format("kernel '{}' does not come apart along '{}': {}", name_, axis_, why),
         spec.where(fold), help);
  };
  // Whose inputs are others than in one call: the states of the rounds before are among them.
  const auto check_trees = [&](const spec::TypedSpec &spec, const plan::BlockLayouts &layouts,
                               std::span<const std::pair<expr::NodeId, expr::NodeId>> same) {
    if (const auto other =
            plan::other_tree(whole_, layouts_of(whole_, 2, most, false), spec, layouts, same))
      refuse(spec,
             fmt::format("'{}' goes on with what was folded along it, in another order than in one "
                         "call",
                         spec.graph.recipe(*other).name),
             *other,
             "fold what others along the axis came to by a kernel of its own, which takes that as "
             "an input");
  };
  Cut cut;
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    const spec::FoldRound &round = split_.rounds[r];
    std::vector<bool> &has_ways = cut.has_ways.emplace_back(),
                      &in_groups = cut.in_groups.emplace_back();
    std::vector<Layout> states;
    // Of the kernel of the folds or of the leaves.
    const auto look_at = [&](const std::shared_ptr<const KernelImpl> &kernel,
                             const std::vector<std::pair<expr::NodeId, expr::NodeId>> &same,
                             const auto &look) {
      if (!kernel) return;
      const spec::TypedSpec &spec = kernel->typed();
      const plan::BlockLayouts several = layouts_of(spec, 2, most, split_.takes_offset),
                               one = layouts_of(spec, 1, 1, split_.takes_offset);
      if (r > 0) check_trees(spec, several, same);
      cut.one_differs =
          cut.one_differs || plan::one_position_differs(spec, several, one, split_.axis);
      look([&](expr::NodeId fold) {
        plan::FoldBorders borders = plan::borders_of(spec, several, fold, split_.axis);
        if (!borders.why_not.empty())
          refuse(
              spec, borders.why_not, fold,
              "cut along the axis that is outermost in memory, or fold twice: sum(sum(x, j), i)");
        cut.unit = std::max(cut.unit, borders.unit);
        return borders;
      });
      states.insert(states.end(), several.outputs.begin(), several.outputs.end());
    };
    look_at(rounds_[r].block, round.same, [&](const auto &borders_of) {
      for (const expr::NodeId counted : round.extents) borders_of(counted);
      for (const expr::NodeId fold : round.folds) has_ways.push_back(borders_of(fold).has_ways);
    });
    look_at(rounds_[r].leaf, round.same_in_leaf, [&](const auto &borders_of) {
      for (const spec::ScanOfRound &scan : round.scans)
        in_groups.push_back(borders_of(scan.total).in_groups);
    });
    known.insert(known.end(), states.begin(), states.end());
  }
  if (split_.maps) {
    const spec::TypedSpec &rest = rest_->typed();
    const bool takes_offset = split_.rest_takes_offset;
    const plan::BlockLayouts several = layouts_of(rest, 2, most, takes_offset);
    check_trees(rest, several, split_.same_in_rest);
    cut.one_differs_in_rest = plan::one_position_differs(
        rest, several, layouts_of(rest, 1, 1, takes_offset), split_.axis);
  }
  return cut;
}

void FoldBlocks::check_extents(std::int64_t extent) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    for (const int d : split_.dims[i])
      if (inputs_[i].extents[std::size_t(d)] >= 0 && inputs_[i].extents[std::size_t(d)] != extent)
        spec::fail_declared_extent(inputs_[i], d, extent);
}

std::int64_t FoldBlocks::unit(std::span<const AnyView> inputs) const { return cut_of(inputs).unit; }

Partial FoldBlocks::partial(std::int64_t offset, std::span<const AnyView> inputs) const {
  return fold({}, offset, inputs);
}

Partial FoldBlocks::partial(const Partial &before, std::int64_t offset,
                            std::span<const AnyView> inputs) const {
  check(before);
  if (before.before.size() + 1 == rounds_.size())
    fail("E0151",
         fmt::format("the blocks of kernel '{}' are of its last round along '{}'", name_, axis_),
         {}, "give them to `combine`: Kernel::rounds says how many rounds there are");
  Pieces known = before.before;
  known.push_back(finished(before));
  return fold(std::move(known), offset, inputs);
}

// What all blocks of a round come to: pieces that are left are joined as the leaves of a fold are at its end, the last and smallest one
// first.
Partial::Piece FoldBlocks::finished(const Partial &all) const {
  if (all.offset != 0 || all.pieces.empty())
    fail("E0151",
         fmt::format("the first block of kernel '{}' begins at position {} of '{}'", name_,
                     all.offset, axis_),
         {}, "give all blocks, from position 0 on");
  check_extents(all.extent);
  Partial::Piece states = all.pieces.back();
  for (std::size_t p = all.pieces.size() - 1; p-- > 0;)
    states = joined(all.before.size(), all.pieces[p], states);
  if (!states.scans.empty())
    states.scans =
        run_before(all.before.size(), identities(all.before.size(), states.scans), states.scans);
  return states;
}

Partial FoldBlocks::fold(Pieces before, std::int64_t offset,
                         std::span<const AnyView> inputs) const {
  const Cut cut = cut_of(inputs);
  const std::int64_t extent = extent_of(inputs), unit = cut.unit;
  if (offset < 0 || offset % unit != 0)
    fail("E0150",
         fmt::format("a block of kernel '{}' begins at position {} of '{}', and the parts of its "
                     "folds and scans at multiples of {}",
                     name_, offset, axis_, unit),
         {}, "cut the data at multiples of that: Kernel::unit says it");
  for (const Partial::Piece &known : before)
    if (offset + extent > known.extent)
      fail("E0151",
           fmt::format("a block of kernel '{}' ends at position {} of '{}', and those of the round "
                       "before at {}",
                       name_, offset + extent, axis_, known.extent),
           {}, "give all blocks of a round to `join`, and what it makes of them to the next round");
  Partial made{axis_, offset, extent, unit, {}, std::move(before)};
  for (std::int64_t begin = 0; begin < extent;) {
    // The largest subtree from here on, or all that is left where that is the end of the data.
    const std::int64_t at = (offset + begin) / unit, whole = (extent - begin) / unit;
    const std::int64_t aligned = at == 0 ? std::int64_t(1) << 62 : at & -at;
    const bool ends = (extent - begin) % unit != 0 && whole < aligned;
    const std::int64_t end =
        all_exact_ || ends
            ? extent
            : begin + unit * std::min(aligned, std::int64_t(std::bit_floor(std::uint64_t(whole))));
    if (end - begin == 1 && cut.one_differs)
      fail(
          "E0150",
          fmt::format("a block of kernel '{}' leaves position {} of '{}' alone, which is folded in "
                      "another order than beside others",
                      name_, offset + begin, axis_),
          {}, "let blocks begin at even positions, and the last one have an even number of them");
    const Range range{begin, end, offset + begin};
    Partial::Piece piece = run_block(cut, made.before, inputs, extent, range);
    const std::size_t round = made.before.size();
    if (piece.extent == 1 && offset + begin > 0) join_idle_ways(round, piece, cut.has_ways[round]);
    run_leaves(cut, made.before, inputs, extent, range, piece);
    made.pieces.push_back(std::move(piece));
    begin = end;
  }
  return made;
}

std::vector<AnyView> FoldBlocks::views_of(const Cut &cut, const Pieces &before,
                                          std::span<const AnyView> inputs, std::int64_t extent,
                                          const Range &range, bool takes_offset,
                                          std::vector<Array> &keep) const {
  std::vector<AnyView> views(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_cut(inputs, i, extent)) continue;
    views[i] =
        array::rows_of(inputs[i], std::size_t(split_.dims[i][0]), range.begin, range.extent());
  }
  if (takes_offset)
    views.push_back(keep.emplace_back(filled(DType::I64, {}, ops::scalar_from(range.offset))));
  for (std::size_t r = 0; r < before.size(); ++r) add_known(cut, r, before[r], range, views, keep);
  return views;
}

Partial::Piece FoldBlocks::run_block(const Cut &cut, const Pieces &before,
                                     std::span<const AnyView> inputs, std::int64_t extent,
                                     const Range &range) const {
  Partial::Piece piece{range.extent(), {}};
  if (!rounds_[before.size()].block) return piece;
  const KernelImpl &block = *rounds_[before.size()].block;
  std::vector<Array> keep;
  std::vector<AnyView> views =
      views_of(cut, before, inputs, extent, range, split_.takes_offset, keep);
  const kernel::Layouts layouts = block.allocated_layouts(views);
  for (std::size_t s = 0; s < layouts.outputs.size(); ++s)
    piece.states.push_back(Array::to_be_written(block.typed().outputs[s].dtype,
                                                contiguous_layout(layouts.outputs[s].shape())));
  for (const Array &state : piece.states) views.push_back(state);
  block.run(pointers_to(views));
  return piece;
}

Partial::Piece FoldBlocks::joined(std::size_t number, const Partial::Piece &a,
                                  const Partial::Piece &b) const {
  const spec::FoldRound &round = split_.rounds[number];
  std::vector<AnyView> views;
  // Inputs go fold by fold: the states of the one block, then those of the other.
  const std::size_t count = a.states.size();
  for (std::size_t first = 0; first < count;) {
    std::size_t states = 1;
    const auto fold = std::ranges::find(round.first_states, first);
    if (fold != round.first_states.end())
      states = round.block.graph.recipe(round.folds[std::size_t(fold - round.first_states.begin())])
                   .states.size();
    for (const Partial::Piece *piece : {&a, &b})
      for (std::size_t k = 0; k < states; ++k) views.push_back(piece->states[first + k]);
    first += states;
  }
  Partial::Piece made{a.extent + b.extent, {}};
  for (const Array &state : a.states)
    made.states.push_back(Array::to_be_written(state.dtype(), contiguous_layout(state.shape())));
  for (const Array &state : made.states) views.push_back(state);
  if (rounds_[number].join) rounds_[number].join->run(pointers_to(views));
  made.leaves = a.leaves;
  made.leaves.insert(made.leaves.end(), b.leaves.begin(), b.leaves.end());
  for (std::size_t s = 0; s < a.scans.size(); ++s)
    made.scans.push_back(stacked(a.scans[s], b.scans[s]));
  return made;
}

// One position alone is one step. In a longer fold it is a leaf in 32 ways, 31 of which are joined to it without having stepped.
void FoldBlocks::join_idle_ways(std::size_t number, Partial::Piece &piece,
                                const std::vector<bool> &has_ways) const {
  const spec::FoldRound &round = split_.rounds[number];
  Partial::Piece first = piece, idle = piece;
  for (std::size_t f = 0; f < round.folds.size(); ++f) {
    const ops::Recipe &recipe = round.block.graph.recipe(round.folds[f]);
    for (std::size_t k = 0; k < recipe.states.size(); ++k) {
      Array &state = idle.states[round.first_states[f] + k];
      state = filled(state.dtype(), state.shape(), recipe.start[k]);
    }
  }
  for (int half = loop::fold_ways / 2; half > 0; half /= 2) {
    first = joined(number, first, idle);
    idle = joined(number, idle, idle);
  }
  for (std::size_t f = 0; f < round.folds.size(); ++f) {
    if (!has_ways[f]) continue;
    for (std::size_t k = 0; k < round.block.graph.recipe(round.folds[f]).states.size(); ++k)
      piece.states[round.first_states[f] + k] = first.states[round.first_states[f] + k];
  }
}

void FoldBlocks::check(const Partial &block) const {
  bool fits = block.axis == axis_ && block.unit > 0 && block.offset >= 0 &&
              block.before.size() < rounds_.size();
  const auto check_states = [&](const std::vector<Array> &states, const spec::TypedSpec &made,
                                int more) {
    fits = fits && states.size() == made.outputs.size();
    for (std::size_t s = 0; fits && s < states.size(); ++s)
      fits = states[s].dtype() == made.outputs[s].dtype &&
             states[s].rank() == int(made.outputs[s].axes.size()) + more;
  };
  const auto check_piece = [&](const Partial::Piece &piece, const spec::FoldRound &made) {
    fits = fits && piece.extent > 0;
    check_states(piece.states, made.block, 0);
    check_states(piece.scans, made.leaf, 1);
    std::int64_t left = piece.extent;
    for (const std::int64_t leaf : piece.leaves) {
      fits = fits && leaf > 0 && leaf <= left;
      left -= leaf;
    }
    fits = fits && (made.scans.empty() ? piece.leaves.empty() : left == 0) &&
           std::ranges::all_of(piece.scans, [&](const Array &scan) {
             return scan.shape()[0] == std::int64_t(piece.leaves.size());
           });
  };
  std::int64_t extent = 0;
  for (std::size_t r = 0; fits && r < block.before.size(); ++r)
    check_piece(block.before[r], split_.rounds[r]);
  for (const Partial::Piece &piece : block.pieces) {
    extent += piece.extent;
    if (fits) check_piece(piece, split_.rounds[block.before.size()]);
  }
  if (!fits || extent != block.extent)
    fail("E0151",
         fmt::format("the block from position {} of '{}' on is not one that kernel '{}' made along "
                     "'{}'",
                     block.offset, block.axis, name_, axis_),
         {}, "combine what Kernel::partial of the same kernel gave for one axis");
}

Partial FoldBlocks::join(std::span<const Partial> blocks) const {
  std::vector<const Partial *> order;
  for (const Partial &block : blocks) {
    check(block);
    if (block.extent > 0) order.push_back(&block);
  }
  if (order.empty())
    fail("E0151", fmt::format("there are no blocks of kernel '{}' to combine", name_), {},
         "give at least one that has positions");
  std::ranges::sort(order, {}, [](const Partial *block) { return block->offset; });
  Partial made{axis_, order[0]->offset, 0, order[0]->unit, {}, order[0]->before};
  std::int64_t end = made.offset;
  for (const Partial *block : order) {
    const auto wrong = [&](const std::string &what, const std::string &help) {
      fail("E0151",
           fmt::format("the block of kernel '{}' from position {} of '{}' on {}", name_,
                       block->offset, axis_, what),
           {}, help);
    };
    if (block->offset != end)
      wrong(fmt::format("does not follow the one before it, which ends at {}", end),
            "give each block once, and its offset in all of the data");
    if (!std::ranges::equal(block->before, made.before, same_states))
      wrong("is of another round than the one before it, or was given other results of the rounds "
            "before",
            "give all blocks of a round what `join` made of all blocks of the one before");
    if (block->unit != made.unit)
      wrong(fmt::format("is cut at multiples of {}, the one before it at multiples of {}",
                        block->unit, made.unit),
            "let all blocks lie in memory in the same order of dims");
    if (end % made.unit != 0)
      wrong(fmt::format("follows one that ends at {}, which is no multiple of {}", end, made.unit),
            "only the last block may end elsewhere");
    for (const Partial::Piece &piece : block->pieces) {
      if (!made.pieces.empty() &&
          (!std::ranges::equal(made.pieces.back().states, piece.states, same_form) ||
           !std::ranges::equal(made.pieces.back().scans, piece.scans, same_leaf_form)))
        wrong("has states of another shape than the one before it",
              "the axes that are kept are as long in each block");
      made.pieces.push_back(piece);
      // Two neighbours that are the halves of a subtree become it.
      std::int64_t at = end;
      while (made.pieces.size() > 1) {
        const Partial::Piece &b = made.pieces.back(), &a = made.pieces[made.pieces.size() - 2];
        if (!all_exact_ && (a.extent != b.extent || (at - a.extent) % (2 * a.extent) != 0 ||
                            a.extent % made.unit != 0))
          break;
        at -= a.extent;
        Partial::Piece both = joined(made.before.size(), a, b);
        made.pieces.pop_back();
        made.pieces.back() = std::move(both);
      }
      end += piece.extent;
    }
  }
  made.extent = end - made.offset;
  return made;
}

Results FoldBlocks::combine(std::span<const Partial> blocks, std::int64_t offset,
                            std::span<const NamedView> inputs) const {
  const Partial all = join(blocks);
  if (all.before.size() + 1 < rounds_.size())
    fail("E0151",
         fmt::format("the blocks are of round {} of {} of kernel '{}' along '{}'",
                     all.before.size() + 1, rounds_.size(), name_, axis_),
         {}, "give what `join` makes of them to `partial`, for the blocks of the next round");
  Pieces states = all.before;
  states.push_back(finished(all));
  std::vector<AnyView> views = inputs_of_rest(inputs);
  std::vector<Array> keep;
  if (!split_.maps) {
    for (std::size_t r = 0; r < states.size(); ++r)
      add_known({}, r, states[r], {0, 0, nowhere}, views, keep);
    return rest_->call(std::move(views));
  }
  const Cut cut = cut_of(views);
  const std::int64_t extent = extent_of(views);
  if (cut.one_differs_in_rest && extent == 1 && all.extent > 1)
    fail("E0150",
         fmt::format("a block of kernel '{}' leaves one position of '{}' alone, which is folded "
                     "in another order than beside others",
                     name_, axis_),
         {}, "let blocks have two positions or more");
  const bool needs_offset = split_.rest_takes_offset || split_.rest_goes_on;
  if (needs_offset && offset < 0)
    fail("E0150",
         fmt::format("outputs of kernel '{}' {} along '{}', and it is not said where their block "
                     "begins",
                     name_, split_.rest_goes_on ? "scan" : "number positions", axis_),
         {}, "give `combine` the position of the block in all of the data, behind the blocks");
  if (needs_offset && offset > all.extent - extent)
    fail("E0151",
         fmt::format("a block of {} positions of '{}' that begins at {} goes beyond all blocks of "
                     "kernel '{}', which end at {}",
                     extent, axis_, offset, name_, all.extent),
         {}, "give the position at which the block of these inputs begins");
  const Range range{0, extent, needs_offset ? offset : nowhere};
  return rest_->call(views_of(cut, states, views, extent, range, split_.rest_takes_offset, keep));
}

// By position, those that it does not take left out.
std::vector<AnyView> FoldBlocks::inputs_of_rest(std::span<const NamedView> inputs) const {
  const auto count = std::ranges::count_if(split_.place_in_rest, [](int i) { return i >= 0; });
  std::vector<AnyView> views{std::size_t(count)};
  std::vector<bool> given(inputs_.size(), false);
  for (const NamedView &view : inputs) {
    const auto it = std::ranges::find(inputs_, view.name, &spec::TypedInput::name);
    const auto i = std::size_t(it - inputs_.begin());
    const bool is_cut = it != inputs_.end() && !split_.maps && !split_.dims[i].empty();
    if (it == inputs_.end() || is_cut || given[i])
      fail("E0308",
           fmt::format("'{}' is {} of kernel '{}'", view.name,
                       it == inputs_.end() ? "no input"
                       : is_cut            ? "an input that was cut into the blocks"
                                           : "given twice as an input",
                       name_),
           {}, fmt::format("`combine` takes inputs without the axis '{}', by their names", axis_));
    given[i] = true;
    if (split_.place_in_rest[i] >= 0) views[std::size_t(split_.place_in_rest[i])] = view.view;
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (split_.place_in_rest[i] >= 0 && !given[i])
      fail("E0308", fmt::format("input '{}' of kernel '{}' is missing", inputs_[i].name, name_), {},
           split_.maps ? "outputs have the axis: give `combine` the block of the inputs that they "
                         "are to be computed of, and all other inputs"
                       : "what comes after the folds reads it: give it to `combine`, too");
  return views;
}

} // namespace broadloom::jit

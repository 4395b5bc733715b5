// Blocks that are joined, and what is made of all of them: see fold_blocks.hpp.
#include "jit/call/fold_blocks.hpp"

#include "jit/call/kernel.hpp"
#include "kernel/layouts.hpp"
#include "loop/tree.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
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

// What all blocks of a round come to: pieces that are left are joined as the leaves of a fold are
// at its end, the last and smallest one first.
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

Partial::Piece FoldBlocks::joined(std::size_t number, const Partial::Piece &a,
                                  const Partial::Piece &b) const {
  const rewrite::FoldRound &round = split_.rounds[number];
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

// One position alone is one step. In a longer fold it is a leaf in 32 ways, 31 of which are joined
// to it without having stepped.
void FoldBlocks::join_idle_ways(std::size_t number, Partial::Piece &piece,
                                const std::vector<bool> &has_ways) const {
  const rewrite::FoldRound &round = split_.rounds[number];
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
  const auto check_piece = [&](const Partial::Piece &piece, const rewrite::FoldRound &made) {
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

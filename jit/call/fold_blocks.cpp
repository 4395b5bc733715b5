// See fold_blocks.hpp.
#include "jit/call/fold_blocks.hpp"

#include "array/copy.hpp"
#include "jit/call/kernel.hpp"
#include "kernel/layouts.hpp"
#include "plan/fold_borders.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace broadloom::jit {

using kernel::pointers_to;
using support::fail;

FoldBlocks::FoldBlocks(const spec::TypedSpec &whole, const std::string &axis,
                       const Compile &compile)
    : name_(whole.name), axis_(axis), inputs_(whole.given().begin(), whole.given().end()),
      split_(rewrite::split_folds(whole, axis)), whole_(rewrite::of_any_extent(whole, split_.axis)),
      rest_(compile(split_.rest)) {
  for (const rewrite::FoldRound &round : split_.rounds) {
    const auto made = [&](const spec::TypedSpec &spec) {
      return spec.outputs.empty() ? nullptr : compile(spec);
    };
    rounds_.push_back({made(round.block), made(round.join), made(round.leaf), made(round.before)});
    for (const expr::NodeId fold : round.folds)
      all_exact_ = all_exact_ && round.block.graph.recipe(fold).exact;
    for (const rewrite::ScanOfRound &scan : round.scans)
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
    kernel::check_operands(spec, pointers_to(views));
    plan::BlockLayouts made;
    for (const AnyView &view : views) made.inputs.push_back(view.layout);
    made.lies = kernel::add_windows(spec, made.inputs);
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
    const rewrite::FoldRound &round = split_.rounds[r];
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
      for (const rewrite::ScanOfRound &scan : round.scans)
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

std::shared_ptr<const FoldBlocks> fold_blocks(const KernelImpl &kernel, const std::string &axis) {
  const Setup &setup = kernel.setup();
  setup.refuse_on_device("folds of blocks of data");
  if (setup.engine == Engine::reference)
    fail("E0060",
         "kernel '" + setup.typed.name + "' runs in the reference, which has no tree of folds", {},
         "compile it for another engine");
  FoldBlocksMade &made = kernel.fold_blocks_made();
  {
    const std::lock_guard lock(made.mutex);
    if (const auto it = made.by_axis.find(axis); it != made.by_axis.end()) return it->second;
  }
  const support::FloatWorld world;
  MadeFor made_for = setup; // their states may be anything
  made_for.options.debug = setup.options.debug & (Debug::interpreter | Debug::memory);
  auto blocks = std::make_shared<const FoldBlocks>(
      rewrite::with_walked_dims(setup.whole()), axis, [&](spec::TypedSpec typed) {
        return std::make_shared<const KernelImpl>(setup.spec, std::move(typed), made_for);
      });
  const std::lock_guard lock(made.mutex);
  return made.by_axis.emplace(axis, std::move(blocks)).first->second;
}

} // namespace broadloom::jit

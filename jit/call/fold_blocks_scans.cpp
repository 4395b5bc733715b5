// Scans along the axis that is cut: see fold_blocks.hpp. A leaf is a block of the scan
// (docs/design.md, "Every accumulator is a recipe"), so what has come before it is joined by the
// very joins of one call.
#include "jit/call/fold_blocks.hpp"

#include "jit/call/kernel.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace broadloom::jit {

using kernel::pointers_to;
using support::fail;

Array filled(DType dtype, std::span<const std::int64_t> shape, const ops::Scalar &value) {
  Array array(dtype, shape);
  for (std::int64_t k = 0; k < array.size(); ++k)
    ops::store(static_cast<char *>(array.raw()) + std::size_t(k) * size_of(dtype), dtype, value);
  return array;
}

Array stacked(const Array &a, const Array &b) {
  std::vector<std::int64_t> shape(a.shape().begin(), a.shape().end());
  shape[0] += b.shape()[0];
  Array made = Array::to_be_written(a.dtype(), contiguous_layout(shape));
  std::size_t at = 0;
  for (const Array &part : {a.copy(), b.copy()}) { // in the order of their dims
    const std::size_t bytes = std::size_t(part.size()) * size_of(part.dtype());
    if (bytes > 0) std::memcpy(static_cast<char *>(made.raw()) + at, part.raw(), bytes);
    at += bytes;
  }
  return made;
}

Array slice(const Array &array, std::int64_t position) {
  const Layout layout = strided_layout(array.shape().subspan(1), array.strides().subspan(1));
  void *data = static_cast<char *>(array.raw()) +
               position * array.strides()[0] * std::int64_t(size_of(array.dtype()));
  return Array(std::make_shared<Array>(array), array.dtype(), data, layout);
}

const ops::Recipe &FoldBlocks::recipe_of(std::size_t round,
                                         const rewrite::ScanOfRound &scan) const {
  return split_.rounds[round].leaf.graph.recipe(scan.total);
}

// Joins with the identity change no bit, and those of parts give the bits of the whole.
bool FoldBlocks::has_exact_joins(std::size_t round, const rewrite::ScanOfRound &scan) const {
  return ops::identity_is_neutral(recipe_of(round, scan));
}

void FoldBlocks::run_leaves(const Cut &cut, const Pieces &before, std::span<const AnyView> inputs,
                            std::int64_t extent, const Range &range, Partial::Piece &piece) const {
  const std::size_t round = before.size();
  if (!rounds_[round].leaf) return;
  const KernelImpl &leaf = *rounds_[round].leaf;
  const std::int64_t length = all_exact_ ? range.extent() : cut.unit;
  const std::int64_t count = (range.extent() + length - 1) / length;
  for (std::int64_t l = 0; l < count; ++l) {
    const std::int64_t begin = l * length, end = std::min(range.extent(), begin + length);
    Arrays keep;
    std::vector<AnyView> views = views_of(
        cut, before, inputs, extent, {range.begin + begin, range.begin + end, range.offset + begin},
        split_.takes_offset, keep);
    if (l == 0) {
      const kernel::Layouts layouts = leaf.allocated_layouts(views);
      for (std::size_t s = 0; s < layouts.outputs.size(); ++s) {
        const std::span<const std::int64_t> kept = layouts.outputs[s].shape();
        std::vector<std::int64_t> shape(kept.begin(), kept.end());
        shape.insert(shape.begin(), count);
        piece.scans.push_back(
            Array::to_be_written(leaf.typed().outputs[s].dtype, contiguous_layout(shape)));
      }
    }
    Arrays totals;
    for (const Array &scan : piece.scans) totals.push_back(slice(scan, l));
    for (const Array &total : totals) views.push_back(total);
    leaf.run(pointers_to(views));
    piece.leaves.push_back(end - begin);
    if (end - begin > 1 || all_exact_) continue;
    // One position alone is one step. In a longer scan in groups it is joined to what comes before
    // it in its leaf: nothing.
    const Arrays joined = joined_once(round, identities(round, piece.scans), totals);
    for (std::size_t s = 0; s < split_.rounds[round].scans.size(); ++s) {
      const rewrite::ScanOfRound &scan = split_.rounds[round].scans[s];
      const std::size_t first = scan.first_state,
                        last = first + recipe_of(round, scan).states.size();
      for (std::size_t k = first; cut.in_groups[round][s] && k < last; ++k)
        if (const std::size_t size = std::size_t(totals[k].size()); size > 0)
          std::memcpy(totals[k].raw(), joined[k].copy().raw(), size * size_of(totals[k].dtype()));
    }
  }
}

// [state]: what the recipes start from, in arrays that have the shape of what a leaf comes to.
FoldBlocks::Arrays FoldBlocks::identities(std::size_t round, const Arrays &scans) const {
  Arrays made;
  for (const rewrite::ScanOfRound &scan : split_.rounds[round].scans)
    for (const ops::Scalar &start : recipe_of(round, scan).start) {
      const Array &like = scans[made.size()];
      made.push_back(filled(like.dtype(), like.shape().subspan(1), start));
    }
  return made;
}

// [state]: what comes before each leaf, where all begin with `starts`.
FoldBlocks::Arrays FoldBlocks::run_before(std::size_t round, const Arrays &starts,
                                          const Arrays &scans) const {
  std::vector<AnyView> views;
  for (const rewrite::ScanOfRound &scan : split_.rounds[round].scans) {
    const std::size_t first = scan.first_state, end = first + recipe_of(round, scan).states.size();
    for (std::size_t k = first; k < end; ++k) views.push_back(starts[k]);
    for (std::size_t k = first; k < end; ++k) views.push_back(scans[k]);
  }
  Arrays made;
  for (const Array &scan : scans)
    made.push_back(Array::to_be_written(scan.dtype(), contiguous_layout(scan.shape())));
  for (const Array &before : made) views.push_back(before);
  rounds_[round].before->run(pointers_to(views));
  return made;
}

// [state]: combine(start, total), as what comes before the second of two leaves.
FoldBlocks::Arrays FoldBlocks::joined_once(std::size_t round, const Arrays &starts,
                                           const Arrays &totals) const {
  Arrays twice;
  for (const Array &total : totals) {
    std::vector<std::int64_t> shape(total.shape().begin(), total.shape().end());
    shape.insert(shape.begin(), 1);
    const Array dense = total.copy(), one(std::make_shared<Array>(dense), dense.dtype(),
                                          dense.raw(), contiguous_layout(shape));
    twice.push_back(stacked(one, one));
  }
  const Arrays before = run_before(round, starts, twice);
  Arrays made;
  for (const rewrite::ScanOfRound &scan : split_.rounds[round].scans)
    for (std::size_t k = 0; k < recipe_of(round, scan).states.size(); ++k)
      made.push_back(slice(before[made.size()], scan.reverse ? 0 : 1));
  return made;
}

// The states of a round as a kernel takes them for a range of the data; of scans, what comes before
// that.
void FoldBlocks::add_known(const Cut &cut, std::size_t round, const Partial::Piece &known,
                           const Range &range, std::vector<AnyView> &views, Arrays &keep) const {
  for (const Array &state : known.states) views.push_back(state);
  const std::vector<rewrite::ScanOfRound> &scans = split_.rounds[round].scans;
  const bool any = range.offset == nowhere || range.extent() == 0; // nobody reads them
  for (std::size_t s = 0; s < scans.size(); ++s) {
    const rewrite::ScanOfRound &scan = scans[s];
    const std::int64_t border = scan.reverse ? range.offset + range.extent() : range.offset;
    std::size_t leaf = 0;
    std::int64_t at = scan.reverse ? known.leaves[0] : 0;
    for (; !any && at < border && leaf + 1 < known.leaves.size(); ++leaf)
      at += known.leaves[leaf + (scan.reverse ? 1 : 0)];
    if (!any && at != border)
      fail("E0150",
           fmt::format("a block of kernel '{}' {} at position {} of '{}', where no block of the "
                       "round before did: its scans go on from there",
                       name_, scan.reverse ? "ends" : "begins", border, axis_),
           {}, "cut the data at the same places in all rounds");
    const std::size_t states = recipe_of(round, scan).states.size();
    const bool alone = !any && range.extent() == 1 && !recipe_of(round, scan).exact;
    if (alone && known.extent == 1 && !has_exact_joins(round, scan))
      fail("E0150",
           fmt::format("kernel '{}' scans by '{}' along '{}', of which all of the data has one "
                       "position: one step alone has other bits than one that is joined",
                       name_, recipe_of(round, scan).name, axis_),
           {}, "call the kernel as it is");
    Arrays before;
    for (const Array &all : known.scans) before.push_back(slice(all, std::int64_t(leaf)));
    // In a leaf of several positions what comes before it meets a state that has not stepped: at
    // the first one of a scan before its steps, and of each group.
    if (alone && known.extent > 1 && (scan.exclusive || cut.in_groups[round][s]))
      before = joined_once(round, before, identities(round, known.scans));
    for (std::size_t k = 0; k < states; ++k)
      views.push_back(keep.emplace_back(before[scan.first_state + k]));
  }
}

} // namespace broadloom::jit

// See block_of.hpp.
#include "kernel/block_of.hpp"

#include "kernel/part_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::kernel {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using spec::TypedWindow;

std::string why_no_block(const spec::TypedSpec &spec, int axis) {
  for (std::uint32_t n = 0; n < spec.graph.size(); ++n) {
    const Node &node = spec.graph[NodeId{n}];
    if (node.kind != NodeKind::Fold && node.kind != NodeKind::Scan) continue;
    const char *what = node.kind == NodeKind::Fold ? "folds" : "scans";
    if (node.folded.has(axis))
      return fmt::format("it {} by '{}' along it", what, spec.graph.recipe(NodeId{n}).name);
    if (node.like.given())
      return fmt::format("it {} by '{}' what has the shape of an input (like=)", what,
                         spec.graph.recipe(NodeId{n}).name);
  }
  for (const spec::TypedOutput &output : spec.outputs)
    if (std::ranges::count(output.axes, axis) == 0)
      return fmt::format("output '{}' does not have it", output.name);
  for (const ByParts &group : by_parts(spec))
    if (!group.residues.empty()) return "it sums back through a window in steps";
  if (!separable_axes(spec).has(axis)) return "it counts positions of several axes as one";
  return "";
}

std::optional<spec::TypedSpec> block_spec(const spec::TypedSpec &spec, AxisSet axes,
                                          ByParts &parts) {
  parts.axes = axes;
  parts.steps.assign(spec.axes.size(), 1);
  parts.numbers = numbers_asked(spec.graph, axes);
  return part_spec(spec, parts.numbers, parts.steps, axes, {});
}

namespace {

void add(Positions &reach, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  reach = reach.begin == reach.end
              ? Positions{begin, end}
              : Positions{std::min(reach.begin, begin), std::max(reach.end, end)};
}

// The elements that stand in the border at these positions, which begin before the first element or
// behind the last.
void add_border(Positions &reach, const TypedWindow::Pad &pad, std::int64_t extent,
                std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  switch (pad.mode) {
  case PadMode::Constant: return;
  case PadMode::Edge: return begin < 0 ? add(reach, 0, 1) : add(reach, extent - 1, extent);
  case PadMode::Wrap:
  case PadMode::Reflect: break;
  }
  const bool turns = pad.mode == PadMode::Reflect && extent > 1;
  const std::int64_t period = turns ? 2 * (extent - 1) : extent;
  if (end - begin >= period) return add(reach, 0, extent);
  for (std::int64_t p = begin; p < end; ++p) {
    std::int64_t at = (p % period + period) % period;
    if (at >= extent) at = period - at;
    add(reach, at, at + 1);
  }
}

// The elements at positions in the padded array, before these are divided.
void add_positions(Positions &reach, const TypedWindow &window, std::size_t dim,
                   std::int64_t extent, const Padding::Dim &positions) {
  const std::int64_t divisor = positions.divisor;
  const auto divided = [&](std::int64_t p) { return p / divisor - (p % divisor < 0); }; // down
  const std::int64_t first = divided(positions.first + divisor - 1),
                     end = divided(positions.last) + 1;
  const TypedWindow::Pad *pad = window.pad_of(int(dim));
  const std::int64_t before = pad == nullptr ? 0 : pad->before;
  const std::int64_t begin_in = first - before, end_in = end - before;
  add(reach, std::clamp<std::int64_t>(begin_in, 0, extent),
      std::clamp<std::int64_t>(end_in, 0, extent));
  if (pad == nullptr || extent == 0) return;
  add_border(reach, *pad, extent, begin_in, std::min<std::int64_t>(end_in, 0));
  add_border(reach, *pad, extent, std::max(begin_in, extent), end_in);
}

} // namespace

std::vector<std::vector<Positions>> reads_in(const spec::TypedSpec &spec, Viewer &viewer,
                                             std::span<const Layout> given, const Box &whole,
                                             const Box &box) {
  std::vector<std::vector<Positions>> reads;
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::vector<Positions> &dims = reads.emplace_back(std::size_t(given[i].rank));
    if (!viewer.is_read(i)) continue;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const auto axis = std::size_t(spec.inputs[i].axis_of_dim[d]);
      const bool is_cut = given[i].extents[d] == whole[axis].count;
      dims[d] = is_cut ? Positions{box[axis].first, box[axis].first + box[axis].count}
                       : Positions{0, given[i].extents[d]};
    }
  }
  for (std::size_t w = given.size(); w < spec.inputs.size(); ++w) {
    const TypedWindow &window = *spec.inputs[w].window;
    if (!viewer.is_read(w)) continue;
    const Seen seen = viewer.see(w, &box);
    const auto extents = seen.layout.shape();
    if (std::ranges::count(extents, 0) != 0) continue;
    const std::vector<Padding::Dim> positions = viewer.positions(w, &box);
    std::vector<Positions> &dims = reads[window.of];
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::int64_t extent = given[window.of].extents[d];
      // A gather in an array with borders has a copy of all of it.
      if (!window.forms[d].indices.empty() || (window.is_gather() && !window.pads.empty()))
        add(dims[d], 0, extent);
      else
        add_positions(dims[d], window, d, extent, positions[d]);
    }
  }
  // An input that lacks a position along one dim has none.
  for (std::vector<Positions> &dims : reads)
    if (std::ranges::any_of(dims, [](const Positions &reach) { return reach.begin == reach.end; }))
      std::ranges::fill(dims, Positions{});
  return reads;
}

} // namespace broadloom::kernel

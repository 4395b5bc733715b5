// Extents node by node; see shapes.hpp.
#include "reference/shapes.hpp"

#include "reference/windows.hpp"

#include "support/check.hpp"

namespace broadloom::reference {

using expr::AxisSet;
using expr::NodeId;
using expr::NodeKind;

namespace {

class ShapeFinder {
public:
  ShapeFinder(const spec::TypedSpec &spec, std::span<const Layout> inputs)
      : spec_(spec), inputs_(inputs), axes_(spec.axes.size()) {}

  Shapes run() {
    support::check(inputs_.size() == spec_.given_inputs(), "one layout for each input");
    Extents labels(axes_); // what labelled dims say, throughout the kernel
    for (std::size_t i = 0; i < inputs_.size(); ++i) check_declared(i);
    windows_ = window_extents(spec_, inputs_);
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      const Extents given = spec_.inputs[i].window ? extents_of_window(i) : extents_of_input(i);
      for (std::size_t a = 0; a < axes_; ++a)
        if (spec_.inputs[i].labelled && !meets(labels[a], given[a]))
          spec::fail_extents(spec_, labels[a].origin, given[a].origin, spec_.inputs[i].where);
      of_input_.push_back(given);
    }
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n)
      of_node_.push_back(extents_of_node(NodeId{n}));
    check_likes();
    // Extents that disagree are told first, wherever they meet.
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n) check_node(NodeId{n});
    std::vector<std::int64_t> counts(spec_.graph.size(), 0);
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n)
      if (spec_.graph[NodeId{n}].kind == NodeKind::Extent) counts[n] = points(counted(NodeId{n}));
    return {std::move(of_node_), std::move(counts)};
  }

private:
  static std::int64_t points(const Extents &extents) {
    for (const Extent &e : extents)
      if (e.count == 0) return 0;
    std::int64_t product = 1; // no more than the points of a node that has these extents
    for (const Extent &e : extents) product *= e.count;
    return product;
  }

  void check_declared(std::size_t i) const {
    const spec::TypedInput &in = spec_.inputs[i];
    const Layout &given = inputs_[i];
    if (std::size_t(given.rank) != in.axis_of_dim.size())
      throw ShapeError("E0101",
                       "'" + in.name + "' is declared with " +
                           std::to_string(in.axis_of_dim.size()) + " dims, the array has " +
                           std::to_string(given.rank),
                       in.where, "pass an array of the declared rank");
    for (std::size_t d = 0; d < in.axis_of_dim.size(); ++d) {
      const std::int64_t declared = in.extents[d];
      if (declared >= 0 && declared != given.extents[d])
        throw ShapeError("E0102",
                         "axis " + std::to_string(d) + " of '" + in.name + "' is declared with " +
                             std::to_string(declared) + " elements, the array has " +
                             std::to_string(given.extents[d]),
                         in.where, "pass an array of the declared extents");
    }
  }

  Extents extents_of_input(std::size_t i) const {
    const spec::TypedInput &in = spec_.inputs[i];
    Extents extents(axes_);
    for (std::size_t d = 0; d < in.axis_of_dim.size(); ++d) {
      const std::int64_t count = inputs_[i].extents[d];
      extents[std::size_t(in.axis_of_dim[d])] = {
          count, count != 1 || !in.may_stretch[d], {i, d, count}};
    }
    return extents;
  }

  Extents extents_of_window(std::size_t i) const {
    const spec::TypedWindow &window = *spec_.inputs[i].window;
    const std::vector<int> &axes = spec_.inputs[i].axis_of_dim;
    Extents extents(axes_);
    for (std::size_t d = 0; d < axes.size(); ++d) {
      if (!window.derived) {
        const std::int64_t count = windows_[std::size_t(axes[d])];
        extents[std::size_t(axes[d])] = {count, true, {i, d, count}};
        continue;
      }
      const spec::TypedWindow::ExtentOf &from = window.extents[d];
      const std::int64_t count = from.number >= 0 ? from.number
                                 : from.axis >= 0
                                     ? windows_[std::size_t(from.axis)]
                                     : inputs_[from.input].extents[std::size_t(from.dim)];
      const bool rigid = count != 1 || !spec_.inputs[i].may_stretch[d];
      extents[std::size_t(axes[d])] = {count, rigid, {i, d, count}};
    }
    return extents;
  }

  // A 1 that may stretch gives way; two rigid extents must be equal.
  // The place is found only when it is needed: it holds a line of the source, which may be a long
  // one.
  bool meets(Extent &into, const Extent &other) const {
    if (!other.rigid) return true;
    if (into.rigid && into.count != other.count) return false;
    if (!into.rigid) into = other;
    return true;
  }
  void meet(Extent &into, const Extent &other, NodeId at) const {
    if (!meets(into, other)) spec::fail_extents(spec_, into.origin, other.origin, spec_.where(at));
  }

  Extents extents_of_node(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    const auto args = spec_.graph.args(id);
    Extents extents(axes_);
    switch (node.kind) {
    case NodeKind::Literal: break;
    case NodeKind::Input: return of_input_[node.payload];
    case NodeKind::Op:
    case NodeKind::Cast:
    case NodeKind::Expand:
      for (NodeId arg : args)
        for (std::size_t a = 0; a < axes_; ++a)
          if (node.axes.has(int(a))) meet(extents[a], of_node_[arg.index][a], id);
      break;
    case NodeKind::Index:
      for (NodeId arg : args)
        for (std::size_t a = 0; a < axes_; ++a)
          if (node.axes.has(int(a))) meet(extents[a], of_node_[arg.index][a], id);
      break;
    case NodeKind::Extent: counted(id); break; // a scalar; what it counts must agree
    case NodeKind::Fold:
    case NodeKind::Scan: {
      if (is_sum_through_gather(spec_, node))
        return of_input_[spec_.summed_through(node)->window->of];
      const Extents met = of_args(id);
      for (std::size_t a = 0; a < axes_; ++a)
        if (node.kind == NodeKind::Scan || !is_folded(node, met, a)) extents[a] = met[a];
      break;
    }
    }
    return extents;
  }

  // The common extents of all that a fold reads.
  Extents of_args(NodeId id) const {
    Extents extents(axes_);
    for (NodeId arg : spec_.graph.args(id))
      for (std::size_t a = 0; a < axes_; ++a) meet(extents[a], of_node_[arg.index][a], id);
    return extents;
  }

  // The extents that an Extent multiplies, 1 on other axes.
  Extents counted(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    Extents extents(axes_);
    for (NodeId arg : spec_.graph.args(id))
      for (std::size_t a = 0; a < axes_; ++a)
        if (is_folded(node, of_node_[arg.index], a)) meet(extents[a], of_node_[arg.index][a], id);
    return extents;
  }

  bool is_folded(const expr::Node &node, const Extents &arg, std::size_t axis) const {
    if (node.folded.has(int(axis))) return true;
    bool all_one = node.like.given();
    for (const std::uint32_t i : spec_.graph.like(node))
      all_one = all_one && of_input_[i][axis].count == 1;
    return all_one && arg[axis].count != 1;
  }

  void check_likes() const {
    for (const spec::TypedOutput &out : spec_.outputs)
      for (std::size_t a = 0; a < axes_; ++a) {
        const Extent *longest = nullptr; // of all that it is like
        for (const std::uint32_t i : out.like)
          if (spec_.inputs[i].axes().has(int(a)) && (longest == nullptr || longest->count == 1))
            longest = &of_input_[i][a];
        const Extent &given = of_node_[out.value.index][a];
        if (longest != nullptr && given.count != longest->count)
          spec::fail_like(spec_, out, given.origin, longest->origin);
      }
  }

  void check_node(NodeId id) const {
    const expr::Node &node = spec_.graph[id];
    const Extents &extents = of_node_[id.index];
    double points = 1;
    for (const Extent &e : extents) points *= double(e.count);
    if (points > 0x1p62)
      throw ShapeError("E0112", "the iteration space has more than 2^62 points", spec_.where(id),
                       "fold or slice the operands first");
    if (node.kind != NodeKind::Fold || !spec_.graph.recipe(id).needs_value || points == 0) return;
    if (!spec_.graph.start_args(id).empty()) return;
    for (const Extent &e : of_args(id))
      if (e.count == 0)
        throw DataError("E0307", spec_.graph.recipe(id).name + " of no elements has no value",
                        spec_.where(id),
                        "give the folded axes at least one element, or min and max a value to "
                        "begin with: init=e");
  }

  const spec::TypedSpec &spec_;
  std::span<const Layout> inputs_;
  std::size_t axes_;
  std::vector<Extents> of_input_, of_node_;
  std::vector<std::int64_t> windows_; // [axis]
};

} // namespace

Shapes shapes_of(const spec::TypedSpec &spec, std::span<const Layout> inputs) {
  return ShapeFinder(spec, inputs).run();
}

std::vector<std::int64_t> shape_of(const spec::TypedOutput &out,
                                   const std::vector<Extents> &extents) {
  std::vector<std::int64_t> shape;
  for (int axis : out.axes) shape.push_back(extents[out.value.index][std::size_t(axis)].count);
  return shape;
}

} // namespace broadloom::reference

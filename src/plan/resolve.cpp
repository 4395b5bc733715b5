// Which dims share an extent, and is that extent the same everywhere?
//
// Extents are local to an expression: two outputs may use axis 0 with different extents as long as
// no operation brings them together. So an axis of the iteration space is split into classes. Every
// input dim larger than 1 starts a class of its own (dims with one label share it); an operation
// joins the classes of its arguments; a fold drops classes. A dim of extent 1 that may stretch
// belongs to
// none: its value simply does not vary. Example, order f: x[5, 1] + y[3] has classes {0: 5} and {1:
// 3}.
//
// Joining two classes of different extents is the user's shape error, reported where it happens.
#include "plan/request.hpp"

#include "support/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace broadloom::plan {
namespace {

using expr::AxisSet;
using expr::NodeId;
using expr::NodeKind;
using MaybeClass = std::optional<ClassId>;

class Resolver {
public:
  Resolver(const spec::TypedSpec &spec, std::span<const Layout> inputs,
           const std::vector<bool> &wanted)
      : spec_(spec), inputs_(inputs), needed_(needed_nodes(spec, wanted)),
        axis_count_(int(spec.axes.size())) {}

  Resolved run() {
    check_ranks();
    seed_inputs();
    resolved_.class_of_axis.assign(spec_.graph.size() * std::size_t(axis_count_), std::nullopt);
    resolved_.folded.assign(spec_.graph.size(), AxisSet());
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n) visit(NodeId{n});
    check_likes();
    number_classes();
    shape_outputs();
    check_sizes();
    check_empty_folds();
    return std::move(resolved_);
  }

private:
  using Origin = spec::DimExtent; // the input dim that gave a class its extent

  void check_ranks() const {
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      const spec::TypedInput &in = spec_.inputs[i];
      const int declared = int(in.axis_of_dim.size());
      if (inputs_[i].rank != declared)
        throw ShapeError("E0101",
                         fmt::format("'{}' is declared with {} dim{}, the array given has {}",
                                     in.name, declared, declared == 1 ? "" : "s", inputs_[i].rank),
                         in.where, "pass an array of the declared rank, or change the declaration");
      for (int d = 0; d < declared; ++d)
        if (in.extents[d] >= 0 && inputs_[i].extents[d] != in.extents[d])
          spec::fail_declared_extent(in, d, inputs_[i].extents[d]);
    }
  }

  // Each dim of each input gets its class. A dim of extent 1 has none where it may stretch;
  // elsewhere it keeps a class of extent 1 so that meeting a larger one is noticed.
  void seed_inputs() {
    std::vector<MaybeClass> label_class(axis_count_);
    resolved_.axis_count = axis_count_;
    resolved_.input_classes.resize(spec_.inputs.size());
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      const spec::TypedInput &in = spec_.inputs[i];
      for (std::size_t d = 0; d < in.axis_of_dim.size(); ++d) {
        const int axis = in.axis_of_dim[d];
        const std::int64_t extent = inputs_[i].extents[d];
        MaybeClass id;
        if (extent != 1 || !in.may_stretch[d]) {
          MaybeClass &shared = label_class[axis];
          if (in.labelled && shared) {
            id = shared;
            if (extents_[id->index] != extent)
              spec::fail_extents(spec_, origins_[id->index], {i, d, extent}, in.where);
          } else {
            id = new_class({i, d, extent}, axis);
            if (in.labelled) shared = id;
          }
        }
        resolved_.input_classes[i].push_back(id);
      }
    }
  }

  ClassId new_class(Origin origin, int axis) {
    extents_.push_back(origin.extent);
    origins_.push_back(origin);
    axes_.push_back(axis);
    parent_.push_back(ClassId{std::uint32_t(parent_.size())});
    return parent_.back();
  }

  ClassId find(ClassId id) {
    while (parent_[id.index] != id) id = parent_[id.index] = parent_[parent_[id.index].index];
    return id;
  }

  MaybeClass join(MaybeClass one, MaybeClass other, NodeId at) {
    if (!one) return other;
    if (!other) return one;
    const ClassId a = find(*one), b = find(*other);
    if (a == b) return a;
    if (extents_[a.index] != extents_[b.index])
      spec::fail_extents(spec_, origins_[a.index], origins_[b.index], spec_.where(at));
    return parent_[std::max(a, b).index] = std::min(a, b);
  }

  MaybeClass &slot(NodeId id, int axis) {
    return resolved_.class_of_axis[std::size_t(id.index) * axis_count_ + axis];
  }

  bool varies(MaybeClass id) { return id && extents_[find(*id).index] != 1; }

  void visit(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    const auto args = spec_.graph.args(id);
    switch (node.kind) {
    case NodeKind::Literal: return;
    case NodeKind::Input: {
      const spec::TypedInput &in = spec_.inputs[node.payload];
      for (std::size_t d = 0; d < in.axis_of_dim.size(); ++d)
        slot(id, in.axis_of_dim[d]) = resolved_.input_classes[node.payload][d];
      return;
    }
    case NodeKind::Op:
    case NodeKind::Cast:
    case NodeKind::Expand:
      for (int axis = 0; axis < axis_count_; ++axis)
        for (NodeId arg : args)
          if (node.axes.has(axis) && spec_.graph[arg].axes.has(axis))
            slot(id, axis) = join(slot(id, axis), slot(arg, axis), id);
      return;
    case NodeKind::Index:
      for (int axis = 0; axis < axis_count_; ++axis)
        for (NodeId arg : args)
          if (node.axes.has(axis)) slot(id, axis) = join(slot(id, axis), slot(arg, axis), id);
      return;
    case NodeKind::Extent:
      resolved_.folded[id.index] = folded_axes(id);
      for (int axis = 0; axis < axis_count_; ++axis) {
        MaybeClass met;
        if (resolved_.folded[id.index].has(axis))
          for (NodeId arg : args) met = join(met, slot(arg, axis), id);
      }
      return;
    case NodeKind::Fold:
    case NodeKind::Scan: {
      const AxisSet folded = folded_axes(id);
      AxisSet has;
      for (NodeId arg : spec_.graph.folded_args(id)) has = has | spec_.graph[arg].axes;
      resolved_.folded[id.index] = folded & has;
      for (int axis = 0; axis < axis_count_; ++axis) {
        MaybeClass met;
        for (NodeId arg : args)
          if (spec_.graph[arg].axes.has(axis)) met = join(met, slot(arg, axis), id);
        const bool keeps = node.kind == NodeKind::Scan && !node.total;
        if (keeps || !folded.has(axis)) slot(id, axis) = met;
      }
      return;
    }
    }
  }

  AxisSet folded_axes(NodeId id) {
    const expr::Node &node = spec_.graph[id];
    AxisSet folded = node.folded;
    const std::span<const std::uint32_t> like = spec_.graph.like(node);
    if (like.empty()) return folded;
    const NodeId arg = spec_.graph.args(id)[0]; // `like` comes with one argument
    AxisSet ones, varied;
    for (const std::uint32_t i : like)
      for (std::size_t d = 0; d < spec_.inputs[i].axis_of_dim.size(); ++d) {
        const int axis = spec_.inputs[i].axis_of_dim[d];
        AxisSet &known = varies(resolved_.input_classes[i][d]) ? varied : ones;
        known = known | AxisSet::of(axis);
      }
    for (int axis = 0; axis < axis_count_; ++axis)
      if ((ones - varied).has(axis) && varies(slot(arg, axis))) folded = folded | AxisSet::of(axis);
    return folded;
  }

  void check_likes() {
    for (const spec::TypedOutput &out : spec_.outputs) {
      std::map<int, Origin> wanted; // the common extents
      for (const std::uint32_t i : out.like)
        for (std::size_t d = 0; d < spec_.inputs[i].axis_of_dim.size(); ++d) {
          const Origin own{i, d, inputs_[i].extents[d]};
          const auto [known, fresh] = wanted.try_emplace(spec_.inputs[i].axis_of_dim[d], own);
          if (!fresh && known->second.extent == 1) known->second = own;
        }
      for (const auto &[axis, own] : wanted) {
        const MaybeClass met = slot(out.value, axis);
        if (!met) continue;
        const ClassId id = find(*met);
        if (extents_[id.index] != own.extent) spec::fail_like(spec_, out, origins_[id.index], own);
      }
    }
  }

  // Classes that turned out to be one class get one number; those of extent 1 vary no more than a
  // scalar.
  void number_classes() {
    std::vector<MaybeClass> number(parent_.size());
    // A dim that no expression walks, as of an input of which only windows are read, comes last
    // where names are given.
    std::vector<bool> walked(parent_.size());
    for (const MaybeClass &id : resolved_.class_of_axis)
      if (id) walked[find(*id).index] = true;
    std::vector<int> first(axis_count_, 0), rest(axis_count_, 0);
    for (std::uint32_t id = 0; id < parent_.size(); ++id)
      rest[axes_[id]] += walked[id] && extents_[id] != 1;
    for (std::uint32_t id = 0; id < parent_.size(); ++id) {
      if (find(ClassId{id}) != ClassId{id} || extents_[id] == 1) continue;
      number[id] = ClassId{std::uint32_t(resolved_.classes.size())};
      const int copy = ++(walked[id] ? first : rest)[axes_[id]];
      const std::string &axis = spec_.axes[axes_[id]].name;
      const std::string name = (axis[0] >= '0' && axis[0] <= '9') ? "i" + axis : axis;
      resolved_.classes.push_back(
          {copy == 1 ? name : fmt::format("{}_{}", name, copy), extents_[id], axes_[id]});
    }
    const auto renumber = [&](MaybeClass &id) {
      if (id) id = number[find(*id).index];
    };
    for (MaybeClass &id : resolved_.class_of_axis) renumber(id);
    for (auto &dims : resolved_.input_classes)
      for (MaybeClass &id : dims) renumber(id);
  }

  void shape_outputs() {
    for (const spec::TypedOutput &out : spec_.outputs) {
      auto &shape = resolved_.output_shapes.emplace_back();
      auto &classes = resolved_.output_classes.emplace_back();
      for (int axis : out.axes) {
        classes.push_back(slot(out.value, axis));
        shape.push_back(classes.back() ? resolved_[*classes.back()].extent : 1);
      }
    }
  }

  // Zero strides make huge iteration spaces out of nothing; their size must still be a number.
  void check_sizes() const {
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n) {
      double points = 1;
      for (int axis = 0; axis < axis_count_; ++axis) {
        const MaybeClass c = resolved_.class_of(NodeId{n}, axis);
        if (c) points *= double(resolved_[*c].extent);
      }
      if (points > double(std::int64_t(1) << 62))
        throw ShapeError("E0112", "the iteration space has more than 2^62 points",
                         spec_.where(NodeId{n}), "fold or slice the operands first");
    }
  }

  // min and max of nothing have no value; it matters only where a value is asked for.
  void check_empty_folds() {
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n) {
      const expr::Node &node = spec_.graph[NodeId{n}];
      if (!needed_[n] || node.kind != NodeKind::Fold ||
          !spec_.graph.recipe(NodeId{n}).needs_value || !spec_.graph.start_args(NodeId{n}).empty())
        continue;
      bool nothing = false, wanted = true;
      std::string axis_name;
      for (int axis = 0; axis < axis_count_; ++axis) {
        const auto extent = [&](NodeId id) {
          const MaybeClass c = slot(id, axis);
          return c ? resolved_[*c].extent : 1;
        };
        const auto args = spec_.graph.folded_args(NodeId{n});
        const bool none =
            std::any_of(args.begin(), args.end(), [&](NodeId arg) { return extent(arg) == 0; });
        if (resolved_.folded[n].has(axis) && none) {
          nothing = true;
          axis_name = spec_.axes[axis].name;
        } else if (node.axes.has(axis) && extent(NodeId{n}) == 0) {
          wanted = false;
        }
      }
      if (nothing && wanted)
        throw DataError(
            "E0307",
            fmt::format("{} over axis '{}' of 0 elements has no value",
                        spec_.graph.recipe(NodeId{n}).name, axis_name),
            spec_.where(NodeId{n}),
            "give the axis at least one element, or min and max a value to begin with: init=e");
    }
  }

  const spec::TypedSpec &spec_;
  std::span<const Layout> inputs_;
  std::vector<bool> needed_;
  int axis_count_;
  Resolved resolved_;
  std::vector<ClassId> parent_;
  std::vector<std::int64_t> extents_;
  std::vector<Origin> origins_;
  std::vector<int> axes_;
};

} // namespace

std::vector<ClassId> Resolved::counted_classes(const spec::TypedSpec &spec, NodeId extent) const {
  std::vector<ClassId> classes;
  for (int axis = 0; axis < axis_count; ++axis) {
    if (!folded[extent.index].has(axis)) continue;
    for (NodeId arg : spec.graph.args(extent)) {
      const std::optional<ClassId> cls = class_of(arg, axis);
      if (!cls) continue;
      classes.push_back(*cls);
      break;
    }
  }
  return classes;
}

std::optional<ClassId> Resolved::index_class(const spec::TypedSpec &spec, NodeId index) const {
  for (int axis = 0; axis < axis_count; ++axis)
    if (spec.graph[index].axes.has(axis)) return class_of(index, axis);
  return std::nullopt;
}

Resolved resolve(const spec::TypedSpec &spec, std::span<const Layout> inputs,
                 const std::vector<bool> &wanted) {
  support::check(inputs.size() == spec.inputs.size(), "resolve needs one layout per input");
  return Resolver(spec, inputs, wanted).run();
}

} // namespace broadloom::plan

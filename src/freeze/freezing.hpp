// Inside the freeze stage: one kernel, or one part of a kernel with lets that are arrays, from
// which values are taken out. See freeze.cpp.
#pragma once

#include "analysis/analyse.hpp"
#include "freeze/choose.hpp"
#include "spec/cut.hpp"
#include "spec/wishes.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::freeze {

using Decl = std::shared_ptr<const InputDecl>;
using Names = std::unordered_set<std::string>;

// What the parts of one kernel share: its lets that are arrays, and what reads them.
struct Shared {
  Names frozen;           // parameters
  bool has_parts = false; // which know each other's axes by the labels of the kernel's inputs only
  Names taken;            // names
  Names read;             // inputs that are read by what is left
  std::unordered_map<std::string, std::vector<Decl>>
      behind;             // [parameter]: those that were made of it
  std::vector<Decl> last; // whole outputs

  std::string fresh(const std::string &base) {
    for (int k = 1;; ++k)
      if (std::string name = base + "_" + std::to_string(k); taken.insert(name).second) return name;
  }
};

// Whether a kernel without some of its parameters has the axes of the one that it comes from.
class SameAxes {
public:
  explicit SameAxes(const spec::TypedSpec &typed) : typed_(typed) {}

  // Positions, the order of axes and of outputs' dims, and what gives windows their extents.
  // `fewer`: lets that it lacks.
  bool of(const SpecData &rest, std::size_t fewer = 0) const {
    try {
      const spec::TypedSpec after = analysis::analyse(rest);
      const auto names = [](const spec::TypedSpec &spec, const std::vector<int> &axes) {
        std::vector<std::string> list;
        for (const int axis : axes) list.push_back(spec.axes[std::size_t(axis)].name);
        return list;
      };
      for (std::size_t o = 0; o < after.outputs.size(); ++o)
        if (after.outputs[o].dtype != typed_.outputs[o].dtype ||
            names(after, after.outputs[o].axes) != names(typed_, typed_.outputs[o].axes))
          return false;
      if (after.materialised.size() + fewer != typed_.materialised.size()) return false;
      std::size_t k = 0;
      for (const auto &let : after.materialised) { // the arrays have their dims
        const spec::TypedSpec &now = let->typed;
        while (k < typed_.materialised.size() &&
               typed_.materialised[k]->typed.outputs[0].name != now.outputs[0].name)
          ++k;
        if (k == typed_.materialised.size()) return false;
        const spec::TypedSpec &before = typed_.materialised[k++]->typed;
        if (now.outputs[0].dtype != before.outputs[0].dtype ||
            names(now, now.outputs[0].axes) != names(before, before.outputs[0].axes) ||
            starts_of(*let) != starts_of(*typed_.materialised[k - 1]))
          return false;
      }
      const bool by_position = is_by_position();
      const std::vector<std::string> axes = counted_axes(typed_, by_position),
                                     left = counted_axes(after, by_position);
      std::size_t at = 0;
      for (const std::string &axis : axes) at += at < left.size() && left[at] == axis;
      const bool all = at == axes.size() && at == left.size();
      if (has_windows() && labels_of_inputs(typed_) != labels_of_inputs(after)) return false;
      if (!by_position) return all || (!has_windows() && at == left.size());
      return all && !has_windows() && !asks_extents();
    } catch (const Error &) {
      return false;
    }
  }

private:
  static std::vector<std::size_t> starts_of(const spec::Materialised &let) {
    return let.recurrence ? let.recurrence->start_dims : std::vector<std::size_t>();
  }
  // Those that have a position; the others go by the name of an array. Without dims that lie where
  // their number puts them (`by_position`) only axes of values count, not those of inputs that are
  // read by other names.
  static std::vector<std::string> counted_axes(const spec::TypedSpec &spec, bool by_position) {
    expr::AxisSet walked;
    for (std::uint32_t n = 0; n < spec.graph.size(); ++n) walked = walked | spec.graph[{n}].axes;
    std::vector<std::string> names;
    for (std::size_t axis = 0; axis < spec.axes.size(); ++axis)
      if (!spec.axes[axis].implied && (by_position || walked.has(int(axis))))
        names.push_back(spec.axes[axis].name);
    return names;
  }
  // Those that give axes of windows their extents.
  static std::set<std::string> labels_of_inputs(const spec::TypedSpec &spec) {
    expr::AxisSet of_windows;
    for (const spec::TypedInput &input : spec.inputs)
      if (input.window) of_windows = of_windows | input.axes();
    std::set<std::string> labels;
    for (const spec::TypedInput &input : spec.given())
      for (const int axis : input.axis_of_dim)
        if (const spec::Axis &known = spec.axes[std::size_t(axis)];
            input.labelled && !known.implied && of_windows.has(axis))
          labels.insert(known.name);
    return labels;
  }
  bool has_windows() const { return typed_.given_inputs() < typed_.inputs.size(); }
  // Are there unlabelled dims, which lie where the number of axes puts them?
  bool is_by_position() const {
    return std::ranges::any_of(typed_.inputs, [](const spec::TypedInput &input) {
      return !input.labelled && !input.axis_of_dim.empty();
    });
  }
  bool asks_extents() const {
    for (std::uint32_t n = 0; n < typed_.graph.size(); ++n) {
      const expr::NodeKind kind = typed_.graph[{n}].kind;
      if (kind == expr::NodeKind::Extent || kind == expr::NodeKind::Index) return true;
    }
    return false;
  }

  const spec::TypedSpec &typed_;
};

class Freezing {
public:
  // A kernel without calls, with all inputs declared.
  Freezing(SpecData data, Shared &shared)
      : data_(std::move(data)), typed_(analysis::analyse(data_)), facts_(data_, {}),
        shared_(shared) {
    for (const std::string &name : spec::names_of(data_)) shared_.taken.insert(name);
    spec::for_each_value(data_.outputs, [&](const Expr &value) { facts_.add(value); });
  }

  // The values that are computed once, and outputs that read them.
  void take_out() {
    std::vector<spec::Apart> apart;
    Chooser chooser(data_, typed_, facts_, shared_.frozen);
    for (const Chosen &chosen : chooser.run())
      if (!shared_.has_parts || chosen.like->labelled()) apart.push_back(taken_out(chosen));
    for (std::size_t o = 0; o < data_.outputs.size(); ++o)
      if (chooser.is_whole(o) && !shared_.has_parts && parameters_have_axes(o))
        apart.push_back(taken_whole(o));
    spec::Pieces pieces = spec::cut(data_, apart, "_frozen");
    rest_ = std::move(pieces.rest);
    computed_ = std::move(pieces.apart);
    computed_.axes
        .clear(); // of windows, which are not computed once; inputs that lend axes may be shorter
    computed_.inputs.clear(); // they all lend their axes
    for (const Decl &decl : data_.inputs)
      if (!decl->window && !decl->is_output) computed_.inputs.push_back(as_input(decl));
    list_axes();
    const spec::NamesRead names = spec::names_read(rest_);
    shared_.read.insert(names.read.begin(), names.read.end());
    for (const Decl &decl : data_.inputs)
      if (names.called.contains(decl->name))
        for (const std::string &name : spec::names_in(*decl)) shared_.read.insert(name);
  }

  // When this was done for all parts: the inputs that are left, and those that were computed.
  void declare() {
    rest_.inputs.clear();
    for (const Decl &decl : data_.inputs) {
      const bool is_read = shared_.read.count(decl->name) != 0;
      const bool stays = shared_.frozen.count(decl->name) == 0 || is_read;
      if (stays && (!decl->window || is_read)) rest_.inputs.push_back(decl);
      if (stays && shared_.frozen.count(decl->name) != 0) built_in_.push_back(decl->name);
      for (const Decl &computed : shared_.behind[decl->name]) {
        rest_.inputs.push_back(computed);
        built_in_.push_back(computed->name);
      }
    }
    for (const Decl &computed : shared_.last) {
      rest_.inputs.push_back(computed);
      built_in_.push_back(computed->name);
    }
    spec::keep_wishes(rest_, data_.lets);
  }

  bool has_same_axes() const { return SameAxes(typed_).of(rest_); }
  const SpecData &computed() const { return computed_; }
  const SpecData &rest() const { return rest_; }
  const std::vector<std::string> &built_in() const { return built_in_; }

private:
  // Arrays lend their axes, as inputs that nothing reads.
  static Decl as_input(const Decl &decl) {
    if (!decl->is_let && !decl->materialised) return decl;
    auto input = std::make_shared<InputDecl>(*decl);
    input->is_let = input->materialised = false;
    return input;
  }

  AxisRef ref(int axis) const {
    const spec::Axis &known = typed_.axes[std::size_t(axis)];
    return known.labelled ? AxisRef(known.name) : AxisRef(axis);
  }

  std::shared_ptr<InputDecl> declare(const std::string &base, DType dtype, const Place &where) {
    auto decl = std::make_shared<InputDecl>();
    decl->name = shared_.fresh(base);
    decl->dtype = dtype;
    decl->role = InputRole::parameter;
    decl->where = where;
    return decl;
  }

  // A parameter in place of this value, right behind the one whose dims it has.
  spec::Apart taken_out(const Chosen &chosen) {
    const InputDecl &like = *chosen.like;
    const Place &where = chosen.value.node()->where;
    const auto decl = declare(like.name, facts_.dtype(chosen.value), where);
    const std::vector<int> axes = facts_.dims(like);
    std::vector<AxisRef> listed;
    for (const std::size_t d : chosen.dims) {
      decl->dims.push_back(like.dims[d].label.empty() ? Dim(":") : like.dims[d]);
      listed.push_back(ref(axes[d]));
      if (!like.labelled()) decl->axes.push_back(axes[d]);
    }
    if (!like.labelled() && !decl->dims.empty()) decl->placement = Placement::Axes;
    if (chosen.dims.size() == like.dims.size()) {
      decl->placement = like.placement;
      decl->axes = like.axes;
    }
    shared_.behind[like.name].push_back(decl);
    return {chosen.value, decl, std::move(listed)};
  }

  // What is repeated along an axis of another input has its elements only when that is there.
  bool parameters_have_axes(std::size_t o) const {
    expr::AxisSet known;
    for (const spec::TypedInput &input : typed_.inputs)
      if (shared_.frozen.count(input.name) != 0) known = known | input.axes();
    return std::ranges::all_of(typed_.outputs[o].axes, [&](int axis) { return known.has(axis); });
  }

  spec::Apart taken_whole(std::size_t o) {
    const OutputDecl &output = data_.outputs[o];
    const auto decl = declare(output.name, typed_.outputs[o].dtype, output.where);
    bool labelled = true;
    for (const int axis : typed_.outputs[o].axes)
      labelled = labelled && typed_.axes[std::size_t(axis)].labelled;
    for (const int axis : typed_.outputs[o].axes) {
      decl->dims.push_back(labelled ? Dim(typed_.axes[std::size_t(axis)].name) : Dim(":"));
      if (!labelled) decl->axes.push_back(axis);
    }
    if (!labelled) decl->placement = Placement::Axes;
    shared_.last.push_back(decl);
    return {output.value, decl, {}, o};
  }

  // Its inputs are others now, and so may be those of the least rank.
  void list_axes() {
    for (std::size_t o = 0; o < rest_.outputs.size(); ++o) {
      OutputDecl &output = rest_.outputs[o];
      if (output.mode.kind != ModeKind::reduce || output.has_axes ||
          !output.mode.use.like.empty() || output.update)
        continue;
      output.has_axes = true;
      for (const int axis : typed_.outputs[o].axes) output.axes.push_back(ref(axis));
    }
  }

  const SpecData data_;
  const spec::TypedSpec typed_;
  facts::Facts facts_;
  Shared &shared_;
  SpecData computed_, rest_;
  std::vector<std::string> built_in_;
};

} // namespace broadloom::freeze

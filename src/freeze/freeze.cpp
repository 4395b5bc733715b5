// See freeze.hpp: the two kernels, once it is known what is computed once (choose.hpp).
#include "freeze/freeze.hpp"

#include "expr/exchange.hpp"
#include "expr/window.hpp"
#include "freeze/choose.hpp"
#include "rewrite/expand.hpp"
#include "spec/declared.hpp"
#include "spec/materialise.hpp"

#include <algorithm>
#include <set>

namespace broadloom::freeze {

namespace {

using Decl = std::shared_ptr<const InputDecl>;
using Names = std::unordered_set<std::string>;

class Freezing {
public:
  Freezing(const SpecData &data, const std::vector<std::string> &names)
      : data_(with_inputs(data)), typed_(spec::analyse(data_)), facts_(data_, {}),
        frozen_(names.begin(), names.end()) {
    for (const Decl &decl : data_.inputs) taken_.insert(decl->name);
    for (const Expr &let : data_.lets) taken_.insert(let.node()->name);
    for (const OutputDecl &output : data_.outputs) {
      taken_.insert(output.name);
      facts_.add(output.value);
      for (const Expr &init : output.mode.use.init) facts_.add(init);
    }
  }

  Frozen run() {
    Frozen made;
    made.computed = made.rest = data_;
    made.computed.name += "_frozen";
    made.computed.outputs.clear();
    made.computed.lets.clear();
    std::erase_if(made.computed.inputs,
                  [](const Decl &decl) { return decl->window != nullptr || decl->is_output; });
    made.computed.schedule = {};
    made.computed.pairings.clear();
    Chooser chooser(data_, typed_, facts_, frozen_);
    for (const Chosen &chosen : chooser.run()) take_out(chosen, made);
    for (std::size_t o = 0; o < data_.outputs.size(); ++o)
      if (chooser.is_whole(o)) take_out_whole(o, made);
    put_together(made);
    if (!made.computed.outputs.empty() && same_axes(made.rest)) return made;
    made.computed.outputs.clear();
    made.rest = data_;
    made.built_in.clear();
    for (const Decl &decl : data_.inputs)
      if (frozen_.count(decl->name) != 0 && !decl->window) made.built_in.push_back(decl->name);
    return made;
  }

private:
  // Functions are written out, but for those with derivatives of their own.
  static SpecData with_inputs(const SpecData &data) {
    SpecData all = spec::expand_calls(data, spec::Calls::WithoutDerivatives);
    all.inputs = spec::declared_inputs(all);
    return all;
  }

  std::string fresh(const std::string &base) {
    for (int k = 1;; ++k)
      if (std::string name = base + "_" + std::to_string(k); taken_.insert(name).second)
        return name;
  }

  AxisRef ref(int axis) const {
    const spec::Axis &known = typed_.axes[std::size_t(axis)];
    return known.labelled ? AxisRef(known.name) : AxisRef(axis);
  }

  std::shared_ptr<InputDecl> declare(const std::string &base, DType dtype, const Place &where) {
    auto decl = std::make_shared<InputDecl>();
    decl->name = fresh(base);
    decl->dtype = dtype;
    decl->role = InputRole::parameter;
    decl->where = where;
    return decl;
  }

  // A parameter in place of this value, right behind the one whose dims it has.
  void take_out(const Chosen &chosen, Frozen &made) {
    const InputDecl &like = *chosen.like;
    const Place &where = chosen.value.node()->where;
    const auto decl = declare(like.name, facts_.dtype(chosen.value), where);
    const std::vector<int> axes = facts_.dims(like);
    OutputDecl output;
    for (const std::size_t d : chosen.dims) {
      decl->dims.push_back(like.dims[d].label.empty() ? Dim(":") : like.dims[d]);
      output.axes.push_back(ref(axes[d]));
      if (!like.labelled()) decl->axes.push_back(axes[d]);
    }
    if (!like.labelled() && !decl->dims.empty()) decl->placement = Placement::Axes;
    if (chosen.dims.size() == like.dims.size()) {
      decl->placement = like.placement;
      decl->axes = like.axes;
    }
    output.name = decl->name;
    output.has_axes = true;
    output.dtype = decl->dtype;
    output.value = chosen.value;
    output.where = where;
    made.computed.outputs.push_back(std::move(output));
    behind_[like.name].push_back(decl);
    const Expr read = make_input(decl, where);
    exchange_.put(chosen.value.node(), read);
    made.built_in.push_back(decl->name);
  }

  void take_out_whole(std::size_t o, Frozen &made) {
    OutputDecl &output = made.rest.outputs[o];
    const auto decl = declare(output.name, typed_.outputs[o].dtype, output.where);
    OutputDecl once = output;
    once.name = decl->name;
    once.dtype = decl->dtype;
    bool labelled = true;
    for (const int axis : typed_.outputs[o].axes)
      labelled = labelled && typed_.axes[std::size_t(axis)].labelled;
    for (const int axis : typed_.outputs[o].axes) {
      decl->dims.push_back(labelled ? Dim(typed_.axes[std::size_t(axis)].name) : Dim(":"));
      if (!labelled) decl->axes.push_back(axis);
    }
    if (!labelled) decl->placement = Placement::Axes;
    made.computed.outputs.push_back(std::move(once));
    last_.push_back(decl);
    output.mode = {};
    output.value = make_input(decl, output.where);
    made.built_in.push_back(decl->name);
  }

  // Outputs that read what was computed; the lets, inputs and wishes that are left.
  void put_together(Frozen &made) {
    SpecData &rest = made.rest;
    expr::Walker left;
    Names read, lets;
    const auto note = [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) lets.insert(node.name);
      if (node.kind == ExprKind::Input) note_read(*node.input, read);
      for (const std::string &name : node.of) note_read(name, read);
      if (node.use && !node.use->like.empty()) note_read(node.use->like, read);
    };
    for (std::size_t o = 0; o < rest.outputs.size(); ++o) {
      OutputDecl &output = rest.outputs[o];
      output.value = exchange_(output.value);
      for (Expr &init : output.mode.use.init) init = exchange_(init);
      // Its inputs are others now, and so may be those of the least rank.
      if (output.mode.kind == ModeKind::reduce && !output.has_axes &&
          output.mode.use.like.empty() && !output.update) {
        output.has_axes = true;
        for (const int axis : typed_.outputs[o].axes) output.axes.push_back(ref(axis));
      }
      left.walk(output.value.node(), note);
      for (const Expr &init : output.mode.use.init) left.walk(init.node(), note);
      if (!output.mode.use.like.empty()) note_read(output.mode.use.like, read);
    }
    rest.lets.clear();
    for (const Expr &let : data_.lets)
      if (lets.count(let.node()->name) != 0) rest.lets.push_back(exchange_(let));
    rest.inputs.clear();
    for (const Decl &decl : data_.inputs) {
      const bool stays = frozen_.count(decl->name) == 0 || read.count(decl->name) != 0;
      if (stays && (!decl->window || read.count(decl->name) != 0)) rest.inputs.push_back(decl);
      if (stays && frozen_.count(decl->name) != 0) made.built_in.push_back(decl->name);
      for (const Decl &computed : behind_[decl->name]) rest.inputs.push_back(computed);
    }
    rest.inputs.insert(rest.inputs.end(), last_.begin(), last_.end());
    keep_wishes(rest, lets);
  }

  void note_read(const InputDecl &decl, Names &read) const {
    read.insert(decl.name);
    for_each_read_by(decl, [&](const Decl &part) { read.insert(part->name); });
  }
  void note_read(const std::string &name, Names &read) const {
    for (const Decl &decl : data_.inputs)
      if (decl->name == name) note_read(*decl, read);
  }

  // Those about lets that are no more have come true.
  void keep_wishes(SpecData &rest, const Names &lets) const {
    const auto is_gone = [&](const std::string &name) {
      return lets.count(name) == 0 && std::ranges::any_of(data_.lets, [&](const Expr &let) {
               return let.node()->name == name;
             });
    };
    std::erase_if(rest.pairings, [&](const Pairing &p) { return is_gone(p.a) || is_gone(p.b); });
    for (const ScheduleClause &clause : rest.schedule.clauses())
      if (std::ranges::any_of(clause.names, is_gone)) {
        rest.schedule = {};
        break;
      }
  }

  // Positions, the order of axes and of outputs' dims, and what gives windows their extents.
  bool same_axes(const SpecData &rest) const {
    try {
      const spec::TypedSpec after = spec::analyse(rest);
      const auto names = [](const spec::TypedSpec &spec, const std::vector<int> &axes) {
        std::vector<std::string> list;
        for (const int axis : axes) list.push_back(spec.axes[std::size_t(axis)].name);
        return list;
      };
      for (std::size_t o = 0; o < after.outputs.size(); ++o)
        if (after.outputs[o].dtype != typed_.outputs[o].dtype ||
            names(after, after.outputs[o].axes) != names(typed_, typed_.outputs[o].axes))
          return false;
      if (after.materialised.size() != typed_.materialised.size()) return false;
      for (std::size_t k = 0; k < after.materialised.size(); ++k) { // the arrays have their dims
        const spec::TypedSpec &now = after.materialised[k]->typed;
        const spec::TypedSpec &before = typed_.materialised[k]->typed;
        if (now.outputs[0].name != before.outputs[0].name ||
            now.outputs[0].dtype != before.outputs[0].dtype ||
            names(now, now.outputs[0].axes) != names(before, before.outputs[0].axes))
          return false;
      }
      std::size_t at = 0;
      for (const spec::Axis &axis : typed_.axes)
        at += at < after.axes.size() && after.axes[at].name == axis.name;
      const bool all = at == typed_.axes.size() && at == after.axes.size();
      if (has_windows() && labels_of_inputs(typed_) != labels_of_inputs(after)) return false;
      if (!is_by_position()) return all || (!has_windows() && at == after.axes.size());
      return all && !has_windows() && !asks_extents();
    } catch (const Error &) {
      return false;
    }
  }

  // Those that give axes of windows their extents.
  static std::set<std::string> labels_of_inputs(const spec::TypedSpec &spec) {
    std::set<std::string> labels;
    for (const spec::TypedInput &input : spec.given())
      for (const int axis : input.axis_of_dim)
        if (input.labelled) labels.insert(spec.axes[std::size_t(axis)].name);
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

  const SpecData data_;
  const spec::TypedSpec typed_;
  grad::Facts facts_;
  const Names frozen_;
  Names taken_;
  std::unordered_map<std::string, std::vector<Decl>> behind_;
  std::vector<Decl> last_;
  expr::Exchange exchange_;
};

} // namespace

Frozen freeze(const SpecData &data, const std::vector<std::string> &names) {
  // Where lets are arrays, each is a kernel of its own, and nothing is taken out of them: the parameters are built in as they are. So they are
  // where a label is 1 in one input and more in another, as `j=1` allows: a value has no declaration that says which of both it is.
  const spec::TypedSpec typed = spec::analyse(data);
  const bool has_ones = std::ranges::any_of(typed.inputs, [](const spec::TypedInput &input) {
    return input.labelled && std::ranges::find(input.extents, 1) != input.extents.end();
  });
  if (has_ones || !typed.materialised.empty()) {
    Frozen made{data, data, {}};
    made.computed.outputs.clear();
    made.built_in = names;
    return made;
  }
  return Freezing(data, names).run();
}

} // namespace broadloom::freeze

// Inside the gradient stage: the gradient of a kernel whose lets are arrays, in the making
// (through_lets.hpp).
#pragma once

#include "analysis/analyse.hpp"
#include "expr/walk.hpp"
#include "expr/window.hpp"
#include "facts/facts.hpp"
#include "facts/substitute.hpp"
#include "facts/terms.hpp"
#include "grad/accumulator_names.hpp"
#include "grad/axis_order.hpp"
#include "grad/bounds.hpp"
#include "grad/rename_axes.hpp"
#include "grad/scans_first.hpp"
#include "grad/through_lets.hpp"
#include "grad/widen.hpp"
#include "spec/cut.hpp"
#include "spec/declared.hpp"
#include "spec/own_axis.hpp"
#include "support/fail.hpp"
#include "support/free_name.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::grad {

class ThroughLets {
public:
  ThroughLets(const SpecData &data, const spec::Split &split, const std::vector<std::string> &wrt,
              const GradientOptions &options, const GradientOf &gradient,
              const std::vector<std::string> &saved)
      : data_(data), split_(split), wrt_(wrt), options_(options), gradient_(gradient),
        lets_(spec::lets_by_name(data)), accumulators_(values_of(data)),
        taken_(spec::names_of(data)) {
    for (const auto &let : split.lets) array_names_.insert(let->data.outputs[0].name);
    name_starts();
    defined_ = lets_;
    for (const std::string &name : saved) take_as_input(name);
  }

  // `are_some`: other lets than those that are saved are read, too.
  SpecData run(bool are_some) {
    check_request();
    begin();
    for (std::size_t k = split_.lets.size(); k-- > 0;)
      if (const auto &loop = split_.lets[k]->recurrence; !loop)
        pull(*split_.lets[k]);
      else if (loop->first == k)
        pull_loop(k);
    add_zeros();
    for (const std::string &name : wrt_) add_output(name);
    if (options_.value)
      made_.outputs.insert(made_.outputs.begin(), data_.outputs.begin(), data_.outputs.end());
    if (are_some) read_saved_ones();
    list_lets();
    const auto is_there = [&](const InputDecl &window) {
      return std::ranges::all_of(spec::lets_read(window),
                                 [&](const std::string &let) { return is_listed(let); });
    };
    std::erase_if(windows_, [&](const auto &window) { return !is_there(*window); });
    const spec::Names named = spec::names_read(made_).called;
    for (const auto &input : data_.inputs) { // an axis of one that nothing names would be counted
      const bool needed = input->window && named.contains(input->name) && is_there(*input);
      if (needed && declared_.insert(input->name).second) windows_.push_back(input);
    }
    made_.inputs.insert(made_.inputs.end(), windows_.begin(), windows_.end());
    say_axes();
    compute_scans_first(made_, {}, name_saved_ones());
    analysis::analyse(made_); // the types that a clause meets are known only now
    return std::move(made_);
  }

  // Of the lets whose arrays are inputs (Policy::save) those of which elements are read.
  const std::vector<std::string> &saved_ones_read() const { return saved_read_; }

private:
  friend class ThroughLoop;
  using Names = std::unordered_map<std::string, std::string>;

  void pull_loop(std::size_t first); // through_loops.cpp
  void pull_apart(const spec::Materialised &let);

  // What a let begins with is a let, too.
  void name_starts() {
    for (const auto &let : split_.lets)
      if (let->recurrence && let->recurrence->start) {
        const spec::Materialised &begun = *split_.lets[*let->recurrence->start];
        const std::string &name = begun.data.outputs[0].name;
        const Expr &start = lets_.at(let->data.outputs[0].name).node()->args[1];
        taken_.insert(name);
        lets_.emplace(name, spec::let_of_start(begun.typed, name, start, start.node()->where));
      }
  }

  Place shown(const Place &where) const { return support::with_text(where, data_.source.get()); }

  void check_request() const {
    for (const std::string &name : wrt_)
      if (array_names_.contains(name))
        support::fail("E0003",
                      "there is no input '" + name + "' to take the gradient by: it is a let",
                      data_.where, "name inputs of kernel '" + data_.name + "'");
  }

  // The array of this let, computed by the forward kernel.
  void take_as_input(const std::string &name) {
    const auto let = std::ranges::find_if(
        split_.lets, [&](const auto &one) { return one->data.outputs[0].name == name; });
    const spec::TypedOutput &made = (*let)->typed.outputs[0];
    const Place &where = (*let)->data.outputs[0].where;
    // Of whose name windows are called until all are there.
    lets_.at(name) = make_input(spec::array_of(name, made.dtype, made.axes.size(), where), where);
    saved_lets_.push_back(name);
  }
  std::set<std::string> name_saved_ones(); // lets_gradient.cpp
  void read_saved_ones();

  std::string fresh(const std::string &name) { return support::fresh_name(name, taken_); }

  // The inputs asked about and the lets that a kernel reads, as far as something flows into them.
  std::vector<std::string> read_by(const SpecData &kernel) const {
    std::vector<std::string> names;
    std::unordered_set<std::string> seen;
    expr::Walker walker;
    const auto visit = [&](const ExprNode &node) {
      if (node.kind != ExprKind::Input) return;
      const InputDecl &whole = node.input->window ? *node.input->window->of : *node.input;
      const bool asked =
          whole.materialised || std::find(wrt_.begin(), wrt_.end(), whole.name) != wrt_.end();
      if (asked && is_continuous(whole.dtype) && seen.insert(whole.name).second)
        names.push_back(whole.name);
    };
    spec::for_each_value(kernel.outputs,
                         [&](const Expr &value) { walker.walk(value.node(), visit); });
    return names;
  }

  // Of inputs that only such lets read into which nothing flows: the rest does not read these, and
  // gives zeros.
  void add_zeros() {
    for (const std::string &name : wrt_) {
      if (into_.contains(name)) continue;
      GradientOptions options = options_;
      options.value = options.add = false;
      const SpecData zero = gradient_(split_.rest, {name}, options);
      collect(zero, spec::declared_inputs(split_.rest), {name}, {},
              [](const ExprNode &) { return Expr(); });
    }
  }

  // What the outputs send back, and what the whole takes from their gradient: its name and
  // settings, the cotangents of outputs.
  void begin() {
    std::vector<std::string> names = read_by(split_.rest);
    for (const std::string &name :
         wrt_) // mistakes among them are told, and what no kernel reads has a gradient, too
      if (std::find(names.begin(), names.end(), name) == names.end() && !is_read_by_a_let(name))
        names.push_back(name);
    GradientOptions options = options_;
    options.value = options.add = false;
    made_ = gradient_(split_.rest, names, options);
    made_.axes = data_.axes; // by the extents of lets, where these say them
    if (!options_.value) keep_counted(made_, split_);
    const Decls bounds = spec::declared_inputs(split_.rest);
    stay_inside_one_by_one(bounds);
    const Names axes = names_of_cotangents(made_.inputs);
    collect(made_, bounds, names, axes, [](const ExprNode &) { return Expr(); });
    made_.outputs.clear();
    std::erase_if(made_.inputs,
                  [](const auto &input) { return input->window || input->materialised; });
    for (auto &input : made_.inputs) {
      taken_.insert(input->name);
      for (const auto &whole : data_.inputs) // what the rest does not read, a let may
        if (input->is_idle && whole->name == input->name) input = whole;
      input = renamed(input, {axes, {}});
    }
  }

  void stay_inside_one_by_one(const Decls &bounds); // lets_gradient.cpp

  // The label of a cotangent would hold the axes of that name in all lets to its extent, where they
  // have their own: i in
  //
  //   let d = x[i + 1] - x[i]       one less than x
  //   out y = d[i + 1] - d[i]       two less, and so d_y : f64[i]
  //
  // Such an axis gets a name of its own, y_0.
  Names names_of_cotangents(const std::vector<std::shared_ptr<const InputDecl>> &inputs) {
    const std::unordered_set<std::string> declared = declared_labels();
    std::unordered_set<std::string> own;
    for (const auto &let : split_.lets) {
      for (const spec::Axis &axis : let->typed.axes)
        if (is_walked(let->typed, axis) && !declared.contains(axis.name)) own.insert(axis.name);
      // By these own_names() calls its dims, where d_h[h_0] beside x[h_0] may end before x does.
      for (const std::string &axis :
           spec::own_axes(let->data.outputs[0].name, let->typed.outputs[0].axes.size()))
        own.insert(axis);
    }
    Names names;
    for (const auto &input : inputs) {
      if (input->window || input->materialised || taken_.contains(input->name)) continue;
      for (std::size_t dim = 0; dim < input->dims.size(); ++dim)
        if (own.contains(input->dims[dim].label))
          names.try_emplace(input->dims[dim].label,
                            fresh_axis(input->name.substr(2) + "_" + std::to_string(dim)));
    }
    return names;
  }

  // By a label that something reads: of those that no number counts only windows do.
  static bool is_walked(const spec::TypedSpec &kernel, const spec::Axis &axis) {
    const auto at = int(&axis - kernel.axes.data());
    return axis.labelled &&
           (!axis.implied || std::ranges::any_of(kernel.inputs, [&](const auto &in) {
             return in.window && in.axes().has(at);
           }));
  }

  std::unordered_set<std::string> declared_labels() const {
    std::unordered_set<std::string> declared;
    for (const auto &input : data_.inputs)
      for (const Dim &dim : input->dims)
        if (!input->window) declared.insert(dim.label);
    return declared;
  }

  bool is_read_by_a_let(const std::string &name) const {
    return std::any_of(split_.lets.begin(), split_.lets.end(), [&](const auto &let) {
      const std::vector<std::string> names = read_by(let->data);
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  }

  // From what has flowed into a let to what it is made of.
  void pull(const spec::Materialised &let) {
    if (let.join) return pull_apart(let);
    const std::string &name = let.data.outputs[0].name;
    const std::vector<std::string> names = read_by(let.data);
    const auto flowed = into_.find(name);
    if (flowed == into_.end() || names.empty()) return;
    const Place &where = let.data.outputs[0].where;
    const Names axes = own_names(let);
    const std::vector<AffineForm> own =
        spec::own_positions(let.typed); // as it was called in the let
    if (own.size() < let.typed.outputs[0].axes.size())
      support::fail("E0607",
                    "let '" + name +
                        "' is read at positions and has an axis without a name, so nothing "
                        "can flow back through it",
                    shown(where),
                    "give the dims of its inputs labels, or read these at positions, too");
    std::vector<AxisRef> &listed = axes_into_[name];
    if (listed.empty())
      listed = axes_if_named(name, let.typed.outputs[0].axes.size(), flowed->second.value);
    const Expr cotangent = make_let(fresh("d_" + name), flowed->second.value, where, listed);
    cotangents_.push_back(cotangent);
    GradientOptions options = options_;
    options.value = options.add = false;
    options.of.clear();
    const SpecData pulled = gradient_(let.data, names, options);
    std::string seed; // the only input that the gradient has and the let has not
    for (const auto &input : pulled.inputs)
      if (!input->window &&
          std::find(let.data.inputs.begin(), let.data.inputs.end(), input) == let.data.inputs.end())
        seed = input->name;
    // Where the value of the let is asked for, the array has it.
    const Expr &array = lets_.at(name);
    const ExprNode *value = let.data.outputs[0].value.node();
    const bool holds = holds_once(let);
    const Expr whole = own.empty() ? array : make_window(array, own, where);
    collect(pulled, spec::declared_inputs(let.data), names, axes, [&](const ExprNode &node) {
      if (Expr held = holds ? held_in(whole, *value, node) : Expr(); held.node()) return held;
      if (node.kind != ExprKind::Input) return Expr();
      const InputDecl &decl = *node.input;
      if ((decl.window ? decl.window->of->name : decl.name) != seed) return Expr();
      return decl.window   ? spec::read_over_lets(cotangent, decl, lets_, node.where)
             : own.empty() ? cotangent
                           : make_window(cotangent, own, node.where);
    });
  }

  // Whether the array of a let has each element of its value once, and so stands for it: along an
  // axis that is listed with an extent, and that the value lacks, it has copies.
  static bool holds_once(const spec::Materialised &let) {
    const expr::Graph &graph = let.typed.graph;
    const spec::TypedOutput &output = let.typed.outputs[0];
    if (graph[output.value].kind != expr::NodeKind::Expand) return true;
    return graph[graph.operands(output.value)[0]].axes.contains(expr::AxisSet::of(output.axes));
  }

  // What the axes of a let are called in what flows back through it: those of the array by its
  // dims, h_0 and h_1 of h, and those that it folds by a name of their own where another kernel has
  // that, too, and it is no label of an input: u_h for u of h.
  Names own_names(const spec::Materialised &let) {
    const std::unordered_set<std::string> declared = declared_labels();
    std::unordered_set<std::string> others;
    add_axes(split_.rest, others);
    for (const auto &other : split_.lets)
      if (other.get() != &let) add_axes(other->data, others);
    const std::string &name = let.data.outputs[0].name;
    const std::vector<int> &dims = let.typed.outputs[0].axes;
    Names names;
    for (std::size_t a = 0; a < let.typed.axes.size(); ++a) {
      const spec::Axis &axis = let.typed.axes[a];
      if (!is_walked(let.typed, axis) || declared.contains(axis.name)) continue;
      const auto dim = std::find(dims.begin(), dims.end(), int(a));
      if (dim != dims.end())
        names[axis.name] = spec::own_axis(name, std::size_t(dim - dims.begin()));
      else if (others.contains(axis.name))
        say_as(axis.name, names[axis.name] = fresh_axis(axis.name + "_" + name), let.data.axes);
    }
    return names;
  }

  // `axis u < 2` holds for what u is called now, if that is walked in what is made.
  void say_as(const std::string &axis, const std::string &now, const Decls &of_let) {
    for (const Decls *all : {&data_.axes, &of_let})
      for (const auto &said : *all) {
        if (said->dims[0].label != axis) continue;
        said_.push_back(make_said("axis", {{now, said->said->of[0]}}, [&] { return said->where; }));
        return;
      }
  }
  void say_axes(); // lets_gradient.cpp

  std::string fresh_axis(const std::string &name) {
    if (axes_.empty()) {
      axes_ = declared_labels();
      add_axes(split_.rest, axes_);
      for (const auto &let : split_.lets) add_axes(let->data, axes_);
    }
    return support::fresh_name(name, axes_);
  }

  static void add_axes(const SpecData &kernel, std::unordered_set<std::string> &axes) {
    expr::Walker walker;
    for (const OutputDecl &output : kernel.outputs)
      walker.walk(output.value.node(), [&](const ExprNode &node) {
        if (node.kind == ExprKind::Input)
          for (const Dim &dim : node.input->dims) axes.insert(dim.label);
      });
  }

  // Adds what the outputs of the gradient of a kernel with these inputs are to what flows into the
  // inputs named, in order. Lets are lets again, and the cotangent of a let is what `seed` says.
  void collect(const SpecData &gradient, const Decls &bounds, const std::vector<std::string> &names,
               const Names &axes, const std::function<Expr(const ExprNode &)> &seed) {
    std::vector<Expr> values;
    Decls windows = gradient.inputs;
    for (const OutputDecl &output : gradient.outputs) values.push_back(output.value);
    values = accumulators_.own(values);
    for (Expr &value : values) value = with_bounds(value, bounds, windows);
    values = facts::exchange(values, [&](const ExprNode &node) {
      if (const Expr value = seed(node); value.node()) return value;
      if (node.kind == ExprKind::Extent || node.kind == ExprKind::Iota) return of_windows(node);
      return spec::over_lets(node, lets_);
    });
    Renaming renaming{axes, named_};
    for (const auto &input : windows)
      if (input->window) renaming.windows.push_back(input);
    if (!axes.empty()) values = renamed(values, renaming);
    for (std::size_t k = 0; k < names.size(); ++k) {
      // Nothing flows on from such a let, whatever slopes are behind it.
      if (array_names_.contains(names[k]) && is_nothing(gradient.outputs[k].value)) continue;
      const auto [known, fresh] = into_.try_emplace(names[k], gradient.outputs[k]);
      if (fresh)
        known->second.value = values[k];
      else
        known->second.value = facts::Terms(known->second.where).add(known->second.value, values[k]);
    }
    Decls all = std::move(windows);
    all.insert(all.end(), named_.begin(), named_.end());
    for (const auto &declared : all) {
      if (!declared->window) continue;
      const auto input = axes.empty() ? declared : renamed(declared, renaming);
      if (!declared_.insert(input->name).second) continue;
      windows_.push_back(spec::over_lets(input, lets_));
    }
  }

  // extent(h_0, of=h), of the kernel of a let, names a let here: extent(h_0, of=h[h_0, h_1]).
  Expr of_windows(const ExprNode &node) {
    std::vector<std::string> of = node.of;
    for (std::string &name : of) {
      if (!array_names_.contains(name)) continue;
      const auto let = std::ranges::find_if(
          split_.lets, [&](const auto &one) { return one->data.outputs[0].name == name; });
      const auto own = spec::own_axes(name, (*let)->typed.outputs[0].axes.size());
      named_.push_back(make_window(lets_.at(name), spec::along(own), node.where).node()->input);
      name = named_.back()->name;
    }
    if (of == node.of) return {};
    return with_of(node, node.axes[0], of);
  }

  // The lets that are needed, in the order in which they are computed: also those of which like=
  // names a window, and nothing else.
  void list_lets() {
    std::unordered_set<std::string> needed;
    std::unordered_map<std::string, std::set<std::string>> lets_of_window;
    std::vector<std::shared_ptr<const InputDecl>> windows = windows_;
    windows.insert(windows.end(), data_.inputs.begin(), data_.inputs.end());
    for (const auto &window : windows)
      if (std::set<std::string> read = spec::lets_read(*window); !read.empty())
        lets_of_window[window->name] = std::move(read);
    expr::Walker walker;
    const auto walk = [&](const Expr &root) {
      walker.walk(root.node(), [&](const ExprNode &node) {
        if (node.kind == ExprKind::Let) needed.insert(node.name);
        if (node.kind == ExprKind::Let && node.input) // `i < extent(h, 0)`
          for_each_extent(*node.input, [&](const AffineForm::Extent &extent) {
            needed.insert(name_of_array(extent.of));
          });
        if (reads_ahead(node) && node.input->window) needed.insert(node.input->window->of->name);
        const auto name = [&](const std::string &called) {
          const auto window = lets_of_window.find(called);
          if (window == lets_of_window.end())
            needed.insert(called);
          else
            for (const std::string &let : window->second)
              if (std::ranges::count(saved_lets_, let) == 0) needed.insert(let);
        };
        for (const std::string &of : node.of) name(of);
        if (node.use)
          for (const std::string &like : node.use->like) name(like);
      });
    };
    for (const OutputDecl &output : made_.outputs) walk(output.value);
    std::vector<Expr> all;
    for (const auto &let : split_.lets) all.push_back(defined_.at(let->data.outputs[0].name));
    all.insert(all.end(), cotangents_.begin(), cotangents_.end());
    std::vector<bool> listed(all.size());
    for (bool more = true; more;) {
      more = false;
      for (std::size_t k = all.size(); k-- > 0;) {
        if (listed[k] || !needed.contains(all[k].node()->name)) continue;
        more = listed[k] = true;
        walk(all[k]);
      }
    }
    for (std::size_t k = 0; k < all.size(); ++k)
      if (listed[k]) made_.lets.push_back(all[k]);
  }

  bool is_listed(const std::string &name) const {
    return std::any_of(made_.lets.begin(), made_.lets.end(),
                       [&](const Expr &let) { return let.node()->name == name; });
  }

  // The axes of an array, where what flows into it reads along some of them itself, as for an
  // extent: they would come in the order of that. Else none.
  std::vector<AxisRef> axes_if_named(const std::string &array, std::size_t rank,
                                     const Expr &value) const {
    const std::vector<std::string> own = spec::own_axes(array, rank);
    std::vector<AxisRef> axes(own.begin(), own.end());
    bool named = false;
    const auto note = [&](const InputDecl &decl) {
      for (const Dim &dim : decl.dims)
        for (const AxisRef &axis : axes)
          named = named || std::get<std::string>(axis.value()) == dim.label;
    };
    expr::Walker().walk(value.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Input) note(*node.input);
      for (const auto *decls : {&windows_, &data_.inputs})
        for (const auto &decl : *decls)
          if (std::ranges::count(node.of, decl->name) != 0) note(*decl);
    });
    return named && rank > 1 ? axes : std::vector<AxisRef>();
  }

  void add_output(const std::string &name) {
    OutputDecl output = into_.at(name);
    for (const auto &input : data_.inputs)
      if (input->name == name && !input->labelled() && !output.has_axes)
        output.axes = axes_if_named(name, input->dims.size(), output.value);
    output.has_axes = output.has_axes || !output.axes.empty();
    output.name = fresh("d_" + name);
    output.add = options_.add;
    made_.outputs.push_back(std::move(output));
  }

  const SpecData &data_;
  const spec::Split &split_;
  const std::vector<std::string> &wrt_;
  const GradientOptions &options_;
  const GradientOf &gradient_;
  spec::LetsByName lets_, defined_;     // arrays in what is made; those that are saved as they were
  std::vector<std::string> saved_lets_; // whose arrays are inputs
  std::vector<std::string> saved_read_;
  AccumulatorNames accumulators_;
  spec::Names taken_;
  std::unordered_set<std::string> array_names_, axes_;
  Decls said_;                                       // extents of axes that are called otherwise
  std::vector<Expr> cotangents_;                     // of lets, in order
  std::unordered_map<std::string, OutputDecl> into_; // what has flowed into an input or a let
  std::unordered_map<std::string, std::vector<AxisRef>>
      axes_into_; // of those whose axes have an order of their own
  std::unordered_set<std::string> declared_;
  std::vector<std::shared_ptr<const InputDecl>>
      named_; // windows of lets that loops name, as they are called in these
  std::vector<std::shared_ptr<const InputDecl>> windows_; // that like= and of= name
  SpecData made_;
};

} // namespace broadloom::grad

// See inline_kernel.hpp.
#include "analysis/inline_kernel.hpp"

#include "analysis/analyse.hpp"
#include "expr/array_named.hpp"
#include "expr/exchange.hpp"
#include "expr/held_lets.hpp"
#include "expr/join.hpp"
#include "expr/window.hpp"
#include "spec/cut.hpp"
#include "spec/definition.hpp"
#include "spec/expand.hpp"
#include "support/fail.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace broadloom::analysis {
namespace {

using expr::AxisSet;

[[noreturn]] void fail_call(const SpecData &callee, const Place &where, const std::string &why,
                            const std::string &help) {
  support::fail("E0052", "kernel '" + callee.name + "' cannot be called: " + why, where, help);
}

class Inlining {
public:
  Inlining(const SpecData &callee, const std::vector<Expr> &arguments,
           const std::vector<CallResult> &results, const Place &where)
      : callee_(spec::expand_calls(callee)), typed_(analyse(callee_)), results_(results),
        where_(where) {
    check_callable(callee, where);
    check(arguments.size());
    for (std::size_t i = 0; i < typed_.callers_inputs(); ++i) {
      inputs_.emplace(typed_.inputs[i].name, i);
      arguments_.push_back(array_of(arguments[i], i));
      labels_.push_back(labels_of(arguments_.back(), rank_of(i)));
    }
  }

  Inlined run() {
    name_axes();
    std::vector<Expr> results;
    for (std::size_t k = 0; k < results_.size(); ++k) {
      Expr value = expression_of(k);
      if (callee_.outputs[k].dtype) value = make_cast(*callee_.outputs[k].dtype, value, where_);
      std::vector<AxisRef> axes;
      if (results_[k].axes)
        axes.assign(results_[k].axes->begin(), results_[k].axes->end());
      else if (callee_.outputs[k].said)
        for (const int axis : typed_.outputs[k].axes) axes.emplace_back(names_[std::size_t(axis)]);
      LetLoop said;
      said.said = said_now(callee_.outputs[k].said, results_[k].name);
      results.push_back(make_let(results_[k].name, value, results_[k].where, axes, said));
    }
    for (const auto &axis : callee_.axes)
      if (renamed_.contains(axis->dims[0].label)) made_.axes.push_back(said_now(axis, "axis"));
    made_.first_result = made_.lets.size();
    made_.lets.insert(made_.lets.end(), results.begin(), results.end());
    return std::move(made_);
  }

private:
  [[noreturn]] void cannot_be_called(const std::string &why, const std::string &help) const {
    fail_call(callee_, where_, why, help);
  }

  void check(std::size_t arguments) const {
    const std::size_t inputs = typed_.callers_inputs(), outputs = callee_.outputs.size();
    if (arguments != inputs || results_.size() != outputs)
      support::fail("E0051",
                    "'" + callee_.name + "' has " + support::count(std::int64_t(inputs), "input") +
                        " and " + support::count(std::int64_t(outputs), "output") +
                        ", and is given " + support::count(std::int64_t(arguments), "argument") +
                        " and " + support::count(std::int64_t(results_.size()), "result"),
                    where_,
                    "give one argument for each input, and name one result for each output");
    for (std::size_t k = 0; k < results_.size(); ++k) {
      const auto &listed = results_[k].axes;
      const std::size_t rank = typed_.outputs[k].axes.size();
      if (listed && listed->size() != rank)
        support::fail("E0051",
                      "'" + results_[k].name + "' lists " +
                          support::count(std::int64_t(listed->size()), "dim") + ", and output '" +
                          typed_.outputs[k].name + "' of '" + callee_.name + "' has " +
                          std::to_string(rank),
                      results_[k].where, "list one axis for each dim");
    }
  }

  // What each output is without its mode.
  const spec::TypedSpec &values() {
    if (values_) return *values_;
    SpecData data = callee_;
    for (OutputDecl &output : data.outputs) {
      output.mode = {};
      output.has_axes = false;
      output.axes.clear();
    }
    return values_.emplace(analyse(data));
  }

  // An input or a let; of any other expression a let.
  Expr array_of(const Expr &argument, std::size_t input) {
    const ExprNode &node = *argument.node();
    if (node.kind == ExprKind::Let || (node.kind == ExprKind::Input && !node.input->window)) {
      if (node.kind == ExprKind::Input && node.input->dims.size() != rank_of(input))
        support::fail("E0051",
                      "'" + typed_.inputs[input].name + "' of '" + callee_.name + "' has " +
                          support::count(std::int64_t(rank_of(input)), "dim") + ", and '" +
                          node.input->name + "' has " +
                          support::count(std::int64_t(node.input->dims.size()), "dim"),
                      where_, "give it an array of that rank");
      return argument;
    }
    Expr let = make_let(results_[0].name + "_" + typed_.inputs[input].name, argument, node.where);
    made_.lets.push_back(let);
    return let;
  }
  std::size_t rank_of(std::size_t input) const { return typed_.inputs[input].axis_of_dim.size(); }

  // ---- axes

  void name_axes() {
    std::set<std::string> taken;
    names_.resize(typed_.axes.size());
    const auto give = [&](int axis, const std::string &name) {
      std::string &own = names_[std::size_t(axis)];
      if (own.empty() && !name.empty() && taken.insert(name).second) own = name;
    };
    for (std::size_t k = 0; k < results_.size(); ++k)
      for (std::size_t d = 0; results_[k].axes && d < results_[k].axes->size(); ++d)
        give(typed_.outputs[k].axes[d], (*results_[k].axes)[d]);
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      for (std::size_t d = 0; d < rank_of(i); ++d)
        if (is_walked(i, d)) give(typed_.inputs[i].axis_of_dim[d], labels_[i][d]);
    for (std::size_t k = 0; k < results_.size(); ++k)
      for (const int axis : typed_.outputs[k].axes)
        if (typed_.axes[std::size_t(axis)].labelled)
          give(axis, typed_.axes[std::size_t(axis)].name);
    for (std::size_t axis = 0; axis < names_.size(); ++axis)
      for (std::string name = own_name(typed_.axes[axis].name); names_[axis].empty(); name += "_")
        give(int(axis), name);
    for (std::size_t axis = 0; axis < names_.size(); ++axis)
      if (typed_.axes[axis].labelled) renamed_[typed_.axes[axis].name] = names_[axis];
  }

  // Of an axis that nobody else names, also one of a let that is an array.
  std::string own_name(const std::string &axis) const {
    const bool number = std::ranges::all_of(axis, [](char c) { return c >= '0' && c <= '9'; });
    return number ? results_[0].name + "_" + axis : axis + "_" + results_[0].name;
  }
  std::string renamed(const std::string &label) const {
    const auto found = renamed_.find(label);
    return found == renamed_.end() ? own_name(label) : found->second;
  }

  // A dim that is declared to be 1 is read at 0.
  bool is_walked(std::size_t input, std::size_t dim) const {
    return typed_.inputs[input].extents[dim] != 1;
  }

  // Of a let without dims those of its value, if that can be told of it alone: else it is an array
  // with dims of its own.
  static std::vector<std::string> labels_of(const Expr &array, std::size_t rank) {
    const Expr named = array_named(array);
    const ExprNode &node = *named.node();
    std::vector<std::string> labels(rank);
    if (node.kind == ExprKind::Input) {
      for (std::size_t d = 0; d < std::min(rank, node.input->dims.size()); ++d)
        labels[d] = node.input->dims[d].label;
    } else if (!node.axes.empty()) {
      for (std::size_t d = 0; d < std::min(rank, node.axes.size()); ++d)
        if (const auto *label = std::get_if<std::string>(&node.axes[d].value())) labels[d] = *label;
    } else if (const std::optional<spec::TypedSpec> typed = analysed_alone(array)) {
      const std::vector<int> &axes = typed->outputs[0].axes;
      for (std::size_t d = 0; d < rank && axes.size() == rank; ++d)
        if (const spec::Axis &axis = typed->axes[std::size_t(axes[d])]; axis.labelled)
          labels[d] = axis.name;
    }
    return labels;
  }

  // What is wrong with it is said where the caller is analysed.
  static std::optional<spec::TypedSpec> analysed_alone(const Expr &value) {
    SpecData data;
    data.outputs.emplace_back();
    data.outputs[0].name = "probed_value";
    data.outputs[0].value = value;
    try {
      return analyse(spec::expand_calls(data));
    } catch (const SpecError &) {
    } catch (const ShapeError &) {
    } catch (const DTypeError &) {
    }
    return std::nullopt;
  }

  AxisRef ref(const AxisRef &axis) const {
    if (const auto *label = std::get_if<std::string>(&axis.value())) return renamed(*label);
    const int position = std::get<int>(axis.value());
    const auto count = int(
        std::ranges::count(typed_.axes, false, &spec::Axis::implied)); // those that positions count
    return names_[std::size_t(position < 0 ? position + count : position)];
  }

  // ---- expressions

  Expr expression_of(std::size_t k) {
    const OutputDecl &output = callee_.outputs[k];
    const Mode &mode = output.mode;
    Expr value = moved(output.value, [&](const Expr &read, std::size_t input) {
      if (mode.kind != ModeKind::accumulate) return read;
      const AxisSet extra = typed_.inputs[input].axes() - AxisSet::of(typed_.outputs[k].axes);
      return extra.empty() ? read : folded(mode, read, extra);
    });
    if (mode.kind == ModeKind::broadcast && !mode.use.like.empty()) return repeated(k, value);
    if (mode.kind != ModeKind::reduce) return value;
    if (!mode.use.like.empty()) return folded(mode, value, {});
    const AxisSet extra =
        AxisSet::of(values().outputs[k].axes) - AxisSet::of(typed_.outputs[k].axes);
    return extra.empty() ? fold_of_one(k, value) : folded(mode, value, extra);
  }

  // `broadcast(like=x) e`: a sum like x that folds nothing.
  Expr repeated(std::size_t k, const Expr &value) {
    Mode mode;
    mode.use.accumulator = sum;
    mode.use.like = callee_.outputs[k].mode.use.like;
    return make_cast(typed_.outputs[k].dtype, folded(mode, value, {}), where_);
  }

  // An expression cannot say a fold along no axis, but of many accumulators it is the value itself.
  Expr fold_of_one(std::size_t k, const Expr &value) {
    if (!spec::keeps_one_element(callee_.outputs[k].mode.use))
      cannot_be_called("its output '" + typed_.outputs[k].name + "' reduces along no axis",
                       "leave the mode out, or keep fewer axes");
    const DType wanted = typed_.outputs[k].dtype;
    return values().outputs[k].dtype == wanted ? value : make_cast(wanted, value, where_);
  }

  Expr folded(const Mode &mode, const Expr &value, AxisSet axes) {
    FoldUse use = mode.use;
    for (Expr &init : use.init)
      init = moved(init, [](const Expr &read, std::size_t) { return read; });
    for (std::string &like : use.like) like = named(like);
    std::vector<AxisRef> refs;
    for (std::size_t axis = 0; axis < names_.size(); ++axis)
      if (axes.has(int(axis))) refs.emplace_back(names_[axis]);
    return make_fold(use, {value}, refs, value.node()->where);
  }

  // The expression over the arguments; `whole(read, input)` is what stands for a plain read of an
  // input.
  template <class Whole> Expr moved(const Expr &value, Whole whole) {
    expr::Exchange exchange;
    walker_roots_.push_back(value);
    return exchange.run(value, [&](const ExprNode &node) {
      if (++nodes_ > most_nodes || made_.lets.size() > most_lets)
        support::fail("E0013",
                      "kernel '" + callee_.name + "' is more than " + std::to_string(most_nodes) +
                          " operations or " + std::to_string(most_lets) + " lets, written out",
                      where_, "store results of kernels and read them in others");
      const auto arg = [&](std::size_t a) { return exchange(node.args[a]); };
      switch (node.kind) {
      case ExprKind::Input:
        if (node.input->window)
          return window(*node.input, lets_by_name(node, exchange.args_of(node)), node.where);
        return whole(read(inputs_.at(node.input->name), node.where), inputs_.at(node.input->name));
      case ExprKind::Fold:
      case ExprKind::Scan: {
        FoldUse use = *node.use;
        for (std::string &like : use.like) like = named(like);
        std::vector<AxisRef> axes;
        for (const AxisRef &axis : node.axes) axes.push_back(ref(axis));
        return with_use(node, std::move(use), exchange.args_of(node), std::move(axes));
      }
      case ExprKind::Extent:
      case ExprKind::Iota: {
        std::vector<std::string> of;
        for (const std::string &name : node.of) of.push_back(named(name));
        return with_of(node, ref(node.axes[0]), std::move(of));
      }
      case ExprKind::Let: return let(node, arg(0), node.args.size() > 1 ? arg(1) : Expr());
      case ExprKind::Join: {
        std::vector<Expr> parts = exchange.args_of(node);
        if (node.places) return make_join_at(std::move(parts), places(*node.places), node.where);
        const bool is_label = std::holds_alternative<std::string>(node.axes[0].value());
        return make_join(is_label ? ref(node.axes[0]) : node.axes[0], std::move(parts), node.stacks,
                         node.where);
      }
      case ExprKind::Literal:
      case ExprKind::Op:
      case ExprKind::Cast:
      case ExprKind::Parameter:
      case ExprKind::Call: return Expr();
      }
      return Expr();
    });
  }

  Expr let(const ExprNode &node, const Expr &value, Expr start) {
    Expr &made = lets_[&node];
    if (made.node()) return made;
    std::vector<AxisRef> axes;
    for (const AxisRef &axis : node.axes) axes.push_back(ref(axis));
    LetLoop loop = loop_of(node);
    loop.start = std::move(start);
    loop.said = said_now(loop.said, name_of_let(node.name));
    made = make_let(name_of_let(node.name), value, node.where, axes, loop);
    made_.lets.push_back(made);
    return made;
  }
  std::string name_of_let(const std::string &own) const { return results_[0].name + "_" + own; }

  // The extents of axes that `owner` says, by what it names now.
  std::shared_ptr<const InputDecl> said_now(const std::shared_ptr<const InputDecl> &said,
                                            const std::string &owner) {
    if (!said) return said;
    std::vector<SaidExtent> dims;
    for (std::size_t d = 0; d < said->dims.size(); ++d) {
      dims.push_back({renamed(said->dims[d].label), said->said->of[d]});
      exchange_extents(dims.back().extent, [&](const Expr &array) { return array_now(array); });
    }
    return make_said(owner, std::move(dims), [&] { return where_; });
  }

  JoinPositions places(const JoinPositions &positions) {
    JoinPositions made = positions;
    for (std::vector<AffineForm> &forms : made.of_parts)
      for (AffineForm &form : forms) {
        for (AffineForm::Term &term : form.terms) term.axis = renamed(term.axis);
        exchange_extents(form, [&](const Expr &array) { return array_now(array); });
      }
    for (auto &said : made.said) said = said_now(said, "part");
    return made;
  }

  // A plain read.
  Expr read(std::size_t input, const Place &where) const {
    const Expr &array = arguments_[input];
    std::vector<AffineForm> forms;
    bool own = true;
    for (std::size_t d = 0; d < rank_of(input); ++d) {
      AffineForm form;
      const int axis = typed_.inputs[input].axis_of_dim[d];
      if (is_walked(input, d)) form.terms.push_back({names_[std::size_t(axis)], 1});
      own = own && form.is_axis() && labels_[input][d] == form.terms[0].axis;
      forms.push_back(std::move(form));
    }
    const Expr made = own ? array : make_window(array, std::move(forms), where);
    const ExprNode &node = *array.node();
    const DType wanted = typed_.inputs[input].dtype;
    return node.kind == ExprKind::Input && node.input->dtype != wanted
               ? make_cast(wanted, made, where)
               : made;
  }

  // What has become of the lets that a read holds.
  using Lets = std::unordered_map<std::string, Expr>;
  static Lets lets_by_name(const ExprNode &read, const std::vector<Expr> &now) {
    Lets lets;
    for (std::size_t a = 0; a < now.size(); ++a) lets.emplace(read.args[a].node()->name, now[a]);
    return lets;
  }

  Expr window(const InputDecl &decl, const Lets &lets, const Place &where) {
    Window window = *decl.window;
    std::vector<Expr> held;
    for (AffineForm &form : window.forms) {
      for (AffineForm::Term &term : form.terms) term.axis = renamed(term.axis);
      exchange_extents(form, [&](const Expr &array) { return array_now(array); });
      exchange_elements(form, [&](const InputDecl &read) {
        const Expr now = this->window(read, lets, where);
        held.insert(held.end(), now.node()->args.begin(), now.node()->args.end());
        return now;
      });
    }
    if (!window.of->is_let)
      return holding(make_window_like(arguments_[inputs_.at(window.of->name)], window, where),
                     held);
    const auto let = lets.find(window.of->name); // none of one that is read ahead
    return holding(make_window_like(let != lets.end()
                                        ? let->second
                                        : make_ahead(name_of_let(window.of->name), where),
                                    window, where),
                   held);
  }

  Expr array_now(const Expr &array) {
    if (array.node()->kind == ExprKind::Input) return arguments_[inputs_.at(name_of_array(array))];
    const auto made = lets_.find(array.node());
    if (made == lets_.end())
      cannot_be_called("an option names a window with the extent of '" + name_of_array(array) + "'",
                       "write the axes instead");
    return made->second;
  }

  // What like= and of= call the input now.
  std::string named(const std::string &name) {
    Expr made;
    if (const auto input = inputs_.find(name); input != inputs_.end()) {
      made = read(input->second, where_);
      while (made.node()->kind == ExprKind::Cast) made = Expr(made.node()->args[0]);
      if (made.node()->kind == ExprKind::Let) // by its elements
        made = window_of_let(input->second);
    } else {
      for (const auto &decl : callee_.inputs)
        if (decl->name == name && decl->window && spec::lets_read(*decl).empty())
          made = window(*decl, {}, where_);
      if (!made.node())
        cannot_be_called("an option names '" + name + "'", "write the axes instead");
    }
    if (made.node()->input->window) made_.named.push_back(made.node()->input);
    return made.node()->input->name;
  }

  Expr window_of_let(std::size_t input) const {
    return make_window(arguments_[input], spec::along(labels_[input]), where_);
  }

  static constexpr std::size_t most_nodes = std::size_t(1) << 18, most_lets = 4096;

  const SpecData callee_;
  const spec::TypedSpec typed_;
  std::optional<spec::TypedSpec> values_;
  const std::vector<CallResult> &results_;
  const Place where_;
  std::unordered_map<std::string, std::size_t> inputs_;
  std::vector<Expr> arguments_; // inputs and lets
  std::vector<std::vector<std::string>>
      labels_;                     // of the dims of the arguments, where they have some
  std::vector<std::string> names_; // [axis of the callee]
  std::unordered_map<std::string, std::string> renamed_; // of labels
  std::unordered_map<const ExprNode *, Expr> lets_;
  std::vector<Expr> walker_roots_; // what is known by its address lives on
  Inlined made_;
  std::size_t nodes_ = 0; // visited
};

} // namespace

void check_callable(const SpecData &callee, const Place &where) {
  for (const auto &input : callee.inputs)
    if (input->role == InputRole::state)
      fail_call(callee, where, "'" + input->name + "' is a state", "make it an input");
  for (const OutputDecl &output : callee.outputs)
    if (output.add)
      fail_call(callee, where, "'" + output.name + "' adds to what is there",
                "write = and add in the caller");
}

Inlined inline_kernel(const SpecData &callee, const std::vector<Expr> &arguments,
                      const std::vector<CallResult> &results, const Place &where) {
  return Inlining(callee, arguments, results, where).run();
}

} // namespace broadloom::analysis

namespace broadloom {

std::vector<Expr> call(const LoopSpec &kernel, const std::vector<Expr> &arguments,
                       const std::vector<Called> &results, std::source_location where) try {
  std::vector<analysis::CallResult> named;
  for (const Called &result : results) {
    named.push_back({result.name, std::nullopt, place_of(where)});
    if (!result.axes.empty()) named.back().axes = result.axes;
  }
  const analysis::Inlined made =
      analysis::inline_kernel(kernel.data(), arguments, named, place_of(where));
  const std::string &name = kernel.data().name;
  if (!made.named.empty())
    support::fail("E0052",
                  "kernel '" + name + "' cannot be called: like= or of= names '" +
                      made.named[0]->name + "'",
                  place_of(where), "give the argument the labels of the results");
  if (!made.axes.empty())
    support::fail("E0052", "kernel '" + name + "' cannot be called: it says " + made.axes[0]->name,
                  place_of(where), "give the axis by an input, or write the call as a text");
  return {made.lets.begin() + std::ptrdiff_t(made.first_result), made.lets.end()};
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom

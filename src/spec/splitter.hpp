// Inside the analysis: a kernel on its way to kernels of its lets and of the rest
// (materialise.hpp).
#pragma once

#include "expr/exchange.hpp"
#include "expr/held_lets.hpp"
#include "expr/join.hpp"
#include "expr/window.hpp"
#include "spec/declared.hpp"
#include "spec/materialise.hpp"
#include "spec/walked.hpp"
#include "spec/wishes.hpp"
#include "support/fail.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::spec {

// The lets that a value needs as arrays, as far as the nearest of them: what these need is their
// own business.
using Names = std::set<std::string>;

class Splitter {
public:
  Splitter(const SpecData &data, const std::function<TypedSpec(const SpecData &)> &analyse,
           bool is_scheduled)
      : data_(data), analyse_(analyse), lets_(lets_by_name(data)), is_scheduled_(is_scheduled) {}

  std::optional<Split> run() {
    find();
    if (is_scheduled_) check_scheduled();
    if (wanted_.empty()) return std::nullopt;
    for (const std::vector<std::string> &together : in_order())
      together.size() == 1 && !loops_.contains(together[0]) ? materialise(together[0])
                                                            : materialise_loop(together);
    split_.rest = data_;
    split_.rest.lets.clear();
    for (auto &axis : split_.rest.axes) axis = of_arrays(axis);
    const Names elsewhere = lets_of_arrays_alone();
    for (const Expr &let : data_.lets)
      if (!wanted_.contains(let.node()->name) && !elsewhere.contains(let.node()->name) &&
          !reads_a_loop(let))
        split_.rest.lets.push_back(rewritten(let));
    for (OutputDecl &output : split_.rest.outputs) {
      output.value = rewritten(output.value);
      for (Expr &init : output.mode.use.init) init = rewritten(init);
      output.said = of_arrays(output.said);
    }
    declare(split_.rest);
    if (!is_scheduled_) keep_wishes(split_.rest, data_.lets); // it has no lets that are arrays
    return std::move(split_);
  }

private:
  using Circle = std::vector<std::string>; // lets that read each other
  using Circles = std::vector<Circle>;
  using Needs = std::unordered_map<std::string, Names>;

  struct Array {
    std::shared_ptr<const InputDecl> decl;
    std::vector<AffineForm> own; // its own axes as positions; none where these have no names
  };

  static const std::string *let_read(const InputDecl &decl) {
    return decl.window && decl.window->of->is_let ? &decl.window->of->name : nullptr;
  }

  // Which lets are read at positions, have their dims listed, or are parts of others.
  void find() {
    for (const auto &decl : data_.inputs)
      if (const Names lets = lets_read(*decl); !lets.empty()) {
        wanted_.insert(lets.begin(), lets.end());
        lets_of_window_[decl->name] = lets;
      }
    for (const auto &[name, let] : lets_)
      if (!let.node()->axes.empty()) wanted_.insert(name);
    for_each_node(data_, [&](const ExprNode &node) {
      for (const Expr &arg : node.args)
        if (node.kind == ExprKind::Join && arg.node()->kind == ExprKind::Let)
          wanted_.insert(arg.node()->name);
      for_each_extent_of_places(node, [&](const Expr &of) {
        if (of.node()->kind == ExprKind::Let) wanted_.insert(of.node()->name);
      });
      if (node.kind != ExprKind::Input) return;
      if (reads_ahead(node)) check_ahead(node);
      wanted_.merge(lets_read(*node.input));
    });
    for (const OutputDecl &output : data_.outputs)
      if (output.said) wanted_.merge(lets_read(*output.said));
    for (const auto &axis : data_.axes) wanted_.merge(lets_read(*axis));
    for (const auto &[name, let] : lets_)
      if (let.node()->input) wanted_.merge(lets_read(*let.node()->input));
    std::erase_if(wanted_, [&](const std::string &name) { return !lets_.contains(name); });
    for (const auto &[name, let] : lets_)
      if (!wanted_.contains(name) && let.node()->args.size() > 1) fail_no_loop(name);
  }

  void check_scheduled() const {
    for (const ScheduleClause &of : lets_of(data_.schedule))
      if (!wanted_.contains(of.names[0]))
        support::fail(
            "E0017",
            "let '" + of.names[0] + "' is no array: it is computed in the loops of what reads it",
            support::with_text(of.where, data_.source.get()),
            "list its dims, as in `let " + of.names[0] +
                "[i, j] = ..`, to have it computed first, or say it in `schedule { .. }`");
  }

  void check_ahead(const ExprNode &node) const {
    const std::string &name = let_called(node);
    const Place where = support::with_text(node.where, data_.source.get());
    if (!lets_.contains(name))
      support::fail("E0003", "there is no let '" + name + "'", where,
                    "what is read ahead by that name is to be among the lets of the kernel");
    if (!node.input->window)
      support::fail("E0028", "let '" + name + "' is read without positions before it is there",
                    where, "read it at an earlier position of one of its dims");
  }

  // Of a node that reads ahead.
  static const std::string &let_called(const ExprNode &node) {
    return node.input->window ? node.input->window->of->name : node.input->name;
  }

  [[noreturn]] void fail_no_loop(const std::string &name) const {
    const ExprNode &node = *lets_.at(name).node();
    support::fail("E0030", "let '" + name + "' does not read itself, and has a start",
                  support::with_text(node.where, data_.source.get()),
                  "leave `from` out, or list its dims and read it at an earlier position");
  }

  // Whether a let is a part of the step of one that reads itself: it is no value elsewhere.
  bool reads_a_loop(const Expr &let) const {
    bool found = false;
    walk_kernel(let, [&](const ExprNode &node) { found = found || reads_ahead(node); });
    return found;
  }

  // Those that arrays read, and no output: they are parts of these, with their extents, and at
  // `z[t + 1]` a loop may read an earlier step of another.
  Names lets_of_arrays_alone() const {
    Names lets;
    for (const std::string &array : wanted_)
      walk_kernel(lets_.at(array).node()->args[0], [&](const ExprNode &node) {
        if (node.kind == ExprKind::Let) lets.insert(node.name);
      });
    for_each_value(data_.outputs, [&](const Expr &value) {
      walk_kernel(value, [&](const ExprNode &node) {
        if (node.kind == ExprKind::Let) lets.erase(node.name);
      });
    });
    for (const ScheduleClause &clause : data_.schedule.clauses()) // which is told of them
      for (const std::string &name : clause.names) lets.erase(name);
    for (const Pairing &pairing : data_.pairings) {
      lets.erase(pairing.a);
      lets.erase(pairing.b);
    }
    return lets;
  }

  // Each after those that it needs; of several that could be next, the first by the order of
  // definition, then by name. Those that read each other are together.
  std::vector<std::vector<std::string>> in_order() {
    std::vector<std::string> left;
    for (const Expr &let : data_.lets)
      if (wanted_.contains(let.node()->name)) left.push_back(let.node()->name);
    for (const std::string &name : wanted_)
      if (std::find(left.begin(), left.end(), name) == left.end()) left.push_back(name);
    Needs needs;
    for (const std::string &name : left) {
      needs[name] = needed_by(lets_.at(name).node()->args[0]);
      if (const auto &said = lets_.at(name).node()->input) needs[name].merge(lets_read(*said));
    }
    std::unordered_map<std::string, std::size_t> circle_of;
    Circles circles = circles_of(left, needs);
    while (note_earlier_reads(circles, needs)) circles = circles_of(left, needs);
    for (const Circle &circle : circles) loops_.insert(circle.begin(), circle.end());
    for (const std::string &name : left) {
      const ExprNode &node = *lets_.at(name).node();
      if (!loops_.contains(name) && node.args.size() > 1) fail_no_loop(name);
      if (node.args.size() > 1) // the start is computed before
        for (const std::string &need : needed_by(node.args[1])) needs[name].insert(need);
    }
    circles = together(std::move(circles), needs);
    for (std::size_t c = 0; c < circles.size(); ++c)
      for (const std::string &name : circles[c]) circle_of[name] = c;
    std::vector<std::vector<std::string>> order;
    std::unordered_set<std::string> done;
    const auto all_with = [&](const std::string &name) {
      const auto circle = circle_of.find(name);
      return circle == circle_of.end() ? std::vector{name} : circles[circle->second];
    };
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), [&](const std::string &name) {
        const std::vector<std::string> all = all_with(name);
        return std::ranges::all_of(all, [&](const std::string &one) {
          return std::ranges::all_of(needs[one], [&](const auto &need) {
            return done.contains(need) || std::ranges::count(all, need) != 0;
          });
        });
      });
      // One that is like itself: what it names is not there yet, which is told.
      order.push_back(all_with(next == left.end() ? left.front() : *next));
      for (const std::string &name : order.back()) {
        done.insert(name);
        std::erase(left, name);
      }
    }
    return order;
  }

  // The lets that need each other, or themselves: such a circle goes through a read of what is not
  // there yet.
  Circles circles_of(const std::vector<std::string> &names, const Needs &needs) const {
    const auto reached_from = [&](const std::string &name) {
      Names reached;
      std::vector<std::string> open{name};
      while (!open.empty()) {
        const std::string one = std::move(open.back());
        open.pop_back();
        const auto needed = needs.find(one);
        if (needed == needs.end()) continue;
        for (const std::string &need : needed->second)
          if (reached.insert(need).second) open.push_back(need);
      }
      return reached;
    };
    Circles circles;
    Names known;
    for (const std::string &name : names) {
      if (known.contains(name) || !reads_a_loop(lets_.at(name).node()->args[0])) continue;
      const Names reached = reached_from(name);
      if (!reached.contains(name)) continue;
      Circle circle;
      for (const std::string &other : names)
        if (other == name || (reached.contains(other) && reached_from(other).contains(name)))
          circle.push_back(other);
      known.insert(circle.begin(), circle.end());
      circles.push_back(std::move(circle));
    }
    return circles;
  }

  // loops_together.cpp
  bool note_earlier_reads(const Circles &circles, Needs &needs) const;
  Circles together(Circles circles, const Needs &needs) const;

  // The reads of these lets that a value holds.
  std::vector<const ExprNode *> reads_of(const Expr &value, const Names &lets) const {
    std::vector<const ExprNode *> reads;
    walk_kernel(value, [&](const ExprNode &node) {
      const bool is_let = node.kind == ExprKind::Let && lets.contains(node.name);
      const std::string *window = nullptr;
      if (node.kind == ExprKind::Input) window = let_read(*node.input);
      const bool ahead = reads_ahead(node) && lets.contains(let_called(node));
      if (is_let || ahead || (window != nullptr && lets.contains(*window))) reads.push_back(&node);
    });
    return reads;
  }

  // Without what lets that are arrays are made of.
  template <class Visit> void walk_kernel(const Expr &root, Visit visit) const {
    expr::reach(root.node(), [&](const ExprNode &node) {
      visit(node);
      return node.kind != ExprKind::Input &&
             (node.kind != ExprKind::Let || !wanted_.contains(node.name));
    });
  }

  Names needed_by(const Expr &root) const {
    Names names;
    const auto name = [&](const std::string &called) {
      const auto window = lets_of_window_.find(called);
      if (window != lets_of_window_.end())
        names.insert(window->second.begin(), window->second.end());
      if (wanted_.contains(called)) names.insert(called);
    };
    walk_kernel(root, [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) name(node.name);
      for_each_extent_of_places(node, [&](const Expr &of) { name(name_of_array(of)); });
      if (node.kind == ExprKind::Input) names.merge(lets_read(*node.input));
      for (const std::string &of : node.of) name(of);
      if (node.use)
        for (const std::string &like : node.use->like) name(like);
    });
    for (const auto &axis : data_.axes)
      if (Names lets = lets_read(*axis); !lets.empty() && walks(root, axis->dims[0].label))
        names.merge(std::move(lets));
    return names;
  }

  bool walks(const Expr &value, const std::string &label) const {
    Names walked;
    walk_kernel(value, [&](const ExprNode &node) { note_walked(node, walked); });
    return walked.contains(label);
  }

  // The extents of axes that are said, by the lets so far. Of others only what comes behind them
  // can speak.
  std::vector<std::shared_ptr<const InputDecl>> axes_of(const Expr &value) const {
    std::vector<std::shared_ptr<const InputDecl>> axes;
    for (const auto &axis : data_.axes) {
      axes.push_back(of_arrays(axis));
      const Names ahead = lets_read(*axes.back());
      if (ahead.empty()) continue;
      axes.pop_back();
      if (const std::string &label = axis->dims[0].label; walks(value, label))
        support::fail("E0033",
                      "the extent of '" + label + "' is that of let '" + *ahead.begin() +
                          "', which needs it itself",
                      support::with_text(axis->where, data_.source.get()),
                      "say it by an array that is there before");
    }
    add_said_of_outputs(value, axes);
    return axes;
  }

  // In `out y[i, u < 3] = x[(k[i] + u) % 7]` the positions are a let, which only the output says
  // the extent of u to.
  void add_said_of_outputs(const Expr &value,
                           std::vector<std::shared_ptr<const InputDecl>> &axes) const {
    Names indices, given; // labels that are asked for alone, and those that something has
    walk_kernel(value, [&](const ExprNode &node) {
      note_walked(node, node.kind == ExprKind::Input ? given : indices);
    });
    for (const auto &axis : axes) given.insert(axis->dims[0].label);
    for (const OutputDecl &output : data_.outputs) {
      const auto said = of_arrays(output.said);
      if (!said || !lets_read(*said).empty()) continue; // of lets that are still to come
      for (std::size_t d = 0; d < said->dims.size(); ++d)
        if (const std::string &label = said->dims[d].label;
            indices.contains(label) && given.insert(label).second)
          axes.push_back(make_said("axis", {{label, said->said->of[d]}}, [&] {
            return support::with_text(output.where, data_.source.get());
          }));
    }
  }

  // The kernel of a let of that value.
  SpecData kernel_of(const std::string &name, Expr value, const Place &where,
                     const std::vector<AxisRef> &axes, std::shared_ptr<const InputDecl> said = {},
                     Order store = Order::none) const {
    SpecData data = data_; // with its settings; wishes are for the kernel itself
    data.name += "_" + name;
    data.axes = axes_of(value);
    data.schedule = {};
    data.pairings.clear();
    data.lets.clear();
    data.outputs.clear();
    OutputDecl output;
    output.name = name;
    output.value = std::move(value);
    output.where = where;
    output.axes = axes;
    output.has_axes = !axes.empty();
    output.said = std::move(said);
    output.store = store;
    data.outputs.push_back(std::move(output));
    declare(data);
    return data;
  }

  // With what the schedule says of it, if it is to be run. What derives from it knows no lets that
  // a clause could name.
  SpecData scheduled(SpecData data, const std::string &let) const {
    if (is_scheduled_) data.schedule = part_of(data_.schedule, let);
    return data;
  }

  bool asks_for(const std::string &let) const {
    return !part_of(data_.schedule, let).clauses().empty();
  }

  void materialise(const std::string &name) {
    const ExprNode &let = *lets_.at(name).node();
    std::optional<Join> join;
    const Expr &value = let.args[0];
    std::vector<AxisRef> axes = axes_listed(let);
    if (is_join(value)) join = join_of(let);
    if (join && join->stacks) axes.erase(axes.begin() + std::ptrdiff_t(join->dim));
    const bool has_positions = join && !join->positions.empty();
    if (has_positions) axes = value.node()->args[0].node()->axes; // those of its first part
    SpecData data = kernel_of(name, rewritten(join ? value.node()->args[0] : value), let.where,
                              axes, of_arrays(let.input), let.store);
    TypedSpec typed = join ? analyse_(data) : analyse_(scheduled(data, name));
    if (!join) check_dims(let, typed);
    if (join && asks_for(name))
      typed.notes.push_back(support::decide(
          support::Reason::WishNotMet, "schedule " + name, "no loops",
          "the schedule speaks of the loops of let '" + name +
              "', and it has none: it is made up of " + support::quoted_list(join->parts) +
              ", each computed by loops of its own"));
    if (join && join->stacks) add_axis(typed, value.node()->axes[0], join->dim);
    if (has_positions) typed.outputs[0].axes.clear();
    for (std::size_t dim = 0; has_positions && dim < let.axes.size(); ++dim)
      add_axis(typed, let.axes[dim], dim);
    add_array(name, typed, let.where);
    split_.lets.push_back(std::make_shared<const Materialised>(
        Materialised{std::move(data), std::move(typed), {}, join}));
  }

  Join join_of(const ExprNode &let);
  void check_label(const ExprNode &let, std::size_t joined, const PlaceOf &shown) const;
  std::vector<Join::Position> positions_of(const std::vector<AffineForm> &forms) const;
  std::uint32_t number_of(const std::string &array) const;

  // The dim along which arrays are stacked, which none of them has.
  static void add_axis(TypedSpec &typed, const AxisRef &axis, std::size_t dim) {
    const auto *label = std::get_if<std::string>(&axis.value());
    typed.outputs[0].axes.insert(typed.outputs[0].axes.begin() + std::ptrdiff_t(dim),
                                 int(typed.axes.size()));
    typed.axes.push_back({label ? *label : "", label != nullptr});
  }

  static std::shared_ptr<InputDecl> declared(const std::string &name, DType dtype, std::size_t rank,
                                             const Place &where) {
    auto decl = std::make_shared<InputDecl>();
    decl->name = name;
    decl->dtype = dtype;
    decl->where = where;
    decl->dims.assign(rank, Dim(":"));
    decl->materialised = true;
    return decl;
  }

  void add_array(const std::string &name, const TypedSpec &typed, const Place &where) {
    const TypedOutput &made = typed.outputs[0];
    Array array{declared(name, made.dtype, made.axes.size(), where), own_positions(typed)};
    if (const auto let = lets_.find(name);
        let != lets_.end() && names_its_dims(*let->second.node())) {
      array.own.clear();
      for (const AxisRef &axis : let->second.node()->axes)
        array.own.push_back({0, {{std::get<std::string>(axis.value()), 1}}, {}});
    }
    arrays_.emplace(name, std::move(array));
  }

  // `let s[t, p] = sum(e, like=x[t, i + u])` has the dims of x, which have no labels, and names
  // them. So do sums of such.
  bool names_its_dims(const ExprNode &let) const;
  // What its kernel lists.
  std::vector<AxisRef> axes_listed(const ExprNode &let) const {
    return names_its_dims(let) ? std::vector<AxisRef>() : let.axes;
  }
  void check_dims(const ExprNode &let, const TypedSpec &typed) const;

  void materialise_loop(const std::vector<std::string> &names);
  friend class LoopSplitter;
  friend class LoopsTogether;

  // The inputs: those of the kernel, the lets that are read or named, and the windows that are
  // named.
  void declare(SpecData &data) const {
    Names named, read;
    for_each_node(data, [&](const ExprNode &node) {
      named.insert(node.of.begin(), node.of.end());
      if (node.use) named.insert(node.use->like.begin(), node.use->like.end());
      if (node.kind != ExprKind::Input) return;
      read.insert(node.input->window ? node.input->window->of->name : node.input->name);
      read.merge(arrays_read(*node.input));
    });
    for (const OutputDecl &output : data.outputs) {
      named.insert(output.mode.use.like.begin(), output.mode.use.like.end());
      if (output.said) read.merge(arrays_read(*output.said));
    }
    for (const auto &axis : data.axes) read.merge(arrays_read(*axis));
    std::vector<std::shared_ptr<const InputDecl>> given, lent, windows;
    for (const auto &decl : data_.inputs) {
      if (decl->is_output) { // its shape is lent to the kernel that has this output
        for (const OutputDecl &output : data.outputs)
          if (output.name == decl->name) lent.push_back(decl);
        continue;
      }
      if (!decl->window) {
        const bool is_read = read.contains(decl->name) || named.contains(decl->name);
        given.push_back(is_read || decl->labelled() ? decl : idle(*decl));
        continue;
      }
      // Only where it is named: its axes have their extents by it. One that is read declares
      // itself.
      const Names lets = lets_read(*decl);
      if (!named.contains(decl->name) ||
          !std::ranges::all_of(lets, [&](const std::string &let) { return arrays_.contains(let); }))
        continue;
      read.insert(lets.begin(), lets.end());
      windows.push_back(lets.empty() ? decl : window_of(*decl, decl->where).node()->input);
    }
    for (const auto &decl : before_windows_)
      if (named.contains(decl->name)) {
        read.insert(decl->window->of->name);
        windows.push_back(decl);
      }
    for (const auto &materialised : split_.lets) {
      const std::string &name = materialised->data.outputs[0].name;
      if (read.contains(name) || named.contains(name)) given.push_back(arrays_.at(name).decl);
    }
    for (const auto &decl : before_) // of the loop that is being made
      if (read.contains(decl->name)) given.push_back(decl);
    data.inputs = std::move(given);
    data.inputs.insert(data.inputs.end(), lent.begin(), lent.end());
    data.inputs.insert(data.inputs.end(), windows.begin(), windows.end());
    // Axes come in the order in which windows are read, also where a later sum is like the second.
    const std::vector<std::shared_ptr<const InputDecl>> as_read = declared_inputs(data);
    std::erase_if(data.inputs,
                  [](const auto &decl) { return decl->window && !decl->window->is_whole; });
    for (const auto &decl : as_read)
      if (decl->window && !decl->window->is_whole) data.inputs.push_back(decl);
  }

  static std::shared_ptr<const InputDecl> idle(const InputDecl &decl) {
    auto made = std::make_shared<InputDecl>(decl);
    made->is_idle = true;
    return made;
  }

  // The arrays that are inputs now and whose extents or elements stand in the positions of a
  // window.
  static Names arrays_read(const InputDecl &decl) {
    Names names;
    for (const AffineForm &form : decl.window ? decl.window->forms : std::vector<AffineForm>())
      for (const AffineForm::Index &index : form.indices) {
        names.insert(index.read->window->of->name);
        names.merge(arrays_read(*index.read));
      }
    for_each_extent(
        decl, [&](const AffineForm::Extent &extent) { names.insert(name_of_array(extent.of)); });
    return names;
  }

  // What is said, by extents of the lets so far as inputs.
  std::shared_ptr<const InputDecl> of_arrays(const std::shared_ptr<const InputDecl> &said) const {
    return with_extents(said, [&](const Expr &of) {
      const auto array = arrays_.find(name_of_array(of));
      return array == arrays_.end() ? Expr() : make_input(array->second.decl, said->where);
    });
  }

  Expr window_of(const InputDecl &decl, const Place &where) const {
    InputDecl window = decl;
    Window seen = *decl.window;
    for (AffineForm &form : seen.forms) {
      exchange_extents(form, [&](const Expr &of) {
        const auto array = arrays_.find(name_of_array(of));
        return array == arrays_.end() ? Expr() : make_input(array->second.decl, where);
      });
      exchange_elements(form, [&](const InputDecl &read) {
        return lets_read(read).empty() ? Expr() : window_of(read, read.where);
      });
    }
    window.window = std::make_shared<const Window>(std::move(seen));
    const auto array =
        decl.window->of->is_let ? arrays_.find(decl.window->of->name) : arrays_.end();
    if (array == arrays_.end())
      return decl.window->of->is_let
                 ? make_input(std::make_shared<const InputDecl>(window), where)
                 : make_window_like(make_input(decl.window->of, where), *window.window, where);
    check_pads(window, array->second.decl->dims.size());
    return make_window_like(make_input(array->second.decl, where), *window.window, where);
  }

  void check_pads(const InputDecl &window, std::size_t rank) const {
    for (const DimPad &pad : window.window->pads)
      if (pad.dim >= rank)
        support::fail("E0104",
                      "let '" + window.window->of->name + "' has " +
                          support::count(std::int64_t(rank), "dim") + ", and dim " +
                          std::to_string(pad.dim) + " is to be padded",
                      support::with_text(window.where, data_.source.get()),
                      "count its dims from 0");
  }

  // With the lets so far as inputs.
  Expr rewritten(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) { return as_array(node); });
  }
  Expr as_array(const ExprNode &node) const {
    // One that is padded and not read at positions is a mistake, and told as one.
    if (node.kind == ExprKind::Input && !lets_read(*node.input).empty() &&
        !node.input->window->is_whole)
      return window_of(*node.input, node.where);
    const auto array = node.kind == ExprKind::Let ? arrays_.find(node.name) : arrays_.end();
    if (array == arrays_.end() || array->second.own.empty()) return Expr();
    return make_window(make_input(array->second.decl, node.where), array->second.own, node.where);
  }

  const SpecData &data_;
  const std::function<TypedSpec(const SpecData &)> &analyse_;
  Names wanted_;
  std::unordered_map<std::string, Names> lets_of_window_; // of those that are named
  std::unordered_map<std::string, std::string> joined_;   // by part: the whole
  const LetsByName lets_;
  const bool is_scheduled_;
  std::unordered_map<std::string, Array> arrays_;
  Names loops_; // those that read themselves or each other
  std::vector<std::shared_ptr<const InputDecl>> before_,
      before_windows_; // of the loop in the making
  expr::Exchange exchange_;
  Split split_;
};

} // namespace broadloom::spec

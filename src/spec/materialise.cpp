// See materialise.hpp.
#include "spec/materialise.hpp"

#include "expr/exchange.hpp"
#include "expr/join.hpp"
#include "expr/window.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::spec {
namespace {

// The lets that a value needs as arrays, as far as the nearest of them: what these need is their own business.
using Names = std::set<std::string>;

template <class Visit> void for_each_root(const SpecData &data, Visit visit) {
  for (const Expr &let : data.lets) visit(let);
  for (const OutputDecl &output : data.outputs) {
    visit(output.value);
    for (const Expr &init : output.mode.use.init) visit(init);
  }
}

class Splitter {
public:
  Splitter(const SpecData &data, const std::function<TypedSpec(const SpecData &)> &analyse)
      : data_(data), analyse_(analyse), lets_(lets_by_name(data)) {}

  std::optional<Split> run() {
    find();
    if (wanted_.empty()) return std::nullopt;
    for (const std::string &name : in_order()) materialise(name);
    split_.rest = data_;
    split_.rest.lets.clear();
    for (const Expr &let : data_.lets)
      if (!wanted_.contains(let.node()->name)) split_.rest.lets.push_back(rewritten(let));
    for (OutputDecl &output : split_.rest.outputs) {
      output.value = rewritten(output.value);
      for (Expr &init : output.mode.use.init) init = rewritten(init);
    }
    declare(split_.rest);
    return std::move(split_);
  }

private:
  struct Array {
    std::shared_ptr<const InputDecl> decl;
    std::vector<AffineForm> own; // its own axes as positions; none where these have no names
  };

  // Which lets are read at positions, have their dims listed, or are parts of others.
  void find() {
    for (const auto &decl : data_.inputs)
      if (const Names lets = lets_read(*decl); !lets.empty()) {
        wanted_.insert(lets.begin(), lets.end());
        lets_of_window_[decl->name] = lets;
      }
    for (const auto &[name, let] : lets_)
      if (!let.node()->axes.empty()) wanted_.insert(name);
    expr::Walker walker;
    for_each_root(data_, [&](const Expr &root) {
      walker.walk(root.node(), [&](const ExprNode &node) {
        if (node.kind == ExprKind::Input) wanted_.merge(lets_read(*node.input));
        for (const Expr &arg : node.args)
          if (node.kind == ExprKind::Join && arg.node()->kind == ExprKind::Let)
            wanted_.insert(arg.node()->name);
      });
    });
    std::erase_if(wanted_, [&](const std::string &name) { return !lets_.contains(name); });
  }

  // Each after those that it needs; of several that could be next, the first by the order of definition, then by name.
  std::vector<std::string> in_order() const {
    std::vector<std::string> left;
    for (const Expr &let : data_.lets)
      if (wanted_.contains(let.node()->name)) left.push_back(let.node()->name);
    for (const std::string &name : wanted_)
      if (std::find(left.begin(), left.end(), name) == left.end()) left.push_back(name);
    std::unordered_map<std::string, Names> needs;
    for (const std::string &name : left) needs[name] = needed_by(lets_.at(name).node()->args[0]);
    std::vector<std::string> order;
    std::unordered_set<std::string> done;
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), [&](const std::string &name) {
        return std::ranges::all_of(needs[name],
                                   [&](const auto &need) { return done.contains(need); });
      });
      // One that is like itself: what it names is not there yet, which is told.
      const auto chosen = next == left.end() ? left.begin() : next;
      done.insert(*chosen);
      order.push_back(*chosen);
      left.erase(chosen);
    }
    return order;
  }

  // The arguments of a node that count: a let that is an array has none.
  std::span<const Expr> arguments(const ExprNode &node) const {
    const bool is_array =
        node.kind == ExprKind::Input || (node.kind == ExprKind::Let && wanted_.contains(node.name));
    return is_array ? std::span<const Expr>() : std::span<const Expr>(node.args);
  }

  template <class Visit> void walk_kernel(const Expr &root, Visit visit) const {
    std::unordered_set<const ExprNode *> seen;
    std::vector<const ExprNode *> open{root.node()};
    while (!open.empty()) {
      const ExprNode *node = open.back();
      open.pop_back();
      if (node == nullptr || !seen.insert(node).second) continue;
      visit(*node);
      for (const Expr &arg : arguments(*node)) open.push_back(arg.node());
    }
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
      if (node.kind == ExprKind::Input) names.merge(lets_read(*node.input));
      for (const std::string &of : node.of) name(of);
      if (node.use) name(node.use->like);
    });
    return names;
  }

  void materialise(const std::string &name) {
    const Expr &let = lets_.at(name);
    SpecData data = data_; // with its settings; wishes are for the kernel itself
    data.name += "_" + name;
    data.schedule = {};
    data.pairings.clear();
    data.lets.clear();
    data.outputs.clear();
    OutputDecl output;
    output.name = name;
    std::optional<Join> join;
    const Expr &value = let.node()->args[0];
    if (is_join(value)) join = join_of(*let.node());
    output.value = rewritten(join ? value.node()->args[0] : value);
    output.where = let.node()->where;
    output.axes = let.node()->axes;
    if (join && join->stacks) output.axes.erase(output.axes.begin() + std::ptrdiff_t(join->dim));
    output.has_axes = !output.axes.empty();
    data.outputs.push_back(std::move(output));
    declare(data);
    TypedSpec typed = analyse_(data);
    if (join && join->stacks) add_axis(typed, value.node()->axes[0], join->dim);

    const TypedOutput &made = typed.outputs[0];
    auto decl = std::make_shared<InputDecl>();
    decl->name = name;
    decl->dtype = made.dtype;
    decl->where = let.node()->where;
    decl->dims.assign(made.axes.size(), Dim(":"));
    decl->materialised = true;
    Array array{decl, {}};
    bool named = !made.axes.empty();
    for (const int axis : made.axes) named = named && typed.axes[std::size_t(axis)].labelled;
    for (std::size_t dim = 0; named && dim < made.axes.size(); ++dim)
      array.own.push_back({0, {{typed.axes[std::size_t(made.axes[dim])].name, 1}}, {}});
    arrays_.emplace(name, std::move(array));
    split_.lets.push_back(std::make_shared<const Materialised>(
        Materialised{std::move(data), std::move(typed), join}));
  }

  Join join_of(const ExprNode &let) {
    const ExprNode &node = *let.args[0].node();
    const Place shown = support::with_text(node.where, data_.source.get());
    Join join{{}, dim_of_join(let.name, node, let.axes, shown), node.stacks};
    const std::size_t rank = let.axes.size() - (join.stacks ? 1 : 0);
    check_label(let, join, shown);
    for (const Expr &arg : node.args) {
      const std::string &part = arg.node()->name;
      const auto array = arrays_.find(part);
      if (arg.node()->kind != ExprKind::Let || array == arrays_.end())
        support::fail("E0029", "a part of '" + let.name + "' is no let", shown,
                      "make parts by bl::let(NAME, DIMS, bl::concat(..))");
      if (!joined_.emplace(part, let.name).second)
        support::fail("E0029",
                      "'" + part + "' is a part of '" + joined_[part] + "' and of '" + let.name +
                          "', and it lies in one of them",
                      shown, "write a let of its own for the other one");
      const InputDecl &decl = *array->second.decl,
                      &first = *arrays_.at(node.args[0].node()->name).decl;
      if (decl.dims.size() != rank)
        support::fail("E0101",
                      "'" + part + "' has " +
                          support::count(std::int64_t(decl.dims.size()), "dim") +
                          ", and a part of '" + let.name + "' has " +
                          support::count(std::int64_t(rank), "dim"),
                      shown, "give each part the dims of the whole");
      if (decl.dtype != first.dtype)
        support::fail(
            "E0201",
            "the parts '" + first.name + "' and '" + part + "' are " +
                std::string(broadloom::name(first.dtype)) + " and " +
                std::string(broadloom::name(decl.dtype)),
            shown, "cast one of them, as by " + std::string(broadloom::name(first.dtype)) + "(..)");
      join.parts.push_back(part);
    }
    return join;
  }

  // As it is, the whole would be read as far as the label goes.
  void check_label(const ExprNode &let, const Join &join, const Place &shown) const {
    const auto *label = std::get_if<std::string>(&let.axes[join.dim].value());
    for (const auto &input : data_.inputs)
      for (const Dim &dim : input->dims)
        if (!join.stacks && !input->window && label != nullptr && dim.label == *label)
          support::fail("E0029",
                        "'" + let.name + "' lies along '" + *label + "', which is the extent of '" +
                            input->name + "'",
                        shown,
                        "give the dim another label: let " + let.name + "[r] = concat(r, " +
                            input->name + "[r], ..)");
  }

  // The dim along which arrays are stacked, which none of them has.
  static void add_axis(TypedSpec &typed, const AxisRef &axis, std::size_t dim) {
    const auto *label = std::get_if<std::string>(&axis.value());
    typed.outputs[0].axes.insert(typed.outputs[0].axes.begin() + std::ptrdiff_t(dim),
                                 int(typed.axes.size()));
    typed.axes.push_back({label ? *label : "", label != nullptr});
  }

  // The inputs: those of the kernel, the lets that are read or named, and the windows that are named.
  void declare(SpecData &data) const {
    Names named, read;
    expr::Walker walker;
    for_each_root(data, [&](const Expr &root) {
      walker.walk(root.node(), [&](const ExprNode &node) {
        named.insert(node.of.begin(), node.of.end());
        if (node.use) named.insert(node.use->like);
        if (node.kind != ExprKind::Input) return;
        read.insert(node.input->window ? node.input->window->of->name : node.input->name);
        read.merge(arrays_read(*node.input));
      });
    });
    for (const OutputDecl &output : data.outputs) named.insert(output.mode.use.like);
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
      // Only where it is named: its axes have their extents by it. One that is read declares itself.
      const Names lets = lets_read(*decl);
      if (!named.contains(decl->name) ||
          !std::ranges::all_of(lets, [&](const std::string &let) { return arrays_.contains(let); }))
        continue;
      read.insert(lets.begin(), lets.end());
      windows.push_back(lets.empty() ? decl : window_of(*decl, decl->where).node()->input);
    }
    for (const auto &materialised : split_.lets) {
      const std::string &name = materialised->data.outputs[0].name;
      if (read.contains(name) || named.contains(name)) given.push_back(arrays_.at(name).decl);
    }
    data.inputs = std::move(given);
    data.inputs.insert(data.inputs.end(), lent.begin(), lent.end());
    data.inputs.insert(data.inputs.end(), windows.begin(), windows.end());
  }

  static std::shared_ptr<const InputDecl> idle(const InputDecl &decl) {
    auto made = std::make_shared<InputDecl>(decl);
    made->is_idle = true;
    return made;
  }

  // The arrays that are inputs now and whose extents stand in the positions of a window.
  static Names arrays_read(const InputDecl &decl) {
    Names names;
    for (std::size_t d = 0; decl.window && d < decl.window->forms.size(); ++d)
      for (const AffineForm::Extent &extent : decl.window->forms[d].extents)
        names.insert(name_of_array(extent.of));
    return names;
  }

  Expr window_of(const InputDecl &decl, const Place &where) const {
    InputDecl window = decl;
    Window seen = *decl.window;
    for (AffineForm &form : seen.forms)
      exchange_extents(form, [&](const Expr &of) {
        const auto array = arrays_.find(name_of_array(of));
        return array == arrays_.end() ? Expr() : make_input(array->second.decl, where);
      });
    window.window = std::make_shared<const Window>(std::move(seen));
    const auto array =
        decl.window->of->is_let ? arrays_.find(decl.window->of->name) : arrays_.end();
    if (array == arrays_.end())
      return decl.window->of->is_let
                 ? make_input(std::make_shared<const InputDecl>(window), where)
                 : make_window_like(make_input(decl.window->of, where), *window.window, where);
    for (const DimPad &pad : window.window->pads)
      if (pad.dim >= array->second.decl->dims.size())
        support::fail("E0104",
                      "let '" + array->first + "' has " +
                          support::count(std::int64_t(array->second.decl->dims.size()), "dim") +
                          ", and dim " + std::to_string(pad.dim) + " is to be padded",
                      support::with_text(window.where, data_.source.get()),
                      "count its dims from 0");
    return make_window_like(make_input(array->second.decl, where), *window.window, where);
  }

  // With the lets so far as inputs.
  Expr rewritten(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) {
      // One that is padded and not read at positions is a mistake, and told as one.
      if (node.kind == ExprKind::Input && !lets_read(*node.input).empty() &&
          !node.input->window->is_whole)
        return window_of(*node.input, node.where);
      const auto array = node.kind == ExprKind::Let ? arrays_.find(node.name) : arrays_.end();
      if (array == arrays_.end() || array->second.own.empty()) return Expr();
      return make_window(make_input(array->second.decl, node.where), array->second.own, node.where);
    });
  }

  const SpecData &data_;
  const std::function<TypedSpec(const SpecData &)> &analyse_;
  Names wanted_;
  std::unordered_map<std::string, Names> lets_of_window_; // of those that are named
  std::unordered_map<std::string, std::string> joined_;   // by part: the whole
  const LetsByName lets_;
  std::unordered_map<std::string, Array> arrays_;
  expr::Exchange exchange_;
  Split split_;
};

// From the parts to one kernel.
class Joiner {
public:
  Joiner(const SpecData &data, const Split &split)
      : data_(data), split_(split), lets_(lets_by_name(data)) {}

  SpecData run() {
    SpecData made = split_.rest;
    made.inputs.clear();
    made.lets.clear();
    for (const auto &input : data_.inputs)
      if (!input->window) made.inputs.push_back(input);
    for (const auto &let : split_.lets) {
      const OutputDecl &output = let->data.outputs[0];
      const ExprNode &old = *lets_.at(output.name).node();
      const Expr value = let->join ? joined(*let->join, *old.args[0].node()) : again(output.value);
      lets_[output.name] = make_let(output.name, value, old.where, old.axes);
      made.lets.push_back(lets_[output.name]);
      declare(let->data);
    }
    for (const Expr &let : split_.rest.lets) made.lets.push_back(again(let));
    for (OutputDecl &output : made.outputs) {
      output.value = again(output.value);
      for (Expr &init : output.mode.use.init) init = again(init);
    }
    declare(split_.rest);
    made.inputs.insert(made.inputs.end(), windows_.begin(), windows_.end());
    return made;
  }

private:
  Expr joined(const Join &join, const ExprNode &old) const {
    std::vector<Expr> parts;
    for (const std::string &part : join.parts) parts.push_back(lets_.at(part));
    return with_args(old, std::move(parts));
  }

  void declare(const SpecData &part) {
    for (const auto &input : part.inputs)
      if (input->window && declared_.insert(input->name).second)
        windows_.push_back(reads_arrays(*input) ? window_of_lets(*input, lets_).node()->input
                                                : input);
  }

  // The arrays are lets again.
  Expr again(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) {
      const bool of_let = node.kind == ExprKind::Input && reads_arrays(*node.input);
      return of_let ? window_of_lets(*node.input, lets_) : Expr();
    });
  }

  const SpecData &data_;
  const Split &split_;
  LetsByName lets_;
  Names declared_;
  std::vector<std::shared_ptr<const InputDecl>> windows_;
  expr::Exchange exchange_;
};

} // namespace

bool reads_arrays(const InputDecl &window) {
  if (!window.window) return false;
  if (window.window->of->materialised) return true;
  for (const AffineForm &form : window.window->forms)
    for (const AffineForm::Extent &extent : form.extents)
      if (extent.of.node()->kind == ExprKind::Input && extent.of.node()->input->materialised)
        return true;
  return false;
}

std::set<std::string> lets_read(const InputDecl &decl) {
  std::set<std::string> names;
  if (!decl.window) return names;
  if (decl.window->of->is_let) names.insert(decl.window->of->name);
  for (const AffineForm &form : decl.window->forms)
    for (const AffineForm::Extent &extent : form.extents)
      if (extent.of.node()->kind == ExprKind::Let) names.insert(name_of_array(extent.of));
  return names;
}

Window with_lets(const Window &window, const LetsByName &lets) {
  Window now = window;
  for (AffineForm &form : now.forms)
    exchange_extents(form, [&](const Expr &of) {
      const bool is_let = of.node()->kind == ExprKind::Input && of.node()->input->materialised;
      return is_let ? lets.at(name_of_array(of)) : Expr();
    });
  return now;
}

Expr window_of_lets(const InputDecl &window, const LetsByName &lets) {
  const auto &of = window.window->of;
  return make_window_like(of->materialised ? lets.at(of->name) : make_input(of, window.where),
                          with_lets(*window.window, lets), window.where);
}

LetsByName lets_by_name(const SpecData &data) {
  LetsByName lets;
  const auto note = [&](const Expr &let) {
    if (let.node() && let.node()->kind == ExprKind::Let) lets.try_emplace(let.node()->name, let);
  };
  expr::Walker walker;
  for_each_root(data, [&](const Expr &root) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      for (const Expr &arg : node.args) note(arg);
    });
    note(root);
  });
  return lets;
}

std::optional<Split> split_lets(const SpecData &data,
                                const std::function<TypedSpec(const SpecData &)> &analyse) {
  return Splitter(data, analyse).run();
}

SpecData joined(const SpecData &data, const Split &split) { return Joiner(data, split).run(); }

} // namespace broadloom::spec

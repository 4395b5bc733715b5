// See materialise.hpp.
#include "spec/materialise.hpp"

#include "expr/exchange.hpp"
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

  static const std::string *let_read(const InputDecl &decl) {
    return decl.window && decl.window->of->is_let ? &decl.window->of->name : nullptr;
  }

  // Which lets are read at positions, or have their dims listed.
  void find() {
    for (const auto &decl : data_.inputs)
      if (const std::string *let = let_read(*decl)) {
        wanted_.insert(*let);
        let_of_window_[decl->name] = *let;
      }
    for (const auto &[name, let] : lets_)
      if (!let.node()->axes.empty()) wanted_.insert(name);
    expr::Walker walker;
    for_each_root(data_, [&](const Expr &root) {
      walker.walk(root.node(), [&](const ExprNode &node) {
        if (node.kind != ExprKind::Input) return;
        if (const std::string *let = let_read(*node.input)) wanted_.insert(*let);
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
      const auto window = let_of_window_.find(called);
      const std::string &of = window == let_of_window_.end() ? called : window->second;
      if (wanted_.contains(of)) names.insert(of);
    };
    walk_kernel(root, [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let) name(node.name);
      if (node.kind == ExprKind::Input)
        if (const std::string *let = let_read(*node.input)) names.insert(*let);
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
    output.value = rewritten(let.node()->args[0]);
    output.where = let.node()->where;
    output.axes = let.node()->axes;
    output.has_axes = !output.axes.empty();
    data.outputs.push_back(std::move(output));
    declare(data);
    TypedSpec typed = analyse_(data);

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
    split_.lets.push_back(
        std::make_shared<const Materialised>(Materialised{std::move(data), std::move(typed)}));
  }

  // The inputs: those of the kernel, the lets that are read or named, and the windows that are named.
  void declare(SpecData &data) const {
    Names named, read;
    expr::Walker walker;
    for_each_root(data, [&](const Expr &root) {
      walker.walk(root.node(), [&](const ExprNode &node) {
        named.insert(node.of.begin(), node.of.end());
        if (node.use) named.insert(node.use->like);
        if (node.kind == ExprKind::Input)
          read.insert(node.input->window ? node.input->window->of->name : node.input->name);
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
        given.push_back(decl);
        continue;
      }
      // Only where it is named: its axes have their extents by it. One that is read declares itself.
      const std::string *let = let_read(*decl);
      if (!named.contains(decl->name) || (let && !arrays_.contains(*let))) continue;
      if (let) read.insert(*let);
      windows.push_back(let ? window_of(*decl, decl->where).node()->input : decl);
    }
    for (const auto &materialised : split_.lets) {
      const std::string &name = materialised->data.outputs[0].name;
      if (read.contains(name) || named.contains(name)) given.push_back(arrays_.at(name).decl);
    }
    data.inputs = std::move(given);
    data.inputs.insert(data.inputs.end(), lent.begin(), lent.end());
    data.inputs.insert(data.inputs.end(), windows.begin(), windows.end());
  }

  Expr window_of(const InputDecl &window, const Place &where) const {
    const auto array = arrays_.find(window.window->of->name);
    if (array == arrays_.end()) return make_input(std::make_shared<const InputDecl>(window), where);
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
      if (node.kind == ExprKind::Input && let_read(*node.input) && !node.input->window->is_whole)
        return window_of(*node.input, node.where);
      const auto array = node.kind == ExprKind::Let ? arrays_.find(node.name) : arrays_.end();
      if (array == arrays_.end() || array->second.own.empty()) return Expr();
      return make_window(make_input(array->second.decl, node.where), array->second.own, node.where);
    });
  }

  const SpecData &data_;
  const std::function<TypedSpec(const SpecData &)> &analyse_;
  Names wanted_;
  std::unordered_map<std::string, std::string> let_of_window_; // of those that are named
  const std::unordered_map<std::string, Expr> lets_;
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
      lets_[output.name] = make_let(output.name, again(output.value), old.where, old.axes);
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
  Expr window(const InputDecl &decl) const {
    return make_window_like(lets_.at(decl.window->of->name), *decl.window, decl.where);
  }

  void declare(const SpecData &part) {
    for (const auto &input : part.inputs)
      if (input->window && declared_.insert(input->name).second)
        windows_.push_back(input->window->of->materialised ? window(*input).node()->input : input);
  }

  // The arrays are lets again.
  Expr again(const Expr &root) {
    return exchange_.run(root, [&](const ExprNode &node) {
      const bool of_let = node.kind == ExprKind::Input && node.input->window &&
                          node.input->window->of->materialised;
      return of_let ? window(*node.input) : Expr();
    });
  }

  const SpecData &data_;
  const Split &split_;
  std::unordered_map<std::string, Expr> lets_;
  Names declared_;
  std::vector<std::shared_ptr<const InputDecl>> windows_;
  expr::Exchange exchange_;
};

} // namespace

std::unordered_map<std::string, Expr> lets_by_name(const SpecData &data) {
  std::unordered_map<std::string, Expr> lets;
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

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
    for (const std::vector<std::string> &together : in_order())
      together.size() == 1 && !loops_.contains(together[0]) ? materialise(together[0])
                                                            : materialise_loop(together);
    split_.rest = data_;
    split_.rest.lets.clear();
    for (const Expr &let : data_.lets)
      if (!wanted_.contains(let.node()->name) && !reads_a_loop(let))
        split_.rest.lets.push_back(rewritten(let));
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
    for (const auto &[name, let] : lets_)
      walk_kernel(let.node()->args[0], [&](const ExprNode &node) {
        if (reads_ahead(node) && !lets_.contains(let_called(node)))
          support::fail("E0003", "there is no let '" + let_called(node) + "'",
                        support::with_text(node.where, data_.source.get()),
                        "what is read ahead by that name is to be among the lets of the kernel");
      });
    std::erase_if(wanted_, [&](const std::string &name) { return !lets_.contains(name); });
    for (const auto &[name, let] : lets_)
      if (!wanted_.contains(name) && (let.node()->args.size() > 1 || let.node()->count >= 0))
        fail_no_loop(name);
  }

  // Of a node that reads ahead.
  static const std::string &let_called(const ExprNode &node) {
    return node.input->window ? node.input->window->of->name : node.input->name;
  }

  [[noreturn]] void fail_no_loop(const std::string &name) const {
    const ExprNode &node = *lets_.at(name).node();
    const bool is_counted = node.count >= 0;
    support::fail(is_counted ? "E0031" : "E0030",
                  "let '" + name + "' does not read itself, and has " +
                      (is_counted ? "a count of steps" : "a start"),
                  support::with_text(node.where, data_.source.get()),
                  std::string(is_counted ? "leave the count out" : "leave `from` out") +
                      ", or list its dims and read it at an earlier position");
  }

  // Whether a let is a part of the step of one that reads itself: it is no value elsewhere.
  bool reads_a_loop(const Expr &let) const {
    bool found = false;
    walk_kernel(let, [&](const ExprNode &node) { found = found || reads_ahead(node); });
    return found;
  }

  // Each after those that it needs; of several that could be next, the first by the order of definition, then by name.
  // Those that read each other are together.
  std::vector<std::vector<std::string>> in_order() {
    std::vector<std::string> left;
    for (const Expr &let : data_.lets)
      if (wanted_.contains(let.node()->name)) left.push_back(let.node()->name);
    for (const std::string &name : wanted_)
      if (std::find(left.begin(), left.end(), name) == left.end()) left.push_back(name);
    std::unordered_map<std::string, Names> needs;
    for (const std::string &name : left) needs[name] = needed_by(lets_.at(name).node()->args[0]);
    std::unordered_map<std::string, std::size_t> circle_of;
    const std::vector<std::vector<std::string>> circles = circles_of(left, needs);
    for (std::size_t c = 0; c < circles.size(); ++c)
      for (const std::string &name : circles[c]) {
        circle_of[name] = c;
        loops_.insert(name);
      }
    for (const std::string &name : left) {
      const ExprNode &node = *lets_.at(name).node();
      if (!loops_.contains(name) && (node.args.size() > 1 || node.count >= 0)) fail_no_loop(name);
      if (node.args.size() > 1) // the start is computed before
        for (const std::string &need : needed_by(node.args[1])) needs[name].insert(need);
    }
    std::vector<std::vector<std::string>> order;
    std::unordered_set<std::string> done;
    const auto together = [&](const std::string &name) {
      const auto circle = circle_of.find(name);
      return circle == circle_of.end() ? std::vector{name} : circles[circle->second];
    };
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), [&](const std::string &name) {
        const std::vector<std::string> all = together(name);
        return std::ranges::all_of(all, [&](const std::string &one) {
          return std::ranges::all_of(needs[one], [&](const auto &need) {
            return done.contains(need) || std::ranges::count(all, need) != 0;
          });
        });
      });
      // One that is like itself: what it names is not there yet, which is told.
      order.push_back(together(next == left.end() ? left.front() : *next));
      for (const std::string &name : order.back()) {
        done.insert(name);
        std::erase(left, name);
      }
    }
    return order;
  }

  // The lets that need each other, or themselves: such a circle goes through a read of what is not there yet.
  std::vector<std::vector<std::string>>
  circles_of(const std::vector<std::string> &names,
             const std::unordered_map<std::string, Names> &needs) const {
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
    std::vector<std::vector<std::string>> circles;
    Names known;
    for (const std::string &name : names) {
      if (known.contains(name) || !reads_a_loop(lets_.at(name).node()->args[0])) continue;
      const Names reached = reached_from(name);
      if (!reached.contains(name)) continue;
      std::vector<std::string> circle;
      for (const std::string &other : names)
        if (other == name || (reached.contains(other) && reached_from(other).contains(name)))
          circle.push_back(other);
      known.insert(circle.begin(), circle.end());
      circles.push_back(std::move(circle));
    }
    return circles;
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

  // The kernel of a let of that value.
  SpecData kernel_of(const std::string &name, Expr value, const Place &where,
                     const std::vector<AxisRef> &axes) const {
    SpecData data = data_; // with its settings; wishes are for the kernel itself
    data.name += "_" + name;
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
    data.outputs.push_back(std::move(output));
    declare(data);
    return data;
  }

  void materialise(const std::string &name) {
    const ExprNode &let = *lets_.at(name).node();
    SpecData data = kernel_of(name, rewritten(let.args[0]), let.where, let.axes);
    TypedSpec typed = analyse_(data);
    add_array(name, typed, let.where);
    split_.lets.push_back(std::make_shared<const Materialised>(
        Materialised{std::move(data), std::move(typed), {}}));
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
    Array array{declared(name, made.dtype, made.axes.size(), where), {}};
    bool named = !made.axes.empty();
    for (const int axis : made.axes) named = named && typed.axes[std::size_t(axis)].labelled;
    for (std::size_t dim = 0; named && dim < made.axes.size(); ++dim)
      array.own.push_back({0, {{typed.axes[std::size_t(made.axes[dim])].name, 1}}, {}});
    arrays_.emplace(name, std::move(array));
  }

  void materialise_loop(const std::vector<std::string> &names);
  friend class LoopSplitter;

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
    for (const auto &decl : before_) // of the loop that is being made
      if (read.contains(decl->name)) given.push_back(decl);
    data.inputs = std::move(given);
    data.inputs.insert(data.inputs.end(), lent.begin(), lent.end());
    data.inputs.insert(data.inputs.end(), windows.begin(), windows.end());
  }

  Expr window_of(const InputDecl &window, const Place &where) const {
    const auto array = arrays_.find(window.window->of->name);
    if (array == arrays_.end()) return make_input(std::make_shared<const InputDecl>(window), where);
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
    if (node.kind == ExprKind::Input && let_read(*node.input) && !node.input->window->is_whole)
      return window_of(*node.input, node.where);
    const auto array = node.kind == ExprKind::Let ? arrays_.find(node.name) : arrays_.end();
    if (array == arrays_.end() || array->second.own.empty()) return Expr();
    return make_window(make_input(array->second.decl, node.where), array->second.own, node.where);
  }

  const SpecData &data_;
  const std::function<TypedSpec(const SpecData &)> &analyse_;
  Names wanted_;
  std::unordered_map<std::string, std::string> let_of_window_; // of those that are named
  const std::unordered_map<std::string, Expr> lets_;
  std::unordered_map<std::string, Array> arrays_;
  Names loops_; // those that read themselves or each other
  std::vector<std::shared_ptr<const InputDecl>> before_;
  expr::Exchange exchange_;
  Split split_;
};

// The lets of one circle as kernels of a step.
class LoopSplitter {
public:
  LoopSplitter(Splitter &splitter, const std::vector<std::string> &names)
      : splitter_(splitter), names_(names.begin(), names.end()),
        loop_(find_time_loop(
            names, splitter.lets_,
            [&](const std::string &let) { return reads_of(value_of(let)); },
            splitter.data_.source.get())) {}

  void run() {
    for (const TimeLoop::Member &member : loop_.members) begin(member);
    std::vector<TypedSpec> typed = typed_steps();
    const std::size_t first = splitter_.split_.lets.size();
    for (std::size_t m = 0; m < typed.size(); ++m) {
      check_step(m, typed[m]);
      typed[m].time = typed[m].outputs[0].axes[loop_.members[m].dim];
      Recurrence recurrence = recurrence_of(m, typed[m], first);
      splitter_.add_array(loop_.members[m].let, typed[m], let_of(m).where);
      splitter_.split_.lets.push_back(std::make_shared<const Materialised>(
          Materialised{std::move(steps_[m]), std::move(typed[m]), std::move(recurrence)}));
    }
    splitter_.before_.clear();
  }

private:
  using Read = const ExprNode *;

  struct Start {
    std::optional<std::size_t> let; // of the split
    std::vector<std::size_t> dims;
    std::optional<Expr> number; // not typed yet: it is of the dtype of the let
    std::optional<DType> dtype;
  };

  const ExprNode &let_of(std::size_t m) const {
    return *splitter_.lets_.at(loop_.members[m].let).node();
  }
  const Expr &value_of(const std::string &let) const {
    return splitter_.lets_.at(let).node()->args[0];
  }
  Place shown(const Place &where) const {
    return support::with_text(where, splitter_.data_.source.get());
  }
  const TimeLoop::Member *member_called(const std::string &name) const {
    for (const TimeLoop::Member &member : loop_.members)
      if (member.let == name) return &member;
    return nullptr;
  }

  // The reads of members that a value holds.
  std::vector<Read> reads_of(const Expr &value) const {
    std::vector<Read> reads;
    splitter_.walk_kernel(value, [&](const ExprNode &node) {
      const bool is_let = node.kind == ExprKind::Let && names_.contains(node.name);
      const std::string *window = nullptr;
      if (node.kind == ExprKind::Input) window = Splitter::let_read(*node.input);
      const bool ahead = reads_ahead(node) && names_.contains(Splitter::let_called(node));
      if (is_let || ahead || (window != nullptr && names_.contains(*window)))
        reads.push_back(&node);
    });
    return reads;
  }

  std::string fresh(std::string name) const {
    const auto taken = [&](const std::string &wanted) {
      if (splitter_.lets_.contains(wanted)) return true;
      for (const auto &input : splitter_.data_.inputs)
        if (input->name == wanted) return true;
      for (const OutputDecl &output : splitter_.data_.outputs)
        if (output.name == wanted) return true;
      return false;
    };
    while (taken(name)) name += "_";
    return name;
  }

  static bool is_number(const ExprNode &node) {
    if (node.kind == ExprKind::Op && node.op == ops::Op::Neg) return is_number(*node.args[0].node());
    return node.kind == ExprKind::Literal;
  }

  // The start of a let is a let of its own, an array as soon as its dtype is known.
  void begin(const TimeLoop::Member &member) {
    Start &start = starts_.emplace_back();
    const ExprNode &let = *splitter_.lets_.at(member.let).node();
    if (let.args.size() < 2) return;
    const Expr &value = let.args[1];
    if (!value.node())
      support::fail("E0002", "an empty bl::Expr is used as an operand", shown(let.where),
                    "give it a value first: a default-constructed Expr has none");
    const std::vector<Read> own = reads_of(value);
    if (!own.empty())
      support::fail("E0030", "the start of let '" + member.let + "' reads what begins with it",
                    shown(own[0]->where), "begin it from inputs and from lets before it");
    if (is_number(*value.node())) {
      start.number = value;
      return;
    }
    start = started(member, value);
  }

  Start started(const TimeLoop::Member &member, const Expr &value) {
    const std::string name = fresh(member.let + "_start");
    const ExprNode &let = *splitter_.lets_.at(member.let).node();
    SpecData data = splitter_.kernel_of(name, splitter_.rewritten(value), value.node()->where, {});
    TypedSpec typed = splitter_.analyse_(data);
    Start start;
    start.dtype = typed.outputs[0].dtype;
    start.dims = dims_of_start(member, let, typed);
    start.let = splitter_.split_.lets.size();
    splitter_.add_array(name, typed, value.node()->where);
    splitter_.split_.lets.push_back(std::make_shared<const Materialised>(
        Materialised{std::move(data), std::move(typed), {}}));
    return start;
  }

  // Which dim of the let each dim of the start is: by name where all are named like them, else in order. One value is that of all.
  std::vector<std::size_t> dims_of_start(const TimeLoop::Member &member, const ExprNode &let,
                                         const TypedSpec &start) const {
    const std::vector<int> &axes = start.outputs[0].axes;
    if (axes.empty()) return {};
    if (axes.size() + 1 != let.axes.size())
      support::fail("E0030",
                    "the start of let '" + member.let + "' has " +
                        support::count(std::int64_t(axes.size()), "dim") + ", and the let has " +
                        std::to_string(let.axes.size() - 1) + " beside '" + loop_.axis + "'",
                    shown(start.outputs[0].where),
                    "begin it from an array with its other dims, or from a single value");
    std::vector<std::size_t> by_name, in_order;
    for (std::size_t d = 0; d < let.axes.size(); ++d)
      if (d != member.dim) in_order.push_back(d);
    for (const int axis : axes)
      for (const std::size_t d : in_order)
        if (const auto *label = std::get_if<std::string>(&let.axes[d].value());
            label && start.axes[std::size_t(axis)].labelled &&
            start.axes[std::size_t(axis)].name == *label)
          by_name.push_back(d);
    return by_name.size() == axes.size() ? by_name : in_order;
  }

  // The kernels of a step, where lets that begin from no array are of dtype `guess`.
  std::vector<TypedSpec> typed_as(std::optional<DType> guess) {
    splitter_.before_.clear();
    steps_.clear();
    for (std::size_t m = 0; m < loop_.members.size(); ++m)
      splitter_.before_.push_back(Splitter::declared(
          fresh(loop_.members[m].let + "_before"), starts_[m].dtype ? *starts_[m].dtype : *guess,
          let_of(m).axes.size(), let_of(m).where));
    splitter_.before_.push_back(
        Splitter::declared(fresh(loop_.axis + "_positions"), DType::I64, 1, let_of(0).where));
    std::vector<TypedSpec> typed;
    for (std::size_t m = 0; m < loop_.members.size(); ++m) {
      expr::Exchange exchange;
      const std::string &name = loop_.members[m].let;
      Expr value = exchange.run(value_of(name), [&](const ExprNode &node) { return read(node); });
      steps_.push_back(
          splitter_.kernel_of(name, std::move(value), let_of(m).where, let_of(m).axes));
      typed.push_back(splitter_.analyse_(steps_.back()));
    }
    return typed;
  }

  std::vector<TypedSpec> typed_steps() {
    std::vector<DType> guesses = guessed();
    const bool all_known = std::ranges::all_of(
        starts_, [](const Start &start) { return start.dtype.has_value(); });
    std::vector<TypedSpec> typed;
    for (std::size_t g = 0; g < guesses.size(); ++g) {
      try {
        typed = typed_as(guesses[g]);
      } catch (const DTypeError &) { // of a dtype that it cannot have
        if (all_known || g + 1 == guesses.size()) throw;
        continue;
      }
      const bool fits = std::ranges::all_of(typed, [&](const TypedSpec &one) {
        const Start &start = starts_[std::size_t(&one - typed.data())];
        return start.dtype || one.outputs[0].dtype == guesses[g];
      });
      if (all_known || fits) break;
      const DType made = typed[0].outputs[0].dtype;
      if (g + 1 == guesses.size() && std::ranges::count(guesses, made) == 0)
        guesses.push_back(made);
    }
    for (std::size_t m = 0; m < typed.size(); ++m) check_dtype(m, typed[m].outputs[0].dtype);
    for (std::size_t m = 0; m < typed.size(); ++m)
      if (starts_[m].number)
        starts_[m] = started(loop_.members[m], make_cast(typed[m].outputs[0].dtype,
                                                         *starts_[m].number,
                                                         starts_[m].number->node()->where));
    return typed;
  }

  void check_dtype(std::size_t m, DType made) const {
    const DType read = splitter_.before_[m]->dtype;
    if (read == made) return;
    const std::string &let = loop_.members[m].let;
    support::fail("E0030",
                  "let '" + let + "' begins as " + std::string(name(read)) + ", and a step makes " +
                      std::string(name(made)) + " of it",
                  shown(let_of(m).where),
                  "convert what it begins from, or the value of a step: " +
                      std::string(name(read)) + "(..)");
  }

  // In the order of dtypes: those of the inputs that it reads, and what a number is by itself.
  std::vector<DType> guessed() const {
    std::set<DType> found;
    for (const TimeLoop::Member &member : loop_.members)
      splitter_.walk_kernel(value_of(member.let), [&](const ExprNode &node) {
        if (node.kind == ExprKind::Cast) found.insert(node.dtype);
        if (node.kind != ExprKind::Input || reads_ahead(node)) return;
        const std::string *let = Splitter::let_read(*node.input);
        const auto array = let == nullptr ? splitter_.arrays_.end() : splitter_.arrays_.find(*let);
        if (let == nullptr) found.insert(node.input->dtype);
        if (array != splitter_.arrays_.end()) found.insert(array->second.decl->dtype);
      });
    for (const Start &start : starts_)
      if (start.dtype) found.insert(*start.dtype);
    std::vector<DType> guesses(found.begin(), found.end());
    for (const DType dtype : {DType::I64, DType::F64})
      if (!found.contains(dtype)) guesses.push_back(dtype);
    return guesses;
  }

  // What stands in a step in place of what is read of its lets, and of the position of the step.
  Expr read(const ExprNode &node) const {
    const bool is_let = node.kind == ExprKind::Let && names_.contains(node.name);
    const std::string *window = nullptr;
    if (node.kind == ExprKind::Input) window = Splitter::let_read(*node.input);
    if (is_let) {
      std::vector<AffineForm> own;
      for (const AxisRef &axis : node.axes)
        own.push_back({0, {{std::get<std::string>(axis.value()), 1}}, {}});
      return before(node.name, {}, std::move(own), node);
    }
    if (window != nullptr && names_.contains(*window) && !node.input->window->is_whole)
      return before(*window, node.input->window->pads, node.input->window->forms, node);
    const bool of_time = (node.kind == ExprKind::Iota || node.kind == ExprKind::Extent) &&
                         node.axes[0].value() == AxisRef(loop_.axis).value();
    if (!of_time) return splitter_.as_array(node);
    const Expr positions = make_input(splitter_.before_.back(), node.where);
    if (node.kind == ExprKind::Iota)
      return make_window(positions, {{0, {{loop_.axis, 1}}, {}}}, node.where);
    const Expr last = make_window(positions, {{-1, {}, {}}}, node.where);
    Number one;
    one.integer = 1;
    const Expr more = make_literal(one, node.where);
    return make_op(ops::Op::Add, {last, more}, node.where);
  }

  // Row t + lag - c of the array with the start before it, for t - c; row t + c for t + c.
  Expr before(const std::string &let, const std::vector<DimPad> &pads, std::vector<AffineForm> forms,
              const ExprNode &node) const {
    const TimeLoop::Member &member = *member_called(let);
    const auto index = std::size_t(&member - loop_.members.data());
    if (node.kind == ExprKind::Input) splitter_.check_pads(*node.input, forms.size());
    if (!loop_.backwards) forms[member.dim].constant += member.lag;
    Window window;
    window.forms = std::move(forms);
    window.pads = pads;
    const Expr array = make_input(splitter_.before_[index], node.where);
    return make_window_like(array, window, node.where);
  }

  // What is read of members and of positions, as inputs of its kernel.
  Recurrence recurrence_of(std::size_t m, const TypedSpec &typed, std::size_t first) const {
    Recurrence made;
    made.first = first;
    made.count = loop_.members.size();
    made.dim = loop_.members[m].dim;
    made.backwards = loop_.backwards;
    made.lag = loop_.members[m].lag;
    made.steps = loop_.count;
    made.start = starts_[m].let;
    made.start_dims = starts_[m].dims;
    for (std::uint32_t i = 0; i < typed.given_inputs(); ++i) {
      if (typed.inputs[i].name == splitter_.before_.back()->name) made.positions = i;
      for (std::size_t of = 0; of < loop_.members.size(); ++of)
        if (typed.inputs[i].name == splitter_.before_[of]->name)
          made.reads.push_back({i, first + of, rows_beyond(typed, i, of)});
    }
    return made;
  }

  // Forwards, step t reads rows up to t + lag - c for the least c; backwards, up to t + c for the greatest.
  std::int64_t rows_beyond(const TypedSpec &typed, std::uint32_t array, std::size_t of) const {
    std::int64_t most = 0;
    for (const TypedInput &input : typed.inputs)
      if (input.window && input.window->of == array && !input.window->derived)
        most = std::max(most, input.window->forms[loop_.members[of].dim].start);
    return most;
  }

  void check_step(std::size_t m, const TypedSpec &typed) const;
  bool member_of(const std::string &input) const; // is it an array of the loop?

  Splitter &splitter_;
  const Names names_;
  const TimeLoop loop_;
  std::vector<Start> starts_;   // [member]
  std::vector<SpecData> steps_; // [member]
};

// Whether one position of time after the other can be computed by itself, and whether the extents are known.
void LoopSplitter::check_step(std::size_t m, const TypedSpec &typed) const {
  const TimeLoop::Member &member = loop_.members[m];
  const int time = typed.outputs[0].axes[member.dim];
  const auto fail_time = [&](expr::NodeId at, const std::string &what, const std::string &help) {
    support::fail("E0032", what + " of the steps of let '" + member.let + "', in the middle of them",
                  typed.where(at), help);
  };
  for (std::uint32_t n = 0; n < typed.graph.size(); ++n) {
    const expr::Node &node = typed.graph[expr::NodeId{n}];
    const bool folds = node.kind == expr::NodeKind::Fold || node.kind == expr::NodeKind::Scan;
    if (folds && node.folded.has(time))
      fail_time(expr::NodeId{n}, "axis '" + loop_.axis + "' is folded or scanned, which is that",
                "compute it before, in a let of its own: let a[..] = ..");
    if (folds && node.like != expr::no_input && typed.inputs[node.like].window &&
        typed.inputs[node.like].window->is_gather())
      fail_time(expr::NodeId{n}, "a sum through a gather is made",
                "compute it before, in a let of its own");
    if ((node.kind == expr::NodeKind::Extent && node.folded.has(time)) ||
        (node.kind == expr::NodeKind::Index && node.axes.has(time)))
      fail_time(expr::NodeId{n}, "positions are asked for by number along the axis",
                "name the axis: iota(" + loop_.axis + ") or extent(" + loop_.axis + ")");
  }
  for (const TypedInput &input : typed.inputs) {
    const bool of_loop = input.window && member_of(typed.inputs[input.window->of].name);
    if (of_loop && (input.window->needs_zeros() || input.window->is_gather()))
      support::fail("E0032", input.name + " looks at let '" + member.let +
                                 "' backwards through a window, while it is computed",
                    shown(input.where), "read it at positions that are all inside");
  }
  const Start &start = starts_[m];
  for (std::size_t d = 0; d < typed.outputs[0].axes.size(); ++d) {
    const int axis = typed.outputs[0].axes[d];
    bool given = d == member.dim ? loop_.count >= 0 || loop_.members.size() > 1
                                 : start.let && !start.dims.empty();
    given = given || loop_.members.size() > 1; // those that it goes together with may give it
    for (const TypedInput &input : typed.inputs) {
      const bool of_loop = member_of(typed.inputs[input.window ? input.window->of : 0].name) &&
                           input.window.has_value();
      if (!of_loop && !member_of(input.name))
        given = given || std::ranges::count(input.axis_of_dim, axis) != 0;
    }
    if (given) continue;
    const std::string name = typed.axes[std::size_t(axis)].name;
    support::fail("E0031",
                  "nothing gives axis '" + name + "' of let '" + member.let + "' its extent",
                  shown(let_of(m).where),
                  d == member.dim
                      ? "say how many steps there are, as in " + name + " < 100"
                      : "let an input have the axis, or begin the let `from` an array");
  }
}

bool LoopSplitter::member_of(const std::string &input) const {
  return std::ranges::any_of(splitter_.before_,
                             [&](const auto &decl) { return decl->name == input; });
}

void Splitter::materialise_loop(const std::vector<std::string> &names) {
  LoopSplitter(*this, names).run();
}

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
      const auto known = lets_.find(output.name);
      if (known == lets_.end()) continue; // the start of one, which stands behind it
      if (let->recurrence) {
        made.lets.push_back(known->second);
        continue;
      }
      const ExprNode &old = *known->second.node();
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

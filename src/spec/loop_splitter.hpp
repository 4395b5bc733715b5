// Inside the analysis: lets that read themselves, or each other, on their way to kernels of one
// step (recurrence.hpp).
#pragma once

#include "expr/array_named.hpp"
#include "spec/splitter.hpp"

#include <optional>

namespace broadloom::spec {

// The lets of one circle as kernels of a step.
class LoopSplitter {
public:
  LoopSplitter(Splitter &splitter, const std::vector<std::string> &names)
      : splitter_(splitter), names_(names.begin(), names.end()),
        loop_(find_time_loop(
            names, splitter.lets_, [&](const std::string &let) { return reads_of(value_of(let)); },
            splitter.data_.source.get())) {}

  void run() {
    for (const TimeLoop::Member &member : loop_.members) begin(member);
    std::vector<TypedSpec> typed = typed_steps();
    const std::size_t first = splitter_.split_.lets.size();
    for (std::size_t m = 0; m < typed.size(); ++m) check_step(m, typed);
    for (std::size_t m = 0; m < typed.size(); ++m) {
      Recurrence recurrence = recurrence_of(m, typed[m], first);
      typed[m].time = typed[m].outputs[0].axes[loop_.members[m].dim];
      splitter_.add_array(loop_.members[m].let, typed[m], let_of(m).where);
      splitter_.split_.lets.push_back(std::make_shared<const Materialised>(
          Materialised{std::move(steps_[m]), std::move(typed[m]), std::move(recurrence)}));
    }
    splitter_.before_.clear();
    splitter_.before_windows_.clear();
  }

private:
  using Read = const ExprNode *;
  using DTypes = std::vector<DType>; // [member]

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
  const Expr &value_of(std::size_t m) const { return let_of(m).args[0]; }
  Place shown(const Place &where) const {
    return support::with_text(where, splitter_.data_.source.get());
  }
  const TimeLoop::Member *member_called(const std::string &name) const {
    for (const TimeLoop::Member &member : loop_.members)
      if (member.let == name) return &member;
    return nullptr;
  }

  std::vector<Read> reads_of(const Expr &value) const { return splitter_.reads_of(value, names_); }

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
    if (node.kind == ExprKind::Op && node.op == ops::Op::Neg)
      return is_number(*node.args[0].node());
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
    SpecData data = splitter_.kernel_of(name, splitter_.rewritten(value), value.node()->where,
                                        dims_listed(value));
    TypedSpec typed = splitter_.analyse_(data);
    Start start;
    start.dtype = typed.outputs[0].dtype;
    start.dims = dims_of_start(member, let, typed);
    start.let = splitter_.split_.lets.size();
    splitter_.add_array(name, typed, value.node()->where);
    splitter_.split_.lets.push_back(
        std::make_shared<const Materialised>(Materialised{std::move(data), std::move(typed), {}}));
    return start;
  }

  // Which dim of the let each dim of the start is: by name where all are named like them, else in
  // the order of the iteration space, in which an expression has them, whatever an array lists. One
  // value is that of all.
  std::vector<std::size_t> dims_of_start(const TimeLoop::Member &member, const ExprNode &let,
                                         const TypedSpec &start) const {
    const std::vector<int> &axes = start.outputs[0].axes;
    if (axes.empty()) return {};
    if (axes.size() + 1 != let.axes.size())
      support::fail("E0030",
                    "the start of let '" + member.let + "' has " +
                        support::count(std::int64_t(axes.size()), "dim") + ", and the let has " +
                        std::to_string(let.axes.size() - 1) + " beside '" + loop_.axis + "'",
                    shown(let.where),
                    "begin it from an array with its other dims, or from a single value");
    std::vector<std::size_t> by_name, others, in_order;
    for (std::size_t d = 0; d < let.axes.size(); ++d)
      if (d != member.dim) others.push_back(d);
    for (const int axis : axes)
      in_order.push_back(others[std::size_t(
          std::ranges::count_if(axes, [&](const int other) { return other < axis; }))]);
    for (const int axis : axes)
      for (const std::size_t d : others)
        if (const auto *label = std::get_if<std::string>(&let.axes[d].value());
            label && start.axes[std::size_t(axis)].labelled &&
            start.axes[std::size_t(axis)].name == *label)
          by_name.push_back(d);
    return by_name.size() == axes.size() ? by_name : in_order;
  }

  // The kernels of a step, where each let is of its dtype in `taken`.
  std::vector<TypedSpec> typed_as(const DTypes &taken) {
    splitter_.before_.clear();
    splitter_.before_windows_.clear();
    steps_.clear();
    for (std::size_t m = 0; m < loop_.members.size(); ++m)
      splitter_.before_.push_back(array_of(fresh(loop_.members[m].let + "_before"), taken[m],
                                           let_of(m).axes.size(), let_of(m).where));
    splitter_.before_.push_back(
        array_of(fresh(loop_.axis + "_positions"), DType::I64, 1, let_of(0).where));
    std::vector<TypedSpec> typed;
    for (std::size_t m = 0; m < loop_.members.size(); ++m) {
      expr::Exchange exchange;
      const std::string &name = loop_.members[m].let;
      Expr value = exchange.run(value_of(name), [&](const ExprNode &node) { return read(node); });
      steps_.push_back(splitter_.kernel_of(name, std::move(value), let_of(m).where,
                                           splitter_.axes_listed(let_of(m)), said_of(m)));
      steps_.back().step_axis = loop_.axis;
      typed.push_back(splitter_.analyse_(splitter_.scheduled(steps_.back(), name)));
      splitter_.check_dims(let_of(m), typed.back());
    }
    return typed;
  }

  // The extents that it says of its axes beside that of the steps.
  std::shared_ptr<const InputDecl> said_of(std::size_t m) const {
    const std::shared_ptr<const InputDecl> said = splitter_.of_arrays(let_of(m).input);
    if (!said) return said;
    std::vector<SaidExtent> others;
    for (std::size_t d = 0; d < said->dims.size(); ++d)
      if (said->dims[d].label != loop_.axis)
        others.push_back({said->dims[d].label, said->said->of[d]});
    if (others.empty()) return nullptr;
    return make_said(loop_.members[m].let, std::move(others),
                     [&] { return shown(let_of(m).where); });
  }

  // loop_dtypes.cpp
  std::vector<TypedSpec> typed_steps();
  DType of_start(std::size_t m, DType made) const;
  std::vector<TypedSpec> begun(std::vector<TypedSpec> typed);
  void check_dtype(std::size_t m, DType made) const;
  std::vector<DType> guessed() const;

  // What stands in a step in place of what is read of its lets, and of the position of the step.
  Expr read(const ExprNode &node) const {
    const bool is_let = node.kind == ExprKind::Let && names_.contains(node.name);
    const std::string *window = nullptr;
    if (node.kind == ExprKind::Input) window = Splitter::let_read(*node.input);
    if (is_let) return before(node.name, {}, along(node.axes), node);
    if (node.kind == ExprKind::Input) check_positions(node);
    if (window != nullptr && names_.contains(*window) && !node.input->window->is_whole)
      return before(*window, node.input->window->pads, node.input->window->forms, node);
    const bool of_time = (node.kind == ExprKind::Iota || node.kind == ExprKind::Extent) &&
                         node.axes[0].value() == AxisRef(loop_.axis).value();
    const bool of_loop = std::ranges::any_of(
        node.of, [&](const std::string &name) { return window_of_loop(name) != nullptr; });
    if (!of_time) return of_loop ? of_steps(node) : splitter_.as_array(node);
    const Expr positions = make_input(splitter_.before_.back(), node.where);
    if (node.kind == ExprKind::Iota)
      return make_window(positions, {{0, {{loop_.axis, 1}}, {}}}, node.where);
    const Expr last = make_window(positions, {{-1, {}, {}}}, node.where);
    Number one;
    one.integer = 1;
    const Expr more = make_literal(one, node.where);
    return make_op(ops::Op::Add, {last, more}, node.where);
  }

  // `iota(i, of=h[t, i])` names a let of the loop, which has that axis at each of its steps.
  const InputDecl *window_of_loop(const std::string &name) const {
    for (const auto &decl : splitter_.data_.inputs)
      if (decl->name == name && Splitter::let_read(*decl) != nullptr &&
          names_.contains(*Splitter::let_read(*decl)))
        return decl.get();
    return nullptr;
  }
  Expr of_steps(const ExprNode &node) const {
    std::vector<std::string> of = node.of;
    for (std::string &name : of) {
      const InputDecl *named = window_of_loop(name);
      if (named == nullptr) continue;
      const std::string &let = named->window->of->name;
      std::vector<AffineForm> forms = named->window->forms;
      forms[member_called(let)->dim] = {0, {{loop_.axis, 1}}, {}};
      const Expr seen = before(let, named->window->pads, std::move(forms), node);
      splitter_.before_windows_.push_back(seen.node()->input);
      name = seen.node()->input->name;
    }
    return with_of(node, node.axes[0], of);
  }

  // Row t + lag - c of the array with the start before it, for t - c; row t + c for t + c.
  Expr before(const std::string &let, const std::vector<DimPad> &pads,
              std::vector<AffineForm> forms, const ExprNode &node) const {
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
    made.axis = *typed.time;
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

  // Forwards, step t reads rows up to t + lag - c for the least c; backwards, up to t + c for the
  // greatest.
  std::int64_t rows_beyond(const TypedSpec &typed, std::uint32_t array, std::size_t of) const {
    std::int64_t most = 0;
    for (const TypedInput &input : typed.inputs)
      if (input.window && input.window->of == array && !input.window->derived)
        most = std::max(most, input.window->forms[loop_.members[of].dim].start);
    return most;
  }

  void check_positions(const ExprNode &node) const;
  void check_step(std::size_t m, const std::vector<TypedSpec> &steps) const;
  bool gives(std::size_t m, const TypedSpec &typed, std::size_t d) const;
  bool member_of(const std::string &input) const; // is it an array of the loop?

  Splitter &splitter_;
  const Names names_;
  const TimeLoop loop_;
  std::vector<Start> starts_;   // [member]
  std::vector<SpecData> steps_; // [member]
};

} // namespace broadloom::spec

// Lets that read themselves, or each other, as kernels of one step (recurrence.hpp).
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
    for (std::size_t m = 0; m < typed.size(); ++m) {
      check_step(m, typed[m]);
      Recurrence recurrence = recurrence_of(m, typed[m], first);
      typed[m].time = typed[m].outputs[0].axes[loop_.members[m].dim];
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

  // Which dim of the let each dim of the start is: by name where all are named like them, else in the order of the iteration space, in which
  // an expression has them, whatever an array lists. One value is that of all.
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

  // The kernels of a step, where lets that begin from no array are of dtype `guess`.
  std::vector<TypedSpec> typed_as(std::optional<DType> guess) {
    splitter_.before_.clear();
    steps_.clear();
    for (std::size_t m = 0; m < loop_.members.size(); ++m)
      splitter_.before_.push_back(Splitter::declared(fresh(loop_.members[m].let + "_before"),
                                                     starts_[m].dtype ? *starts_[m].dtype : *guess,
                                                     let_of(m).axes.size(), let_of(m).where));
    splitter_.before_.push_back(
        Splitter::declared(fresh(loop_.axis + "_positions"), DType::I64, 1, let_of(0).where));
    std::vector<TypedSpec> typed;
    for (std::size_t m = 0; m < loop_.members.size(); ++m) {
      expr::Exchange exchange;
      const std::string &name = loop_.members[m].let;
      Expr value = exchange.run(value_of(name), [&](const ExprNode &node) { return read(node); });
      steps_.push_back(splitter_.kernel_of(name, std::move(value), let_of(m).where,
                                           splitter_.axes_listed(let_of(m))));
      steps_.back().step_axis = loop_.axis;
      typed.push_back(splitter_.analyse_(steps_.back()));
      splitter_.check_dims(let_of(m), typed.back());
    }
    return typed;
  }

  std::vector<TypedSpec> typed_steps() {
    std::vector<DType> guesses = guessed();
    const bool all_known =
        std::ranges::all_of(starts_, [](const Start &start) { return start.dtype.has_value(); });
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
        starts_[m] =
            started(loop_.members[m], make_cast(typed[m].outputs[0].dtype, *starts_[m].number,
                                                starts_[m].number->node()->where));
    return typed;
  }

  void check_dtype(std::size_t m, DType made) const {
    const DType read = splitter_.before_[m]->dtype;
    if (read == made) return;
    const std::string &let = loop_.members[m].let;
    support::fail(
        "E0030",
        "let '" + let + "' begins as " + std::string(name(read)) + ", and a step makes " +
            std::string(name(made)) + " of it",
        shown(let_of(m).where),
        "convert what it begins from, or the value of a step: " + std::string(name(read)) + "(..)");
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
  const std::string axis_of =
      "axis '" + loop_.axis + "', along which let '" + member.let + "' goes step by step, is ";
  const auto fail_step = [&](expr::NodeId at, const std::string &what, const std::string &help) {
    support::fail("E0032", what, typed.where(at), help);
  };
  for (std::uint32_t n = 0; n < typed.graph.size(); ++n) {
    const expr::Node &node = typed.graph[expr::NodeId{n}];
    const bool folds = node.kind == expr::NodeKind::Fold || node.kind == expr::NodeKind::Scan;
    if (folds && node.folded.has(time))
      fail_step(expr::NodeId{n}, axis_of + "folded or scanned within a step",
                "compute that before, in a let of its own");
    if (const TypedInput *window = typed.summed_through(node);
        window != nullptr && window->window->is_gather())
      fail_step(expr::NodeId{n}, "a step of let '" + member.let + "' makes a sum through a gather",
                "compute it before, in a let of its own");
    if ((node.kind == expr::NodeKind::Extent && node.folded.has(time)) ||
        (node.kind == expr::NodeKind::Index && node.axes.has(time)))
      fail_step(expr::NodeId{n}, axis_of + "asked for by its place among the axes",
                "name it: iota(" + loop_.axis + ") or extent(" + loop_.axis + ")");
  }
  for (const TypedInput &input : typed.inputs) {
    const bool of_loop = input.window && member_of(typed.inputs[input.window->of].name);
    if (of_loop && input.window->is_gather())
      support::fail("E0032",
                    input.name + " looks at let '" + member.let +
                        "' at elements of another input, while it is computed",
                    shown(input.where), "read it at sums of integers and multiples of axes");
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
                  d == member.dim ? "say how many steps there are, as in " + name + " < 100"
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

} // namespace broadloom::spec

// See at_rest.hpp. The graph of each member is looked at with the condition taken to be true: which
// of its nodes are 0 then, and which stand for another one.
#include "spec/at_rest.hpp"

#include "spec/step_reads.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace broadloom::spec {
namespace {

using expr::NodeId;
using expr::NodeKind;
using ops::Op;

class RestFinder {
public:
  RestFinder(LetKernels lets, std::size_t first)
      : reads_(lets, first), lets_(lets), first_(reads_.first()), end_(reads_.end()) {}

  std::optional<AtRest> run() {
    std::vector<Condition> tried;
    for (std::size_t k = first_; k < end_; ++k)
      for (std::uint32_t n = 0; n < typed(k).graph.size(); ++n) {
        if (!typed(k).graph.is(NodeId{n}, Op::Where)) continue;
        const std::optional<Condition> found = condition(k, typed(k).graph.args(NodeId{n})[0]);
        if (!found || std::ranges::count(tried, *found) != 0) continue;
        tried.push_back(*found);
        condition_ = *found;
        if (const std::optional<std::int64_t> after = rests_after())
          return AtRest{k, typed(k).inputs[found->window].window->of, found->shift, *after};
      }
    return std::nullopt;
  }

private:
  // Element t + shift of an array that is no let of the loop.
  struct Condition {
    std::string array;
    std::int64_t shift = 0;
    std::size_t window = 0; // where it was found
    friend bool operator==(const Condition &a, const Condition &b) {
      return a.array == b.array && a.shift == b.shift;
    }
  };
  // What a member is where the condition holds.
  struct Rest {
    bool is_zero = false;
    std::optional<StepReads::Read> copy = {}; // of another, or of its own row before
    std::vector<StepReads::Read> reads = {};  // or made of these
    bool moves = true;                        // or of what changes with the step
    friend bool operator==(const Rest &, const Rest &) = default;
  };

  const TypedSpec &typed(std::size_t k) const { return reads_.typed(k); }

  std::optional<Condition> condition(std::size_t k, NodeId id) const {
    const TypedSpec &spec = typed(k);
    const expr::Node *node = &spec.graph[id];
    if (node->kind == NodeKind::Cast) node = &spec.graph[spec.graph.args(id)[0]];
    const bool says = node->dtype == DType::Bool || is_integer(node->dtype);
    if (node->kind != NodeKind::Input || !says) return std::nullopt;
    const auto &window = spec.inputs[node->payload].window;
    if (!window || window->forms.size() != 1 || window->sum || window->is_gather() ||
        window->pads.size() > 1 || !spec.inputs[window->of].materialised ||
        reads_.is_of_loop(k, window->of) || reads_.recurrence(k).positions == window->of)
      return std::nullopt;
    TypedWindow::Form form = window->forms[0];
    const std::int64_t start = std::exchange(form.start, 0);
    if (!form.is_axis() || !reads_.has_time(k, form)) return std::nullopt;
    std::int64_t before = 0;
    for (const TypedWindow::Pad &pad : window->pads) {
      if (pad.mode != PadMode::Constant || pad.value != ops::Scalar()) return std::nullopt;
      before = pad.before;
    }
    return Condition{spec.inputs[window->of].name, start - before, node->payload};
  }

  // ---- one member

  // What its nodes are: node n stands for same[n].
  struct Seen {
    std::vector<NodeId> same;
    std::vector<bool> zero;
  };

  bool is_step_number(std::size_t k, NodeId id) const {
    const expr::Node &node = typed(k).graph[id];
    if (node.kind == NodeKind::Index) return node.axes.has(*typed(k).time);
    if (node.kind != NodeKind::Input) return false;
    const auto array = std::uint32_t(typed(k).array_of(node.payload));
    return reads_.recurrence(k).positions == array;
  }
  // iota(t) == 999, of the step that comes first: it is run in any case.
  bool is_first_step(std::size_t k, NodeId id) {
    if (!typed(k).graph.is(id, Op::Eq)) return false;
    const Recurrence &loop = reads_.recurrence(k);
    if (loop.backwards && loop.steps < 0) return false;
    const auto args = typed(k).graph.args(id);
    for (const std::size_t a : {0, 1}) {
      const expr::Node &number = typed(k).graph[args[1 - a]];
      if (!is_step_number(k, args[a]) || number.kind != NodeKind::Literal) continue;
      if (ops::as_i64(number.literal) != (loop.backwards ? loop.steps - 1 : 0)) continue;
      return asks_for_first_ = true;
    }
    return false;
  }
  // A row of an array that is 0 at all steps but the one that comes first, as what flows into
  // h[-1]:
  //
  //   let g_h[t, i] = where(extent(t) - 1 == iota(t) && .., .., 0)
  bool is_seed(std::size_t k, const TypedWindow &window) {
    const TypedInput &array = typed(k).inputs[window.of];
    if (!array.materialised || reads_.is_of_loop(k, window.of) || window.sum ||
        window.is_gather() || !window.pads.empty())
      return false;
    const auto let = std::ranges::find_if(lets_.first(first_), [&](const auto &one) {
      return one->typed.outputs[0].name == array.name;
    });
    if (let == lets_.begin() + std::ptrdiff_t(first_) || (*let)->recurrence || (*let)->join)
      return false;
    for (std::size_t d = 0; d < window.forms.size(); ++d)
      if (reads_.has_time(k, window.forms[d]))
        return window.forms[d].is_axis() &&
               is_zero_behind((*let)->typed, (*let)->typed.outputs[0].axes[d]) &&
               (asks_for_first_ = true);
    return false;
  }
  // Whether it is 0 but at the position of the axis that comes first.
  bool is_zero_behind(const TypedSpec &let, int axis) const {
    const expr::Graph &graph = let.graph;
    std::vector<bool> zero(graph.size());
    for (std::uint32_t n = 0; n < graph.size(); ++n) {
      const expr::Node &node = graph[NodeId{n}];
      const auto args = graph.args(NodeId{n});
      const auto is_zero = [&](NodeId arg) { return zero[arg.index]; };
      if (node.kind == NodeKind::Literal) zero[n] = node.literal == ops::Scalar();
      if (node.kind == NodeKind::Cast || node.kind == NodeKind::Expand) zero[n] = is_zero(args[0]);
      if (node.kind != NodeKind::Op) continue;
      if (node.op == Op::Add) zero[n] = is_zero(args[0]) && is_zero(args[1]);
      if (node.op == Op::Where)
        zero[n] = is_zero(args[2]) && (is_zero(args[1]) || asks_for_first(graph, args[0], axis));
    }
    return zero[let.outputs[0].value.index];
  }
  bool asks_for_first(const expr::Graph &graph, NodeId condition, int axis) const {
    std::vector<NodeId> open{condition};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      const expr::Node &node = graph[id];
      if (node.kind != NodeKind::Op) continue;
      const auto args = graph.args(id);
      if (node.op == Op::And) open.insert(open.end(), args.begin(), args.end());
      if (node.op == Op::Eq &&
          (is_first(graph, args[0], args[1], axis) || is_first(graph, args[1], args[0], axis)))
        return true;
    }
    return false;
  }
  bool is_first(const expr::Graph &graph, NodeId index, NodeId first, int axis) const {
    const expr::Node &node = graph[index], &at = graph[first];
    if (node.kind != NodeKind::Index || node.axes != expr::AxisSet::of(axis)) return false;
    if (!reads_.recurrence(first_).backwards)
      return at.kind == NodeKind::Literal && ops::as_i64(at.literal) == 0;
    if (at.kind != NodeKind::Op || at.op != Op::Add) return false;
    const auto args = graph.args(first);
    const expr::Node &count = graph[args[0]], &one = graph[args[1]];
    return count.kind == NodeKind::Extent && count.folded == expr::AxisSet::of(axis) &&
           !count.like.given() && std::ranges::equal(graph.args(args[0]), graph.args(index)) &&
           one.kind == NodeKind::Literal && ops::as_i64(one.literal) == -1;
  }
  // Of the condition of a where.
  std::optional<bool> truth(std::size_t k, NodeId id) {
    if (typed(k).graph.is(id, Op::Not)) {
      const std::optional<bool> inner = truth_of(k, typed(k).graph.args(id)[0]);
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    return truth_of(k, id);
  }
  std::optional<bool> truth_of(std::size_t k, NodeId id) {
    if (const auto found = condition(k, id); found && *found == condition_) return true;
    return is_first_step(k, id) ? std::optional(false) : std::nullopt;
  }

  Seen seen(std::size_t k) {
    const expr::Graph &graph = typed(k).graph;
    Seen made{std::vector<NodeId>(graph.size()), std::vector<bool>(graph.size())};
    for (const NodeId id : graph.ids()) {
      const expr::Node &node = graph[id];
      const auto args = graph.args(id);
      const auto zero = [&](NodeId arg) { return made.zero[arg.index]; };
      const auto stands_for = [&](NodeId arg) {
        made.same[id.index] = made.same[arg.index];
        made.zero[id.index] = zero(arg);
      };
      made.same[id.index] = id;
      switch (node.kind) {
      case NodeKind::Literal: made.zero[id.index] = node.literal == ops::Scalar(); break;
      case NodeKind::Input: {
        const auto &window = typed(k).inputs[node.payload].window;
        const auto read = window ? reads_.through(k, *window) : std::nullopt;
        made.zero[id.index] =
            read ? window->pads.empty() && rest(read->let).is_zero : window && is_seed(k, *window);
        break;
      }
      case NodeKind::Op:
        if (node.op == Op::Where) {
          const std::optional<bool> holds = truth(k, args[0]);
          if (holds)
            stands_for(args[*holds ? 1 : 2]);
          else
            made.zero[id.index] = zero(args[1]) && zero(args[2]);
        } else if (node.op == Op::Add && (zero(args[0]) || zero(args[1]))) {
          stands_for(args[zero(args[0]) ? 1 : 0]);
        }
        break;
      case NodeKind::Cast:
      case NodeKind::Expand: made.zero[id.index] = zero(args[0]); break;
      case NodeKind::Fold: {
        const ops::Recipe &recipe = graph.recipe(id);
        made.zero[id.index] = ops::only_op(recipe) == Op::Add && recipe.start[0] == ops::Scalar() &&
                              graph.start_args(id).empty() && zero(args[0]);
        break;
      }
      case NodeKind::Scan:
      case NodeKind::Extent:
      case NodeKind::Index: break;
      }
    }
    return made;
  }

  Rest look(std::size_t k) {
    const Seen seen = this->seen(k);
    const expr::Graph &graph = typed(k).graph;
    const NodeId root = seen.same[typed(k).outputs[0].value.index];
    Rest rest{.is_zero = seen.zero[root.index], .moves = false};
    if (rest.is_zero) return rest;
    if (const auto copy = reads_.element(k, root);
        copy && copy->back <= 1 &&
        typed(copy->let).outputs[0].axes.size() == typed(k).outputs[0].axes.size() &&
        typed(copy->let).outputs[0].dtype == graph[root].dtype &&
        typed(k).outputs[0].dtype == graph[root].dtype) {
      rest.copy = copy;
      return rest;
    }
    std::vector<bool> met(graph.size());
    std::vector<NodeId> open{root};
    while (!open.empty() && !rest.moves) {
      const NodeId id = seen.same[open.back().index];
      open.pop_back();
      if (met[id.index] || seen.zero[id.index]) continue;
      met[id.index] = true;
      const expr::Node &node = graph[id];
      if (node.kind == NodeKind::Index && node.axes.has(*typed(k).time)) rest.moves = true;
      if (node.kind == NodeKind::Input) note(k, node.payload, rest);
      for (const NodeId arg : graph.args(id)) open.push_back(arg);
    }
    return rest;
  }

  void note(std::size_t k, std::size_t input, Rest &rest) const {
    const TypedSpec &spec = typed(k);
    const TypedInput &read = spec.inputs[input];
    const auto of_loop = read.window ? reads_.through(k, *read.window) : std::nullopt;
    if (of_loop) return rest.reads.push_back(*of_loop);
    const auto has_time = [&](const TypedInput &one) {
      return std::ranges::count(one.axis_of_dim, *spec.time) != 0;
    };
    rest.moves = rest.moves || has_time(read);
    if (!read.window) return;
    rest.moves = rest.moves || reads_.is_of_loop(k, read.window->of);
    for (const TypedWindow::Form &form : read.window->forms) {
      rest.moves = rest.moves || reads_.has_time(k, form);
      for (const TypedWindow::Index &index : form.indices)
        rest.moves = rest.moves || has_time(spec.inputs[index.input]);
    }
  }

  // ---- all of them

  Rest &rest(std::size_t k) { return rests_[k - first_]; }

  std::optional<std::int64_t> rests_after() {
    const auto count = std::int64_t(end_ - first_);
    asks_for_first_ = false;
    rests_.assign(std::size_t(count), {});
    for (bool more = true; more;) { // what is 0 is found to be no more than once
      more = false;
      for (std::size_t k = first_; k < end_; ++k) {
        Rest now = look(k);
        more = more || now != rest(k);
        rest(k) = std::move(now);
      }
    }
    std::int64_t lag = 1;
    for (std::size_t k = first_; k < end_; ++k) lag = std::max(lag, reads_.recurrence(k).lag);
    if (!all_stay()) return std::nullopt;
    return count * lag + 1 + asks_for_first_;
  }

  // The row that it is in the end: its own one before where it copies that.
  std::optional<StepReads::Read> origin(std::size_t k) {
    std::optional<StepReads::Read> copy = rest(k).copy;
    for (std::size_t n = first_; copy && copy->back == 0 && n < end_; ++n) {
      if (!rest(copy->let).copy) return copy;
      copy = rest(copy->let).copy;
    }
    return copy;
  }

  // A member stays where it is 0, its own row before, or made of those that stay.
  bool all_stay() {
    std::vector<bool> stays(end_ - first_);
    const auto is_at_rest = [&](std::size_t k) {
      const auto from = origin(k);
      if (rest(k).is_zero || from == StepReads::Read{k, 1}) return true;
      if (from) return bool(stays[from->let - first_]);
      return !rest(k).moves && std::ranges::all_of(rest(k).reads, [&](const auto &read) {
        return bool(stays[read.let - first_]);
      });
    };
    for (bool more = true; more;) {
      more = false;
      for (std::size_t k = first_; k < end_; ++k)
        if (!stays[k - first_] && is_at_rest(k)) more = stays[k - first_] = true;
    }
    return std::ranges::count(stays, false) == 0;
  }

  const StepReads reads_;
  const LetKernels lets_;
  const std::size_t first_, end_;
  Condition condition_;
  std::vector<Rest> rests_; // [member]
  bool asks_for_first_ = false;
};

} // namespace

std::optional<AtRest> at_rest(LetKernels lets, std::size_t first) {
  return RestFinder(lets, first).run();
}

} // namespace broadloom::spec

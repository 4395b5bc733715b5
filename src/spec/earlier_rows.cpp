// See earlier_rows.hpp.
#include "spec/earlier_rows.hpp"

#include "spec/materialise.hpp"

#include <algorithm>

namespace broadloom::spec {
namespace {

using expr::Node;
using expr::NodeId;
using expr::NodeKind;

// An array as it is, whichever axes its dims walk.
struct ArrayRead {
  std::uint32_t array = 0;
  std::vector<int> axes; // [dim]
};

std::optional<ArrayRead> read_of(const TypedSpec &typed, NodeId id) {
  const Node &node = typed.graph[id];
  if (node.kind != NodeKind::Input) return std::nullopt;
  const TypedInput &input = typed.inputs[node.payload];
  if (input.window) {
    const TypedWindow &window = *input.window;
    const bool as_it_is = window.pads.empty() && !window.derived && !window.sum &&
                          std::ranges::all_of(window.forms, &TypedWindow::Form::is_axis);
    if (!as_it_is) return std::nullopt;
    std::vector<int> axes;
    for (const TypedWindow::Form &form : window.forms) axes.push_back(form.terms[0].axis);
    return ArrayRead{window.of, axes};
  }
  const bool may_stretch = std::ranges::count(input.may_stretch, true) != 0;
  return may_stretch ? std::nullopt : std::optional(ArrayRead{node.payload, input.axis_of_dim});
}

std::optional<std::int64_t> integer_of(const TypedSpec &typed, NodeId id) {
  const Node &node = typed.graph[id];
  if (node.kind != NodeKind::Literal || node.dtype != DType::I64) return std::nullopt;
  return ops::as_i64(node.literal);
}

class Finder {
public:
  Finder(LetKernels lets, std::size_t k)
      : lets_(lets), k_(k), typed_(lets[k]->typed), axes_(typed_.outputs[0].axes) {}

  std::optional<EarlierRows> run() const {
    const Materialised &let = *lets_[k_];
    const NodeId value = typed_.outputs[0].value;
    if (let.recurrence || let.join || !typed_.graph.is(value, ops::Op::Where)) return std::nullopt;
    const auto args = typed_.graph.args(value);
    const Node &later = typed_.graph[args[2]];
    if (later.kind != NodeKind::Input) return std::nullopt;
    const auto found = loop_seen(typed_.inputs[later.payload]);
    if (!found || !is_start_of(found->loop, found->back, args[0]) ||
        !begins_with(found->loop, args[1]))
      return std::nullopt;
    return found;
  }

private:
  const Recurrence &recurrence(std::size_t loop) const { return *lets_[loop]->recurrence; }

  // pad(u, 0: (c, 0))[t, i], or pad(u, 0: (0, c))[t + c, i] where u goes backwards.
  std::optional<EarlierRows> loop_seen(const TypedInput &input) const {
    if (!input.window || !typed_.inputs[input.window->of].materialised) return std::nullopt;
    const TypedWindow &window = *input.window;
    std::size_t loop = 0;
    while (loop < k_ && lets_[loop]->typed.outputs[0].name != typed_.inputs[window.of].name) ++loop;
    if (loop == k_ || !lets_[loop]->recurrence || window.derived || window.sum ||
        window.pads.size() != 1 || window.forms.size() != axes_.size())
      return std::nullopt;
    const Recurrence &of = recurrence(loop);
    const TypedWindow::Pad &pad = window.pads[0];
    const std::int64_t back = of.backwards ? pad.after : pad.before;
    const bool is_shift = std::size_t(pad.dim) == of.dim && pad.mode == PadMode::Constant &&
                          (of.backwards ? pad.before : pad.after) == 0 && back >= 1 &&
                          back <= of.lag;
    if (!is_shift) return std::nullopt;
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      TypedWindow::Form form = window.forms[d];
      if (of.backwards && d == of.dim) form.start -= back;
      if (!form.is_axis() || form.terms[0].axis != axes_[d]) return std::nullopt;
    }
    return EarlierRows{loop, back};
  }

  // iota(t) < c, or iota(t) >= extent(t) - c
  bool is_start_of(std::size_t loop, std::int64_t back, NodeId condition) const {
    const bool backwards = recurrence(loop).backwards;
    if (!typed_.graph.is(condition, backwards ? ops::Op::Ge : ops::Op::Lt)) return false;
    const auto args = typed_.graph.args(condition);
    const auto time = expr::AxisSet::of(axes_[recurrence(loop).dim]);
    const Node &step = typed_.graph[args[0]];
    const bool has_its_steps = // and not as many as the padded array has
        std::ranges::any_of(typed_.graph.args(args[0]), [&](NodeId lent) {
          const std::optional<ArrayRead> read = read_of(typed_, lent);
          return read && read->axes == axes_ &&
                 typed_.inputs[read->array].name == lets_[loop]->typed.outputs[0].name;
        });
    if (step.kind != NodeKind::Index || step.axes != time || !has_its_steps) return false;
    if (!backwards) return integer_of(typed_, args[1]) == back;
    if (!typed_.graph.is(args[1], ops::Op::Sub)) return false;
    const auto less = typed_.graph.args(args[1]);
    const Node &steps = typed_.graph[less[0]];
    return steps.kind == NodeKind::Extent && steps.folded == time &&
           typed_.graph.like(steps).empty() && integer_of(typed_, less[1]) == back;
  }

  bool begins_with(std::size_t loop, NodeId value) const {
    const Recurrence &of = recurrence(loop);
    const Node &node = typed_.graph[value];
    if (!of.start) return is_same_number(node, ops::Scalar{}, node.dtype);
    const TypedSpec &start = lets_[*of.start]->typed;
    const Node &begun = start.graph[start.outputs[0].value];
    if (begun.kind == NodeKind::Literal) return is_same_number(node, begun.literal, begun.dtype);
    const std::optional<ArrayRead> here = read_of(typed_, value);
    if (!here) return false;
    std::vector<int> dims; // [dim of the start]: its axis here
    for (const std::size_t dim : of.start_dims) dims.push_back(axes_[dim]);
    const TypedInput &array = typed_.inputs[here->array];
    if (array.materialised && array.name == start.outputs[0].name) return here->axes == dims;
    const std::optional<ArrayRead> there = read_of(start, start.outputs[0].value);
    if (!there || start.inputs[there->array].name != array.name ||
        there->axes.size() != here->axes.size() || there->axes.size() != dims.size())
      return false;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const auto dim =
          std::ranges::find(start.outputs[0].axes, there->axes[d]) - start.outputs[0].axes.begin();
      if (std::size_t(dim) == dims.size() || here->axes[d] != dims[std::size_t(dim)]) return false;
    }
    return true;
  }

  bool is_same_number(const Node &node, const ops::Scalar &number, DType dtype) const {
    return node.kind == NodeKind::Literal && node.dtype == dtype && node.literal == number;
  }

  const LetKernels lets_;
  const std::size_t k_;
  const TypedSpec &typed_;
  const std::vector<int> &axes_;
};

} // namespace

std::optional<EarlierRows> earlier_rows(LetKernels lets, std::size_t k) {
  return Finder(lets, k).run();
}

} // namespace broadloom::spec

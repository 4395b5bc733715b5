// Lets that read themselves, or each other, as kernels of one step (recurrence.hpp).
#include "spec/loop_splitter.hpp"

namespace broadloom::spec {

// All positions that elements say are looked up before the first step.
void LoopSplitter::check_positions(const ExprNode &node) const {
  if (!node.input->window) return;
  for (const AffineForm &form : node.input->window->forms)
    for (const AffineForm::Index &index : form.indices)
      for (const std::string &let : lets_read(*index.read))
        if (names_.contains(let))
          support::fail("E0032",
                        node.input->name + " takes its positions from let '" + let +
                            "', which is computed step by step together with it",
                        shown(node.where),
                        "let no step of '" + let + "' need what is read there, so that '" + let +
                            "' is there before");
}

// Whether one position of time after the other can be computed by itself, and whether the extents
// are known.
void LoopSplitter::check_step(std::size_t m, const std::vector<TypedSpec> &steps) const {
  const TypedSpec &typed = steps[m];
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
                loop_.members.size() == 1
                    ? "compute that before, in a let of its own"
                    : "compute that before, in a let of its own; or read earlier steps of another "
                      "loop as an array that is there: pad(h, 0: (1, 0))[t]");
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
    bool given = d == member.dim ? loop_.count >= 0 : start.let && !start.dims.empty();
    for (std::size_t other = 0; other < steps.size() && !given; ++other) // they may give it
      given = d != member.dim ? other > 0 || gives(m, typed, d)
                              : gives(other, steps[other], loop_.members[other].dim);
    if (given) continue;
    const std::string name = typed.axes[std::size_t(axis)].name;
    support::fail("E0031",
                  "nothing gives axis '" + name + "' of let '" + member.let + "' its extent",
                  shown(let_of(m).where),
                  d == member.dim ? "say how many steps there are, as in " + name + " < 100"
                                  : "let an input have the axis, or begin the let `from` an array");
  }
}

// Whether what a step reads beside the loop says how long dim d of its let is.
bool LoopSplitter::gives(std::size_t m, const TypedSpec &typed, std::size_t d) const {
  const TimeLoop::Member &member = loop_.members[m];
  const int axis = typed.outputs[0].axes[d];
  return std::ranges::any_of(typed.inputs, [&](const TypedInput &input) {
    const bool of_loop =
        input.window && member_of(typed.inputs[input.window ? input.window->of : 0].name);
    if (!of_loop) return !member_of(input.name) && std::ranges::count(input.axis_of_dim, axis) != 0;
    // p[t - 1, i, t]: the step is a position of another dim.
    for (std::size_t f = 0; d == member.dim && f < input.window->forms.size(); ++f)
      if (f != d &&
          std::ranges::count(input.window->forms[f].terms, axis, &TypedWindow::Term::axis) != 0)
        return true;
    return false;
  });
}

bool LoopSplitter::member_of(const std::string &input) const {
  return std::ranges::any_of(splitter_.before_,
                             [&](const auto &decl) { return decl->name == input; });
}

void Splitter::materialise_loop(const std::vector<std::string> &names) {
  LoopSplitter(*this, names).run();
}

} // namespace broadloom::spec

// See early_end.hpp.
#include "spec/early_end.hpp"

#include "spec/inputs_of.hpp"
#include "spec/step_reads.hpp"

#include <algorithm>

namespace broadloom::spec {
namespace {

using expr::NodeId;
using expr::NodeKind;

class EndFinder {
public:
  EndFinder(LetKernels lets, std::size_t first)
      : reads_(lets, first), first_(reads_.first()), end_(reads_.end()) {}

  std::optional<EarlyEnd> run() {
    std::optional<EarlyEnd> found;
    for (std::size_t k = first_; k < end_; ++k) {
      if (!stays_true(k)) continue;
      const EarlyEnd end = ended_by(k);
      if (!end.moves) return end;
      if (!found) found = end;
    }
    return found;
  }

private:
  const TypedSpec &typed(std::size_t k) const { return reads_.typed(k); }
  const Recurrence &recurrence(std::size_t k) const { return reads_.recurrence(k); }

  // Whether a node of let k is `of` at the step before, and elsewhere at its own position.
  bool is_before(std::size_t k, NodeId id, std::size_t of) const {
    return reads_.element(k, id) == StepReads::Read{of, 1} &&
           (of == k || typed(of).outputs[0].axes.size() == 1);
  }

  // let done[t] = done[t - 1] || ..
  bool stays_true(std::size_t k) const {
    const TypedOutput &output = typed(k).outputs[0];
    if (output.dtype != DType::Bool || output.axes.size() != 1 ||
        !typed(k).graph.is(output.value, ops::Op::Or))
      return false;
    return std::ranges::any_of(typed(k).graph.args(output.value),
                               [&](NodeId arg) { return is_before(k, arg, k); });
  }

  // let u[t, i] = where(done[t - 1], u[t - 1, i], ..)
  bool holds_still(std::size_t k, std::size_t done) const {
    const NodeId value = typed(k).outputs[0].value;
    if (!typed(k).graph.is(value, ops::Op::Where)) return false;
    const auto args = typed(k).graph.args(value);
    if (typed(k).graph.is(args[0], ops::Op::Not))
      return is_before(k, typed(k).graph.args(args[0])[0], done) && is_before(k, args[2], k);
    return is_before(k, args[0], done) && is_before(k, args[1], k);
  }

  // Lets of a step come in the order in which they read each other.
  EarlyEnd ended_by(std::size_t done) const {
    EarlyEnd end{done};
    std::vector<std::int64_t> rests(end_ - first_);
    for (std::size_t k = first_; k < end_; ++k) {
      if (k == done || holds_still(k, done)) continue;
      const std::optional<std::int64_t> later = rests_later(k, rests);
      // Whether it is over is asked so many steps back, where the row is to be kept.
      if (!later || *later > recurrence(done).lag) {
        end.moves = k;
        return end;
      }
      rests[k - first_] = *later;
      end.more = std::max(end.more, *later);
    }
    return end;
  }

  // So many steps behind what holds still let k does, too, as it is made of lets of the loop and of
  // what hangs on no step.
  std::optional<std::int64_t> rests_later(std::size_t k,
                                          const std::vector<std::int64_t> &rests) const {
    const TypedSpec &step = typed(k);
    if (recurrence(k).lag > 0) return std::nullopt;
    for (const expr::Node &node : step.graph.nodes())
      if (node.kind == NodeKind::Index && node.axes.has(*step.time)) return std::nullopt;
    std::int64_t later = 0;
    const std::vector<bool> read = inputs_of(step, std::span(&step.outputs[0].value, 1)).read;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (!read[i]) continue;
      const TypedInput &input = step.inputs[i];
      const auto of_loop = input.window ? reads_.through(k, *input.window) : std::nullopt;
      if (of_loop) {
        later = std::max(later, rests[of_loop->let - first_] + of_loop->back);
        continue;
      }
      if (std::ranges::count(input.axis_of_dim, *step.time) != 0) return std::nullopt;
      if (!input.window) continue;
      if (reads_.is_of_loop(k, input.window->of)) return std::nullopt;
      for (const TypedWindow::Form &form : input.window->forms) {
        if (reads_.has_time(k, form)) return std::nullopt;
        for (const TypedWindow::Index &index : form.indices)
          if (std::ranges::count(step.inputs[index.input].axis_of_dim, *step.time) != 0)
            return std::nullopt;
      }
    }
    return later;
  }

  const StepReads reads_;
  const std::size_t first_, end_;
};

} // namespace

std::optional<EarlyEnd> early_end(LetKernels lets, std::size_t first) {
  return EndFinder(lets, first).run();
}

} // namespace broadloom::spec

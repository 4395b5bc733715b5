// See step_reads.hpp.
#include "spec/step_reads.hpp"

#include <algorithm>
#include <utility>

namespace broadloom::spec {

bool StepReads::is_of_loop(std::size_t k, std::uint32_t array) const {
  return std::ranges::count(recurrence(k).reads, array, &Recurrence::Read::input) != 0;
}

bool StepReads::has_time(std::size_t k, const TypedWindow::Form &form) const {
  return std::ranges::count(form.terms, *typed(k).time, &TypedWindow::Term::axis) != 0;
}

std::optional<StepReads::Read> StepReads::through(std::size_t k, const TypedWindow &window) const {
  const std::vector<Recurrence::Read> &reads = recurrence(k).reads;
  const auto read = std::ranges::find(reads, window.of, &Recurrence::Read::input);
  if (read == reads.end() || window.derived || window.sum || window.is_gather())
    return std::nullopt;
  const Recurrence &of = recurrence(read->let);
  for (std::size_t d = 0; d < window.forms.size(); ++d)
    if (d != of.dim && has_time(k, window.forms[d])) return std::nullopt;
  TypedWindow::Form form = window.forms[of.dim];
  const std::int64_t start = std::exchange(form.start, 0);
  if (!form.is_axis() || !has_time(k, form) || window.pad_of(int(of.dim)) != nullptr)
    return std::nullopt;
  return Read{read->let, of.backwards ? start : of.lag - start};
}

std::optional<StepReads::Read> StepReads::element(std::size_t k, expr::NodeId id) const {
  const expr::Node &node = typed(k).graph[id];
  if (node.kind != expr::NodeKind::Input) return std::nullopt;
  const auto &window = typed(k).inputs[node.payload].window;
  const std::optional<Read> read = window ? through(k, *window) : std::nullopt;
  if (!read || !window->pads.empty()) return std::nullopt;
  const std::vector<int> &own = typed(k).outputs[0].axes;
  const std::size_t own_time = recurrence(k).dim, time = recurrence(read->let).dim;
  std::size_t at = 0; // of the dims of let k
  for (std::size_t d = 0; d < window->forms.size(); ++d) {
    if (d == time) continue;
    at += at == own_time;
    if (at >= own.size() || !window->forms[d].is_axis() ||
        window->forms[d].terms[0].axis != own[at])
      return std::nullopt;
    ++at;
  }
  return read;
}

} // namespace broadloom::spec

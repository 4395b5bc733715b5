// Windows of one array that lie some rows apart: see loop::Buffer::shift.
//
// Problem: x[i - 1, j] + x[i, j] + x[i + 1, j] loads three rows at each i, two of which the turns
// before have loaded.
// Method: buffers tell of which other one they are rows, so that several rows that run at once
// (unroll-and-jam) load each row once. Here two rows load four in place of six.
#include "plan/lowering.hpp"
#include "plan/thresholds.hpp"

#include <algorithm>

namespace broadloom::plan {

namespace {

using Form = spec::TypedWindow::Form;

Form form_of(const spec::TypedInput &input, std::size_t dim) {
  if (input.window) return input.window->forms[dim];
  Form form;
  form.terms = {{input.axis_of_dim[dim], 1}};
  return form;
}

std::int64_t times(const Form &form, int axis) {
  const auto term = std::ranges::find(form.terms, axis, &spec::TypedWindow::Term::axis);
  return term == form.terms.end() ? 0 : term->times;
}

std::vector<BufferId> loaded(const loop::Program &program, const loop::Loop &loop) {
  std::vector<BufferId> loads;
  for (const Stmt &s : loop.body)
    if (s.kind == StmtKind::Let && program[s.value].kind == ValueKind::Load)
      loads.push_back(program[s.value].buffer);
  return loads;
}

// By how many positions along the axis an input reads what another reads; 0: it never does.
int shift_along(const spec::TypedSpec &spec, std::size_t of, std::size_t by, int axis) {
  const spec::TypedInput &a = spec.inputs[of], &b = spec.inputs[by];
  if (spec.array_of(of) != spec.array_of(by) || a.dtype != b.dtype) return 0;
  const auto has_pads = [](const spec::TypedInput &input) {
    return input.window && !input.window->pads.empty();
  };
  if (has_pads(a) != has_pads(b) || (has_pads(a) && a.window->pads != b.window->pads)) return 0;
  const std::size_t dims = spec.inputs[spec.array_of(of)].axis_of_dim.size();
  std::int64_t shift = 0;
  for (std::size_t dim = 0; dim < dims; ++dim) {
    const Form one = form_of(a, dim), other = form_of(b, dim);
    if (!are_same_but_for_start(one, other) || one.divisor != 1 || !one.indices.empty() ||
        !other.indices.empty())
      return 0;
    const std::int64_t step = times(one, axis), apart = other.start - one.start;
    if (step == 0 ? apart != 0 : apart % step != 0) return 0;
    if (step == 0) continue;
    if (shift != 0) return 0; // several dims go along the axis
    shift = apart / step;
  }
  return std::abs(shift) <= most_shift ? int(shift) : 0;
}

} // namespace

void Lowering::find_shifts() {
  if (request_.generic) return;
  for (const loop::Loop &rows : plan_.program.loops) {
    const std::optional<loop::LoopId> only = loop::only_loop(rows.body);
    const Group &group = group_of_axis_[rows.axis.index];
    if (!only || !plan_.program[*only].vector || group.size() != 1) continue;
    const std::optional<int> axis = request_.resolved[group[0]].axis;
    if (!axis) continue;
    const std::vector<BufferId> loads = loaded(plan_.program, plan_.program[*only]);
    if (loads.size() < fewest_shared_loads) continue;
    std::vector<BufferId> first; // of those that show the same rows
    for (const BufferId id : loads) {
      loop::Buffer &buffer = plan_.program.buffers[id.index];
      // What comes from memory is slower than what the nearest cache gives twice.
      if (buffer.role != Role::Input || buffer.shift) continue;
      const Reading &reading = schedule_.reads[buffer.operand];
      if (!reading.stays_near || !reading.exceeds_nearest_cache) continue;
      const auto shift = [&](BufferId of) {
        return plan_.program[of].walks == buffer.walks
                   ? shift_along(request_.spec, plan_.program[of].operand, buffer.operand, *axis)
                   : 0;
      };
      const auto of = std::ranges::find_if(first, [&](BufferId of) { return shift(of) != 0; });
      if (of == first.end())
        first.push_back(id);
      else
        buffer.shift = {*of, rows.axis, shift(*of)};
    }
  }
}

} // namespace broadloom::plan

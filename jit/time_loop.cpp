// See time_loop.hpp.
#include "jit/time_loop.hpp"

#include "array/copy.hpp"
#include "jit/kernel.hpp"
#include "kernel/positions.hpp"
#include "reference/reference.hpp"

#include <algorithm>
#include <cstring>

namespace broadloom::jit {
namespace {

// In place of an array of which only windows are read: they see it, and it is written while the step reads them.
AnyView stand_in(const AnyView &array) {
  alignas(64) static constinit char nothing[64] = {};
  AnyView view = array;
  view.data = nothing;
  for (int d = 0; d < view.layout.rank; ++d) {
    view.layout.extents[std::size_t(d)] = 1;
    view.layout.strides[std::size_t(d)] = 0;
  }
  return view;
}

} // namespace

TimeLoop::TimeLoop(const Lets &lets, std::shared_ptr<const Lets::Layouts> layouts,
                   std::size_t first, kernel::Operands inputs, std::span<const AnyView> views,
                   const LoopsBefore &before, kernel::WindowedOperands::How how)
    : lets_(lets), layouts_(std::move(layouts)), first_(first), views_(views.begin(), views.end()) {
  for (const AnyView *input : inputs) inputs_.push_back(*input);
  const spec::Recurrence &loop = *lets.specs()[first]->recurrence;
  steps_ = views_[first].layout.extents[loop.dim];
  for (std::size_t k = first; k < first + loop.count; ++k)
    add_step(k, lets.operands(k, inputs, views_), how);
  for (const Step &step : each_)
    for (const Again &again : step.again) {
      const std::size_t loop = lets.specs()[again.read.let]->recurrence->first;
      if (before[loop] && std::ranges::count(followed_, before[loop]) == 0)
        followed_.push_back(before[loop]);
    }
}

void TimeLoop::add_step(std::size_t k, kernel::Operands operands,
                        kernel::WindowedOperands::How how) {
  Step &step = each_.emplace_back();
  step.kernel = lets_.kernels()[k];
  step.recurrence = &*lets_.specs()[k]->recurrence;
  const spec::TypedSpec &typed = step.kernel->typed();
  kernel::check_operands(typed, operands.first(typed.given_inputs()));
  how.by_parts = step.kernel->setup().windows().by_parts;
  if (how.elements == kernel::WindowedOperands::Elements::Planned) // a step fills nothing by itself
    how.elements = kernel::WindowedOperands::Elements::NotThere;
  for (const spec::Recurrence::Read &read : step.recurrence->reads)
    if (const std::int64_t rows = kept_rows(read.let); rows > 0)
      how.kept_rows.push_back({read.input, lets_.specs()[read.let]->recurrence->dim, rows});
  for (std::size_t i = 0; i < typed.given_inputs(); ++i)
    if (const auto read = lets_.computed_again(k, i); read && layouts_->segment[read->let] > 0) {
      step.again.push_back({i, *read});
      how.kept_rows.push_back(
          {i, lets_.specs()[read->let]->recurrence->dim, kept_rows(read->let), read->first});
    }
  step.windowed = std::make_unique<const kernel::WindowedOperands>(typed, operands,
                                                                   step.kernel->helpers(), how);
  if (step.recurrence->positions) positions_.push_back(*operands[*step.recurrence->positions]);
  step.kernel->note_windows(*step.windowed);
  for (std::size_t c = 0; c < step.windowed->calls(); ++c) {
    const kernel::Operands part = step.windowed->call(c);
    step.kernels.push_back(&step.kernel->subs().of_part(step.windowed->part(c)));
    std::vector<Operand> &made = step.parts.emplace_back();
    for (std::size_t i = 0; i < part.size(); ++i)
      made.push_back(operand(step, step.kernels.back()->typed(), i, *part[i], operands));
  }
}

// `typed` is of the part, `given` are those of the step without windows.
TimeLoop::Operand TimeLoop::operand(const Step &step, const spec::TypedSpec &typed,
                                    std::size_t index, const AnyView &whole,
                                    const kernel::Operands given) const {
  Operand operand{whole};
  Layout &layout = operand.view.layout;
  const bool is_output = index >= typed.inputs.size();
  const std::vector<int> &axes =
      is_output ? typed.outputs[0].axes : typed.inputs[index].axis_of_dim;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (axes[d] != *typed.time) continue;
    if (layout.extents[d] != 1)
      operand.move = layout.strides[d] * std::int64_t(size_of(whole.dtype));
    layout.extents[d] = 1;
  }
  const std::size_t array = is_output ? index : typed.array_of(index);
  for (const spec::Recurrence::Read &read : step.recurrence->reads) {
    if (read.input != array) continue;
    if (array == index) { // windows see it
      operand.view = stand_in(operand.view);
      operand.move = 0;
      continue;
    }
    const std::size_t dim = lets_.specs()[read.let]->recurrence->dim;
    operand.kept_rows = kept_rows(read.let);
    operand.first_row = std::int64_t(kernel::start_of(
        typed.inputs[index].window->forms[dim], given[array]->layout.extents[dim],
        [&](std::uint32_t input, std::size_t d) { return given[input]->layout.extents[d]; }));
    if (operand.kept_rows == 0 || operand.move == 0 ||
        kernel::is_guarded(*typed.inputs[index].window))
      continue;
    const std::int64_t all = operand.move;
    operand.move = given[array]->layout.strides[dim] * std::int64_t(size_of(whole.dtype));
    operand.aside = all - operand.move;
  }
  for (const Again &again : step.again) {
    if (again.input != array || array == index) continue;
    const std::size_t dim = lets_.specs()[again.read.let]->recurrence->dim;
    operand.kept_rows = kept_rows(again.read.let);
    operand.first_row = again.read.first + typed.inputs[index].window->forms[dim].start;
  }
  if (is_output) {
    operand.kept_rows = kept_rows(first_ + each_.size() - 1);
    operand.first_row = step.recurrence->backwards ? 0 : step.recurrence->lag;
  }
  return operand;
}

void TimeLoop::prepare() const {
  for (const Step &step : each_)
    for (std::size_t p = 0; p < step.parts.size(); ++p) {
      std::vector<const AnyView *> operands;
      for (const Operand &operand : step.parts[p]) operands.push_back(&operand.view);
      step.kernels[p]->bind(operands, step.windowed->lies(p), Use::Once);
    }
}

// Where row `row` of the array lies that begins with the rows of the start.
std::int64_t TimeLoop::place_of_row(std::size_t k, std::int64_t row) const {
  const std::int64_t kept = kept_rows(k);
  return kept > 0 ? row % kept : row;
}

AnyView TimeLoop::with_start(std::size_t k) const {
  const spec::Recurrence &loop = *lets_.specs()[k]->recurrence;
  AnyView whole =
      array::rows_of(views_[k], loop.dim, loop.backwards ? 0 : -loop.lag, steps_ + loop.lag);
  return whole;
}

void TimeLoop::fill_start(std::size_t k, std::int64_t row) const {
  const spec::Recurrence &loop = *lets_.specs()[k]->recurrence;
  const AnyView to = array::rows_of(with_start(k), loop.dim, place_of_row(k, row), 1);
  AnyView from = to;
  for (int d = 0; d < from.layout.rank; ++d) from.layout.strides[std::size_t(d)] = 0;
  alignas(16) char zero[16] = {};
  from.data = zero;
  if (loop.start) {
    const AnyView &start = views_[*loop.start];
    from.data = start.data;
    for (std::size_t d = 0; d < loop.start_dims.size(); ++d)
      from.layout.strides[loop.start_dims[d]] = start.layout.strides[d];
  }
  array::copy_elements(from, to.data, to.layout);
  kernel::record(calls::Step::Kind::Start, from, to);
}

// Row `row` of the array of let k is there: copies with borders get it, too.
void TimeLoop::copy_borders(std::size_t k, std::int64_t row) const {
  for (const Step &step : each_)
    for (const spec::Recurrence::Read &read : step.recurrence->reads) {
      const spec::Recurrence &of = *lets_.specs()[read.let]->recurrence;
      if (read.let == k && row < steps_ + read.more)
        step.windowed->copy_rows_again(read.input, of.dim, place_of_row(k, row), 1);
    }
}

void TimeLoop::begin(Copies copies) const {
  if (copies == Copies::Again)
    for (const Step &step : each_) step.windowed->copy_again();
  for (const AnyView &positions : positions_) {
    for (std::int64_t t = 0; t < steps_; ++t) static_cast<std::int64_t *>(positions.data)[t] = t;
    kernel::record(calls::Step::Kind::Count, {}, positions);
  }
  const auto each_row = [&](const auto &take) {
    for (std::size_t k = first_; k < first_ + each_.size(); ++k) {
      const spec::Recurrence &loop = *lets_.specs()[k]->recurrence;
      for (std::int64_t c = 0; c < loop.lag; ++c) take(k, loop.backwards ? steps_ + c : c);
    }
  };
  each_row([&](std::size_t k, std::int64_t row) { fill_start(k, row); });
  each_row([&](std::size_t k, std::int64_t row) { copy_borders(k, row); });
}

TimeLoop::Calls TimeLoop::calls() const {
  Calls calls(each_.size());
  for (std::size_t m = 0; m < each_.size(); ++m)
    for (const std::vector<Operand> &part : each_[m].parts) {
      Call &call = calls[m].emplace_back();
      for (const Operand &operand : part) call.views.push_back(operand.view);
      for (const AnyView &view : call.views) call.operands.push_back(&view);
    }
  return calls;
}

std::int64_t TimeLoop::position(std::int64_t n) const {
  return each_[0].recurrence->backwards ? steps_ - 1 - n : n;
}

void TimeLoop::step(std::int64_t n, Calls &calls, const Watch &watch) const {
  const std::int64_t t = position(n);
  for (std::size_t m = 0; m < each_.size(); ++m) {
    const Step &step = each_[m];
    for (std::size_t p = 0; p < step.parts.size(); ++p) {
      Call &call = calls[m][p];
      for (std::size_t i = 0; i < call.views.size(); ++i)
        call.views[i].data = step.parts[p][i].at(t);
      kernel::record_run(step.kernels[p]->typed(), step.kernel->typed().name, call.operands);
      step.kernels[p]->run_windowed(call.operands, step.windowed->lies(p));
      if (watch) watch(first_ + m, t, call.views.back());
    }
    const bool backwards = step.recurrence->backwards;
    copy_borders(first_ + m, backwards ? t : t + step.recurrence->lag);
  }
}

void TimeLoop::run(Copies copies, const Watch &watch) const {
  if (element_count(views_[first_].layout) == 0 && each_.size() == 1) return;
  if (each_[0].kernel->setup().engine == Engine::reference) return run_reference(watch);
  begin(copies);
  Calls made = calls();
  for (std::int64_t n = 0; n < steps_; ++n) {
    if (segment() > 0 && n % segment() == 0) save(n);
    bring_what_is_read(position(n));
    step(n, made, watch);
  }
  if (segment() > 0) save_last();
}

std::int64_t TimeLoop::row_before(std::size_t k, std::int64_t n, std::int64_t c) const {
  return (lets_.specs()[k]->recurrence->backwards ? steps_ - n : n) + c;
}

// What the n-th step goes on from.
void TimeLoop::save(std::int64_t n) const {
  for (std::size_t k = first_; k < first_ + each_.size(); ++k) {
    const spec::Recurrence &loop = *lets_.specs()[k]->recurrence;
    for (std::int64_t c = 0; c < loop.lag; ++c) {
      const AnyView from =
          array::rows_of(with_start(k), loop.dim, place_of_row(k, row_before(k, n, c)), 1);
      const AnyView to =
          array::rows_of(lets_.checkpoints(k, views_), loop.dim, n / segment() * loop.lag + c, 1);
      array::copy_elements(from, to.data, to.layout);
    }
    kernel::record(calls::Step::Kind::Save, with_start(k), lets_.checkpoints(k, views_));
  }
}

void TimeLoop::save_last() const {
  for (std::size_t k = first_; k < first_ + each_.size(); ++k) {
    const spec::Recurrence &loop = *lets_.specs()[k]->recurrence;
    const std::int64_t row = loop.backwards ? 0 : steps_ - 1 + loop.lag;
    const AnyView from = array::rows_of(with_start(k), loop.dim, place_of_row(k, row), 1);
    const AnyView &rows = lets_.checkpoints(k, views_);
    const AnyView to = array::rows_of(rows, loop.dim, rows.layout.extents[loop.dim] - 1, 1);
    array::copy_elements(from, to.data, to.layout);
  }
  there_ = std::max<std::int64_t>(0, steps_ - segment());
}

bool TimeLoop::bring(std::int64_t t) const {
  const std::int64_t last = t + lets_.last_step_read(first_);
  const std::int64_t n = std::clamp<std::int64_t>(
      each_[0].recurrence->backwards ? steps_ - 1 - last : last, 0, steps_ - 1);
  if (n >= there_ && n < there_ + segment()) return false;
  there_ = n - n % segment();
  const AnyView rows = with_start(first_);
  kernel::record(calls::Step::Kind::Again, rows, rows); // all until the next of them
  for (std::size_t k = first_; k < first_ + each_.size(); ++k) {
    const spec::Recurrence &loop = *lets_.specs()[k]->recurrence;
    for (std::int64_t c = 0; c < loop.lag; ++c) {
      const std::int64_t row = row_before(k, there_, c);
      const AnyView from = array::rows_of(lets_.checkpoints(k, views_), loop.dim,
                                          there_ / segment() * loop.lag + c, 1);
      const AnyView to = array::rows_of(with_start(k), loop.dim, place_of_row(k, row), 1);
      array::copy_elements(from, to.data, to.layout);
      copy_borders(k, row);
    }
  }
  Calls made = calls();
  for (std::int64_t m = there_; m < std::min(there_ + segment(), steps_); ++m) step(m, made, {});
  kernel::record(calls::Step::Kind::Again, rows, rows);
  return true;
}

void TimeLoop::bring_what_is_read(std::int64_t t) const {
  for (const std::shared_ptr<const TimeLoop> &loop : followed_) {
    if (!loop->bring(t)) continue;
    for (const Step &step : each_)
      for (const Again &again : step.again) {
        const spec::Recurrence &of = *lets_.specs()[again.read.let]->recurrence;
        if (of.first == loop->first_)
          step.windowed->copy_rows_again(std::uint32_t(again.input), of.dim, 0,
                                         kept_rows(again.read.let));
      }
  }
}

void TimeLoop::run_reference(const Watch &watch) const {
  const std::vector<Array> made = reference::evaluate_loop(
      lets_.specs(), first_, inputs_, std::span(views_).first(first_),
      each_[0].kernel->setup().options.cancel.get(), each_[0].kernel->setup().threads_now());
  for (std::size_t m = 0; m < made.size(); ++m) {
    const AnyView to = with_start(first_ + m);
    array::copy_elements(made[m], to.data, to.layout);
  }
  const bool backwards = each_[0].recurrence->backwards;
  for (std::int64_t n = 0; watch && n < steps_; ++n)
    for (std::size_t m = 0; m < made.size(); ++m) {
      const std::int64_t t = backwards ? steps_ - 1 - n : n;
      watch(first_ + m, t, array::rows_of(views_[first_ + m], each_[m].recurrence->dim, t, 1));
    }
}

} // namespace broadloom::jit

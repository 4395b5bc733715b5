// See run_call.hpp.
#include "jit/call/run_call.hpp"

#include "array/copy.hpp"
#include "jit/call/call_run.hpp"
#include "jit/call/choose_call.hpp"
#include "jit/call/run_tiles.hpp"
#include "jit/nest/call_memory.hpp"
#include "jit/runtime/threads.hpp"
#include "kernel/check.hpp"
#include "kernel/gather.hpp"
#include "kernel/scatter.hpp"
#include "reference/reference.hpp"

#include <algorithm>
#include <atomic>
#include <set>

namespace broadloom::jit {
namespace {

using namespace act;
using calls::Step;

// Once the call is cancelled no further task is begun, and nothing reads what is left undone.
kernel::RunTasks tasks_of(const Setup &setup) {
  return [&setup](std::int64_t count, const std::function<void(std::int64_t)> &task) {
    const runtime::CancelFlag cancel = setup.options.cancel.get();
    std::atomic<bool> is_left{false};
    runtime::run_tasks(setup.workers_now(), count, [&](std::int64_t k) {
      if (runtime::is_cancelled(cancel)) [[unlikely]]
        is_left.store(true, std::memory_order_relaxed);
      else
        task(k);
    });
    if (is_left.load()) setup.fail_cancelled();
  };
}

// Memory that is another's, as an array.
Array borrowed(const AnyView &view) {
  return Array(std::shared_ptr<void>(), view.dtype, view.data, view.layout);
}

// Whether a gather takes positions, its own or those that these come from, from lets.
bool computes_positions(const spec::TypedSpec &spec, std::size_t window) {
  for (const spec::TypedWindow::Form &form : spec.inputs[window].window->forms)
    for (const spec::TypedWindow::Index &index : form.indices)
      if (spec.inputs[spec.array_of(index.input)].materialised ||
          (spec.inputs[index.input].window && computes_positions(spec, index.input)))
        return true;
  return false;
}

// For calls::Recorder.
calls::Operand recorded(const spec::TypedSpec &spec, const std::vector<int> &axes,
                        const AnyView &view, bool is_step = false) {
  calls::Operand made{view, {}};
  for (const int axis : axes)
    made.axes.push_back(is_step && axis == spec.time ? "" : spec.axes[std::size_t(axis)].name);
  return made;
}

// Where each array of a plan begins.
std::vector<char *> arrays_of(const CallPlan &plan, kernel::Operands call, char *memory) {
  std::vector<char *> arrays;
  arrays.reserve(call.size() + plan.arrays.size());
  for (const AnyView *view : call)
    arrays.push_back(view != nullptr ? static_cast<char *>(view->data) : nullptr);
  for (const std::int64_t at : plan.arrays) arrays.push_back(memory + at);
  return arrays;
}

} // namespace

void CallRun::run(const LetWatch &watch) {
  watch_ = &watch;
  has_borders_ = !ready_.empty() && plan_.copies_stay;
  if (plan_.lets &&
      (watch || recorder_ != nullptr || nests_.rest.setup().engine == Engine::reference))
    lets_ = nests_.lets.views(*plan_.lets, arrays_[plan_.operands]);
  if (recorder_ != nullptr) record_arrays();
  for (std::size_t p = 0; nests_.rest.setup().profile == Profile::paths && p < plan_.paths.size();
       ++p)
    count(plan_.paths[p]);
  take_all(plan_.actions);
}

void CallRun::look() {
  for (const Action &action : plan_.actions) {
    const auto *gather = std::get_if<Gather>(&action);
    const auto *scatter = std::get_if<Scatter>(&action);
    if ((gather != nullptr && computes_positions(gather->nest->typed(), gather->window)) ||
        (scatter != nullptr && computes_positions(scatter->nest->typed(), scatter->window)))
      continue;
    if (gather != nullptr && gather->what == Gather::What::Copy) // positions of others, maybe
      take(*gather);
    else if (gather != nullptr)
      look_at(*gather->nest, gather->window, gather->operands, gather->to.view.layout,
              gather->what != Gather::What::Look);
    else if (scatter != nullptr)
      look_at(*scatter->nest, scatter->window, scatter->operands, scatter->values.view.layout,
              false);
    else if (std::holds_alternative<CheckInput>(action) ||
             std::holds_alternative<CheckApart>(action) || std::holds_alternative<Pad>(action))
      std::visit([&](const auto &one) { take(one); }, action);
    else if (const auto *copy = std::get_if<Copy>(&action); copy && copy->kind == Step::Kind::Copy)
      take(*copy);
  }
}

AnyView CallRun::view(const MemRef &operand) const {
  AnyView view = operand.view;
  view.data = operand.at(arrays_, t_);
  return view;
}

std::vector<AnyView> CallRun::views(const std::vector<MemRef> &operands) const {
  return views_at(operands, arrays_, t_);
}

void CallRun::take(const CheckInput &check) {
  if (!ready_.empty()) return;
  const AnyView input = view(check.operand);
  if (!kernel::has_memory(input)) kernel::check_pointer(check.nest->typed(), check.input, input);
}

void CallRun::take(const CheckApart &check) {
  if (!ready_.empty()) return;
  const std::vector<AnyView> outputs = views(check.operands);
  kernel::check_apart(check.nest->typed(), pointers_to(check.operands, outputs));
}

const CallRun::Ready &CallRun::ready_for(const Run &run) {
  if (!ready_.empty() && !ready_[run.number].views.empty()) return ready_[run.number];
  own_.resize(plan_.runs);
  Ready &ready = own_[run.number];
  if (ready.views.empty()) {
    ready.views = views(run.operands);
    ready.operands = pointers_to(run.operands, ready.views);
  } else {
    for (std::size_t k = 0; k < ready.views.size(); ++k)
      ready.views[k].data = run.operands[k].at(arrays_, t_);
  }
  return ready;
}

void CallRun::take(const Run &run) {
  const Ready &ready = ready_for(run);
  if (recorder_ != nullptr) [[unlikely]]
    record(run, ready.operands);
  if (!ready.buffers.empty())
    run.nest->executor().run_phases(*ready.special, ready.buffers.data());
  else if (ready.special)
    run.nest->executor().execute(*ready.special, ready.operands);
  else
    run.nest->run(ready.operands, {run.lies});
}

void CallRun::take(const Pad &pad) {
  const AnyView of = view(pad.of), to = view(pad.to);
  if (pad.row) return pad_row(pad, of, to, pad.row->first + (pad.row->moves ? t_ : 0));
  if (pad.comes_later && has_borders_) return;
  if (pad.comes_later)
    kernel::pad_numbers(pad.padding, of, to, elements());
  else
    has_borders_ ? kernel::pad_again(pad.padding, of, to, elements())
                 : kernel::pad(pad.padding, of, to, elements());
  if (!pad.comes_later) record(pad, of, to);
}

void CallRun::pad_row(const Pad &pad, const AnyView &of, const AnyView &to, std::int64_t row,
                      bool is_step) {
  if (row >= pad.row->most) return;
  if (pad.row->kept > 0) row %= pad.row->kept;
  kernel::pad_rows_again(pad.padding, of, to, pad.row->dim, row, 1, elements());
  if (is_step) record(pad, of, to, row);
}

std::vector<AnyView> CallRun::read_positions(gpu::OnHost &host, const spec::TypedSpec &typed,
                                             std::size_t window, std::vector<AnyView> views) const {
  if (device() == nullptr) return views;
  std::set<std::size_t> indices;
  for (const spec::TypedWindow::Form &form : typed.inputs[window].window->forms)
    for (const spec::TypedWindow::Index &index : form.indices)
      indices.insert({std::size_t(index.input), std::size_t(typed.array_of(index.input))});
  for (const std::size_t index : indices) views[index] = host.read(views[index]);
  return views;
}

void CallRun::look_at(const Nest &nest, std::size_t window, const std::vector<MemRef> &operands,
                      const Layout &layout, bool elements) const {
  const std::vector<AnyView> there = views(operands);
  kernel::check_gathered(nest.typed(), window, kernel::pointers_to(there), elements);
  if (steps_ && is_done(steps_->look(nest.typed(), window, layout, kernel::pointers_to(there))))
    return;
  gpu::OnHost host(device());
  const std::vector<AnyView> inputs = read_positions(host, nest.typed(), window, there);
  const std::vector<const AnyView *> pointers = kernel::pointers_to(inputs);
  kernel::listed_positions(nest.typed(), window, layout, pointers, tasks_of(nest.setup()));
}

void CallRun::take(const Gather &gather) {
  const spec::TypedSpec &typed = gather.nest->typed();
  if (gather.what == Gather::What::Look)
    return look_at(*gather.nest, gather.window, gather.operands, gather.to.view.layout, false);
  if (gather.what == Gather::What::Output) gather.nest->setup().stop_if_cancelled();
  const std::vector<AnyView> there = views(gather.operands);
  const AnyView of = view(gather.of), to = view(gather.to);
  kernel::check_gathered(typed, gather.window, kernel::pointers_to(there), true);
  if (!steps_ ||
      !is_done(steps_->gather(typed, gather.window, kernel::pointers_to(there), of, to))) {
    gpu::OnHost host(device());
    const std::vector<AnyView> inputs = read_positions(host, typed, gather.window, there);
    kernel::gather(typed, gather.window, kernel::pointers_to(inputs), host.read(of),
                   borrowed(host.written(to)), tasks_of(gather.nest->setup()));
    host.done();
  }
  if (recorder_ != nullptr)
    recorder_->add({Step::Kind::Gather,
                    {},
                    {},
                    {recorded(typed, typed.inputs[gather.window].axis_of_dim, to)}});
}

void CallRun::take(const Scatter &scatter) {
  const spec::TypedSpec &typed = scatter.nest->typed();
  const std::vector<AnyView> there = views(scatter.operands);
  const AnyView values = view(scatter.values), to = view(scatter.to);
  kernel::check_gathered(typed, scatter.window, kernel::pointers_to(there), false);
  if (!steps_ ||
      !is_done(steps_->scatter(typed, scatter.window, kernel::pointers_to(there), values, to))) {
    gpu::OnHost host(device());
    const std::vector<AnyView> inputs = read_positions(host, typed, scatter.window, there);
    kernel::scatter(typed, scatter.window, kernel::pointers_to(inputs), borrowed(host.read(values)),
                    borrowed(host.written(to)), tasks_of(scatter.nest->setup()));
    host.done();
  }
  if (recorder_ != nullptr)
    recorder_->add({Step::Kind::Scatter,
                    {},
                    {recorded(typed, typed.inputs[scatter.window].axis_of_dim, values)},
                    {{to, {}}}});
}

void CallRun::take(const Copy &copy) {
  const AnyView from = view(copy.from), to = view(copy.to);
  copy_elements(from, to);
  if (recorder_ != nullptr) recorder_->add(copy.kind, from, to);
}

void CallRun::take(const Count &count) {
  const AnyView to = view(count.to);
  const std::int64_t steps = to.layout.extents[0];
  if (steps_)
    steps_->count_up(to);
  else
    for (std::int64_t t = 0; t < steps; ++t) static_cast<std::int64_t *>(to.data)[t] = t;
  if (recorder_ != nullptr) recorder_->add(Step::Kind::Count, {}, to);
}

void CallRun::take(const Told &told) {
  if (!*watch_) return;
  (*watch_)(told.let, is_in_loop_ ? std::optional(t_) : std::nullopt, view(told.row), lets_);
}

void CallRun::take(const InTiles &in) {
  const TileWatch watch{
      [&](const std::string &let, const AnyView &whole) { recorder_->name(let, whole); },
      [&](const Run &run, const std::vector<const AnyView *> &operands) { record(run, operands); },
      [&](const Tiles::Border &border, const AnyView &of, const AnyView &copy,
          const Tiles::PaddedRows &rows) {
        record(border.padding, {{of}, {array::rows_of(of, border.dim, rows.row, rows.count)}},
               {{copy}, {array::rows_of(copy, border.dim, rows.copy_row, rows.count)}});
      }};
  run_tiles(nests_.rest.setup(), plan_.tiles[in.number], arrays_,
            recorder_ != nullptr ? &watch : nullptr);
}

void CallRun::take(const ByReference &loop) {
  const Lets &lets = nests_.lets;
  std::vector<AnyView> inputs;
  for (const AnyView *input : call_.first(nests_.rest.typed().callers_inputs()))
    inputs.push_back(*input);
  const std::size_t first = loop.first_let;
  const std::vector<Array> made = reference::evaluate_loop(
      lets.specs(), first, inputs, std::span(lets_).first(first),
      nests_.rest.setup().options.cancel.get(), nests_.rest.setup().threads_now());
  for (std::size_t m = 0; m < made.size(); ++m) {
    const spec::Recurrence &own = *lets.specs()[first + m]->recurrence;
    const AnyView &rows = lets_[first + m];
    const AnyView to = array::rows_of(rows, own.dim, own.backwards ? 0 : -own.lag,
                                      rows.layout.extents[own.dim] + own.lag);
    copy_elements(made[m], to);
  }
  const spec::Recurrence &own = *lets.specs()[first]->recurrence;
  const std::int64_t steps = lets_[first].layout.extents[own.dim];
  for (std::int64_t n = 0; *watch_ && n < steps; ++n)
    for (std::size_t m = 0; m < made.size(); ++m) {
      const std::int64_t t = own.backwards ? steps - 1 - n : n;
      const std::size_t dim = lets.specs()[first + m]->recurrence->dim;
      (*watch_)(first + m, t, array::rows_of(lets_[first + m], dim, t, 1), lets_);
    }
}

void CallRun::record_arrays() {
  const spec::TypedSpec &typed = nests_.rest.typed();
  const std::size_t inputs = typed.callers_inputs();
  const std::vector<std::string> outputs = arrays_of_outputs(typed);
  for (std::size_t k = 0; k < call_.size(); ++k)
    if (call_[k] != nullptr)
      recorder_->name(k < inputs ? typed.inputs[k].name : outputs[k - inputs], *call_[k]);
  const Lets &lets = nests_.lets;
  for (std::size_t k = 0; k < lets.specs().size(); ++k) {
    const spec::Materialised &let = *lets.specs()[k];
    if (!plan_.needed[k] && !let.join && !lets.rows_of_loop(k)) continue;
    if (!plan_.lets->in_tiles.empty() && plan_.lets->in_tiles[k]) continue;
    AnyView rows = lets_[k];
    if (let.recurrence) {
      const spec::Recurrence &loop = *let.recurrence;
      rows = array::rows_of(rows, loop.dim, loop.backwards ? 0 : -loop.lag,
                            rows.layout.extents[loop.dim] + loop.lag);
    }
    recorder_->name(let.typed.outputs[0].name, rows);
  }
}

void CallRun::record(const Run &run, const std::vector<const AnyView *> &operands) {
  const spec::TypedSpec &spec = run.nest->typed();
  calls::Event event{.kernel = std::string(run.name)};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k] == nullptr) continue;
    const bool is_output = k >= spec.inputs.size();
    const std::vector<int> &axes =
        is_output ? spec.outputs[k - spec.inputs.size()].axes : spec.inputs[k].axis_of_dim;
    (is_output ? event.to : event.from).push_back(recorded(spec, axes, *operands[k], true));
  }
  recorder_->add(std::move(event));
}

void CallRun::record(const Pad &pad, const AnyView &of, const AnyView &to, std::int64_t row) {
  if (recorder_ == nullptr) return;
  if (row < 0) return record(pad.padding, {{of}}, {{to}});
  record(pad.padding, {{of}, {array::rows_of(of, pad.row->dim, row, 1)}},
         {{to}, {array::rows_of(to, pad.row->dim, row, 1)}});
}

void CallRun::record(const kernel::Padding &padding, std::vector<calls::Operand> from,
                     std::vector<calls::Operand> to) {
  calls::Event event{Step::Kind::Pad, {}, std::move(from), std::move(to)};
  for (const spec::TypedWindow::Pad &border : padding.pads)
    event.borders.push_back({border.dim, border.before, border.after});
  for (const kernel::Padding::Dim &dim : padding.dims)
    event.reach.push_back({dim.first, dim.last, dim.divisor});
  recorder_->add(std::move(event));
}

void run_call(const Nests &nests, const CallPlan &plan, kernel::Operands call,
              const LetWatch &watch) {
  const CallMemory memory(nests.rest.setup(), std::size_t(std::max<std::int64_t>(plan.bytes, 1)));
  CallRun(nests, plan, call, arrays_of(plan, call, memory.data())).run(watch);
}

void prepare_call(const CallPlan &plan) {
  const auto prepare = [](const std::vector<Action> &actions) {
    for (const Action &action : actions)
      if (const auto *run = std::get_if<Run>(&action)) {
        std::vector<AnyView> views;
        for (const MemRef &operand : run->operands) views.push_back(operand.view);
        run->nest->bind(pointers_to(run->operands, views), {run->lies}, Use::Ready);
      }
  };
  for (const TimeLoop &loop : plan.loops) prepare(loop.body);
  prepare(plan.actions);
}

RepeatedCall::RepeatedCall(const Nests &nests, std::shared_ptr<const CallPlan> plan,
                           kernel::Operands call)
    : nests_(nests), plan_(std::move(plan)),
      memory_(nests.rest.setup().array_of(
          DType::U8, contiguous_layout(std::vector{std::max<std::int64_t>(plan_->bytes, 1)}))) {
  for (const AnyView *view : call) named_.push_back(view != nullptr ? *view : AnyView());
  for (std::size_t k = 0; k < call.size(); ++k)
    call_.push_back(call[k] != nullptr ? &named_[k] : nullptr);
  arrays_ = arrays_of(*plan_, call_, static_cast<char *>(memory_.raw()));
  if (nests.rest.setup().device) nests.rest.executor().check_on_device(call_);
  CallRun site(nests_, *plan_, call_, arrays_);
  site.look();
  ready_.resize(plan_->runs);
  for (const Action &action : plan_->actions) {
    const auto *run = std::get_if<Run>(&action);
    if (run == nullptr) continue;
    ReadyRun &ready = ready_[run->number];
    ready.views = site.views(run->operands);
    ready.operands = pointers_to(run->operands, ready.views);
    const spec::TypedSpec &typed = run->nest->typed();
    kernel::check_operands(typed, ready.operands);
    kernel::check_pointers(typed, ready.operands);
    kernel::check_apart(typed, ready.operands);
    if (nests.rest.setup().engine == Engine::reference) continue;
    ready.special = run->nest->bind(ready.operands, {run->lies}, Use::Often);
    ready.buffers = run->nest->executor().ready_buffers(*ready.special, ready.operands);
  }
}

const ReadyRun *RepeatedCall::only_run() const {
  const bool is_all = std::ranges::all_of(plan_->actions, [](const Action &action) {
    return std::holds_alternative<Run>(action) || std::holds_alternative<CheckInput>(action);
  });
  return is_all && ready_.size() == 1 && !ready_[0].buffers.empty() ? &ready_[0] : nullptr;
}

void RepeatedCall::run() const {
  static const LetWatch nobody;
  CallRun(nests_, *plan_, call_, arrays_, ready_).run(nobody);
}

} // namespace broadloom::jit

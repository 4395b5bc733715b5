// See executor.hpp.
#include "jit/nest/executor.hpp"

#include "array/copy.hpp"
#include "jit/gpu/device.hpp"
#include "jit/nest/call_memory.hpp"
#include "jit/nest/code_beside.hpp"
#include "jit/nest/failure.hpp"
#include "jit/runtime/small.hpp"
#include "kernel/check.hpp"
#include "kernel/operand_copy.hpp"
#include "kernel/part_spec.hpp"
#include "reference/reference.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

namespace broadloom::jit {

using kernel::Operands;
using kernel::Span;

void Executor::execute(const Specialisation &special, Operands operands) const {
  if (special.engine == Engine::reference) [[unlikely]]
    return run_reference(operands);
  const std::size_t count = operands.size(), inputs = special.input_count, outputs = count - inputs;
  Small<void *, few_operands> addresses(count);
  Small<Span, few_operands> spans(count);
  bool good = true;
  for (std::size_t k = 0; k < count; ++k) {
    const AnyView *view = operands[k];
    if (view == nullptr) {
      addresses[k] = nullptr;
      spans[k] = {};
      continue;
    }
    const Specialisation::Operand &expected = special.operands[k];
    const auto address = reinterpret_cast<std::uintptr_t>(view->data);
    good &= (address & expected.misaligned) == 0;
    good &= address != 0 || expected.reach.low == expected.reach.high;
    good &= k < inputs || view->writable;
    addresses[k] = view->data;
    spans[k] = kernel::span_of(view->data, expected.reach);
  }
  if (!good) [[unlikely]]
    kernel::check_pointers(setup_.typed, operands);
  std::vector<std::shared_ptr<void>> numbers;
  if (setup_.device) [[unlikely]]
    numbers = take_to_device(special, operands, addresses.data());
  if (setup_.verifies && special.engine == Engine::jit) [[unlikely]] {
    kernel::check_apart(setup_.typed, operands);
    return execute_twice(special, operands);
  }

  bool copy = special.engine == Engine::interpreter && setup_.may_stand_in();
  for (std::size_t o = 0; o < outputs; ++o) {
    const Span span = spans[inputs + o];
    for (std::size_t other = o + 1; other < outputs; ++other)
      if (kernel::meet(span, spans[inputs + other])) [[unlikely]]
        kernel::check_apart(setup_.typed, operands);
    for (std::size_t i = 0; i < inputs; ++i)
      if (kernel::meet(span, spans[i]))
        copy |= !(special.exact[i * outputs + o] && addresses[i] == addresses[inputs + o]);
  }
  if (copy) [[unlikely]]
    return execute_on_copies(special, operands, addresses.data());
  invoke(special, addresses.data(), false);
}

// Whether an input shares memory with an output in another way than element by element.
static bool must_copy(const Specialisation &special, Operands operands, std::size_t input) {
  const std::size_t inputs = special.input_count, outputs = operands.size() - inputs;
  const auto span = [&](std::size_t k) {
    return kernel::span_of(operands[k]->data, special.operands[k].reach);
  };
  for (std::size_t o = 0; o < outputs; ++o)
    if (operands[inputs + o] != nullptr && kernel::meet(span(inputs + o), span(input)) &&
        !(special.exact[input * outputs + o] &&
          operands[input]->data == operands[inputs + o]->data))
      return true;
  return false;
}

void Executor::check_on_device(Operands call) const {
  const spec::TypedSpec &typed = setup_.typed;
  const std::size_t inputs = typed.callers_inputs();
  for (std::size_t k = 0; k < call.size(); ++k) {
    if (call[k] == nullptr || call[k]->data == nullptr) continue;
    const kernel::Reach reach = kernel::reach_of(call[k]->layout, call[k]->dtype);
    if (reach.low != reach.high &&
        !setup_.device->has(static_cast<const char *>(call[k]->data) + reach.low))
      fail_elsewhere(k < inputs,
                     k < inputs ? typed.inputs[k].name : typed.outputs[k - inputs].name);
  }
}

void Executor::fail_elsewhere(bool is_input, const std::string &name) const {
  support::fail("E0322",
                fmt::format("{} '{}' of kernel '{}' does not lie on the device '{}', where the "
                            "kernel runs",
                            is_input ? "input" : "output", name, setup_.typed.name,
                            setup_.device->name()),
                {}, "take it there first: Device::to_device");
}

// The numbers that a part of a call is given lie in its plan, and are taken to the device. No other
// operand may lie elsewhere.
std::vector<std::shared_ptr<void>>
Executor::take_to_device(const Specialisation &special, Operands operands, void **addresses) const {
  std::vector<std::shared_ptr<void>> numbers;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const kernel::Reach reach = special.operands[k].reach;
    if (operands[k] == nullptr || reach.low == reach.high ||
        setup_.device->has(static_cast<const char *>(operands[k]->data) + reach.low))
      continue;
    if (k < special.input_count && kernel::is_part_number(setup_.typed.inputs[k])) {
      const auto bytes = std::size_t(reach.high - reach.low);
      numbers.push_back(setup_.device->allocate(bytes));
      setup_.device->copy_in(numbers.back().get(), operands[k]->data, bytes);
      addresses[k] = numbers.back().get();
      continue;
    }
    fail_elsewhere(k < special.input_count,
                   k < special.input_count ? setup_.typed.inputs[k].name
                                           : setup_.typed.outputs[k - special.input_count].name);
  }
  return numbers;
}

std::vector<char *> Executor::ready_buffers(const Specialisation &special,
                                            Operands operands) const {
  if (special.engine != Engine::jit || special.scratch_bytes > 0 || setup_.verifies ||
      setup_.device)
    return {};
  for (std::size_t i = 0; i < special.input_count; ++i)
    if (must_copy(special, operands, i)) return {};
  std::vector<char *> buffers;
  for (const Specialisation::Source source : special.buffers)
    buffers.push_back(static_cast<char *>(operands[std::size_t(source.operand)]->data));
  return buffers;
}

// Gives the address of the first element.
void *Executor::copy_on_device(const AnyView &view, kernel::Reach reach,
                               std::vector<std::shared_ptr<void>> &copies) const {
  const auto bytes = std::size_t(reach.high - reach.low);
  copies.push_back(setup_.device->allocate(bytes));
  setup_.device->copy(copies.back().get(), static_cast<char *>(view.data) + reach.low, bytes);
  return static_cast<char *>(copies.back().get()) - reach.low;
}

void Executor::execute_on_copies(const Specialisation &special, Operands operands,
                                 void *const *given) const {
  if (special.engine == Engine::interpreter && setup_.may_stand_in())
    return interpret_or_refer(special, operands);
  std::vector<void *> addresses(given, given + operands.size());
  std::vector<kernel::OperandCopy> copies; // all are made before the first output is written
  std::vector<std::shared_ptr<void>> device_copies;
  for (std::size_t i = 0; i < special.input_count; ++i) {
    if (!must_copy(special, operands, i)) continue;
    if (setup_.device) {
      addresses[i] = copy_on_device(*operands[i], special.operands[i].reach, device_copies);
      continue;
    }
    kernel::OperandCopy &copy = copies.emplace_back(*operands[i], special.operands[i].reach);
    copy.load();
    addresses[i] = copy.view().data;
  }
  invoke(special, addresses.data(), false);
}

// The interpreter writes copies of the outputs, so that the reference can begin with the outputs as
// they were where a bug of ours ends it half-way.
void Executor::interpret_or_refer(const Specialisation &special, Operands operands) const {
  if (special.interpreter_failed.load(std::memory_order_relaxed)) return run_reference(operands);
  std::vector<void *> addresses = kernel::addresses_of(operands);
  std::vector<kernel::OperandCopy> copies;
  for (std::size_t k = special.input_count; k < operands.size(); ++k) {
    if (operands[k] == nullptr) continue;
    kernel::OperandCopy &copy = copies.emplace_back(*operands[k], special.operands[k].reach);
    copy.load();
    addresses[k] = copy.view().data;
  }
  try {
    with_ir([&] { invoke(special, addresses.data(), true); },
            [&] { return loop::print(special.pattern->program); });
  } catch (const InternalError &error) {
    if (!may_fall_back(setup_)) throw;
    if (!special.interpreter_failed.exchange(true))
      tell(setup_, error, "runs in the reference", special.layouts);
    return run_reference(operands);
  }
  for (const kernel::OperandCopy &copy : copies) copy.store();
}

void Executor::invoke(const Specialisation &special, void *const *addresses,
                      bool interpreted) const {
  const CallMemory scratch(setup_, special.scratch_bytes);
  Small<char *, few_buffers> buffers(special.buffers.size());
  for (std::size_t b = 0; b < special.buffers.size(); ++b) {
    const Specialisation::Source source = special.buffers[b];
    buffers[b] = source.operand >= 0 ? static_cast<char *>(addresses[source.operand])
                                     : scratch.data() + source.scratch_at;
  }
  run_phases(special, buffers.data(), interpreted);
}

void Executor::run_phases(const Specialisation &special, char *const *buffers,
                          bool interpreted) const {
  loop::Frame frame = frame_of(special);
  frame.buffers = buffers;
  if (setup_.device) [[unlikely]]
    return launch_phases(special, frame);

  const support::FloatControl control;
  if (interpreted || !special.pattern->code) return interpret(special, frame);
  for (std::size_t p = 0; p < special.phases.size(); ++p) {
    const Specialisation::Phase &phase = special.phases[p];
    if (phase.runs_before) continue;
    setup_.stop_if_cancelled();
    if (phase.pipeline) {
      runtime::run_pipeline(setup_.workers_now(), *phase.pipeline, frame,
                            setup_.options.cancel.get());
      p += phase.pipeline->phases.size() - 1;
      continue;
    }
    if (phase.interleaved) {
      runtime::run_interleaved(setup_.workers_now(), *phase.interleaved, frame, special.rows,
                               setup_.options.cancel.get());
      continue;
    }
    runtime::run_phase(setup_.workers_now(), phase.grid, phase.code, frame, special.rows,
                       setup_.options.cancel.get());
  }
  setup_.stop_if_cancelled();
}

// One after the other, as a device runs what it is given.
void Executor::launch_phases(const Specialisation &special, const loop::Frame &frame) const {
  const loop::Program &program = special.pattern->program;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    setup_.stop_if_cancelled();
    const plan::Grid grid = gpu::grid_of(program, p, special.binding.extents, special.rows.threads);
    if (grid.blocks > 0)
      setup_.device->launch(*special.pattern->code, program, p, frame, grid, special.rows);
  }
}

void Executor::run_box(const Specialisation &special, std::size_t phase, char *const *buffers,
                       const std::int64_t *lo, const std::int64_t *hi) const {
  setup_.stop_if_cancelled();
  loop::Frame frame = frame_of(special);
  frame.buffers = buffers;
  const support::FloatControl control;
  if (const PhaseFn code = special.phases[phase].code; code != nullptr)
    code(&frame, lo, hi);
  else
    loop::interpret(special.pattern->program, phase, frame, lo, hi);
}

void Executor::interpret(const Specialisation &special, const loop::Frame &frame) const {
  interpreted_.fetch_add(1, std::memory_order_relaxed);
  if (special.beside) special.beside->note_run();
  for (std::size_t p = 0; p < special.phases.size(); ++p) {
    const runtime::Grid &grid = special.phases[p].grid;
    runtime::for_each_block(grid, [&](const std::int64_t *lo, const std::int64_t *hi) {
      setup_.stop_if_cancelled();
      loop::interpret(special.pattern->program, p, frame, lo, hi);
      fail_if_asked(Fault::Interpret);
    });
  }
  setup_.stop_if_cancelled();
}

// The reference computes all outputs into arrays of its own, so overlaps need no thought.
void Executor::run_reference(Operands operands) const {
  const support::FloatWorld world;
  const spec::TypedSpec &typed = setup_.typed;
  // The reference takes all positions of time, and these operands have one.
  support::check(!typed.time, "a step of a loop over time is compiled or interpreted");
  kernel::check_operands(typed, operands);
  const std::size_t inputs = typed.inputs.size();
  kernel::Layouts layouts;
  std::vector<AnyView> arguments;
  for (std::size_t i = 0; i < typed.given_inputs(); ++i) { // it looks through windows by itself
    arguments.push_back(*operands[i]);
    layouts.inputs.push_back(operands[i]->layout);
  }
  const auto shapes = reference::output_shapes(setup_.whole(), layouts.inputs);
  std::vector<AnyView> before; // what `+=` adds to
  std::vector<Array> zeros;
  for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
    const AnyView *view = operands[inputs + o];
    layouts.wanted.push_back(view != nullptr);
    before.push_back(
        view != nullptr ? *view : AnyView(zeros.emplace_back(typed.outputs[o].dtype, shapes[o])));
    layouts.outputs.push_back(before.back().layout);
  }
  kernel::check_outputs(typed, layouts, shapes);
  kernel::check_pointers(typed, operands);
  kernel::check_apart(typed, operands);
  setup_.stop_if_cancelled();
  const std::vector<Array> results = reference::evaluate(
      setup_.whole(), arguments, before, setup_.options.cancel.get(), setup_.threads_now());
  setup_.stop_if_cancelled();
  for (std::size_t o = 0; o < results.size(); ++o)
    if (layouts.wanted[o]) array::copy_elements(results[o], before[o].data, before[o].layout);
}

} // namespace broadloom::jit

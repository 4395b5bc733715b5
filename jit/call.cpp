// A call: look the layouts up, check the pointers, run.
//
// The way of a repeated call is kept short: where the layouts are those of this thread's latest call and no memory needs to be copied,
// one pass over the operands checks all (`run_again`), and where each phase is one block nothing is asked between them
// (`run_steps`). Else one pass checks dtypes and ranks, one hashes the layouts, one
// compares them with the key of the Specialisation found, one checks pointers and which spans of memory meet. Neither
// allocates, takes a lock or counts references.
//
// Inputs that share memory with an output behave as if they had been copied beforehand. Where the
// program reads each position before it writes it, and both are the very same elements, that holds by
// itself; else the input is copied. The copy has the strides of the original, so that it runs by the
// same plan and gives the same bits.
#include "jit/kernel.hpp"

#include "array/copy.hpp"
#include "jit/failure.hpp"
#include "jit/runtime/paths.hpp"
#include "jit/runtime/scratch.hpp"
#include "jit/small.hpp"
#include "jit/stopwatch.hpp"
#include "jit/time_loop.hpp"
#include "kernel/operand_copy.hpp"
#include "kernel/windows.hpp"
#include "reference/reference.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

namespace broadloom {
namespace {

using jit::few_buffers;
using jit::few_operands;
using jit::frame_of;
using jit::Small;
using jit::Specialisation;
using kernel::Operands;
using kernel::Span;

} // namespace

// Whether dtypes and ranks are as declared: what the layout look-up relies on.
inline bool KernelImpl::fits(Operands operands) const {
  bool good = true;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (operands[k] != nullptr)
      good &= operands[k]->dtype == setup_.declared[k].dtype &&
              operands[k]->layout.rank == setup_.declared[k].rank;
  return good;
}

// The call of before with other memory, as most calls are. Where anything is out of the ordinary, it gives false and has done
// nothing: the longer way finds out what, and says so.
inline bool KernelImpl::run_again(const Specialisation *special, Operands operands,
                                  kernel::Lies lies) const {
  if (special == nullptr || !special->is_direct) return false;
  const std::size_t count = operands.size(), inputs = special->input_count;
  void *addresses[few_operands];
  std::uintptr_t low[few_operands], high[few_operands]; // the memory of each
  const std::int64_t *word = special->key.data();
  bool good = true;
  for (std::size_t k = 0; k < count; ++k) {
    const AnyView *view = operands[k];
    if (view == nullptr) return false;
    const Layout &layout = view->layout;
    if (view->dtype != setup_.declared[k].dtype || layout.rank != setup_.declared[k].rank)
      return false;
    word += k >= inputs; // that it is wanted
    for (int d = 0; d < layout.rank; ++d, word += 2)
      if (word[0] != layout.extents[d] || word[1] != layout.strides[d]) return false;
    const Specialisation::Operand &expected = special->operands[k];
    const auto address = reinterpret_cast<std::uintptr_t>(view->data);
    good &= (address & expected.misaligned) == 0;
    good &= address != 0 || expected.reach.low == expected.reach.high;
    addresses[k] = view->data;
    low[k] = address + std::uintptr_t(expected.reach.low);
    high[k] = address + std::uintptr_t(expected.reach.high);
    if (k < inputs) continue;
    good &= view->writable;
    for (std::size_t other = 0; other < k; ++other)
      if (kernel::meet({low[k], high[k]}, {low[other], high[other]})) [[unlikely]]
        good &= other < inputs && addresses[other] == view->data &&
                special->exact[other * (count - inputs) + (k - inputs)];
  }
  if (!good || !jit::ends_with(word, lies)) return false;
  char *buffers[few_buffers];
  for (std::size_t b = 0; b < special->buffers.size(); ++b)
    buffers[b] = static_cast<char *>(addresses[special->buffers[b].operand]);
  layout_cache_.note(special);
  if (special->steps.empty()) {
    run_phases(*special, buffers);
  } else {
    loop::Frame frame = frame_of(*special);
    frame.buffers = buffers;
    jit::run_steps(special->steps, frame);
  }
  return true;
}

// Mistakes in shapes come before those in data, which may come of them. Elements that say positions are read before all
// shapes are looked at, as that is done once for many calls.
void KernelImpl::run_unchecked(Operands call) const try {
  setup_.check_facts(call);
  lets_.empty() ? run_lent(call) : run_lets(call);
} catch (const DataError &) {
  check_shapes(call);
  throw;
}

void KernelImpl::check_shapes(Operands call) const {
  const Operands inputs = call.first(setup_.callers_inputs),
                 outputs = call.subspan(setup_.callers_inputs);
  std::vector<AnyView> lets;
  if (!lets_.empty()) lets = lets_.views(*lets_.layouts(inputs), nullptr);
  const std::vector<const AnyView *> rest = lets_.operands_of_rest(inputs, lets, outputs);
  // Without their elements, which may be none: nothing has looked at the pointers.
  std::vector<AnyView> shapes(rest.size());
  std::vector<const AnyView *> given(rest.size(), nullptr);
  for (std::size_t k = 0; k < rest.size(); ++k) {
    if (rest[k] == nullptr) continue;
    shapes[k] = *rest[k];
    shapes[k].data = nullptr;
    given[k] = &shapes[k];
  }
  const kernel::LentOperands lent(setup_.typed, given);
  kernel::check_operands(setup_.typed, lent.all().first(setup_.typed.given_inputs()));
  const kernel::WindowedOperands windowed(setup_.typed, lent.all(), helpers(),
                                          setup_.windows_of_nothing());
  kernel::check_operands(setup_.typed, windowed.all());
  kernel::Layouts layouts;
  resolve(windowed.all(), layouts);
}

void KernelImpl::run_lets(Operands call) const {
  const Operands inputs = call.first(setup_.typed.callers_inputs());
  const Operands outputs = call.subspan(inputs.size());
  kernel::check_operands(setup_.typed, inputs);
  const std::shared_ptr<const jit::Lets::Layouts> layouts = lets_.layouts(inputs);
  const jit::runtime::Scratch memory(std::size_t(layouts->bytes_to_have()));
  const std::vector<AnyView> lets = lets_.views(*layouts, memory.data());
  const std::vector<bool> needed = lets_.needed(outputs);
  for (std::size_t k = 0; setup_.profile == Profile::paths && k < needed.size(); ++k)
    if (lets_.rows_of_loop(k)) jit::count(jit::Path::RowsOfLoop);
  jit::LoopsBefore loops(needed.size());
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const std::optional<spec::Recurrence> &loop = lets_.specs()[k]->recurrence;
    if (!loop) {
      lets_.kernels()[k]->run_lent(lets_.operands(k, inputs, lets));
      if (setup_.is_debugged()) look_at_let(k, inputs, lets);
    } else if (loop->first == k) {
      if (setup_.profile == Profile::paths && lets_.keeps_last_rows(k))
        jit::count(jit::Path::RowsKept);
      if (setup_.profile == Profile::paths && layouts->segment[k] > 0)
        jit::count(jit::Path::Checkpoints);
      loops[k] = std::make_shared<const jit::TimeLoop>(lets_, layouts, k, inputs, lets, loops,
                                                       setup_.windows());
      const jit::TimeLoop &steps = *loops[k];
      if (setup_.is_debugged())
        steps.run([&](std::size_t let, std::int64_t step, const AnyView &row) {
          look_at_step(let, step, row, inputs, lets);
        });
      else
        steps.run();
    }
  }
  run_lent(lets_.operands_of_rest(inputs, lets, outputs));
}

void KernelImpl::run_with_windows(Operands given) const {
  kernel::check_operands(setup_.typed, given.first(setup_.typed.given_inputs()));
  const kernel::WindowedOperands windowed(setup_.typed, given, helpers(),
                                          setup_.windows_or_output());
  note_windows(windowed);
  if (windowed.fills_output()) return fill(windowed);
  if (windowed.calls() > 1)
    kernel::check_apart(setup_.typed, windowed.all()); // before any part is written
  // So are mistakes in shapes.
  for (std::size_t c = 0; c < windowed.calls() && windowed.calls() > 1; ++c)
    of_part(windowed.part(c)).bind(windowed.call(c), windowed.lies(c), Use::Once);
  for (std::size_t c = 0; c < windowed.calls(); ++c)
    of_part(windowed.part(c)).run_windowed(windowed.call(c), windowed.lies(c));
}

void KernelImpl::fill(const kernel::WindowedOperands &windowed) const {
  setup_.stop_if_cancelled();
  windowed.fill();
}

void KernelImpl::run_windowed(Operands operands, kernel::Lies lies) const {
  const Specialisation *likely = layout_cache_.likely();
  if (run_again(likely, operands, lies)) [[likely]]
    return;
  if (setup_.engine == Engine::reference) return run_reference(operands);
  if (fits(operands))
    if (const Specialisation *special = layout_cache_.find_pinned(operands, lies, likely)) {
      if (special != likely && run_again(special, operands, lies)) return;
      layout_cache_.note(special);
      return execute(*special, operands);
    }
  const std::shared_ptr<const Specialisation> special = bind(operands, lies, Use::Once);
  if (special->generality == plan::Generality::Exact) return execute(*special, operands);
  const jit::Stopwatch watch;
  execute(*special, operands);
  special->generic_ms.fetch_add(watch.ms(), std::memory_order_relaxed);
}

std::shared_ptr<const Specialisation> KernelImpl::bind(Operands operands, kernel::Lies lies,
                                                       Use use) const {
  kernel::check_operands(setup_.typed, operands);
  const std::uint64_t hash = jit::layout_hash(operands, lies);
  if (auto known = layout_cache_.find(operands, lies, hash)) {
    if (known->generality == plan::Generality::Exact) return known;
    if (use == Use::Once && !known->deserves_exact()) return known;
    use = Use::Often;
  }
  return build(operands, lies, hash, use);
}

void KernelImpl::execute(const Specialisation &special, Operands operands) const {
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
  if (setup_.verifies && special.engine == Engine::jit) [[unlikely]] {
    kernel::check_apart(setup_.typed, operands);
    return execute_twice(special, operands);
  }

  bool copy = special.engine == Engine::interpreter && setup_.engine == Engine::automatic;
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
    return execute_on_copies(special, operands);
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

std::vector<char *> KernelImpl::ready_buffers(const Specialisation &special,
                                              Operands operands) const {
  if (special.engine != Engine::jit || special.scratch_bytes > 0 || setup_.verifies) return {};
  for (std::size_t i = 0; i < special.input_count; ++i)
    if (must_copy(special, operands, i)) return {};
  std::vector<char *> buffers;
  for (const Specialisation::Source source : special.buffers)
    buffers.push_back(static_cast<char *>(operands[std::size_t(source.operand)]->data));
  return buffers;
}

void KernelImpl::execute_on_copies(const Specialisation &special, Operands operands) const {
  if (special.engine == Engine::interpreter && setup_.engine == Engine::automatic)
    return interpret_or_refer(special, operands);
  std::vector<void *> addresses = kernel::addresses_of(operands);
  std::vector<kernel::OperandCopy> copies; // all are made before the first output is written
  for (std::size_t i = 0; i < special.input_count; ++i) {
    if (!must_copy(special, operands, i)) continue;
    kernel::OperandCopy &copy = copies.emplace_back(*operands[i], special.operands[i].reach);
    copy.load();
    addresses[i] = copy.view().data;
  }
  invoke(special, addresses.data(), false);
}

// The interpreter writes copies of the outputs, so that the reference can begin with the outputs as they were
// where a bug of ours ends it half-way.
void KernelImpl::interpret_or_refer(const Specialisation &special, Operands operands) const {
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
    jit::with_ir([&] { invoke(special, addresses.data(), true); },
                 [&] { return loop::print(special.pattern->program); });
  } catch (const InternalError &error) {
    if (!jit::may_fall_back(setup_)) throw;
    if (!special.interpreter_failed.exchange(true))
      jit::tell(setup_, error, "runs in the reference", special.layouts);
    return run_reference(operands);
  }
  for (const kernel::OperandCopy &copy : copies) copy.store();
}

void KernelImpl::invoke(const Specialisation &special, void *const *addresses,
                        bool interpreted) const {
  const jit::runtime::Scratch scratch(special.scratch_bytes);
  Small<char *, few_buffers> buffers(special.buffers.size());
  for (std::size_t b = 0; b < special.buffers.size(); ++b) {
    const Specialisation::Source source = special.buffers[b];
    buffers[b] = source.operand >= 0 ? static_cast<char *>(addresses[source.operand])
                                     : scratch.data() + source.scratch_at;
  }
  run_phases(special, buffers.data(), interpreted);
}

void KernelImpl::run_phases(const Specialisation &special, char *const *buffers,
                            bool interpreted) const {
  loop::Frame frame = frame_of(special);
  frame.buffers = buffers;

  const support::FloatControl control;
  if (interpreted || !special.pattern->code) return interpret(special, frame);
  for (std::size_t p = 0; p < special.phases.size(); ++p) {
    const Specialisation::Phase &phase = special.phases[p];
    if (phase.runs_before) continue;
    setup_.stop_if_cancelled();
    if (phase.pipeline) {
      jit::runtime::run_pipeline(setup_.workers_now(), *phase.pipeline, frame,
                                 setup_.options.cancel.get());
      p += phase.pipeline->phases.size() - 1;
      continue;
    }
    if (phase.interleaved) {
      jit::runtime::run_interleaved(setup_.workers_now(), *phase.interleaved, frame, special.rows,
                                    setup_.options.cancel.get());
      continue;
    }
    jit::runtime::run_phase(setup_.workers_now(), phase.grid, phase.code, frame, special.rows,
                            setup_.options.cancel.get());
  }
  setup_.stop_if_cancelled();
}

void KernelImpl::interpret(const Specialisation &special, const loop::Frame &frame) const {
  interpreted_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t p = 0; p < special.phases.size(); ++p) {
    const jit::runtime::Grid &grid = special.phases[p].grid;
    jit::runtime::for_each_block(grid, [&](const std::int64_t *lo, const std::int64_t *hi) {
      setup_.stop_if_cancelled();
      loop::interpret(special.pattern->program, p, frame, lo, hi);
      jit::fail_if_asked(jit::Fault::Interpret);
    });
  }
  setup_.stop_if_cancelled();
}

// The reference computes all outputs into arrays of its own, so overlaps need no thought.
void KernelImpl::run_reference(Operands operands) const {
  const support::FloatWorld world;
  // The reference takes all positions of time, and these operands have one.
  support::check(!setup_.typed.time, "a step of a loop over time is compiled or interpreted");
  kernel::check_operands(setup_.typed, operands);
  const std::size_t inputs = setup_.typed.inputs.size();
  kernel::Layouts layouts;
  std::vector<AnyView> arguments;
  for (std::size_t i = 0; i < setup_.typed.given_inputs();
       ++i) { // it looks through windows by itself
    arguments.push_back(*operands[i]);
    layouts.inputs.push_back(operands[i]->layout);
  }
  const auto shapes = reference::output_shapes(setup_.whole(), layouts.inputs);
  std::vector<AnyView> before; // what `+=` adds to
  std::vector<Array> zeros;
  for (std::size_t o = 0; o < setup_.typed.outputs.size(); ++o) {
    const AnyView *view = operands[inputs + o];
    layouts.wanted.push_back(view != nullptr);
    before.push_back(view != nullptr
                         ? *view
                         : AnyView(zeros.emplace_back(setup_.typed.outputs[o].dtype, shapes[o])));
    layouts.outputs.push_back(before.back().layout);
  }
  kernel::check_outputs(setup_.typed, layouts, shapes);
  kernel::check_pointers(setup_.typed, operands);
  kernel::check_apart(setup_.typed, operands);
  setup_.stop_if_cancelled();
  const std::vector<Array> results = reference::evaluate(
      setup_.whole(), arguments, before, setup_.options.cancel.get(), setup_.threads_now());
  setup_.stop_if_cancelled();
  for (std::size_t o = 0; o < results.size(); ++o)
    if (layouts.wanted[o]) array::copy_elements(results[o], before[o].data, before[o].layout);
}

} // namespace broadloom

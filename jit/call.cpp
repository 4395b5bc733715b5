// A call: look the layouts up, check the pointers, run.
//
// The way of a repeated call is kept short: where the layouts are those of this thread's latest call and no memory needs to be copied,
// one pass over the operands checks all (`run_again`), and where each phase is one block nothing is asked between them
// (`run_steps`). Else one pass checks dtypes and ranks, one hashes the layouts, one
// compares them with the key of the Specialisation found, one checks pointers and which spans of memory meet. Neither
// allocates, takes a lock or counts references.
#include "jit/kernel.hpp"

#include "jit/runtime/paths.hpp"
#include "jit/runtime/scratch.hpp"
#include "jit/runtime/small.hpp"
#include "jit/stopwatch.hpp"
#include "jit/time_loop.hpp"

namespace broadloom {
namespace {

using jit::few_buffers;
using jit::few_operands;
using jit::frame_of;
using jit::Specialisation;
using kernel::Operands;

} // namespace

// Whether dtypes and ranks are as declared: what the layout look-up relies on.
static bool fits(const jit::Setup &setup, Operands operands) {
  bool good = true;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (operands[k] != nullptr)
      good &= operands[k]->dtype == setup.declared[k].dtype &&
              operands[k]->layout.rank == setup.declared[k].rank;
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
    executor_.run_phases(*special, buffers);
  } else {
    loop::Frame frame = frame_of(*special);
    frame.buffers = buffers;
    jit::run_steps(special->steps, frame);
  }
  return true;
}

// Mistakes in shapes come before those in data, which may come of them. Elements that say positions are read before all
// shapes are looked at, as that is done once for many calls.
void KernelImpl::run_unchecked(Operands call, const jit::LetWatch &watch) const try {
  setup_.check_facts(call);
  jit::record_operands(*this, call);
  subs_.lets().empty() ? run_lent(call) : run_lets(call, watch);
} catch (const DataError &) {
  check_shapes(call);
  throw;
}

void KernelImpl::check_shapes(Operands call) const {
  const spec::TypedSpec &typed = setup_.typed;
  const Operands inputs = call.first(setup_.callers_inputs),
                 outputs = call.subspan(setup_.callers_inputs);
  std::vector<AnyView> views;
  const jit::Lets &lets = subs_.lets();
  if (!lets.empty()) views = lets.views(*lets.layouts(inputs), nullptr);
  const std::vector<const AnyView *> rest = lets.operands_of_rest(inputs, views, outputs);
  // Without their elements, which may be none: nothing has looked at the pointers.
  std::vector<AnyView> shapes(rest.size());
  std::vector<const AnyView *> given(rest.size(), nullptr);
  for (std::size_t k = 0; k < rest.size(); ++k) {
    if (rest[k] == nullptr) continue;
    shapes[k] = *rest[k];
    shapes[k].data = nullptr;
    given[k] = &shapes[k];
  }
  const kernel::LentOperands lent(typed, given);
  kernel::check_operands(typed, lent.all().first(typed.given_inputs()));
  const kernel::WindowedOperands windowed(typed, lent.all(), helpers(),
                                          setup_.windows_of_nothing());
  kernel::check_operands(typed, windowed.all());
  kernel::Layouts layouts;
  jit::resolve(setup_, windowed.all(), layouts);
}

void KernelImpl::run_lets(Operands call, const jit::LetWatch &watch) const {
  const spec::TypedSpec &typed = setup_.typed;
  const jit::Lets &lets = subs_.lets();
  const Operands inputs = call.first(typed.callers_inputs());
  const Operands outputs = call.subspan(inputs.size());
  kernel::check_operands(typed, inputs);
  const std::shared_ptr<const jit::Lets::Layouts> layouts = lets.layouts(inputs);
  const jit::runtime::Scratch memory(std::size_t(layouts->bytes_to_have()));
  const std::vector<AnyView> views = lets.views(*layouts, memory.data());
  const std::vector<bool> needed = lets.needed(outputs);
  for (std::size_t k = 0; setup_.profile == Profile::paths && k < needed.size(); ++k)
    if (lets.rows_of_loop(k)) jit::count(jit::Path::RowsOfLoop);
  jit::record_lets(lets, needed, views);
  jit::LoopsBefore loops(needed.size());
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const std::optional<spec::Recurrence> &loop = lets.specs()[k]->recurrence;
    if (!loop) {
      lets.kernels()[k]->run_lent(lets.operands(k, inputs, views));
      if (watch) watch(k, std::nullopt, views[k], views);
    } else if (loop->first == k) {
      if (setup_.profile == Profile::paths && lets.keeps_last_rows(k))
        jit::count(jit::Path::RowsKept);
      if (setup_.profile == Profile::paths && layouts->segment[k] > 0)
        jit::count(jit::Path::Checkpoints);
      loops[k] = std::make_shared<const jit::TimeLoop>(lets, layouts, k, inputs, views, loops,
                                                       setup_.windows());
      const jit::TimeLoop &steps = *loops[k];
      jit::TimeLoop::Watch each = nullptr;
      if (watch)
        each = [&](std::size_t let, std::int64_t step, const AnyView &row) {
          watch(let, step, row, views);
        };
      steps.run(jit::TimeLoop::Copies::AreThere, each);
    }
  }
  run_lent(lets.operands_of_rest(inputs, views, outputs));
}

void KernelImpl::run_with_windows(Operands given) const {
  const spec::TypedSpec &typed = setup_.typed;
  kernel::check_operands(typed, given.first(typed.given_inputs()));
  const kernel::WindowedOperands windowed(typed, given, helpers(), setup_.windows_or_output());
  note_windows(windowed);
  if (windowed.fills_output()) {
    setup_.stop_if_cancelled();
    return windowed.fill();
  }
  if (windowed.calls() > 1)
    kernel::check_apart(typed, windowed.all()); // before any part is written
  // So are mistakes in shapes.
  for (std::size_t c = 0; c < windowed.calls() && windowed.calls() > 1; ++c)
    subs_.of_part(windowed.part(c)).bind(windowed.call(c), windowed.lies(c), jit::Use::Once);
  for (std::size_t c = 0; c < windowed.calls(); ++c) {
    const KernelImpl &part = subs_.of_part(windowed.part(c));
    kernel::record_run(part.typed(), typed.name, windowed.call(c));
    part.run_windowed(windowed.call(c), windowed.lies(c));
  }
}

void KernelImpl::run_windowed(Operands operands, kernel::Lies lies) const {
  const Specialisation *likely = layout_cache_.likely();
  if (run_again(likely, operands, lies)) [[likely]]
    return;
  if (setup_.engine == Engine::reference) return executor_.run_reference(operands);
  if (fits(setup_, operands))
    if (const Specialisation *special = layout_cache_.find_pinned(operands, lies, likely)) {
      if (special != likely && run_again(special, operands, lies)) return;
      layout_cache_.note(special);
      return executor_.execute(*special, operands);
    }
  const std::shared_ptr<const Specialisation> special = bind(operands, lies, jit::Use::Once);
  if (special->generality == plan::Generality::Exact) return executor_.execute(*special, operands);
  const jit::Stopwatch watch;
  executor_.execute(*special, operands);
  special->generic_ms.fetch_add(watch.ms(), std::memory_order_relaxed);
}

std::shared_ptr<const Specialisation> KernelImpl::bind(Operands operands, kernel::Lies lies,
                                                       jit::Use use) const {
  kernel::check_operands(setup_.typed, operands);
  const std::uint64_t hash = jit::layout_hash(operands, lies);
  if (auto known = layout_cache_.find(operands, lies, hash)) {
    if (known->generality == plan::Generality::Exact) return known;
    if (use == jit::Use::Once && !known->deserves_exact()) return known;
    use = jit::Use::Often;
  }
  return layout_cache_.add(jit::specialise(setup_, patterns_, operands, lies, hash, use));
}

} // namespace broadloom

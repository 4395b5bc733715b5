// A call of a nest: look the layouts up, check the pointers, run.
//
// The way of a repeated call is kept short: where the layouts are those of this thread's latest
// call and no memory needs to be copied, one pass over the operands checks all (`run_again`), and
// where each phase is one block nothing is asked between them (`run_steps`). Else one pass checks
// dtypes and ranks, one hashes the layouts, one compares them with the key of the Specialisation
// found, one checks pointers and which spans of memory meet. Neither allocates, takes a lock or
// counts references.
#include "jit/nest/nest.hpp"

#include "jit/nest/code_beside.hpp"
#include "jit/nest/specialise.hpp"
#include "jit/nest/stopwatch.hpp"
#include "jit/runtime/small.hpp"

namespace broadloom::jit {

using kernel::Operands;

// Whether dtypes and ranks are as declared: what the layout look-up relies on.
static bool fits(const Setup &setup, Operands operands) {
  bool good = true;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (operands[k] != nullptr)
      good &= operands[k]->dtype == setup.declared[k].dtype &&
              operands[k]->layout.rank == setup.declared[k].rank;
  return good;
}

// The call of before with other memory, as most calls are. Where anything is out of the ordinary,
// it gives false and has done nothing: the longer way finds out what, and says so.
inline bool Nest::run_again(const Specialisation *special, Operands operands,
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
  if (!good || !ends_with(word, lies)) return false;
  char *buffers[few_buffers];
  for (std::size_t b = 0; b < special->buffers.size(); ++b)
    buffers[b] = static_cast<char *>(addresses[special->buffers[b].operand]);
  layout_cache_.note(special);
  if (special->steps.empty()) {
    executor_.run_phases(*special, buffers);
  } else {
    loop::Frame frame = frame_of(*special);
    frame.buffers = buffers;
    run_steps(special->steps, frame);
  }
  return true;
}

void Nest::run(Operands operands, kernel::Lies lies) const {
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
  const std::shared_ptr<const Specialisation> special = bind(operands, lies, Use::Once);
  if (special->generality == plan::Generality::Exact) return executor_.execute(*special, operands);
  const Stopwatch watch;
  executor_.execute(*special, operands);
  special->generic_ms.fetch_add(watch.ms(), std::memory_order_relaxed);
}

std::shared_ptr<const Specialisation> Nest::bind(Operands operands, kernel::Lies lies,
                                                 Use use) const {
  kernel::check_operands(setup_.typed, operands);
  const std::uint64_t hash = layout_hash(operands, lies);
  std::shared_ptr<CodeBeside> beside;
  if (auto known = layout_cache_.find(operands, lies, hash)) {
    if (!known->stands_in()) return known;
    if (setup_.built) return known; // nothing is compiled for it
    beside = known->beside;
    if (use == Use::Once && beside && !beside->is_due()) return known;
    if (use != Use::Often && !beside && !known->deserves_exact()) return known;
    use = Use::Often;
  }
  return layout_cache_.add(specialise(setup_, patterns_, operands, lies, hash, use, beside.get()));
}

} // namespace broadloom::jit

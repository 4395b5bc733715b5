// See call_plans.hpp.
#include "jit/call/call_plans.hpp"

#include "jit/call/choose_call.hpp"
#include "kernel/check.hpp"

#include <algorithm>
#include <optional>

namespace broadloom::jit {

static bool fits(const Setup &setup, const CallPlan &plan, kernel::Operands call) {
  const std::size_t inputs = setup.callers_inputs;
  const std::int64_t *word = plan.key.data();
  for (std::size_t k = 0; k < call.size(); ++k) {
    const AnyView *view = call[k];
    if (k >= inputs && *word++ != (view != nullptr)) return false;
    if (view == nullptr) continue;
    const Setup::Declared &declared =
        setup.declared[k < inputs ? k : k - inputs + setup.typed.inputs.size()];
    if (view->dtype != declared.dtype || view->layout.rank != declared.rank) return false;
    if (k >= inputs && !view->writable) return false; // who chooses says so
    for (int d = 0; d < view->layout.rank; ++d, word += 2)
      if (word[0] != view->layout.extents[d] || word[1] != view->layout.strides[d]) return false;
  }
  return true;
}

std::shared_ptr<const CallPlan> CallPlans::of(const Nests &nests, kernel::Operands call) const {
  const Setup &setup = nests.rest.setup();
  std::optional<kernel::Overlaps> overlaps;
  const auto find_overlaps = [&] {
    if (!overlaps)
      overlaps = setup.has_windows ? kernel::overlaps_of(setup.typed, call) : kernel::Overlaps();
    return true;
  };
  std::shared_ptr<const CallPlan> plan;
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(plans_, [&](const auto &plan) {
      return fits(setup, *plan, call) && find_overlaps() && plan->overlaps == *overlaps;
    });
    if (known != plans_.end()) plan = *known;
    if (plan && known == plans_.begin()) return plan;
  }
  if (!plan) {
    kernel::check_operands(setup.typed, call.first(setup.callers_inputs)); // before they are seen
    find_overlaps();
    plan = choose_call(nests, call, *overlaps, Purpose::Run);
  }
  add(plan);
  return plan;
}

void CallPlans::add(const std::shared_ptr<const CallPlan> &plan) const {
  constexpr std::size_t most = 8;
  {
    const std::lock_guard lock(mutex_);
    std::erase(plans_, plan);
    plans_.insert(plans_.begin(), plan);
    if (plans_.size() > most) plans_.pop_back();
  }
  for (const auto &[nest, choice] : plan->windows) nest->note_windows(choice);
}

std::shared_ptr<const CallPlan> CallPlans::latest() const {
  const std::lock_guard lock(mutex_);
  return plans_.empty() ? nullptr : plans_.front();
}

} // namespace broadloom::jit

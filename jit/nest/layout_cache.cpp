// See layout_cache.hpp.
#include "jit/nest/layout_cache.hpp"

#include <utility>

namespace broadloom::jit {

std::size_t LatestCalls::next_number() {
  static std::atomic<std::size_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::vector<std::int64_t> layout_key(kernel::Operands operands, std::size_t input_count,
                                     kernel::Lies lies) {
  std::vector<std::int64_t> key;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const AnyView *view = operands[k];
    if (k >= input_count) key.push_back(view != nullptr);
    if (view == nullptr) continue;
    for (int d = 0; d < view->layout.rank; ++d) {
      key.push_back(view->layout.extents[d]);
      key.push_back(view->layout.strides[d]);
    }
  }
  for (const Layout &layout : lies.windows)
    key.insert(key.end(), layout.steps().begin(), layout.steps().end());
  key.push_back(std::int64_t(lies.near));
  return key;
}

template <class Same>
std::shared_ptr<const Specialisation> LayoutCache::find_locked(std::uint64_t hash,
                                                               const Same &same) {
  for (const std::shared_ptr<const Specialisation> &special : pinned_) {
    if (special->hash != hash || !same(*special)) continue;
    note(special.get());
    return special;
  }
  const auto [first, last] = recent_index_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    if (!same(**entry->second)) continue;
    recent_.splice(recent_.begin(), recent_, entry->second);
    note(nullptr);
    return recent_.front();
  }
  return nullptr;
}

std::shared_ptr<const Specialisation> LayoutCache::find(kernel::Operands operands,
                                                        kernel::Lies lies, std::uint64_t hash) {
  const std::lock_guard lock(mutex_);
  return find_locked(
      hash, [&](const Specialisation &special) { return matches(special, operands, lies); });
}

std::shared_ptr<const Specialisation>
LayoutCache::add(std::shared_ptr<const Specialisation> special) {
  std::shared_ptr<const Specialisation>
      dropped; // outlives the lock: it may be the last to hold its code
  const std::lock_guard lock(mutex_);
  if (auto other = find_locked(special->hash, [&](const Specialisation &candidate) {
        return candidate.key == special->key;
      })) {
    if (!other->stands_in() || special->stands_in()) return other;
    dropped = std::exchange(recent_.front(), special); // where `find_locked` has put it
    return special;
  }
  const bool is_first = pinned_.empty() && recent_.empty();
  const bool is_pinned = pinned_.size() < most_pinned && !special->stands_in();
  if (!is_first || !is_pinned) note_calls();
  if (is_pinned) {
    pinned_.push_back(special);
    std::size_t k = special->hash % slot_count;
    while (slots_[k].load(std::memory_order_relaxed) != nullptr) k = (k + 1) % slot_count;
    slots_[k].store(special.get(), std::memory_order_release);
    if (is_first) only_.store(special.get(), std::memory_order_release);
    note(special.get());
    return special;
  }
  Recent made; // what is in `recent_` is in the index, too
  made.push_front(special);
  recent_index_.emplace(special->hash, made.begin());
  if (recent_.size() >= most_recent) {
    const auto [first, last] = recent_index_.equal_range(recent_.back()->hash);
    for (auto entry = first; entry != last; ++entry) {
      if (entry->second != std::prev(recent_.end())) continue;
      recent_index_.erase(entry);
      break;
    }
    dropped = std::move(recent_.back());
    recent_.pop_back();
  }
  recent_.splice(recent_.begin(), made);
  note(nullptr);
  return special;
}

// From now on each thread notes what it calls. What it throws, it throws before anything has
// changed.
void LayoutCache::note_calls() {
  if (owned_calls_) return;
  owned_calls_ = std::make_unique<LatestCalls>();
  // All calls were of the only layout so far, whoever made them.
  if (const Specialisation *only = only_.load(std::memory_order_relaxed)) owned_calls_->note(only);
  calls_.store(owned_calls_.get(), std::memory_order_release);
  only_.store(nullptr, std::memory_order_release);
}

std::shared_ptr<const Specialisation> LayoutCache::latest() const {
  const std::lock_guard lock(mutex_);
  const Specialisation *latest = owned_calls_ ? owned_calls_->latest() : only_.load();
  for (const std::shared_ptr<const Specialisation> &special : pinned_)
    if (special.get() == latest) return special;
  return recent_.empty() ? nullptr : recent_.front();
}

} // namespace broadloom::jit

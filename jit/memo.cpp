// See memo.hpp.
#include "jit/memo.hpp"

namespace broadloom::jit {

std::vector<std::int64_t> layout_key(kernel::Operands operands, std::size_t input_count) {
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
  return key;
}

template <class Same>
std::shared_ptr<const Bound> Memo::find_locked(std::uint64_t hash, const Same &same) {
  for (const std::shared_ptr<const Bound> &bound : pinned_) {
    if (bound->hash != hash || !same(*bound)) continue;
    latest_pinned_.store(bound.get(), std::memory_order_release);
    return bound;
  }
  const auto [first, last] = recent_index_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    if (!same(**entry->second)) continue;
    recent_.splice(recent_.begin(), recent_, entry->second);
    latest_pinned_.store(nullptr, std::memory_order_relaxed);
    return recent_.front();
  }
  return nullptr;
}

std::shared_ptr<const Bound> Memo::find(kernel::Operands operands, std::uint64_t hash) {
  const std::lock_guard lock(mutex_);
  return find_locked(hash, [&](const Bound &bound) { return matches(bound, operands); });
}

std::shared_ptr<const Bound> Memo::add(std::shared_ptr<const Bound> bound) {
  std::shared_ptr<const Bound> dropped; // outlives the lock: it may be the last to hold its code
  const std::lock_guard lock(mutex_);
  if (auto other = find_locked(bound->hash,
                               [&](const Bound &candidate) { return candidate.key == bound->key; }))
    return other;
  if (pinned_.size() < most_pinned) {
    pinned_.push_back(bound);
    std::size_t k = bound->hash % slot_count;
    while (slots_[k].load(std::memory_order_relaxed) != nullptr) k = (k + 1) % slot_count;
    slots_[k].store(bound.get(), std::memory_order_release);
    latest_pinned_.store(bound.get(), std::memory_order_release);
    return bound;
  }
  Recent made; // what is in `recent_` is in the index, too
  made.push_front(bound);
  recent_index_.emplace(bound->hash, made.begin());
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
  latest_pinned_.store(nullptr, std::memory_order_relaxed);
  return bound;
}

std::shared_ptr<const Bound> Memo::latest() const {
  const std::lock_guard lock(mutex_);
  const Bound *latest = latest_pinned_.load(std::memory_order_relaxed);
  for (const std::shared_ptr<const Bound> &bound : pinned_)
    if (bound.get() == latest) return bound;
  return recent_.empty() ? nullptr : recent_.front();
}

} // namespace broadloom::jit

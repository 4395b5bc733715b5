// The layout cache of a kernel: the layouts that it has seen, each with its Specialisation.
//
// The first few are pinned: they stand in a small table of atomic pointers that only ever fills up, and
// live as long as the kernel, so that a call finds them without a lock and may use them without
// counting references. The rest are found under a lock, counted, and bounded: the least recently used
// one is forgotten first. Keys are compared in full.
#pragma once

#include "jit/specialisation.hpp"
#include "support/undivided.hpp"

#include <array>
#include <atomic>
#include <list>
#include <mutex>
#include <unordered_map>

namespace broadloom::jit {

// Extents and strides of every operand in turn; before those of an output, whether it is wanted (a
// `wanted` of 0 ends its entry). Ranks are those of the spec, so keys need no more.
std::vector<std::int64_t> layout_key(kernel::Operands operands, std::size_t input_count);

// A hash of the same words.
inline std::uint64_t layout_hash(kernel::Operands operands) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  const auto mix = [&](std::int64_t extent, std::int64_t stride) {
    hash = (hash ^ std::uint64_t(extent)) * 0xff51afd7ed558ccd +
           std::uint64_t(stride) * 0xc4ceb9fe1a85ec53;
  };
  for (const AnyView *view : operands) {
    if (view == nullptr)
      mix(-1, 0);
    else
      for (int d = 0; d < view->layout.rank; ++d)
        mix(view->layout.extents[d], view->layout.strides[d]);
  }
  return hash ^ hash >> 32;
}

class LayoutCache {
public:
  // That of the latest call if it is pinned, or null.
  const Specialisation *latest_pinned() const {
    return latest_pinned_.load(std::memory_order_acquire);
  }

  // The pinned Specialisation for these operands, or null. The latest one needs no hash.
  const Specialisation *find_pinned(kernel::Operands operands) const {
    const Specialisation *latest = latest_pinned();
    if (latest != nullptr && matches(*latest, operands)) return latest;
    const std::uint64_t hash = layout_hash(operands);
    for (std::size_t k = hash % slot_count;; k = (k + 1) % slot_count) {
      const Specialisation *special = slots_[k].load(std::memory_order_acquire);
      if (special == nullptr) return nullptr; // met at last: the table is never full
      if (special->hash == hash && matches(*special, operands)) {
        latest_pinned_.store(special, std::memory_order_release);
        return special;
      }
    }
  }

  // Any Specialisation for these operands, or null.
  std::shared_ptr<const Specialisation> find(kernel::Operands operands, std::uint64_t hash);

  // Keeps `special`, unless another thread was faster: gives the one that is kept. An exact one takes the place of a generic one,
  // which is never pinned.
  std::shared_ptr<const Specialisation> add(std::shared_ptr<const Specialisation> special);

  // That of the latest call; null before any.
  std::shared_ptr<const Specialisation> latest() const;

private:
  static constexpr std::size_t slot_count = 16, most_pinned = 12, most_recent = 256;
  using Recent = std::list<std::shared_ptr<const Specialisation>>; // used last in front

  static bool matches(const Specialisation &special, kernel::Operands operands) {
    const std::int64_t *word = special.key.data();
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const AnyView *view = operands[k];
      if (k >= special.input_count && *word++ != (view != nullptr)) return false;
      if (view == nullptr) continue;
      for (int d = 0; d < view->layout.rank; ++d) {
        if (word[0] != view->layout.extents[d] || word[1] != view->layout.strides[d]) return false;
        word += 2;
      }
    }
    return true;
  }

  template <class Same>
  std::shared_ptr<const Specialisation> find_locked(std::uint64_t hash, const Same &same);

  std::array<std::atomic<const Specialisation *>, slot_count> slots_{};
  mutable std::atomic<const Specialisation *> latest_pinned_{
      nullptr}; // null: the latest one is in recent_

  mutable support::Mutex mutex_;
  std::vector<std::shared_ptr<const Specialisation>> pinned_;
  Recent recent_;
  std::unordered_multimap<std::uint64_t, Recent::iterator> recent_index_;
};

} // namespace broadloom::jit

// The layout cache of a kernel: the layouts that it has seen, each with its Specialisation.
//
// The first few are pinned: they stand in a small table of atomic pointers that only ever fills up,
// and live as long as the kernel, so that a call finds them without a lock and may use them without
// counting references. No call writes what another thread's reads. The rest are found under a lock,
// counted, and bounded: the least recently used one is forgotten first. Keys are compared in full.
#pragma once

#include "jit/nest/specialisation.hpp"
#include "support/undivided.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace broadloom::jit {

// Extents and strides of every operand in turn; before those of an output, whether it is wanted (a
// `wanted` of 0 ends its entry); then the strides by which trees go, and what is near. Ranks are
// those of the spec, so keys need no more.
std::vector<std::int64_t> layout_key(kernel::Operands operands, std::size_t input_count,
                                     kernel::Lies lies = {});

// Whether the key goes on with these from `word` on.
inline bool ends_with(const std::int64_t *word, kernel::Lies lies) {
  for (const Layout &layout : lies.windows)
    for (const std::int64_t stride : layout.steps())
      if (*word++ != stride) return false;
  return std::uint64_t(*word) == lies.near;
}

// A hash of the same words.
inline std::uint64_t layout_hash(kernel::Operands operands, kernel::Lies lies = {}) {
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
  for (const Layout &layout : lies.windows)
    for (const std::int64_t stride : layout.steps()) mix(0, stride);
  mix(1, std::int64_t(lies.near));
  return hash ^ hash >> 32;
}

// What each thread called last, once there are several layouts: each writes a line of its own,
// which the calls of others do not read, so none waits for another.
class LatestCalls {
public:
  // That of this thread; null: it has called none, or one that is not pinned.
  const Specialisation *mine() const { return line().special.load(std::memory_order_acquire); }

  // `special` is null for one that is not pinned. Most calls find it there.
  void note(const Specialisation *special) {
    Line &line = this->line();
    if (line.special.load(std::memory_order_relaxed) == special && line.used) return;
    line.special.store(special, std::memory_order_release);
    line.used = true;
  }

  // That of this thread, or where it has called none, of another one.
  const Specialisation *latest() const {
    const Line *latest = &line();
    for (std::size_t k = 0; !latest->used && k < line_count; ++k) latest = &lines_[k];
    return latest->special.load(std::memory_order_acquire);
  }

private:
  struct alignas(64) Line {
    std::atomic<const Specialisation *> special{nullptr};
    std::atomic<bool> used{false};
  };

  // Threads have numbers in the order in which they first come here; of more than there are lines,
  // some share one.
  static constexpr std::size_t line_count = 64;
  static std::size_t next_number();
  static std::size_t number() {
    static constinit thread_local std::size_t number = 0;
    if (number == 0) [[unlikely]]
      number = next_number();
    return number;
  }
  Line &line() { return lines_[number() % line_count]; }
  const Line &line() const { return lines_[number() % line_count]; }

  std::array<Line, line_count> lines_;
};

class LayoutCache {
public:
  // What the next call is likely to need, if that is pinned: that of the latest call of this
  // thread. Where only one layout was ever met, nothing is noted. `note` says that this call needs
  // it indeed.
  const Specialisation *likely() const {
    if (const Specialisation *only = only_.load(std::memory_order_acquire)) return only;
    const LatestCalls *calls = calls_.load(std::memory_order_acquire);
    return calls != nullptr ? calls->mine() : nullptr;
  }
  void note(const Specialisation *special) const {
    if (LatestCalls *calls = calls_.load(std::memory_order_acquire)) calls->note(special);
  }

  // The pinned Specialisation for these operands, or null. The likely one needs no hash.
  const Specialisation *find_pinned(kernel::Operands operands, kernel::Lies lies,
                                    const Specialisation *likely) const {
    if (likely != nullptr && matches(*likely, operands, lies)) return likely;
    const std::uint64_t hash = layout_hash(operands, lies);
    for (std::size_t k = hash % slot_count;; k = (k + 1) % slot_count) {
      const Specialisation *special = slots_[k].load(std::memory_order_acquire);
      if (special == nullptr) return nullptr; // met at last: the table is never full
      if (special->hash == hash && matches(*special, operands, lies)) return special;
    }
  }

  // Any Specialisation for these operands, or null.
  std::shared_ptr<const Specialisation> find(kernel::Operands operands, kernel::Lies lies,
                                             std::uint64_t hash);

  // Keeps `special`, unless another thread was faster: gives the one that is kept. What only stands
  // in is never pinned, and gives its place to what does not.
  std::shared_ptr<const Specialisation> add(std::shared_ptr<const Specialisation> special);

  // That of the latest call of this thread, or where it has made none, of another one; null before
  // any.
  std::shared_ptr<const Specialisation> latest() const;

private:
  static constexpr std::size_t slot_count = 16, most_pinned = 12, most_recent = 256;
  using Recent = std::list<std::shared_ptr<const Specialisation>>; // used last in front

  static bool matches(const Specialisation &special, kernel::Operands operands, kernel::Lies lies) {
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
    return ends_with(word, lies);
  }

  void note_calls();
  template <class Same>
  std::shared_ptr<const Specialisation> find_locked(std::uint64_t hash, const Same &same);

  std::array<std::atomic<const Specialisation *>, slot_count> slots_{};
  // Written where a layout is new, read by each call: apart from what calls write.
  std::atomic<const Specialisation *> only_{nullptr}; // that was ever met, if it is pinned
  std::atomic<LatestCalls *> calls_{nullptr};         // once there are more

  mutable support::Mutex mutex_;
  std::unique_ptr<LatestCalls> owned_calls_;
  std::vector<std::shared_ptr<const Specialisation>> pinned_;
  Recent recent_;
  std::unordered_multimap<std::uint64_t, Recent::iterator> recent_index_;
};

} // namespace broadloom::jit

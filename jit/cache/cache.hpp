// A bounded cache in memory in which everything is made once.
//
// Threads that ask for the same key wait for the first of them to make it; threads with other keys
// go on. No lock is held while something is made except that of its own entry. Keys are compared in
// full: a hash that collides costs a comparison, never a wrong answer. Where making fails, the
// exception goes to the thread that tried, nothing is remembered, and the next one tries again.
//
// It is bounded twice: by the number of entries, and by their bytes. What was not used for the
// longest time goes first. For the sake of bytes only what nobody holds goes, as nothing is won by
// the rest: that is looked at whenever something is made.
#pragma once

#include "support/undivided.hpp"

#include <cstddef>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace broadloom::jit {

template <class Value> class MemoryCache {
public:
  using BytesOf = std::size_t (*)(const Value &);
  explicit MemoryCache(
      std::size_t most_entries, std::size_t most_bytes = std::numeric_limits<std::size_t>::max(),
      BytesOf bytes_of = [](const Value &) { return std::size_t(0); })
      : most_entries_(most_entries), most_bytes_(most_bytes), bytes_of_(bytes_of) {}

  struct Found {
    std::shared_ptr<const Value> value;
    bool made = false;       // by this very call
    std::size_t dropped = 0; // so many others went for it to have room
  };

  // `make()` gives a std::shared_ptr<const Value>.
  template <class Make> Found get(const std::string &key, const Make &make) {
    const std::shared_ptr<Entry> entry = enter(key);
    const std::lock_guard lock(entry->mutex);
    if (entry->value) return {entry->value, false, 0};
    entry->value = make();
    return {entry->value, true, make_room_for(entry)};
  }

  bool has(const std::string &key) const { // made, not only begun
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    return found != index_.end() && (*found->second)->is_made;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }
  std::size_t most_bytes() const { return most_bytes_; }
  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

private:
  struct Entry {
    explicit Entry(std::string key) : key(std::move(key)) {}
    const std::string key;
    support::Mutex mutex; // held while the value is made
    std::shared_ptr<const Value> value;
    bool is_made = false; // under the lock of the cache, as `bytes`: then the value stays as it is
    std::size_t bytes = 0;
  };
  using Order = std::list<std::shared_ptr<Entry>>; // used last in front

  std::shared_ptr<Entry> enter(const std::string &key) {
    std::shared_ptr<Entry> dropped; // outlives the lock: a value may take long to free
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return order_.front();
    }
    Order made; // only what is in the index, too, comes into the order
    made.push_front(std::make_shared<Entry>(key));
    index_.emplace(made.front()->key, made.begin());
    order_.splice(order_.begin(), made);
    if (order_.size() > most_entries_) {
      dropped = order_.back();
      forget(std::prev(order_.end()));
    }
    return order_.front();
  }

  void forget(typename Order::iterator place) { // under the lock
    bytes_ -= (*place)->bytes;
    index_.erase((*place)->key);
    order_.erase(place);
  }

  // Counts the bytes of what was made just now. Returns how many others went.
  std::size_t make_room_for(const std::shared_ptr<Entry> &made) {
    std::vector<std::shared_ptr<Entry>> dropped; // outlives the lock
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(made->key);
    if (found == index_.end() || *found->second != made) return 0; // forgotten meanwhile
    made->is_made = true;
    made->bytes = bytes_of_(*made->value);
    bytes_ += made->bytes;
    for (auto place = order_.end(); bytes_ > most_bytes_ && place != order_.begin();) {
      const auto last = std::prev(place);
      const bool is_held = !(*last)->is_made || (*last)->value.use_count() > 1;
      if (is_held || *last == made) {
        place = last;
        continue;
      }
      dropped.push_back(*last);
      forget(last);
    }
    return dropped.size();
  }

  const std::size_t most_entries_, most_bytes_;
  const BytesOf bytes_of_;
  mutable support::Mutex mutex_;
  Order order_;
  std::size_t bytes_ = 0;                                                // of what is made
  std::unordered_map<std::string_view, typename Order::iterator> index_; // into the entries' keys
};

} // namespace broadloom::jit

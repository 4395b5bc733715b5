// A bounded cache in memory in which everything is made once.
//
// Threads that ask for the same key wait for the first of them to make it; threads with other keys go
// on. No lock is held while something is made except that of its own entry. Keys are compared in full:
// a hash that collides costs a comparison, never a wrong answer. Where making fails, the exception goes
// to the thread that tried, nothing is remembered, and the next one tries again.
#pragma once

#include "support/undivided.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace broadloom::jit {

template <class Value> class MemoryCache {
public:
  explicit MemoryCache(std::size_t limit) : limit_(limit) {}

  struct Found {
    std::shared_ptr<const Value> value;
    bool made = false; // by this very call
  };

  // `make()` gives a std::shared_ptr<const Value>.
  template <class Make> Found get(const std::string &key, const Make &make) {
    const std::shared_ptr<Entry> entry = enter(key);
    const std::lock_guard lock(entry->mutex);
    if (entry->value) return {entry->value, false};
    entry->value = make();
    return {entry->value, true};
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }

private:
  struct Entry {
    explicit Entry(std::string key) : key(std::move(key)) {}
    const std::string key;
    support::Mutex mutex; // held while the value is made
    std::shared_ptr<const Value> value;
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
    if (order_.size() > limit_) {
      dropped = order_.back();
      index_.erase(dropped->key);
      order_.pop_back();
    }
    return order_.front();
  }

  const std::size_t limit_;
  mutable support::Mutex mutex_;
  Order order_;
  std::unordered_map<std::string_view, typename Order::iterator> index_; // into the entries' keys
};

} // namespace broadloom::jit

// See arena.hpp. A call takes and gives back as a stack does; the tasks of a call that runs in
// tiles take blocks of one size, in any order.
#include "jit/runtime/arena.hpp"

#include <cstdint>
#include <mutex>
#include <new>

namespace broadloom::jit::runtime {

CallArena::CallArena(void *memory, std::size_t bytes) {
  char *begin = static_cast<char *>(memory);
  const std::size_t skipped =
      (alignment - reinterpret_cast<std::uintptr_t>(memory) % alignment) % alignment;
  next_ = bytes > skipped ? begin + skipped : begin;
  end_ = bytes > skipped ? next_ + (bytes - skipped) / alignment * alignment : begin;
}

std::size_t CallArena::room() const {
  const std::lock_guard lock(mutex_);
  return std::size_t(end_ - next_);
}

char *CallArena::take(std::size_t bytes) {
  bytes = rounded(bytes);
  const std::lock_guard lock(mutex_);
  for (Free **at = &free_; *at != nullptr; at = &(*at)->next)
    if ((*at)->bytes == bytes) {
      auto *found = reinterpret_cast<char *>(*at);
      *at = (*at)->next;
      return found;
    }
  if (bytes > std::size_t(end_ - next_)) return nullptr;
  char *found = next_;
  next_ += bytes;
  return found;
}

void CallArena::give_back(char *block, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  free_ = new (block) Free{free_, rounded(bytes)};
  for (Free **at = &free_; *at != nullptr;) // what lies last is room again
    if (reinterpret_cast<char *>(*at) + (*at)->bytes == next_) {
      next_ = reinterpret_cast<char *>(*at);
      *at = (*at)->next;
      at = &free_;
    } else {
      at = &(*at)->next;
    }
}

} // namespace broadloom::jit::runtime

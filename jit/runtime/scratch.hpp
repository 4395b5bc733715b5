// Scratch memory for one call: partial results of long folds, rows kept between phases.
//
// What is larger than a thread keeps comes from where the memory of arrays does (array/memory.hpp).
//
// Where the caller has given an arena, it comes from there (arena.hpp). Else
// the block is taken from the calling thread's own cache and given back at the end, so that
// repeated calls do not allocate. It is taken out of the cache, not shared: a call that runs within
// another one on the same thread (oneTBB may do that while a thread waits) gets a block of its own.
#pragma once

#include "jit/runtime/arena.hpp"

#include <cstddef>
#include <memory>

namespace broadloom::jit::runtime {

class Scratch {
public:
  explicit Scratch(std::size_t bytes); // 64-byte aligned, not cleared. Throws DataError E0305
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  char *data() const { return data_; }

private:
  char *data_ = nullptr;
  std::shared_ptr<void> large_;
  CallArena *arena_ = nullptr; // that it is from
  std::size_t bytes_ = 0;
};

} // namespace broadloom::jit::runtime

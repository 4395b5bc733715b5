// See scratch.hpp.
#include "jit/runtime/scratch.hpp"

#include "array/memory.hpp"

#include <broadloom/error.hpp>

#include <new>
#include <string>
#include <utility>

namespace broadloom::jit::runtime {
namespace {

constexpr std::align_val_t alignment{64};
constexpr std::size_t most_kept = std::size_t(32) << 20; // bytes that a thread keeps between calls

struct Block {
  char *data = nullptr;
  std::size_t bytes = 0;

  void release() {
    if (data != nullptr) ::operator delete(data, alignment);
    data = nullptr;
    bytes = 0;
  }
  ~Block() { release(); }
};

thread_local Block kept;

} // namespace

Scratch::Scratch(std::size_t bytes) {
  if (bytes == 0) return;
  // A call begins where there is room for it. Only if another thread has it planned anew meanwhile,
  // there may be too little: then it goes on with memory of its own.
  if (CallArena *arena = CallArena::now(); arena != nullptr) {
    if ((data_ = arena->take(bytes)) != nullptr) {
      arena_ = arena;
      bytes_ = bytes;
      return;
    }
    ++CallArena::missed;
  }
  if (kept.bytes >= bytes) {
    data_ = std::exchange(kept.data, nullptr);
    bytes_ = std::exchange(kept.bytes, 0);
    return;
  }
  if (bytes > most_kept) {
    large_ = array::written_memory(bytes);
    data_ = static_cast<char *>(large_.get());
  } else {
    data_ = static_cast<char *>(::operator new(bytes, alignment, std::nothrow));
    bytes_ = bytes;
  }
  if (data_ == nullptr)
    throw DataError("E0305", "out of memory: " + std::to_string(bytes) + " bytes of scratch", {},
                    "free memory, or fold in smaller pieces");
}

Scratch::~Scratch() {
  if (arena_ != nullptr) arena_->give_back(data_, bytes_);
  if (arena_ != nullptr || large_) return;
  Block done{data_, bytes_}; // freed on leaving, unless it is the one to keep
  if (done.bytes > kept.bytes && done.bytes <= most_kept) {
    std::swap(done.data, kept.data);
    std::swap(done.bytes, kept.bytes);
  }
}

} // namespace broadloom::jit::runtime

// See memory.hpp.
#include "array/memory.hpp"
#include "support/undivided.hpp"

#include <broadloom/error.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace broadloom::array {
namespace {

constexpr std::size_t huge_page = std::size_t(2) << 20;

struct Block { // `memory` is on the border of a huge page within what was mapped
  void *mapped = nullptr;
  std::size_t mapped_bytes = 0;
  void *memory = nullptr;
  std::size_t bytes = 0; // whole huge pages
};

void unmap(const Block &block) { munmap(block.mapped, block.mapped_bytes); }

constinit support::Mutex mutex; // of what is kept
// Never destroyed: arrays may be given back while the process ends.
struct Kept {
  std::vector<Block> blocks; // the oldest first
  std::size_t bytes = 0;
};
Kept &kept() {
  static Kept &made = *new Kept;
  return made;
}

Block map_block(std::size_t bytes) {
  const std::size_t length = bytes + huge_page;
  void *mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  void *memory = static_cast<char *>(mapped) + (huge_page - address % huge_page) % huge_page;
  madvise(memory, bytes, MADV_HUGEPAGE); // a wish: without huge pages all is well, only slower
  return {mapped, length, memory, bytes};
}

// A kept block of at least `bytes` and at most a quarter more, the latest that was given back.
Block take(std::size_t bytes) {
  const std::lock_guard lock(mutex);
  std::vector<Block> &blocks = kept().blocks;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (block->bytes < bytes || block->bytes > bytes + bytes / 4) continue;
    const Block found = *block;
    kept().bytes -= found.bytes;
    blocks.erase(std::next(block).base());
    return found;
  }
  return {};
}

// Called where arrays are destroyed: what finds no room in the list is not kept.
void give_back(const Block &block) try {
  if (!keeps_memory || block.bytes > most_kept_bytes) return unmap(block);
  std::vector<Block> dropped; // unmapped without the lock
  {
    const std::lock_guard lock(mutex);
    std::vector<Block> &blocks = kept().blocks;
    dropped.reserve(blocks.size());
    blocks.reserve(blocks.size() + 1);
    while (kept().bytes + block.bytes > most_kept_bytes) {
      dropped.push_back(blocks.front());
      kept().bytes -= blocks.front().bytes;
      blocks.erase(blocks.begin());
    }
    blocks.push_back(block);
    kept().bytes += block.bytes;
  }
  for (const Block &old : dropped) unmap(old);
} catch (const std::bad_alloc &) {
  unmap(block);
} catch (const CompileError &) { // in a torn child, where the list stays locked
  unmap(block);
}

// Holds `memory`, which `free` gives back; null where that takes memory that is not there.
template <class Free> std::shared_ptr<void> owner_of(void *memory, const Free &free) try {
  return {memory, free};
} catch (const std::bad_alloc &) { // `free` has been called
  return nullptr;
}

std::shared_ptr<void> heap_memory(std::size_t bytes) {
  void *memory = nullptr;
  if (posix_memalign(&memory, 64, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
  return owner_of(memory, [](void *p) { std::free(p); });
}

std::shared_ptr<void> shared(const Block &block) {
  if (block.memory == nullptr) return nullptr;
  return owner_of(block.memory, [block](void *) { give_back(block); });
}

// Whole huge pages; 0 where that overflows.
std::size_t rounded(std::size_t bytes) {
  const std::size_t pages = bytes / huge_page + (bytes % huge_page != 0);
  return pages > (SIZE_MAX / huge_page - 1) ? 0 : pages * huge_page;
}

} // namespace

std::shared_ptr<void> zeroed_memory(std::size_t bytes) {
  if (bytes < huge_page) {
    std::shared_ptr<void> memory = heap_memory(bytes);
    if (memory) std::memset(memory.get(), 0, bytes);
    return memory;
  }
  const std::size_t whole = rounded(bytes);
  return whole == 0 ? nullptr : shared(map_block(whole));
}

std::shared_ptr<void> written_memory(std::size_t bytes) {
  if (bytes < huge_page) return heap_memory(bytes);
  const std::size_t whole = rounded(bytes);
  if (whole == 0) return nullptr;
  if (const Block block = take(whole); block.memory != nullptr) return shared(block);
  return shared(map_block(whole));
}

std::size_t kept_bytes() {
  const std::lock_guard lock(mutex);
  return kept().bytes;
}

void release_kept() {
  std::vector<Block> blocks;
  {
    const std::lock_guard lock(mutex);
    blocks.swap(kept().blocks);
    kept().bytes = 0;
  }
  for (const Block &block : blocks) unmap(block);
}

} // namespace broadloom::array

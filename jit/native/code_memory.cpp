// See code_memory.hpp.
#include "jit/native/code_memory.hpp"

#include "support/fail.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace broadloom::jit {
namespace {

constexpr std::size_t range_bytes = std::size_t{16} << 20; // of address space, used bit by bit

std::size_t page_bytes() {
  static const auto bytes = std::size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

[[noreturn]] void fail_memory(const char *what) {
  fail_native(std::string(what) + ": " + std::strerror(errno));
}

} // namespace

void fail_native(const std::string &message) {
  support::fail("E0501", "native code cannot be had: " + message, {},
                "run with the interpreter (Engine::interpreter), which gives the same bits");
}

CodePiece::CodePiece(CodePiece &&other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

CodePiece &CodePiece::operator=(CodePiece &&other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

CodePiece::~CodePiece() {
  if (begin_ == nullptr) return;
  madvise(begin_, bytes_, MADV_DONTNEED);
  try {
    CodeMemory::instance().give_back(begin_, bytes_);
  } catch (const std::exception
               &) { // no memory to note it in, or a torn child: nobody takes these pages again
  }
}

CodeMemory &CodeMemory::instance() {
  static CodeMemory &made = *new CodeMemory;
  return made;
}

CodePiece CodeMemory::write(std::size_t bytes, const std::function<void(char *to)> &fill) {
  const std::size_t whole = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  CodePiece piece(take(whole), whole);
  if (mprotect(piece.begin_, whole, PROT_READ | PROT_WRITE) != 0)
    fail_memory("memory for code cannot be written");
  fill(piece.begin_);
  __builtin___clear_cache(piece.begin_, piece.begin_ + whole); // nothing to do on x86-64
  if (mprotect(piece.begin_, whole, PROT_READ | PROT_EXEC) != 0)
    fail_memory("memory cannot be made executable");
  return piece;
}

char *CodeMemory::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto found =
      std::ranges::find_if(free_, [&](const auto &range) { return range.second >= bytes; });
  if (found == free_.end()) {
    const std::size_t all = std::max(bytes, range_bytes);
    void *made = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) fail_memory("no memory for code");
    found = free_.emplace(static_cast<char *>(made), all).first;
  }
  char *begin = found->first;
  if (const std::size_t left = found->second - bytes; left > 0) free_.emplace(begin + bytes, left);
  free_.erase(found);
  return begin;
}

void CodeMemory::give_back(char *begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto after = free_.find(begin + bytes);
  if (after != free_.end()) {
    bytes += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(begin, bytes);
}

} // namespace broadloom::jit

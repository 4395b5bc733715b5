// Memory for linked code: pages of large ranges, written first and executable after; never both.
//
// Pages that lie side by side and may be run count as one mapping for Linux, of which a process may
// have 65,530; so any number of kernels takes a few. A page that nobody holds gives its memory back
// and stays as it is otherwise.
#pragma once

#include "support/undivided.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace broadloom::jit {

// Some bytes of code. They go with it.
class CodePiece {
public:
  CodePiece() = default;
  CodePiece(CodePiece &&other) noexcept;
  CodePiece &operator=(CodePiece &&other) noexcept;
  ~CodePiece();

  const char *begin() const { return begin_; }

private:
  friend class CodeMemory;
  CodePiece(char *begin, std::size_t bytes) : begin_(begin), bytes_(bytes) {}

  char *begin_ = nullptr;
  std::size_t bytes_ = 0; // whole pages
};

class CodeMemory { // thread-safe; lives as long as the process
public:
  static CodeMemory &instance();

  // `fill` writes so many bytes, from the start of a page on; what it throws goes on, and the
  // memory is given back. Throws CompileError E0501.
  CodePiece write(std::size_t bytes, const std::function<void(char *to)> &fill);

private:
  friend class CodePiece;
  CodeMemory() = default;
  char *take(std::size_t bytes);
  void give_back(char *begin, std::size_t bytes);

  support::Mutex mutex_;
  std::map<char *, std::size_t> free_; // whole pages; neighbours of one range are joined
};

// Throws CompileError E0501: native code cannot be had, for this reason.
[[noreturn]] void fail_native(const std::string &message);

} // namespace broadloom::jit

// What a program costs to compile, and what is done about a great one.
//
// Problem: LLVM's time grows faster than its functions, and the body of lgamma is as long as some
// hundred additions.
// Method: every operation has a measured weight: 1 is that of an addition, some 50 microseconds.
// Operations that would be inlined more often than the budget bears are called, from one copy of
// each. A phase that is still heavy is cut into pieces (pieces.hpp), and its loops have no copies
// of their bodies. Below these bounds nothing changes.
// Example: 100 calls of exp weigh 600 and are inlined; 300 of lgamma would weigh 51,000, and are
// called.
#pragma once

#include "loop/loop.hpp"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace broadloom::block {

// Operations and casts of which there is one copy, a function. Math functions of our own are
// functions already; of others one is made from the code that would be inlined, so the bits are the
// same.
struct Called {
  std::set<std::pair<ops::Op, DType>> ops; // with the compute type
  std::set<std::pair<DType, DType>> casts; // from, to
  bool has(ops::Op op, DType compute) const { return ops.contains({op, compute}); }
  bool has_cast(DType from, DType to) const { return casts.contains({from, to}); }
};

struct Weights {
  Called called;
  std::vector<std::int64_t> values; // as they are emitted; by value
  std::vector<std::int64_t> loops;  // with all inside
  std::vector<bool> split;          // by phase: it is cut into pieces
  std::vector<std::int64_t> phases; // what is called is not counted
  std::int64_t total = 0;

  std::int64_t of(const loop::Program &program, const loop::Stmt &statement) const;
  std::int64_t of(const ops::Code::Line &line) const;
};
Weights weigh(const loop::Program &program);

// Of one function, where a phase is cut into pieces.
inline constexpr std::int64_t piece_weight = 250;
inline constexpr std::int64_t most_copied_weight = 250; // of a loop's body, in a phase that is cut

} // namespace broadloom::block

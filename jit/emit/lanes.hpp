// The operations on values of one or several lanes, as LLVM IR.
//
// Problem: each row of ops.def must become instructions that give ops::evaluate's bits in every
// lane, with no trap and no poison, for a scalar as for a vector of any width.
// Method: an LLVM type is a scalar or <W x T>; nearly all instructions take both, so most
// operations are written once. Bool is i1 in registers and a byte in memory; f16 and bf16, which
// only convert, are their 16 bits in both; a complex value is a struct of two (lanes_complex.cpp).
// What has no vector instruction (libm functions, 64-bit division) runs as a small loop over the
// lanes. On a GPU a lane is a thread: each has a scalar where a core has a vector, and what moves
// between lanes goes through
// lanes_threads.cpp.
// Example: Lanes(builder, target).op(Op::FloorDiv, i32, {a, b}).
#pragma once

#include "block/weights.hpp"
#include "jit/emit/pieces.hpp"
#include "jit/native/target.hpp"
#include "ops/recipe.hpp"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::jit {

using Builder = llvm::IRBuilder<>;

class Lanes {
public:
  // With weights, operations are called where these say so; with pieces, long codes are cut.
  Lanes(Builder &ir, const Target &target, Accuracy accuracy = Accuracy::high,
        const block::Weights *weights = nullptr, Pieces *pieces = nullptr)
      : ir_(ir), target_(target), accuracy_(accuracy), weights_(weights), pieces_(pieces) {}

  // Types: i1 for bool, i8 for a bool in memory.
  llvm::Type *scalar_type(DType dtype) const;
  llvm::Type *memory_type(DType dtype) const;
  llvm::Type *type(DType dtype, int width) const { return widen(scalar_type(dtype), width); }
  llvm::Type *widen(llvm::Type *scalar, int width) const;
  bool are_threads() const { return target_.isa->core.warp > 0; }
  static int width(const llvm::Value *value);

  llvm::Constant *literal(DType dtype, ops::Scalar value, int width) const;
  llvm::Value *splat(llvm::Value *value, int width);       // a vector stays as it is
  llvm::Value *joined(std::vector<llvm::Value *> vectors); // a power of two, one after the other
  llvm::Value *select(llvm::Value *condition, llvm::Value *a, llvm::Value *b);
  llvm::Value *some_lanes(llvm::Value *value, int first, int count); // of one: a scalar
  llvm::Value *lane(llvm::Value *value, llvm::Value *index);
  // Lane k is lane sources[k] of a and then b, of equal width.
  llvm::Value *shuffle(llvm::Value *a, llvm::Value *b, llvm::ArrayRef<int> sources);

  // lanes_threads.cpp: where lanes are threads. All of a warp come here together.
  llvm::Value *thread();                                           // the number of this lane (i32)
  llvm::Value *warp();                                             // its number (i64)
  llvm::Value *of_thread(llvm::Value *value, llvm::Value *number); // what that lane has (i32)
  llvm::Value *counts(llvm::Value *active);                        // this lane is below (i1)
  void meet();                                                     // what others stored is there
  llvm::Value *shared(std::size_t bytes);            // memory that all of a warp share: its address
  void store_once(llvm::function_ref<void()> store); // by one lane, for all

  // A complex value is a pair of two real ones.
  llvm::Value *part(llvm::Value *value, unsigned index);
  llvm::Value *pair(llvm::Value *re, llvm::Value *im);

  // All arguments have the same width, and the compute type (args[0] of Where is bool).
  llvm::Value *op(ops::Op op, DType compute, llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *convert(llvm::Value *value, DType from, DType to);

  // The results of an accumulator's code; the inputs are all of one width, and so are the results.
  std::vector<llvm::Value *> run(const ops::Code &code, llvm::ArrayRef<llvm::Value *> inputs);

  // Runs while p < end from p = begin in steps of `step`, handing on the carried values; gives the
  // carried values after the last turn (the initial ones if there was none).
  using Carried = std::vector<llvm::Value *>;
  Carried counted_loop(llvm::Value *begin, llvm::Value *end, std::int64_t step, Carried carried,
                       llvm::function_ref<Carried(llvm::Value *, Carried)> body);

  // base + p * bytes, in the body of the innermost counted loop, where p is its position: by an
  // addition in each turn, in place of a multiplication. `base` and `bytes` are known before the
  // loop. Null for another p.
  llvm::Value *walking_address(llvm::Value *base, llvm::Value *p, llvm::Value *bytes);

  // What `yes` or `no` gives, whichever the condition says; only that one runs.
  Carried either(llvm::Value *condition, llvm::function_ref<Carried()> yes,
                 llvm::function_ref<Carried()> no);

  // Room on the stack for one value, in the entry block of the function.
  llvm::AllocaInst *room(llvm::Type *type, std::uint64_t count = 1);

private:
  // lanes_call.cpp
  bool is_called(ops::Op op, DType compute) const;
  bool is_called(DType from, DType to) const;
  llvm::Value *called_op(ops::Op op, DType compute, llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *called_cast(llvm::Value *value, DType from, DType to);
  llvm::Value *call(const std::string &name, llvm::Type *result, llvm::ArrayRef<llvm::Value *> args,
                    llvm::function_ref<llvm::Value *(Lanes &, llvm::ArrayRef<llvm::Value *>)> body);

  llvm::Value *inlined_op(ops::Op op, DType compute, llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *inlined_cast(llvm::Value *value, DType from, DType to);
  llvm::Value *compare(ops::Op op, DType compute, llvm::Value *a, llvm::Value *b);
  llvm::Value *on_bool(ops::Op op, llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *on_integer(ops::Op op, DType compute, llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *on_float(ops::Op op, DType compute, llvm::ArrayRef<llvm::Value *> args);

  llvm::Value *divide_integer(DType dtype, llvm::Value *a, llvm::Value *b, bool remainder);
  llvm::Value *divide_truncating(DType dtype, llvm::Value *a, llvm::Value *b);
  llvm::Value *safe_divisor(DType dtype, llvm::Value *b);
  llvm::Value *remainder_truncating(DType dtype, llvm::Value *a, llvm::Value *b);
  llvm::Value *power_integer(DType dtype, llvm::Value *base, llvm::Value *exponent);
  llvm::Value *shift(ops::Op op, DType dtype, llvm::Value *a, llvm::Value *count);
  llvm::Value *sign_integer(DType dtype, llvm::Value *x);

  llvm::Value *extreme(llvm::Value *a, llvm::Value *b, bool greater);
  llvm::Value *extreme_by_range(llvm::Value *a, llvm::Value *b, bool greater);
  llvm::Value *extreme_of_constant(llvm::Value *x, llvm::Value *c, bool greater);
  llvm::Value *extreme_of_numbers(llvm::Value *a, llvm::Value *b, bool greater);
  llvm::Value *sign_float(llvm::Value *x);
  llvm::Value *divide_flooring(DType compute, llvm::Value *a, llvm::Value *b, bool remainder);
  llvm::Value *on_complex(ops::Op op, DType compute, llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *convert_complex(llvm::Value *value, DType from, DType to);
  // What `body` makes of real values; of complex ones, a pair of what it makes of either part.
  llvm::Value *each_part(llvm::ArrayRef<llvm::Value *> values,
                         llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> body);

  llvm::Value *widen_float(llvm::Value *x, DType from);
  llvm::Value *narrow_float(llvm::Value *x, DType from, DType to);
  llvm::Value *round_to_odd(llvm::Value *x);
  llvm::Value *float_to_short_integer(llvm::Value *x, DType to);
  llvm::Value *float_to_integer(llvm::Value *x, DType to);

  llvm::Value *shuffle_threads(llvm::Value *a, llvm::Value *b, llvm::ArrayRef<int> sources);
  llvm::Value *vector_math(ops::Op op, DType compute, llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *libm(const std::string &name, DType compute, llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *each_lane(llvm::ArrayRef<llvm::Value *> args, llvm::Type *result,
                         llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> body);

  llvm::Constant *constant(const llvm::Value *like, double value) const;
  llvm::Constant *constant_integer(const llvm::Value *like, std::uint64_t value) const;
  llvm::Value *intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> args);

  struct OpenLoop { // whose body is being written
    llvm::Value *position;
    llvm::Value *begin;
    std::int64_t step;
    llvm::BasicBlock *before, *turn;
    struct Walking {
      llvm::PHINode *address;
      llvm::Value *base, *bytes; // as asked for
      llvm::Value *advance;      // bytes in a turn
    };
    std::vector<Walking> walking;
  };

  Builder &ir_;
  const Target &target_;
  Accuracy accuracy_;
  const block::Weights *weights_;
  Pieces *pieces_;
  std::vector<OpenLoop> open_; // the innermost last
};

// The same value, behind which the code generator does not look. No instruction comes of it.
llvm::Value *fenced(Builder &ir, llvm::Value *vector);

} // namespace broadloom::jit

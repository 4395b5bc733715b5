// What all that emits code of one phase shares: the phase, its function, and the numbers and
// buffers of its frame.
#pragma once

#include "jit/emit/lanes.hpp"
#include "jit/emit/pieces.hpp"
#include "jit/emit/place.hpp"
#include "jit/runtime/paths.hpp"

#include <llvm/IR/Function.h>

namespace broadloom::jit {

class Context {
public:
  Context(const loop::Program &program, std::size_t phase, const Target &target,
          const block::Program &blocks, llvm::Function *function, bool count_paths);

  Place root(); // reads the frame: where nothing has been entered
  Range range(const Place &here, const loop::Loop &loop);

  const loop::Walk *walk(loop::BufferId id, loop::AxisId axis) const;
  llvm::Value *step_bytes(loop::BufferId id, loop::AxisId axis) const;
  llvm::Value *address(llvm::Value *base, llvm::Value *bytes);
  // So many positions of the axis on.
  llvm::Value *address(llvm::Value *base, loop::BufferId id, loop::AxisId axis,
                       llvm::Value *positions);
  llvm::Value *number(std::int64_t value); // i64
  llvm::Value *least(llvm::Value *a, llvm::Value *b);
  llvm::Value *greatest(llvm::Value *a, llvm::Value *b);
  // The end of the whole groups in there, of a power of two of positions.
  llvm::Value *whole(Range range, std::int64_t group);
  // From here on this many positions of the loop run at once, of which the first `active` count.
  Place lanes_of(const Place &around, const loop::Loop &loop, int width,
                 llvm::Value *active = nullptr);
  // A loop that carries nothing.
  void each(Range range, std::int64_t step, llvm::function_ref<void(llvm::Value *)> turn);
  llvm::BasicBlock *block(const char *name);
  // Code that counts paths notes that it has come here, where this i1 holds (null: always).
  void took(Path path, llvm::Value *where = nullptr);

  const loop::Program &program;
  const loop::Phase &phase;
  const Target &target;
  const block::Weights &weights;
  const block::Machine &machine;
  const block::Survey &survey;
  llvm::Function *const function;
  Builder ir;
  Pieces pieces;
  Lanes lanes;
  Values extents, chunks; // by axis

private:
  const block::Box &root_;
  const bool count_paths_;
  Values strides_; // in bytes, by buffer * axis count + axis
};

} // namespace broadloom::jit

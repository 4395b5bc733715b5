// The emitter of one phase: the statements of its loops in order, as one LLVM function.
//
// Problem: a loop nest in words ("vector for j; step a0 += x[i, j]") must become vector code whose
// bits do not depend on the width of the vectors.
// Method: one walk over the nest and its boxes. A turn of a box makes a place of the one around it
// (place.hpp): the addresses of the buffers that walk the loop's axis move, and its dims say which
// positions are lanes and which are copies. A value that changes from lane to lane is a vector of
// the place's lanes, any other stays a scalar.
// Example: phase.cpp walks statements and turns, maps.cpp loops without accumulators, tiles.cpp two
// loops as one box; folds.hpp and scans.hpp run loops with accumulators, memory.hpp loads and
// stores.
#pragma once

#include "block/block.hpp"
#include "jit/emit/scans.hpp"
#include "jit/native/target.hpp"
#include "loop/listing.hpp"

#include <span>

namespace broadloom::jit {

class PhaseEmitter {
public:
  // With a listing, instructions carry the line of their statement in it as debug location; the
  // function has a subprogram then.
  PhaseEmitter(const loop::Program &program, std::size_t phase, const Target &target,
               const block::Program &blocks, llvm::Function *function,
               const loop::Listing *listing = nullptr, bool count_paths = false);
  // `made` is told of each function that a part of the phase has become.
  void run(llvm::function_ref<void(llvm::Function &)> made);

  // What folds and scans ask of the walk.
  // One turn: the addresses move to the position, and the body runs. `offset` is a known distance
  // on top of the position.
  void turn(const Place &around, const block::Box &box, loop::LoopId id, llvm::Value *position,
            std::int64_t offset = 0);
  void neighbours(const Place &here, const block::Run &run, llvm::Value *position);
  llvm::Value *value(loop::ValueId id);
  // The place around, at what is known of this copy, which its values are from here on.
  Place of_copy(const Place &around, const Copy &copy, SharedRegisters &shared);
  // What a turn begins with: the place at the position.
  Place moved(const Place &around, const block::Box &box, loop::LoopId id, llvm::Value *position,
              std::int64_t offset = 0);

private:
  // phase.cpp
  using Inner = llvm::function_ref<void(const Place &, loop::LoopId)>; // runs a loop of a body
  void body(const Place &here, std::span<const loop::Stmt> statements, Inner inner);
  void body(const Place &here, std::span<const loop::Stmt> statements);
  void set_line(const Place &here, const loop::Stmt &statement);
  llvm::Value *compute(const Place &here, loop::ValueId id);
  llvm::Value *position(const Place &here, loop::AxisId axis);
  void loop(const Place &here, const block::Run &run);

  // maps.cpp
  void plain_loop(const Place &here, const block::Run &run, Range range);
  void map(const Place &here, const block::Run &run, Range range);
  void masked_map(const Place &here, const block::Run &run, Range range);
  void streamed_map(const Place &here, const block::Run &run, Range range);
  void whole_boxes(const Place &here, const block::Run &run, Range range);
  void part(const Place &here, const block::Run &run, const block::Box &box, llvm::Value *position,
            llvm::Value *count);
  void narrowest_part(const Place &here, const block::Run &run, std::size_t box,
                      llvm::Value *position, llvm::Value *count);

  // tiles.cpp
  void note_values(Copy &copy, std::span<const loop::Stmt> statements) const;
  void jam(const Place &here, const block::Run &run, Range range);
  void tile(const Place &here, const block::Run &run, Range rows);
  void fold_blocks(const Place &here, const block::Run &run, Range rows, Range columns);
  void register_blocks(const Place &here, const block::Run &run, const block::Box &box, Range rows,
                       Range lanes);
  // Of a body whose stores go around the caches where `wrong` is 0; null: it has none of these.
  void streamed_turn(const Place &here, std::span<const loop::Stmt> statements, llvm::Value *wrong);
  void transposed_blocks(const Place &here, const block::Run &run, Range rows, Range lanes);

  const loop::Program &program_;
  Context context_;
  Builder &ir_;
  Lanes &lanes_;
  Memory memory_;
  Accumulators accs_;
  Folds folds_;
  Scans scans_;
  const loop::Listing *listing_;
  Values values_; // by value, where it has been computed
};

} // namespace broadloom::jit

// How elements move between memory and lanes: each buffer as the box of the place says (Move in
// src/block/block.hpp).
//
// Problem: one access is a scalar, a row, lanes that lie apart, a block that is transposed in
// registers, a slot of each lane's own, of several rows of a register tile, of real or complex
// numbers, all or some of which count.
// Method: the rows of the place have an address each; what is there moves by one switch over the
// access's move.
// Example: memory.cpp has that switch, rows and complex numbers, strided.cpp lanes apart,
// transpose.cpp blocks, prefetch.cpp what is asked for ahead, stream.cpp the alignment of stores
// around the caches.
#pragma once

#include "jit/emit/context.hpp"

namespace broadloom::jit {

class Memory {
public:
  explicit Memory(Context &context)
      : context_(context), program_(context.program), ir_(context.ir), lanes_(context.lanes),
        slots_(context.program.buffers.size()) {}

  llvm::Value *load(const Place &here, loop::BufferId id);
  llvm::Value *apart(const Place &here, const block::Box &box, loop::AxisId rows);
  void store(const Place &here, loop::BufferId id, llvm::Value *value);

  // transpose.cpp: what a short loop, or a block of a scan, loads of rows before its turns, or
  // leaves to store_columns after them.
  Registers columns(const Place &here, const block::Run &run, bool store, bool on_stack);
  void store_columns(const Place &here, Registers &awaited);
  // Of each operand of a tile's box that lies across: a block of as many rows along `along` as it
  // has lanes along `across`, from these positions on.
  Registers load_blocks(const Place &here, const block::Box &box, loop::AxisId along,
                        llvm::Value *row, loop::AxisId across, llvm::Value *lane);

  // Where threads of a warp take neighbours: the end of the range's whole boxes, of which there are
  // none where what moves at once is not aligned; and what is loaded before the copies of a turn,
  // or stored after them.
  llvm::Value *whole_and_aligned(const Place &here, const block::Box &box, Range range);
  Registers neighbours(const Place &here, bool store);
  void store_neighbours(const Place &here, const Registers &awaited);
  llvm::Value *place_of_thread(const Group &group); // among the positions of the group (i64)

  // prefetch.cpp: lines of the next block of a tile, as many as a block has rows.
  struct NextLines {
    llvm::Value *first, *step;
  };
  std::vector<NextLines> next_lines(const Place &here, const block::Run &run, Range rows,
                                    llvm::Value *row, llvm::Value *lane);
  void ask(const NextLines &lines, llvm::Value *number);

  // stream.cpp: 0 where all that the box streams, `width` elements at a time from this position on,
  // is aligned, in all rows along an axis, and no input lies there; null where it streams nothing.
  llvm::Value *stored_plainly(const Place &here, const block::Box &box, llvm::Value *position,
                              int width, std::optional<loop::AxisId> rows = {});
  // What `run` gives, which stands twice: with stores around the caches for where nothing is
  // `wrong`, and with plain ones.
  Values around_caches(const Place &here, llvm::Value *wrong,
                       llvm::function_ref<Values(const Place &)> run);
  // How many positions of the range come before the first aligned address of the first stream.
  llvm::Value *before_aligned(const Place &here, const block::Box &box, Range range, int width);
  bool streamed() const { return streamed_; } // some store goes around the caches

private:
  // One row of the place: its lanes, the address of the first one's element or part of an element,
  // and of what type it is.
  struct Row {
    const Place &here;
    const block::Access &access;
    Group group;
    llvm::Value *at;
    DType dtype;
  };

  // memory.cpp
  void each_row(const Place &here, const block::Access &access,
                llvm::function_ref<void(const Row &, int)> move);
  llvm::Value *load_anew(const Place &here, const block::Access &access);
  llvm::Value *load_row(const Row &row);
  void store_row(const Row &row, llvm::Value *value);
  llvm::Value *load_lanes(const Row &row);
  void store_lanes(const Row &row, llvm::Value *value);
  llvm::Value *load_neighbours(const Row &row, int parts);
  void store_neighbours(const Row &row, int parts, llvm::Value *value);
  llvm::Value *address_in_thread(const Row &row);
  llvm::Value *address_of_neighbours(const Place &here, loop::BufferId id);
  llvm::Value *load_of_thread(const Row &row);
  void store_of_thread(const Row &row, llvm::Value *value);
  Row part(const Row &row, int number);
  llvm::Value *load_complex(const Row &row);
  void store_complex(const Row &row, llvm::Value *value);
  llvm::Value *slot(const Place &here, loop::BufferId id, llvm::Type *type);

  // strided.cpp
  llvm::Value *load_strided(const Row &row);
  llvm::Value *pick_lanes(const Row &row, int step);
  llvm::Value *load_apart(const Row &row);
  void store_apart(const Row &row, llvm::Value *value);
  llvm::Value *step_of(const Row &row) const;
  llvm::Value *address_of(const Row &row, llvm::Value *lane);
  llvm::Value *addresses_of(const Row &row);

  // transpose.cpp
  void ask_along_rows(const Place &here, loop::BufferId id, bool reverse);
  Values columns_of_block(const Place &here, loop::BufferId id, int first, int count);
  void store_block(const Place &here, loop::BufferId id, int first, Values columns);
  Values row_addresses(const Place &here, loop::BufferId id, int first);
  llvm::Value *load_element(const Place &here, const Elements &elements);
  void store_element(const Place &here, Elements &elements, llvm::Value *value);
  void put_on_stack(Elements &elements, llvm::Type *type);
  Elements load_block(loop::BufferId id, llvm::Value *there, loop::AxisId across, int width);
  Elements load_block_of_threads(loop::BufferId id, llvm::Value *there, loop::AxisId across,
                                 llvm::Value *shared);

  // prefetch.cpp
  void read_ahead(const Row &row);
  void ask_ahead(const Group &group, llvm::Value *first, std::int64_t bytes);
  void ask_for_rows_below(const Row &row);
  void ask_for_steps(const Place &here, loop::BufferId id);
  void ask(llvm::Value *first, std::int64_t distance, std::int64_t bytes, unsigned locality);
  void prefetch(llvm::Value *there, unsigned locality);

  // stream.cpp
  std::size_t stream_alignment(loop::BufferId id, int width) const;
  llvm::Value *misaligned(const Place &here, loop::BufferId id, llvm::Value *position,
                          std::size_t alignment);
  llvm::Value *is_input(const Place &here, const block::Box &box, loop::BufferId id);

  Context &context_;
  const loop::Program &program_;
  Builder &ir_;
  Lanes &lanes_;
  std::vector<llvm::AllocaInst *> slots_; // by buffer: the rows of all lanes
  bool streamed_ = false;
};

} // namespace broadloom::jit

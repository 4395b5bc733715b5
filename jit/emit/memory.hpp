// How elements move between memory and lanes: each buffer as the box of the place says (Move in src/block/block.hpp).
//
// Problem: one access is a scalar, a row, lanes that lie apart, a block that is transposed in registers, a slot of each lane's own, of
// several rows of a register tile, of real or complex numbers, all or some of which count.
// Method: the rows of the place have an address each; what is there moves by one switch over the access's move.
// Example: memory.cpp has that switch, rows and complex numbers, strided.cpp lanes apart, transpose.cpp blocks, prefetch.cpp what is
// asked for ahead, stream.cpp the alignment of stores around the caches.
#pragma once

#include "jit/emit/context.hpp"

namespace broadloom::jit {

class Memory {
public:
  explicit Memory(Context &context)
      : context_(context), program_(context.program), ir_(context.ir), lanes_(context.lanes),
        slots_(context.program.buffers.size()) {}

  llvm::Value *load(const Place &here, loop::BufferId id);
  void store(const Place &here, loop::BufferId id, llvm::Value *value);

  // transpose.cpp: what a short loop loads before its turns, and stores after them.
  Registers load_columns(const Place &here, const block::Run &run, bool on_stack);
  Registers await_columns(const Place &here, const block::Run &run, bool on_stack);
  void store_columns(const Place &here, Registers &awaited);
  // A block of as many rows along `along` as it has lanes along `across`, from these positions on.
  Elements load_block(const Place &here, loop::BufferId id, loop::AxisId along, llvm::Value *row,
                      loop::AxisId across, llvm::Value *lane, int width);

  // prefetch.cpp: lines of the next block of a tile, as many as a block has rows.
  struct NextLines {
    llvm::Value *first, *step;
  };
  using Range = std::pair<llvm::Value *, llvm::Value *>;
  std::vector<NextLines> next_lines(const Place &here, const block::Run &run, Range rows,
                                    llvm::Value *row, llvm::Value *lane);
  void ask(const NextLines &lines, llvm::Value *number);

  // stream.cpp
  static std::vector<loop::BufferId> streamed(const block::Box &box);
  std::size_t stream_alignment(loop::BufferId id, int width) const;
  llvm::Value *misaligned(const Place &here, loop::BufferId id, llvm::Value *position, int width);
  llvm::Value *misaligned(const Place &here, const std::vector<loop::BufferId> &buffers,
                          llvm::Value *position, int width);

private:
  // One row of the place: its lanes and the address of the first one's element.
  struct Row {
    const Place &here;
    const block::Access &access;
    Group group;
    llvm::Value *at;
  };
  // A number for each lane, `step` bytes apart: an element, or a part of one.
  struct Apart {
    const Group &group;
    llvm::Value *base, *step;
    DType dtype;
  };

  // memory.cpp
  void each_row(const Place &here, const block::Access &access,
                llvm::function_ref<void(const Row &, int)> move);
  llvm::Value *load_row(const Row &row);
  void store_row(const Row &row, llvm::Value *value);
  llvm::Value *load_lanes(const Row &row, llvm::Value *base, DType dtype);
  void store_lanes(const Row &row, llvm::Value *base, DType dtype, llvm::Value *value);
  llvm::Value *load_neighbours(const Row &row, DType dtype, int parts);
  void store_neighbours(const Row &row, DType dtype, int parts, llvm::Value *value);
  llvm::Value *load_complex(const Row &row, DType part);
  void store_complex(const Row &row, DType part, llvm::Value *value);
  llvm::Value *slot(const Place &here, loop::BufferId id, llvm::Type *type);

  // strided.cpp
  Apart apart(const Row &row, llvm::Value *base, DType dtype) const;
  llvm::Value *load_window(const Apart &from, int step);
  llvm::Value *pick_lanes(const Apart &from, int step);
  llvm::Value *load_apart(const Apart &from);
  void store_apart(const Apart &to, llvm::Value *value);
  llvm::Value *lane_addresses(const Apart &of);

  // transpose.cpp
  Values columns_of_block(const Place &here, loop::BufferId id, int first, int count);
  void store_block(const Place &here, loop::BufferId id, int first, Values columns);
  Values row_addresses(const Place &here, loop::BufferId id, int first);
  llvm::Value *load_element(const Place &here, const Elements &elements);
  void store_element(const Place &here, Elements &elements, llvm::Value *value);
  void put_on_stack(Elements &elements);
  Values transposed(Values vectors, std::size_t size);

  // prefetch.cpp
  void read_ahead(const Row &row);
  void ask_ahead(const Group &group, llvm::Value *first, std::int64_t bytes);
  void ask_for_steps(const Place &here, loop::BufferId id);
  void ask(llvm::Value *first, std::int64_t distance, std::int64_t bytes, unsigned locality);
  void prefetch(llvm::Value *there, unsigned locality);

  Context &context_;
  const loop::Program &program_;
  Builder &ir_;
  Lanes &lanes_;
  std::vector<llvm::AllocaInst *> slots_; // by buffer: the rows of all lanes
};

} // namespace broadloom::jit

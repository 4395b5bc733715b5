// The emitter of one phase: the statements of its loops in order, as one LLVM function.
//
// Problem: a loop nest in words ("vector for j; step a0 += x[i, j]") must become vector code whose
// bits do not depend on the width of the vectors.
// Method: one walk over the nest. `at_` holds for each buffer the address of its element at the
// current position; entering a turn of a loop moves the addresses of the buffers that walk its
// axis. Inside a vector loop a value that changes from lane to lane is a vector of `width_` lanes,
// any other stays a scalar. A partial group runs the same body with `active_` lanes only.
// Example: phase.cpp walks statements and loops, fold.cpp makes accumulators and their trees,
// scan.cpp and scan_groups.cpp run scans, access.cpp loads and stores, stream.cpp stores around the caches.
#pragma once

#include "block/block.hpp"
#include "jit/emit/emit.hpp"
#include "jit/emit/lanes.hpp"
#include "jit/emit/paths.hpp"
#include "jit/emit/pieces.hpp"
#include "loop/listing.hpp"

#include <llvm/IR/Function.h>

#include <optional>
#include <utility>
#include <vector>

namespace broadloom::jit {

class PhaseEmitter {
public:
  // With a listing, instructions carry the line of their statement in it as debug location; the function has a
  // subprogram then.
  PhaseEmitter(const loop::Program &program, std::size_t phase, const Target &target,
               const block::Program &blocks, llvm::Function *function,
               const loop::Listing *listing = nullptr, bool count_paths = false);
  // `made` is told of each function that a part of the phase has become.
  void run(llvm::function_ref<void(llvm::Function &)> made);

private:
  using Values = std::vector<llvm::Value *>;
  using States = Values;                 // of one accumulator
  using AllStates = std::vector<States>; // of all the accumulators of a loop

  // phase.cpp
  void read_frame();
  void body(const std::vector<loop::Stmt> &statements);
  void set_line(const loop::Stmt &statement);
  void took(Path path);
  llvm::Value *compute(loop::ValueId id);
  llvm::Value *value(loop::ValueId id);
  llvm::Value *position(loop::AxisId axis);
  void loop(const block::Run &run);
  std::pair<llvm::Value *, llvm::Value *> range(const loop::Loop &loop);
  void loop_statement(loop::LoopId id);
  void turn(const block::Box &box, loop::LoopId id, const Values &outer, llvm::Value *position,
            std::int64_t offset = 0);
  void move(loop::LoopId id, const Values &outer, llvm::Value *position, std::int64_t offset);
  void plain_loop(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  void vector_map(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  void masked_map(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  void whole_blocks(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  void partial_block(const block::Run &run, const block::Box &box, const Values &outer,
                     llvm::Value *position, llvm::Value *count);
  void narrowest_block(const block::Run &run, std::size_t box, const Values &outer,
                       llvm::Value *position, llvm::Value *count);
  void set_lanes(const loop::Loop *vector, int width, llvm::Value *active = nullptr);
  llvm::Value *whole(llvm::Value *begin, llvm::Value *end, std::int64_t group);

  // stream.cpp
  static std::vector<loop::BufferId> streamed(const block::Box &box);
  std::size_t stream_alignment(loop::BufferId id, int width) const;
  llvm::Value *misaligned(loop::BufferId id, llvm::Value *position, int width);
  llvm::Value *misaligned(const std::vector<loop::BufferId> &buffers, llvm::Value *position,
                          int width);
  Values around_caches(llvm::Value *wrong, llvm::function_ref<Values()> run);
  void streaming_map(const block::Run &run, llvm::Value *begin, llvm::Value *end);

  // fold.cpp
  void fold(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  AllStates leaf(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  AllStates serial_leaf(const block::Run &run, llvm::Value *begin, llvm::Value *end,
                        AllStates start);
  AllStates vector_leaf(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  std::vector<AllStates> whole_steps(const block::Run &run, llvm::Value *begin, llvm::Value *end,
                                     const std::vector<AllStates> &lanes);
  std::vector<AllStates> masked_steps(const block::Run &run, const Values &outer,
                                      llvm::Value *begin, llvm::Value *stop, llvm::Value *end,
                                      std::vector<AllStates> lanes);
  States identity(loop::AccId acc, int width);
  AllStates start(const loop::Loop &loop, bool given);
  void step(loop::AccId acc, const std::vector<loop::ValueId> &args);
  States join(loop::AccId acc, const States &left, const States &right);
  States join_lanes(loop::AccId acc, std::vector<States> lanes);
  AllStates running(const loop::Loop &loop) const;
  void set_running(const loop::Loop &loop, const AllStates &block);
  static Values flat(const AllStates &block);
  static Values flat(const std::vector<AllStates> &blocks);
  AllStates shaped(const loop::Loop &loop, const Values &values, std::size_t first = 0) const;

  // cascade.cpp
  AllStates cascade(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  AllStates join_blocks(const loop::Loop &loop, const AllStates &left, const AllStates &right);
  Values waiting(const std::vector<llvm::AllocaInst *> &stacks, llvm::Value *level);
  void put(const std::vector<llvm::AllocaInst *> &stacks, llvm::Value *level, const Values &states);
  AllStates joined_leaves(const block::Run &run, llvm::Value *start);
  std::pair<llvm::Value *, llvm::Value *>
  groups_of_leaves(const block::Run &run, llvm::Value *begin, llvm::Value *end,
                   const std::vector<llvm::AllocaInst *> &stacks);

  // jam.cpp
  void jammed_loop(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  void jammed_turn(const block::Box &box, llvm::Value *position);

  // register_tile.cpp
  struct RegisterTile { // rows that run as one group of lanes
    loop::LoopId inner;
    loop::AxisId axis; // the rows
    int rows;
    int width; // lanes of each
  };
  void row_tile(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  template <class Access> void each_row(loop::BufferId id, Access access);
  llvm::Value *load_rows(loop::BufferId id);
  void ask_for_steps(loop::BufferId id);
  void store_rows(loop::BufferId id, llvm::Value *value);

  // short_rows.cpp
  void short_loop(const block::Run &run);
  void short_map(const block::Run &run, bool copied);
  AllStates unrolled(const block::Run &run);
  std::optional<AllStates> lane_tree(const block::Run &run, const Values &outer, int lane,
                                     int apart);
  std::vector<ops::Scalar> joined_identities(loop::AccId acc, int count) const;
  States joined_with_identity(loop::AccId acc, const States &states, int levels);
  AllStates through_memory(const block::Run &run);
  AllStates join_in_memory(const loop::Loop &loop, const std::vector<llvm::AllocaInst *> &rooms);

  // columns.cpp
  void load_columns(const block::Run &run, bool in_memory);
  Values columns_of(loop::BufferId id, int count);
  Values columns_of_block(loop::BufferId id, int first, int count);
  llvm::Value *column(loop::BufferId id);
  std::vector<llvm::Value *> row_addresses(loop::BufferId id, int first);
  void keep_column(loop::BufferId id, llvm::Value *value);
  void await_columns(const block::Run &run, bool in_memory);
  void store_columns();
  void store_columns_of(loop::BufferId id);
  void store_block(loop::BufferId id, int first, Values columns);
  llvm::Value *row_of_lanes(loop::BufferId id, llvm::Type *type);

  // scan.cpp
  void scan(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  void scan_in_blocks(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  AllStates first_states(const loop::Loop &loop, llvm::Value *begin, llvm::Value *end);
  AllStates scan_block(const block::Run &run, llvm::Value *begin, llvm::Value *end,
                       AllStates start);
  llvm::Value *running_state(loop::AccId acc, std::uint32_t state);

  // scan_groups.cpp
  AllStates scan_groups(const block::Run &run, llvm::Value *begin, llvm::Value *end,
                        AllStates start);
  AllStates whole_groups(const block::Run &run, llvm::Value *begin, llvm::Value *end,
                         AllStates start);
  AllStates run_groups(const block::Run &run, const block::Box &box, llvm::Value *begin,
                       llvm::Value *end, AllStates start);
  llvm::Value *later_lanes(int distance);
  llvm::Value *select_lanes(llvm::Value *mask, llvm::Value *a, llvm::Value *b);
  bool scans_groups(loop::AccId acc) const;
  void step_group(loop::AccId acc, const std::vector<loop::ValueId> &args);
  States join_group(loop::AccId acc, States states);
  States totals_of_groups(loop::AccId acc, States states);
  States last_of_group(const States &joined, int group);
  States running_group(loop::AccId acc);
  States shuffled(const States &states, const std::vector<int> &sources);
  bool reads_running(const loop::Loop &loop, loop::AccId acc) const;

  // access.cpp
  static constexpr std::int64_t line_bytes = 64; // of the caches
  llvm::Value *load(loop::BufferId id);
  void read_ahead(loop::BufferId id);
  void ask_ahead(llvm::Value *first, std::int64_t bytes);
  void prefetch(llvm::Value *there, unsigned locality);
  void store(loop::BufferId id, llvm::Value *value);
  llvm::Value *load_lanes(const block::Access &access);
  void store_lanes(const block::Access &access, llvm::Value *value);
  void store_row(const block::Access &access, llvm::Value *row, std::size_t alignment);
  llvm::Value *address(llvm::Value *base, llvm::Value *bytes);

  // strided.cpp
  llvm::Value *load_strided(const block::Access &access, llvm::Value *base, DType dtype);
  llvm::Value *pick_lanes(llvm::Value *base, DType dtype, int step);
  llvm::Value *load_apart(loop::BufferId id, llvm::Value *base, DType dtype);
  void store_strided(loop::BufferId id, llvm::Value *value, llvm::Value *base, DType dtype);
  llvm::Value *lane_addresses(loop::BufferId id, llvm::Value *base);

  // transpose.cpp
  struct Tile { // the two inner loops of a tile, run together
    loop::LoopId inner;
    llvm::Value *begin = nullptr; // of the inner loop; or
    llvm::Value *lane = nullptr;  // the group of lanes that it is at
    int width = 1;
    llvm::Value *row = nullptr; // of the block
    std::vector<std::pair<loop::BufferId, llvm::AllocaInst *>> blocks;
  };
  struct NextLines { // as many as a block has rows
    llvm::Value *first;
    llvm::Value *step;
  };
  void transposed_tile(const block::Run &run, llvm::Value *begin, llvm::Value *end);
  void run_blocks(const block::Run &run, std::pair<llvm::Value *, llvm::Value *> rows,
                  std::pair<llvm::Value *, llvm::Value *> lanes, llvm::Value *wrong);
  llvm::AllocaInst *in_memory(const Values &vectors);
  std::vector<NextLines> next_lines(const block::Run &run, const Values &outer,
                                    std::pair<llvm::Value *, llvm::Value *> rows, llvm::Value *row,
                                    llvm::Value *lane);
  void loop_in_tile(loop::LoopId id);
  llvm::Value *load_from_tile(loop::BufferId id);
  Values load_block(loop::BufferId id, llvm::Value *base, loop::AxisId along, llvm::Value *row,
                    loop::AxisId across, llvm::Value *lane, int width);
  Values transposed(Values vectors, std::size_t size);

  // access_complex.cpp
  llvm::Value *load_complex(const block::Access &access);
  void store_complex(const block::Access &access, llvm::Value *value);
  llvm::Value *mask_of_parts();

  const loop::Walk *walk(loop::BufferId id, loop::AxisId axis) const;
  llvm::Value *step_bytes(loop::BufferId id, loop::AxisId axis) const;

  const loop::Program &program_;
  const loop::Phase &phase_;
  const Target &target_;
  const block::Weights &weights_;
  const block::Machine &machine_;
  const block::Survey &survey_;
  const block::Box &root_;
  llvm::Function *function_;
  const loop::Listing *listing_;
  const bool count_paths_;
  Builder ir_;
  Pieces pieces_;
  Lanes lanes_;

  Values extents_, chunks_;            // by axis
  Values strides_;                     // in bytes, by buffer * axis count + axis
  Values at_;                          // by buffer: the address at the current position
  Values positions_;                   // by axis, inside its loop
  Values values_;                      // by value, where it has been computed
  std::vector<States> accs_;           // by accumulator: running inside its loop, joined after it
  std::vector<bool> takes_blocks_;     // by accumulator: a leaf is the block that it is given
  std::vector<States> carried_;        // by accumulator: inside a scan in blocks, the blocks before
  std::vector<bool> early_;            // by accumulator: in a group, the step is still to come
  std::vector<States> stepped_;        // by accumulator: inside a scan's group, the groups before
  const block::Box *box_ = nullptr;    // how the body that we are in is run
  const loop::Loop *vector_ = nullptr; // the vector loop that we are in
  const Tile *tile_ = nullptr;         // where the loop around it runs together with it
  const RegisterTile *rows_ = nullptr; // likewise, as lanes of their own
  int width_ = 1;
  std::int64_t offset_ = 0;       // of this copy of a loop's body, in positions
  llvm::Value *active_ = nullptr; // lanes that count (i64), or null when all do
  llvm::Value *mask_ = nullptr;   // the same as <width_ x i1>
  bool aligned_stream_ = false;   // stores to stream buffers are aligned and go around the caches
  bool streamed_ = false;         // some such store was made
  // Several rows at once: what is known of each before the loop inside, which runs for all of them.
  struct Jam {
    loop::LoopId inner;
    loop::AxisId across; // the rows
    struct Row {
      Values at, values;
      llvm::Value *position;
    };
    std::vector<Row> rows;
  };
  std::optional<Jam> jam_;
  Values held_; // by buffer, in such a turn: the states so far
  bool last_row_ = false;
  struct Columns {
    loop::AxisId along;
    Values vectors;                   // of each position along the axis: its element in each lane
    llvm::AllocaInst *room = nullptr; // or the same in memory
  };
  std::vector<Columns> columns_,
      awaited_; // by buffer: what a short loop has loaded, and will store; empty without
  std::vector<llvm::AllocaInst *> row_rooms_; // by buffer: the rows of all lanes
};

} // namespace broadloom::jit

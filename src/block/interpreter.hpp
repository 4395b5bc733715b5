// Runs a loop program by its blocks: see interpret() in block.hpp.
//
// Problem: what a block says (which positions are lanes, which are copies, what is held, what the
// rest takes) could only be seen to be right in native code, for the two processors that we have.
// Method: the same walk over runs and boxes as the emitter's (jit/emit/phase.hpp), with elements in
// place of registers: a statement is done for all lanes before the next one, an access moves as its
// box says, a masked box takes the lanes that count, and whoever leaves out a position or takes one
// twice gets other bits than loop::interpret. What is shared with that is what values, operations
// and trees are (loop/interpret_value.hpp, loop/tree.hpp), never how loops run.
// Example: interpret.cpp has statements, plain loops and maps, interpret_memory.cpp the moves,
// interpret_fold.cpp folds and short rows, interpret_scan.cpp scans, interpret_tiles.cpp two loops
// as one block.
#pragma once

#include "block/block.hpp"
#include "loop/interpret_value.hpp"
#include "loop/tree.hpp"

#include <optional>

namespace broadloom::block {

class Interpreter {
public:
  Interpreter(const loop::Program &program, const Program &blocks, std::size_t phase,
              const loop::Frame &frame, const std::int64_t *lo, const std::int64_t *hi);
  void run();

private:
  using Scalar = ops::Scalar;
  using States = loop::interpreted::States;
  using Lanes = std::vector<Scalar>;         // of a value: one for all, or one for each lane
  using LaneStates = std::vector<States>;    // of an accumulator, for each lane
  using AllStates = std::vector<LaneStates>; // of all the accumulators of a loop
  using Addresses =
      std::vector<std::uintptr_t>; // [buffer]; integers: one may lie outside of the memory

  struct Range {
    std::int64_t begin, end;
    std::int64_t count() const { return end > begin ? end - begin : 0; }
    std::int64_t whole(std::int64_t group) const { return begin + count() / group * group; }
  };
  struct Acc {
    loop::interpreted::RecipeRunner code;
    LaneStates now; // running inside its loop, joined after it
    std::size_t first =
        0; // of `now`: the state of lane 0, of those that are in registers of their own
    LaneStates carried; // inside a scan in blocks: the blocks before
    States stepped;     // inside a scan's group: the groups before
    LaneStates earlier; // inside a chain of lanes: before the step of each
    bool early = false; // in a group or chain: the step is still to come
    bool takes_blocks = false;
  };

  // interpret.cpp
  void body(const std::vector<loop::Stmt> &statements);
  void let(loop::ValueId id);
  const Scalar &value(loop::ValueId id, int lane) const;
  Scalar position(loop::AxisId axis, int lane) const;
  void loop(const Run &run);
  void loop_statement(loop::LoopId id);
  Range range(const loop::Loop &loop) const;
  void turn(const Box &box, loop::LoopId id, const Addresses &outer, std::int64_t position);
  void move(loop::LoopId id, const Addresses &outer, std::int64_t position);
  void set_lanes(const loop::Loop *vector, int width, int active);
  void plain_loop(const Run &run, Range range);
  void map(const Run &run, Range range);
  void whole_boxes(const Run &run, Range range);
  void part(const Run &run, const Box &box, const Addresses &outer, Range range);
  std::int64_t whole_end(const Run &run, Range range) const;
  void masked_map(const Run &run, Range range);
  void streamed_map(const Run &run, Range range);
  std::int64_t before_aligned(const Box &box, std::int64_t position) const;

  // interpret_memory.cpp
  std::int64_t step_bytes(loop::BufferId id, loop::AxisId axis) const;
  std::uintptr_t address(const Access &access, int lane) const;
  void load(loop::BufferId id, Lanes &out);
  void store(loop::BufferId id, loop::ValueId value);
  Scalar element(loop::BufferId id, std::uintptr_t address) const;
  void set_element(loop::BufferId id, std::uintptr_t address, const Scalar &value) const;
  Lanes &slot(loop::BufferId id);
  std::size_t column(loop::BufferId id) const;
  void load_columns(const Run &run, std::int64_t first);
  void store_columns(const Run &run);

  // interpret_fold.cpp
  AllStates start(const loop::Loop &loop, bool given);
  AllStates running(const loop::Loop &loop) const;
  void set_running(const loop::Loop &loop, AllStates states);
  void join(const loop::Loop &loop, const AllStates &earlier, AllStates &later);
  void step(const loop::Stmt &statement);
  void fold(const Run &run, Range range);
  AllStates leaf(const Run &run, Range range);
  AllStates serial_leaf(const Run &run, Range range, AllStates start);
  AllStates strips(const Run &run, Range range, AllStates start);
  AllStates vector_leaf(const Run &run, Range range);
  AllStates leaves_together(const Run &run, std::int64_t begin);
  template <class Tree> AllStates joined_lanes(const loop::Loop &loop, const Tree &tree);
  AllStates leaves_in_lanes(const Run &run, std::int64_t begin);
  void short_row(const Run &run);
  AllStates short_tree(const Run &run);

  // interpret_scan.cpp
  void scan(const Run &run, Range range);
  AllStates first_states(const loop::Loop &loop, Range range);
  AllStates scan_block(const Run &run, Range range, AllStates start);
  AllStates groups(const Run &run, const Box &box, Range range, AllStates start);
  AllStates chain(const Run &run, Range range, AllStates start);
  void step_group(loop::AccId acc, const std::vector<loop::ValueId> &args);
  void step_chain(loop::AccId acc, const std::vector<loop::ValueId> &args);
  States last_of_group(const Acc &acc, const Box &box, int group) const;
  void running_state(loop::AccId acc, std::uint32_t state, Lanes &out);
  void running_in_group(loop::AccId acc, std::uint32_t state, Lanes &out);

  // interpret_tiles.cpp
  struct RegisterTile { // rows that run as one group of lanes
    loop::AxisId axis;
    int width; // lanes of each
  };
  // Two loops run together, where the inner one is at a group of lanes, or begins at `begin`.
  struct Tile {
    loop::LoopId inner;
    std::int64_t begin = 0;
    bool in_block = false;
    int width = 1;
    int row = 0; // of the block
    std::vector<std::vector<Lanes>>
        blocks; // [buffer][row]: its lanes; none of what is not transposed
  };
  struct Jam { // several rows at once: what is known of each before the loop inside
    struct Row {
      Addresses at;
      std::int64_t position;
      std::vector<std::pair<loop::ValueId, Lanes>> values;
    };
    loop::LoopId inner;
    loop::AxisId across;
    std::vector<Row> rows;
  };
  void jam(const Run &run, Range range);
  void jammed_turn(const Box &box, std::int64_t position);
  void known_of_rows(const loop::Loop &rows);
  void row_tile(const Run &run, Range range);
  void fold_tile(const Run &run, Range range);
  void transposed_tile(const Run &run, Range range);
  void load_blocks(Tile &tile, const Run &run, const Addresses &outer, std::int64_t row,
                   std::int64_t lane) const;
  void loop_in_tile(loop::LoopId id);

  const loop::Program &program_;
  const loop::Phase &phase_;
  const Machine &machine_;
  const Survey &survey_;
  const loop::Frame &frame_;
  const std::int64_t *lo_, *hi_;

  const Box *box_ = nullptr;           // how the body that we are in is run
  const loop::Loop *vector_ = nullptr; // the loop whose positions are lanes
  const RegisterTile *rows_ = nullptr; // where rows are lanes, too
  Tile *tile_ = nullptr;
  std::optional<Jam> jam_;
  int width_ = 1, active_ = 1;          // lanes, and those from the first on that count
  int apiece_ = 1, copy_ = 0;           // neighbours of each lane, and which of them is at hand
  Addresses at_;                        // [buffer]: of the element at the current position
  std::vector<std::int64_t> positions_; // [axis]
  std::vector<Lanes> values_;
  std::vector<Acc> accs_;
  std::vector<Lanes> held_; // [buffer], in a turn of several rows: the states so far
  bool last_row_ = false;
  struct Columns {
    std::vector<Lanes> loaded, awaited; // [position along a short row]: its element in each lane
    loop::AxisId axis;
    std::int64_t first = 0; // the position that the first of them is of
  };
  std::vector<Columns> columns_;          // [buffer]
  std::vector<std::vector<Lanes>> slots_; // [buffer][position]: rows of each lane's own
};

} // namespace broadloom::block

// Conditions under which a way to run a loop keeps the meaning of the loop program: asked where
// blocks are chosen, and again where they are verified, as blocks may come from a text.
#pragma once

#include "block/block.hpp"

namespace broadloom::block {

// Whether identities join to the identity, to the bit: in a short row that is a loop over the tree
// all levels share their code.
bool identity_stays(const loop::Program &program, const loop::Loop &loop);

// Whether the running states of its accumulators are read in its body.
bool reads_running(const loop::Program &program, const loop::Loop &loop);

// What a turn of a jam's rows stores must be either an element of its own, or a state that steps
// from row to row: it is loaded, and then stored once, in the turn of each row. All else would be
// stored by the last of the rows alone.
bool is_stepped(const loop::Program &program, loop::BufferId state, const loop::Loop &inner);

// Of the loads of the body of a jam's inner loop, those that read rows of one array along the jam's
// axis, some rows apart. Row r of the jam reads row r + by of `of`.
struct SharedRows {
  loop::BufferId of;
  std::vector<std::pair<loop::BufferId, int>> loads; // each with its `by`
  bool has(loop::BufferId buffer) const;
  // That so many rows of the jam load, each once.
  std::size_t count(int rows) const;
};
// Of a buffer without a shift along this axis: itself, by 0.
loop::Buffer::Shift shift_along(const loop::Program &program, loop::BufferId id, loop::AxisId axis);
std::vector<SharedRows> rows_of_jam(const loop::Program &program, const loop::Loop &inner,
                                    loop::AxisId rows);

// The only loop in the body of `rows`, if nothing in there needs more of a row than its addresses
// and its position, so that rows may be lanes of their own. What is known for a row is no load.
std::optional<loop::LoopId> lanes_of_rows(const loop::Program &program, const Survey &survey,
                                          const loop::Loop &rows);

// Whether the last tile of such rows may take some of them again, and end where the rows end: it
// stores what is there already, unless what it loads may lie where it stores. 54 rows are 7 tiles
// of 8 then, and no row is left over.
bool may_repeat_rows(const loop::Program &program, const loop::Loop &rows);
// So many of `count` rows are in tiles of this height; the others go one by one.
std::int64_t rows_in_tiles(const loop::Program &program, const loop::Loop &rows, int height,
                           std::int64_t count);

// The fold over lanes that is the only loop in the body of `inner`, which is the only one in that
// of `rows`, where several positions of both may run it side by side: in each it takes the same
// steps, and stores nothing.
std::optional<loop::LoopId> fold_of_tile(const loop::Program &program, const loop::Loop &rows,
                                         loop::LoopId inner);

// A row that a body stores for each of the positions that are lanes, which do not move it.
bool is_row_of_lanes(const loop::Program &program, loop::BufferId row, const loop::Loop &lanes);

// Whether statements of the body, or of loops in it, store to (else load from) the memory of the
// buffer.
bool touches(const loop::Program &program, const std::vector<loop::Stmt> &body,
             loop::BufferId buffer, bool store);

// Whether its elements may be loaded before all turns of the loop with this body, and stored after
// them.
bool moves_as_one(const loop::Program &program, const std::vector<loop::Stmt> &body,
                  loop::BufferId buffer);

// From part to part of neighbouring lanes' elements (an element has one part, a complex one two),
// where they are picked from whole
// vectors: 2, 3, 4 or -1; else 0.
int known_step(const loop::Buffer &buffer, loop::AxisId lanes);

// Whether positions of the scan may be lanes whose steps are taken one after the other: what they
// step with hangs on no state, and no position moves what is another's.
bool is_chain(const loop::Program &program, const loop::Loop &loop);

// Bytes at one position of all operands that a warp transposes: their blocks lie in memory that its
// threads share, of which a processor of a GPU has little.
constexpr std::size_t most_bytes_across_warp = 8;

// That a thread of a warp moves by one instruction.
constexpr std::size_t most_bytes_of_thread = 16;

constexpr int most_masked = 64; // lanes of a masked map: their mask is an integer

// Whether there are loops, or stores, in the body itself.
bool has_loops(const std::vector<loop::Stmt> &body);
bool has_stores(const std::vector<loop::Stmt> &body);

} // namespace broadloom::block

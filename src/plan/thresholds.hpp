// Inside the plan stage: the numbers that its choices go by, beside those of the machine. All but
// those of the trees are a matter of speed: any value gives the same bits.
#pragma once

#include "loop/loop.hpp"

#include <cstddef>
#include <cstdint>

namespace broadloom::plan {

// --- The trees of folds and scans. They are part of what a result means: another value gives other
// bits.

inline constexpr std::int64_t steps_per_leaf = 128; // of each lane: bounds the error of a leaf
inline constexpr std::int64_t scan_block = 4096;    // positions
// Of a step and a combine of a scan in groups of lanes, as the table of operations counts. A group
// takes some seven combines of its lanes in place of a step and a combine for each position, which
// pays where they are a few instructions.
inline constexpr int most_cost_in_lanes = 64;
// Of a scan of numbers with exponents: rows that occupy lanes and threads, and the states of 16
// rows in a core's own caches.
inline constexpr double fewest_stepped_rows = 32;
inline constexpr double most_bytes_of_stepped_rows = 1024 * 1024;

// --- Chunks. What keeps few positions cannot occupy the threads, unless it is cut along the folded
// axis.

inline constexpr double few_kept = 32;                 // positions
inline constexpr double fewest_folded = 32 * 1024;     // positions for each one kept
inline constexpr double fewest_in_chunks = 256 * 1024; // positions in all
// Positions kept where the schedule asks for chunks: each chunk has a result for all of them.
inline constexpr double most_kept_in_chunks = 4096;
// A chunk is to be worth a task, and there are to be enough of them for many threads.
inline constexpr double least_chunk = 32 * 1024; // positions, those of the loops inside counted
inline constexpr double most_chunks = 64;
inline constexpr std::int64_t exact_leaf = 4096; // positions, where any leaf gives the same bits

// --- Chunks of products of few results: what of a core's own caches their operands may fill, and
// how often the results of a chunk fit into that. All results then take a quarter of the bytes of
// the operands. f64 [100000, 120] by [100000, 100] takes 0.33 of the time (one thread).

inline constexpr double part_of_caches_for_products = 0.5;
inline constexpr double most_results_of_products = 4;

// Columns that read a block of rows while it is in a core's own caches: some tiles of folds.
inline constexpr std::int64_t fewest_columns_of_near_rows = 48;

// --- Sweeps: folds over rows, with the states of a row in memory.

inline constexpr double most_state_bytes =
    128 * 1024; // of one row: they stay in the second-level cache
inline constexpr double fewest_chunks_of_rows = 2; // for each thread
// Of the operations that a fold shares with what goes row by row, for each of its states, as the
// table of operations counts. It is twice what loading and storing a state takes.
inline constexpr double least_cost_shared = 12;
inline constexpr int most_cost_under_masks = 20; // of one of them, where masks are not free: exp's

// --- Short axes.

inline constexpr std::int64_t shortest_line =
    64; // positions; shorter ones make poor use of cache lines
inline constexpr std::int64_t shortest_vector =
    4; // positions of a vector axis, where there is a longer one
inline constexpr std::int64_t longest_short_row =
    loop::fold_ways; // positions of a folded axis, of which the lanes of a vector take a row each
inline constexpr std::int64_t fewest_tile_rows = 4; // for which an axis moves next to the lanes
// Of a tile whose operand stays in the nearest cache, for each element and in all.
inline constexpr double fewest_tile_steps = 16, fewest_steps_in_all = 1 << 17;
inline constexpr std::int64_t tall_rows = 8;     // of a register tile that is taller than wide
inline constexpr double most_rows_again = 1.125; // of all rows: what tall tiles take of them
inline constexpr std::int64_t fewest_short_rows =
    512; // for fewer, code for just their length would not pay

// --- Tiles.

inline constexpr std::int64_t tile_side = 64;     // positions
inline constexpr std::int64_t shortest_side = 16; // positions: a line of four-byte elements

// --- Panels of operands that are packed (panels.hpp).

// Of the nearest cache for each row that reads a panel: with fewer rows it is not worth filling.
inline constexpr std::int64_t panel_row_bytes = 256;
inline constexpr std::int64_t fewest_panel_steps = 16; // of the fold
inline constexpr std::int64_t shortest_panel = 8;      // positions
inline constexpr int most_panel_cost =
    16; // of a step, as the table of operations counts: heavier ones hide their loads

// --- Short operands that are repeated beforehand (repeat.hpp); all of them are to stay in the
// nearest cache.

inline constexpr double fewest_reads = 16;                 // of an element that is repeated
inline constexpr std::int64_t most_repeated_rows = 1024;   // of a block
inline constexpr std::int64_t fewest_repeated_blocks = 64; // short rows are slow to fill
// Beside what streams by: [1000, 1000, 3] with rows of 24 KB takes 1.5 times as long as with blocks
// of 6.
inline constexpr double kept_part_of_nearest_cache = 0.25;

// --- Rows that several turns read (shifts.cpp).

inline constexpr std::int64_t most_shift = 8; // rows: more never run at once
// Loads of a body whose rows share: what few of them give, the nearest caches give as fast. Corners
// by Harris, with 18 loads and 27 products of them, take 0.88 of the time (one thread). The Sobel
// filter, with 8 loads, and the mean of five points take the same.
inline constexpr std::size_t fewest_shared_loads = 9;

// --- Values held in memory (hold.hpp), in rough cycles.

inline constexpr double cycles_per_byte = 0.1;   // to store and to load, in the caches
inline constexpr double far_cycles_per_byte = 1; // in memory
inline constexpr double near_share = 0.5;        // of the last-level cache: larger values are far
inline constexpr double phase_cycles = 5000;     // one phase more
inline constexpr double least_gain = 1.25;       // the model is rough: less is not worth a phase
inline constexpr double least_phases_gained = 2;
// Of one cut, as more would take long: beyond these nodes nothing is held, and of more uses a part
// is cut after the other.
inline constexpr std::size_t most_nodes_to_cut = 20000;
inline constexpr std::size_t most_uses_to_cut = 200;

// --- Scans whose lanes could be rows.

// Rows that lie a multiple of so many bytes apart fall into few sets of the nearest cache, and
// lanes of a row each would fetch every line once for each of its elements.
inline constexpr std::int64_t crowding_bytes = 2048;
inline constexpr int most_cost_alone =
    32; // of a step and its arguments, as the table of operations counts

// --- Values kept in rows (rows.hpp).

inline constexpr double most_bytes_of_lane_rows =
    1024 * 1024; // of a row for each lane: beyond, a row alone is nearer

inline constexpr double most_row_bytes =
    256 * 1024; // of all rows of one loop: they stay in the second-level cache
inline constexpr std::size_t most_loops_to_search = 2000; // beyond, planning would take long

// --- Phases. The compile time of a function grows faster than its size.

inline constexpr int most_items_in_a_phase = 48;

// --- Streaming stores and prefetches.

inline constexpr std::int64_t shortest_streamed_row =
    256; // bytes: each row begins and ends with plain stores where it lies across lines
inline constexpr double fewest_steps_of_plain_stores = 32; // of the folds behind an element
// Operands that together are larger than this part of the last-level cache may leave a core's own.
inline constexpr std::int64_t far_inputs = 8;
inline constexpr double most_reads =
    8; // of an element that is prefetched: what is read again and again is in the caches
inline constexpr std::int64_t long_run =
    64 * 1024; // bytes side by side: after so many, a gap wastes few prefetches
inline constexpr std::int64_t least_run_of_gap = 16; // gaps shorter by this factor do so, too

// --- How phases are cut for threads (tasks.hpp).

inline constexpr double fewest_tasks = 2; // work for less than these runs where it is
inline constexpr int tasks_per_thread = 8;
inline constexpr double most_tasks = 1e6; // of a call that can be cancelled
inline constexpr std::int64_t vector_granule =
    1024; // positions, a page of f32: blocks share no cache line or page
inline constexpr std::int64_t column_granule =
    64; // of columns that are walked downwards: whole vectors
inline constexpr double interpreter_slowdown = 100;
inline constexpr double most_interpreted = 6e6; // cycles of a call that need not wait for its code
inline constexpr std::size_t most_phases_passed =
    64; // between the first and the last that are interleaved: looking for more would take long
inline constexpr std::int64_t most_pipelined_chunks =
    16; // of a pipeline's block: with their outputs some half of a second-level cache
inline constexpr double cycles_between_looks =
    15e6; // of a block where a call can be cancelled: some 5 ms

} // namespace broadloom::plan

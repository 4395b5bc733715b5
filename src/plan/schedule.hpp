// Inside the plan stage: all that it chooses, as data. `choose` asks one function for each part
// (choose.hpp), which go by the machine and by the numbers of thresholds.hpp. `build` makes the
// loop program of the schedule, and chooses nothing.
//
//   c[j] = sum(x[i, j], i)     cuts     i: chunks are single leaves of a sweep, 128 positions
//   x of 2048 by 2048          sweeps   the fold, by the loops i, j
//                              nests    phase 0: i.chunk (j; i, j), a Partial;  phase 1: j,
//                                       i.chunk, the join, and the store of c
//                              stores   c: plainly, it fits into the last-level cache
//                              reads    x: is prefetched
#pragma once

#include "plan/hold.hpp"
#include "plan/interleave.hpp"
#include "plan/nest.hpp"
#include "plan/panels.hpp"
#include "plan/rows.hpp"
#include "support/reasons.hpp"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace broadloom::plan {

// What the chunks of a group of axes are.
enum class ChunkKind : std::uint8_t {
  Leaves,      // of a fold: a power of two of whole ones
  ScanBlock,   // one block of a scan
  SweptLeaf,   // one leaf of a fold over rows
  TileSide,    // the side of a tile
  RepeatBlock, // what an operand is repeated for: repeat.hpp
  Panel        // a side of a register tile: panels.hpp
};
struct Chunks {
  ChunkKind kind = ChunkKind::Leaves;
  std::int64_t least = 0; // positions: of Leaves, the largest leaf; of others, all that a chunk has
  std::int64_t most = 0;  // of Leaves: positions whose operands stay near; 0: that is no matter
};

// Which loops run in chunks: a group of axes has chunks of one kind, wherever it is cut.
struct Cuts {
  std::map<Group, Chunks> chunks;
  std::vector<std::vector<Group>> paths; // loops, outermost first, of which the last one is cut
  std::set<Group> around;                // whose chunks go around all other loops: of products

  bool has(const std::vector<Group> &path) const;
  // Whether a fold or scan with these leaves or blocks along the last loop runs in its chunks.
  bool has(const std::vector<Group> &path, std::int64_t leaf) const;
};

// Loops of stores that are walked in tiles or blocks: by this path instead.
struct Tile {
  std::vector<Group> loops;
  std::vector<LoopKey> path;
  std::map<Group, Chunks> chunks = {}; // of those of the path
};

// How an output is stored.
struct Storing {
  support::Reason reason = support::Reason::OutputFitsCache;
  double bytes = 0;
  bool streamed =
      false; // by non-temporal stores: as the reason says, or as the user's schedule does
};

// How an input is read. The last word has the place, which may read it again and again.
struct Reading {
  double bytes = 0;
  bool stays_near = false; // in a core's own caches
  bool exceeds_nearest_cache = false;
  bool gains_by_tiles = false; // what rows share of it is loaded once for several of them
  double most_turns = 0; // of a loop that reads it: beyond, its elements are read again and again
  support::Reason otherwise = support::Reason::InputReadAhead;

  bool is_often(double turns) const { return turns > most_turns; }
  // InputReadAhead, or why it is not prefetched.
  support::Reason reason(double turns) const;
};

// How folds and stores walk their axes: what is chosen before there are items.
struct Ways {
  Cuts cuts;
  LoopsOfFolds sweeps;     // folds over rows, with the states of a row in memory
  LoopsOfFolds short_rows; // folds of which each lane takes a row: their kept loops, and the row
  std::vector<Tile> tiles;
  Holds holds;
  Panels panels;
};

struct Schedule {
  std::vector<ClassId> by_stride; // all classes, those with the greatest strides first
  Ways ways;
  Nests nests; // the items, in the loops of their phases
  std::vector<Row> rows;
  std::map<Group, std::int64_t> chunk_sizes;    // positions
  std::set<Group> few;                          // their positions are known when code is made
  std::set<Group> tall;                         // register tiles have twice as many rows of them
  std::vector<Storing> stores;                  // [output]
  std::vector<Reading> reads;                   // [input]
  std::optional<BlocksOfInput> blocks_of_input; // for phases that are interleaved; none: none is
  Why why;
};

Schedule choose(const Request &request, const Machine &machine);

Plan build(const Request &request, const Schedule &schedule);

} // namespace broadloom::plan

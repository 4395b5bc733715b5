// How often each way to run a loop was taken: what the random tests hold themselves against, as a path that no kernel takes
// is tested by none.
//
// Code that is made with Profile::paths adds to these counts as it runs; other code does not, and its bits are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace broadloom::jit {

enum class Path : std::uint8_t {
  MapGroup,         // a whole group of lanes of a map
  MapRest,          // a partial group
  MapRestNarrowed,  // one that takes half the lanes or fewer
  MapMasked,        // whole and partial groups of a heavy body, in one copy
  StreamHead,       // up to the first aligned address of a non-temporal store
  StreamAligned,    // groups with non-temporal stores
  StreamMisaligned, // groups of the same loop whose stores cannot be aligned
  FoldSerial,       // a step of a fold, one position at a time
  FoldGroups,       // 32 positions, in several registers
  FoldMasked,       // one register of the rest of a leaf, or of a heavy body
  FoldUnrolled,     // all steps of a fold of few known positions
  LeafJoined,       // a join of two leaves
  LeavesTogether,   // several leaves, step by step in turn
  ScanSerial,
  ScanOfRows, // a block of positions in lanes of a row each
  ScanBlock,  // a block of a scan that is cut into blocks
  ScanGroup,  // 16 positions
  ScanGroups, // several times 16
  ScanMasked, // the rest of a block
  ScanReverse,
  ScanHanded, // a box that goes on from the one before
  ShortCopied,
  ShortLooped,
  ShortTree,
  ShortInMemory,
  ColumnsLoaded, // rows transposed in registers
  ColumnsStored,
  RowOfLanes,
  RowInLanes,          // a row of each lane's own, in memory
  RowOfScan,           // a scan's states, kept for later loops of the same turn
  RowsJammed,          // unroll-and-jam: several rows, one row of states
  RowsJammedRest,      // rows beside them
  RegisterTile,        // a register tile of rows and lanes
  RegisterTileOfPanel, // one that reads what is packed
  RegisterTileBeside,
  TileBlock, // a block transposed in registers
  TileStreamed,
  TileBeside, // what is left over beside the blocks
  LoadStep2,
  LoadStep3,
  LoadStep4,
  LoadReversed,
  LoadApart, // one by one, or a gather
  LoadApartMasked,
  StoreApart,
  StoreApartMasked,
  ReadAhead,
  PaddingSplit,   // a call made in parts, of which the interior reads what is not padded
  MasksDropped,   // one of which the interior asks no conditions
  ResidueClasses, // one in classes of positions that are some steps apart
  RowsKept,       // a loop over time of which only the last rows are kept
  RowsOfLoop,     // a let that is what a loop over time had at earlier steps, where these lie
  Checkpoints,    // a loop over time whose states are computed again from a few of them
  LetInTiles,     // a let that is an array, computed a few rows at a time
  LoopEnded,      // a loop over time that ended before its last step
};
inline constexpr std::size_t path_count = std::size_t(Path::LoopEnded) + 1;

std::string_view name(Path path); // "map-group"

// One count for each path, since the process began; threads add to them without order.
std::uint64_t *path_counts();
void count(Path path); // of those that a call takes before its phases

} // namespace broadloom::jit

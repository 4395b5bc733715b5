// The class behind choose(): choose.cpp picks shapes, access.cpp the moves of buffers.
#pragma once

#include "block/block.hpp"

#include <optional>

namespace broadloom::block {

// What stands around a body.
struct Place {
  const loop::Loop *vector = nullptr; // the loop whose positions are lanes
  int width = 1;                      // lanes, all copies that are one group counted
  int apiece = 1;                     // neighbours of each lane
  bool masked = false;
  bool in_tile = false;  // in a block of a transposed tile
  bool in_strip = false; // in a block of a scan in lanes of rows
  bool in_tree = false;  // in a short row, whose steps come in the order of a tree
  std::vector<loop::BufferId> loaded_across = {};    // loaded as transposed blocks
  std::vector<loop::BufferId> stored_across = {};    // stored as such
  std::vector<loop::BufferId> streamed = {};         // stored around the caches
  std::vector<loop::BufferId> next_block = {};       // prefetched for the next block
  std::optional<loop::AxisId> jammed = std::nullopt; // the copies' axis of a jam around
  std::vector<loop::BufferId> shared = {};           // rows of it that several of its loads read
  std::optional<loop::AxisId> tiled = std::nullopt;  // the copies' axis of a register tile around
  const loop::Loop *tile_lanes = nullptr;            // the tile's loop over lanes
  bool left = false;                                 // in the few rows that a register tile leaves
};

class Chooser {
public:
  Chooser(const loop::Program &program, const Survey &survey, const Machine &machine)
      : program_(program), survey_(survey), machine_(machine) {}

  // A body under these dims.
  Box box(std::vector<Dim> dims, const std::vector<loop::Stmt> &body, const Place &place) const;

private:
  // choose.cpp
  bool lanes_are_threads() const { return machine_.warp > 0; }
  Run run(loop::LoopId id, const Place &place) const;
  Run turns(loop::LoopId id, const Place &place) const;
  Run map(loop::LoopId id, Place place) const;
  Run short_loop(loop::LoopId id, Place place) const;
  Run fold(loop::LoopId id, Place place) const;
  Run scan(loop::LoopId id, Place place) const;
  Run serial_scan(loop::LoopId id, const Place &place) const;
  std::vector<loop::BufferId> streamed(loop::LoopId id) const;
  int apiece(loop::LoopId id) const;
  Box neighbours(loop::LoopId id, Place place, int apiece) const;
  bool has_rows_in_lanes(loop::LoopId id) const;
  bool takes_rows_inside(loop::LoopId id) const;
  bool takes_rows(loop::LoopId id, const loop::Loop &lanes) const;
  void note_rows(const loop::Loop &row, Place &place) const;
  int base_width(loop::LoopId id) const;
  int width_of_map(loop::LoopId id) const;
  int map_width(loop::LoopId id, const Place &place) const;
  int streamed_width(loop::LoopId id, const std::vector<loop::BufferId> &streamed) const;
  std::size_t statements_unrolled(loop::LoopId id) const;
  int leaves_together(loop::LoopId id, int width) const;
  bool has_leaves_in_threads(loop::LoopId id, const Place &place) const;

  // choose_tiles.cpp
  std::optional<Run> jam(loop::LoopId id, const Place &place) const;
  Run jam(loop::LoopId id, const Place &place, int count) const;
  int rows_that_share(const loop::Loop &rows, loop::LoopId id) const;
  std::optional<Run> row_tile(loop::LoopId id, const Place &place) const;
  void add_single_rows(Run &run, const Place &place) const;
  void add_known_of_rows(Run &run, const Place &place) const;
  bool lies_along(loop::LoopId lanes) const;
  bool moves_masked(loop::LoopId lanes) const;
  std::optional<Run> fold_tile(loop::LoopId id, const Place &place) const;
  std::optional<Run> transposed_tile(loop::LoopId id, const Place &place) const;
  std::vector<loop::BufferId> lying_across(const loop::Loop &rows, const loop::Loop &lanes,
                                           int width) const;

  // access.cpp
  void add_accesses(Box &box, const std::vector<loop::Stmt> &body, const Place &place) const;
  Access load(loop::BufferId id, const Place &place) const;
  Access store(loop::BufferId id, const Place &place) const;
  Move apart(std::size_t size) const;
  bool is_wide(loop::BufferId id, const Place &place) const;
  Prefetch prefetch(loop::BufferId id, Move move, const Place &place) const;
  bool lies_in_rows(loop::BufferId id, loop::AxisId along, const loop::Loop &lanes) const;

  const loop::Walk *walk(loop::BufferId id, loop::AxisId axis) const {
    return loop::walk(program_, id, axis);
  }
  const loop::Loop &loop(loop::LoopId id) const { return program_[id]; }
  const Survey::LoopFacts &facts(loop::LoopId id) const { return survey_.loops[id.index]; }

  const loop::Program &program_;
  const Survey &survey_;
  const Machine &machine_;
};

} // namespace broadloom::block

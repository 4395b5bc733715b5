// Inside the plan stage: operands of products that are packed into panels.
//
//   out c = sum(a * b, k)              a[i, k], b[k, j]; lanes along j, several rows i to a
//                                      register tile
//
// Problem: every step of k reads a short piece of another row of b, mostly in another page, where
// the processor does not look ahead by itself; and rows that lie a power of two apart share few
// lines of the caches. All rows of c read b so.
// Method: a phase before writes b out once, panel by panel: as many columns as a tile has lanes,
// row below row. The loops that read it go from panel to panel, and each panel stays in a core's
// own caches for all rows of c:
//
//   phase 0    for j.chunk, k, j in the chunk: s0 = b[k, j]
//   phase 1    for j.chunk, i, j in the chunk: init a0; for k: a0 += a[i, k] * s0; c[i, j] = a0
//
// Where rows of a do not lie along k, a is packed as well, in panels of as many rows as a tile has:
// i.chunk, i in the chunk.
//
// Where rows of a and of b lie along k and have up to 64 steps, as in q @ k.T of attention, lanes
// along j fold a row each, and b is packed in this way, too.
//
// The tree of the fold is that of the operands as they lie, so no bit changes.
#pragma once

#include "plan/hold.hpp"
#include "plan/nest.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace broadloom::plan {

struct Panel {
  std::uint32_t input;
  // Of its filling, as the array lies: chunks of a side of the tile, steps of the fold, the side.
  std::vector<LoopKey> path;
};

struct Panels {
  std::vector<Panel> arrays;
  std::map<expr::NodeId, std::vector<LoopKey>> folds; // that read them: the loops around each
  std::set<expr::NodeId> rows;          // of these folds: in lanes that take a row each
  std::map<Group, std::int64_t> widths; // positions of the chunks
};

} // namespace broadloom::plan

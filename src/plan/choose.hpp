// Inside the plan stage: the functions that choose() calls, each of which gives a part of the
// schedule and notes its decisions.
#pragma once

#include "plan/schedule.hpp"
#include "plan/trees.hpp"

#include <set>

namespace broadloom::plan {

// choose.cpp: the chunks of folds and scans whose kept positions cannot occupy the threads; with
// those of sweeps, scans and tiles they are the one table of cuts.
Cuts choose_chunks(const Request &request, const Trees &trees, const Machine &machine, Why &why);
// Of products of few results, all of which a chunk of their operands gives while it is near.
void add_chunks_of_products(const Request &request, const Trees &trees, const Ways &ways,
                            const Machine &machine, Cuts &cuts, Why &why);
Cuts all_cuts(const Request &request, const Trees &trees, Cuts chunks, const Ways &ways);
// Chunks of leaves are a power of two of them, large enough to be worth a task, and most_chunks at
// most.
std::map<Group, std::int64_t> choose_chunk_sizes(const Request &request, const Machine &machine,
                                                 const Cuts &cuts, const Nests &nests);

// choose_folds.cpp: a fold of values into the start of its recipe, with a combine: its tree may be
// cut in other ways.
bool is_free(const Request &request, expr::NodeId fold);
// Folds over rows, with the elements of a row kept: row by row, with the states in memory.
LoopsOfFolds choose_sweeps(const Request &request, const Trees &trees, const Cuts &chunks,
                           const Machine &machine, Why &why);
// Axes of few positions that folds go through step by step, with elements beside each other in
// lanes.
std::set<Group> choose_few(const Request &request, const Trees &trees, const Schedule &chosen,
                           Why &why);
// Inputs of which a register tile loads what its rows share.
std::set<std::uint32_t> choose_shared(const Request &request, const Trees &trees,
                                      const Schedule &chosen);
// Rows of products whose other operand is read where it lies and leaves the nearest cache: with
// twice as many rows in a register tile it is read half as often.
std::set<Group> choose_tall(const Request &request, const Trees &trees, const Schedule &chosen,
                            Why &why);
// Folds of short rows, of which several are taken at once.
LoopsOfFolds choose_short_rows(const Request &request, const Trees &trees, Why &why);

// choose_tiles.cpp: stores that are walked otherwise than row by row.
std::vector<Tile> choose_tiles(const Request &request, const Trees &trees, const Machine &machine,
                               Why &why);

// choose_panels.cpp: operands of products that are packed, and the loops of the folds that read
// them.
Panels choose_panels(const Request &request, const Trees &trees, const Ways &ways,
                     const Machine &machine, Why &why);

// choose_access.cpp
std::vector<Storing> choose_stores(const Request &request, const Nests &nests,
                                   const Machine &machine);
std::vector<Reading> choose_reads(const Request &request, const Cuts &cuts, const Machine &machine);

} // namespace broadloom::plan

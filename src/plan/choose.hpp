// Inside the plan stage: the functions that choose() calls, each of which gives a part of the schedule. Decisions are noted in `why`.
#pragma once

#include "plan/schedule.hpp"
#include "plan/trees.hpp"

namespace broadloom::plan {

// choose.cpp: folds and scans whose kept positions cannot occupy the threads. The first is what they want; with the chunks of sweeps,
// scans and tiles it becomes the one table.
Cuts choose_chunks(const Request &request, const Trees &trees, Why &why);
Cuts all_cuts(const Request &request, const Trees &trees, Cuts chunks, const Schedule &chosen);
// Chunks of leaves are a power of two of them, large enough to be worth a task, and most_chunks at most.
std::map<Group, std::int64_t> choose_chunk_sizes(const Request &request, const Cuts &cuts,
                                                 const Nests &nests);

// choose_folds.cpp: folds over rows, with the elements of a row kept: row by row, with the states in memory.
LoopsOfFolds choose_sweeps(const Request &request, const Trees &trees, const Cuts &chunks,
                           const Machine &machine, Why &why);
// Folds of short rows, of which several are taken at once.
LoopsOfFolds choose_short_rows(const Request &request, const Trees &trees, Why &why);

// choose_tiles.cpp: stores that are walked otherwise than row by row.
std::vector<Tile> choose_tiles(const Request &request, const Trees &trees, const Machine &machine,
                               Why &why);

// choose_access.cpp
std::vector<Storing> choose_stores(const Request &request, const Nests &nests,
                                   const Machine &machine);
std::vector<Reading> choose_reads(const Request &request, const Cuts &cuts, const Machine &machine);

} // namespace broadloom::plan

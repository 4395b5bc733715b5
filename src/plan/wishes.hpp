// The user's schedule while nests are made: what it asks of a loop, and what became of each clause.
#pragma once

#include "plan/schedule.hpp"

namespace broadloom::plan {

// Whether the schedule asks to share out a loop over these classes among threads.
bool asks_for_threads(const Request &request, const Group &group);
// Whether it asks for lanes along such a loop.
bool asks_for_lanes(const Request &request, const Group &group);
// The side of the tiles that it asks for along such a loop, in positions; 0: none.
std::int64_t asked_tile(const Request &request, const Group &group);

// A decision for each clause, and each phase that it is about.
// `groups` are those of the program's axes. Clauses about stores are told where stores are chosen,
// copies and rows by the blocks (block::explain), unless no loop runs along their axis.
void explain_wishes(const Request &request, const Schedule &schedule, const loop::Program &program,
                    const std::vector<Group> &groups, std::vector<Decision> &why);

} // namespace broadloom::plan

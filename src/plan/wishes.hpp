// What became of the user's schedule: a decision for each clause, and each phase that it is about.
#pragma once

#include "plan/nest.hpp"

namespace broadloom::plan {

// `groups` are those of the program's axes. Clauses about stores are told where stores are chosen, copies and tiles by the blocks
// (block::explain), unless no loop runs along their axis.
void explain_wishes(const spec::TypedSpec &spec, const Resolved &resolved, const Nests &nests,
                    const loop::Program &program, const std::vector<Group> &groups,
                    std::vector<Decision> &why);

} // namespace broadloom::plan

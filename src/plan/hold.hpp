// Inside the plan stage: which values are held in memory instead of being computed again.
//
//   let e = exp(z)                       z[n, c]
//   out d_w = sum(e * x, n)              x[n, p]; its loops c, p, n would compute e for every p
//   out d_x = sum(e * w, c)              w[c, p]; its loops n, p, c would, too
//
// e is held: a phase before computes it once for each n, c, and both folds read it.
//
// The choice is a minimum cut. A value that is needed is either held, which costs memory traffic,
// or computed where it is needed, which costs its operation as often as the loops there turn,
// beyond the one time that it is computed in any case, and then its arguments are needed in turn.
// keep(e) decides for e, recompute(e) for e and all that it is made of. The bits are the same
// either way.
//
// Uses with equal loops may well share them, and then compute a value once together; not those that
// wait for whole results of others (waves.hpp). So of a chain of layers, each with folds of the one
// before, every layer is held and computed once. A cut is for 200 uses; of more, part after part,
// and what one part holds the next ones read.
#pragma once

#include "plan/waves.hpp"

#include <vector>

namespace broadloom::plan {

// [node]: is it in a recompute(), or part of what such a value is made of, down to folds? keep()
// goes before.
std::vector<bool> computed_again(const spec::TypedSpec &spec, const Trees &trees);

// Every value is computed where it is needed.
Holds no_holds(const Request &request, const Trees &trees);

Holds choose_holds(const Request &request, const Trees &trees, const LoopsOfFolds &sweeps,
                   const Machine &machine, Why &why);

} // namespace broadloom::plan

// Inside the plan stage: which values are held in memory instead of being computed again.
//
//   let e = exp(z)                       z[n, c]
//   out d_w = sum(e * x, n)              x[n, p]; its loops c, p, n would compute e for every p
//   out d_x = sum(e * w, c)              w[c, p]; its loops n, p, c would, too
//
// e is held: a phase before computes it once for each n, c, and both folds read it.
//
// The choice is a minimum cut. A value that is needed is either held, which costs memory traffic, or computed
// where it is needed, which costs its operation as often as the loops there turn, beyond the one time that it
// is computed in any case, and then its arguments are needed in turn. keep(e) decides for e, recompute(e)
// for e and all that it is made of. The bits are the same either way.
#pragma once

#include "plan/trees.hpp"

namespace broadloom::plan {

// A fold, scan or store to be: what it reads at each position, and its loops, outermost first.
struct Use {
  std::vector<expr::NodeId> roots;
  std::vector<Group> loops;
};

struct Held {
  expr::NodeId value;
  std::vector<bool> waits; // [use]: reads it from memory, and so comes in a later phase
  Decision why;
};

struct HoldChoice {
  std::vector<Held> held;
  double again_cycles = 0; // of what is computed more often than it has positions, nevertheless
  double cut_cycles = 0;   // of the cheapest way
};

// [node]: is it in a recompute(), or part of what such a value is made of, down to folds? keep() goes before.
std::vector<bool> computed_again(const spec::TypedSpec &spec, const Trees &trees);

HoldChoice choose_held(const Request &request, const Trees &trees, const std::vector<Use> &uses,
                       const Machine &machine);

} // namespace broadloom::plan

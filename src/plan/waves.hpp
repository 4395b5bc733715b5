// Inside the plan stage: what folds, scans and stores read, how often their loops compute it, and
// which of them wait for which.
//
//   let m = mean(x, j)                     wave 0
//   let s = sum(exp(x - m), j)             wave 0: m of a row is there once its own loop over j has
//                                          ended
//   out y = exp(x - m) / s - max(s, i)     wave 1: max(s, i) is there only when all loops have
//                                          ended
//
// Those of one wave may share loops, and what they compute there; later waves find in memory what
// is held.
#pragma once

#include "plan/trees.hpp"

#include <map>
#include <span>
#include <vector>

namespace broadloom::plan {

struct Held {
  expr::NodeId value;
  std::vector<bool> waits; // [use]: reads it from memory, and so comes in a later phase
  Decision why;
};

struct Holds {
  std::vector<Held> values; // arguments before their users
  std::map<expr::NodeId, std::size_t> use_of_fold;
  std::vector<std::size_t> use_of_output;

  bool waits(std::size_t use, expr::NodeId value) const;
};

// A fold, scan or store to be: what it reads at each position, and its loops, outermost first.
struct Use {
  std::vector<expr::NodeId> roots;
  std::vector<Group> loops;
  int wave = 0;
};

// Of a value: its positions, and how often loops turn down to the innermost one that changes it.
class LoopCount {
public:
  LoopCount(const Request &request, const Trees &trees, expr::NodeId id)
      : resolved_(request.resolved), classes_(trees.classes_of(id)) {}

  double positions() const;
  double turns(const std::vector<Group> &loops) const;

private:
  const Resolved &resolved_;
  std::vector<ClassId> classes_;
};

class Waves {
public:
  // `uses` may grow; those of folds come before what reads these.
  Waves(const Request &request, const Trees &trees, const Holds &holds,
        const std::vector<Use> &uses)
      : graph_(request.spec.graph), trees_(trees), holds_(holds), uses_(uses) {}

  // Of what reads these values in such loops. Each node is visited once for all uses with equal
  // loops.
  int of(std::span<const expr::NodeId> roots, const std::vector<Group> &loops);

private:
  bool ends_inside(expr::NodeId fold, const std::vector<Group> &loops) const;

  const expr::Graph &graph_;
  const Trees &trees_;
  const Holds &holds_;
  const std::vector<Use> &uses_;
  std::map<std::vector<Group>, std::vector<int>> known_; // [loops][node]; -1: not yet
};

// Which uses find which values in memory: those that would compute them more often than they have
// positions, and those of later waves.
void find_waits(Holds &holds, const std::vector<Use> &uses, const Request &request,
                const Trees &trees, Waves &waves);

} // namespace broadloom::plan

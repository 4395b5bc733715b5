// Inside the gradient stage: accumulators by their definitions, for those that go through them step
// by step (recurrence.cpp) or in blocks (associative.cpp).
#pragma once

#include "grad/folds.hpp"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::grad {

using Names = std::unordered_map<std::string, Expr>;

inline Expr named(const std::string &name) { return make_parameter(name, {}); }

// The accumulator in the form of a definition, its result complete.
struct Steps {
  std::vector<std::string> states, args;
  Names init, step, combine; // combine: of user accumulators that have one
  Expr result;
  std::string prefix = "l_"; // + a state: its cotangent. No state or argument begins so.
};
Steps steps_of(const FoldUse &use, const facts::Terms &t);

// What one step takes from the cotangent of each state to those of the states before it and of the
// arguments.
class Flows {
public:
  Flows(facts::Facts &facts, const Steps &steps, const facts::Terms &t);
  // In any number of steps, also none.
  bool reaches(const std::string &from, const std::string &into) const {
    return reached_.at(from).count(into) != 0;
  }
  bool reaches_argument(const std::string &from) const;
  // Is the cotangent the same before the step as after it, and does none of another state come back
  // to it?
  bool stays(const std::string &state) const;

private:
  const Steps &steps_;
  std::unordered_map<std::string, Names> from_; // by state, its cotangent being PREFIX + state
  std::unordered_map<std::string, std::unordered_set<std::string>> reached_; // states and arguments
};

// The parameter `one` is 1.
inline constexpr const char *one = "1";
Expr without_ones(const Expr &root, const facts::Terms &t);

// The same accumulator with the result `state`: of one with a combine.
Accumulator total_of(facts::Facts &facts, const Steps &steps, const std::string &name,
                     const std::string &state);

// The axes that a fold or scan goes along; the only one, or SpecError E0601.
expr::AxisSet folded_axes(facts::Facts &facts, const ExprNode &node);
int only_axis(facts::Facts &facts, const ExprNode &node, const std::string &name);

// Throws SpecError E0601 where something accumulated or started from is complex.
void check_real(facts::Facts &facts, const ExprNode &node, const std::string &name);

// The inputs that give what is accumulated its extent along an axis.
std::vector<std::string> lenders_of(facts::Facts &facts, const ExprNode &node, int axis);

// d step . seeds: the cotangents of the names in clauses, from one for each state.
Names pull_clauses(facts::Facts &facts, const Steps &steps, const Names &clauses,
                   const Names &seeds, const facts::Terms &t);

// Whether a fold is the kind that the next function is for. That says whether it could.
bool is_associative(const ExprNode &fold);
bool pull_associative(Sweep &sweep, const Expr &fold, const Cotangent &g);

// How a cotangent goes back through a scan.
struct ScanBack {
  Expr mask;   // under which something flows into a position: if it does at one after it
  Expr beyond; // is this a repetition of an axis of 1? Empty: no
  Expr once(const Expr &value) const; // nothing at the repetitions
};

// logsumexp.cpp: g is the cotangent of a scan of logsumexp, its result.
void pull_running_logsumexp(Sweep &sweep, const Expr &scan, const Cotangent &g,
                            const ScanBack &back);

} // namespace broadloom::grad

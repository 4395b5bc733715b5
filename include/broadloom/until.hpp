// Loops over time that end where a condition holds: `let u[t < 50 until c] = f` of the text form.
//
//   const auto t = bl::axis("t");
//   const auto now = bl::itself("u").at({t}), before = bl::itself("u").at({t - 1});
//   const bl::Until end("u_done", "t", abs(now - before) < 1e-12, {.count = 50});
//   const auto u = bl::let("u", {"t"}, end.held("u", {"t"}, (before + a / before) / 2),
//                          {.from = a});
//   bl::LoopSpec("root").out("y", u.at({-1})).out("n", end.steps());
#pragma once

#include <broadloom/expr.hpp>

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace broadloom {

struct UntilSteps {
  std::int64_t count = -1; // the most that are taken; -1: an input or a let of the loop says it
  bool backwards = false;  // from the last position to the first: the step before is at t + 1
};

// The let that says whether a loop has ended, a bool for each step: true from the one on at which
// the condition first holds. All lets that read each other hold still together, so the value of
// each goes through held(). If one of them goes on, all steps are run.
class Until {
public:
  // The condition is one value for each step along `axis`, and reads lets of the loop by `itself`.
  // Throws SpecError E0031 for a count that is not from 1 to 2^40.
  Until(std::string name, const std::string &axis, const Operand &condition, UntilSteps steps = {});

  // The value of the let with these dims at a step, or, behind the end, what it was before. Throws
  // SpecError E0028 where the axis is none of the dims or one has no name.
  Expr held(const std::string &let, const std::vector<AxisRef> &axes, const Operand &value) const;

  // `steps(u)`: how many were taken, an i64. The one at which the condition held is among them.
  Expr steps(std::source_location where = std::source_location::current()) const;

  const Expr &done() const { return done_; } // the let

private:
  std::string name_, axis_;
  std::int64_t back_;
  Expr done_;
};

} // namespace broadloom

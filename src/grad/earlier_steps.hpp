// Inside the gradient stage: what a step of a loop over time read of another step, for all steps at
// once.
//
//   h[t - 1, k]     pad(h, 0: (1, 0))[t, k]         where h begins with zeros, or with the number
//                                                   of the padding
//                   h_1[t, k]                       where it begins with an array h0:
//   let h_1[t, i] = where(iota(t, of=h[t, i]) < 1, h0[i], pad(h, 0: (1, 0))[t, i])
#pragma once

#include "spec/cut.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::grad {

// A let that reads itself.
struct SteppedLet {
  Expr let;
  std::vector<std::string> axes; // [dim]
  std::size_t dim = 0;           // that of the steps
  bool backwards = false;
  Expr start; // a number, a let of what it begins with, or empty
  std::vector<std::size_t> start_dims;
  // Whether what reads it may have nothing else to say how many steps there are: the padded array
  // has more.
  bool counts_steps = false;
};

std::optional<Number> number_of(const Expr &expr); // 2 or -2

class EarlierSteps {
public:
  struct Uses {
    std::function<std::string(const std::string &)> fresh;     // a name like this one
    std::function<std::string(const Expr &)> named;            // declares a window, for of=
    std::function<void(const SteppedLet &, const Expr &)> add; // a let that it made for that one
  };
  explicit EarlierSteps(Uses uses) : uses_(std::move(uses)) {}

  // `at` is the window that it is read through, were it read at the position of the step.
  Expr read(const SteppedLet &of, std::int64_t lag, Window at, const Place &where);

private:
  Expr shifted(const SteppedLet &of, std::int64_t lag, Window at, const Place &where) const;
  Expr before(const SteppedLet &of, std::int64_t lag, const Place &where);

  Uses uses_;
  std::map<std::pair<std::string, std::int64_t>, Expr> before_; // [let, lag]
};

} // namespace broadloom::grad

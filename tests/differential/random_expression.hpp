// Random expressions over declared operands, typed as they grow so that most of them are valid.
#pragma once

#include "random.hpp"

#include "expr/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace broadloom::differential {

struct Term {
  std::string text;
  DType dtype = DType::F32;
  expr::AxisSet axes;
  bool plain = false;   // an input by name
  bool product = false; // holds a product fold: values of any magnitude
  bool inexact = false; // holds a float fold whose last bits depend on the order
};

// Accumulators of the user's own, in front of every kernel: `damped` has no combine, `share` has
// two states and arguments. `peak` has ties, and the states of `linked` flow into each other: for
// gradients. The inits of `first`, where order matters, and of `least`, where it does not, are no
// identities of their combines.
inline constexpr std::string_view definitions =
    "accumulator damped(a; m) { init a = 0; step a = 0.5 * a + m }\n"
    "accumulator share(s, n; x, w) { init s = 0, n = 0; step s = s + x * w, n = n + w\n"
    "  combine s = s + s_other, n = n + n_other; result s / n }\n"
    "accumulator peak(m; x) { init m = -inf; step m = maximum(m, x); combine m = maximum(m, "
    "m_other) }\n"
    "accumulator linked(s, v, q; x, w) { init s = 0., v = 0., q = 0.\n"
    "  step s = s + x, v = v + w, q = q + w * s\n"
    "  combine s = s + s_other, v = v + v_other, q = q + q_other + s * v_other; result q + s }\n"
    "accumulator first(v, c; x) { init v = 0, c = false; step v = c ? v : x, c = true; combine v = "
    "v, c = c }\n"
    "accumulator least(m, c; x) { init m = 0, c = 0; step m = c == 0 ? x : minimum(m, x), c = 1\n"
    "  combine m = minimum(m, m_other), c = 1 }\n";

struct Scope {
  std::vector<Term> terms;              // inputs and lets
  std::vector<std::string> axis_names;  // how an axis is written, by position
  std::vector<std::string> input_names; // for like=
  bool exact = false;
  std::string mark = "keep"; // or recompute: both of one value would be a contradiction
  bool smooth = false;       // only what has slopes, as random_spec.hpp says
  bool large = false;        // many points: no function that takes microseconds
};

// Functions that the terms call, to stand before the kernel.
inline constexpr const char *functions = "def itself(a) = a\n"
                                         "def larger(a, b) = itself(maximum(itself(a), b))\n";

class Expressions {
public:
  Expressions(Random &random, const Scope &scope) : random_(random), scope_(scope) {}

  Term term(int depth);

  // A fold of `value` as Term flags have it; the text stays as it is. `User` is damped.
  Term folded(Term value, Fold fold) const;
  Fold fold_for(DType dtype);
  static std::string name_of(Fold fold);
  // The user's accumulator that a fold or scan by `User` is of: damped, or one with blocks. Gives
  // `out` what follows from that.
  std::string own_accumulator(const Term &x, Term &out);
  // ", init=1, correction=2": options that the accumulator takes, or none.
  std::string options(Fold fold, DType dtype, bool needs_init);
  std::string like(); // "like=x", "like=(x, y)"

private:
  Term leaf();
  Term unary(int depth);
  Term smooth_unary(const Term &x);
  Term binary(int depth);
  Term comparison(int depth);
  Term choice(int depth);
  Term conversion(int depth);
  Term reduction(int depth);
  Term scan(int depth);
  Term share(int depth);
  Term joined(int depth);
  std::string number(DType like);
  Term combine(ops::Op op, std::string text, const std::vector<Term> &args) const;

  Random &random_;
  const Scope &scope_;
  int products_ = 0; // multiplications so far: exact cases allow a few
};

} // namespace broadloom::differential

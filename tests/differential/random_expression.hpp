// Random expressions over declared operands, typed as they grow so that most of them are valid.
#pragma once

#include "random.hpp"

#include "expr/graph.hpp"

#include <string>
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

struct Scope {
  std::vector<Term> terms;              // inputs and lets
  std::vector<std::string> axis_names;  // how an axis is written, by position
  std::vector<std::string> input_names; // for like=
  bool exact = false;
};

// Functions that the terms call, to stand before the kernel.
inline constexpr const char *functions = "def itself(a) = a\n"
                                         "def larger(a, b) = itself(maximum(itself(a), b))\n";

class Expressions {
public:
  Expressions(Random &random, const Scope &scope) : random_(random), scope_(scope) {}

  Term term(int depth);

  // A fold of `value` as Term flags have it; the text stays as it is.
  Term folded(Term value, Fold fold) const;

private:
  Term leaf();
  Term unary(int depth);
  Term binary(int depth);
  Term comparison(int depth);
  Term choice(int depth);
  Term conversion(int depth);
  Term reduction(int depth);
  std::string number(DType like);
  Term combine(ops::Op op, std::string text, const std::vector<Term> &args) const;

  Random &random_;
  const Scope &scope_;
  int products_ = 0; // multiplications so far: exact cases allow a few
};

} // namespace broadloom::differential

// What the functions should give: quickly and nearly, and by MPFR as exactly as is asked for.
//
// Problem: MPFR takes microseconds, and there are 2^32 arguments.
// Method: each function is also written in a wider type (double for f32, x87's long double for f64)
// with the system's libm, from formulas that neither cancel nor overflow there. Where the wider
// value is too near to a tie to say how it rounds, and for the worst error, MPFR decides. A new
// function of functions.def needs a row here.
// Example: reference_of("exp")->in_double(x, 0); reference_of("exp")->exact(result, x, nullptr);
#pragma once

#include <mpfr.h>

#include <string_view>

namespace broadloom::prove {

struct Reference {
  std::string_view name;
  double (*in_double)(double x, double y);
  long double (*in_long_double)(long double x, long double y);
  // To the precision of `result`, but for formulas of several roundings, which lose a few bits of
  // it.
  void (*exact)(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y);
  // Errors are counted in ulps of the result or of this, whichever is greater; null for most
  // functions. The others pass zero where their value cannot be known to more than an absolute
  // error.
  double (*scale)(double x, double y);
  // By how much more than usual in_long_double may be off, in ulps of f64; null for most functions.
  double (*doubt)(double x, double y);
  // f(x) = x/2 (1 + c x + ..) with c > 0: half of all subnormal arguments are next to a tie.
  bool halves = false;
  // What the terms of a sum that may cancel are: the wider values are off by some roundings of it.
  // Null for most functions; the others are tried next to their curve of zeros, e^x + e^y = 1.
  double (*summand)(double x, double y) = nullptr;

  double scale_at(double x, double y) const { return scale == nullptr ? 0 : scale(x, y); }
  double summand_at(double x, double y) const { return summand == nullptr ? 0 : summand(x, y); }
  double doubt_at(double x, double y) const { return doubt == nullptr ? 0 : doubt(x, y); }
};

// Null where there is none.
const Reference *reference_of(std::string_view name);

} // namespace broadloom::prove

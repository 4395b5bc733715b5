// Scalar functions that the system's libm lacks.
//
// Problem: digamma and polygamma have poles, zeros and an argument range that no single formula
// covers.
// Method: computed in long double, whose 64 bits and wide exponents leave one rounding to speak of.
// Example: digamma(1.0) is -0.5772156649015329; polygamma(1.0, 1.0) is pi^2 / 6.
#pragma once

namespace broadloom::math {

// The derivative of lgamma. digamma(+-0) = -+inf, digamma(-1), digamma(-2), .. = NaN,
// digamma(-inf) = NaN, digamma(inf) = inf.
float digamma(float x);
double digamma(double x);

// The nth derivative of digamma, which it is itself for n = 0; NaN unless n is an integer >= 0.
// For n > 0 the poles 0, -1, -2, .. give inf for odd n and -inf for even n, as SciPy does, -inf gives
// NaN and inf gives 0.
float polygamma(float n, float x);
double polygamma(double n, double x);

} // namespace broadloom::math

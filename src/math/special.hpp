// Scalar functions that the system's libm lacks.
//
// Problem: polygamma has poles, zeros and an argument range that no single formula covers.
// Method: computed in long double, whose 64 bits and wide exponents leave one rounding to speak of.
// Example: polygamma(0.0, 1.0) is -0.5772156649015329; polygamma(1.0, 1.0) is pi^2 / 6.
#pragma once

namespace broadloom::math {

// The nth derivative of digamma, which it is for n = 0, computed apart from the vector form and to
// be off by its last bit; NaN unless n is an integer >= 0. For n > 0 the poles 0, -1, -2, .. give
// inf for odd n and -inf for even n, as SciPy does, -inf gives NaN and inf gives 0.
float polygamma(float n, float x);
double polygamma(double n, double x);

} // namespace broadloom::math

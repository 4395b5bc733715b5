// Our own math functions, each written once for any number of lanes.
//
// To add one: write `template <class T, int N> Vec<T, N> name(Vec<T, N> x)` in namespace lanes in a
// header of functions/ (method, error, specials and reference above it), include it here, add a row
// to functions.def, and its polynomials to a script of coefficients/. The scalar form, the vector
// forms, the bitcode and the tables follow from the row; math_test.cpp checks it from a row in its
// reference table.
// Example: lanes::exp<float, 16>(x); lanes::pow<double, 1>(2.0, 0.5).
#pragma once

#include "math/functions/activation.hpp"
#include "math/functions/cbrt.hpp"
#include "math/functions/error_function.hpp"
#include "math/functions/exponential.hpp"
#include "math/functions/gamma.hpp"
#include "math/functions/hyperbolic.hpp"
#include "math/functions/hypot.hpp"
#include "math/functions/inverse_hyperbolic.hpp"
#include "math/functions/inverse_trigonometric.hpp"
#include "math/functions/logarithm.hpp"
#include "math/functions/logarithm_of_ratio.hpp"
#include "math/functions/root.hpp"
#include "math/functions/tangent.hpp"
#include "math/functions/trigonometric.hpp"

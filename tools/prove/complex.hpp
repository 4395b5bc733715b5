// The functions of complex numbers, c64 and c128, against MPFR: the error as a distance in the
// plane.
//
// Method: |result - exact| in ulps of the real type at |exact|, over random arguments of all sizes
// and directions; 2 ulp are allowed. Arguments whose result has an infinite or NaN part, or leaves
// the range, are left to tests/unit/ops/complex_test.cpp.
// Example: prove_complex("exp", DType::C128, 100000).worst
#pragma once

#include <broadloom/dtype.hpp>

#include <complex>
#include <cstdint>
#include <string_view>
#include <vector>

namespace broadloom::prove {

struct ComplexProof {
  double worst = 0; // in ulps
  std::complex<double> x, y, result;
  std::uint64_t inputs = 0;
};

std::vector<std::string_view> complex_functions();
ComplexProof prove_complex(std::string_view name, DType dtype, std::uint64_t samples);

} // namespace broadloom::prove

// Our functions of one argument in all their forms, beside what they are held against.
#pragma once

#include "jit/math/array_forms.hpp"
#include "jit/math/array_table.hpp"
#include "math/functions.hpp"
#include "math/scalar.hpp"
#include "math/special.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace broadloom::tests {

using jit::has_v3, jit::has_v4;

template <class T> struct Unary {
  const char *name;
  T (*ours)(T);
  // float against double's libm, double against long double's
  std::conditional_t<sizeof(T) == 4, double (*)(double), long double (*)(long double)> libm;
  void (*v3)(std::size_t, const T *, T *);
  void (*v4)(std::size_t, const T *, T *);
  double bound; // in ulps
  // Zeros among the negative arguments: there an ulp is at least that of 1.
  bool zeros_on_the_left = false;
};

// Formulas that neither cancel nor overflow in a wider type; `Wide` has bits to spare.
template <class Wide> Wide reciprocal_root(Wide x) { return 1 / std::sqrt(x); }
template <class Wide> Wide sigmoid_of(Wide x) { return 1 / (1 + std::exp(-x)); }
template <class Wide> Wide silu_of(Wide x) {
  return x == -std::numeric_limits<Wide>::infinity() ? Wide(-0.0) : x / (1 + std::exp(-x));
}
template <class Wide> Wide gelu_tanh_of(Wide x) {
  if (x < -40) return Wide(-0.0);
  const Wide c = 1.5957691216057307117597842397375274738L; // 2 sqrt(2 / pi)
  return x / (1 + std::exp(-c * (x + Wide(0.044715L) * x * x * x)));
}
template <class Wide> Wide softplus_of(Wide x) {
  return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}

template <class Wide> Wide gelu_of(Wide x) {
  if (x < -45) return Wide(-0.0);
  return x * std::erfc(-x * Wide(0.707106781186547524400844362104849039L)) / 2;
}

// polygamma's own, in long double but for the last rounding.
template <class Wide> Wide digamma_of(Wide x) { return math::polygamma(0.0, double(x)); }

inline const Unary<float> unary_f32[] = {
    {"exp", math::exp, std::exp, v3_bl_array_exp_f32, v4_bl_array_exp_f32, 0.8},
    {"log", math::log, std::log, v3_bl_array_log_f32, v4_bl_array_log_f32, 0.9},
    {"sin", math::sin, std::sin, v3_bl_array_sin_f32, v4_bl_array_sin_f32, 0.61},
    {"cos", math::cos, std::cos, v3_bl_array_cos_f32, v4_bl_array_cos_f32, 0.61},
    {"tanh", math::tanh, std::tanh, v3_bl_array_tanh_f32, v4_bl_array_tanh_f32, 0.8},
    {"rsqrt", math::rsqrt, reciprocal_root<double>, v3_bl_array_rsqrt_f32, v4_bl_array_rsqrt_f32,
     0.501},
    {"sigmoid", math::sigmoid, sigmoid_of<double>, v3_bl_array_sigmoid_f32, v4_bl_array_sigmoid_f32,
     0.95},
    {"silu", math::silu, silu_of<double>, v3_bl_array_silu_f32, v4_bl_array_silu_f32, 0.95},
    {"gelu_tanh", math::gelu_tanh, gelu_tanh_of<double>, v3_bl_array_gelu_tanh_f32,
     v4_bl_array_gelu_tanh_f32, 0.95},
    {"softplus", math::softplus, softplus_of<double>, v3_bl_array_softplus_f32,
     v4_bl_array_softplus_f32, 0.98},
    {"exp2", math::exp2, std::exp2, v3_bl_array_exp2_f32, v4_bl_array_exp2_f32, 0.8},
    {"expm1", math::expm1, std::expm1, v3_bl_array_expm1_f32, v4_bl_array_expm1_f32, 0.501},
    {"log2", math::log2, std::log2, v3_bl_array_log2_f32, v4_bl_array_log2_f32, 0.95},
    {"log10", math::log10, std::log10, v3_bl_array_log10_f32, v4_bl_array_log10_f32, 0.95},
    {"log1p", math::log1p, std::log1p, v3_bl_array_log1p_f32, v4_bl_array_log1p_f32, 0.91},
    {"sinh", math::sinh, std::sinh, v3_bl_array_sinh_f32, v4_bl_array_sinh_f32, 0.503},
    {"cosh", math::cosh, std::cosh, v3_bl_array_cosh_f32, v4_bl_array_cosh_f32, 0.503},
    {"asinh", math::asinh, std::asinh, v3_bl_array_asinh_f32, v4_bl_array_asinh_f32, 0.501},
    {"acosh", math::acosh, std::acosh, v3_bl_array_acosh_f32, v4_bl_array_acosh_f32, 0.501},
    {"atanh", math::atanh, std::atanh, v3_bl_array_atanh_f32, v4_bl_array_atanh_f32, 0.501},
    {"cbrt", math::cbrt, std::cbrt, v3_bl_array_cbrt_f32, v4_bl_array_cbrt_f32, 0.501},
    {"tan", math::tan, std::tan, v3_bl_array_tan_f32, v4_bl_array_tan_f32, 0.501},
    {"asin", math::asin, std::asin, v3_bl_array_asin_f32, v4_bl_array_asin_f32, 0.65},
    {"acos", math::acos, std::acos, v3_bl_array_acos_f32, v4_bl_array_acos_f32, 0.65},
    {"atan", math::atan, std::atan, v3_bl_array_atan_f32, v4_bl_array_atan_f32, 0.501},
    {"erf", math::erf, std::erf, v3_bl_array_erf_f32, v4_bl_array_erf_f32, 0.95},
    {"erfc", math::erfc, std::erfc, v3_bl_array_erfc_f32, v4_bl_array_erfc_f32, 0.95},
    {"gelu", math::gelu, gelu_of<double>, v3_bl_array_gelu_f32, v4_bl_array_gelu_f32, 0.95},
    {"lgamma", math::lgamma, std::lgamma, v3_bl_array_lgamma_f32, v4_bl_array_lgamma_f32, 0.501,
     true},
    {"digamma", math::digamma, digamma_of<double>, v3_bl_array_digamma_f32, v4_bl_array_digamma_f32,
     0.501, true},
};
inline const Unary<double> unary_f64[] = {
    {"exp", math::exp, std::exp, v3_bl_array_exp_f64, v4_bl_array_exp_f64, 0.65},
    {"log", math::log, std::log, v3_bl_array_log_f64, v4_bl_array_log_f64, 0.65},
    {"sin", math::sin, std::sin, v3_bl_array_sin_f64, v4_bl_array_sin_f64, 0.8},
    {"cos", math::cos, std::cos, v3_bl_array_cos_f64, v4_bl_array_cos_f64, 0.8},
    {"tanh", math::tanh, std::tanh, v3_bl_array_tanh_f64, v4_bl_array_tanh_f64, 0.65},
    {"rsqrt", math::rsqrt, reciprocal_root<long double>, v3_bl_array_rsqrt_f64,
     v4_bl_array_rsqrt_f64, 0.505},
    {"sigmoid", math::sigmoid, sigmoid_of<long double>, v3_bl_array_sigmoid_f64,
     v4_bl_array_sigmoid_f64, 0.8},
    {"silu", math::silu, silu_of<long double>, v3_bl_array_silu_f64, v4_bl_array_silu_f64, 0.8},
    // 0.75 by MPFR; the reference's exponent is itself off by up to half an ulp for x < -15.
    {"gelu_tanh", math::gelu_tanh, gelu_tanh_of<long double>, v3_bl_array_gelu_tanh_f64,
     v4_bl_array_gelu_tanh_f64, 1.1},
    {"softplus", math::softplus, softplus_of<long double>, v3_bl_array_softplus_f64,
     v4_bl_array_softplus_f64, 0.8},
    {"exp2", math::exp2, std::exp2, v3_bl_array_exp2_f64, v4_bl_array_exp2_f64, 0.9},
    {"expm1", math::expm1, std::expm1, v3_bl_array_expm1_f64, v4_bl_array_expm1_f64, 0.85},
    {"log2", math::log2, std::log2, v3_bl_array_log2_f64, v4_bl_array_log2_f64, 0.65},
    {"log10", math::log10, std::log10, v3_bl_array_log10_f64, v4_bl_array_log10_f64, 0.65},
    {"log1p", math::log1p, std::log1p, v3_bl_array_log1p_f64, v4_bl_array_log1p_f64, 0.65},
    {"sinh", math::sinh, std::sinh, v3_bl_array_sinh_f64, v4_bl_array_sinh_f64, 0.85},
    {"cosh", math::cosh, std::cosh, v3_bl_array_cosh_f64, v4_bl_array_cosh_f64, 0.85},
    {"asinh", math::asinh, std::asinh, v3_bl_array_asinh_f64, v4_bl_array_asinh_f64, 0.65},
    {"acosh", math::acosh, std::acosh, v3_bl_array_acosh_f64, v4_bl_array_acosh_f64, 0.65},
    {"atanh", math::atanh, std::atanh, v3_bl_array_atanh_f64, v4_bl_array_atanh_f64, 0.65},
    {"cbrt", math::cbrt, std::cbrt, v3_bl_array_cbrt_f64, v4_bl_array_cbrt_f64, 0.501},
    {"tan", math::tan, std::tan, v3_bl_array_tan_f64, v4_bl_array_tan_f64, 0.95},
    {"asin", math::asin, std::asin, v3_bl_array_asin_f64, v4_bl_array_asin_f64, 0.7},
    {"acos", math::acos, std::acos, v3_bl_array_acos_f64, v4_bl_array_acos_f64, 0.7},
    {"atan", math::atan, std::atan, v3_bl_array_atan_f64, v4_bl_array_atan_f64, 0.65},
    {"erf", math::erf, std::erf, v3_bl_array_erf_f64, v4_bl_array_erf_f64, 0.9},
    {"erfc", math::erfc, std::erfc, v3_bl_array_erfc_f64, v4_bl_array_erfc_f64, 1},
    {"gelu", math::gelu, gelu_of<long double>, v3_bl_array_gelu_f64, v4_bl_array_gelu_f64, 1},
    {"lgamma", math::lgamma, std::lgamma, v3_bl_array_lgamma_f64, v4_bl_array_lgamma_f64, 0.6,
     true},
    {"digamma", math::digamma, digamma_of<long double>, v3_bl_array_digamma_f64,
     v4_bl_array_digamma_f64, 1, true},
};

} // namespace broadloom::tests

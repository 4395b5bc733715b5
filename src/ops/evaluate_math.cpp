// The functions behind the operations that the table calls Math::Vector (ours, the scalar form of
// what native code inlines) and Math::Libm (scalar functions: the system's fmod and our polygamma,
// which native code calls one lane at a time).
#include "math/libm.hpp"
#include "math/scalar.hpp"
#include "ops/evaluate_kinds.hpp"
#include "ops/others.hpp"

namespace broadloom::ops {
namespace {

// The f32 or the f64 form of a libm function, by the type of its arguments.
#define BL_UNARY(name)                                                                             \
  float libm_##name(float x) { return bl_libm_##name##_f32(x); }                                   \
  double libm_##name(double x) { return bl_libm_##name##_f64(x); }
#define BL_BINARY(name)                                                                            \
  float libm_##name(float x, float y) { return bl_libm_##name##_f32(x, y); }                       \
  double libm_##name(double x, double y) { return bl_libm_##name##_f64(x, y); }
#include "math/libm.def"
#undef BL_UNARY
#undef BL_BINARY

} // namespace

template <class T> T evaluate_math(Op op, T x, T y) {
  switch (op) {
  case Op::Pow: return math::pow(x, y);
  case Op::Exp: return math::exp(x);
  case Op::Log: return math::log(x);
  case Op::Sin: return math::sin(x);
  case Op::Cos: return math::cos(x);
  case Op::Tanh: return math::tanh(x);
  case Op::Rsqrt: return math::rsqrt(x);
  case Op::Sigmoid: return math::sigmoid(x);
  case Op::Silu: return math::silu(x);
  case Op::GeluTanh: return math::gelu_tanh(x);
  case Op::Softplus: return math::softplus(x);
  case Op::LogAddExp: return math::logaddexp(x, y);
  case Op::Exp2: return math::exp2(x);
  case Op::Expm1: return math::expm1(x);
  case Op::Log2: return math::log2(x);
  case Op::Log10: return math::log10(x);
  case Op::Log1p: return math::log1p(x);
  case Op::Tan: return math::tan(x);
  case Op::Asin: return math::asin(x);
  case Op::Acos: return math::acos(x);
  case Op::Atan: return math::atan(x);
  case Op::Sinh: return math::sinh(x);
  case Op::Cosh: return math::cosh(x);
  case Op::Asinh: return math::asinh(x);
  case Op::Acosh: return math::acosh(x);
  case Op::Atanh: return math::atanh(x);
  case Op::Cbrt: return math::cbrt(x);
  case Op::Erf: return math::erf(x);
  case Op::Erfc: return math::erfc(x);
  case Op::Lgamma: return math::lgamma(x);
  case Op::Digamma: return math::digamma(x);
  case Op::Polygamma: return libm_polygamma(x, y);
  case Op::Gelu: return math::gelu(x);
  case Op::Atan2: return math::atan2(x, y);
  case Op::Hypot: return math::hypot(x, y);
  case Op::Fmod: return libm_fmod(x, y);
#define BL_OP BL_NOT_OF_MATH
#include "ops/ops.def"
    break;
  }
  undefined(op, dtype_of<T>());
}

template float evaluate_math<float>(Op, float, float);
template double evaluate_math<double>(Op, double, double);

} // namespace broadloom::ops

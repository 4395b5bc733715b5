// See complex.hpp.
#include "tools/prove/complex.hpp"

#include "ops/ops.hpp"
#include "tools/prove/samples.hpp"

#include <mpfr.h>

#include <cmath>
#include <limits>

namespace broadloom::prove {
namespace {

using ops::Op;

constexpr int bits = 2400; // log z of |z| = 1 + 2^-2000 needs them

struct Real {
  mpfr_t v;
  Real() { mpfr_init2(v, bits); }
  explicit Real(double x) : Real() { mpfr_set_d(v, x, MPFR_RNDN); }
  Real(const Real &other) : Real() { mpfr_set(v, other.v, MPFR_RNDN); }
  Real &operator=(const Real &other) {
    mpfr_set(v, other.v, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(v); }
};

using One = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Two = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
Real apply(One f, const Real &a) {
  Real r;
  f(r.v, a.v, MPFR_RNDN);
  return r;
}
Real apply(Two f, const Real &a, const Real &b) {
  Real r;
  f(r.v, a.v, b.v, MPFR_RNDN);
  return r;
}
Real operator+(const Real &a, const Real &b) { return apply(mpfr_add, a, b); }
Real operator-(const Real &a, const Real &b) { return apply(mpfr_sub, a, b); }
Real operator*(const Real &a, const Real &b) { return apply(mpfr_mul, a, b); }
Real operator/(const Real &a, const Real &b) { return apply(mpfr_div, a, b); }
Real operator-(const Real &a) { return apply(mpfr_neg, a); }

struct Number {
  Real re, im;
};

Number exp(const Number &z) {
  const Real size = apply(mpfr_exp, z.re);
  return {size * apply(mpfr_cos, z.im), size * apply(mpfr_sin, z.im)};
}
Number log(const Number &z) {
  return {apply(mpfr_log, apply(mpfr_hypot, z.re, z.im)), apply(mpfr_atan2, z.im, z.re)};
}
Number sqrt(const Number &z) {
  const Real half(0.5), two(2);
  const Real t = apply(mpfr_sqrt, half * (apply(mpfr_abs, z.re) + apply(mpfr_hypot, z.re, z.im)));
  if (mpfr_zero_p(t.v)) return {t, z.im};
  const Real other = z.im / (two * t);
  if (mpfr_sgn(z.re.v) >= 0) return {t, other};
  return {apply(mpfr_abs, other), mpfr_signbit(z.im.v) ? -t : t};
}
Number sin(const Number &z) {
  return {apply(mpfr_sin, z.re) * apply(mpfr_cosh, z.im),
          apply(mpfr_cos, z.re) * apply(mpfr_sinh, z.im)};
}
Number cos(const Number &z) {
  return {apply(mpfr_cos, z.re) * apply(mpfr_cosh, z.im),
          -(apply(mpfr_sin, z.re) * apply(mpfr_sinh, z.im))};
}
// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)
Number tanh(const Number &z) {
  const Real s = apply(mpfr_sinh, z.re), c = apply(mpfr_cos, z.im);
  const Real divisor = s * s + c * c;
  return {s * apply(mpfr_cosh, z.re) / divisor, apply(mpfr_sin, z.im) * c / divisor};
}
Number pow(const Number &x, const Number &y) {
  const Number l = log(x);
  return exp({y.re * l.re - y.im * l.im, y.re * l.im + y.im * l.re});
}

struct Function {
  std::string_view name;
  Op op;
  Number (*exact)(const Number &x, const Number &y);
  double largest; // of the parts of x that lead to results in range, as a power of two
};
const Function functions[] = {
    {"abs", Op::Abs,
     [](const Number &x, const Number &) -> Number {
       return {apply(mpfr_hypot, x.re, x.im), Real(0.0)};
     },
     1000},
    {"sqrt", Op::Sqrt, [](const Number &x, const Number &) { return sqrt(x); }, 1000},
    {"exp", Op::Exp, [](const Number &x, const Number &) { return exp(x); }, 9},
    {"log", Op::Log, [](const Number &x, const Number &) { return log(x); }, 1000},
    {"sin", Op::Sin, [](const Number &x, const Number &) { return sin(x); }, 9},
    {"cos", Op::Cos, [](const Number &x, const Number &) { return cos(x); }, 9},
    {"tanh", Op::Tanh, [](const Number &x, const Number &) { return tanh(x); }, 9},
    {"pow", Op::Pow, pow, 60},
};

// Parts of like and of unlike size, next to the axes, to the unit circle and to poles and zeros.
std::complex<double> argument(std::uint64_t i, double largest, bool narrow) {
  std::uint64_t state = mixed(i);
  const auto next = [&] { return mixed(state += 0x9e3779b97f4a7c15); };
  const auto unit = [&] { return double(std::int64_t(next()) >> 10) * 0x1p-53; };
  const double top = std::min(largest, narrow ? 120.0 : 1000.0);
  const auto any = [&](double low, double high) {
    return unit() * std::exp2(low + (high - low) * std::fabs(unit()));
  };
  const double turns = double(next() % 40) - 20;
  switch (i % 8) {
  case 0: return {any(-10, std::min(top, 9.4)), any(-10, std::min(top, 9.4))};
  case 1: return {any(-top, top), any(-top, top)};
  case 2: return {any(-30, 6), any(-30, 6)};
  case 3: { // next to the unit circle
    const double angle = any(-20, 2), size = 1 + any(-50, -2);
    return {size * std::cos(angle), size * std::sin(angle)};
  }
  case 4: return {1 + any(-50, -1), any(-60, -1)};
  case 5: return {any(-40, 0), turns * 1.5707963267948966 + any(-50, -2)};
  case 6: return {turns * 1.5707963267948966 + any(-50, -2), any(-40, 0)};
  default: return {any(-3, 9.6), any(-3, 9.6)};
  }
}

template <class T> double error_of(std::complex<double> result, const Number &exact) {
  const Real size = apply(mpfr_hypot, exact.re, exact.im);
  const double near = mpfr_get_d(size.v, MPFR_RNDN);
  // The moduli that leave no room to say how far off a result is.
  if (!(near >= double(std::numeric_limits<T>::min())) ||
      near > double(std::numeric_limits<T>::max()) / 2) {
    return 0;
  }
  const Real off =
      apply(mpfr_hypot, exact.re - Real(result.real()), exact.im - Real(result.imag()));
  const double ulp = std::ldexp(1.0, std::ilogb(near) - std::numeric_limits<T>::digits + 1);
  const double error = mpfr_get_d(off.v, MPFR_RNDN) / ulp;
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

template <class T> ComplexProof run(const Function &f, DType dtype, std::uint64_t samples) {
  ComplexProof proof;
  const auto scalar = [](std::complex<double> z) {
    return ops::Scalar{ops::scalar_from(T(z.real())).bits, ops::scalar_from(T(z.imag())).bits};
  };
  const auto part = [](std::uint64_t b) {
    if constexpr (sizeof(T) == 4) return double(ops::as_f32({b}));
    return ops::as_f64({b});
  };
  for (std::uint64_t i = 0; i < samples; ++i) {
    std::complex<double> x = argument(2 * i, f.largest, sizeof(T) == 4);
    // Exponents of every size, which the power multiplies errors by.
    std::complex<double> y = argument((2 * i + 1) & ~std::uint64_t(7), 6, sizeof(T) == 4);
    x = {double(T(x.real())), double(T(x.imag()))};
    y = {double(T(y.real())), double(T(y.imag()))};
    const ops::Scalar args[] = {scalar(x), scalar(y)};
    const ops::Scalar out = ops::evaluate(f.op, dtype, args);
    const std::complex<double> result{part(out.bits), f.op == Op::Abs ? 0.0 : part(out.imag)};
    const Number exact =
        f.exact({Real(x.real()), Real(x.imag())}, {Real(y.real()), Real(y.imag())});
    const double error = error_of<T>(result, exact);
    ++proof.inputs;
    if (error > proof.worst) {
      proof.worst = error;
      proof.x = x;
      proof.y = y;
      proof.result = result;
    }
  }
  return proof;
}

} // namespace

std::vector<std::string_view> complex_functions() {
  std::vector<std::string_view> names;
  for (const Function &f : functions) names.push_back(f.name);
  return names;
}

ComplexProof prove_complex(std::string_view name, DType dtype, std::uint64_t samples) {
  for (const Function &f : functions) {
    if (f.name != name) continue;
    return dtype == DType::C64 ? run<float>(f, dtype, samples) : run<double>(f, dtype, samples);
  }
  return {};
}

} // namespace broadloom::prove

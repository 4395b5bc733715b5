// See reference.hpp.
#include "tools/prove/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace broadloom::prove {
namespace {

// ---- In a wider type ----------------------------------------------------------------------------

template <class W> constexpr W infinity = std::numeric_limits<W>::infinity();
template <class W> constexpr W not_a_number = std::numeric_limits<W>::quiet_NaN();
constexpr long double pi = 3.14159265358979323846264338327950288L;

template <class W> W rsqrt(W x) { return 1 / std::sqrt(x); }
template <class W> W sigmoid(W x) { return 1 / (1 + std::exp(-x)); }
template <class W> W silu(W x) { return x == -infinity<W> ? W(-0.0) : x / (1 + std::exp(-x)); }
template <class W> W softplus(W x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }

// 2 sqrt(2/pi) (x + 0.044715 x^3)
template <class W> W gelu_tanh_exponent(W x) {
  return W(1.5957691216057307117597842397375274738L) * (x + W(0.044715L) * x * x * x);
}
template <class W> W gelu_tanh(W x) {
  if (x < -40) return W(-0.0);
  return x / (1 + std::exp(-gelu_tanh_exponent(x)));
}

// x erfc(z) / 2 with z = -x / sqrt(2) as the sum of two: erfc multiplies its relative error by 2
// z^2.
template <class W> W gelu(W x) {
  if (x == -infinity<W>) return W(-0.0);
  if (std::isinf(x)) return x;
  const W root = W(0.70710678118654752440084436210484903928L);
  const long double root_rest = sizeof(W) == 8 ? 0.70710678118654752440084436210484903928L - root
                                               : 1.8950325588932570797e-20L;
  const W z = -x * root;
  const W rest = std::fma(-x, root, -z) - x * W(root_rest);
  const W slope = W(1.12837916709551257389615890312154517L) * std::exp(-z * z);
  return x / 2 * (std::erfc(z) - slope * rest);
}

template <class W> W logaddexp(W x, W y) {
  if (std::isnan(x) || std::isnan(y)) return not_a_number<W>;
  if (x == y) return x + std::log(W(2));
  return std::max(x, y) + std::log1p(std::exp(std::min(x, y) - std::max(x, y)));
}

// psi(x + 1) - 1/x up to x >= 20, then ln x - 1/(2x) - sum B_2k / (2k x^2k); left of zero
// psi(1 - x) - pi cot(pi x).
long double digamma_wide(long double x) {
  using W = long double;
  if (x == 0) return std::copysign(infinity<W>, -x);
  if (std::isnan(x) || std::isinf(x)) return x > 0 ? x : not_a_number<W>;
  if (x < 0) {
    const W beyond = x - std::rint(x);
    if (beyond == 0) return not_a_number<W>;
    return digamma_wide(1 - x) - pi / std::tan(pi * beyond);
  }
  W sum = 0;
  for (; x < 20; x += 1) sum -= 1 / x;
  constexpr W terms[] = {1.0L / 12,  -1.0L / 120,     1.0L / 252, -1.0L / 240,
                         1.0L / 132, -691.0L / 32760, 1.0L / 12,  -3617.0L / 8160};
  const W z = 1 / (x * x);
  W tail = 0;
  for (int k = 7; k >= 0; --k) tail = (tail + terms[k]) * z;
  return (std::log(x) - 0.5L / x - tail) + sum;
}
template <class W> W digamma(W x) { return W(digamma_wide(x)); }

template <class W> W lgamma(W x) {
  int sign;
  if constexpr (sizeof(W) == 8) return ::lgamma_r(x, &sign);
  return W(::lgammal_r(x, &sign));
}

// ---- By MPFR ------------------------------------------------------------------------------------

class Real {
public:
  explicit Real(mpfr_srcptr like) { mpfr_init2(value_, mpfr_get_prec(like)); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real &) = delete;
  Real &operator=(const Real &) = delete;
  operator mpfr_ptr() { return value_; }

private:
  mpfr_t value_;
};

using Result = mpfr_ptr;
using Arg = mpfr_srcptr;

bool is_minus_infinity(Arg x) { return mpfr_inf_p(x) && mpfr_sgn(x) < 0; }
void set_minus_zero(Result r) { mpfr_set_zero(r, -1); }

void exact_rsqrt(Result r, Arg x, Arg) {
  if (mpfr_zero_p(x))
    mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
  else
    mpfr_rec_sqrt(r, x, MPFR_RNDN);
}
// r = x / (1 + e^-v)
void times_sigmoid(Result r, Arg x, Arg v) {
  Real e(r);
  mpfr_neg(e, v, MPFR_RNDN);
  mpfr_exp(e, e, MPFR_RNDN);
  mpfr_add_ui(e, e, 1, MPFR_RNDN);
  mpfr_div(r, x, e, MPFR_RNDN);
}
void exact_sigmoid(Result r, Arg x, Arg) {
  Real one(r);
  mpfr_set_ui(one, 1, MPFR_RNDN);
  times_sigmoid(r, one, x);
}
void exact_silu(Result r, Arg x, Arg) {
  if (is_minus_infinity(x)) return set_minus_zero(r);
  times_sigmoid(r, x, x);
}
void exact_gelu_tanh(Result r, Arg x, Arg) {
  if (is_minus_infinity(x)) return set_minus_zero(r);
  Real v(r), c(r);
  mpfr_sqr(v, x, MPFR_RNDN); // v = x (1 + 0.044715 x^2) 2 sqrt(2/pi)
  mpfr_set_str(c, "0.044715", 10, MPFR_RNDN);
  mpfr_mul(v, v, c, MPFR_RNDN);
  mpfr_add_ui(v, v, 1, MPFR_RNDN);
  mpfr_mul(v, v, x, MPFR_RNDN);
  mpfr_const_pi(c, MPFR_RNDN);
  mpfr_ui_div(c, 8, c, MPFR_RNDN);
  mpfr_sqrt(c, c, MPFR_RNDN);
  mpfr_mul(v, v, c, MPFR_RNDN);
  times_sigmoid(r, x, v);
}
void exact_gelu(Result r, Arg x, Arg) {
  if (is_minus_infinity(x)) return set_minus_zero(r);
  Real z(r);
  mpfr_sqrt_ui(z, 2, MPFR_RNDN);
  mpfr_div(z, x, z, MPFR_RNDN);
  mpfr_neg(z, z, MPFR_RNDN);
  mpfr_erfc(z, z, MPFR_RNDN);
  mpfr_mul(r, x, z, MPFR_RNDN);
  mpfr_div_2ui(r, r, 1, MPFR_RNDN);
}
// r = log(1 + e^(low - high)) + high
void log_of_sum(Result r, Arg high, Arg low) {
  if (mpfr_inf_p(high)) {
    mpfr_set(r, high, MPFR_RNDN);
    return;
  }
  Real e(r);
  mpfr_sub(e, low, high, MPFR_RNDN);
  mpfr_exp(e, e, MPFR_RNDN);
  mpfr_log1p(e, e, MPFR_RNDN);
  mpfr_add(r, e, high, MPFR_RNDN);
}
void exact_softplus(Result r, Arg x, Arg) {
  Real zero(r);
  mpfr_set_zero(zero, 1);
  if (mpfr_sgn(x) > 0)
    log_of_sum(r, x, zero);
  else
    log_of_sum(r, zero, x);
}
void exact_logaddexp(Result r, Arg x, Arg y) {
  if (mpfr_nan_p(x) || mpfr_nan_p(y)) return mpfr_set_nan(r);
  if (mpfr_greater_p(x, y))
    log_of_sum(r, x, y);
  else
    log_of_sum(r, y, x);
}
void exact_lgamma(Result r, Arg x, Arg) {
  int sign;
  mpfr_lgamma(r, &sign, x, MPFR_RNDN);
}
void exact_digamma(Result r, Arg x, Arg) {
  if (mpfr_zero_p(x))
    mpfr_set_inf(r, mpfr_signbit(x) ? 1 : -1);
  else
    mpfr_digamma(r, x, MPFR_RNDN);
}

// ---- The table ----------------------------------------------------------------------------------

constexpr auto no_scale = nullptr, no_doubt = nullptr;
double one_left_of_zero(double x, double) { return x < 0 ? 1 : 0; }
double one_near_roots(double x, double) { return x < 0 || (x > 1 && x < 2) ? 1 : 0; }
// Of max(x, y) + log(1 + e^-d), where the rounding of d moves e^-d by as much as d times its own.
double terms_of_logaddexp(double x, double y) {
  const double greater = std::fabs(std::max(x, y)), d = std::fabs(x - y);
  return std::isfinite(greater) && std::isfinite(d) ? greater + d * std::exp(-d) : 0;
}
double gelu_tanh_doubt(double x, double) {
  const double v = gelu_tanh_exponent(x);
  return v < 0 && v > -1000 ? 1e-2 - v * 0x1p-9 : 0;
}

#define ONE(name, function)                                                                        \
  {                                                                                                \
    name, [](double x, double) -> double { return function(x); },                                  \
        [](long double x, long double) -> long double { return function(x); }
#define TWO(name, function)                                                                        \
  {                                                                                                \
    name, [](double x, double y) -> double { return function(x, y); },                             \
        [](long double x, long double y) -> long double { return function(x, y); }
#define MPFR_1(function) [](Result r, Arg x, Arg) { function(r, x, MPFR_RNDN); }
#define MPFR_2(function) [](Result r, Arg x, Arg y) { function(r, x, y, MPFR_RNDN); }
#define PLAIN_1(name)                                                                              \
  ONE(#name, std::name), MPFR_1(mpfr_##name), no_scale, no_doubt                                   \
  }
#define PLAIN_2(name)                                                                              \
  TWO(#name, std::name), MPFR_2(mpfr_##name), no_scale, no_doubt                                   \
  }

const Reference references[] = {PLAIN_1(exp),   PLAIN_1(exp2),       PLAIN_1(expm1), PLAIN_1(log),
                                PLAIN_1(log2),  PLAIN_1(log10),      PLAIN_1(log1p), PLAIN_1(sin),
                                PLAIN_1(cos),   PLAIN_1(tan),        PLAIN_1(asin),  PLAIN_1(acos),
                                PLAIN_1(atan),  PLAIN_1(sinh),       PLAIN_1(cosh),  PLAIN_1(tanh),
                                PLAIN_1(asinh), PLAIN_1(acosh),      PLAIN_1(atanh), PLAIN_1(cbrt),
                                PLAIN_1(erf),   PLAIN_1(erfc),       PLAIN_2(pow),   PLAIN_2(atan2),
                                PLAIN_2(hypot), ONE("rsqrt", rsqrt), exact_rsqrt,    no_scale,
                                no_doubt},
                ONE("sigmoid", sigmoid), exact_sigmoid, no_scale, no_doubt
}
, ONE("silu", silu), exact_silu, no_scale, no_doubt, true
}
, ONE("gelu", gelu), exact_gelu, no_scale, no_doubt, true
}
, ONE("gelu_tanh", gelu_tanh), exact_gelu_tanh, no_scale, gelu_tanh_doubt, true
}
, ONE("softplus", softplus), exact_softplus, no_scale, no_doubt
}
, TWO("logaddexp", logaddexp), exact_logaddexp, no_scale, no_doubt, false, terms_of_logaddexp
}
, ONE("lgamma", lgamma), exact_lgamma, one_left_of_zero, no_doubt
}
, ONE("digamma", digamma), exact_digamma, one_near_roots, no_doubt
}
,
}
;

#undef ONE
#undef TWO
#undef MPFR_1
#undef MPFR_2
#undef PLAIN_1
#undef PLAIN_2

} // namespace

const Reference *reference_of(std::string_view name) {
  for (const Reference &reference : references)
    if (reference.name == name) return &reference;
  return nullptr;
}

} // namespace broadloom::prove

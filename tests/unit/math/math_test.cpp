// Our math functions: accuracy against a wider libm, equal bits in every form.
//
// Problem: an error of one ulp, or of one lane, is invisible in an ordinary test.
// Method: f32 on a stride through all 2^32 arguments against libm's double; f64 on random bit
// patterns, the neighbourhood of thresholds and of multiples of pi/2 against long double (x87). The
// error is counted in ulps of the exact result. The vector forms of each ISA level that the machine
// has must then give the bits of the scalar form. A new function is a row in unary_f32 and in
// unary_f64 (unary_forms.hpp).
// Example: exp of f64 may be off by 0.65 ulp where the result is normal and 1.0 where it is not.
#include "jit/math/array_forms.hpp"
#include "math/functions.hpp"
#include "math/libm.hpp"
#include "math/scalar.hpp"
#include "math/special.hpp"
#include "tests/unit/math/ulps.hpp"
#include "tests/unit/math/unary_forms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace broadloom::tests;
namespace math = broadloom::math;

namespace {

struct Two {
  double x;
  double y;
};

std::vector<Two> pow_samples() {
  const double specials[] = {0.0,        -0.0,          1.0,        -1.0,    2.0,      -2.0,
                             0.5,        -0.5,          3.0,        -3.0,    inf,      -inf,
                             quiet_nan,  0x1p-1074,     1e300,      -1e300,  1e-40,    0x1p53,
                             0x1p53 + 2, -0x1p52 - 1,   0x1p52 + 1, 1.0 / 3, -1.0 / 3, 7.0,
                             0x1p-1022,  0x1.fffffep127};
  std::vector<Two> result;
  for (double x : specials)
    for (double y : specials) result.push_back({x, y});
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 20000; ++i) {
    const double any = std::bit_cast<double>(random() >> 1);
    const double near_one = 1 + std::ldexp(unit(random), -static_cast<int>(random() % 50));
    result.push_back({std::bit_cast<double>(random()), std::bit_cast<double>(random())});
    result.push_back({any, unit(random) * 10});
    result.push_back({any, 740 / std::log(any) * unit(random)});
    result.push_back({near_one, 745 / std::log(near_one) * unit(random)});
    result.push_back({-std::fabs(unit(random) * 100), std::floor(unit(random) * 300)});
    result.push_back({std::fabs(unit(random) * 2), unit(random) * 90});
  }
  return result;
}

// The first argument where the forms differ, as text; empty where none does.
template <class T>
std::string first_difference(const std::vector<T> &x, const std::vector<T> &expected,
                             const std::vector<T> &found) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!same_bits(expected[i], found[i])) {
      return "at " + std::to_string(x[i]) + ": " + std::to_string(expected[i]) + " and " +
             std::to_string(found[i]);
    }
  }
  return {};
}

template <class T> void check_unary(const Unary<T> &f, const std::vector<T> &x) {
  CAPTURE(f.name);
  std::vector<T> scalar(x.size());
  double worst = 0;
  T worst_at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    scalar[i] = f.ours(x[i]);
    const long double exact = f.libm(x[i]);
    // A subnormal result is rounded a second time.
    const bool subnormal = std::fabs(exact) < std::numeric_limits<T>::min();
    const double twice = std::max(1.0, 0.5 + f.bound / 2) / f.bound;
    const double allowed = subnormal && sizeof(T) == 8 ? twice : 1.0;
    const double least = f.zeros_on_the_left && x[i] < 0 ? 1 : 0;
    const double error = ulps(scalar[i], exact, least) / allowed;
    if (error > worst) {
      worst = error;
      worst_at = x[i];
    }
  }
  CAPTURE(worst_at);
  CHECK(worst <= f.bound);

  std::vector<T> found(x.size());
  WARN_MESSAGE(has_v3(), "the AVX2 form cannot run here");
  if (has_v3()) {
    f.v3(x.size(), x.data(), found.data());
    CHECK(first_difference(x, scalar, found) == "");
  }
  WARN_MESSAGE(has_v4(), "the AVX-512 form cannot run here");
  if (has_v4()) {
    f.v4(x.size(), x.data(), found.data());
    CHECK(first_difference(x, scalar, found) == "");
  }
}

// The vector forms of a function of two arguments have the bits of the scalar one.
template <class T, class V3, class V4>
void check_forms(const std::vector<T> &x, const std::vector<T> &y, const std::vector<T> &scalar,
                 V3 v3, V4 v4) {
  std::vector<T> found(x.size());
  if (has_v3()) {
    v3(x.size(), x.data(), y.data(), found.data());
    CHECK(first_difference(x, scalar, found) == "");
  }
  if (has_v4()) {
    v4(x.size(), x.data(), y.data(), found.data());
    CHECK(first_difference(x, scalar, found) == "");
  }
}

template <class T, class V3, class V4> void check_logaddexp(V3 v3, V4 v4, double bound) {
  std::vector<T> x, y, scalar;
  double worst = 0;
  for (const Two &at : pow_samples()) {
    x.push_back(static_cast<T>(at.x));
    y.push_back(static_cast<T>(at.y));
    scalar.push_back(math::logaddexp(x.back(), y.back()));
    const long double greater = std::max<long double>(x.back(), y.back());
    const long double lesser = std::min<long double>(x.back(), y.back());
    const bool apart = x.back() != y.back(); // infinities too
    const long double exact = greater + std::log1p(apart ? std::exp(lesser - greater) : 1.0L);
    const bool number = !std::isnan(x.back()) && !std::isnan(y.back());
    // f32 may cancel for negative arguments, and so does the reference next to the zeros.
    const bool cancels = sizeof(T) == 4 ? !(greater > 0) : std::fabs(exact) * 256 < -greater;
    if (number && !cancels) worst = std::max(worst, ulps(scalar.back(), exact));
    if (!number) CHECK(std::isnan(scalar.back()));
  }
  CHECK(worst <= bound);
  check_forms(x, y, scalar, v3, v4);
}

// Against the reference in long double.
template <class T, class Ours, class Reference, class V3, class V4>
void check_pairs(Ours ours, Reference reference, V3 v3, V4 v4, double bound) {
  std::vector<T> x, y, scalar;
  double worst = 0;
  Two worst_at{};
  for (const Two &at : pow_samples()) {
    x.push_back(static_cast<T>(at.x));
    y.push_back(static_cast<T>(at.y));
    scalar.push_back(ours(x.back(), y.back()));
    const long double exact =
        reference(static_cast<long double>(x.back()), static_cast<long double>(y.back()));
    const bool subnormal = std::fabs(exact) < std::numeric_limits<T>::min();
    const double error = ulps(scalar.back(), exact) * (subnormal && sizeof(T) == 8 ? bound : 1.0);
    if (error > worst) {
      worst = error;
      worst_at = at;
    }
  }
  CAPTURE(worst_at.x);
  CAPTURE(worst_at.y);
  CHECK(worst <= bound);
  check_forms(x, y, scalar, v3, v4);
}

template <class T, class V3, class V4> void check_pow(V3 v3, V4 v4, double bound) {
  check_pairs<T>([](T x, T y) { return math::pow(x, y); },
                 [](long double x, long double y) { return std::pow(x, y); }, v3, v4, bound);
}

template <class T, class V3, class V4> void check_atan2(V3 v3, V4 v4, double bound) {
  check_pairs<T>([](T x, T y) { return math::atan2(x, y); },
                 [](long double x, long double y) { return std::atan2(x, y); }, v3, v4, bound);
}

} // namespace

TEST_CASE("f32 functions stay within one ulp, in the same bits in every form") {
  const std::vector<float> x = f32_stride();
  for (const Unary<float> &f : unary_f32) check_unary(f, x);
}

TEST_CASE("the exact forms of f32 are correctly rounded, and zeros keep their signs in all forms") {
  struct Exact {
    const char *name;
    float (*ours)(float);
    double (*libm)(double);
  };
  namespace exact = math::lanes::exact;
  const Exact functions[] = {
      {"exp", exact::exp<float, 1>, std::exp},
      {"log", exact::log<float, 1>, std::log},
      {"sin", exact::sin<float, 1>, std::sin},
      {"cos", exact::cos<float, 1>, std::cos},
      {"tanh", exact::tanh<float, 1>, std::tanh},
      {"sigmoid", exact::sigmoid<float, 1>, sigmoid_of<double>},
      {"silu", exact::silu<float, 1>, silu_of<double>},
      {"gelu_tanh", exact::gelu_tanh<float, 1>, gelu_tanh_of<double>},
      {"softplus", exact::softplus<float, 1>, softplus_of<double>},
      {"lgamma", exact::lgamma<float, 1>, std::lgamma},
      {"digamma", exact::digamma<float, 1>, digamma_of<double>},
  };
  std::vector<float> x = f32_stride();
  x.push_back(-0.0f);
  for (const Exact &f : functions) {
    CAPTURE(f.name);
    int wrong = 0;
    for (float at : x) {
      const double wide = f.libm(at);
      // Where libm's own error decides, either neighbour is accepted.
      const auto low = static_cast<float>(wide * (1 - 0x1p-47));
      const auto high = static_cast<float>(wide * (1 + 0x1p-47));
      const float found = f.ours(at);
      wrong += !same_bits(found, low) && !same_bits(found, high);
    }
    CHECK(wrong == 0);
  }
  for (auto *f :
       {math::lanes::sin<float, 1>, math::lanes::tanh<float, 1>, math::lanes::silu<float, 1>,
        math::lanes::gelu_tanh<float, 1>, exact::sin<float, 1>, exact::tanh<float, 1>,
        exact::silu<float, 1>, exact::gelu_tanh<float, 1>}) {
    CHECK(same_bits(f(-0.0f), -0.0f));
    CHECK(same_bits(f(0.0f), 0.0f));
  }
  for (float base : {3.0f, 4097.0f, 0.1f, 1e-30f, 8191.0f}) {
    for (float power : {2.0f, -2.0f, 0.5f, 1.5f, 1.0f, -1.0f}) {
      const long double wide = std::pow(static_cast<long double>(base), power);
      CHECK(exact::pow<float, 1>(base, power) == static_cast<float>(wide));
    }
  }
}

TEST_CASE(
    "f64 functions stay within one ulp over the whole range, in the same bits in every form") {
  const std::vector<double> x = f64_samples();
  for (const Unary<double> &f : unary_f64) check_unary(f, x);
}

TEST_CASE("pow stays within one ulp and follows Annex F, in the same bits in every form") {
  check_pow<float>(v3_bl_array_pow_f32, v4_bl_array_pow_f32, 0.8);
  check_pow<double>(v3_bl_array_pow_f64, v4_bl_array_pow_f64, 0.65);
}

TEST_CASE("logaddexp stays within one ulp, in the same bits in every form") {
  check_logaddexp<float>(v3_bl_array_logaddexp_f32, v4_bl_array_logaddexp_f32, 0.65);
  check_logaddexp<double>(v3_bl_array_logaddexp_f64, v4_bl_array_logaddexp_f64, 0.8);
}

TEST_CASE("logaddexp of f64 keeps its digits where it cancels") {
  struct Cancelling {
    double x, y, sum; // by mpmath
  };
  for (const Cancelling &c :
       {Cancelling{-0x1.62e42fefa39efp-1, -0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56},
        Cancelling{-0x1.0000000000000p-2, -0x1.820c49ba5e354p+0, 0x1.40e35dee501f0p-13},
        Cancelling{-0x1.ccccccccccccdp-1, -0x1.0b851eb851eb8p-1, -0x1.9d7824b4a80b7p-12},
        Cancelling{-0x1.4000000000000p+5, -0x1.2725dd1d243acp-58, 0x1.253477c8d6783p-62},
        Cancelling{-0x1.6000000000000p-1, -0x1.65d63886594afp-1, -0x1.32cf336b661e1p-15},
        // where the two are those next to the curve of zeros among some 400,000
        Cancelling{-0x1.e061fcad905f7p-2, -0x1.f6efae6664f5cp-1, -0x1.e71f99546c7dap-72},
        Cancelling{-0x1.387347b6a6683p-1, -0x1.912bc96b9af85p-1, -0x1.34bccc14aaff5p-74},
        Cancelling{-0x1.9c45f8b3b757bp-18, -0x1.80012c5cbc107p+3, 0x1.5238287270f1bp-88}}) {
    CAPTURE(c.x);
    CHECK(ulps(math::logaddexp(c.x, c.y), static_cast<long double>(c.sum)) <= 1.0);
    CHECK(ulps(math::logaddexp(c.y, c.x), static_cast<long double>(c.sum)) <= 1.0);
  }
}

TEST_CASE("logaddexp of f32 keeps its digits where it cancels") {
  struct Cancelling {
    float x, y, sum; // by mpmath
  };
  for (const Cancelling &c : {Cancelling{-0x1.b39bf8p-1f, -0x1.1d2ecep-1f, -0x1.7d7e3c0000000p-30f},
                              Cancelling{-0x1.62e43p-1f, -0x1.62e43p-1f, -0x1.05c6100000000p-29f},
                              Cancelling{-0x1.0p-30f, -0x1.4cb5ecp+4f, 0x1.e192d80000000p-51f},
                              Cancelling{-104.0f, -0x1.0p-149f, -0x1.0000000000000p-149f}}) {
    CAPTURE(c.x);
    CHECK(ulps(math::logaddexp(c.x, c.y), static_cast<long double>(c.sum)) <= 1.0);
    CHECK(math::exact::logaddexp(c.y, c.x) == c.sum);
  }
}

TEST_CASE("atan2 stays within one ulp and follows Annex F, in the same bits in every form") {
  check_atan2<float>(v3_bl_array_atan2_f32, v4_bl_array_atan2_f32, 0.501);
  check_atan2<double>(v3_bl_array_atan2_f64, v4_bl_array_atan2_f64, 0.65);
}

TEST_CASE("every function is found by name, in both types, and libm's also by symbol") {
  CHECK(math::find_function("pow")->arity == 2);
  CHECK(math::find_function("pow")->binary_f64(2.0, 10.0) == 1024);
  CHECK(math::find_function("tanh")->unary_f32(0.0f) == 0);
  CHECK(math::find_function("lgamma")->unary_f64(1.0) == 0);
  CHECK(math::find_function("nothing") == nullptr);
  CHECK(math::is_vectorised("exp"));
  CHECK(math::is_vectorised("erf"));
  CHECK_FALSE(math::is_vectorised("polygamma"));
  for (const auto &list : {math::vector_functions(), math::single_functions()}) {
    for (const math::ScalarFunction &f : list) {
      CAPTURE(f.name);
      CHECK((f.unary_f32 != nullptr) == (f.arity == 1));
      CHECK((f.unary_f64 != nullptr) == (f.arity == 1));
      CHECK((f.binary_f32 != nullptr) == (f.arity == 2));
      CHECK((f.binary_f64 != nullptr) == (f.arity == 2));
    }
  }
  using F64 = double (*)(double, double);
  CHECK(reinterpret_cast<F64>(math::address_of("bl_libm_fmod_f64"))(7.0, 4.0) == 3);
  CHECK(math::address_of("bl_libm_exp_f64") == nullptr);
  CHECK(math::libm_symbols().size() == 2 * math::single_functions().size());
}

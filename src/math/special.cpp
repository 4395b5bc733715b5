// See special.hpp.
#include "math/special.hpp"

#include "support/float_control.hpp"

#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

namespace broadloom::math {

namespace {

using Wide = long double;
constexpr Wide infinity = std::numeric_limits<Wide>::infinity();
constexpr Wide not_a_number = std::numeric_limits<Wide>::quiet_NaN();
constexpr Wide pi = 3.14159265358979323846264338327950288L;

// digamma's positive zero is root_high + root_low. Around it digamma is summed in powers of the
// distance, since elsewhere it is a difference of terms near 1. Coefficient n is psi_n(root_high) /
// n!, from mpmath; 25 of them give 2^-62 of the value for distances up to 1/4.
constexpr Wide root_high = 0x1.762d86356be3fp+0L;
constexpr Wide root_low = 9.5499954299656977151842e-17L;
constexpr Wide around_root[] = {
    0.9676722454476211704274L,     -0.4427631689835921060929L,    0.2584997609556510106244L,
    -0.1639427054424065275043L,    0.1078240506912623657572L,     -0.07219956125645471092612L,
    0.04880428816414310722509L,    -0.03316112647484735929226L,   0.02259764823221810465962L,
    -0.0154247659049489591388L,    0.01053879161661217538812L,    -0.00720453438635686824097L,
    0.004926781395729853446354L,   -0.003369801655439328082793L,  0.002305126326734927836938L,
    -0.001576936771430197259271L,  0.001078825201916296580692L,   -0.000738070938996005129566L,
    0.0005049532658346020351774L,  -0.0003454680251063076995556L, 0.0002363560156402705279237L,
    -0.0001617062209197480344936L, 0.0001106337276874741090409L,  -0.00007569179582195065919238L,
    0.00005178575795222080868993L,
};

Wide digamma_near_root(Wide x) {
  const Wide distance = (x - root_high) - root_low;
  Wide sum = 0;
  for (std::size_t i = std::size(around_root); i-- > 0;) sum = sum * distance + around_root[i];
  return sum * distance;
}

// For x > 0: psi(x) = psi(x + 1) - 1/x up to x >= 16, then ln x - 1/(2x) - sum B_2k / (2k x^2k).
Wide digamma_positive(Wide x) {
  if (std::fabs(x - root_high) < 0.25L) return digamma_near_root(x);
  Wide shift = 0;
  for (; x < 16; x += 1) shift += 1 / x;
  constexpr Wide bernoulli[] = {1.0L / 12,  -1.0L / 120,     1.0L / 252, -1.0L / 240,
                                1.0L / 132, -691.0L / 32760, 1.0L / 12,  -3617.0L / 8160};
  const Wide z = 1 / (x * x);
  Wide tail = 0;
  for (std::size_t k = std::size(bernoulli); k-- > 0;) tail = (tail + bernoulli[k]) * z;
  return (std::log(x) - 0.5L / x - tail) - shift;
}

// Left of zero by reflection: psi(x) = psi(1 - x) - pi cot(pi x).
Wide digamma_wide(Wide x) {
  if (x == 0) return std::copysign(infinity, -x);
  if (std::isinf(x)) return x > 0 ? x : not_a_number;
  if (!(x < 0)) return digamma_positive(x); // NaN too
  const Wide beyond_pole = x - std::rint(x);
  if (beyond_pole == 0) return not_a_number;
  const Wide angle = pi * beyond_pole;
  return digamma_positive(1 - x) - pi * std::cos(angle) / std::sin(angle);
}

// n! times the sum over k >= 0 of (x + k)^-s, s = n + 1, for x > 0 and n > 0: terms up to a = 12 +
// 3 s / 2, then the Euler-Maclaurin formula. All terms are relative to the first, x^-s.
Wide factorial_times_zeta(Wide n, Wide x) {
  const Wide s = n + 1;
  Wide a = x, term = 1, sum = 0;
  // Some 75 terms at most, but where x + 1 is x.
  for (int step = 0; step < 200 && a < 12 + 1.5L * s && term > sum * 0x1p-72L; ++step) {
    sum += term;
    a += 1;
    term = std::pow(x / a, s);
  }
  // B_2k / (2k)!
  constexpr Wide factors[] = {1.0L / 12,
                              -1.0L / 720,
                              1.0L / 30240,
                              -1.0L / 1209600,
                              1.0L / 47900160,
                              -691.0L / 1307674368000,
                              1.0L / 74724249600,
                              -3617.0L / 10670622842880000,
                              43867.0L / 5109094217170944000,
                              -174611.0L / 802857662698291200000.0L,
                              77683.0L / 14101100039391805440000.0L,
                              -236364091.0L / 1693824136731743669452800000.0L};
  if (term > sum * 0x1p-72L) {
    Wide tail = a / (s - 1) + 0.5L;
    Wide power = s / a;
    for (std::size_t k = 0; k < std::size(factors); ++k) {
      tail += factors[k] * power;
      const Wide j = s + 2 * Wide(k) + 1;
      power *= j / a * ((j + 1) / a);
    }
    sum += term * tail;
  }
  // The factorial and the power may leave even this range where their product does not.
  const Wide log_power = -s * std::log(x);
  if (n < 1700 && std::fabs(log_power) < 11000) return std::tgamma(s) * std::pow(x, -s) * sum;
  int sign = 0;
  return std::exp(::lgammal_r(s, &sign) + log_power) * sum;
}

// psi_n(x) = (-1)^s n! zeta(s, x), s = n + 1. Left of zero the sum that is zeta runs over all x + k
// but those right of -x on the other side: with x = -low and the poles around it at distances `low`
// and `high` (low + high = 1), zeta(s, x) = zeta(s, high) + (-1)^s (zeta(s, low) - zeta(s, 1 - x)).
Wide polygamma_wide(Wide n, Wide x) {
  if (std::isnan(x) || !(n >= 0) || n != std::floor(n) || std::isinf(n)) return not_a_number;
  if (n == 0) return digamma_wide(x);
  const bool even = std::fmod(n, 2.0L) == 0;
  const Wide sign = even ? -1 : 1;
  if (std::isinf(x)) return x > 0 ? sign * 0 : not_a_number;
  if (x > 0) return sign * factorial_times_zeta(n, x);
  const Wide high = x - std::floor(x), low = std::ceil(x) - x;
  if (high == 0) return sign * infinity;
  const Wide right = factorial_times_zeta(n, high), left = factorial_times_zeta(n, low);
  if (even && std::isinf(left) && std::isinf(right))
    return high < low ? -infinity : low < high ? infinity : Wide(0);
  return sign * ((right + sign * left) - sign * factorial_times_zeta(n, 1 - x));
}

// Rounded here, before the control word of the caller is back.
template <class T> [[gnu::noinline]] T rounded_polygamma(T n, T x) {
  return T(polygamma_wide(n, x));
}

} // namespace

float polygamma(float n, float x) {
  const support::X87Control control;
  return rounded_polygamma(n, x);
}
double polygamma(double n, double x) {
  const support::X87Control control;
  return rounded_polygamma(n, x);
}

} // namespace broadloom::math

// See samples.hpp.
#include "tools/prove/samples.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

namespace broadloom::prove {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double ln_2 = 0.6931471805599453;
constexpr double half_pi = 1.5707963267948966;

// Where functions change their formula, overflow, vanish or are hardest to round.
constexpr double thresholds[] = {
    0.0,
    0.25,
    0.5,
    0.6931471805599453,
    0.7071067811865476,
    0.75,
    1.0,
    1.4142135623730951,
    1.4616321449683622, // the root of digamma
    half_pi,
    2.0,
    3.0,
    3.141592653589793,
    4.0,
    5.0,
    5.921587195794507,
    6.0,
    8.0,
    9.0,
    9.1,
    16.0,
    17.328679513998632, // 25 ln 2
    18.714973875118524, // 27 ln 2: tanh, f64
    20.0,
    22.0,
    26.54325845425098,
    27.226, // erfc vanishes
    36.7368005696771,
    37.5,
    38.5,
    88.02969193111305,
    88.72283905206835,
    89.41598629223294,
    103.97207708399179, // e^-x vanishes, f32
    127.0,
    128.0,
    126.0,
    149.0,
    150.0,
    171.0,
    307.6526555685888,
    308.25471555991671,
    323.6072453387798, // 10^-x vanishes, f64
    708.3964185322641,
    709.782712893384,
    710.4758600739439,
    745.1332191019412,
    1022.0,
    1024.0,
    1074.0,
    1075.0,
    48039.0,
    0x1p15,
    0x1p22,
    0x1p23,
    0x1p24,
    0x1p25,
    0x1p28,
    0x1p30,
    0x1p52,
    0x1p53,
    0x1p54,
    0x1p64,
    0x1p-10,
    0x1p-12,
    0x1p-20,
    0x1p-24,
    0x1p-25,
    0x1p-26,
    0x1p-27,
    0x1p-28,
    0x1p-53,
    0x1p-54,
    0x1p-1022,
    0x1p-1021,
    0x1p-969,
    0x1p-126,
    0x1p-149,
    0x1.fffffep127,
    0x1p512,
    0x1p-512,
    0x1.fffffffffffffp1023,
    // The double nearest to a multiple of pi/2, and other hard ones for reduction and rounding.
    6381956970095103.0 * 0x1p797,
    0x1.921fb54442d18p0,
    0x1.6ac5b262ca1ffp849,
    0x1.12d31a20fb38bp5,
    0x1.62a88613629b5p678,
    0x1.ea71d85cee020p509,
    0x1.e0000000001c2p-20,
};
constexpr double specials[] = {inf, std::numeric_limits<double>::quiet_NaN()};

template <class T> std::vector<T> make_edges() {
  std::vector<T> edges;
  for (double at : thresholds) {
    T below = T(at), above = T(at);
    if (std::isinf(below)) continue;
    for (int i = 0; i <= 64; ++i) {
      for (T x : {below, above}) {
        edges.push_back(x);
        edges.push_back(-x);
      }
      below = std::nextafter(below, -std::numeric_limits<T>::infinity());
      above = std::nextafter(above, std::numeric_limits<T>::infinity());
    }
  }
  for (double x : specials) {
    edges.push_back(T(x));
    edges.push_back(T(-x));
  }
  return edges;
}
template <class T> const std::vector<T> &edges() {
  static const std::vector<T> list = make_edges<T>();
  return list;
}

// A stream of random numbers that starts at argument number i.
class Random {
public:
  explicit Random(std::uint64_t i) : state_(mixed(i * 0x9e3779b97f4a7c15)) {}
  std::uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15); }
  int below(int n) { return int(bits() % std::uint64_t(n)); }
  double unit() { return double(std::int64_t(bits()) >> 10) * 0x1p-53; } // [-1, 1)
  // A random significand with an exponent from low to high.
  double scaled(int low, int high) {
    const double significand = 1 + std::fabs(unit());
    const double value = std::ldexp(significand, low + below(high - low + 1));
    return bits() & 1 ? value : -value;
  }

private:
  std::uint64_t state_;
};

template <class T> T any(Random &random) {
  return std::bit_cast<T>(BitsOf<T>(random.bits() >> (64 - 8 * sizeof(T))));
}

// Powers of e up to where T overflows.
template <class T> constexpr double log_limit = sizeof(T) == 4 ? 104 : 746;

} // namespace

template <class T> std::uint64_t edge_count() { return edges<T>().size(); }

template <class T> T sample(std::uint64_t i) {
  if (i < edges<T>().size()) return edges<T>()[i];
  Random random(i);
  constexpr bool wide = sizeof(T) == 8;
  switch (i % 8) {
  case 0:
  case 1: return any<T>(random);
  case 2:
  case 3: return T(random.scaled(-32, 10));
  case 4: return T(random.unit() * 40);
  case 5: return T(random.unit() * log_limit<T>);
  case 6: { // next to 1, and next to multiples of pi/2
    if (random.bits() & 1) return T(1 + random.scaled(wide ? -54 : -26, -1));
    const double turns = double(random.bits() >> random.below(63));
    return T(turns * half_pi + (wide ? 0 : random.unit() * 1e-6));
  }
  default: { // where results overflow, and where arguments are subnormal
    if (random.bits() & 1)
      return T(std::copysign(log_limit<T>, random.unit()) + random.unit() * 40);
    return T(std::ldexp(random.unit(), wide ? -1021 : -125));
  }
  }
}

template <class T> Two<T> sample_pair(std::uint64_t i) {
  // Every pair of some values first: zeros, ones, infinities, odd and even integers, extremes.
  static const T values[] = {T(0.0),
                             T(-0.0),
                             T(1),
                             T(-1),
                             T(2),
                             T(-2),
                             T(0.5),
                             T(-0.5),
                             T(3),
                             T(-3),
                             T(inf),
                             T(-inf),
                             std::numeric_limits<T>::quiet_NaN(),
                             std::numeric_limits<T>::denorm_min(),
                             -std::numeric_limits<T>::denorm_min(),
                             std::numeric_limits<T>::min(),
                             -std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max(),
                             -std::numeric_limits<T>::max(),
                             T(1e30),
                             T(-1e30),
                             T(1e-30),
                             T(0x1p53),
                             T(-0x1p53 - 2),
                             T(0x1p52 + 1),
                             T(-0x1p52 - 1),
                             T(0x1p24),
                             T(0x1p23 + 1),
                             T(-0x1p23 - 1),
                             T(1.0 / 3),
                             T(-1.0 / 3),
                             T(7),
                             T(-0.6931471805599453),
                             T(88),
                             T(-104),
                             T(745),
                             T(-745)};
  constexpr std::uint64_t n = std::size(values);
  if (i < n * n) return {values[i / n], values[i % n]};
  Random random(i);
  const T x = any<T>(random);
  switch (i % 8) {
  case 0: return {x, any<T>(random)};
  case 1: return {x, T(random.unit() * 10)};
  case 2: { // powers over the whole range of results
    const double base = std::fabs(double(x));
    const int exponent = base > 0 && base < inf ? std::ilogb(base) : 0;
    return {T(base), T(log_limit<T> / ((exponent ? exponent : 1) * ln_2) * random.unit())};
  }
  case 3: { // of bases next to 1
    const double off = random.scaled(-40, -2);
    return {T(1 + off), T(log_limit<T> / off * random.unit())};
  }
  case 4: // exact powers, Pythagorean triples
    return {T(random.below(1 << 12) - (1 << 11)), T(random.below(1 << random.below(12)) - 16)};
  case 5: { // quotients of every size
    const double y = random.scaled(-60, 60);
    return {T(y * random.scaled(-30, 30)), T(y)};
  }
  case 6: { // near each other, and near opposite
    const double y = random.scaled(-20, 9);
    const double near = y * (1 + random.scaled(-30, -1));
    return {T(random.bits() & 1 ? near : -near), T(y)};
  }
  default: return {T(random.scaled(-8, 6)), T(random.scaled(-8, 6))};
  }
}

template <class T> Two<T> sample_near_one(std::uint64_t i) {
  Random random(i);
  constexpr int smallest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  const T x = random.bits() & 1 ? T(std::fabs(random.unit()) * -0.7)
                                : T(-std::fabs(random.scaled(smallest, -1)));
  T y = T(std::log(-std::expm1(double(x))));
  if (random.below(4) == 0) y = T(double(y) * (1 + random.scaled(-50, -3)));
  const T to = random.bits() & 1 ? T(inf) : T(-inf);
  for (int steps = random.below(8); steps > 0; --steps) y = std::nextafter(y, to);
  return random.bits() & 1 ? Two<T>{x, y} : Two<T>{y, x};
}

template std::uint64_t edge_count<float>();
template std::uint64_t edge_count<double>();
template float sample<float>(std::uint64_t);
template double sample<double>(std::uint64_t);
template Two<float> sample_pair<float>(std::uint64_t);
template Two<double> sample_pair<double>(std::uint64_t);
template Two<float> sample_near_one<float>(std::uint64_t);
template Two<double> sample_near_one<double>(std::uint64_t);

} // namespace broadloom::prove

// Complex numbers on one element: the formulas of complex.hpp over doubles and floats.
//
// A complex Scalar holds its real part in `bits` and its imaginary part in `imag`, each as a float
// or a double would be.
#include "ops/complex.hpp"
#include "ops/evaluate_kinds.hpp"

#include <cmath>

namespace broadloom::ops {
namespace {

// A real number as complex.hpp wants it.
template <class T> struct Real {
  T value;
  friend Real operator+(Real a, Real b) { return {a.value + b.value}; }
  friend Real operator-(Real a, Real b) { return {a.value - b.value}; }
  friend Real operator*(Real a, Real b) { return {a.value * b.value}; }
  friend Real operator/(Real a, Real b) { return {a.value / b.value}; }
  friend Real operator-(Real a) { return {-a.value}; }
  friend bool operator==(Real a, Real b) { return a.value == b.value; }
  friend bool operator<(Real a, Real b) { return a.value < b.value; }
  friend bool operator>(Real a, Real b) { return a.value > b.value; }
  friend bool operator>=(Real a, Real b) { return a.value >= b.value; }
  friend Real choose(bool c, Real a, Real b) { return c ? a : b; }
  friend Real number(Real, double value) { return {T(value)}; }
  friend Real apply(Op op, Real a, Real b = {}) {
    const Scalar args[] = {scalar_from(a.value), scalar_from(b.value)};
    return {from_scalar<T>(evaluate_float<T>(op, args))};
  }
  friend Real fused(Real a, Real b, Real c) { return {std::fma(a.value, b.value, c.value)}; }
};

// A real number that notes what is done with it.
struct Noted {
  std::vector<Op> *ops;
  friend Noted operator+(Noted a, Noted) { return a; }
  friend Noted operator-(Noted a, Noted) { return a; }
  friend Noted operator*(Noted a, Noted) { return a; }
  friend Noted operator/(Noted a, Noted) { return a; }
  friend Noted operator-(Noted a) { return a; }
  friend bool operator==(Noted, Noted) { return true; }
  friend bool operator<(Noted, Noted) { return true; }
  friend bool operator>(Noted, Noted) { return true; }
  friend bool operator>=(Noted, Noted) { return true; }
  friend Noted choose(bool, Noted a, Noted) { return a; }
  friend Noted number(Noted like, double) { return like; }
  friend Noted apply(Op op, Noted a) { return a.ops->push_back(op), a; }
  friend Noted apply(Op op, Noted a, Noted) { return a.ops->push_back(op), a; }
  friend Noted fused(Noted a, Noted, Noted) { return a; }
};

template <class T> using Number = complex::Number<Real<T>>;

template <class T> Number<T> number_from(Scalar s) {
  return {{from_scalar<T>({s.bits})}, {from_scalar<T>({s.imag})}};
}
template <class T> Scalar scalar_of(Number<T> z) {
  return {scalar_from(z.re.value).bits, scalar_from(z.im.value).bits};
}
Number<double> widened(Number<float> z) { return {{z.re.value}, {z.im.value}}; }
Number<float> narrowed(Number<double> z) { return {{float(z.re.value)}, {float(z.im.value)}}; }

} // namespace

template <class T> Scalar evaluate_complex(Op op, const Scalar *args) {
  const Number<T> x = number_from<T>(args[0]);
  // A unary operation has no second argument to read.
  const Number<T> y = arity_of(op) > 1 ? number_from<T>(args[1]) : Number<T>{};
  switch (*complex_form(op)) {
  case ComplexForm::Truth: return scalar_from(bool(complex::truth(op, x, y)));
  case ComplexForm::Part: return scalar_from(complex::part(op, x).value);
  case ComplexForm::Value: break;
  }
  if constexpr (std::is_same_v<T, float>)
    if (complex::is_function(op))
      return scalar_of(narrowed(complex::value(op, widened(x), widened(y))));
  return scalar_of(complex::value(op, x, y));
}

std::vector<Op> complex::made_of(Op op) {
  std::vector<Op> ops;
  const complex::Number<Noted> z{{&ops}, {&ops}};
  const std::optional<ComplexForm> form = complex_form(op);
  if (form == ComplexForm::Value) complex::value(op, z, z);
  if (form == ComplexForm::Part) complex::part(op, z);
  return ops;
}

namespace {

template <class T, Op op>
void complex_row_of(const Row *args, WritableRow out, std::int64_t count, Accuracy) {
  const std::optional<ComplexForm> form = complex_form(op);
  for (std::int64_t i = 0; i < count; ++i) {
    Scalar values[arity_of(op)];
    for (int k = 0; k < arity_of(op); ++k) {
      const char *at = args[k].data + i * args[k].step;
      values[k] = {to_scalar<T>(read<T>(at)).bits, to_scalar<T>(read<T>(at + sizeof(T))).bits};
    }
    const Scalar result = evaluate_complex<T>(op, values);
    char *to = out.data + i * out.step;
    if (form == ComplexForm::Truth) {
      write<bool>(to, result.bits != 0);
    } else {
      write<T>(to, from_scalar<T>({result.bits}));
      if (form == ComplexForm::Value) write<T>(to + sizeof(T), from_scalar<T>({result.imag}));
    }
  }
}

template <class T, std::size_t... k>
constexpr std::array<RowFunction, sizeof...(k)> complex_rows(std::index_sequence<k...>) {
  return {complex_row_of<T, Op(k)>...};
}

} // namespace

template <class T> RowFunction complex_row(Op op) {
  static constexpr auto rows = complex_rows<T>(std::make_index_sequence<arities.size()>());
  return rows[std::size_t(op)];
}

template RowFunction complex_row<float>(Op);
template RowFunction complex_row<double>(Op);
template Scalar evaluate_complex<float>(Op, const Scalar *);
template Scalar evaluate_complex<double>(Op, const Scalar *);

} // namespace broadloom::ops

// See rules.hpp.
//
// A rule uses what the forward pass has computed already (y) where that loses nothing, and a form
// of its own where it would: 1 - tanh(x)^2 cancels for large x, a form in exp(-2 |x|) does not. At
// the edges: |x|' and relu' at 0 are 0, sqrt' at 0 is inf, ties of maximum are shared, clip at a
// bound passes g through.
#include "grad/rules.hpp"

#include <cmath>
#include <numbers>

namespace broadloom::grad {
namespace {

using ops::Op;

enum class Way {
  Back,
  Forward
}; // of what is multiplied by a slope: from y into args[k], or on to y

class Rules {
public:
  Rules(Way way, const std::vector<Expr> &args, const Expr &y, const Expr &g, std::size_t k,
        const std::vector<bool> &is_complex, const facts::Terms &t)
      : way_(way), a_(args), y_(y), g_(g), k_(k), is_complex_(is_complex), t_(t) {}

  std::optional<Cotangent> run(Op op);

private:
  // g times a derivative.
  Cotangent times(const Expr &derivative) const { return {t_.mul(g_, conj(derivative)), {}}; }
  Cotangent over(const Expr &divisor) const { return {t_.div(g_, conj(divisor)), {}}; }
  Cotangent as_it_is() const { return {g_, {}}; }
  Cotangent negative() const { return {t_.neg(g_), {}}; }
  static Cotangent zero() { return {}; }
  // The value where the mask holds, else 0 for certain.
  Cotangent only_where(const Expr &mask, const Expr &value) const {
    return {t_.where(mask, value), mask};
  }

  bool complex() const { return is_complex_.back(); }
  bool back() const { return way_ == Way::Back; }
  Expr conj(const Expr &x) const { return complex() && back() ? t_.op(Op::Conj, {x}) : x; }
  Expr call(Op op, const Expr &x) const { return t_.op(op, {x}); }
  Expr compare(Op op, const Expr &x, const Expr &y) const { return t_.op(op, {x, y}); }
  Expr is_zero(const Expr &x) const { return compare(Op::Eq, x, t_.num(0)); }

  Cotangent power() const;
  Cotangent extreme(Op strict, bool ignores_nan) const;
  Cotangent clip() const;
  Expr falling(const Expr &x) const;
  Cotangent tanh() const;
  Cotangent gelu() const;
  Cotangent gelu_tanh() const;
  Cotangent log_add_exp() const;
  Cotangent direction() const;
  Cotangent size() const;
  Cotangent imaginary() const;

  const Way way_;
  const std::vector<Expr> &a_;
  const Expr &y_, &g_;
  std::size_t k_;
  const std::vector<bool> &is_complex_;
  const facts::Terms &t_;
};

// x^0 is 1 even at 0, and so is flat there. x^n is 0 for 0 and for inf (n < 0): flat in n, and so
// is 0^0.
Cotangent Rules::power() const {
  const Expr &x = a_[0], &n = a_[1];
  if (k_ == 0) {
    if (const ExprNode &literal = *n.node();
        literal.kind == ExprKind::Literal && literal.number.kind == Number::Kind::Int) {
      if (literal.number.integer == 2) return times(t_.mul(2, x));
      if (literal.number.integer == 1) return as_it_is();
    }
    const Expr slope = t_.mul(n, t_.op(Op::Pow, {x, t_.sub(n, t_.num(1))}));
    return times(t_.where(is_zero(n), t_.num(0), slope));
  }
  const Expr flat =
      t_.either(is_zero(y_), complex() ? is_zero(x) : t_.both(is_zero(x), is_zero(n)));
  // A negative x has a logarithm where the power is complex.
  const Expr base = complex() && !is_complex_[0] ? make_cast(DType::C128, x, t_.place()) : x;
  return times(t_.where(flat, t_.num(0), t_.mul(y_, call(Op::Log, base))));
}

// maximum with `>`, minimum with `<`: ties are shared evenly, NaN goes to the NaN.
Cotangent Rules::extreme(Op strict, bool ignores_nan) const {
  const Expr &mine = a_[k_], &other = a_[1 - k_];
  const Expr wins =
      t_.either(compare(strict, mine, other), call(Op::IsNan, ignores_nan ? other : mine));
  const Expr ties = compare(Op::Eq, mine, other);
  if (!back()) return {t_.where(wins, g_, t_.mul(0.5, g_)), t_.either(wins, ties)};
  return {t_.where(wins, g_, t_.where(ties, t_.mul(0.5, g_))), t_.either(wins, ties)};
}

Cotangent Rules::clip() const {
  const Expr below = compare(Op::Lt, a_[0], a_[1]), above = compare(Op::Gt, a_[0], a_[2]);
  if (k_ == 1) return only_where(below, g_);
  if (k_ == 2) return only_where(above, g_);
  return only_where(t_.both(compare(Op::Ge, a_[0], a_[1]), compare(Op::Le, a_[0], a_[2])), g_);
}

// 1 / cosh(x)^2 as 4 q / (1 + q)^2 with q = exp(-2 |x|): it does not overflow, and exp is fast
// where cosh is not.
Expr Rules::falling(const Expr &x) const {
  const Expr q = call(Op::Exp, t_.mul(-2, call(Op::Abs, x)));
  return t_.div(t_.mul(4, q), t_.square(t_.add(t_.num(1), q)));
}

// Near 0 by the value, so that what is derived again keeps its digits, too: there |x| has a kink.
Cotangent Rules::tanh() const {
  const Expr &x = a_[0];
  // There is no complex cosh.
  if (complex()) return times(t_.mul(t_.sub(t_.num(1), y_), t_.add(t_.num(1), y_)));
  const Expr near = compare(Op::Lt, call(Op::Abs, x), t_.num(0.5));
  return times(t_.where(near, t_.sub(t_.num(1), t_.square(y_)), falling(x)));
}

// Phi(x) + x phi(x); far out x is cut off, where phi is 0 anyway, lest inf meet 0.
Cotangent Rules::gelu() const {
  const Expr &x = a_[0];
  const Expr near = t_.op(Op::Clip, {x, t_.num(-40), t_.num(40)});
  const Expr cdf = t_.mul(0.5, call(Op::Erfc, t_.mul(-std::numbers::sqrt2 / 2, x)));
  const Expr pdf = t_.mul(std::numbers::inv_sqrtpi / std::numbers::sqrt2,
                          call(Op::Exp, t_.mul(-0.5, t_.square(near))));
  return times(t_.add(cdf, t_.mul(near, pdf)));
}

// 0.5 (1 + tanh u) + 0.5 x (1 - tanh^2 u) u',  u = c (x + 0.044715 x^3)
Cotangent Rules::gelu_tanh() const {
  const double c = std::sqrt(2 * std::numbers::inv_pi), cubic = 0.044715;
  const auto inner = [&](const Expr &x) {
    return t_.mul(c, t_.mul(x, t_.add(t_.num(1), t_.mul(cubic, t_.square(x)))));
  };
  const Expr near = t_.op(Op::Clip, {a_[0], t_.num(-30), t_.num(30)});
  const Expr slope = t_.mul(c, t_.add(t_.num(1), t_.mul(3 * cubic, t_.square(near))));
  const Expr tail = t_.mul(t_.mul(0.5, near), t_.mul(falling(inner(near)), slope));
  return times(t_.add(call(Op::Sigmoid, t_.mul(2, inner(a_[0]))), tail));
}

Cotangent Rules::log_add_exp() const {
  const Expr &mine = a_[k_], &other = a_[1 - k_];
  // inf - inf is NaN. Finite equals get 0.5 from the sigmoid, which has a slope of its own there.
  const Expr both_infinite = t_.both(compare(Op::Eq, mine, other), call(Op::IsInf, mine));
  const Expr share = t_.where(both_infinite, t_.num(0.5), call(Op::Sigmoid, t_.sub(mine, other)));
  const Expr nothing = t_.both(call(Op::IsInf, y_), compare(Op::Lt, y_, t_.num(0)));
  return times(t_.where(nothing, t_.num(0), share));
}

// x / |x| of a complex x turns with x and does not grow with it: what of g lies along y goes. Flat
// at 0.
Cotangent Rules::direction() const {
  const Expr along = call(Op::Real, t_.mul(g_, call(Op::Conj, y_)));
  const Expr across = t_.div(t_.sub(g_, t_.mul(y_, along)), call(Op::Abs, a_[0]));
  return {t_.where(is_zero(a_[0]), t_.num(0), across), {}};
}

// |x| of a complex x grows by what of its move lies along x.
Cotangent Rules::size() const {
  const Expr sign = call(Op::Sign, a_[0]);
  if (back() || !is_complex_[0]) return {t_.mul(g_, sign), {}};
  return {call(Op::Real, t_.mul(g_, call(Op::Conj, sign))), {}};
}

// Back it is i g, where i is the root of -1.
Cotangent Rules::imaginary() const {
  if (!is_complex_[0]) return zero();
  if (!back()) return {call(Op::Imag, g_), {}};
  return {t_.mul(call(Op::Sqrt, make_cast(DType::C64, t_.num(-1), t_.place())), g_), {}};
}

std::optional<Cotangent> Rules::run(Op op) {
  const Expr &x = a_[0];
  switch (op) {
  case Op::Keep:
  case Op::Recompute:
  case Op::Add: return as_it_is();
  case Op::Sub: return k_ == 0 ? as_it_is() : negative();
  case Op::Mul: return times(a_[1 - k_]);
  case Op::Div: return k_ == 0 ? over(a_[1]) : times(t_.neg(t_.div(y_, a_[1])));
  case Op::Mod: return k_ == 0 ? as_it_is() : times(t_.neg(t_.op(Op::FloorDiv, {a_[0], a_[1]})));
  case Op::Fmod: return k_ == 0 ? as_it_is() : times(t_.neg(call(Op::Trunc, t_.div(a_[0], a_[1]))));
  case Op::Pow: return power();
  case Op::Neg: return negative();
  case Op::Fma: return k_ == 2 ? as_it_is() : times(a_[1 - k_]);
  case Op::Where:
    if (k_ == 0) return zero();
    return k_ == 1 ? only_where(x, g_) : only_where(call(Op::Not, x), g_);
  case Op::Maximum: return extreme(Op::Gt, false);
  case Op::Minimum: return extreme(Op::Lt, false);
  case Op::Fmax: return extreme(Op::Gt, true);
  case Op::Fmin: return extreme(Op::Lt, true);
  case Op::Relu: return only_where(compare(Op::Gt, x, t_.num(0)), g_);
  case Op::Clip: return clip();
  case Op::Abs: return size();
  case Op::CopySign:
    if (k_ == 1) return zero();
    return times(
        t_.mul(t_.op(Op::CopySign, {t_.num(1), a_[0]}), t_.op(Op::CopySign, {t_.num(1), a_[1]})));
  case Op::Sqrt: return times(t_.div(t_.num(0.5), y_));
  case Op::Rsqrt: return times(t_.mul(-0.5, t_.mul(y_, t_.square(y_))));
  case Op::Cbrt: return over(t_.mul(3, t_.square(y_)));
  case Op::Square: return times(t_.mul(2, x));
  case Op::Reciprocal: return times(t_.neg(t_.square(y_)));
  case Op::Hypot: return times(t_.where(is_zero(y_), t_.num(0), t_.div(a_[k_], y_)));
  case Op::Exp: return times(y_);
  case Op::Exp2: return times(t_.mul(std::numbers::ln2, y_));
  case Op::Expm1: return times(call(Op::Exp, x));
  case Op::Log: return over(x);
  case Op::Log2: return over(t_.mul(std::numbers::ln2, x));
  case Op::Log10: return over(t_.mul(std::numbers::ln10, x));
  case Op::Log1p: return over(t_.add(t_.num(1), x));
  case Op::LogAddExp: return log_add_exp();
  case Op::Sin: return times(call(Op::Cos, x));
  case Op::Cos: return times(t_.neg(call(Op::Sin, x)));
  case Op::Tan: return times(t_.add(t_.num(1), t_.square(y_)));
  case Op::Asin: return over(call(Op::Sqrt, t_.mul(t_.sub(t_.num(1), x), t_.add(t_.num(1), x))));
  case Op::Acos:
    return over(t_.neg(call(Op::Sqrt, t_.mul(t_.sub(t_.num(1), x), t_.add(t_.num(1), x)))));
  case Op::Atan: return over(t_.add(t_.num(1), t_.square(x)));
  case Op::Atan2: { // of (y, x): at (0, 0) there is no direction
    const Expr radius = t_.op(Op::Hypot, {a_[0], a_[1]});
    const Expr part = k_ == 0 ? a_[1] : t_.neg(a_[0]);
    return times(t_.where(is_zero(radius), t_.num(0), t_.div(t_.div(part, radius), radius)));
  }
  case Op::Sinh: return times(call(Op::Cosh, x));
  case Op::Cosh: return times(call(Op::Sinh, x));
  case Op::Tanh: return tanh();
  case Op::Asinh: return over(t_.op(Op::Hypot, {x, t_.num(1)}));
  case Op::Acosh:
    return over(t_.mul(call(Op::Sqrt, t_.sub(x, t_.num(1))), call(Op::Sqrt, t_.add(x, t_.num(1)))));
  case Op::Atanh: return over(t_.mul(t_.sub(t_.num(1), x), t_.add(t_.num(1), x)));
  case Op::Sigmoid: return times(t_.mul(y_, call(Op::Sigmoid, t_.neg(x))));
  case Op::Softplus: return times(call(Op::Sigmoid, x));
  case Op::Silu:
    return times(t_.add(call(Op::Sigmoid, x), t_.mul(y_, call(Op::Sigmoid, t_.neg(x)))));
  case Op::Gelu: return gelu();
  case Op::GeluTanh: return gelu_tanh();
  case Op::Erf:
    return times(t_.mul(2 * std::numbers::inv_sqrtpi, call(Op::Exp, t_.neg(t_.square(x)))));
  case Op::Erfc:
    return times(t_.mul(-2 * std::numbers::inv_sqrtpi, call(Op::Exp, t_.neg(t_.square(x)))));
  case Op::Lgamma: return times(call(Op::Digamma, x));
  case Op::Digamma: return times(t_.op(Op::Polygamma, {t_.num(1), x}));
  case Op::Polygamma:
    if (k_ == 0) return zero();
    return times(t_.op(Op::Polygamma, {t_.add(a_[0], t_.num(1)), a_[1]}));
  case Op::Conj: return Cotangent{call(Op::Conj, g_), {}};
  case Op::Real: return back() || !is_complex_[0] ? as_it_is() : Cotangent{call(Op::Real, g_), {}};
  case Op::Imag: return imaginary();
  case Op::Sign: return complex() ? direction() : zero();
  case Op::FloorDiv:
  case Op::Floor:
  case Op::Ceil:
  case Op::Round:
  case Op::Trunc:
  case Op::BitAnd:
  case Op::BitOr:
  case Op::BitXor:
  case Op::BitNot:
  case Op::Shl:
  case Op::Shr:
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
  case Op::And:
  case Op::Or:
  case Op::Not:
  case Op::IsNan:
  case Op::IsInf:
  case Op::IsFinite: return zero();
  }
  return std::nullopt;
}

} // namespace

std::optional<Cotangent> pull(ops::Op op, const std::vector<Expr> &args, const Expr &y,
                              const Expr &g, std::size_t k, const std::vector<bool> &is_complex,
                              const facts::Terms &t) {
  std::optional<Cotangent> result = Rules(Way::Back, args, y, g, k, is_complex, t).run(op);
  // What flows into a real argument of a complex operation is the real part.
  const bool narrows = is_complex.back() && !is_complex[k];
  if (result && result->value.node() && narrows)
    result->value = t.op(ops::Op::Real, {result->value});
  return result;
}

std::optional<Cotangent> push(ops::Op op, const std::vector<Expr> &args, const Expr &y,
                              const Expr &moved, std::size_t k, const std::vector<bool> &is_complex,
                              const facts::Terms &t) {
  return Rules(Way::Forward, args, y, moved, k, is_complex, t).run(op);
}

Cotangent masked(const Cotangent &pulled, const Cotangent &g, const facts::Terms &t) {
  if (!g.mask.node()) return pulled;
  const bool changed = pulled.value.node() != g.value.node();
  return {changed ? t.where(g.mask, pulled.value) : pulled.value,
          pulled.mask.node() ? t.both(g.mask, pulled.mask) : g.mask};
}

Cotangent sum(const Cotangent &a, const Cotangent &b, const facts::Terms &t) {
  const bool both = a.mask.node() && b.mask.node();
  return {t.add(a.value, b.value), both ? t.either(a.mask, b.mask) : Expr()};
}

} // namespace broadloom::grad

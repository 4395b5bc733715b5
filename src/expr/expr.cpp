// The public face of expressions: every operator makes a node and notes the caller's line.
#include "expr/join.hpp"
#include "expr/stretch.hpp"
#include "expr/window.hpp"

#include "support/fail.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace broadloom {

namespace {

Expr op(ops::Op op, const Operand &a) { return make_op(op, {a.expr()}, place_of(a.where())); }

Expr op(ops::Op op, const Operand &a, const Operand &b) {
  return make_op(op, {a.expr(), b.expr()}, place_of(a.where()));
}

Expr op(ops::Op op, const Operand &a, const Operand &b, const Operand &c) {
  return make_op(op, {a.expr(), b.expr(), c.expr()}, place_of(a.where()));
}

Expr placed(const Expr &expr, Placement placement, std::initializer_list<int> axes, Place where) {
  const char *word = placement == Placement::Dims ? "dims" : "axes";
  if (!expr.node() || expr.node()->kind != ExprKind::Input || expr.node()->input->window)
    support::fail(
        "E0132", std::string(word) + "() applies to an input, not to an expression", where,
        "place the input itself: bl::input(\"y\", bl::f32, 1)." + std::string(word) + "({0})");
  auto decl = std::make_shared<InputDecl>(*expr.node()->input);
  decl->placement = placement;
  decl->axes = axes;
  return make_input(std::move(decl), std::move(where));
}

} // namespace

Expr Expr::dims(std::initializer_list<int> axes, std::source_location where) const {
  return placed(*this, Placement::Dims, axes, place_of(where));
}

Expr Expr::axes(std::initializer_list<int> axes, std::source_location where) const {
  return placed(*this, Placement::Axes, axes, place_of(where));
}

Expr Expr::known(Sign sign, std::source_location where) const {
  if (!node() || node()->kind != ExprKind::Input || node()->input->window ||
      node()->input->role != InputRole::parameter)
    support::fail("E0040", "a sign is known of a parameter, and this expression is none",
                  place_of(where), "write bl::param(\"s\", bl::f32, {\"c\"}).positive()");
  auto decl = std::make_shared<InputDecl>(*node()->input);
  decl->sign = sign;
  return make_input(std::move(decl), place_of(where));
}

std::string_view relation(Sign sign) {
  switch (sign) {
  case Sign::any: return "";
  case Sign::positive: return "> 0";
  case Sign::nonnegative: return ">= 0";
  case Sign::negative: return "< 0";
  case Sign::nonpositive: return "<= 0";
  case Sign::nonzero: return "!= 0";
  }
  return "";
}

Expr let(std::string name, const Operand &value) { return let(std::move(name), {}, value); }

Expr let(std::string name, std::vector<AxisRef> axes, const Operand &value) {
  const Place where = place_of(value.where());
  if (is_join(value.expr()) && !axes.empty())
    return let_of_join(
        name, axes, value.expr(), where, [](const std::string &) { return true; },
        [](const Expr &) {});
  return make_let(std::move(name), value.expr(), where, std::move(axes));
}

static Expr join(const AxisRef &axis, const std::vector<Expr> &parts, bool stacks,
                 const Place &where) {
  if (parts.empty())
    support::fail("E0009", "concat() and stack() take one part or more", where, "give them some");
  return make_join(axis, parts, stacks, where);
}

Expr concat(const AxisRef &axis, const std::vector<Expr> &parts, std::source_location where) {
  return join(axis, parts, false, place_of(where));
}

Expr stack(const AxisRef &axis, const std::vector<Expr> &parts, std::source_location where) {
  return join(axis, parts, true, place_of(where));
}

Expr parts(const std::vector<Part> &parts, std::source_location where) {
  const Place place = place_of(where);
  if (parts.empty())
    support::fail("E0009", "parts() takes one part or more", place, "give it some");
  std::vector<Expr> values;
  JoinPositions positions;
  for (const Part &part : parts) {
    values.push_back(part.value);
    std::vector<AffineForm> &forms = positions.of_parts.emplace_back();
    for (const Position &position : part.at) {
      if (!position.valid())
        support::fail("E0006", "the numbers of this position leave the range of i64", place,
                      "use smaller numbers");
      forms.push_back(form_of(position));
    }
  }
  return make_join_at(std::move(values), std::move(positions), place);
}

Expr itself(std::string name, std::source_location where) {
  return make_ahead(std::move(name), place_of(where));
}

Expr let(std::string name, std::vector<AxisRef> axes, const Operand &value, LetSteps steps) {
  const Place where = place_of(value.where());
  LetLoop loop{steps.from ? steps.from->expr() : Expr(), steps.count, 0};
  if (!steps.axis.empty() || steps.count != -1) {
    const auto dim = std::find_if(axes.begin(), axes.end(), [&](const AxisRef &axis) {
      const auto *label = std::get_if<std::string>(&axis.value());
      return label != nullptr && *label == steps.axis;
    });
    if (dim == axes.end())
      support::fail("E0031",
                    "let '" + name + "' has no axis '" + steps.axis + "' to count steps of", where,
                    "name one of its dims");
    if (steps.count < 1 || steps.count > most_steps)
      support::fail("E0031", "a let goes on for 1 to 2^40 steps", where,
                    "say how many there are: {.axis = \"t\", .count = 100}");
    loop.counted_dim = std::size_t(dim - axes.begin());
    loop.said = make_said(name, {{steps.axis, {steps.count, {}, {}}}}, [&] { return where; });
  }
  loop.store = steps.store;
  return make_let(std::move(name), value.expr(), where, std::move(axes), std::move(loop));
}

Expr Operand::boolean(bool value, const std::source_location &where) {
  Number number;
  number.kind = Number::Kind::Bool;
  number.integer = value;
  return make_literal(number, place_of(where));
}

Expr Operand::integer(std::int64_t value, bool too_large, const std::source_location &where) {
  Number number;
  number.integer = value;
  number.too_large = too_large;
  return make_literal(number, place_of(where));
}

Expr Operand::real(double value, const std::source_location &where) {
  Number number;
  number.kind = Number::Kind::Float;
  number.real = value;
  return make_literal(number, place_of(where));
}

Expr Operand::complex(double real, double imaginary, const std::source_location &where) {
  if (!std::isfinite(imaginary))
    support::fail("E0006", "the imaginary part of a number is not finite", place_of(where),
                  "make it of an input, or compute it");
  Number number;
  number.kind = Number::Kind::Imaginary;
  // As `-2j` it would be a negated 2j, whose real part is -0: it is 0 - 2j.
  number.real = std::abs(imaginary);
  const bool minus = imaginary < 0;
  const Expr imaginary_part = make_literal(number, place_of(where));
  if (real == 0 && !minus) return imaginary_part;
  const Expr real_part = Operand::real(real, where);
  return make_op(minus ? ops::Op::Sub : ops::Op::Add, {real_part, imaginary_part}, place_of(where));
}

namespace {

// "i?" is the label i, and the dim may be 1 where others have more.
void read_stretch(Dim &dim) {
  if (dim.extent != -1 || dim.label.size() < 2 || dim.label.back() != '?') return;
  dim.label.pop_back();
  dim.extent = expr::may_be_one;
}

Expr declared(std::string name, DType dtype, std::vector<Dim> dims, InputRole role, Place where) {
  for (Dim &dim : dims) read_stretch(dim);
  static std::atomic<std::uint64_t> made{0};
  auto decl = std::make_shared<InputDecl>();
  decl->created = made.fetch_add(1, std::memory_order_relaxed) + 1;
  decl->name = std::move(name);
  decl->dtype = dtype;
  decl->dims = std::move(dims);
  decl->role = role;
  decl->where = where;
  return make_input(std::move(decl), std::move(where));
}

} // namespace

Expr input(std::string name, DType dtype, std::vector<Dim> dims, std::source_location where) {
  return declared(std::move(name), dtype, std::move(dims), InputRole::plain, place_of(where));
}

Expr param(std::string name, DType dtype, std::vector<Dim> dims, std::source_location where) {
  return declared(std::move(name), dtype, std::move(dims), InputRole::parameter, place_of(where));
}

Expr state(std::string name, DType dtype, std::vector<Dim> dims, std::source_location where) {
  return declared(std::move(name), dtype, std::move(dims), InputRole::state, place_of(where));
}

Expr state_like(std::string name, const Expr &input, std::source_location where) {
  if (!input.node() || input.node()->kind != ExprKind::Input || input.node()->input->window)
    support::fail("E0308", "a state is like an input, and this expression is none", place_of(where),
                  "pass what bl::input, bl::param or bl::state returned");
  const InputDecl &like = *input.node()->input;
  const Expr made = state(std::move(name), like.dtype, like.dims, where);
  if (like.placement == Placement::ByOrder) return made;
  auto decl = std::make_shared<InputDecl>(*made.node()->input);
  decl->placement = like.placement;
  decl->axes = like.axes;
  return make_input(std::move(decl), place_of(where));
}

std::string_view name(const Expr &input) {
  const bool is_input = input.node() && input.node()->kind == ExprKind::Input;
  return is_input ? std::string_view(input.node()->input->name) : std::string_view();
}

Expr detail::input_of_rank(std::string name, DType dtype, int rank, std::source_location where) {
  if (rank < 0)
    support::fail("E0101", "input '" + name + "' cannot have " + std::to_string(rank) + " dims",
                  place_of(where), "give the number of dims, 0 for a scalar");
  return input(std::move(name), dtype, std::vector<Dim>(std::size_t(rank)), where);
}

Expr extent(AxisRef axis, InputNames of, std::source_location where) {
  return make_extent(std::move(axis), of.names(), place_of(where));
}

Expr iota(AxisRef axis, InputNames of, std::source_location where) {
  return make_iota(std::move(axis), of.names(), place_of(where));
}

Expr cast(DType dtype, const Operand &x) { return make_cast(dtype, x.expr(), place_of(x.where())); }

using ops::Op;

Expr operator+(const Operand &a, const Operand &b) { return op(Op::Add, a, b); }
Expr operator-(const Operand &a, const Operand &b) { return op(Op::Sub, a, b); }
Expr operator*(const Operand &a, const Operand &b) { return op(Op::Mul, a, b); }
Expr operator/(const Operand &a, const Operand &b) { return op(Op::Div, a, b); }
Expr operator%(const Operand &a, const Operand &b) { return op(Op::Mod, a, b); }
Expr operator&(const Operand &a, const Operand &b) { return op(Op::BitAnd, a, b); }
Expr operator|(const Operand &a, const Operand &b) { return op(Op::BitOr, a, b); }
Expr operator<<(const Operand &a, const Operand &b) { return op(Op::Shl, a, b); }
Expr operator>>(const Operand &a, const Operand &b) { return op(Op::Shr, a, b); }
Expr operator&&(const Operand &a, const Operand &b) { return op(Op::And, a, b); }
Expr operator||(const Operand &a, const Operand &b) { return op(Op::Or, a, b); }
Expr operator==(const Operand &a, const Operand &b) { return op(Op::Eq, a, b); }
Expr operator!=(const Operand &a, const Operand &b) { return op(Op::Ne, a, b); }
Expr operator<(const Operand &a, const Operand &b) { return op(Op::Lt, a, b); }
Expr operator<=(const Operand &a, const Operand &b) { return op(Op::Le, a, b); }
Expr operator>(const Operand &a, const Operand &b) { return op(Op::Gt, a, b); }
Expr operator>=(const Operand &a, const Operand &b) { return op(Op::Ge, a, b); }
Expr operator-(const Operand &a) { return op(Op::Neg, a); }
Expr operator!(const Operand &a) { return op(Op::Not, a); }
Expr operator~(const Operand &a) { return op(Op::BitNot, a); }

Expr floor_divide(const Operand &a, const Operand &b) { return op(Op::FloorDiv, a, b); }
Expr bitwise_xor(const Operand &a, const Operand &b) { return op(Op::BitXor, a, b); }
Expr pow(const Operand &base, const Operand &exponent) { return op(Op::Pow, base, exponent); }
Expr maximum(const Operand &a, const Operand &b) { return op(Op::Maximum, a, b); }
Expr minimum(const Operand &a, const Operand &b) { return op(Op::Minimum, a, b); }
Expr fmax(const Operand &a, const Operand &b) { return op(Op::Fmax, a, b); }
Expr fmin(const Operand &a, const Operand &b) { return op(Op::Fmin, a, b); }
Expr where(const Operand &condition, const Operand &yes, const Operand &no) {
  return op(Op::Where, condition, yes, no);
}
Expr clip(const Operand &x, const Operand &low, const Operand &high) {
  return op(Op::Clip, x, low, high);
}
Expr abs(const Operand &x) { return op(Op::Abs, x); }
Expr sign(const Operand &x) { return op(Op::Sign, x); }
Expr floor(const Operand &x) { return op(Op::Floor, x); }
Expr ceil(const Operand &x) { return op(Op::Ceil, x); }
Expr round(const Operand &x) { return op(Op::Round, x); }
Expr trunc(const Operand &x) { return op(Op::Trunc, x); }
Expr sqrt(const Operand &x) { return op(Op::Sqrt, x); }
Expr square(const Operand &x) { return op(Op::Square, x); }
Expr reciprocal(const Operand &x) { return op(Op::Reciprocal, x); }
Expr relu(const Operand &x) { return op(Op::Relu, x); }
Expr exp(const Operand &x) { return op(Op::Exp, x); }
Expr exp2(const Operand &x) { return op(Op::Exp2, x); }
Expr expm1(const Operand &x) { return op(Op::Expm1, x); }
Expr log(const Operand &x) { return op(Op::Log, x); }
Expr log2(const Operand &x) { return op(Op::Log2, x); }
Expr log10(const Operand &x) { return op(Op::Log10, x); }
Expr log1p(const Operand &x) { return op(Op::Log1p, x); }
Expr sin(const Operand &x) { return op(Op::Sin, x); }
Expr cos(const Operand &x) { return op(Op::Cos, x); }
Expr tan(const Operand &x) { return op(Op::Tan, x); }
Expr asin(const Operand &x) { return op(Op::Asin, x); }
Expr acos(const Operand &x) { return op(Op::Acos, x); }
Expr atan(const Operand &x) { return op(Op::Atan, x); }
Expr atan2(const Operand &y, const Operand &x) { return op(Op::Atan2, y, x); }
Expr sinh(const Operand &x) { return op(Op::Sinh, x); }
Expr cosh(const Operand &x) { return op(Op::Cosh, x); }
Expr tanh(const Operand &x) { return op(Op::Tanh, x); }
Expr asinh(const Operand &x) { return op(Op::Asinh, x); }
Expr acosh(const Operand &x) { return op(Op::Acosh, x); }
Expr atanh(const Operand &x) { return op(Op::Atanh, x); }
Expr cbrt(const Operand &x) { return op(Op::Cbrt, x); }
Expr erf(const Operand &x) { return op(Op::Erf, x); }
Expr erfc(const Operand &x) { return op(Op::Erfc, x); }
Expr lgamma(const Operand &x) { return op(Op::Lgamma, x); }
Expr rsqrt(const Operand &x) { return op(Op::Rsqrt, x); }
Expr sigmoid(const Operand &x) { return op(Op::Sigmoid, x); }
Expr softplus(const Operand &x) { return op(Op::Softplus, x); }
Expr gelu(const Operand &x) { return op(Op::Gelu, x); }
Expr gelu_tanh(const Operand &x) { return op(Op::GeluTanh, x); }
Expr silu(const Operand &x) { return op(Op::Silu, x); }
Expr digamma(const Operand &x) { return op(Op::Digamma, x); }
Expr polygamma(const Operand &n, const Operand &x) { return op(Op::Polygamma, n, x); }
Expr logaddexp(const Operand &x, const Operand &y) { return op(Op::LogAddExp, x, y); }
Expr fma(const Operand &a, const Operand &b, const Operand &c) { return op(Op::Fma, a, b, c); }
Expr keep(const Operand &x) { return op(Op::Keep, x); }
Expr recompute(const Operand &x) { return op(Op::Recompute, x); }
Expr hypot(const Operand &x, const Operand &y) { return op(Op::Hypot, x, y); }
Expr fmod(const Operand &x, const Operand &y) { return op(Op::Fmod, x, y); }
Expr copysign(const Operand &magnitude, const Operand &sign) {
  return op(Op::CopySign, magnitude, sign);
}
Expr isnan(const Operand &x) { return op(Op::IsNan, x); }
Expr isinf(const Operand &x) { return op(Op::IsInf, x); }
Expr isfinite(const Operand &x) { return op(Op::IsFinite, x); }
Expr real(const Operand &x) { return op(Op::Real, x); }
Expr imag(const Operand &x) { return op(Op::Imag, x); }
Expr conj(const Operand &x) { return op(Op::Conj, x); }

} // namespace broadloom

// The product of all other elements, without division: those before it times those after it.
//
//   x = 2 0 4      before 1 2 0      after 0 4 1      others 0 8 0
//
// Products are carried as (mantissa, exponent), so that only a result that is itself too small or too large
// ends at 0 or inf: of 1e-170 1e-170 1e170 the others are 1, 1 and 0 (1e-340). The exponent counts powers of
// 2^512; a mantissa stays between 2^-256 and 2^512.
#include "grad/folds.hpp"

#include "support/fail.hpp"

#include <cmath>

namespace broadloom::grad {
namespace {

using ops::Op;

const Terms t{Place{}};

Expr real(double value) {
  Number number;
  number.kind = Number::Kind::Float;
  number.real = value;
  return make_literal(number, {});
}

const double step = std::ldexp(1.0, 512), upper = std::ldexp(1.0, 256), lower = 1 / upper;

Expr is_large(const Expr &x) { return t.op(Op::Ge, {t.op(Op::Abs, {x}), real(upper)}); }
Expr is_small(const Expr &x) {
  return t.both(t.op(Op::Lt, {t.op(Op::Abs, {x}), real(lower)}), t.op(Op::Ne, {x, t.num(0)}));
}
Expr scaled(const Expr &x) {
  return t.where(is_large(x), t.mul(real(1 / step), x),
                 t.where(is_small(x), t.mul(real(step), x), x));
}
// What the exponent changes by when x is scaled.
Expr shift(const Expr &x) {
  return t.where(is_large(x), t.num(1), t.where(is_small(x), t.num(-1), t.num(0)));
}

struct Parts {
  Expr mantissa, exponent; // f64, i64
};

Parts multiply(const Parts &a, const Parts &b) {
  const Expr product = t.mul(a.mantissa, b.mantissa);
  return {scaled(product), t.add(t.add(a.exponent, b.exponent), shift(product))};
}

// product_mantissa and product_exponent are one accumulator with different results.
Accumulator product_parts(const std::string &name, bool exponent) {
  const Expr m = make_parameter("m", {}), e = make_parameter("e", {});
  const Parts now{m, e};
  const Parts next = multiply(now, {make_parameter("x", {}), make_parameter("f", {})});
  const Parts both = multiply(now, {make_parameter("m_other", {}), make_parameter("e_other", {})});
  return accumulator(name, {"m", "e"}, {"x", "f"})
      .init("m", real(1))
      .init("e", t.num(0))
      .step("m", next.mantissa)
      .step("e", next.exponent)
      .combine("m", both.mantissa)
      .combine("e", both.exponent)
      .result(exponent ? e : m);
}

class Others {
public:
  Others(Facts &facts, const ExprNode &fold)
      : facts_(facts), where_(fold.where), mantissa_(parts("product_mantissa", false)),
        exponent_(parts("product_exponent", true)) {}

  // Along the last axis within its row, times the other rows.
  Parts of(Parts x, std::vector<int> axes) {
    const AxisRef along = facts_.axis_ref(axes.back());
    axes.pop_back();
    const Parts result = multiply(scan(x, along, false), scan(x, along, true));
    if (axes.empty()) return result;
    return multiply(result, of(fold(x, along), axes));
  }

private:
  Accumulator parts(const std::string &name, bool exponent) {
    return facts_.helper(name,
                         [&](const std::string &free) { return product_parts(free, exponent); });
  }
  Parts scan(const Parts &x, const AxisRef &along, bool from_end) const {
    FoldUse use;
    use.accumulator = mantissa_;
    use.exclusive = true;
    use.reverse = from_end;
    use.state = "m";
    const Expr m = make_scan(use, {x.mantissa, x.exponent}, along, where_);
    use.state = "e";
    return {m, make_scan(use, {x.mantissa, x.exponent}, along, where_)};
  }
  Parts fold(const Parts &x, const AxisRef &along) const {
    FoldUse m, e;
    m.accumulator = mantissa_;
    e.accumulator = exponent_;
    return {make_fold(m, {x.mantissa, x.exponent}, {along}, where_),
            make_fold(e, {x.mantissa, x.exponent}, {along}, where_)};
  }

  Facts &facts_;
  Place where_;
  Accumulator mantissa_, exponent_;
};

// The number again: in four steps of 2^512 at most, so that none of them overflows too early.
Expr value_of(const Parts &x) {
  Expr value = x.mantissa;
  for (int k = 1; k <= 4; ++k) {
    const Expr up = t.op(Op::Ge, {x.exponent, t.num(k)});
    const Expr down = t.op(Op::Le, {x.exponent, t.num(-k)});
    value = t.mul(value, t.where(up, real(step), t.where(down, real(1 / step), real(1))));
  }
  return value;
}

// The axes that a fold folds, whatever the extents of a call.
AxisSet folded_axes(Facts &facts, const Expr &x, const ExprNode &fold) {
  AxisSet folded;
  for (int axis = 0; axis < expr::max_axes; ++axis) {
    if (!facts.axes(x).has(axis)) continue;
    switch (folds(facts, x, fold, axis)) {
    case Folds::Always: folded = folded | AxisSet::of(axis); break;
    case Folds::Never: break;
    case Folds::AsCalled:
      support::fail("E0601",
                    "whether 'prod(.., like=" + fold.use->like + ")' folds axis " +
                        facts.space().axis_name(axis) +
                        " depends on the call: it has no derivative",
                    facts.space().shown(fold.where), "name the axes that it folds");
    }
  }
  return folded;
}

} // namespace

Expr product_of_others(Facts &facts, const Expr &x, const ExprNode &fold) {
  const AxisSet folded = folded_axes(facts, x, fold);
  std::vector<int> list;
  for (int axis = 0; axis < expr::max_axes; ++axis)
    if (folded.has(axis)) list.push_back(axis);
  if (list.empty()) return t.num(1);
  // Scaled twice: a subnormal number may need it.
  const Expr wide = make_cast(facts.is_complex(x) ? DType::C128 : DType::F64, x, fold.where);
  const Parts parts = multiply({wide, t.num(0)}, {real(1), t.num(0)});
  return value_of(Others(facts, fold).of(multiply(parts, {real(1), t.num(0)}), list));
}

} // namespace broadloom::grad

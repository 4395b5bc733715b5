// The product of all other elements, without division: those before it times those after it.
//
//   x = 2 0 4      before 1 2 0      after 0 4 1      others 0 8 0
//
// Products are carried as (mantissa, exponent), so that only a result that is itself too small or too large
// ends at 0 or inf: of 1e-170 1e-170 1e170 the others are 1, 1 and 0 (1e-340). The exponent counts powers of 2^512, and a
// mantissa stays between 2^-256 and 2^256, so that a product of two is one factor away from there, and so is that with an f32 as
// it is: nothing has to be taken apart before the scan. Powers of two round nothing, so it is of no matter when they are taken out.
// A number has one such form, so it is of no matter either in which order the factors met.
//
// The parts of a complex number may differ in size by any factor: it is the larger one that is brought there.
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

struct Parts {
  Expr mantissa, exponent; // f64 or c128, i64
};

// How numbers of a kind are carried.
struct Scale {
  const char *mantissa, *exponent; // accumulators: one, with different results
  bool complex;
};
const Scale real_scale{"product_mantissa", "product_exponent", false};
const Scale complex_scale{"complex_mantissa", "complex_exponent", true};

const double upper = std::ldexp(1.0, 256); // of a mantissa, and 1 / upper is the least
const double factor = upper * upper;       // what an exponent counts
constexpr int most_factors = 4; // up or down, beyond which every product of two mantissas is inf or 0

Expr below(const Expr &x, double bound) { return t.op(Op::Lt, {t.op(Op::Abs, {x}), real(bound)}); }
Expr from(const Expr &x, double bound) { return t.op(Op::Ge, {t.op(Op::Abs, {x}), real(bound)}); }

// In range again after a product, or on the way there.
Parts settled(const Parts &x) {
  const Expr large = from(x.mantissa, upper);
  const Expr small = t.both(below(x.mantissa, 1 / upper), t.op(Op::Ne, {x.mantissa, t.num(0)}));
  return {t.where(large, t.mul(real(1 / factor), x.mantissa),
                  t.where(small, t.mul(real(factor), x.mantissa), x.mantissa)),
          t.add(x.exponent, t.where(large, t.num(1), t.where(small, t.num(-1), t.num(0))))};
}

// A number of this type: f32 is no smaller than 2^-149, and needs no factor; f64 is no smaller than 2^-1074.
Parts parts_of(const Expr &x, bool narrow) {
  const Parts parts{x, t.num(0)};
  return narrow ? parts : settled(settled(parts));
}

Parts product(const Parts &a, const Parts &b) {
  return {t.mul(a.mantissa, b.mantissa), t.add(a.exponent, b.exponent)};
}
Parts multiply(const Parts &a, const Parts &b) { return settled(product(a, b)); }

Accumulator product_parts(const std::string &name, bool exponent) {
  const Expr m = make_parameter("m", {}), e = make_parameter("e", {});
  const Parts now{m, e};
  const Parts next = multiply(now, {make_parameter("x", {}), make_parameter("f", {})});
  const Parts both =
      multiply(now, {make_parameter("m_other", {}), make_parameter("e_other", {})});
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
  Others(Facts &facts, const ExprNode &fold, const Scale &scale)
      : facts_(facts), where_(fold.where), scale_(scale), mantissa_(parts(scale.mantissa, false)),
        exponent_(parts(scale.exponent, true)) {}

  // Along the last axis within its row, times the other rows.
  Parts of(Parts x, std::vector<int> axes) {
    const AxisRef along = facts_.axis_ref(axes.back());
    axes.pop_back();
    const Parts before = scan(x, along, false), after = scan(x, along, true);
    // Not settled: that may be one factor more at the end.
    if (axes.empty() && !scale_.complex) return product(before, after);
    const Parts result = multiply(before, after);
    return axes.empty() ? result : multiply(result, of(fold(x, along), axes));
  }

private:
  Accumulator parts(const std::string &name, bool exponent) {
    return facts_.helper(
        name, [&](const std::string &free) { return product_parts(free, exponent); });
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
  const Scale &scale_;
  Accumulator mantissa_, exponent_;
};

// The number again: all factors go one way, so that none of them overflows too early, and only the last one that leaves anything
// rounds.
Expr value_of(const Parts &x) {
  const Expr count = t.op(Op::Abs, {x.exponent});
  const Expr one =
      t.where(t.op(Op::Lt, {x.exponent, t.num(0)}), real(1 / factor), real(factor));
  Expr value = x.mantissa;
  for (int k = 1; k <= most_factors; ++k)
    value = t.where(t.op(Op::Ge, {count, t.num(k)}), t.mul(value, one), value);
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
  const DType dtype = facts.dtype(x);
  const Scale &scale = broadloom::is_complex(dtype) ? complex_scale : real_scale;
  const Expr wide = make_cast(scale.complex ? DType::C128 : DType::F64, x, fold.where);
  const Parts parts = parts_of(wide, !scale.complex && dtype != DType::F64);
  return value_of(Others(facts, fold, scale).of(parts, list));
}

} // namespace broadloom::grad

// The product of all other elements, without division: those before it times those after it.
//
//   x = 2 0 4      before 1 2 0      after 0 4 1      others 0 8 0
//
// Products are carried as (mantissa, exponent), so that only a result that is itself too small or
// too large ends at 0 or inf: of 1e-170 1e-170 1e170 the others are 1, 1 and 0 (1e-340). The
// exponent counts powers of 2^256, and a mantissa stays between 1 and 2^256, so that a product of
// two can only be too large: one comparison and one factor. Powers of two round nothing, so it is
// of no matter when they are taken out.
//
// The parts of a complex number may differ in size by any factor, and what brings the larger one to
// 1 could lose the smaller one. So those are let be between 2^-256 and 2^256, and their exponents
// count powers of 2^512.
#include "grad/folds.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"

#include <cmath>

namespace broadloom::grad {
namespace {

using ops::Op;

const facts::Terms t{Place{}};

Expr real(double value) {
  Number number;
  number.kind = Number::Kind::Float;
  number.real = value;
  return make_literal(number, {});
}

struct Factored {
  Expr mantissa, exponent; // f64 or c128, i64
};

// How numbers of a kind are carried.
struct Scale {
  const char *mantissa, *exponent; // accumulators: one, with different results
  double step, upper;              // what the exponent counts; mantissas stay below
  bool complex;
};
const double half = std::ldexp(1.0, 256);
const Scale real_scale{"product_mantissa", "product_exponent", half, half, false};
const Scale complex_scale{"complex_mantissa", "complex_exponent", half *half, half, true};

// So many steps are taken out of it, or put in where they are negative, where the condition holds.
Factored moved(const Scale &scale, const Factored &x, const Expr &when, int steps) {
  return {t.where(when, t.mul(real(std::pow(scale.step, -steps)), x.mantissa), x.mantissa),
          t.add(x.exponent, t.where(when, t.num(steps), t.num(0)))};
}

Expr below(const Expr &x, double bound) { return t.op(Op::Lt, {t.op(Op::Abs, {x}), real(bound)}); }
Expr from(const Expr &x, double bound) { return t.op(Op::Ge, {t.op(Op::Abs, {x}), real(bound)}); }

// In range again after a product, or on the way there.
Factored settled(const Scale &scale, const Factored &x) {
  const Expr large = from(x.mantissa, scale.upper);
  if (!scale.complex) return moved(scale, x, large, 1);
  const Expr small =
      t.both(below(x.mantissa, 1 / scale.upper), t.op(Op::Ne, {x.mantissa, t.num(0)}));
  return {t.where(large, t.mul(real(1 / scale.step), x.mantissa),
                  t.where(small, t.mul(real(scale.step), x.mantissa), x.mantissa)),
          t.add(x.exponent, t.where(large, t.num(1), t.where(small, t.num(-1), t.num(0))))};
}

// A number of this type: f32 is no smaller than 2^-149 and f64 than 2^-1074. A 0 may have any
// exponent; that of f64 has none, as the slope of five steps up is too large, and that of five
// steps down is 0 before they are undone.
Factored parts_of(const Scale &scale, const Expr &x, bool narrow) {
  Factored parts{x, t.num(0)};
  if (scale.complex) return settled(scale, settled(scale, parts));
  if (narrow) return moved(scale, parts, below(x, 1), -1);
  parts = moved(scale, parts, from(parts.mantissa, half * half), 2); // of 2^1024
  parts = moved(scale, parts, from(parts.mantissa, half), 1);
  const Expr some = t.op(Op::Ne, {x, t.num(0)});
  const auto small = [&](double bound) { return t.both(below(parts.mantissa, bound), some); };
  parts = moved(scale, parts, small(1 / (half * half)), -2); // of 2^-1074
  parts = moved(scale, parts, small(1 / half), -2);          // of 2^-562
  return moved(scale, parts, small(1), -1);
}

Factored product(const Factored &a, const Factored &b) {
  return {t.mul(a.mantissa, b.mantissa), t.add(a.exponent, b.exponent)};
}
Factored multiply(const Scale &scale, const Factored &a, const Factored &b) {
  return settled(scale, product(a, b));
}

Accumulator product_parts(const Scale &scale, const std::string &name, bool exponent) {
  const Expr m = make_parameter("m", {}), e = make_parameter("e", {});
  const Factored now{m, e};
  const Factored next = multiply(scale, now, {make_parameter("x", {}), make_parameter("f", {})});
  const Factored both =
      multiply(scale, now, {make_parameter("m_other", {}), make_parameter("e_other", {})});
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
  Others(facts::Facts &facts, const ExprNode &fold, const Scale &scale)
      : facts_(facts), where_(fold.where), scale_(scale), mantissa_(parts(scale.mantissa, false)),
        exponent_(parts(scale.exponent, true)) {}

  // Along the last axis within its row, times the other rows.
  Factored of(Factored x, std::vector<int> axes) {
    const AxisRef along = facts_.axis_ref(axes.back());
    axes.pop_back();
    const Factored before = scan(x, along, false), after = scan(x, along, true);
    // Below 2^512, and not settled: that is one step more at the end.
    if (axes.empty() && !scale_.complex) return product(before, after);
    const Factored result = multiply(scale_, before, after);
    return axes.empty() ? result : multiply(scale_, result, of(fold(x, along), axes));
  }

private:
  Accumulator parts(const std::string &name, bool exponent) {
    return facts_.helper(
        name, [&](const std::string &free) { return product_parts(scale_, free, exponent); });
  }
  Factored scan(const Factored &x, const AxisRef &along, bool from_end) const {
    FoldUse use;
    use.accumulator = mantissa_;
    use.exclusive = true;
    use.reverse = from_end;
    use.state = "m";
    const Expr m = make_scan(use, {x.mantissa, x.exponent}, along, where_);
    use.state = "e";
    return {m, make_scan(use, {x.mantissa, x.exponent}, along, where_)};
  }
  Factored fold(const Factored &x, const AxisRef &along) const {
    FoldUse m, e;
    m.accumulator = mantissa_;
    e.accumulator = exponent_;
    return {make_fold(m, {x.mantissa, x.exponent}, {along}, where_),
            make_fold(e, {x.mantissa, x.exponent}, {along}, where_)};
  }

  facts::Facts &facts_;
  Place where_;
  const Scale &scale_;
  Accumulator mantissa_, exponent_;
};

// The number again: all steps go one way, so that none of them overflows too early, and only the
// last one that leaves anything rounds. Four of 2^512 leave nothing of a product of two mantissas,
// or are too much for it; real numbers have half steps, too.
//
// What is narrow needs nothing below 2^-512 or from 2^1024 on. There two steps of 2^1022 leave
// nothing, whatever the mantissas are: others would end at subnormal numbers on the way, of which
// each takes a processor 100 cycles.
Expr value_of(const Scale &scale, const Factored &x, bool narrow) {
  Expr count = t.op(Op::Abs, {x.exponent});
  const Expr down = t.op(Op::Lt, {x.exponent, t.num(0)});
  const int whole = scale.complex ? 1 : 2; // steps
  Expr value = x.mantissa;
  const auto move = [&](const Expr &when, const Expr &less, double more) {
    value = t.where(when, t.mul(value, t.where(down, less, real(more))), value);
  };
  const auto from = [&](int steps) { return t.op(Op::Ge, {count, t.num(steps * whole)}); };
  const double step = scale.step, step_whole = std::pow(step, whole);
  Expr less = real(1 / step_whole);
  if (narrow) {
    count = t.op(Op::Minimum, {count, t.num(2 * whole)});
    const Expr least = real(0x1p-1022);
    move(from(2), least, 0x1p1022);
    less = t.where(from(2), least, less);
  }
  if (whole > 1)
    move(t.op(Op::Ne, {t.op(Op::BitAnd, {count, t.num(1)}), t.num(0)}), real(1 / step), step);
  for (int k = 1; k <= (narrow ? 1 : 4); ++k) move(from(k), less, step_whole);
  return value;
}

// The axes that a fold folds, whatever the extents of a call.
expr::AxisSet folded_axes(facts::Facts &facts, const Expr &x, const ExprNode &fold) {
  expr::AxisSet folded;
  for (const int axis : facts.axes(x)) {
    switch (folds(facts, x, fold, axis)) {
    case Folds::Always: folded = folded | expr::AxisSet::of(axis); break;
    case Folds::Never: break;
    case Folds::AsCalled:
      support::fail("E0601",
                    "whether 'prod(.., like=" + support::tuple(fold.use->like) + ")' folds axis " +
                        facts.space().axis_name(axis) +
                        " depends on the call: it has no derivative",
                    facts.space().shown(fold.where), "name the axes that it folds");
    }
  }
  return folded;
}

} // namespace

Expr product_of_others(facts::Facts &facts, const Expr &x, const ExprNode &fold) {
  const expr::AxisSet folded = folded_axes(facts, x, fold);
  if (folded.empty()) return t.num(1);
  const DType dtype = facts.dtype(x);
  const Scale &scale = broadloom::is_complex(dtype) ? complex_scale : real_scale;
  const Expr wide = make_cast(scale.complex ? DType::C128 : DType::F64, x, fold.where);
  const bool narrow = !scale.complex && dtype != DType::F64;
  const Factored parts = parts_of(scale, wide, narrow);
  return value_of(scale, Others(facts, fold, scale).of(parts, folded.list()), narrow);
}

} // namespace broadloom::grad

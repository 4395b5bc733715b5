// See random_expression.hpp.
#include "random_expression.hpp"

namespace broadloom::differential {

using ops::Op;

namespace {

constexpr int most_products = 3; // in one exact expression

std::string call(std::string_view function, const std::vector<Term> &args) {
  std::string text(function);
  for (std::size_t k = 0; k < args.size(); ++k) text += (k == 0 ? "(" : ", ") + args[k].text;
  return text + ")";
}

std::string infix(const Term &a, std::string_view sign, const Term &b) {
  return "(" + a.text + " " + std::string(sign) + " " + b.text + ")";
}

bool is_whole(DType d) { return is_integer(d) || d == DType::Bool; }

} // namespace

Term Expressions::term(int depth) {
  if (depth <= 0) return leaf();
  switch (random_.below(20)) {
  case 0:
  case 1:
  case 2: return leaf();
  case 3:
  case 4:
  case 5:
  case 6: return unary(depth);
  case 7:
  case 8: return scope_.smooth ? unary(depth) : comparison(depth);
  case 9:
  case 10: return choice(depth);
  case 11: return conversion(depth);
  case 12:
  case 13: return reduction(depth);
  case 14: return random_.chance(80) ? scan(depth) : share(depth);
  default: return binary(depth);
  }
}

Term Expressions::leaf() {
  if (random_.chance(92)) return random_.pick(scope_.terms);
  const int axis = random_.below(int(scope_.axis_names.size()) + 1) - 1;
  if (axis < 0) return random_.pick(scope_.terms);
  const std::string &name = scope_.axis_names[std::size_t(axis)];
  Term out;
  out.dtype = i64;
  out.product = true; // an index is as large as its axis
  out.text = "iota(" + name + ")";
  out.axes = expr::AxisSet::of(axis);
  if (random_.chance(50)) return out;
  out.axes = {};
  out.text = "extent(" + name + ")";
  if (random_.chance(25))
    out.text = "extent(" + name + ", of=" + random_.pick(scope_.input_names) + ")";
  return out;
}

// The result's type by the table; where the types do not fit, the first argument alone.
Term Expressions::combine(Op op, std::string text, const std::vector<Term> &args) const {
  std::vector<DType> types;
  Term out;
  for (const Term &a : args) {
    types.push_back(a.dtype);
    out.axes = out.axes | a.axes;
    out.product |= a.product;
    out.inexact |= a.inexact;
  }
  const ops::Typing typing = ops::type_of(op, types);
  if (!typing.error.empty()) return args[0];
  out.dtype = typing.result;
  out.text = std::move(text);
  return out;
}

std::string Expressions::number(DType like) {
  if (is_float(like)) return random_.pick<std::string>({"0.5", "2", "1", "-1", "0", "-0.5"});
  if (is_complex(like))
    return random_.pick<std::string>({"0.5", "2", "1", "-1", "0", "2j", "0.5j", "(1 - 2j)"});
  if (is_unsigned_integer(like)) return random_.pick<std::string>({"0", "1", "2"});
  return random_.pick<std::string>({"0", "1", "2", "-1", "-2"});
}

Term Expressions::unary(int depth) {
  Term x = term(depth - 1);
  if (random_.chance(8)) { // the same value
    x.text = (random_.chance(60) ? scope_.mark : "itself") + "(" + x.text + ")";
    return x;
  }
  if (x.dtype == DType::Bool) {
    const Op op = random_.chance(50) ? Op::Not : Op::BitNot;
    return combine(op, std::string(ops::info(op).spelling) + x.text, {x});
  }
  if (scope_.smooth) return smooth_unary(x);
  if (is_complex(x.dtype)) {
    std::vector<Op> choices{Op::Neg, Op::Conj, Op::Real, Op::Imag, Op::IsNan, Op::Square};
    if (!scope_.exact && !scope_.large)
      choices.insert(choices.end(), {Op::Abs, Op::Sign, Op::Reciprocal, Op::Sqrt, Op::Exp, Op::Log,
                                     Op::Sin, Op::Cos, Op::Tanh, Op::IsInf, Op::IsFinite});
    const Op op = random_.pick(choices);
    if (op == Op::Square && ++products_ > most_products && scope_.exact) return x;
    const std::string_view name = ops::info(op).spelling;
    return combine(op, std::string(name) + "(" + x.text + ")", {x});
  }
  std::vector<Op> choices{Op::Neg, Op::Abs, Op::Sign, Op::Relu, Op::Square};
  if (is_whole(x.dtype)) choices.push_back(Op::BitNot);
  if (is_float(x.dtype))
    choices.insert(choices.end(), {Op::Floor, Op::Ceil, Op::Round, Op::Trunc, Op::IsNan});
  if (scope_.large && !scope_.exact)
    choices.insert(choices.end(), {Op::Sqrt, Op::Exp, Op::Log, Op::Tanh, Op::Reciprocal});
  else if (!scope_.exact)
    choices.insert(choices.end(),
                   {Op::Sqrt,       Op::Exp,      Op::Log,    Op::Sin,     Op::Cos,  Op::Tanh,
                    Op::Reciprocal, Op::Exp2,     Op::Log1p,  Op::Atan,    Op::Erf,  Op::Cbrt,
                    Op::IsFinite,   Op::IsInf,    Op::Rsqrt,  Op::Sigmoid, Op::Silu, Op::Softplus,
                    Op::Gelu,       Op::GeluTanh, Op::Digamma});
  const Op op = random_.pick(choices);
  if (op == Op::Square && ++products_ > most_products && scope_.exact) return x;
  const std::string_view name = ops::info(op).spelling;
  if (ops::info(op).form == ops::Form::Prefix)
    return combine(op, std::string(name) + "(" + x.text + ")", {x});
  return combine(op, call(name, {x}), {x});
}

Term Expressions::smooth_unary(const Term &x) {
  std::vector<Op> choices{Op::Neg, Op::Square, Op::Sqrt, Op::Exp,  Op::Log,        Op::Sin,
                          Op::Cos, Op::Tanh,   Op::Sqrt, Op::Conj, Op::Reciprocal, Op::Abs};
  if (is_complex(x.dtype))
    choices.insert(choices.end(), {Op::Real, Op::Imag, Op::Sign});
  else
    choices.insert(choices.end(),
                   {Op::Relu,     Op::Cbrt,  Op::Rsqrt, Op::Exp2,   Op::Expm1,    Op::Log2,
                    Op::Log10,    Op::Log1p, Op::Tan,   Op::Asin,   Op::Acos,     Op::Atan,
                    Op::Sinh,     Op::Cosh,  Op::Asinh, Op::Acosh,  Op::Atanh,    Op::Sigmoid,
                    Op::Softplus, Op::Silu,  Op::Gelu,  Op::Erf,    Op::GeluTanh, Op::Erfc,
                    Op::Lgamma,   Op::Floor, Op::Sign,  Op::Digamma});
  const Op op = random_.pick(choices);
  const std::string_view name = ops::info(op).spelling;
  return combine(op, std::string(name) + "(" + x.text + ")", {x});
}

Term Expressions::binary(int depth) {
  const Term x = term(depth - 1);
  Term y = term(depth - 1);
  if (random_.chance(25) && x.dtype != DType::Bool) {
    y = Term{};
    y.text = number(x.dtype);
    y.dtype = x.dtype;
  }
  const DType type = promote(x.dtype, y.dtype);
  std::vector<Op> choices{Op::Add, Op::Sub, Op::Mul, Op::Maximum, Op::Minimum, Op::Add, Op::Mul};
  if (is_complex(type)) {
    choices = {Op::Add, Op::Sub, Op::Mul};
    if (!scope_.exact && !scope_.large) choices.insert(choices.end(), {Op::Div, Op::Pow});
  } else if (scope_.smooth) {
    choices.insert(choices.end(),
                   {Op::Mul, Op::Div, Op::Div, Op::Sub, Op::Fmax, Op::Fmin, Op::Mod, Op::CopySign,
                    Op::Pow, Op::Pow, Op::Atan2, Op::Hypot, Op::Fmod, Op::LogAddExp, Op::FloorDiv});
  } else if (is_whole(type)) {
    choices.insert(choices.end(),
                   {Op::BitAnd, Op::BitOr, Op::BitXor, Op::FloorDiv, Op::Mod, Op::Shr});
    if (!scope_.exact) choices.insert(choices.end(), {Op::Shl, Op::Div, Op::Fmod});
  } else {
    choices.insert(choices.end(), {Op::Fmax, Op::Fmin, Op::Mod, Op::CopySign});
    if (scope_.large && !scope_.exact)
      choices.insert(choices.end(), {Op::Div, Op::FloorDiv, Op::Pow, Op::Hypot});
    else if (!scope_.exact)
      choices.insert(choices.end(), {Op::Div, Op::Div, Op::FloorDiv, Op::Pow, Op::Atan2, Op::Hypot,
                                     Op::Fmod, Op::LogAddExp});
    // It takes microseconds for each element, and there are many of them along many axes.
    if (!scope_.exact && !scope_.large && scope_.axis_names.size() <= 4)
      choices.push_back(Op::Polygamma);
  }
  const Op op = random_.pick(choices);
  // By a small number these are stairs that no step is small enough for.
  if (scope_.smooth && (op == Op::Mod || op == Op::Fmod || op == Op::FloorDiv)) {
    y = Term{};
    y.text = "0.7";
    y.dtype = x.dtype;
  }
  if (op == Op::Mul && ++products_ > most_products && scope_.exact) return x;
  const ops::OpInfo &info = ops::info(op);
  if (op == Op::Maximum && random_.chance(50)) return combine(op, call("larger", {x, y}), {x, y});
  return combine(
      op, info.form == ops::Form::Infix ? infix(x, info.spelling, y) : call(info.spelling, {x, y}),
      {x, y});
}

Term Expressions::comparison(int depth) {
  const Term x = term(depth - 1), y = term(depth - 1);
  const bool ordered = !is_complex(x.dtype) && !is_complex(y.dtype);
  const Op op =
      ordered ? random_.pick<Op>({Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::And, Op::Or})
              : random_.pick<Op>({Op::Eq, Op::Ne, Op::And, Op::Or});
  return combine(op, infix(x, ops::info(op).spelling, y), {x, y});
}

Term Expressions::choice(int depth) {
  const Term x = term(depth - 1), y = term(depth - 1);
  if (random_.chance(25) && x.dtype != DType::Bool && !is_complex(x.dtype)) {
    const Term low{"0", x.dtype, {}}, high{"1", x.dtype, {}};
    return combine(Op::Clip, call("clip", {x, low, high}), {x, low, high});
  }
  if (random_.chance(15) && !scope_.exact && is_float(promote(x.dtype, y.dtype))) {
    const Term z = term(depth - 1);
    return combine(Op::Fma, call("fma", {x, y, z}), {x, y, z});
  }
  const Term condition = comparison(depth - 1);
  return combine(Op::Where, call("where", {condition, x, y}), {condition, x, y});
}

Term Expressions::conversion(int depth) {
  Term x = term(depth - 1);
  std::vector<DType> types{f32, f64, f16, bf16, i32, i64, bool_};
  if (scope_.smooth) types = {f32, f64, f16, bf16};
  if (!scope_.exact && !scope_.smooth) types.insert(types.end(), {u8, i16, u64});
  if (is_complex(x.dtype)) types = {c64, c128, scope_.smooth ? c128 : bool_};
  if (random_.chance(10)) types = {c64, c128};
  x.dtype = random_.pick(types);
  x.text = std::string(name(x.dtype)) + "(" + x.text + ")";
  x.plain = false;
  return x;
}

Term Expressions::folded(Term value, Fold fold) const {
  const DType dtype = value.dtype;
  const bool was_plain = value.plain;
  value.plain = false;
  switch (fold) {
  case Fold::User: // serial everywhere
    value.product = true;
    value.dtype = is_whole(dtype) ? f64 : dtype;
    return value;
  case Fold::Var:
  case Fold::Std:
  case Fold::Norm:
  case Fold::LogSumExp:
    value.inexact = value.product = true;
    value.dtype = real_dtype(ops::result_dtype(fold, dtype));
    return value;
  default: break;
  }
  const bool exact_fold = ops::is_exact(fold, ops::accumulate_dtype(fold, dtype));
  const bool plain_product = was_plain && !is_complex(dtype);
  if (!exact_fold && (!scope_.exact || value.product || (fold == Fold::Prod && !plain_product)))
    value.inexact = true;
  value.product |= fold != Fold::Sum && fold != Fold::Min && fold != Fold::Max &&
                   fold != Fold::Any && fold != Fold::All;
  value.dtype = ops::result_dtype(fold, dtype);
  return value;
}

std::string Expressions::name_of(Fold fold) {
  return fold == Fold::User ? "damped" : std::string(ops::info(fold).name);
}

std::string Expressions::own_accumulator(const Term &x, Term &out) {
  if (scope_.smooth || is_complex(x.dtype) || x.dtype == DType::Bool || random_.chance(40))
    return "damped";
  out.dtype = is_float(x.dtype) ? x.dtype : is_unsigned_integer(x.dtype) ? u64 : i64;
  out.product = x.product;
  return random_.chance(50) ? "first" : "least";
}

Fold Expressions::fold_for(DType dtype) {
  const Fold fold = random_.pick<Fold>({Fold::Sum, Fold::Sum, Fold::Sum, Fold::Prod, Fold::Min,
                                        Fold::Max, Fold::Any, Fold::All, Fold::Mean, Fold::Var,
                                        Fold::Std, Fold::Norm, Fold::LogSumExp, Fold::ArgMin,
                                        Fold::ArgMax, Fold::ArgMax, Fold::User, Fold::User});
  const bool gives_integers =
      fold == Fold::Any || fold == Fold::All || fold == Fold::ArgMin || fold == Fold::ArgMax;
  if (scope_.smooth && gives_integers) return Fold::Sum;
  const bool has_order = fold == Fold::Min || fold == Fold::Max || fold == Fold::LogSumExp ||
                         fold == Fold::ArgMin || fold == Fold::ArgMax;
  return has_order && is_complex(dtype) ? Fold::Sum : fold;
}

std::string Expressions::options(Fold fold, DType dtype, bool needs_init) {
  const bool needs_value =
      fold == Fold::Min || fold == Fold::Max || fold == Fold::ArgMin || fold == Fold::ArgMax;
  std::string text;
  if ((fold == Fold::Var || fold == Fold::Std) && random_.chance(40)) text += ", correction=1";
  if ((needs_value && needs_init) || random_.chance(12)) {
    if (fold == Fold::ArgMin || fold == Fold::ArgMax)
      text += ", init=(1, 3)";
    else if (fold == Fold::LogSumExp)
      text += ", init=(1, 2)";
    else if (fold == Fold::Any || fold == Fold::All)
      text += random_.chance(50) ? ", init=true" : ", init=false";
    else if (fold != Fold::Mean && fold != Fold::Norm && fold != Fold::Var && fold != Fold::Std)
      text += ", init=" + number(dtype);
  }
  return text;
}

// The running value along one of the axes.
Term Expressions::scan(int depth) {
  const Term x = term(depth - 1);
  std::vector<int> axes;
  for (std::size_t a = 0; a < scope_.axis_names.size(); ++a)
    if (x.axes.has(int(a))) axes.push_back(int(a));
  if (axes.empty()) return x;
  const Fold fold = fold_for(x.dtype);
  Term out = folded(x, fold);
  const std::string name = fold == Fold::User ? own_accumulator(x, out) : name_of(fold);
  const bool exclusive = random_.chance(30);
  out.text =
      "scan(" + name + ", " + x.text + ", " + scope_.axis_names[std::size_t(random_.pick(axes))];
  if (exclusive) out.text += ", exclusive";
  if (random_.chance(40)) out.text += ", reverse";
  if (random_.chance(20) && (fold == Fold::ArgMin || fold == Fold::ArgMax)) {
    out.text += ", state=v";
    out.dtype = x.dtype == DType::Bool ? i64 : ops::compute_dtype(x.dtype);
  }
  if (fold != Fold::User || name == "damped") out.text += options(fold, x.dtype, exclusive);
  if (name == "first" && random_.chance(30)) out.text += ", init=(1, true)";
  out.text += ")";
  return out;
}

// The accumulator of two arguments, over all axes of both.
Term Expressions::share(int depth) {
  const Term x = term(depth - 1), w = term(depth - 1);
  Term out;
  out.axes = {};
  if (x.axes.empty() && w.axes.empty()) return x;
  const DType common = promote(x.dtype, w.dtype);
  out.dtype = is_whole(common) ? f64 : common;
  out.text = "share((" + x.text + ", " + w.text + ")";
  for (std::size_t a = 0; a < scope_.axis_names.size(); ++a) {
    if (!(x.axes | w.axes).has(int(a))) continue;
    if (random_.chance(50))
      out.axes = out.axes | expr::AxisSet::of(int(a));
    else
      out.text += ", " + scope_.axis_names[a];
  }
  out.text += ")";
  if (out.axes == (x.axes | w.axes)) out.axes = {}; // no axis is written: all are folded
  // They enter as u64 or i64, and one of each makes floats.
  const bool whole = is_whole(x.dtype) && is_whole(w.dtype) && !is_float(common) &&
                     is_unsigned_integer(x.dtype) == is_unsigned_integer(w.dtype);
  out.inexact = x.inexact || w.inexact || !(whole || (scope_.exact && !x.product && !w.product));
  out.product = true;
  if (scope_.exact && !whole && ++products_ > most_products) out.inexact = true;
  return out;
}

// A fold in parallel blocks along one axis, of peak or linked.
Term Expressions::joined(int depth) {
  const Term x = term(depth - 1);
  const bool linked = random_.chance(50);
  const Term w = linked ? term(depth - 1) : x;
  std::vector<int> axes;
  for (std::size_t a = 0; a < scope_.axis_names.size(); ++a)
    if ((x.axes | w.axes).has(int(a))) axes.push_back(int(a));
  if (axes.empty()) return x;
  const int along = random_.pick(axes);
  Term out;
  out.axes = (x.axes | w.axes) - expr::AxisSet::of(along);
  out.dtype = is_whole(x.dtype) && is_whole(w.dtype) ? f64 : promote(x.dtype, w.dtype);
  out.text = (linked ? "linked((" + x.text + ", " + w.text + ")" : "peak(" + x.text) + ", " +
             scope_.axis_names[std::size_t(along)] + ")";
  return out;
}

// Of one input, or of several that have extents together.
std::string Expressions::like() {
  const std::string first = random_.pick(scope_.input_names);
  if (scope_.large || !random_.chance(35)) return "like=" + first;
  return "like=(" + first + ", " + random_.pick(scope_.input_names) + ")";
}

Term Expressions::reduction(int depth) {
  if (scope_.smooth && random_.chance(12)) return joined(depth);
  const Term x = term(depth - 1);
  const Fold fold = fold_for(x.dtype);
  Term out = folded(x, fold);
  const std::string name = fold == Fold::User ? own_accumulator(x, out) : name_of(fold);
  out.text = name + "(" + x.text;
  if (random_.chance(15)) {
    // Its axes are those of another input: only analysis knows them, so it must not be folded
    // again.
    out.text += ", " + like() + ")";
    out.axes = {};
    return out;
  }
  std::vector<int> axes;
  for (std::size_t a = 0; a < scope_.axis_names.size(); ++a)
    if (x.axes.has(int(a))) axes.push_back(int(a));
  if (axes.empty()) return x;
  if (random_.chance(80)) { // else all
    random_.shuffle(axes);
    axes.resize(std::size_t(random_.between(1, std::min(2, int(axes.size())))));
    for (int a : axes) {
      out.text += ", " + scope_.axis_names[std::size_t(a)];
      out.axes = out.axes - expr::AxisSet::of(a);
    }
  } else {
    out.axes = {};
  }
  if (fold != Fold::User || name == "damped") out.text += options(fold, x.dtype, false);
  if (name == "least" && random_.chance(30)) out.text += ", init=(2, 1)";
  out.text += ")";
  return out;
}

} // namespace broadloom::differential

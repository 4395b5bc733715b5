// Which type an operation computes in, and which it gives: NumPy 2's rules, one case per TypeRule.
#include "ops/ops.hpp"

#include "support/check.hpp"

#include <algorithm>

namespace broadloom::ops {

namespace {

// NumPy gives a function of small integers the smallest float that holds them: i8 f16 (beside a
// bf16, which stands in its place, bf16), i16 f32.
DType as_float(DType d, DType smallest = DType::F16) {
  if (!is_integer(d) && d != DType::Bool) return d;
  switch (size_of(d)) {
  case 1: return smallest;
  case 2: return DType::F32;
  default: return DType::F64;
  }
}

bool is_integral(DType d) { return is_integer(d) || d == DType::Bool; }

// The type that NumPy computes in and gives, or why there is none.
Typing nominal_type(Op op, std::span<const DType> args) {
  const OpInfo &row = info(op);
  support::check(int(args.size()) == row.arity, "type_of: wrong number of arguments");
  std::size_t first = row.rule == TypeRule::Select ? 1 : 0;
  const bool has_bf16 = std::find(args.begin(), args.end(), DType::BF16) != args.end();
  const DType smallest = has_bf16 ? DType::BF16 : DType::F16;
  DType common = args[first], common_float = as_float(args[first], smallest);
  for (DType d : args.subspan(first)) {
    common = promote(common, d);
    common_float = promote(common_float, as_float(d, smallest));
  }

  switch (row.rule) {
  case TypeRule::Arithmetic:
  case TypeRule::Any:
  case TypeRule::Select: return {common, common, {}};
  case TypeRule::ArithmeticNotBool:
    return {common, common, common == DType::Bool ? "is not defined for bool" : ""};
  case TypeRule::TrueDivide: {
    DType type = is_integral(common) ? DType::F64 : common;
    return {type, type, {}};
  }
  case TypeRule::Divide: {
    DType type = common == DType::Bool ? DType::I8 : common;
    return {type, type, {}};
  }
  case TypeRule::Bitwise:
    return {common, common, is_integral(common) ? "" : "is defined for integers and bool only"};
  case TypeRule::Shift: {
    DType type = common == DType::Bool ? DType::I8 : common;
    return {type, type, is_integral(common) ? "" : "is defined for integers only"};
  }
  case TypeRule::Compare: return {common, DType::Bool, {}};
  case TypeRule::Logical: return {DType::Bool, DType::Bool, {}};
  case TypeRule::Same: return {common, common, {}};
  case TypeRule::FloatMath: return {common_float, common_float, {}};
  case TypeRule::Classify: return {as_float(common), DType::Bool, {}};
  }
  support::bug("type_of: unknown rule");
}

} // namespace

DType compute_dtype(DType dtype) { return is_narrow_float(dtype) ? DType::F32 : dtype; }

std::optional<ComplexForm> complex_form(Op op) {
  constexpr Op values[] = {Op::Add,  Op::Sub,  Op::Mul,    Op::Div,       Op::Pow, Op::Neg,
                           Op::Conj, Op::Sign, Op::Sqrt,   Op::Exp,       Op::Log, Op::Sin,
                           Op::Cos,  Op::Tanh, Op::Square, Op::Reciprocal};
  constexpr Op parts[] = {Op::Abs, Op::Real, Op::Imag};
  constexpr Op truths[] = {Op::Eq, Op::Ne, Op::IsNan, Op::IsInf, Op::IsFinite};
  const auto is_in = [op](std::span<const Op> list) {
    return std::find(list.begin(), list.end(), op) != list.end();
  };
  if (is_in(values)) return ComplexForm::Value;
  if (is_in(parts)) return ComplexForm::Part;
  if (is_in(truths)) return ComplexForm::Truth;
  return std::nullopt;
}

Typing type_of(Op op, std::span<const DType> args) {
  Typing typing = nominal_type(op, args);
  typing.compute = compute_dtype(typing.compute);
  if (!is_complex(typing.compute) || info(op).rule == TypeRule::Select) return typing;
  const std::optional<ComplexForm> form = complex_form(op);
  if (form == ComplexForm::Part) typing.result = real_dtype(typing.result);
  if (!form && typing.error.empty())
    typing.error = info(op).rule == TypeRule::Compare || info(op).rule == TypeRule::Arithmetic
                       ? "is not defined for complex numbers, which have no order"
                       : "is not defined for complex numbers";
  return typing;
}

DType accumulate_dtype(Fold fold, DType value) {
  switch (fold) {
  case Fold::Min:
  case Fold::Max:
  case Fold::ArgMin:
  case Fold::ArgMax: return compute_dtype(value);
  case Fold::Any:
  case Fold::All: return DType::Bool;
  case Fold::Mean:
  case Fold::Var:
  case Fold::Std:
  case Fold::Norm:
  case Fold::LogSumExp: return is_complex(value) ? DType::C128 : DType::F64;
  case Fold::Sum:
  case Fold::Prod:
  case Fold::User: break;
  }
  if (value == DType::Bool || is_signed_integer(value)) return DType::I64;
  if (is_unsigned_integer(value)) return DType::U64;
  return is_complex(value) ? DType::C128 : DType::F64;
}

DType result_dtype(Fold fold, DType value) {
  if (fold == Fold::Any || fold == Fold::All) return DType::Bool;
  if (fold == Fold::ArgMin || fold == Fold::ArgMax) return DType::I64;
  if (is_float(value) || is_complex(value)) return value;
  return accumulate_dtype(fold, value);
}

bool commutes(Op op) {
  switch (op) {
  case Op::Add:
  case Op::Mul:
  case Op::BitAnd:
  case Op::BitOr:
  case Op::BitXor:
  case Op::And:
  case Op::Or:
  case Op::Eq:
  case Op::Ne:
  case Op::Maximum:
  case Op::Minimum:
  case Op::Fmax:
  case Op::Fmin: return true;
  default: return false;
  }
}

bool is_exact(Fold fold, DType accumulate) {
  switch (fold) {
  case Fold::Min:
  case Fold::Max:
  case Fold::ArgMin:
  case Fold::ArgMax:
  case Fold::Any:
  case Fold::All: return true;
  case Fold::Sum:
  case Fold::Prod: return is_integral(accumulate);
  case Fold::Mean:
  case Fold::Var:
  case Fold::Std:
  case Fold::Norm:
  case Fold::LogSumExp:
  case Fold::User: return false;
  }
  support::bug("is_exact: unknown fold");
}

} // namespace broadloom::ops

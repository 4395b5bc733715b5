// Operations on bool and integers. All of them are total: arithmetic wraps, x // 0 and x % 0 are 0,
// a shift by the width or more (or by a negative count) gives what shifting all bits out gives.
//
// Division and remainder floor. Instructions only truncate, and trap on MIN / -1 and x / 0, so
// those divisors are replaced by 1 first and the answer is put right after. Vectors of up to 32
// bits divide in floating point, which is exact here: the quotient of two integers below 2^32
// differs from the next integer by more than an f64 rounds (and 16-bit ones in f32).
#include "jit/emit/lanes.hpp"

#include "support/check.hpp"

#include <llvm/IR/Constants.h>

namespace broadloom::jit {

using ops::Op;

llvm::Value *Lanes::on_bool(Op op, llvm::ArrayRef<llvm::Value *> args) {
  llvm::Value *a = args[0];
  switch (op) {
  case Op::Add:
  case Op::BitOr:
  case Op::Or:
  case Op::Maximum:
  case Op::Fmax: return ir_.CreateOr(a, args[1]);
  case Op::Mul:
  case Op::BitAnd:
  case Op::And:
  case Op::Minimum:
  case Op::Fmin: return ir_.CreateAnd(a, args[1]);
  case Op::BitXor: return ir_.CreateXor(a, args[1]);
  case Op::BitNot:
  case Op::Not: return ir_.CreateNot(a);
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge: return compare(op, DType::Bool, a, args[1]);
  case Op::Abs:
  case Op::Floor:
  case Op::Ceil:
  case Op::Round:
  case Op::Trunc:
  case Op::Conj:
  case Op::Real: return a;
  case Op::Imag: return llvm::Constant::getNullValue(a->getType());
  case Op::IsNan:
  case Op::IsInf: return llvm::Constant::getNullValue(a->getType());
  case Op::IsFinite: return llvm::Constant::getAllOnesValue(a->getType());
  default: support::bug("operation " + std::string(ops::info(op).enumerator) + " on bool");
  }
}

llvm::Value *Lanes::on_integer(Op op, DType compute, llvm::ArrayRef<llvm::Value *> args) {
  llvm::Value *a = args[0];
  llvm::Value *b = args.size() > 1 ? args[1] : nullptr;
  const bool with_sign = is_signed_integer(compute);
  const auto lanes_of = [&](bool truth) { return literal(DType::Bool, {truth}, width(a)); };
  using llvm::Intrinsic::smax, llvm::Intrinsic::smin, llvm::Intrinsic::umax, llvm::Intrinsic::umin;
  switch (op) {
  case Op::Add: return ir_.CreateAdd(a, b);
  case Op::Sub: return ir_.CreateSub(a, b);
  case Op::Mul: return ir_.CreateMul(a, b);
  case Op::FloorDiv: return divide_integer(compute, a, b, false);
  case Op::Mod: return divide_integer(compute, a, b, true);
  case Op::Fmod: return remainder_truncating(compute, a, b);
  case Op::Pow: return power_integer(compute, a, b);
  case Op::Neg: return ir_.CreateNeg(a);
  case Op::BitAnd: return ir_.CreateAnd(a, b);
  case Op::BitOr: return ir_.CreateOr(a, b);
  case Op::BitXor: return ir_.CreateXor(a, b);
  case Op::BitNot: return ir_.CreateNot(a);
  case Op::Shl:
  case Op::Shr: return shift(op, compute, a, b);
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge: return compare(op, compute, a, b);
  case Op::Maximum:
  case Op::Fmax: return intrinsic(with_sign ? smax : umax, {a, b});
  case Op::Minimum:
  case Op::Fmin: return intrinsic(with_sign ? smin : umin, {a, b});
  case Op::Abs:
    if (!with_sign) return a;
    return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, ir_.getFalse());
  case Op::Sign: return sign_integer(compute, a);
  case Op::Floor:
  case Op::Ceil:
  case Op::Round:
  case Op::Trunc:
  case Op::Conj:
  case Op::Real: return a;
  case Op::Imag: return llvm::Constant::getNullValue(a->getType());
  case Op::IsNan:
  case Op::IsInf: return lanes_of(false);
  case Op::IsFinite: return lanes_of(true);
  default: support::bug("operation " + std::string(ops::info(op).enumerator) + " on integers");
  }
}

llvm::Value *Lanes::sign_integer(DType dtype, llvm::Value *x) {
  llvm::Constant *zero = llvm::Constant::getNullValue(x->getType());
  llvm::Value *positive = ir_.CreateZExt(is_signed_integer(dtype) ? ir_.CreateICmpSGT(x, zero)
                                                                  : ir_.CreateICmpNE(x, zero),
                                         x->getType());
  if (!is_signed_integer(dtype)) return positive;
  return ir_.CreateOr(positive, ir_.CreateSExt(ir_.CreateICmpSLT(x, zero), x->getType()));
}

llvm::Value *Lanes::shift(Op op, DType dtype, llvm::Value *a, llvm::Value *count) {
  const unsigned bits = a->getType()->getScalarSizeInBits();
  llvm::Constant *last = constant_integer(count, bits - 1);
  llvm::Value *inside = ir_.CreateICmpULE(count, last);
  if (op == Op::Shr && is_signed_integer(dtype))
    return ir_.CreateAShr(a, ir_.CreateSelect(inside, count, last));
  // An instruction's count must be below the width even where its result is not used.
  llvm::Value *safe = ir_.CreateAnd(count, last);
  llvm::Value *shifted = op == Op::Shl ? ir_.CreateShl(a, safe) : ir_.CreateLShr(a, safe);
  return ir_.CreateSelect(inside, shifted, llvm::Constant::getNullValue(a->getType()));
}

// The quotient towards zero. The divisor is not 0, and not -1 where the type is signed.
llvm::Value *Lanes::divide_truncating(DType dtype, llvm::Value *a, llvm::Value *b) {
  const bool with_sign = is_signed_integer(dtype);
  const auto quotient = [&](llvm::Value *x, llvm::Value *y) {
    return with_sign ? ir_.CreateSDiv(x, y) : ir_.CreateUDiv(x, y);
  };
  if (width(a) == 1 || llvm::isa<llvm::Constant>(b)) return quotient(a, b);
  if (size_of(dtype) <= 4) {
    const DType real = size_of(dtype) <= 2 ? DType::F32 : DType::F64;
    llvm::Value *ratio = ir_.CreateFDiv(convert(a, dtype, real), convert(b, dtype, real));
    return with_sign ? ir_.CreateFPToSI(ratio, a->getType())
                     : ir_.CreateFPToUI(ratio, a->getType());
  }
  return each_lane({a, b}, scalar_type(dtype),
                   [&](llvm::ArrayRef<llvm::Value *> lane) { return quotient(lane[0], lane[1]); });
}

// The divisor, or 1 where it is 0 or -1: x / 1 leaves no remainder, as x / -1, and as x % 0 is told
// to.
llvm::Value *Lanes::safe_divisor(DType dtype, llvm::Value *b) {
  llvm::Value *unsafe = ir_.CreateICmpEQ(b, llvm::Constant::getNullValue(b->getType()));
  if (is_signed_integer(dtype)) {
    llvm::Constant *minus_one = llvm::Constant::getAllOnesValue(b->getType());
    unsafe = ir_.CreateOr(unsafe, ir_.CreateICmpEQ(b, minus_one));
  }
  return ir_.CreateSelect(unsafe, constant_integer(b, 1), b);
}

llvm::Value *Lanes::remainder_truncating(DType dtype, llvm::Value *a, llvm::Value *b) {
  llvm::Value *safe = safe_divisor(dtype, b);
  return ir_.CreateSub(a, ir_.CreateMul(divide_truncating(dtype, a, safe), safe));
}

llvm::Value *Lanes::divide_integer(DType dtype, llvm::Value *a, llvm::Value *b, bool remainder) {
  llvm::Constant *zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value *by_zero = ir_.CreateICmpEQ(b, zero);
  llvm::Value *safe = safe_divisor(dtype, b);
  llvm::Value *q = divide_truncating(dtype, a, safe);
  llvm::Value *r = ir_.CreateSub(a, ir_.CreateMul(q, safe));
  if (!is_signed_integer(dtype)) return remainder ? r : ir_.CreateSelect(by_zero, zero, q);
  // Floor: a remainder whose sign is not the divisor's moves the quotient down by one.
  llvm::Value *unequal_signs = ir_.CreateICmpSLT(ir_.CreateXor(r, safe), zero);
  llvm::Value *down = ir_.CreateAnd(ir_.CreateICmpNE(r, zero), unequal_signs);
  if (remainder) return ir_.CreateAdd(r, ir_.CreateSelect(down, safe, zero));
  q = ir_.CreateAdd(q, ir_.CreateSExt(down, a->getType()));
  llvm::Value *by_minus_one = ir_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(a->getType()));
  q = ir_.CreateSelect(by_minus_one, ir_.CreateNeg(a), q);
  return ir_.CreateSelect(by_zero, zero, q);
}

// By squaring: as many turns as the greatest exponent has bits. A negative exponent gives the
// integer part of the true value: 1 for base 1, +-1 for base -1, else 0.
llvm::Value *Lanes::power_integer(DType dtype, llvm::Value *base, llvm::Value *exponent) {
  llvm::Type *type = base->getType();
  llvm::Constant *zero = llvm::Constant::getNullValue(type);
  llvm::Constant *one = constant_integer(base, 1);
  llvm::Value *negative =
      is_signed_integer(dtype) ? ir_.CreateICmpSLT(exponent, zero) : ir_.getFalse();
  llvm::Value *count =
      is_signed_integer(dtype) ? ir_.CreateSelect(negative, zero, exponent) : exponent;

  llvm::Value *greatest = width(count) == 1 ? count : ir_.CreateIntMaxReduce(count, false);
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Value *zeros = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, greatest, ir_.getFalse());
  llvm::Value *turns = ir_.CreateSub(ir_.getInt64(bits), ir_.CreateZExt(zeros, ir_.getInt64Ty()));
  const Carried end =
      counted_loop(ir_.getInt64(0), turns, 1, {one, base, count}, [&](llvm::Value *, Carried now) {
        llvm::Value *odd = ir_.CreateICmpNE(ir_.CreateAnd(now[2], one), zero);
        llvm::Value *product = ir_.CreateMul(now[0], ir_.CreateSelect(odd, now[1], one));
        return Carried{product, ir_.CreateMul(now[1], now[1]), ir_.CreateLShr(now[2], one)};
      });
  if (!is_signed_integer(dtype)) return end[0];

  llvm::Value *odd = ir_.CreateICmpNE(ir_.CreateAnd(exponent, one), zero);
  llvm::Constant *minus_one = llvm::Constant::getAllOnesValue(type);
  llvm::Value *of_minus_one = ir_.CreateSelect(odd, minus_one, one);
  llvm::Value *small =
      ir_.CreateSelect(ir_.CreateICmpEQ(base, one), one,
                       ir_.CreateSelect(ir_.CreateICmpEQ(base, minus_one), of_minus_one, zero));
  return ir_.CreateSelect(negative, small, end[0]);
}

} // namespace broadloom::jit

// Conversions that take more than one instruction: f16 and bf16, and floats to integers.
//
// LLVM's own truncation to bfloat is not used: on a machine with AVX512-BF16 it becomes an
// instruction that flushes subnormals to zero. Nor is its truncation of double to half, which calls
// a function for each lane.
#include "jit/emit/lanes.hpp"

#include <llvm/IR/Constants.h>

#include <cmath>

namespace broadloom::jit {

llvm::Value *fenced(Builder &ir, llvm::Value *vector) {
  llvm::Type *type = vector->getType(), *floats = type;
  if (!type->isFPOrFPVectorTy()) {
    const auto bits = unsigned(type->getPrimitiveSizeInBits().getFixedValue());
    const unsigned each = bits % 64 == 0 && type->getScalarSizeInBits() == 64 ? 64 : 32;
    if (bits % each != 0) return vector;
    floats =
        llvm::FixedVectorType::get(each == 64 ? ir.getDoubleTy() : ir.getFloatTy(), bits / each);
  }
  return ir.CreateBitCast(ir.CreateArithmeticFence(ir.CreateBitCast(vector, floats), floats), type);
}

// Exact. The fence keeps LLVM from moving operations to the narrow side, where they would be done
// one lane at a time.
llvm::Value *Lanes::widen_float(llvm::Value *x, DType from) {
  llvm::Type *type = this->type(DType::F32, width(x));
  if (from == DType::BF16) {
    llvm::Value *wide = ir_.CreateZExt(x, widen(ir_.getInt32Ty(), width(x)));
    return ir_.CreateBitCast(ir_.CreateShl(wide, constant_integer(wide, 16)), type);
  }
  llvm::Value *half = ir_.CreateBitCast(x, widen(ir_.getHalfTy(), width(x)));
  return intrinsic(llvm::Intrinsic::arithmetic_fence, {ir_.CreateFPExt(half, type)});
}

// f64 to f32 so that a second rounding, to at most 22 bits, gives what a single one would: towards
// zero, with the last bit set where anything was lost.
llvm::Value *Lanes::round_to_odd(llvm::Value *x) {
  llvm::Value *nearest = ir_.CreateFPTrunc(x, type(DType::F32, width(x)));
  llvm::Value *back = ir_.CreateFPExt(nearest, x->getType());
  llvm::Value *lost = ir_.CreateFCmpONE(back, x);
  llvm::Value *away = ir_.CreateFCmpOGT(intrinsic(llvm::Intrinsic::fabs, {back}),
                                        intrinsic(llvm::Intrinsic::fabs, {x}));
  llvm::Type *integers = widen(ir_.getInt32Ty(), width(x));
  llvm::Value *bits = ir_.CreateBitCast(nearest, integers);
  bits = ir_.CreateSub(bits, ir_.CreateZExt(away, integers));
  bits = ir_.CreateOr(bits, ir_.CreateZExt(lost, integers));
  return ir_.CreateBitCast(bits, nearest->getType());
}

// To nearest even, rounded once, whatever `x` comes from.
llvm::Value *Lanes::narrow_float(llvm::Value *x, DType from, DType to) {
  if (size_of(from) == 8 && !is_float(from) && to == DType::BF16) {
    // As a double it must not round: beyond 2^53 the low bits, of which only matters whether they
    // are all zero, are put into one.
    llvm::Constant *low = constant_integer(x, 0xfff);
    llvm::Value *magnitude = x;
    if (is_signed_integer(from))
      magnitude = ir_.CreateSelect(ir_.CreateICmpSLT(x, llvm::Constant::getNullValue(x->getType())),
                                   ir_.CreateNeg(x), x);
    llvm::Value *far = ir_.CreateICmpUGT(magnitude, constant_integer(x, std::uint64_t{1} << 53));
    llvm::Value *odd =
        ir_.CreateICmpNE(ir_.CreateAnd(x, low), llvm::Constant::getNullValue(x->getType()));
    llvm::Value *kept =
        ir_.CreateOr(ir_.CreateAnd(x, ir_.CreateNot(low)), constant_integer(x, 0x800));
    x = ir_.CreateSelect(ir_.CreateAnd(far, odd), kept, x);
  }
  if (from != DType::F32) {
    // An f32 holds every integer below the greatest f16, 65504, and all of 16 bits.
    const bool single = !is_float(from) && (to == DType::F16 || size_of(from) <= 2);
    if (single)
      x = convert(x, from, DType::F32);
    else
      x = round_to_odd(convert(x, from, DType::F64));
  }
  llvm::Type *result = widen(ir_.getInt16Ty(), width(x));
  if (to == DType::F16)
    return ir_.CreateBitCast(ir_.CreateFPTrunc(x, widen(ir_.getHalfTy(), width(x))), result);
  // The upper half, plus one where the lower half is beyond the middle, or on it beside an odd bit.
  llvm::Value *bits = ir_.CreateBitCast(x, widen(ir_.getInt32Ty(), width(x)));
  llvm::Value *upper = ir_.CreateLShr(bits, constant_integer(bits, 16));
  llvm::Value *odd = ir_.CreateAnd(upper, constant_integer(bits, 1));
  llvm::Value *rounded = ir_.CreateAdd(ir_.CreateAdd(bits, constant_integer(bits, 0x7fff)), odd);
  rounded = ir_.CreateLShr(rounded, constant_integer(bits, 16));
  llvm::Value *quiet = ir_.CreateOr(upper, constant_integer(bits, 0x40));
  llvm::Value *nan = ir_.CreateFCmpUNO(x, x);
  return ir_.CreateTrunc(ir_.CreateSelect(nan, quiet, rounded), result);
}

// Truncates and saturates, NaN to 0. Types of up to 16 bits, whose limits are floats: cut to the
// limits first, where NaN becomes the lower one.
llvm::Value *Lanes::float_to_short_integer(llvm::Value *x, DType to) {
  const int bits = 8 * static_cast<int>(size_of(to));
  const bool with_sign = is_signed_integer(to);
  const double top = std::ldexp(1.0, with_sign ? bits - 1 : bits) - 1;
  llvm::Value *bottom = constant(x, with_sign ? -top - 1 : 0.0);
  llvm::Value *cut = ir_.CreateSelect(ir_.CreateFCmpOGT(x, bottom), x, bottom);
  cut = ir_.CreateSelect(ir_.CreateFCmpOLT(cut, constant(x, top)), cut, constant(x, top));
  llvm::Type *wide = widen(ir_.getInt32Ty(), width(x));
  llvm::Value *result = ir_.CreateFPToSI(cut, wide);
  if (with_sign)
    result = ir_.CreateSelect(ir_.CreateFCmpUNO(x, x), llvm::Constant::getNullValue(wide), result);
  return ir_.CreateTrunc(result, type(to, width(x)));
}

// The same for 32 and 64 bits. The instruction's result is used only where it is defined.
llvm::Value *Lanes::float_to_integer(llvm::Value *x, DType to) {
  if (size_of(to) <= 2) return float_to_short_integer(x, to);
  const int bits = 8 * static_cast<int>(size_of(to));
  const bool with_sign = is_signed_integer(to);
  llvm::Type *wide = type(to, width(x));
  const int magnitude = with_sign ? bits - 1 : bits;
  const llvm::APInt most = with_sign ? llvm::APInt::getSignedMaxValue(unsigned(bits))
                                     : llvm::APInt::getMaxValue(unsigned(bits));
  const llvm::APInt least = with_sign ? llvm::APInt::getSignedMinValue(unsigned(bits))
                                      : llvm::APInt::getMinValue(unsigned(bits));
  llvm::Value *result = with_sign ? ir_.CreateFPToSI(x, wide) : ir_.CreateFPToUI(x, wide);
  llvm::Value *too_great = ir_.CreateFCmpOGE(x, constant(x, std::ldexp(1.0, magnitude)));
  llvm::Value *too_small =
      ir_.CreateFCmpOLT(x, constant(x, with_sign ? -std::ldexp(1.0, magnitude) : 0.0));
  result = ir_.CreateSelect(too_great, llvm::ConstantInt::get(wide, most), result);
  result = ir_.CreateSelect(too_small, llvm::ConstantInt::get(wide, least), result);
  return ir_.CreateSelect(ir_.CreateFCmpUNO(x, x), llvm::Constant::getNullValue(wide), result);
}

} // namespace broadloom::jit

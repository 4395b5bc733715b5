// Operations on f32 and f64, each correctly rounded or of fixed steps, so that every width and
// every instruction set gives the same bits. No instruction here carries a fast-math flag.
#include "jit/emit/lanes.hpp"

#include "math/scalar.hpp"
#include "ops/others.hpp"
#include "support/check.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <numeric>

namespace broadloom::jit {

using ops::Op;

// The constant that all lanes have; null where there is none, or it is NaN.
static const llvm::ConstantFP *number(llvm::Value *value) {
  const auto *constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  const auto *result = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return result != nullptr && !result->isNaN() ? result : nullptr;
}

llvm::Value *Lanes::on_float(Op op, DType compute, llvm::ArrayRef<llvm::Value *> args) {
  llvm::Value *a = args[0];
  llvm::Value *b = args.size() > 1 ? args[1] : nullptr;
  const auto infinity = [&] { return llvm::ConstantFP::getInfinity(a->getType()); };
  switch (op) {
  case Op::Add: return ir_.CreateFAdd(a, b);
  case Op::Sub: return ir_.CreateFSub(a, b);
  case Op::Mul: return ir_.CreateFMul(a, b);
  case Op::Div: return ir_.CreateFDiv(a, b);
  case Op::FloorDiv: return divide_flooring(compute, a, b, false);
  case Op::Mod: return divide_flooring(compute, a, b, true);
  case Op::Neg: return ir_.CreateFNeg(a);
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge: return compare(op, compute, a, b);
  case Op::Maximum: return extreme(a, b, true);
  case Op::Minimum: return extreme(a, b, false);
  case Op::Fmax: return extreme_of_numbers(a, b, true);
  case Op::Fmin: return extreme_of_numbers(a, b, false);
  case Op::Abs: return intrinsic(llvm::Intrinsic::fabs, {a});
  case Op::Sign: return sign_float(a);
  case Op::Floor: return intrinsic(llvm::Intrinsic::floor, {a});
  case Op::Ceil: return intrinsic(llvm::Intrinsic::ceil, {a});
  case Op::Round: return intrinsic(llvm::Intrinsic::roundeven, {a});
  case Op::Trunc: return intrinsic(llvm::Intrinsic::trunc, {a});
  case Op::Sqrt: return intrinsic(llvm::Intrinsic::sqrt, {a});
  case Op::CopySign: // a NaN has no sign to speak of
    b = ir_.CreateSelect(ir_.CreateFCmpUNO(b, b), llvm::Constant::getNullValue(b->getType()), b);
    return intrinsic(llvm::Intrinsic::copysign, {a, b});
  case Op::IsNan: return ir_.CreateFCmpUNO(a, a);
  case Op::IsInf: return ir_.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs, {a}), infinity());
  case Op::IsFinite: return ir_.CreateFCmpONE(intrinsic(llvm::Intrinsic::fabs, {a}), infinity());
  case Op::Conj:
  case Op::Real: return a;
  case Op::Imag: return llvm::Constant::getNullValue(a->getType());
  case Op::Fma: return intrinsic(llvm::Intrinsic::fma, {a, b, args[2]});
#define BL_OP BL_OF_MATH
#include "ops/ops.def"
    if (ops::info(op).math == ops::Math::Vector) return vector_math(op, compute, args);
    return libm(std::string(ops::info(op).spelling), compute, args);
  case Op::And: // of truths, which are no floats
  case Op::Or:
  case Op::Not:
#define BL_OP BL_NEITHER_FLOATS_NOR_MATH
#include "ops/ops.def"
    break;
  }
  support::bug("operation " + std::string(ops::info(op).enumerator) + " on floats");
}

// The greater (or lesser) with -0 < +0, NaN where either is NaN, in few instructions: folds lean on
// it. x86's own max(a, b) is `a > b ? a : b`: b where the two are equal or unordered. Of both
// orders of the arguments the bits are equal, but for zeros of unlike sign (AND gives +0, OR gives
// -0) and for a NaN with a number (OR keeps a NaN; after AND it is put right).
llvm::Value *Lanes::extreme(llvm::Value *a, llvm::Value *b, bool greater) {
  if (number(b) != nullptr) return extreme_of_constant(a, b, greater);
  if (number(a) != nullptr) return extreme_of_constant(b, a, greater);
  if (target_.isa->has_range && width(a) * a->getType()->getScalarSizeInBits() >= 128)
    return extreme_by_range(a, b, greater);
  const auto pick = [&](llvm::Value *x, llvm::Value *y) {
    llvm::Value *wins = greater ? ir_.CreateFCmpOGT(x, y) : ir_.CreateFCmpOLT(x, y);
    return ir_.CreateSelect(wins, x, y);
  };
  llvm::Type *type = a->getType();
  llvm::Type *bits = widen(ir_.getIntNTy(type->getScalarSizeInBits()), width(a));
  llvm::Value *one = ir_.CreateBitCast(pick(a, b), bits);
  llvm::Value *other = ir_.CreateBitCast(pick(b, a), bits);
  if (!greater) return ir_.CreateBitCast(ir_.CreateOr(one, other), type);
  llvm::Value *both = ir_.CreateAnd(one, other);
  llvm::Value *nan = ir_.CreateSExt(ir_.CreateFCmpUNO(a, b), bits);
  return ir_.CreateBitCast(ir_.CreateOr(both, nan), type);
}

// The same by AVX-512's vrange, a register at a time, and by the same NaN: all bits are set.
llvm::Value *Lanes::extreme_by_range(llvm::Value *a, llvm::Value *b, bool greater) {
  using namespace llvm::Intrinsic;
  const bool single = a->getType()->getScalarSizeInBits() == 32;
  const int count = width(a), piece = std::min(count, single ? 16 : 8);
  const int bits = piece * (single ? 32 : 64);
  const ID narrow = single        ? bits == 128   ? x86_avx512_mask_range_ps_128
                                    : bits == 256 ? x86_avx512_mask_range_ps_256
                                                  : x86_avx512_mask_range_ps_512
                    : bits == 128 ? x86_avx512_mask_range_pd_128
                    : bits == 256 ? x86_avx512_mask_range_pd_256
                                  : x86_avx512_mask_range_pd_512;
  constexpr int sign_of_result = 4, lesser_of_both = 0, greater_of_both = 1;
  std::vector<llvm::Value *> picked;
  for (int first = 0; first < count; first += piece) {
    const auto part = [&](llvm::Value *x) {
      return piece == count ? x : some_lanes(x, first, piece);
    };
    llvm::Value *left = part(a);
    std::vector<llvm::Value *> args{
        left, part(b), ir_.getInt32(sign_of_result | (greater ? greater_of_both : lesser_of_both)),
        llvm::PoisonValue::get(left->getType()),
        llvm::Constant::getAllOnesValue(ir_.getIntNTy(static_cast<unsigned>(std::max(piece, 8))))};
    if (bits == 512) args.push_back(ir_.getInt32(4)); // rounding as it is
    picked.push_back(ir_.CreateIntrinsic(narrow, {}, args));
  }
  llvm::Type *whole = widen(ir_.getIntNTy(single ? 32 : 64), count);
  llvm::Value *nan = ir_.CreateBitCast(llvm::Constant::getAllOnesValue(whole), a->getType());
  return ir_.CreateSelect(ir_.CreateFCmpUNO(a, b), nan, joined(std::move(picked)));
}

// The same with a constant: one instruction, or two beside a zero whose sign decides.
//   maximum(x, c): x < c ? c : x, which keeps NaN; for +0 -0 loses too: x <= 0 ? +0 : x
llvm::Value *Lanes::extreme_of_constant(llvm::Value *x, llvm::Value *c, bool greater) {
  const llvm::APFloat &value = number(c)->getValueAPF();
  const bool beats_other_zero = value.isZero() && value.isNegative() != greater;
  llvm::Value *loses = nullptr;
  if (greater)
    loses = beats_other_zero ? ir_.CreateFCmpOLE(x, c) : ir_.CreateFCmpOLT(x, c);
  else
    loses = beats_other_zero ? ir_.CreateFCmpOGE(x, c) : ir_.CreateFCmpOGT(x, c);
  return ir_.CreateSelect(loses, c, x);
}

// The same where NaN counts as missing.
llvm::Value *Lanes::extreme_of_numbers(llvm::Value *a, llvm::Value *b, bool greater) {
  llvm::Value *left = ir_.CreateSelect(ir_.CreateFCmpUNO(a, a), b, a);
  llvm::Value *right = ir_.CreateSelect(ir_.CreateFCmpUNO(b, b), a, b);
  return extreme(left, right, greater);
}

llvm::Value *Lanes::sign_float(llvm::Value *x) {
  llvm::Constant *zero = llvm::Constant::getNullValue(x->getType());
  llvm::Value *negative = ir_.CreateSelect(ir_.CreateFCmpOLT(x, zero), constant(x, -1), zero);
  llvm::Value *number = ir_.CreateSelect(ir_.CreateFCmpOGT(x, zero), constant(x, 1), negative);
  return ir_.CreateSelect(ir_.CreateFCmpUNO(x, x), x, number);
}

// NumPy's // and %. The remainder is fmod's (exact), moved to the divisor's sign; the quotient is
// what is left, divided, and set right to the next integer.
llvm::Value *Lanes::divide_flooring(DType compute, llvm::Value *a, llvm::Value *b, bool remainder) {
  llvm::Constant *zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value *rest = libm("fmod", compute, {a, b});
  llvm::Value *uneven = ir_.CreateFCmpUNE(rest, zero);
  llvm::Value *unlike = ir_.CreateXor(ir_.CreateFCmpOLT(b, zero), ir_.CreateFCmpOLT(rest, zero));
  llvm::Value *down = ir_.CreateAnd(uneven, unlike);
  if (remainder) {
    llvm::Value *moved = ir_.CreateSelect(down, ir_.CreateFAdd(rest, b), rest);
    return ir_.CreateSelect(uneven, moved, intrinsic(llvm::Intrinsic::copysign, {zero, b}));
  }
  llvm::Value *ratio = ir_.CreateFDiv(ir_.CreateFSub(a, rest), b);
  ratio = ir_.CreateSelect(down, ir_.CreateFSub(ratio, constant(a, 1)), ratio);
  llvm::Value *floor = intrinsic(llvm::Intrinsic::floor, {ratio});
  llvm::Value *short_by_one = ir_.CreateFCmpOGT(ir_.CreateFSub(ratio, floor), constant(a, 0.5));
  floor = ir_.CreateSelect(short_by_one, ir_.CreateFAdd(floor, constant(a, 1)), floor);
  llvm::Value *plain = ir_.CreateFDiv(a, b);
  llvm::Value *result = ir_.CreateSelect(ir_.CreateFCmpUNE(ratio, zero), floor,
                                         intrinsic(llvm::Intrinsic::copysign, {zero, plain}));
  return ir_.CreateSelect(ir_.CreateFCmpOEQ(b, zero), plain, result);
}

// Calls our own vector function, made for exactly one register: wider vectors are cut in pieces,
// narrower ones and scalars are filled up.
llvm::Value *Lanes::vector_math(Op op, DType compute, llvm::ArrayRef<llvm::Value *> args) {
  const std::string name = op == Op::Pow ? "pow" : std::string(ops::info(op).spelling);
  const int piece =
      are_threads() ? 1 : target_.vector_bits() / (8 * static_cast<int>(size_of(compute)));
  const int count = width(args[0]);
  llvm::Type *vector = type(compute, piece);
  llvm::Module *module = ir_.GetInsertBlock()->getModule();
  const std::vector<llvm::Type *> parameters(args.size(), vector);
  const bool own_form = compute == DType::F32 && math::find_form(name, accuracy_);
  const std::string mode = !own_form ? "" : accuracy_ == Accuracy::exact ? "exact_" : "fast_";
  const std::string symbol = "bl_" + mode + name + "_" + std::string(broadloom::name(compute)) +
                             "x" + std::to_string(piece);
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(symbol, llvm::FunctionType::get(vector, parameters, false));
  const auto call = [&](llvm::ArrayRef<llvm::Value *> given) {
    llvm::CallInst *made = ir_.CreateCall(callee, given);
    if (is_called(op, compute)) made->setIsNoInline();
    return made;
  };

  const auto lanes_from = [](int first, int length) {
    std::vector<int> lanes(static_cast<std::size_t>(length));
    std::iota(lanes.begin(), lanes.end(), first);
    return lanes;
  };
  if (count < piece) {
    std::vector<llvm::Value *> full;
    for (llvm::Value *arg : args) {
      std::vector<int> lanes(static_cast<std::size_t>(piece), 0);
      std::iota(lanes.begin(), lanes.begin() + count, 0);
      full.push_back(count == 1 ? ir_.CreateVectorSplat(static_cast<unsigned>(piece), arg)
                                : ir_.CreateShuffleVector(arg, lanes));
    }
    llvm::Value *result = call(full);
    return count == 1 ? ir_.CreateExtractElement(result, std::uint64_t{0})
                      : ir_.CreateShuffleVector(result, lanes_from(0, count));
  }
  std::vector<llvm::Value *> results;
  for (int first = 0; first < count; first += piece) {
    std::vector<llvm::Value *> part;
    for (llvm::Value *arg : args)
      part.push_back(count == piece ? arg : ir_.CreateShuffleVector(arg, lanes_from(first, piece)));
    results.push_back(call(part));
  }
  return joined(std::move(results));
}

// Calls a function of the system's libm, a lane at a time.
llvm::Value *Lanes::libm(const std::string &name, DType compute,
                         llvm::ArrayRef<llvm::Value *> args) {
  llvm::Type *scalar = scalar_type(compute);
  const std::vector<llvm::Type *> parameters(args.size(), scalar);
  const std::string symbol = "bl_libm_" + name + "_" + std::string(broadloom::name(compute));
  llvm::Module *module = ir_.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(symbol, llvm::FunctionType::get(scalar, parameters, false));
  auto *function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  return each_lane(args, scalar, [&](llvm::ArrayRef<llvm::Value *> lane) -> llvm::Value * {
    return ir_.CreateCall(callee, lane);
  });
}

} // namespace broadloom::jit

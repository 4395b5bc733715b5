// Complex numbers: the formulas of ops/complex.hpp over vectors of lanes.
//
// In registers a complex value is a pair {real part, imaginary part} of two scalars or two vectors,
// an LLVM struct, so that phis and stack slots take it like any other value. In memory the parts
// alternate.
#include "jit/emit/lanes.hpp"
#include "ops/complex.hpp"

namespace broadloom::jit {

using ops::Op;

namespace {

struct Truth {
  Builder *ir;
  llvm::Value *value;
  friend Truth operator&&(Truth a, Truth b) { return {a.ir, a.ir->CreateAnd(a.value, b.value)}; }
  friend Truth operator||(Truth a, Truth b) { return {a.ir, a.ir->CreateOr(a.value, b.value)}; }
  friend Truth operator!(Truth a) { return {a.ir, a.ir->CreateNot(a.value)}; }
};

// A real number as complex.hpp wants it.
struct Real {
  Lanes *lanes;
  Builder *ir;
  DType type;
  llvm::Value *value;

  friend Real apply(Op op, Real a) { return a.with(a.lanes->op(op, a.type, {a.value})); }
  friend Real apply(Op op, Real a, Real b) {
    return a.with(a.lanes->op(op, a.type, {a.value, b.value}));
  }
  friend Real fused(Real a, Real b, Real c) {
    return a.with(a.lanes->op(Op::Fma, a.type, {a.value, b.value, c.value}));
  }
  friend Truth compare(Op op, Real a, Real b) {
    return {a.ir, a.lanes->op(op, a.type, {a.value, b.value})};
  }
  friend Real operator+(Real a, Real b) { return apply(Op::Add, a, b); }
  friend Real operator-(Real a, Real b) { return apply(Op::Sub, a, b); }
  friend Real operator*(Real a, Real b) { return apply(Op::Mul, a, b); }
  friend Real operator/(Real a, Real b) { return apply(Op::Div, a, b); }
  friend Real operator-(Real a) { return apply(Op::Neg, a); }
  friend Truth operator==(Real a, Real b) { return compare(Op::Eq, a, b); }
  friend Truth operator<(Real a, Real b) { return compare(Op::Lt, a, b); }
  friend Truth operator>(Real a, Real b) { return compare(Op::Gt, a, b); }
  friend Truth operator>=(Real a, Real b) { return compare(Op::Ge, a, b); }
  friend Real choose(Truth c, Real a, Real b) {
    return a.with(a.ir->CreateSelect(c.value, a.value, b.value));
  }
  friend Real number(Real like, double value) {
    return like.with(llvm::ConstantFP::get(like.value->getType(), value));
  }

  Real with(llvm::Value *other) const { return {lanes, ir, type, other}; }
};

using Number = ops::complex::Number<Real>;

} // namespace

llvm::Value *Lanes::part(llvm::Value *value, unsigned index) {
  return ir_.CreateExtractValue(value, index);
}

llvm::Value *Lanes::pair(llvm::Value *re, llvm::Value *im) {
  llvm::Type *type = llvm::StructType::get(re->getType(), im->getType());
  llvm::Value *half = ir_.CreateInsertValue(llvm::PoisonValue::get(type), re, 0);
  return ir_.CreateInsertValue(half, im, 1);
}

llvm::Value *
Lanes::each_part(llvm::ArrayRef<llvm::Value *> values,
                 llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> body) {
  if (!values[0]->getType()->isStructTy()) return body(values);
  llvm::Value *made[2];
  for (unsigned index : {0u, 1u}) {
    std::vector<llvm::Value *> parts;
    for (llvm::Value *value : values) parts.push_back(part(value, index));
    made[index] = body(parts);
  }
  return pair(made[0], made[1]);
}

// To bool, or from anything to complex.
llvm::Value *Lanes::convert_complex(llvm::Value *value, DType from, DType to) {
  const DType real = real_dtype(from);
  if (!is_complex(to)) {
    return ir_.CreateOr(convert(part(value, 0), real, DType::Bool),
                        convert(part(value, 1), real, DType::Bool));
  }
  const DType target = real_dtype(to);
  if (!is_complex(from)) {
    llvm::Value *re = convert(value, from, target);
    return pair(re, llvm::Constant::getNullValue(re->getType()));
  }
  return pair(convert(part(value, 0), real, target), convert(part(value, 1), real, target));
}

llvm::Value *Lanes::on_complex(Op op, DType compute, llvm::ArrayRef<llvm::Value *> args) {
  DType real = real_dtype(compute);
  Lanes high(ir_, target_, Accuracy::high, weights_); // complex numbers have one form
  const auto number_of = [&](llvm::Value *z) {
    return Number{{&high, &ir_, real, part(z, 0)}, {&high, &ir_, real, part(z, 1)}};
  };
  const bool in_f64 = real == DType::F32 && ops::complex::is_function(op);
  const auto widened = [&](Real x) {
    if (!in_f64) return x;
    return Real{&high, &ir_, DType::F64, convert(x.value, real, DType::F64)};
  };
  const auto read = [&](llvm::Value *z) {
    const Number narrow = number_of(z);
    return Number{widened(narrow.re), widened(narrow.im)};
  };
  const Number x = read(args[0]), y = args.size() > 1 ? read(args[1]) : x;
  switch (*ops::complex_form(op)) {
  case ops::ComplexForm::Truth: return ops::complex::truth(op, x, y).value;
  case ops::ComplexForm::Part: return ops::complex::part(op, x).value;
  case ops::ComplexForm::Value: break;
  }
  const Number z = ops::complex::value(op, x, y);
  return pair(convert(z.re.value, z.re.type, real), convert(z.im.value, z.im.type, real));
}

} // namespace broadloom::jit

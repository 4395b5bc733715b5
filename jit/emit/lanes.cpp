// Types, constants, loops and the table of operations: see lanes.hpp. The operations themselves are
// in lanes_integer.cpp and lanes_float.cpp.
#include "jit/emit/lanes.hpp"

#include "support/check.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include <numeric>
#include <optional>

namespace broadloom::jit {

using ops::Op;

llvm::Type *Lanes::scalar_type(DType dtype) const {
  llvm::LLVMContext &context = ir_.getContext();
  if (dtype == DType::Bool) return llvm::Type::getInt1Ty(context);
  if (dtype == DType::F32) return llvm::Type::getFloatTy(context);
  if (dtype == DType::F64) return llvm::Type::getDoubleTy(context);
  if (is_narrow_float(dtype)) return llvm::Type::getInt16Ty(context); // as in memory
  if (is_complex(dtype)) {
    llvm::Type *real = scalar_type(real_dtype(dtype));
    return llvm::StructType::get(real, real);
  }
  support::check(is_integer(dtype), "a type that kernels do not compute with reached the emitter");
  return llvm::Type::getIntNTy(context, 8 * static_cast<unsigned>(size_of(dtype)));
}

llvm::Type *Lanes::memory_type(DType dtype) const {
  return dtype == DType::Bool ? llvm::Type::getInt8Ty(ir_.getContext()) : scalar_type(dtype);
}

llvm::Type *Lanes::widen(llvm::Type *scalar, int width) const {
  if (scalar->isStructTy()) {
    llvm::Type *real = widen(scalar->getStructElementType(0), width);
    return llvm::StructType::get(real, real);
  }
  return width == 1 || are_threads()
             ? scalar
             : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(width));
}

int Lanes::width(const llvm::Value *value) {
  llvm::Type *type = value->getType();
  if (type->isStructTy()) type = type->getStructElementType(0);
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Constant *Lanes::literal(DType dtype, ops::Scalar value, int width) const {
  if (is_complex(dtype)) {
    const DType real = real_dtype(dtype);
    return llvm::ConstantStruct::getAnon(
        {literal(real, {value.bits}, width), literal(real, {value.imag}, width)});
  }
  const std::uint64_t bits = value.bits;
  llvm::Type *scalar = scalar_type(dtype);
  llvm::Constant *one = nullptr;
  if (dtype == DType::Bool) {
    one = llvm::ConstantInt::get(scalar, bits != 0);
  } else if (is_integer(dtype) || is_narrow_float(dtype)) {
    const unsigned size = scalar->getIntegerBitWidth();
    one = llvm::ConstantInt::get(scalar, llvm::APInt(64, bits).trunc(size));
  } else {
    const bool single = dtype == DType::F32;
    const llvm::APInt pattern = llvm::APInt(64, bits).trunc(single ? 32 : 64);
    one = llvm::ConstantFP::get(
        scalar,
        llvm::APFloat(single ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble(), pattern));
  }
  if (width == 1 || are_threads()) return one;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(width)),
                                        one);
}

llvm::Value *Lanes::joined(std::vector<llvm::Value *> vectors) {
  for (; vectors.size() > 1; vectors.resize(vectors.size() / 2)) {
    std::vector<int> all(2 * static_cast<std::size_t>(width(vectors[0])));
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t k = 0; k < vectors.size() / 2; ++k)
      vectors[k] = ir_.CreateShuffleVector(vectors[2 * k], vectors[2 * k + 1], all);
  }
  return vectors[0];
}

llvm::Value *Lanes::splat(llvm::Value *value, int width) {
  if (width == 1 || Lanes::width(value) > 1 || are_threads()) return value;
  return each_part({value}, [&](llvm::ArrayRef<llvm::Value *> parts) {
    return ir_.CreateVectorSplat(static_cast<unsigned>(width), parts[0]);
  });
}

llvm::Value *Lanes::select(llvm::Value *condition, llvm::Value *a, llvm::Value *b) {
  return each_part({a, b}, [&](llvm::ArrayRef<llvm::Value *> parts) {
    return ir_.CreateSelect(condition, parts[0], parts[1]);
  });
}

llvm::Value *Lanes::some_lanes(llvm::Value *value, int first, int count) {
  return each_part({value}, [&](llvm::ArrayRef<llvm::Value *> parts) {
    if (count == 1) return ir_.CreateExtractElement(parts[0], static_cast<std::uint64_t>(first));
    std::vector<int> chosen(static_cast<std::size_t>(count));
    std::iota(chosen.begin(), chosen.end(), first);
    return ir_.CreateShuffleVector(parts[0], chosen);
  });
}

llvm::Value *Lanes::lane(llvm::Value *value, llvm::Value *index) {
  if (are_threads()) return of_thread(value, ir_.CreateTrunc(index, ir_.getInt32Ty()));
  return each_part({value}, [&](llvm::ArrayRef<llvm::Value *> parts) {
    return width(parts[0]) == 1 ? parts[0] : ir_.CreateExtractElement(parts[0], index);
  });
}

llvm::Value *Lanes::shuffle(llvm::Value *a, llvm::Value *b, llvm::ArrayRef<int> sources) {
  if (are_threads()) return shuffle_threads(a, b, sources);
  return each_part({a, b}, [&](llvm::ArrayRef<llvm::Value *> parts) {
    return ir_.CreateShuffleVector(parts[0], parts[1], sources);
  });
}

llvm::Constant *Lanes::constant(const llvm::Value *like, double value) const {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Constant *Lanes::constant_integer(const llvm::Value *like, std::uint64_t value) const {
  llvm::Type *type = like->getType();
  return llvm::ConstantInt::get(type, llvm::APInt(64, value).trunc(type->getScalarSizeInBits()));
}

llvm::Value *Lanes::intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> args) {
  return ir_.CreateIntrinsic(args[0]->getType(), id, args);
}

std::vector<llvm::Value *> Lanes::run(const ops::Code &code, llvm::ArrayRef<llvm::Value *> inputs) {
  using Line = ops::Code::Line;
  const int lanes = width(inputs[0]);
  std::optional<Pieces::Level> level;
  if (pieces_ != nullptr) {
    std::int64_t total = 0;
    for (const Line &line : code.lines) total += weights_->of(line);
    level.emplace(*pieces_, total);
  }
  const auto made = [&](const Line &line, llvm::Value *value) {
    if (level) level->made(weights_->of(line));
    return value;
  };
  return ops::write_out(
      code, inputs.vec(), [&](const Line &l) { return literal(l.dtype, l.literal, lanes); },
      [&](const Line &l, llvm::Value *arg) { return made(l, convert(arg, l.compute, l.dtype)); },
      [&](const Line &l, const std::vector<llvm::Value *> &args) {
        return made(l, op(l.op, l.compute, args));
      });
}

llvm::AllocaInst *Lanes::room(llvm::Type *type, std::uint64_t count) {
  llvm::BasicBlock &entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  Builder first(&entry, entry.begin());
  llvm::AllocaInst *room = first.CreateAlloca(type, first.getInt64(count));
  room->setAlignment(llvm::Align(64));
  return room;
}

Lanes::Carried Lanes::counted_loop(llvm::Value *begin, llvm::Value *end, std::int64_t step,
                                   Carried carried,
                                   llvm::function_ref<Carried(llvm::Value *, Carried)> body) {
  llvm::BasicBlock *before = ir_.GetInsertBlock();
  llvm::Function *function = before->getParent();
  auto *turn = llvm::BasicBlock::Create(ir_.getContext(), "turn", function);
  auto *after = llvm::BasicBlock::Create(ir_.getContext(), "after", function);

  llvm::Value *any = ir_.CreateICmpSLT(begin, end);
  const auto *known = llvm::dyn_cast<llvm::ConstantInt>(any);
  const bool guarded = !(known && known->isOne());
  if (guarded)
    ir_.CreateCondBr(any, turn, after);
  else
    ir_.CreateBr(turn);

  ir_.SetInsertPoint(turn);
  llvm::PHINode *position = ir_.CreatePHI(begin->getType(), 2, "p");
  position->addIncoming(begin, before);
  Carried now;
  for (llvm::Value *start : carried) {
    llvm::PHINode *phi = ir_.CreatePHI(start->getType(), 2);
    phi->addIncoming(start, before);
    now.push_back(phi);
  }
  open_.push_back({position, begin, step, before, turn, {}});
  const Carried next = body(position, now);
  for (const OpenLoop::Walking &w : open_.back().walking)
    w.address->addIncoming(ir_.CreateGEP(ir_.getInt8Ty(), w.address, w.advance),
                           ir_.GetInsertBlock());
  open_.pop_back();
  llvm::Value *advanced =
      ir_.CreateAdd(position, llvm::ConstantInt::getSigned(begin->getType(), step), "", false,
                    /*HasNSW=*/true);
  llvm::BasicBlock *latch = ir_.GetInsertBlock();
  position->addIncoming(advanced, latch);
  for (std::size_t k = 0; k < now.size(); ++k)
    llvm::cast<llvm::PHINode>(now[k])->addIncoming(next[k], latch);
  ir_.CreateCondBr(ir_.CreateICmpSLT(advanced, end), turn, after);

  ir_.SetInsertPoint(after);
  Carried result;
  for (std::size_t k = 0; k < next.size(); ++k) {
    llvm::PHINode *phi = ir_.CreatePHI(next[k]->getType(), 2);
    if (guarded) phi->addIncoming(carried[k], before);
    phi->addIncoming(next[k], latch);
    result.push_back(phi);
  }
  return result;
}

llvm::Value *Lanes::walking_address(llvm::Value *base, llvm::Value *p, llvm::Value *bytes) {
  if (open_.empty() || open_.back().position != p) return nullptr;
  OpenLoop &loop = open_.back();
  for (const OpenLoop::Walking &w : loop.walking)
    if (w.base == base && w.bytes == bytes) return w.address;
  Builder before(loop.before->getTerminator());
  llvm::Value *first =
      before.CreateGEP(before.getInt8Ty(), base, before.CreateMul(loop.begin, bytes));
  llvm::Value *advance =
      before.CreateMul(bytes, llvm::ConstantInt::getSigned(bytes->getType(), loop.step));
  Builder turn(loop.turn, loop.turn->begin());
  llvm::PHINode *address = turn.CreatePHI(base->getType(), 2);
  address->addIncoming(first, loop.before);
  loop.walking.push_back({address, base, bytes, advance});
  return address;
}

Lanes::Carried Lanes::either(llvm::Value *condition, llvm::function_ref<Carried()> yes,
                             llvm::function_ref<Carried()> no) {
  llvm::Function *function = ir_.GetInsertBlock()->getParent();
  const auto block = [&](const char *name) {
    return llvm::BasicBlock::Create(ir_.getContext(), name, function);
  };
  llvm::BasicBlock *starts[] = {block("yes"), block("no")}, *after = block("either");
  ir_.CreateCondBr(condition, starts[0], starts[1]);
  Carried results[2];
  llvm::BasicBlock *ends[2];
  for (int k = 0; k < 2; ++k) {
    ir_.SetInsertPoint(starts[k]);
    results[k] = k == 0 ? yes() : no();
    ends[k] = ir_.GetInsertBlock();
    ir_.CreateBr(after);
  }
  ir_.SetInsertPoint(after);
  Carried result;
  for (std::size_t k = 0; k < results[0].size(); ++k) {
    llvm::PHINode *phi = ir_.CreatePHI(results[0][k]->getType(), 2);
    for (int way = 0; way < 2; ++way) phi->addIncoming(results[way][k], ends[way]);
    result.push_back(phi);
  }
  return result;
}

llvm::Value *
Lanes::each_lane(llvm::ArrayRef<llvm::Value *> args, llvm::Type *result,
                 llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> body) {
  const int count = width(args[0]);
  if (count == 1) return body(args);
  std::vector<llvm::AllocaInst *> rooms;
  for (llvm::Value *arg : args) {
    rooms.push_back(room(arg->getType()));
    ir_.CreateStore(arg, rooms.back());
  }
  llvm::AllocaInst *results = room(widen(result, count));
  counted_loop(ir_.getInt64(0), ir_.getInt64(count), 1, {}, [&](llvm::Value *lane, Carried) {
    std::vector<llvm::Value *> scalars;
    for (std::size_t k = 0; k < args.size(); ++k) {
      llvm::Type *scalar = args[k]->getType()->getScalarType();
      scalars.push_back(ir_.CreateLoad(scalar, ir_.CreateGEP(scalar, rooms[k], lane)));
    }
    ir_.CreateStore(body(scalars), ir_.CreateGEP(result, results, lane));
    return Carried{};
  });
  return ir_.CreateLoad(widen(result, count), results);
}

llvm::Value *Lanes::op(Op op, DType compute, llvm::ArrayRef<llvm::Value *> args) {
  return is_called(op, compute) ? called_op(op, compute, args) : inlined_op(op, compute, args);
}

llvm::Value *Lanes::convert(llvm::Value *value, DType from, DType to) {
  if (from == to) return value;
  return is_called(from, to) ? called_cast(value, from, to) : inlined_cast(value, from, to);
}

llvm::Value *Lanes::inlined_op(Op op, DType compute, llvm::ArrayRef<llvm::Value *> args) {
  if (op == Op::Where) return select(args[0], args[1], args[2]);
  if (compute == DType::Bool) return on_bool(op, args);
  if (op == Op::And || op == Op::Or || op == Op::Not) { // of whether the arguments are not zero
    std::vector<llvm::Value *> truths;
    for (llvm::Value *arg : args) truths.push_back(convert(arg, compute, DType::Bool));
    return on_bool(op, truths);
  }
  if (is_complex(compute)) return on_complex(op, compute, args);
  if (is_integer(compute)) return on_integer(op, compute, args);
  return on_float(op, compute, args);
}

llvm::Value *Lanes::compare(Op op, DType compute, llvm::Value *a, llvm::Value *b) {
  using Predicate = llvm::CmpInst::Predicate;
  const auto pick = [&](Predicate real, Predicate with_sign, Predicate without) {
    return is_float(compute) ? real : is_signed_integer(compute) ? with_sign : without;
  };
  const auto predicate = [&] {
    switch (op) {
    case Op::Eq: return pick(Predicate::FCMP_OEQ, Predicate::ICMP_EQ, Predicate::ICMP_EQ);
    case Op::Ne: return pick(Predicate::FCMP_UNE, Predicate::ICMP_NE, Predicate::ICMP_NE);
    case Op::Lt: return pick(Predicate::FCMP_OLT, Predicate::ICMP_SLT, Predicate::ICMP_ULT);
    case Op::Le: return pick(Predicate::FCMP_OLE, Predicate::ICMP_SLE, Predicate::ICMP_ULE);
    case Op::Gt: return pick(Predicate::FCMP_OGT, Predicate::ICMP_SGT, Predicate::ICMP_UGT);
    case Op::Ge: return pick(Predicate::FCMP_OGE, Predicate::ICMP_SGE, Predicate::ICMP_UGE);
    default: support::bug("not a comparison");
    }
  }();
  return ir_.CreateCmp(predicate, a, b);
}

llvm::Value *Lanes::inlined_cast(llvm::Value *value, DType from, DType to) {
  if (is_complex(from) || is_complex(to)) return convert_complex(value, from, to);
  if (is_narrow_float(from)) return convert(widen_float(value, from), DType::F32, to);
  if (is_narrow_float(to)) return narrow_float(value, from, to);
  llvm::Type *type = this->type(to, width(value));
  llvm::Constant *zero = llvm::Constant::getNullValue(value->getType());
  if (to == DType::Bool)
    return is_float(from) ? ir_.CreateFCmpUNE(value, zero) : ir_.CreateICmpNE(value, zero);
  if (is_float(from)) {
    if (is_integer(to)) return float_to_integer(value, to);
    return to == DType::F64 ? ir_.CreateFPExt(value, type) : ir_.CreateFPTrunc(value, type);
  }
  const bool with_sign = is_signed_integer(from);
  if (is_float(to))
    return with_sign ? ir_.CreateSIToFP(value, type) : ir_.CreateUIToFP(value, type);
  return ir_.CreateIntCast(value, type, with_sign);
}

} // namespace broadloom::jit

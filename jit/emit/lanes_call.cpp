// Operations that are called: see weights.hpp.
//
// Example: many divisions of i64 become calls of `FloorDiv_i64x8(a, b)`, whose body is what would
// else stand at each. Vector math is in functions already: there the call is kept from being
// inlined (vector_math).
#include "jit/emit/lanes.hpp"

#include <llvm/IR/Module.h>

namespace broadloom::jit {

using ops::Op;

bool Lanes::is_called(Op op, DType compute) const {
  return weights_ != nullptr && weights_->called.has(op, compute);
}

bool Lanes::is_called(DType from, DType to) const {
  return weights_ != nullptr && weights_->called.has_cast(from, to);
}

llvm::Value *Lanes::called_op(Op op, DType compute, llvm::ArrayRef<llvm::Value *> args) {
  if (is_float(compute) && ops::info(op).math == ops::Math::Vector)
    return inlined_op(op, compute, args);
  const bool is_part = is_complex(compute) && ops::complex_form(op) == ops::ComplexForm::Part;
  llvm::Type *result = is_part ? type(real_dtype(compute), width(args[0])) : args[0]->getType();
  return call(std::string(ops::info(op).enumerator) + "_" + std::string(name(compute)), result,
              args, [&](Lanes &lanes, llvm::ArrayRef<llvm::Value *> inputs) {
                return lanes.inlined_op(op, compute, inputs);
              });
}

llvm::Value *Lanes::called_cast(llvm::Value *value, DType from, DType to) {
  return call("cast_" + std::string(name(from)) + "_" + std::string(name(to)),
              type(to, width(value)), {value},
              [&](Lanes &lanes, llvm::ArrayRef<llvm::Value *> inputs) {
                return lanes.inlined_cast(inputs[0], from, to);
              });
}

// Of a function with this name for this width, which is made where there is none yet.
llvm::Value *
Lanes::call(const std::string &name, llvm::Type *result, llvm::ArrayRef<llvm::Value *> args,
            llvm::function_ref<llvm::Value *(Lanes &, llvm::ArrayRef<llvm::Value *>)> body) {
  const llvm::Function *around = ir_.GetInsertBlock()->getParent();
  llvm::Module *module = ir_.GetInsertBlock()->getModule();
  const std::string symbol = name + "x" + std::to_string(width(args[0]));
  llvm::Function *function = module->getFunction(symbol);
  if (function == nullptr) {
    std::vector<llvm::Type *> types;
    for (llvm::Value *arg : args) types.push_back(arg->getType());
    function = llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                                      llvm::Function::InternalLinkage, symbol, module);
    function->setAttributes(around->getAttributes());
    function->addFnAttr(llvm::Attribute::NoInline);
    function->setDoesNotAccessMemory();
    function->setWillReturn();
    auto *entry = llvm::BasicBlock::Create(ir_.getContext(), "entry", function);
    auto *start = llvm::BasicBlock::Create(ir_.getContext(), "start", function);
    Builder ir(entry);
    ir.CreateBr(start);
    ir.SetInsertPoint(start);
    Lanes lanes(ir, target_, accuracy_, weights_);
    std::vector<llvm::Value *> inputs;
    for (llvm::Argument &arg : function->args()) inputs.push_back(&arg);
    ir.CreateRet(body(lanes, inputs));
  }
  return ir_.CreateCall(function, args);
}

} // namespace broadloom::jit

// See pieces.hpp.
#include "jit/emit/pieces.hpp"

#include "block/weights.hpp"
#include "support/check.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace broadloom::jit {

Pieces::Level::Level(Pieces &pieces, std::int64_t total)
    : pieces_(pieces), cuts_(pieces.wanted_ && total > 2 * block::piece_weight) {
  if (!cuts_) return;
  number_ = pieces_.levels_++;
  begin();
}

Pieces::Level::~Level() {
  if (cuts_ && weight_ > 0) end();
}

void Pieces::Level::made(std::int64_t weight) {
  weight_ += std::min(weight, block::piece_weight); // what is heavier is in pieces itself
  if (!cuts_ || weight_ < block::piece_weight) return;
  end();
  weight_ = 0;
}

void Pieces::Level::begin() {
  llvm::Function *function = pieces_.ir_.GetInsertBlock()->getParent();
  first_ = llvm::BasicBlock::Create(pieces_.ir_.getContext(), "piece", function);
  pieces_.ir_.CreateBr(first_);
  pieces_.ir_.SetInsertPoint(first_);
}

void Pieces::Level::end() {
  llvm::BasicBlock *first = first_;
  begin();
  pieces_.pieces_.push_back({first, first_, number_, cut_++});
}

namespace {

using llvm::BasicBlock, llvm::Instruction, llvm::Value;

// Where a function stands among the pieces: outermost first.
struct Spot {
  std::size_t level, piece;
};
using Spots = std::vector<Spot>;

// A value that is made in one function and used in others.
struct Crossing {
  Value *value;
  std::optional<std::size_t> level; // within which it is made and used; none: anywhere
  std::size_t from = 0, to = 0;     // the pieces of the level
  std::uint64_t offset = 0;         // in the frame
};

llvm::Function *function_of(const Value *value) {
  if (const auto *instruction = llvm::dyn_cast<Instruction>(value))
    return const_cast<llvm::Function *>(instruction->getFunction());
  if (const auto *argument = llvm::dyn_cast<llvm::Argument>(value))
    return const_cast<llvm::Function *>(argument->getParent());
  return nullptr;
}

// After all blocks are where they belong: makes functions that use each other's values right again.
class Frame {
public:
  Frame(llvm::Function &outer, std::vector<llvm::Function *> pieces,
        const std::unordered_map<const llvm::Function *, Spots> &paths, llvm::AllocaInst *frame)
      : outer_(outer), pieces_(std::move(pieces)), paths_(paths), frame_(frame),
        layout_(outer.getParent()->getDataLayout()) {}

  std::uint64_t run() {
    find(outer_);
    for (llvm::Function *piece : pieces_) find(*piece);
    place();
    for (Crossing &crossing : crossings_) store(crossing);
    load(outer_);
    for (llvm::Function *piece : pieces_) load(*piece);
    return bytes_;
  }

private:
  Value *frame_in(const llvm::Function &function) const {
    return &function == &outer_ ? static_cast<Value *>(frame_) : function.getArg(0);
  }

  bool crosses(const Value *value, const llvm::Function &user) const {
    const llvm::Function *maker = function_of(value);
    return maker != nullptr && maker != &user && value != frame_;
  }

  void find(llvm::Function &user) {
    for (BasicBlock &block : user)
      for (Instruction &instruction : block)
        for (Value *operand : instruction.operands())
          if (crosses(operand, user)) note(operand, user);
  }

  const Spots &path(const llvm::Function &function) const {
    static const Spots &none = *new Spots;
    const auto found = paths_.find(&function);
    return found == paths_.end() ? none : found->second;
  }

  void note(Value *value, const llvm::Function &user) {
    const Spots &from = path(*function_of(value)), &to = path(user);
    const auto [found, is_new] = known_.try_emplace(value, crossings_.size());
    if (is_new) {
      crossings_.push_back({value, {}, 0, 0, 0});
      if (!from.empty()) {
        crossings_.back().level = from.back().level;
        crossings_.back().from = crossings_.back().to = from.back().piece;
      }
    }
    Crossing &crossing = crossings_[found->second];
    // The innermost level that has the maker and all users.
    const auto on = [](const Spots &path, std::size_t level) {
      return std::find_if(path.begin(), path.end(),
                          [&](const Spot &place) { return place.level == level; });
    };
    while (crossing.level && on(to, *crossing.level) == to.end()) {
      const auto at = on(from, *crossing.level);
      if (at == from.begin()) {
        crossing.level.reset();
      } else {
        crossing.level = (at - 1)->level;
        crossing.from = (at - 1)->piece;
        crossing.to = crossing.from; // all users so far are within this piece
      }
    }
    if (crossing.level) crossing.to = std::max(crossing.to, on(to, *crossing.level)->piece);
  }

  // Values of one level whose pieces do not meet share their room.
  void place() {
    std::map<std::size_t, std::vector<Crossing *>> levels;
    for (Crossing &crossing : crossings_)
      if (crossing.level)
        levels[*crossing.level].push_back(&crossing);
      else
        crossing.offset = room(crossing.value->getType());
    for (auto &[level, values] : levels) {
      std::stable_sort(values.begin(), values.end(),
                       [](const Crossing *a, const Crossing *b) { return a->from < b->from; });
      struct Room {
        std::uint64_t offset, size;
        std::size_t to;
      };
      std::multimap<std::size_t, Room> busy;                    // by the last piece
      std::map<std::uint64_t, std::vector<std::uint64_t>> free; // by size
      for (Crossing *crossing : values) {
        while (!busy.empty() && busy.begin()->first < crossing->from) {
          const Room &left = busy.begin()->second;
          free[left.size].push_back(left.offset);
          busy.erase(busy.begin());
        }
        const std::uint64_t size = size_of(crossing->value->getType());
        std::vector<std::uint64_t> &same = free[size];
        if (same.empty()) same.push_back(room(crossing->value->getType()));
        crossing->offset = same.back();
        same.pop_back();
        busy.insert({crossing->to, {crossing->offset, size, crossing->to}});
      }
    }
  }

  // Vectors of bits are bytes there: AVX2 would pack them one by one.
  static llvm::Type *in_memory(llvm::Type *type) {
    const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (vector == nullptr || !vector->getElementType()->isIntegerTy(1)) return type;
    return llvm::FixedVectorType::get(llvm::Type::getInt8Ty(type->getContext()),
                                      vector->getNumElements());
  }

  std::uint64_t size_of(llvm::Type *type) const {
    const std::uint64_t bytes = layout_.getTypeAllocSize(in_memory(type)).getFixedValue();
    return bytes <= 8 ? 8 : (bytes + 63) / 64 * 64;
  }

  // Whole cache lines for vectors, so that each is aligned as its type wants it.
  std::uint64_t room(llvm::Type *type) {
    const std::uint64_t size = size_of(type);
    if (size > 8) bytes_ = (bytes_ + 63) / 64 * 64;
    const std::uint64_t at = bytes_;
    bytes_ += size;
    return at;
  }

  static llvm::Align alignment(const Crossing &crossing, std::uint64_t size) {
    return size > 8 ? llvm::Align(64) : llvm::commonAlignment(llvm::Align(64), crossing.offset);
  }

  void store(const Crossing &crossing) {
    const llvm::Function &maker = *function_of(crossing.value);
    BasicBlock::iterator after;
    if (auto *instruction = llvm::dyn_cast<Instruction>(crossing.value)) {
      after = llvm::isa<llvm::PHINode>(instruction)
                  ? instruction->getParent()->getFirstInsertionPt()
                  : std::next(instruction->getIterator());
    } else {
      after = std::next(frame_->getIterator());
    }
    llvm::IRBuilder<> ir(&*after);
    ir.SetCurrentDebugLocation({});
    Value *there = ir.CreateConstGEP1_64(ir.getInt8Ty(), frame_in(maker), crossing.offset);
    llvm::Type *memory = in_memory(crossing.value->getType());
    Value *stored = crossing.value;
    if (memory != stored->getType()) stored = ir.CreateSExt(stored, memory);
    ir.CreateAlignedStore(stored, there, alignment(crossing, size_of(memory)));
  }

  Value *loaded(const Crossing &crossing, Instruction *before) {
    llvm::IRBuilder<> ir(before);
    Value *there =
        ir.CreateConstGEP1_64(ir.getInt8Ty(), frame_in(*before->getFunction()), crossing.offset);
    llvm::Type *memory = in_memory(crossing.value->getType());
    Value *value = ir.CreateAlignedLoad(memory, there, alignment(crossing, size_of(memory)));
    if (memory == crossing.value->getType()) return value;
    return ir.CreateICmpSLT(value, llvm::Constant::getNullValue(memory));
  }

  // Once in each block, before the first use; what a phi takes, at the end of the block that it
  // comes from.
  void load(llvm::Function &user) {
    std::map<std::pair<BasicBlock *, Value *>, Value *> at_end;
    for (BasicBlock &block : user) {
      std::unordered_map<Value *, Value *> here;
      for (Instruction &instruction : llvm::make_early_inc_range(block)) {
        auto *phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
        for (llvm::Use &use : instruction.operands()) {
          if (!crosses(use.get(), user)) continue;
          const Crossing &crossing = crossings_[known_.at(use.get())];
          if (phi == nullptr) {
            Value *&value = here[crossing.value];
            if (value == nullptr) value = loaded(crossing, &instruction);
            use.set(value);
          } else {
            BasicBlock *from = phi->getIncomingBlock(use);
            Value *&value = at_end[{from, crossing.value}];
            if (value == nullptr) value = loaded(crossing, from->getTerminator());
            use.set(value);
          }
        }
      }
    }
  }

  llvm::Function &outer_;
  std::vector<llvm::Function *> pieces_;
  const std::unordered_map<const llvm::Function *, Spots> &paths_;
  llvm::AllocaInst *frame_;
  const llvm::DataLayout &layout_;
  std::vector<Crossing> crossings_;
  std::unordered_map<Value *, std::size_t> known_;
  std::uint64_t bytes_ = 0;
};

} // namespace

std::uint64_t Pieces::move_out(llvm::Function &function,
                               llvm::function_ref<void(llvm::Function &)> made) {
  if (pieces_.empty()) return 0;
  llvm::LLVMContext &context = function.getContext();
  BasicBlock &entry = function.getEntryBlock();
  llvm::IRBuilder<> ir(&entry, entry.begin());
  llvm::AllocaInst *frame = ir.CreateAlloca(ir.getInt8Ty(), ir.getInt64(0), "frame");
  frame->setAlignment(llvm::Align(64));
  auto *type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy()}, false);

  std::vector<llvm::Function *> functions;
  std::vector<llvm::CallInst *> calls;
  for (const Piece &piece : pieces_) {
    auto *moved = llvm::Function::Create(
        type, llvm::Function::InternalLinkage,
        function.getName() + "_piece_" + std::to_string(functions.size()), function.getParent());
    moved->setAttributes(function.getAttributes());
    moved->addFnAttr(llvm::Attribute::NoInline);
    auto *call = BasicBlock::Create(context, "piece", &function, piece.first);
    piece.first->getSinglePredecessor()->getTerminator()->replaceSuccessorWith(piece.first, call);
    Instruction *leave = piece.after->getSinglePredecessor()->getTerminator();
    ir.SetInsertPoint(leave);
    ir.CreateRetVoid();
    leave->eraseFromParent();
    ir.SetInsertPoint(call);
    calls.push_back(ir.CreateCall(type, moved, {frame}));
    calls.back()->setDebugLoc({});
    ir.CreateBr(piece.after);
    auto *start = BasicBlock::Create(context, "entry", moved);
    moved->splice(moved->end(), &function, piece.first->getIterator(), piece.after->getIterator());
    ir.SetInsertPoint(start);
    ir.CreateBr(piece.first);
    functions.push_back(moved);
  }

  // A piece inside of another is called by it.
  std::unordered_map<const llvm::Function *, Spots> paths;
  for (std::size_t k = functions.size(); k-- > 0;) { // the outer ones first
    llvm::Function *caller = calls[k]->getFunction();
    Spots path = paths[caller];
    path.push_back({pieces_[k].level, pieces_[k].place});
    paths[functions[k]] = std::move(path);
    if (caller != &function) calls[k]->setArgOperand(0, caller->getArg(0));
  }
  const std::uint64_t bytes = Frame(function, functions, paths, frame).run();
  frame->setOperand(0, ir.getInt64(std::max<std::uint64_t>(bytes, 1)));
  // A stack that is too short ends at its guard page, and not behind it.
  constexpr std::uint64_t page = 4096;
  if (bytes >= page) function.addFnAttr("probe-stack", "inline-asm");
  for (llvm::Function *piece : functions) made(*piece);
  return bytes;
}

} // namespace broadloom::jit

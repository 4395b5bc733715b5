// What a short fold reads of rows: the rows of all lanes, loaded as they lie and transposed in registers.
//
//   rows of 4 in 8 lanes, loaded two to a vector      a0 a1 a2 a3 b0 b1 b2 b3 | c0 .. | e0 .. | g0 ..
//   evens and odds of neighbours, as columns are two  a0 a2 b0 b2 c0 c2 d0 d2 | e0 .. | a1 a3 b1 b3 .. | ..
//   and again                                         a0 b0 c0 d0 e0 f0 g0 h0 | a2 .. | a1 .. | a3 ..
//
// Loads one by one, or gathers, would take several times as long.
#include "jit/emit/phase.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>

namespace broadloom::jit {

using namespace loop;

namespace {

using Values = std::vector<llvm::Value *>;

// first, first + step, ..: `count` lanes of the two vectors side by side.
llvm::Value *pick(Builder &ir, llvm::Value *a, llvm::Value *b, int first, int step, int count) {
  std::vector<int> lanes;
  for (int k = 0; k < count; ++k) lanes.push_back(first + k * step);
  return ir.CreateShuffleVector(a, b, lanes);
}

// Vectors that hold one row after another; gives the columns of these rows.
Values transposed(Builder &ir, const Values &rows) {
  if (rows.size() == 1) return rows;
  const int width = Lanes::width(rows[0]);
  Values halves[2];
  for (int odd = 0; odd < 2; ++odd) {
    for (std::size_t k = 0; k < rows.size(); k += 2)
      halves[odd].push_back(pick(ir, rows[k], rows[k + 1], odd, 2, width));
    halves[odd] = transposed(ir, halves[odd]);
  }
  Values columns;
  for (std::size_t k = 0; k < rows.size(); ++k) columns.push_back(halves[k % 2][k / 2]);
  return columns;
}

} // namespace

// For the operands that the body reads along rows, while their lanes are in different rows.
void PhaseEmitter::load_columns(const Loop &loop, bool in_memory) {
  for (const Stmt &s : loop.body) {
    if (s.kind != StmtKind::Let || program_[s.value].kind != ValueKind::Load) continue;
    const BufferId id = program_[s.value].buffer;
    const Walk *along = walk(id, loop.axis), *across = walk(id, vector_->axis);
    if (along == nullptr || across == nullptr || along->stride != StrideClass::Unit ||
        across->stride == StrideClass::Unit || is_complex(program_[id].dtype))
      continue;
    Columns &columns = columns_[id.index];
    columns.along = loop.axis;
    columns.vectors = columns_of(id, loop.turns);
    if (!in_memory || columns.vectors.empty()) continue;
    llvm::Type *type = columns.vectors[0]->getType();
    columns.room = lanes_.room(type, columns.vectors.size());
    for (std::size_t k = 0; k < columns.vectors.size(); ++k)
      ir_.CreateStore(columns.vectors[k], ir_.CreateConstGEP1_64(type, columns.room, k));
    columns.vectors.clear();
  }
}

PhaseEmitter::Values PhaseEmitter::columns_of(BufferId id, int count) {
  Values columns;
  for (int first = 0; first < count; first += width_) {
    const Values block = columns_of_block(id, first, std::min(width_, count - first));
    if (block.empty()) return {};
    columns.insert(columns.end(), block.begin(), block.end());
  }
  return columns;
}

// Columns `first` to `first + count`; none where the machine cannot load parts of such rows. Lanes that do not count have the row
// of the last one that does.
PhaseEmitter::Values PhaseEmitter::columns_of_block(BufferId id, int first, int count) {
  const DType dtype = program_[id].dtype;
  const std::size_t size = size_of(dtype);
  const int padded = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
  if (padded != count && !has_masked_move(target_, size)) return {};
  llvm::Type *scalar = lanes_.memory_type(dtype);
  auto *type = llvm::FixedVectorType::get(scalar, static_cast<unsigned>(padded));
  std::vector<llvm::Constant *> wanted;
  for (int k = 0; k < padded; ++k) wanted.push_back(ir_.getInt1(k < count));
  llvm::Value *last = active_ == nullptr
                          ? nullptr
                          : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.getInt64(0),
                                                      ir_.CreateSub(active_, ir_.getInt64(1)));
  llvm::Value *corner =
      ir_.CreateConstGEP1_64(scalar, at_[id.index], static_cast<std::uint64_t>(first));
  Values rows;
  for (int lane = 0; lane < width_; ++lane) {
    llvm::Value *row = ir_.getInt64(static_cast<std::uint64_t>(lane));
    if (last != nullptr) row = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, row, last);
    llvm::Value *there = address(corner, ir_.CreateMul(row, step_bytes(id, vector_->axis)));
    rows.push_back(padded == count ? static_cast<llvm::Value *>(
                                         ir_.CreateAlignedLoad(type, there, llvm::Align(size)))
                                   : ir_.CreateMaskedLoad(type, there, llvm::Align(size),
                                                          llvm::ConstantVector::get(wanted),
                                                          llvm::Constant::getNullValue(type)));
  }
  for (int together = padded; together < width_; together *= 2) { // several rows to a vector
    Values joined;
    for (std::size_t k = 0; k < rows.size(); k += 2)
      joined.push_back(pick(ir_, rows[k], rows[k + 1], 0, 1, 2 * together));
    rows = std::move(joined);
  }
  Values columns = transposed(ir_, rows);
  columns.resize(static_cast<std::size_t>(count));
  return columns;
}

// The element of each lane at the current position, where rows of this buffer have been loaded; else null.
llvm::Value *PhaseEmitter::column(BufferId id) {
  const Columns &columns = columns_[id.index];
  llvm::Value *position = positions_[columns.along.index];
  if (columns.room != nullptr) {
    llvm::Type *type = columns.room->getAllocatedType();
    return ir_.CreateLoad(type, ir_.CreateGEP(type, columns.room, position));
  }
  if (columns.vectors.empty()) return nullptr;
  return columns.vectors[llvm::cast<llvm::ConstantInt>(position)->getZExtValue()];
}

} // namespace broadloom::jit

// Register tiles: several rows of a result run as one group of lanes.
//
// Where a value walks the rows, each row has its own part of the lanes; else all rows have the same, which is loaded once.
//
//   lanes      j0 j1 | j0 j1      R = 2 rows of W = 2 lanes
//   a[i, k]    a0 a0 | a1 a1
//   b[k, j]    b0 b1 | b0 b1
//   c[i, j]    row i | row i + 1
#include "jit/emit/phase.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

void PhaseEmitter::row_tile(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Values outer = at_;
  const block::Box &box = run.whole();
  const RegisterTile block{run.inner, program_[run.loop].axis, box.count(block::As::Copies),
                           box.count(block::As::Lanes)};
  const Loop &lanes = program_[block.inner];
  const auto [first, last] = range(lanes);
  llvm::Value *whole_rows = whole(begin, end, block.rows);
  llvm::Value *whole_lanes = whole(first, last, block.width);
  lanes_.counted_loop(first, whole_lanes, block.width, {}, [&](llvm::Value *position, Values) {
    lanes_.counted_loop(begin, whole_rows, block.rows, {}, [&](llvm::Value *row, Values) {
      took(Path::RegisterTile);
      move(run.loop, outer, row, 0);
      rows_ = &block;
      set_lanes(&lanes, block.rows * block.width);
      turn(box, block.inner, Values(at_), position);
      set_lanes(nullptr, 1);
      rows_ = nullptr;
      at_ = outer;
      return Values{};
    });
    return Values{};
  });
  // The lanes beside the blocks, and whole rows below them.
  llvm::Value *left = ir_.CreateSelect(ir_.CreateICmpEQ(whole_lanes, last), whole_rows, begin);
  lanes_.counted_loop(left, end, 1, {}, [&](llvm::Value *row, Values) {
    took(Path::RegisterTileBeside);
    move(run.loop, outer, row, 0);
    vector_map(block::run_of(run.rest(), block.inner),
               ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_lanes, first), last);
    return Values{};
  });
  at_ = outer;
}

// What `access` does for one row, with its lanes and addresses.
template <class Access> void PhaseEmitter::each_row(BufferId id, Access access) {
  const RegisterTile &block = *std::exchange(rows_, nullptr);
  llvm::Value *first = at_[id.index];
  width_ = block.width;
  const bool walks = walk(id, block.axis) != nullptr; // else all rows have the same
  for (int r = 0; r < (walks ? block.rows : 1); ++r) {
    if (walks)
      at_[id.index] = address(first, ir_.CreateMul(step_bytes(id, block.axis),
                                                   ir_.getInt64(static_cast<std::uint64_t>(r))));
    access(r);
  }
  at_[id.index] = first;
  width_ = block.rows * block.width;
  rows_ = &block;
}

// Where what the rows share is read a few steps of the fold later.
void PhaseEmitter::ask_for_steps(BufferId id) {
  constexpr std::int64_t steps = 4;
  const Walk *down = nullptr;
  for (const Stmt &s : program_[rows_->inner].body)
    if (s.kind == StmtKind::Loop && down == nullptr) down = walk(id, program_[s.loop].axis);
  llvm::Value *later =
      address(at_[id.index], ir_.CreateMul(step_bytes(id, down->axis), ir_.getInt64(steps)));
  const auto bytes = static_cast<std::int64_t>(size_of(program_[id].dtype)) * rows_->width;
  for (std::int64_t k = 0; k < bytes; k += line_bytes)
    prefetch(address(later, ir_.getInt64(static_cast<std::uint64_t>(k))), 3);
}

llvm::Value *PhaseEmitter::load_rows(BufferId id) {
  if (box_->access(id, false).prefetch.steps) ask_for_steps(id);
  Values parts;
  each_row(id, [&](int) { parts.push_back(load(id)); });
  if (parts.size() == 1 && Lanes::width(parts[0]) == 1) return parts[0];
  for (llvm::Value *&part : parts) part = lanes_.splat(part, rows_->width);
  parts.resize(static_cast<std::size_t>(rows_->rows), parts[0]);
  return lanes_.joined(parts);
}

void PhaseEmitter::store_rows(BufferId id, llvm::Value *value) {
  value = lanes_.splat(value, width_);
  each_row(id, [&](int r) {
    std::vector<int> own;
    for (int k = 0; k < width_; ++k) own.push_back(r * width_ + k);
    store(id, ir_.CreateShuffleVector(value, own));
  });
}

} // namespace broadloom::jit

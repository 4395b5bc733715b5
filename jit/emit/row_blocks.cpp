// Products of matrices and their like: several rows of the result at once.
//
// Problem: in c[i, j] = sum(a[i, k] * b[k, j], k) with lanes along j, every row of c reads all of b. The caches deliver it more
// slowly than the processor multiplies, where b is larger than a core's own.
// Method: R rows run as one group of lanes. Where a value walks the rows, each row has its own part of the lanes; else all
// rows have the same. So b is loaded once for R rows, and each state still has its own steps in their order. The rows go round inside
// of a few columns, which stay in the caches.
//
//   lanes      j0 j1 | j0 j1      R = 2 rows of W = 2 lanes
//   a[i, k]    a0 a0 | a1 a1
//   b[k, j]    b0 b1 | b0 b1
//   c[i, j]    row i | row i + 1
#include "jit/emit/phase.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

namespace {
constexpr int most_rows = 4;
}

// Does anything in there need more of a row than its addresses?
bool PhaseEmitter::splits_in_rows(const std::vector<Stmt> &body, AxisId rows) const {
  return std::all_of(body.begin(), body.end(), [&](const Stmt &s) {
    switch (s.kind) {
    case StmtKind::Let: {
      const Value &v = program_[s.value];
      if (is_complex(v.dtype) ||
          (v.kind == ValueKind::Load && program_[v.buffer].role == Role::Row))
        return false;
      return v.kind != ValueKind::Index || v.axis != rows;
    }
    case StmtKind::Set: return program_[s.buffer].role != Role::Row && walk(s.buffer, rows);
    case StmtKind::Step: return true;
    case StmtKind::Loop: {
      const Loop &loop = program_[s.loop];
      const bool vary = std::all_of(loop.accs.begin(), loop.accs.end(),
                                    [&](AccId acc) { return survey_.acc_varies[acc.index]; });
      return vary && !loop.accs.empty() && !loop.vector && !loop.scan && !loop.reverse &&
             loop.turns == 0 && !loop.within && !survey_.loops[s.loop.index].inner_loops &&
             splits_in_rows(loop.body, rows);
    }
    }
    return false;
  });
}

// The loop over lanes inside, where its folds read something that all rows share; and how many lanes of each row.
std::optional<PhaseEmitter::RowBlock> PhaseEmitter::row_block(LoopId id) const {
  const Loop &rows = program_[id];
  if (vector_ != nullptr || rows.body.size() != 1 || rows.body[0].kind != StmtKind::Loop) return {};
  RowBlock block{rows.body[0].loop, rows.axis, 1, 0};
  const Loop &lanes = program_[block.inner];
  const Survey::LoopFacts &facts = survey_.loops[block.inner.index];
  if (!lanes.vector || !lanes.accs.empty() || lanes.scan || lanes.turns > 0 ||
      lanes.within == rows.axis || facts.costly || !facts.inner_folds ||
      !splits_in_rows(lanes.body, rows.axis))
    return {};
  const bool shared = std::any_of(facts.buffers.begin(), facts.buffers.end(), [&](BufferId buffer) {
    return program_[buffer].reread && walk(buffer, rows.axis) == nullptr &&
           walk(buffer, lanes.axis) != nullptr;
  });
  const auto twice_fits = [&] {
    return 2 * block.rows * block.width * facts.acc_bytes <= accumulator_room();
  };
  block.width = base_width(block.inner);
  while (block.rows < most_rows && twice_fits()) block.rows *= 2;
  while (twice_fits()) block.width *= 2;
  return shared && block.rows > 1 ? std::optional(block) : std::nullopt;
}

void PhaseEmitter::loop_in_row_blocks(LoopId id, const RowBlock &block, llvm::Value *begin,
                                      llvm::Value *end) {
  const Values outer = at_;
  const Loop &lanes = program_[block.inner];
  const auto [first, last] = range(lanes);
  llvm::Value *whole_rows = whole(begin, end, block.rows);
  llvm::Value *whole_lanes = whole(first, last, block.width);
  lanes_.counted_loop(first, whole_lanes, block.width, {}, [&](llvm::Value *position, Values) {
    lanes_.counted_loop(begin, whole_rows, block.rows, {}, [&](llvm::Value *row, Values) {
      took(Path::RowBlock);
      move(id, outer, row, 0);
      rows_ = &block;
      set_lanes(&lanes, block.rows * block.width);
      turn(block.inner, Values(at_), position);
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
    took(Path::RowBlockBeside);
    move(id, outer, row, 0);
    vector_map(block.inner,
               ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_lanes, first), last);
    return Values{};
  });
  at_ = outer;
}

// What `access` does for one row, with its lanes and addresses.
template <class Access> void PhaseEmitter::each_row(BufferId id, Access access) {
  const RowBlock &block = *std::exchange(rows_, nullptr);
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

// Each step of the folds reads another row of what the rows of the block share, often in another page, where the processor
// does not look ahead by itself; where rows lie a power of two apart, few of them stay in the nearest caches.
void PhaseEmitter::ask_for_steps(BufferId id) {
  constexpr std::int64_t steps = 4;
  if (walk(id, rows_->axis) != nullptr || walk(id, vector_->axis) == nullptr) return;
  const Walk *down = nullptr;
  for (const Stmt &s : program_[rows_->inner].body)
    if (s.kind == StmtKind::Loop && down == nullptr) down = walk(id, program_[s.loop].axis);
  if (down == nullptr || walk(id, vector_->axis)->stride != StrideClass::Unit) return;
  llvm::Value *later =
      address(at_[id.index], ir_.CreateMul(step_bytes(id, down->axis), ir_.getInt64(steps)));
  const auto bytes = static_cast<std::int64_t>(size_of(program_[id].dtype)) * rows_->width;
  for (std::int64_t k = 0; k < bytes; k += line_bytes)
    prefetch(address(later, ir_.getInt64(static_cast<std::uint64_t>(k))), 3);
}

llvm::Value *PhaseEmitter::load_rows(BufferId id) {
  ask_for_steps(id);
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

// Two loops of a tile together, where an operand lies across.
//
// Problem: in z[i, j] = a[i, j] + b[j, i] with lanes along j, the elements of b for the lanes of one vector lie in
// as many rows of memory, and are loaded one by one.
// Method: W turns of the loop over i run as one group. A block of W by W elements of b is loaded as W vectors
// along i, which are transposed in registers by log2(W) rounds of shuffles; then each vector has the lanes
// along j for one i, and a loop runs the body for each of them. What is left over at the ends runs as before.
// Example, W = 2: rows (b00 b01) and (b10 b11) in memory; i = 0 takes (b00 b10), i = 1 takes (b01 b11).
#include "jit/emit/phase.hpp"

#include <algorithm>
#include <numeric>

namespace broadloom::jit {

using namespace loop;

namespace {
constexpr std::size_t most_statements = 12; // of a body that is light
constexpr std::size_t most_blocks = 2;      // of registers
} // namespace

// The loop over lanes that is all that this loop contains, but for values; null where the two cannot run as blocks.
const Loop *PhaseEmitter::lanes_inside(const Loop &loop, LoopId &id) const {
  const std::optional<LoopId> only = only_loop(loop.body);
  if (!only || !loop.accs.empty() || !loop.within) return nullptr;
  id = *only;
  const Loop *inner = &program_[id];
  if (!inner->vector || !inner->accs.empty() || inner->scan) return nullptr;
  if (loop.body.size() + inner->body.size() > most_statements) return nullptr;
  const Survey::LoopFacts &facts = survey_.loops[id.index];
  return facts.inner_loops || facts.costly ? nullptr : inner;
}

std::vector<BufferId> PhaseEmitter::lying_across(const Loop &rows, const Loop &lanes,
                                                 int width) const {
  std::vector<BufferId> found;
  for (const Stmt &s : lanes.body) {
    if (s.kind != StmtKind::Let || program_[s.value].kind != ValueKind::Load) continue;
    const BufferId id = program_[s.value].buffer;
    const Walk *along = walk(id, rows.axis), *across = walk(id, lanes.axis);
    if (along == nullptr || along->stride != StrideClass::Unit || across == nullptr) continue;
    const DType dtype = program_[id].dtype;
    const std::size_t size = size_of(dtype);
    if (is_complex(dtype) || (size != 4 && size != 8) ||
        size * 8 * static_cast<std::size_t>(width) > static_cast<std::size_t>(target_.vector_bits))
      continue;
    if (std::find(found.begin(), found.end(), id) == found.end()) found.push_back(id);
  }
  return found.size() > most_blocks ? std::vector<BufferId>{} : found;
}

// Runs the loop in blocks and gives true, or does nothing.
bool PhaseEmitter::transposed_tile(LoopId id, llvm::Value *begin, llvm::Value *end) {
  const Loop &rows = program_[id];
  LoopId inner;
  const Loop *lanes = lanes_inside(rows, inner);
  if (lanes == nullptr) return false;
  const int width = base_width(inner);
  const std::vector<BufferId> buffers = lying_across(rows, *lanes, width);
  if (buffers.empty()) return false;

  const auto [first, last] = range(*lanes);
  llvm::Value *whole_rows = whole(begin, end, width), *whole_lanes = whole(first, last, width);
  llvm::Value *wrong = nullptr; // zero where the stores are aligned in every row
  if (const std::vector<BufferId> stores = streams(inner); !stores.empty()) {
    wrong = misaligned(stores, first, width);
    for (const BufferId buffer : stores)
      if (walk(buffer, rows.axis) != nullptr)
        wrong = ir_.CreateOr(wrong, ir_.CreateAnd(step_bytes(buffer, rows.axis),
                                                  stream_alignment(buffer, width) - 1));
  }
  run_blocks(id, inner, buffers, {begin, whole_rows}, {first, whole_lanes}, width, wrong);

  // The columns beside the blocks, and whole rows below them.
  const Values outer = at_;
  llvm::Value *left = ir_.CreateSelect(ir_.CreateICmpEQ(whole_lanes, last), whole_rows, begin);
  lanes_.counted_loop(left, end, 1, {}, [&](llvm::Value *row, Values) {
    took(Path::TileBeside);
    Tile tile;
    tile.inner = inner;
    tile.begin = ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_lanes, first);
    tile_ = &tile;
    turn(id, outer, row);
    tile_ = nullptr;
    return Values{};
  });
  at_ = outer;
  return true;
}

void PhaseEmitter::run_blocks(LoopId id, LoopId inner, const std::vector<BufferId> &buffers,
                              std::pair<llvm::Value *, llvm::Value *> rows,
                              std::pair<llvm::Value *, llvm::Value *> lanes, int width,
                              llvm::Value *wrong) {
  const Values outer = at_;
  lanes_.counted_loop(rows.first, rows.second, width, {}, [&](llvm::Value *row, Values) {
    lanes_.counted_loop(lanes.first, lanes.second, width, {}, [&](llvm::Value *lane, Values) {
      took(Path::TileBlock);
      Tile tile;
      tile.inner = inner;
      tile.lane = lane;
      tile.width = width;
      for (const BufferId buffer : buffers)
        tile.blocks.emplace_back(
            buffer, in_memory(load_block(buffer, outer[buffer.index], program_[id].axis, row,
                                         program_[inner].axis, lane, width)));
      llvm::Value *turns = ir_.getInt64(static_cast<std::uint64_t>(width));
      std::vector<NextLines> ahead;
      if (wrong != nullptr) ahead = next_lines(id, inner, outer, rows, row, lane, width);
      const auto all_rows = [&] {
        lanes_.counted_loop(ir_.getInt64(0), turns, 1, {}, [&](llvm::Value *k, Values) {
          for (const NextLines &lines : ahead)
            prefetch(lanes_.walking_address(lines.first, k, lines.step), 2);
          if (aligned_stream_) took(Path::TileStreamed);
          tile.row = k;
          tile_ = &tile;
          turn(id, outer, ir_.CreateAdd(row, k));
          tile_ = nullptr;
          return Values{};
        });
        return Values{};
      };
      // Here, and not around all blocks, so that the shuffles stand once.
      if (wrong == nullptr)
        all_rows();
      else
        around_caches(wrong, all_rows);
      return Values{};
    });
    return Values{};
  });
  at_ = outer;
}

// The vectors of a block in stack memory, so that one copy of the body does for all of them.
llvm::AllocaInst *PhaseEmitter::in_memory(const Values &vectors) {
  llvm::Type *type = vectors[0]->getType();
  llvm::AllocaInst *room = lanes_.room(type, vectors.size());
  for (std::size_t k = 0; k < vectors.size(); ++k)
    ir_.CreateStore(vectors[k], ir_.CreateConstGEP1_64(type, room, k));
  return room;
}

// Rows that lie far apart are no stream that the hardware would follow: so the lines of the next block are asked for,
// those of the rows below, or at the end of the tile those of the tile beside it. Into the second-level cache, as
// rows at distances of a power of two share a few lines of the first.
std::vector<PhaseEmitter::NextLines>
PhaseEmitter::next_lines(LoopId id, LoopId inner, const Values &outer,
                         std::pair<llvm::Value *, llvm::Value *> rows, llvm::Value *row,
                         llvm::Value *lane, int width) {
  const AxisId down = program_[id].axis, across = program_[inner].axis;
  llvm::Value *below = ir_.CreateAdd(row, ir_.getInt64(static_cast<std::uint64_t>(width)));
  llvm::Value *inside = ir_.CreateICmpSLT(below, rows.second);
  llvm::Value *next_row = ir_.CreateSelect(inside, below, rows.first);
  llvm::Value *next_lane =
      ir_.CreateSelect(inside, lane, ir_.CreateAdd(lane, chunks_[across.index]));
  std::vector<BufferId> seen;
  std::vector<NextLines> lines;
  for (const Stmt &s : program_[inner].body) {
    if (s.kind != StmtKind::Let || program_[s.value].kind != ValueKind::Load) continue;
    const BufferId buffer = program_[s.value].buffer;
    if (walk(buffer, down) == nullptr || walk(buffer, across) == nullptr ||
        std::find(seen.begin(), seen.end(), buffer) != seen.end())
      continue;
    seen.push_back(buffer);
    const bool lies_across = walk(buffer, down)->stride == StrideClass::Unit;
    llvm::Value *base = outer[buffer.index];
    base = address(base, ir_.CreateMul(next_row, step_bytes(buffer, down)));
    base = address(base, ir_.CreateMul(next_lane, step_bytes(buffer, across)));
    lines.push_back({base, step_bytes(buffer, lies_across ? across : down)});
  }
  return lines;
}

// Within a tile: the inner loop is at one group of lanes, or begins later.
bool PhaseEmitter::loop_in_tile(LoopId id, llvm::Value *end) {
  if (tile_ == nullptr || tile_->inner.index != id.index) return false;
  const Values outer = at_;
  if (tile_->lane == nullptr) {
    const Tile *tile = std::exchange(tile_, nullptr);
    vector_map(id, tile->begin, end);
  } else {
    set_lanes(&program_[id], tile_->width);
    turn(id, outer, tile_->lane);
    set_lanes(nullptr, 1);
  }
  at_ = outer;
  return true;
}

// The lanes of a buffer that lies across, or null.
llvm::Value *PhaseEmitter::load_from_tile(BufferId id) {
  if (tile_ == nullptr) return nullptr;
  for (const auto &[buffer, room] : tile_->blocks) {
    if (buffer.index != id.index) continue;
    llvm::Type *type = room->getAllocatedType();
    return ir_.CreateLoad(type, ir_.CreateGEP(type, room, tile_->row));
  }
  return nullptr;
}

PhaseEmitter::Values PhaseEmitter::load_block(BufferId id, llvm::Value *base, AxisId along,
                                              llvm::Value *row, AxisId across, llvm::Value *lane,
                                              int width) {
  const std::size_t size = size_of(program_[id].dtype);
  llvm::Type *type = lanes_.widen(lanes_.memory_type(program_[id].dtype), width);
  llvm::Value *step = step_bytes(id, across);
  llvm::Value *there = address(base, ir_.CreateMul(row, step_bytes(id, along)));
  there = address(there, ir_.CreateMul(lane, step));
  Values vectors;
  for (int k = 0; k < width; ++k) {
    vectors.push_back(ir_.CreateAlignedLoad(type, there, llvm::Align(size)));
    there = address(there, step);
  }
  return transposed(std::move(vectors), size);
}

// In each round, at distance d, the vectors r and r + d exchange every second run of d lanes:
//
//   a0 a1 a2 a3, b0 b1 b2 b3   with d = 1:   a0 b0 a2 b2, a1 b1 a3 b3
//
// Inside of 16 bytes the machine has cheap shuffles that take neighbours from either vector, so for elements of four
// bytes the first two rounds are made of those.
PhaseEmitter::Values PhaseEmitter::transposed(Values v, std::size_t size) {
  const int width = static_cast<int>(v.size());
  int distance = 1;
  if (size == 4 && width >= 4) {
    std::vector<int> low, high, first, second;
    for (int lane = 0; lane < width; lane += 4)
      for (const int k : {0, width, 1, width + 1}) {
        low.push_back(lane + k);
        high.push_back(lane + k + 2);
      }
    for (int lane = 0; lane < width; lane += 4)
      for (const int k : {0, 1, width, width + 1}) {
        first.push_back(lane + k);
        second.push_back(lane + k + 2);
      }
    for (std::size_t r = 0; r < v.size(); r += 4) {
      llvm::Value *a = ir_.CreateShuffleVector(v[r], v[r + 1], low);
      llvm::Value *b = ir_.CreateShuffleVector(v[r], v[r + 1], high);
      llvm::Value *c = ir_.CreateShuffleVector(v[r + 2], v[r + 3], low);
      llvm::Value *d = ir_.CreateShuffleVector(v[r + 2], v[r + 3], high);
      v[r] = ir_.CreateShuffleVector(a, c, first);
      v[r + 1] = ir_.CreateShuffleVector(a, c, second);
      v[r + 2] = ir_.CreateShuffleVector(b, d, first);
      v[r + 3] = ir_.CreateShuffleVector(b, d, second);
    }
    distance = 4;
  }
  for (; distance < width; distance *= 2) {
    std::vector<int> upper, lower;
    for (int lane = 0; lane < width; ++lane) {
      upper.push_back((lane & distance) != 0 ? width + lane - distance : lane);
      lower.push_back((lane & distance) != 0 ? width + lane : lane + distance);
    }
    for (int r = 0; r < width; ++r) {
      if ((r & distance) != 0) continue;
      llvm::Value *&a = v[static_cast<std::size_t>(r)];
      llvm::Value *&b = v[static_cast<std::size_t>(r + distance)];
      llvm::Value *top = ir_.CreateShuffleVector(a, b, upper);
      b = ir_.CreateShuffleVector(a, b, lower);
      a = top;
    }
  }
  return v;
}

} // namespace broadloom::jit

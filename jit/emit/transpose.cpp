// Two loops of a tile together, where an operand lies across.
//
// A block of W by W elements of an operand that lies across is loaded as W vectors along the rows, which are transposed in
// registers; then each vector has the lanes for one row, and a loop runs the body for each of them.
// Example, W = 2: rows (b00 b01) and (b10 b11) in memory; i = 0 takes (b00 b10), i = 1 takes (b01 b11).
#include "jit/emit/phase.hpp"

#include "support/check.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

void PhaseEmitter::transposed_tile(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Loop &rows = program_[run.loop], &lanes = program_[run.inner];
  const block::Box &box = run.whole();
  const int width = box.positions();
  const auto [first, last] = range(lanes);
  llvm::Value *whole_rows = whole(begin, end, width), *whole_lanes = whole(first, last, width);
  llvm::Value *wrong = nullptr; // zero where the stores are aligned in every row
  if (const std::vector<BufferId> stores = streamed(box); !stores.empty()) {
    wrong = misaligned(stores, first, width);
    for (const BufferId buffer : stores)
      if (walk(buffer, rows.axis) != nullptr)
        wrong = ir_.CreateOr(wrong, ir_.CreateAnd(step_bytes(buffer, rows.axis),
                                                  stream_alignment(buffer, width) - 1));
  }
  run_blocks(run, {begin, whole_rows}, {first, whole_lanes}, wrong);

  // The columns beside the blocks, and whole rows below them.
  const Values outer = at_;
  llvm::Value *left = ir_.CreateSelect(ir_.CreateICmpEQ(whole_lanes, last), whole_rows, begin);
  lanes_.counted_loop(left, end, 1, {}, [&](llvm::Value *row, Values) {
    took(Path::TileBeside);
    Tile tile;
    tile.inner = run.inner;
    tile.begin = ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_lanes, first);
    tile_ = &tile;
    turn(run.rest(), run.loop, outer, row);
    tile_ = nullptr;
    return Values{};
  });
  at_ = outer;
}

void PhaseEmitter::run_blocks(const block::Run &run, std::pair<llvm::Value *, llvm::Value *> rows,
                              std::pair<llvm::Value *, llvm::Value *> lanes, llvm::Value *wrong) {
  const Values outer = at_;
  const block::Box &box = run.whole();
  const int width = box.positions();
  lanes_.counted_loop(rows.first, rows.second, width, {}, [&](llvm::Value *row, Values) {
    lanes_.counted_loop(lanes.first, lanes.second, width, {}, [&](llvm::Value *lane, Values) {
      took(Path::TileBlock);
      Tile tile;
      tile.inner = run.inner;
      tile.lane = lane;
      tile.width = width;
      for (const block::Access &access : box.accesses)
        if (!access.store && access.move == block::Move::Transposed)
          tile.blocks.emplace_back(access.buffer,
                                   in_memory(load_block(access.buffer, outer[access.buffer.index],
                                                        program_[run.loop].axis, row,
                                                        program_[run.inner].axis, lane, width)));
      llvm::Value *turns = ir_.getInt64(static_cast<std::uint64_t>(width));
      std::vector<NextLines> ahead;
      if (wrong != nullptr) ahead = next_lines(run, outer, rows, row, lane);
      const auto all_rows = [&] {
        lanes_.counted_loop(ir_.getInt64(0), turns, 1, {}, [&](llvm::Value *k, Values) {
          for (const NextLines &lines : ahead)
            prefetch(lanes_.walking_address(lines.first, k, lines.step), 2);
          if (aligned_stream_) took(Path::TileStreamed);
          tile.row = k;
          tile_ = &tile;
          turn(box, run.loop, outer, ir_.CreateAdd(row, k));
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
PhaseEmitter::next_lines(const block::Run &run, const Values &outer,
                         std::pair<llvm::Value *, llvm::Value *> rows, llvm::Value *row,
                         llvm::Value *lane) {
  const AxisId down = program_[run.loop].axis, across = program_[run.inner].axis;
  const int width = run.whole().positions();
  llvm::Value *below = ir_.CreateAdd(row, ir_.getInt64(static_cast<std::uint64_t>(width)));
  llvm::Value *inside = ir_.CreateICmpSLT(below, rows.second);
  llvm::Value *next_row = ir_.CreateSelect(inside, below, rows.first);
  llvm::Value *next_lane =
      ir_.CreateSelect(inside, lane, ir_.CreateAdd(lane, chunks_[across.index]));
  std::vector<NextLines> lines;
  for (const block::Access &access : run.whole().accesses) {
    if (!access.prefetch.block) continue;
    const BufferId buffer = access.buffer;
    const bool lies_across = walk(buffer, down)->stride == StrideClass::Unit;
    llvm::Value *base = outer[buffer.index];
    base = address(base, ir_.CreateMul(next_row, step_bytes(buffer, down)));
    base = address(base, ir_.CreateMul(next_lane, step_bytes(buffer, across)));
    lines.push_back({base, step_bytes(buffer, lies_across ? across : down)});
  }
  return lines;
}

// Within a tile: the inner loop is at one group of lanes, or begins later.
void PhaseEmitter::loop_in_tile(LoopId id) {
  const Values outer = at_;
  llvm::Value *end = range(program_[id]).second;
  if (tile_->lane == nullptr) {
    const Tile *tile = std::exchange(tile_, nullptr);
    vector_map(block::run_of(*box_, id), tile->begin, end);
  } else {
    set_lanes(&program_[id], tile_->width);
    turn(*box_, id, outer, tile_->lane);
    set_lanes(nullptr, 1);
  }
  at_ = outer;
}

// The lanes of a buffer that lies across.
llvm::Value *PhaseEmitter::load_from_tile(BufferId id) {
  for (const auto &[buffer, room] : tile_->blocks) {
    if (buffer.index != id.index) continue;
    llvm::Type *type = room->getAllocatedType();
    return ir_.CreateLoad(type, ir_.CreateGEP(type, room, tile_->row));
  }
  support::bug("a block that is not loaded");
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

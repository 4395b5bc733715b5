// Cache lines that are asked for before they are loaded.
//
// Memory answers some hundred cycles after it was asked, so speed is the number of lines asked for
// at a time. The processor looks ahead by itself until its scheduler is full of operations that
// wait for loads: sums of f32 in f64 fill it with eight of them for a line. Two distances, measured
// over 64 MB on Sapphire Rapids with two threads: near ones into the first cache, and far ones,
// which make the second cache's own prefetcher go on to the next page. GB/s of a sum without, with
// the near, the far, and both: 17, 23, 27, 31.
#include "jit/emit/memory.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

namespace {
constexpr std::int64_t line_bytes = 64; // of the caches
} // namespace

// For reading; localities as LLVM counts them: 3 into the first cache, 2 the second, 1 the second
// where it is larger.
void Memory::prefetch(llvm::Value *there, unsigned locality) {
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                      {there, ir_.getInt32(0), ir_.getInt32(locality), ir_.getInt32(1)});
}

// All lines of so many bytes, from a distance on.
void Memory::ask(llvm::Value *first, std::int64_t distance, std::int64_t bytes, unsigned locality) {
  for (std::int64_t k = 0; k < std::max(bytes, line_bytes); k += line_bytes)
    prefetch(context_.address(first, context_.number(distance + k)), locality);
}

// What comes next in memory, which later turns of some loop around will load.
void Memory::read_ahead(const Row &row) {
  const auto size = static_cast<std::int64_t>(size_of(program_[row.access.buffer].dtype));
  const std::int64_t bytes = size * row.group.width;
  if (bytes < line_bytes && row.here.offset * size % line_bytes != 0)
    return; // a copy of the body before has asked
  context_.took(Path::ReadAhead);
  ask_ahead(row.group, row.at, bytes);
}

// What follows these bytes, in the direction of the loop.
void Memory::ask_ahead(const Group &group, llvm::Value *first, std::int64_t bytes) {
  constexpr std::int64_t near = 1024, far = 8192;
  const std::int64_t direction = group.loop->reverse ? -1 : 1;
  bytes = bytes / line_bytes * line_bytes;
  ask(first, direction * near, bytes, 3);
  ask(first, direction * far, bytes, 1);
}

// The same piece of the row that this copy of a jam takes in its next turn. Where a turn of wide
// rows goes through more than a part of the nearest cache, it is what follows in the same row.
// Milliseconds of a sum of the columns of 16M f32, eight rows in a turn, on two threads, where this
// asks for the rows below into the second cache, or the first, or for what follows in each row:
//
//   bytes of a row    below, second    below, first    same row
//   1 Ki              1.77             1.71            2.20
//   4 Ki              1.54             1.46            1.52
//   16 Ki             1.83                             1.73
//   64 Ki             1.66             1.60            1.36
void Memory::ask_for_rows_below(const Row &row) {
  if (row.here.jam == nullptr) return; // a transposed tile's blocks: see next_lines
  const block::Dim &jam = *row.here.jam;
  constexpr std::int64_t most_bytes_of_turn = 16384, further = 512;
  llvm::Value *below =
      ir_.CreateMul(context_.number(jam.count), context_.step_bytes(row.access.buffer, jam.axis));
  llvm::Value *is_far =
      ir_.CreateICmpUGT(ir_.CreateAdd(below, context_.number(most_bytes_of_turn)),
                        context_.number(2 * most_bytes_of_turn)); // to either side
  llvm::Value *next = ir_.CreateSelect(is_far, context_.number(further), below);
  const auto size = static_cast<std::int64_t>(size_of(program_[row.access.buffer].dtype));
  ask(context_.address(row.at, next), 0, size * row.group.width, 3);
}

// What the rows of a register tile share is read a few steps of the innermost fold later: of folds
// over u and c, c.
void Memory::ask_for_steps(const Place &here, BufferId id) {
  constexpr std::int64_t steps = 4;
  const Walk *down = nullptr;
  for (const Loop *around = here.group.loop; around != nullptr;) {
    const auto inner = std::ranges::find_if(around->body, [&](const Stmt &s) {
      return s.kind == StmtKind::Loop && context_.walk(id, program_[s.loop].axis) != nullptr;
    });
    if (inner == around->body.end()) break;
    around = &program_[inner->loop];
    down = context_.walk(id, around->axis);
  }
  ask(context_.address(here.at[id.index], id, down->axis, context_.number(steps)), 0,
      static_cast<std::int64_t>(size_of(program_[id].dtype)) * here.group.width, 3);
}

// Rows that lie far apart are no stream that the hardware would follow: so the lines of the next
// block are asked for, those of the rows below, or at the end of the tile those of the tile beside
// it. Into the second-level cache, as rows at distances of a power of two share a few lines of the
// first.
std::vector<Memory::NextLines> Memory::next_lines(const Place &here, const block::Run &run,
                                                  Range rows, llvm::Value *row, llvm::Value *lane) {
  const std::vector<block::Access> &accesses = run.whole().accesses;
  if (std::none_of(accesses.begin(), accesses.end(),
                   [](const block::Access &access) { return access.prefetch.block; }))
    return {};
  const AxisId down = program_[run.loop].axis, across = program_[run.inner].axis;
  llvm::Value *below = ir_.CreateAdd(row, context_.number(run.whole().positions()));
  llvm::Value *inside = ir_.CreateICmpSLT(below, rows.end);
  llvm::Value *next_row = ir_.CreateSelect(inside, below, rows.begin);
  llvm::Value *next_lane =
      ir_.CreateSelect(inside, lane, ir_.CreateAdd(lane, context_.chunks[across.index]));
  std::vector<NextLines> lines;
  for (const block::Access &access : accesses) {
    if (!access.prefetch.block) continue;
    const BufferId buffer = access.buffer;
    const bool lies_across = context_.walk(buffer, down)->stride == StrideClass::Unit;
    llvm::Value *base = here.at[buffer.index];
    base = context_.address(base, buffer, down, next_row);
    base = context_.address(base, buffer, across, next_lane);
    lines.push_back({base, context_.step_bytes(buffer, lies_across ? across : down)});
  }
  return lines;
}

// Line number `number` of these, the position of the innermost loop.
void Memory::ask(const NextLines &lines, llvm::Value *number) {
  prefetch(lanes_.walking_address(lines.first, number, lines.step), 2);
}

} // namespace broadloom::jit

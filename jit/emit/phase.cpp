// Statements and loops: see phase.hpp.
#include "jit/emit/phase.hpp"

#include "support/check.hpp"
#include "support/fail.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace broadloom::jit {

using namespace loop;

namespace {
constexpr std::uint64_t most_frame_bytes = 1024 * 1024; // of the stack of any thread
} // namespace

PhaseEmitter::PhaseEmitter(const Program &program, std::size_t phase, const Target &target,
                           const block::Program &blocks, llvm::Function *function,
                           const Listing *listing, bool count_paths)
    : program_(program), phase_(program.phases[phase]), target_(target), weights_(blocks.weights),
      machine_(blocks.machine), survey_(blocks.surveys[phase]), root_(blocks.phases[phase]),
      function_(function), listing_(listing), count_paths_(count_paths),
      ir_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
      pieces_(ir_, weights_.split[phase]),
      lanes_(ir_, target, program.accuracy, &weights_, &pieces_), values_(program.values.size()),
      accs_(program.accs.size()), takes_blocks_(program.accs.size()), carried_(program.accs.size()),
      early_(program.accs.size()), stepped_(program.accs.size()), columns_(program.buffers.size()),
      awaited_(program.buffers.size()), row_rooms_(program.buffers.size()) {}

void PhaseEmitter::run(llvm::function_ref<void(llvm::Function &)> made) {
  // What is read once stays in one block; the stack slots are put before it, in the entry.
  auto *start = llvm::BasicBlock::Create(ir_.getContext(), "start", function_);
  ir_.CreateBr(start);
  ir_.SetInsertPoint(start);
  read_frame();
  for (const Loop &loop : program_.loops)
    for (const AccId acc : loop.accs) takes_blocks_[acc.index] = takes_blocks(program_, loop, acc);
  box_ = &root_;
  body(phase_.body);
  // Streaming stores are not ordered with others: make them visible before the phase's end.
  if (streamed_) ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  ir_.CreateRetVoid();
  if (const std::uint64_t bytes = pieces_.move_out(*function_, made); bytes > most_frame_bytes)
    support::fail("E0502",
                  "the kernel is too large for native code: " + std::to_string(bytes / 1024) +
                      " KiB of values are needed at once",
                  {}, "split the kernel, or run it with the interpreter");
}

void PhaseEmitter::read_frame() {
  llvm::Value *frame = function_->getArg(0);
  llvm::Type *pointer = ir_.getPtrTy();
  const auto field = [&](std::size_t offset) {
    return ir_.CreateLoad(pointer, ir_.CreateConstGEP1_64(ir_.getInt8Ty(), frame, offset));
  };
  const auto element = [&](llvm::Type *type, llvm::Value *table, std::size_t index) {
    return ir_.CreateLoad(type, ir_.CreateConstGEP1_64(type, table, index));
  };
  const std::size_t axes = program_.axes.size();
  llvm::Value *extents = field(offsetof(Frame, extents));
  llvm::Value *chunks = field(offsetof(Frame, chunks));
  llvm::Value *strides = field(offsetof(Frame, strides));
  llvm::Value *buffers = field(offsetof(Frame, buffers));
  extents_.resize(axes);
  chunks_.resize(axes);
  positions_.resize(axes);
  for (std::size_t k = 0; k < axes; ++k) {
    extents_[k] = element(ir_.getInt64Ty(), extents, k);
    chunks_[k] = element(ir_.getInt64Ty(), chunks, k);
  }
  strides_.resize(program_.buffers.size() * axes);
  at_.resize(program_.buffers.size());
  for (const BufferId id : survey_.buffers) {
    const Buffer &buffer = program_[id];
    at_[id.index] = element(pointer, buffers, id.index);
    llvm::Value *size = ir_.getInt64(size_of(buffer.dtype));
    for (const Walk &w : buffer.walks) {
      const std::size_t index = id.index * axes + w.axis.index;
      const int step = step_of(w.stride);
      llvm::Value *elements = step != 0 ? ir_.getInt64(std::uint64_t(std::int64_t(step)))
                                        : element(ir_.getInt64Ty(), strides, index);
      strides_[index] = ir_.CreateMul(elements, size);
    }
  }
}

void PhaseEmitter::body(const std::vector<Stmt> &statements) {
  const llvm::DebugLoc around = ir_.getCurrentDebugLocation();
  std::int64_t total = 0;
  for (const Stmt &s : statements) total += std::min(weights_.of(program_, s), block::piece_weight);
  Pieces::Level level(pieces_, total);
  for (const Stmt &s : statements) {
    if (listing_ != nullptr) set_line(s);
    switch (s.kind) {
    case StmtKind::Let: values_[s.value.index] = compute(s.value); break;
    case StmtKind::Set: store(s.buffer, value(s.value)); break;
    case StmtKind::Step: step(s.acc, s.args); break;
    case StmtKind::Loop: loop_statement(s.loop); break;
    }
    level.made(weights_.of(program_, s));
  }
  if (listing_ != nullptr) ir_.SetCurrentDebugLocation(around);
}

void PhaseEmitter::set_line(const Stmt &statement) {
  const auto line = listing_->line_of.find(&statement);
  if (line == listing_->line_of.end()) return; // a literal, say: no code
  ir_.SetCurrentDebugLocation(
      llvm::DILocation::get(ir_.getContext(), static_cast<unsigned>(line->second),
                            column_of(box_->id), function_->getSubprogram()));
}

// Code that counts paths notes that it has come here.
void PhaseEmitter::took(Path path) {
  if (!count_paths_) return;
  const auto count = reinterpret_cast<std::uintptr_t>(path_counts() + std::size_t(path));
  ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add,
                      ir_.CreateIntToPtr(ir_.getInt64(count), ir_.getPtrTy()), ir_.getInt64(1),
                      llvm::MaybeAlign(8), llvm::AtomicOrdering::Monotonic);
}

llvm::Value *PhaseEmitter::value(ValueId id) {
  const Value &value = program_[id];
  if (value.kind == ValueKind::Literal) return lanes_.literal(value.dtype, value.literal, 1);
  if (value.kind == ValueKind::Result) return accs_[value.acc.index][value.state];
  support::check(values_[id.index] != nullptr, "a value is used before it is computed");
  return values_[id.index];
}

llvm::Value *PhaseEmitter::compute(ValueId id) {
  const Value &v = program_[id];
  switch (v.kind) {
  case ValueKind::Literal:
  case ValueKind::Result: return value(id);
  case ValueKind::Running: return running_state(v.acc, v.state);
  case ValueKind::Load: return load(v.buffer);
  case ValueKind::Extent: return extents_[v.axis.index];
  case ValueKind::Index: return position(v.axis);
  case ValueKind::Cast: return lanes_.convert(value(v.args[0]), v.compute, v.dtype);
  case ValueKind::Op: break;
  }
  Values args;
  int width = 1;
  for (int k = 0; k < v.arg_count; ++k) {
    args.push_back(value(v.args[k]));
    width = std::max(width, Lanes::width(args.back()));
  }
  for (llvm::Value *&arg : args) arg = lanes_.splat(arg, width);
  return lanes_.op(v.op, v.compute, args);
}

// Inside a vector loop along the axis: those of its lanes, which each row of a block has anew.
llvm::Value *PhaseEmitter::position(AxisId axis) {
  llvm::Value *first = positions_[axis.index];
  if (vector_ == nullptr || vector_->axis != axis) return first;
  const int own = rows_ != nullptr ? rows_->width : width_;
  std::vector<std::uint64_t> numbers;
  for (int k = 0; k < width_; ++k) numbers.push_back(static_cast<std::uint64_t>(k % own));
  return ir_.CreateAdd(lanes_.splat(first, width_),
                       llvm::ConstantDataVector::get(ir_.getContext(), numbers));
}

std::pair<llvm::Value *, llvm::Value *> PhaseEmitter::range(const Loop &loop) {
  if (loop.parallel || !loop.handed.empty()) {
    const auto found = std::find(phase_.parallel.begin(), phase_.parallel.end(), loop.axis);
    support::check(found != phase_.parallel.end(), "a parallel loop is not listed by its phase");
    const auto index = static_cast<std::uint64_t>(found - phase_.parallel.begin());
    const auto bound = [&](unsigned argument) {
      return ir_.CreateLoad(
          ir_.getInt64Ty(),
          ir_.CreateConstGEP1_64(ir_.getInt64Ty(), function_->getArg(argument), index));
    };
    return {bound(1), bound(2)};
  }
  llvm::Value *extent = extents_[loop.axis.index];
  if (!loop.within) return {ir_.getInt64(0), extent};
  llvm::Value *chunk = chunks_[loop.axis.index];
  llvm::Value *begin = ir_.CreateMul(positions_[loop.within->index], chunk);
  llvm::Value *end =
      ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extent, ir_.CreateAdd(begin, chunk));
  return {begin, end};
}

void PhaseEmitter::loop_statement(LoopId id) {
  if (tile_ != nullptr && tile_->inner.index == id.index)
    loop_in_tile(id);
  else
    loop(block::run_of(*box_, id));
}

void PhaseEmitter::loop(const block::Run &run) {
  using block::Shape;
  const Values outer = at_;
  const auto [begin, end] = range(program_[run.loop]);
  switch (run.shape) {
  case Shape::Turns: plain_loop(run, begin, end); break;
  case Shape::Short: short_loop(run); break;
  case Shape::SerialFold:
  case Shape::VectorFold: fold(run, begin, end); break;
  case Shape::SerialScan:
  case Shape::GroupScan: scan(run, begin, end); break;
  case Shape::Map:
  case Shape::MaskedMap:
  case Shape::StreamedMap: vector_map(run, begin, end); break;
  case Shape::Jam: jammed_loop(run, begin, end); break;
  case Shape::RowTile: row_tile(run, begin, end); break;
  case Shape::TransposedTile: transposed_tile(run, begin, end); break;
  }
  at_ = outer;
}

// One turn: the addresses of all buffers that walk the axis move from where they were outside of the
// loop, and the body runs. `offset` is a known distance on top of the position.
void PhaseEmitter::turn(const block::Box &box, LoopId id, const Values &outer,
                        llvm::Value *position, std::int64_t offset) {
  if (jam_ && jam_->inner.index == id.index) return jammed_turn(box, position);
  move(id, outer, position, offset);
  const std::int64_t before = std::exchange(offset_, offset);
  const block::Box *around = std::exchange(box_, &box);
  body(program_[id].body);
  box_ = around;
  offset_ = before;
}

void PhaseEmitter::move(LoopId id, const Values &outer, llvm::Value *position,
                        std::int64_t offset) {
  const Loop &loop = program_[id];
  positions_[loop.axis.index] = ir_.CreateAdd(position, ir_.getInt64(offset));
  for (const BufferId buffer : survey_.loops[id.index].buffers) {
    const Walk *w = walk(buffer, loop.axis);
    if (w == nullptr) continue;
    llvm::Value *base = outer[buffer.index];
    if (w->stride == StrideClass::Unit) {
      llvm::Type *type = lanes_.memory_type(program_[buffer].dtype);
      base = ir_.CreateGEP(type, base, position);
      at_[buffer.index] = ir_.CreateConstGEP1_64(type, base, offset);
    } else {
      llvm::Value *step = step_bytes(buffer, loop.axis);
      llvm::Value *walking = lanes_.walking_address(base, position, step);
      if (walking == nullptr)
        at_[buffer.index] = address(base, ir_.CreateMul(positions_[loop.axis.index], step));
      else if (offset == 0)
        at_[buffer.index] = walking;
      else
        at_[buffer.index] =
            address(walking, ir_.CreateMul(step, ir_.getInt64(static_cast<std::uint64_t>(offset))));
    }
  }
}

void PhaseEmitter::plain_loop(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Values outer = at_;
  lanes_.counted_loop(begin, end, 1, {}, [&](llvm::Value *position, Values) {
    turn(run.whole(), run.loop, outer, position);
    return Values{};
  });
}

// ------------------------------------------------------------------------------- vector loops

// begin + the greatest multiple of `group` that fits; `group` is a power of two.
llvm::Value *PhaseEmitter::whole(llvm::Value *begin, llvm::Value *end, std::int64_t group) {
  llvm::Value *count = ir_.CreateSub(end, begin);
  return ir_.CreateAdd(begin,
                       ir_.CreateAnd(count, ir_.getInt64(~static_cast<std::uint64_t>(group - 1))));
}

// From here on `vector` runs `width` positions at once, of which the first `active` count.
void PhaseEmitter::set_lanes(const Loop *vector, int width, llvm::Value *active) {
  vector_ = vector;
  width_ = width;
  active_ = active;
  mask_ = nullptr;
  if (active == nullptr) return;
  std::vector<std::uint32_t> numbers;
  for (int k = 0; k < width; ++k) numbers.push_back(static_cast<std::uint32_t>(k));
  llvm::Value *count = ir_.CreateTrunc(active, ir_.getInt32Ty());
  mask_ = ir_.CreateICmpSLT(llvm::ConstantDataVector::get(ir_.getContext(), numbers),
                            lanes_.splat(count, width));
}

void PhaseEmitter::whole_blocks(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Values outer = at_;
  const int width = run.whole().positions();
  set_lanes(&program_[run.loop], width);
  lanes_.counted_loop(begin, end, width, {}, [&](llvm::Value *position, Values) {
    took(run.shape != block::Shape::StreamedMap ? Path::MapGroup
         : aligned_stream_                      ? Path::StreamAligned
                                                : Path::StreamMisaligned);
    turn(run.whole(), run.loop, outer, position);
    return Values{};
  });
  set_lanes(nullptr, 1);
  at_ = outer;
}

// The body for the `count` positions from `position`, at least one and at most those of the box.
void PhaseEmitter::partial_block(const block::Run &run, const block::Box &box, const Values &outer,
                                 llvm::Value *position, llvm::Value *count) {
  set_lanes(&program_[run.loop], box.positions(), count);
  took(Path::MapRest);
  turn(box, run.loop, outer, position);
  set_lanes(nullptr, 1);
}

// The rest in the smallest of the run's boxes that holds it, from this one on.
void PhaseEmitter::narrowest_block(const block::Run &run, std::size_t box, const Values &outer,
                                   llvm::Value *position, llvm::Value *count) {
  if (box + 1 == run.boxes.size())
    return partial_block(run, run.boxes[box], outer, position, count);
  llvm::Value *smaller = ir_.getInt64(std::uint64_t(run.boxes[box + 1].positions()));
  lanes_.either(
      ir_.CreateICmpSLE(count, smaller),
      [&] {
        took(Path::MapRestNarrowed);
        narrowest_block(run, box + 1, outer, position, count);
        return Values{};
      },
      [&] {
        partial_block(run, run.boxes[box], outer, position, count);
        return Values{};
      });
}

void PhaseEmitter::vector_map(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  if (run.shape == block::Shape::StreamedMap) return streaming_map(run, begin, end);
  if (run.shape == block::Shape::MaskedMap) return masked_map(run, begin, end);
  const int width = run.whole().positions(), part = run.boxes[1].positions();
  llvm::Value *rest = whole(begin, end, width);
  whole_blocks(run, begin, rest);
  const Values outer = at_;
  llvm::Value *most = ir_.getInt64(static_cast<std::uint64_t>(part));
  lanes_.counted_loop(rest, end, part, {}, [&](llvm::Value *position, Values) {
    llvm::Value *count = ir_.CreateSub(end, position);
    if (part < width) count = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, most);
    narrowest_block(run, 1, outer, position, count);
    return Values{};
  });
  at_ = outer;
}

// One copy of the code for whole and partial blocks:
//
//   for turn in 0, 1: for position from (turn ? rest : begin) to (turn ? end : rest): the body, masked
//
// The mask does not change within a turn.
void PhaseEmitter::masked_map(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const Values outer = at_;
  const int width = run.whole().positions();
  llvm::Value *rest = whole(begin, end, width);
  llvm::Value *all = ir_.getInt64(static_cast<std::uint64_t>(width));
  lanes_.counted_loop(ir_.getInt64(0), ir_.getInt64(2), 1, {}, [&](llvm::Value *turn, Values) {
    llvm::Value *last = ir_.CreateICmpNE(turn, ir_.getInt64(0));
    llvm::Value *from = ir_.CreateSelect(last, rest, begin);
    llvm::Value *to = ir_.CreateSelect(last, end, rest);
    llvm::Value *count = ir_.CreateSelect(last, ir_.CreateSub(end, rest), all);
    set_lanes(&program_[run.loop], width, count);
    // From an integer: the code generator would sink a comparison into the loop.
    llvm::Value *bits =
        ir_.CreateLShr(ir_.getInt64(~std::uint64_t{0}), ir_.CreateSub(ir_.getInt64(64), count));
    mask_ =
        ir_.CreateBitCast(ir_.CreateTrunc(bits, ir_.getIntNTy(unsigned(width))), mask_->getType());
    lanes_.counted_loop(from, to, width, {}, [&](llvm::Value *position, Values) {
      took(Path::MapMasked);
      this->turn(run.whole(), run.loop, outer, position);
      return Values{};
    });
    set_lanes(nullptr, 1);
    return Values{};
  });
  at_ = outer;
}

} // namespace broadloom::jit

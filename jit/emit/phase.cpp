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
                           const Weights &weights, llvm::Function *function, const Listing *listing,
                           bool count_paths)
    : program_(program), phase_(program.phases[phase]), target_(target), weights_(weights),
      function_(function), listing_(listing), count_paths_(count_paths),
      ir_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
      pieces_(ir_, weights.split[phase]), lanes_(ir_, target, program.accuracy, &weights, &pieces_),
      survey_(survey(program, phase, weights)), values_(program.values.size()),
      accs_(program.accs.size()), carried_(program.accs.size()), early_(program.accs.size()),
      stepped_(program.accs.size()), columns_(program.buffers.size()),
      awaited_(program.buffers.size()), row_rooms_(program.buffers.size()) {}

void PhaseEmitter::run(llvm::function_ref<void(llvm::Function &)> made) {
  // What is read once stays in one block; the stack slots are put before it, in the entry.
  auto *start = llvm::BasicBlock::Create(ir_.getContext(), "start", function_);
  ir_.CreateBr(start);
  ir_.SetInsertPoint(start);
  read_frame();
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
      strides_[index] = w.stride == StrideClass::Unit
                            ? size
                            : ir_.CreateMul(element(ir_.getInt64Ty(), strides, index), size);
    }
  }
}

void PhaseEmitter::body(const std::vector<Stmt> &statements) {
  const llvm::DebugLoc around = ir_.getCurrentDebugLocation();
  std::int64_t total = 0;
  for (const Stmt &s : statements) total += std::min(weights_.of(program_, s), piece_weight);
  Pieces::Level level(pieces_, total);
  for (const Stmt &s : statements) {
    if (listing_ != nullptr) set_line(s);
    switch (s.kind) {
    case StmtKind::Let: values_[s.value.index] = compute(s.value); break;
    case StmtKind::Set: store(s.buffer, value(s.value)); break;
    case StmtKind::Step: step(s.acc, s.args); break;
    case StmtKind::Loop: loop(s.loop); break;
    }
    level.made(weights_.of(program_, s));
  }
  if (listing_ != nullptr) ir_.SetCurrentDebugLocation(around);
}

void PhaseEmitter::set_line(const Stmt &statement) {
  const auto line = listing_->line_of.find(&statement);
  if (line == listing_->line_of.end()) return; // a literal, say: no code
  ir_.SetCurrentDebugLocation(llvm::DILocation::get(
      ir_.getContext(), static_cast<unsigned>(line->second), 0, function_->getSubprogram()));
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

void PhaseEmitter::loop(LoopId id) {
  const Loop &loop = program_[id];
  const Values outer = at_;
  const auto [begin, end] = range(loop);
  if (loop.turns > 0) {
    short_loop(id);
  } else if (loop_in_tile(id, end)) {
  } else if (loop.scan || loop.reverse) {
    scan(id, begin, end);
  } else if (!loop.accs.empty()) {
    fold(id, begin, end);
  } else if (loop.vector) {
    vector_map(id, begin, end);
  } else if (const std::optional<LoopId> inner = jammed(id)) {
    jammed_loop(id, *inner, begin, end);
  } else if (const std::optional<RowBlock> block = row_block(id)) {
    loop_in_row_blocks(id, *block, begin, end);
  } else if (!transposed_tile(id, begin, end)) {
    plain_loop(id, begin, end);
  }
  at_ = outer;
}

// One turn: the addresses of all buffers that walk the axis move from where they were outside of the
// loop, and the body runs. `offset` is a known distance on top of the position.
void PhaseEmitter::turn(LoopId id, const Values &outer, llvm::Value *position,
                        std::int64_t offset) {
  if (jam_ && jam_->inner.index == id.index) return jammed_turn(position);
  move(id, outer, position, offset);
  const std::int64_t before = std::exchange(offset_, offset);
  body(program_[id].body);
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

void PhaseEmitter::plain_loop(LoopId id, llvm::Value *begin, llvm::Value *end) {
  const Values outer = at_;
  lanes_.counted_loop(begin, end, 1, {}, [&](llvm::Value *position, Values) {
    turn(id, outer, position);
    return Values{};
  });
}

// ------------------------------------------------------------------------------- vector loops

// How many positions at once: a register of the narrowest type that varies, but no less than four
// bytes of it unless all types are that narrow, and eight where c64 is computed with in f64.
int PhaseEmitter::base_width(LoopId id) const {
  const Survey::LoopFacts &facts = survey_.loops[id.index];
  const int bytes = facts.widest <= 2                        ? facts.widest
                    : facts.narrowest <= 4 && !facts.doubles ? 4
                                                             : 8;
  if (program_[id].scan) return scan_lanes;
  const int width = target_.vector_bits / 8 / bytes;
  return program_[id].accs.empty() ? width : std::min(width, fold_lanes);
}

// A loop over columns with folds over rows inside takes a block of columns, so that each row is
// read in pieces of several cache lines, as long as the accumulators fit half of the registers.
int PhaseEmitter::map_width(LoopId id) const {
  const Survey::LoopFacts &facts = survey_.loops[id.index];
  const int base = base_width(id);
  if (!facts.inner_folds || facts.costly) return base;
  int width = 4 * base;
  while (width > base && width * facts.acc_bytes > accumulator_room()) width /= 2;
  return width;
}

// In bytes: half of the registers.
int PhaseEmitter::accumulator_room() const {
  return (target_.avx512() ? 16 : 8) * target_.vector_bits / 8;
}

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

void PhaseEmitter::full_groups(LoopId id, llvm::Value *begin, llvm::Value *end, int width) {
  const Values outer = at_;
  set_lanes(&program_[id], width);
  lanes_.counted_loop(begin, end, width, {}, [&](llvm::Value *position, Values) {
    took(streams(id).empty() ? Path::MapGroup
         : aligned_stream_   ? Path::StreamAligned
                             : Path::StreamMisaligned);
    turn(id, outer, position);
    return Values{};
  });
  set_lanes(nullptr, 1);
  at_ = outer;
}

// The body for the `count` positions from `position`, at least one and at most `width`.
void PhaseEmitter::partial_group(LoopId id, const Values &outer, llvm::Value *position,
                                 llvm::Value *count, int width) {
  set_lanes(&program_[id], width, count);
  took(Path::MapRest);
  turn(id, outer, position);
  set_lanes(nullptr, 1);
}

// Columns that fill a part of a register only are folded in smaller ones: three channels in 8 lanes, not 16.
void PhaseEmitter::narrowed_group(LoopId id, const Values &outer, llvm::Value *position,
                                  llvm::Value *count, int width) {
  const Survey::LoopFacts &facts = survey_.loops[id.index];
  if (!facts.inner_folds || facts.costly || width * facts.widest * 8 <= target_.vector_bits)
    return partial_group(id, outer, position, count, width);
  llvm::Value *half = ir_.getInt64(static_cast<std::uint64_t>(width / 2));
  lanes_.either(
      ir_.CreateICmpSLE(count, half),
      [&] {
        took(Path::MapRestNarrowed);
        narrowed_group(id, outer, position, count, width / 2);
        return Values{};
      },
      [&] {
        partial_group(id, outer, position, count, width);
        return Values{};
      });
}

void PhaseEmitter::vector_map(LoopId id, llvm::Value *begin, llvm::Value *end) {
  if (!streams(id).empty()) return streaming_map(id, begin, end);
  const int width = map_width(id);
  const int base = base_width(id);
  if (survey_.loops[id.index].costly && target_.avx512()) return masked_map(id, begin, end, base);
  llvm::Value *rest = whole(begin, end, width);
  full_groups(id, begin, rest, width);
  const Values outer = at_;
  llvm::Value *most = ir_.getInt64(static_cast<std::uint64_t>(base));
  lanes_.counted_loop(rest, end, base, {}, [&](llvm::Value *position, Values) {
    llvm::Value *count = ir_.CreateSub(end, position);
    if (base < width) count = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, most);
    narrowed_group(id, outer, position, count, base);
    return Values{};
  });
  at_ = outer;
}

// Heavy math takes long to compile, so there is one copy of it for whole and partial groups:
//
//   for turn in 0, 1: for position from (turn ? rest : begin) to (turn ? end : rest): the body, masked
//
// The mask does not change within a turn, and costs nothing on AVX-512.
void PhaseEmitter::masked_map(LoopId id, llvm::Value *begin, llvm::Value *end, int width) {
  const Values outer = at_;
  llvm::Value *rest = whole(begin, end, width);
  llvm::Value *all = ir_.getInt64(static_cast<std::uint64_t>(width));
  lanes_.counted_loop(ir_.getInt64(0), ir_.getInt64(2), 1, {}, [&](llvm::Value *turn, Values) {
    llvm::Value *last = ir_.CreateICmpNE(turn, ir_.getInt64(0));
    llvm::Value *from = ir_.CreateSelect(last, rest, begin);
    llvm::Value *to = ir_.CreateSelect(last, end, rest);
    llvm::Value *count = ir_.CreateSelect(last, ir_.CreateSub(end, rest), all);
    set_lanes(&program_[id], width, count);
    // From an integer: the code generator would sink a comparison into the loop.
    llvm::Value *bits =
        ir_.CreateLShr(ir_.getInt64(~std::uint64_t{0}), ir_.CreateSub(ir_.getInt64(64), count));
    mask_ =
        ir_.CreateBitCast(ir_.CreateTrunc(bits, ir_.getIntNTy(unsigned(width))), mask_->getType());
    lanes_.counted_loop(from, to, width, {}, [&](llvm::Value *position, Values) {
      took(Path::MapMasked);
      this->turn(id, outer, position);
      return Values{};
    });
    set_lanes(nullptr, 1);
    return Values{};
  });
  at_ = outer;
}

} // namespace broadloom::jit

// Statements and turns: see phase.hpp.
#include "jit/emit/phase.hpp"

#include "jit/native/backend.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

namespace {
constexpr std::uint64_t most_frame_bytes = 1024 * 1024; // of the stack of any thread
} // namespace

PhaseEmitter::PhaseEmitter(const Program &program, std::size_t phase, const Target &target,
                           const block::Program &blocks, llvm::Function *function,
                           const Listing *listing, bool count_paths)
    : program_(program), context_(program, phase, target, blocks, function, count_paths),
      ir_(context_.ir), lanes_(context_.lanes), memory_(context_), accs_(context_),
      folds_(context_, accs_, memory_, *this), scans_(context_, accs_, memory_, folds_, *this),
      listing_(listing), values_(program.values.size()) {}

void PhaseEmitter::run(llvm::function_ref<void(llvm::Function &)> made) {
  body(context_.root(), context_.phase.body);
  // Streaming stores are not ordered with others: make them visible before the phase's end.
  if (memory_.streamed() && context_.target.isa->fences_streams)
    ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  ir_.CreateRetVoid();
  if (const std::uint64_t bytes = context_.pieces.move_out(*context_.function, made);
      bytes > most_frame_bytes)
    support::fail("E0502",
                  "the kernel is too large for native code: " + std::to_string(bytes / 1024) +
                      " KiB of values are needed at once",
                  {}, "split the kernel, or run it with the interpreter");
}

void PhaseEmitter::body(const Place &here, std::span<const Stmt> statements) {
  body(here, statements,
       [&](const Place &place, LoopId id) { loop(place, block::run_of(*place.box, id)); });
}

void PhaseEmitter::body(const Place &here, std::span<const Stmt> statements, Inner inner) {
  const block::Weights &weights = context_.weights;
  const llvm::DebugLoc around = ir_.getCurrentDebugLocation();
  std::int64_t total = 0;
  for (const Stmt &s : statements) total += std::min(weights.of(program_, s), block::piece_weight);
  Pieces::Level level(context_.pieces, total);
  for (const Stmt &s : statements) {
    if (listing_ != nullptr) set_line(here, s);
    switch (s.kind) {
    case StmtKind::Let: values_[s.value.index] = compute(here, s.value); break;
    case StmtKind::Set: memory_.store(here, s.buffer, value(s.value)); break;
    case StmtKind::Step:
      if (scans_.in_group(s.acc))
        scans_.step_group(here, s.acc, s.args);
      else
        folds_.step(here, s.acc, s.args);
      break;
    case StmtKind::Loop: {
      // What one loop has stored, another may load in another lane. Shuffles keep threads together,
      // and only a meeting orders their memory.
      const bool threads = lanes_.are_threads() && here.group.loop == nullptr;
      if (threads) lanes_.meet();
      inner(here, s.loop);
      if (threads) lanes_.meet();
      break;
    }
    }
    level.made(weights.of(program_, s));
  }
  if (listing_ != nullptr) ir_.SetCurrentDebugLocation(around);
}

void PhaseEmitter::set_line(const Place &here, const Stmt &statement) {
  const auto line = listing_->line_of.find(&statement);
  if (line == listing_->line_of.end()) return; // a literal, say: no code
  ir_.SetCurrentDebugLocation(
      llvm::DILocation::get(ir_.getContext(), static_cast<unsigned>(line->second),
                            column_of(here.box->id), context_.function->getSubprogram()));
}

llvm::Value *PhaseEmitter::value(ValueId id) {
  const Value &value = program_[id];
  if (value.kind == ValueKind::Literal) return lanes_.literal(value.dtype, value.literal, 1);
  if (value.kind == ValueKind::Result) return accs_[value.acc].now[value.state];
  support::check(values_[id.index] != nullptr, "a value is used before it is computed");
  return values_[id.index];
}

llvm::Value *PhaseEmitter::compute(const Place &here, ValueId id) {
  const Value &v = program_[id];
  switch (v.kind) {
  case ValueKind::Literal:
  case ValueKind::Result: return value(id);
  case ValueKind::Running: return scans_.running_state(here, v.acc, v.state);
  case ValueKind::Load: return memory_.load(here, v.buffer);
  case ValueKind::Extent: return context_.extents[v.axis.index];
  case ValueKind::Index: return position(here, v.axis);
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

// Along the axis of the group: those of its lanes, which each row of a block has anew. Along the
// rows: that of the row, for all lanes of it.
llvm::Value *PhaseEmitter::position(const Place &here, AxisId axis) {
  llvm::Value *first = here.positions[axis.index];
  const Group &group = here.group;
  const bool by_row = group.loop != nullptr && group.rows == axis;
  if (group.loop == nullptr || (!by_row && group.loop->axis != axis)) return first;
  if (lanes_.are_threads()) return ir_.CreateAdd(first, memory_.place_of_thread(group));
  std::vector<std::uint64_t> numbers;
  for (int k = 0; k < group.lanes(); ++k)
    numbers.push_back(static_cast<std::uint64_t>(by_row ? k / group.width : k % group.width));
  return ir_.CreateAdd(lanes_.splat(first, group.lanes()),
                       llvm::ConstantDataVector::get(ir_.getContext(), numbers));
}

void PhaseEmitter::loop(const Place &here, const block::Run &run) {
  using block::Shape;
  const Range range = context_.range(here, program_[run.loop]);
  switch (run.shape) {
  case Shape::Turns: return plain_loop(here, run, range);
  case Shape::Short: return folds_.short_loop(here, run);
  case Shape::Unrolled: return folds_.unrolled_fold(here, run);
  case Shape::SerialFold:
  case Shape::VectorFold: return folds_.fold(here, run, range);
  case Shape::SerialScan:
  case Shape::GroupScan: return scans_.scan(here, run, range);
  case Shape::Map:
  case Shape::MaskedMap:
  case Shape::StreamedMap: return map(here, run, range);
  case Shape::Jam: return jam(here, run, range);
  case Shape::RowTile:
  case Shape::FoldTile:
  case Shape::TransposedTile: return tile(here, run, range);
  }
}

void PhaseEmitter::turn(const Place &around, const block::Box &box, LoopId id,
                        llvm::Value *position, std::int64_t offset) {
  if (around.copies == nullptr)
    return body(moved(around, box, id, position, offset), program_[id].body);
  Values held(program_.buffers.size());
  SharedRegisters shared;
  int row = 0;
  for (const Copy &copy : *around.copies) {
    Place own = of_copy(around, copy, shared);
    own.held = &held;
    own.row = row++;
    own.last = &copy == &around.copies->back();
    turn(own, box, id, position, offset);
  }
}

Place PhaseEmitter::of_copy(const Place &around, const Copy &copy, SharedRegisters &shared) {
  Place own = around;
  own.at = copy.at;
  own.positions = copy.positions;
  for (const auto &[known, value] : copy.values) values_[known.index] = value;
  own.copies = nullptr;
  own.shared = &shared;
  own.like = copy.like.empty() ? nullptr : &copy.like;
  return own;
}

// Where the addresses of all buffers that walk the loop's axis are at the position.
Place PhaseEmitter::moved(const Place &around, const block::Box &box, LoopId id,
                          llvm::Value *position, std::int64_t offset) {
  const AxisId axis = program_[id].axis;
  Place here = around;
  here.box = &box;
  here.offset = offset;
  here.positions[axis.index] = ir_.CreateAdd(position, context_.number(offset));
  for (const BufferId buffer : context_.survey.loops[id.index].buffers) {
    const Walk *w = context_.walk(buffer, axis);
    if (w == nullptr) continue;
    llvm::Value *&at = here.at[buffer.index];
    if (w->stride == StrideClass::Unit) {
      llvm::Type *type = lanes_.memory_type(program_[buffer].dtype);
      at = ir_.CreateConstGEP1_64(type, ir_.CreateGEP(type, at, position),
                                  static_cast<std::uint64_t>(offset));
      continue;
    }
    llvm::Value *walking = lanes_.walking_address(at, position, context_.step_bytes(buffer, axis));
    if (walking == nullptr)
      at = context_.address(at, buffer, axis, here.positions[axis.index]);
    else
      at = offset == 0 ? walking : context_.address(walking, buffer, axis, context_.number(offset));
  }
  return here;
}

} // namespace broadloom::jit

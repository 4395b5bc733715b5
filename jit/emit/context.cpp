// See context.hpp.
#include "jit/emit/context.hpp"

#include "jit/runtime/launch.hpp"
#include "support/check.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

namespace broadloom::jit {

using namespace loop;

Context::Context(const Program &program, std::size_t phase, const Target &target,
                 const block::Program &blocks, llvm::Function *function, bool count_paths)
    : program(program), phase(program.phases[phase]), target(target), weights(blocks.weights),
      machine(blocks.machine), survey(blocks.surveys[phase]), function(function),
      ir(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
      pieces(ir, weights.split[phase]), lanes(ir, target, program.accuracy, &weights, &pieces),
      root_(blocks.phases[phase]), count_paths_(count_paths) {}

Place Context::root() {
  // What is read once stays in one block; the stack slots are put before it, in the entry.
  llvm::BasicBlock *start = block("start");
  ir.CreateBr(start);
  ir.SetInsertPoint(start);
  llvm::Type *pointer = ir.getPtrTy();
  const auto field = [&](std::size_t offset) {
    return ir.CreateLoad(pointer,
                         ir.CreateConstGEP1_64(ir.getInt8Ty(), function->getArg(0), offset));
  };
  const auto element = [&](llvm::Type *type, llvm::Value *table, std::size_t index) {
    return ir.CreateAlignedLoad(type, ir.CreateConstGEP1_64(ir.getInt64Ty(), table, index),
                                llvm::Align(8)); // words of eight bytes all
  };
  const std::size_t axes = program.axes.size();
  // A device has the tables themselves, one after the other.
  const runtime::LaunchLayout layout(program, std::size_t(&phase - program.phases.data()));
  const bool device = target.isa->device;
  const auto table = [&](std::size_t offset, std::size_t word) {
    return device ? ir.CreateConstGEP1_64(ir.getInt64Ty(), function->getArg(0), word)
                  : static_cast<llvm::Value *>(field(offset));
  };
  llvm::Value *extents = table(offsetof(Frame, extents), layout.extents);
  llvm::Value *chunks = table(offsetof(Frame, chunks), layout.chunks);
  llvm::Value *strides =
      device ? static_cast<llvm::Value *>(function->getArg(0)) : field(offsetof(Frame, strides));
  llvm::Value *buffers = table(offsetof(Frame, buffers), layout.buffers);
  for (std::size_t k = 0; k < axes; ++k) {
    this->extents.push_back(element(ir.getInt64Ty(), extents, k));
    this->chunks.push_back(element(ir.getInt64Ty(), chunks, k));
  }
  Place root;
  root.box = &root_;
  root.positions.resize(axes);
  root.at.resize(program.buffers.size());
  strides_.resize(program.buffers.size() * axes);
  for (const BufferId id : survey.buffers) {
    const Buffer &buffer = program[id];
    root.at[id.index] = element(pointer, buffers, id.index);
    if (device && buffer.role == Role::Row) // a host gives each thread's own
      root.at[id.index] =
          address(root.at[id.index],
                  ir.CreateMul(lanes.warp(),
                               element(ir.getInt64Ty(), function->getArg(0), layout.row_bytes)));
    llvm::Value *size = ir.getInt64(size_of(buffer.dtype));
    for (std::size_t k = 0; k < buffer.walks.size(); ++k) {
      const Walk &w = buffer.walks[k];
      const std::size_t index = id.index * axes + w.axis.index;
      const std::size_t place = device ? layout.strides[id.index] + k : index;
      const int step = is_row_in_lanes(buffer) ? row_lanes : step_of(w.stride);
      strides_[index] =
          ir.CreateMul(step != 0 ? number(step) : element(ir.getInt64Ty(), strides, place), size);
    }
  }
  return root;
}

Range Context::range(const Place &here, const Loop &loop) {
  if (loop.parallel || !loop.handed.empty()) {
    const auto found = std::find(phase.parallel.begin(), phase.parallel.end(), loop.axis);
    support::check(found != phase.parallel.end(), "a parallel loop is not listed by its phase");
    const auto index = static_cast<std::uint64_t>(found - phase.parallel.begin());
    const auto bound = [&](unsigned argument) {
      return ir.CreateLoad(
          ir.getInt64Ty(),
          ir.CreateConstGEP1_64(ir.getInt64Ty(), function->getArg(argument), index));
    };
    return {bound(1), bound(2)};
  }
  llvm::Value *extent = extents[loop.axis.index];
  if (!loop.within) return {number(0), extent};
  llvm::Value *chunk = chunks[loop.axis.index];
  llvm::Value *begin = ir.CreateMul(here.positions[loop.within->index], chunk);
  return {begin, least(extent, ir.CreateAdd(begin, chunk))};
}

const Walk *Context::walk(BufferId id, AxisId axis) const { return loop::walk(program, id, axis); }

llvm::Value *Context::step_bytes(BufferId id, AxisId axis) const {
  return strides_[id.index * program.axes.size() + axis.index];
}

llvm::Value *Context::address(llvm::Value *base, llvm::Value *bytes) {
  return ir.CreateGEP(ir.getInt8Ty(), base, bytes);
}

llvm::Value *Context::address(llvm::Value *base, BufferId id, AxisId axis, llvm::Value *positions) {
  return address(base, ir.CreateMul(positions, step_bytes(id, axis)));
}

llvm::Value *Context::number(std::int64_t value) {
  return ir.getInt64(static_cast<std::uint64_t>(value));
}

llvm::Value *Context::least(llvm::Value *a, llvm::Value *b) {
  return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
}

llvm::Value *Context::greatest(llvm::Value *a, llvm::Value *b) {
  return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
}

llvm::Value *Context::whole(Range range, std::int64_t group) {
  llvm::Value *count = ir.CreateSub(range.end, range.begin);
  if (std::has_single_bit(std::uint64_t(group)))
    return ir.CreateAdd(range.begin, ir.CreateAnd(count, number(-group)));
  return ir.CreateSub(range.end, ir.CreateSRem(count, number(group)));
}

Place Context::lanes_of(const Place &around, const Loop &loop, int width, llvm::Value *active) {
  Place here = around;
  if (lanes.are_threads() && active == nullptr && width < target.isa->core.warp)
    active = number(width); // there are more threads than lanes
  here.group = {&loop, width, {}, 1, active, nullptr};
  if (active == nullptr) return here;
  if (lanes.are_threads()) {
    here.group.mask = lanes.counts(active);
    return here;
  }
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(width));
  std::iota(numbers.begin(), numbers.end(), 0u);
  llvm::Value *count = ir.CreateTrunc(active, ir.getInt32Ty());
  here.group.mask = ir.CreateICmpSLT(llvm::ConstantDataVector::get(ir.getContext(), numbers),
                                     lanes.splat(count, width));
  return here;
}

void Context::each(Range range, std::int64_t step, llvm::function_ref<void(llvm::Value *)> turn) {
  lanes.counted_loop(range.begin, range.end, step, {}, [&](llvm::Value *position, Values) {
    turn(position);
    return Values{};
  });
}

llvm::BasicBlock *Context::block(const char *name) {
  return llvm::BasicBlock::Create(ir.getContext(), name, function);
}

void Context::took(Path path, llvm::Value *where) {
  if (!count_paths_) return;
  const auto count = reinterpret_cast<std::uintptr_t>(path_counts() + std::size_t(path));
  llvm::Value *one = where == nullptr ? ir.getInt64(1) : ir.CreateZExt(where, ir.getInt64Ty());
  ir.CreateAtomicRMW(llvm::AtomicRMWInst::Add, ir.CreateIntToPtr(ir.getInt64(count), ir.getPtrTy()),
                     one, llvm::MaybeAlign(8), llvm::AtomicOrdering::Monotonic);
}

} // namespace broadloom::jit

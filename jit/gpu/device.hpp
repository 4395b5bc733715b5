// A device: memory of its own, and warps that run phases there.
//
// Problem: a kernel's memory is not the process's, its code is not called but launched, and most
// machines that build and test have no such device.
// Method: the planner, the layouts, the checks of pointers and the order of phases are those of any
// call, as none of them looks at an element. What is left is one small class: memory, copies, code,
// launches. It is a CUDA device (cuda_device.cpp), or a played one (played_device.cpp): this
// processor, on memory that nobody may touch outside of launches and copies.
// Example: gpu::open("cuda:0")->launch(*code, program, 0, frame, grid, row_bytes); see open.hpp
#pragma once

#include "jit/native/code.hpp"
#include "jit/native/target.hpp"
#include "plan/tasks.hpp"

#include <broadloom/array.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::jit::gpu {

class Device {
public:
  virtual ~Device() = default;

  const std::string &name() const { return name_; } // "cuda:0"
  const Target &target() const { return target_; }
  int warps() const { return warps_; } // that run at once

  // Memory, on the boundary of 256 bytes; what is let go is kept for the next, as all work is in
  // one order. Throws DataError E0305 where there is none left.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void copy_in(void *to, const void *from, std::size_t bytes) = 0;
  virtual void copy_out(void *to, const void *from,
                        std::size_t bytes) = 0; // once what was launched is done
  virtual bool has(const void *memory) const = 0;
  virtual void wait() = 0; // until all that was launched is done. Throws CompileError E0505

  // Code of a program. Throws CompileError E0501, E0502.
  virtual std::shared_ptr<const Code> compile(const loop::Program &program) = 0;
  // Begins to run a phase: later launches and copies wait for it. Each warp's rows lie `row_bytes`
  // apart, for warps() of them.
  virtual void launch(const Code &code, const loop::Program &program, std::size_t phase,
                      const loop::Frame &frame, const plan::Grid &grid, std::int64_t row_bytes) = 0;

  // A new array, whose elements are not set.
  Array array(DType dtype, const Layout &layout) {
    const std::shared_ptr<void> memory =
        allocate(std::size_t(element_count(layout)) * size_of(dtype));
    return Array(memory, dtype, memory.get(), layout);
  }

protected:
  Device(std::string name, Target target, int warps)
      : name_(std::move(name)), target_(std::move(target)), warps_(warps) {}

private:
  const std::string name_;
  const Target target_;
  const int warps_;
};

// How a phase is cut for so many warps.
plan::Grid grid_of(const loop::Program &program, std::size_t phase,
                   std::span<const std::int64_t> extents, int warps);

// What a kernel is launched with: runtime/launch.hpp. Throws CompileError E0502 where it is too
// much.
std::vector<std::int64_t> words_of(const loop::Program &program, std::size_t phase,
                                   const loop::Frame &frame, const plan::Grid &grid,
                                   std::int64_t row_bytes);

// Code for a device that nobody has opened: there to be shown.
std::shared_ptr<const Code> code_to_show(const loop::Program &program, const Target &target);

} // namespace broadloom::jit::gpu

// A device: memory of its own, and warps that run phases there.
//
// Problem: a kernel's memory is not the process's, its code is not called but launched, and most
// machines that build and test have no such device.
// Method: the planner, the layouts, the checks of pointers and the order of phases are those of any
// call, as none of them looks at an element. What is left is one small class: memory, copies, code,
// launches. It is a CUDA device (cuda_device.cpp), or a played one (played_device.cpp): this
// processor, on memory that nobody may touch outside of launches and copies.
// Example: gpu::open("cuda:0")->launch(*code, program, 0, frame, grid, rows); see open.hpp
#pragma once

#include "jit/gpu/step_code.hpp"
#include "jit/native/code.hpp"
#include "jit/native/target.hpp"
#include "jit/runtime/threads.hpp"
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
  virtual void copy(void *to, const void *from, std::size_t bytes) = 0; // both there
  virtual bool has(const void *memory) const = 0;
  virtual void wait() = 0; // until all that was launched is done. Throws CompileError E0505

  // The stream of the driver that this thread's work goes to from now on, null for the default one;
  // gives the one before.
  virtual void *on_stream(void *stream) = 0;
  // Work of this thread that begins later waits for what is on the stream now, or the other way.
  virtual void wait_for(void *stream) = 0;
  virtual void let_wait(void *stream) = 0;

  // Code of a program, whose key is loop::key(program); `folder` as Options::cache_dir. Throws
  // CompileError E0501, E0502.
  virtual std::shared_ptr<const Code> compile(const loop::Program &program, const std::string &key,
                                              const std::string &folder) = 0;
  // Begins to run a phase: later launches and copies wait for it. As many warps run it as have
  // rows.
  virtual void launch(const Code &code, const loop::Program &program, std::size_t phase,
                      const loop::Frame &frame, const plan::Grid &grid,
                      const runtime::Rows &rows) = 0;
  // Begins a step, of so many points: see step_code.hpp.
  virtual void step(Step step, const void *arguments, std::int64_t points) = 0;

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

// How many of so many warps run at once where each has rows of so many bytes: their memory is
// bounded.
int warps_with_rows(int warps, std::int64_t row_bytes);

// What a kernel is launched with: runtime/launch.hpp.
std::vector<std::int64_t> words_of(const loop::Program &program, std::size_t phase,
                                   const loop::Frame &frame, const plan::Grid &grid,
                                   std::int64_t row_bytes);

// Code for a device that nobody has opened: there to be shown.
std::shared_ptr<const Code> code_to_show(const loop::Program &program, const Target &target);

} // namespace broadloom::jit::gpu

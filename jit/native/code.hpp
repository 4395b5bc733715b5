// Native code in memory, as whoever runs it sees it. None of this folder needs LLVM: a process
// whose code comes from the disk cache never loads it.
#pragma once

#include "block/block.hpp"
#include "jit/native/code_memory.hpp"
#include "jit/native/image.hpp"
#include "jit/runtime/abi.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::jit {

// Milliseconds spent in each step of compile_native.
struct CompileTimes {
  double start = 0; // of LLVM, where nobody has started it before
  double emit = 0, link_math = 0, optimise = 0, codegen = 0, link = 0;

  double total() const { return start + emit + link_math + optimise + codegen + link; }
  void add(const CompileTimes &other) {
    for (auto step : steps) this->*step += other.*step;
  }
  void scale(double factor) {
    for (auto step : steps) this->*step *= factor;
  }

private:
  static constexpr double CompileTimes::*steps[] = {
      &CompileTimes::start,    &CompileTimes::emit,    &CompileTimes::link_math,
      &CompileTimes::optimise, &CompileTimes::codegen, &CompileTimes::link};
};

// The functions of a program. The memory that they lie in goes with the Code.
class Code {
public:
  struct Place { // one of these
    CodePiece piece;
    std::shared_ptr<void> linked; // by the linker, which takes it back
  };

  Code(Place place, std::vector<PhaseFn> phases, block::Program blocks, std::size_t code_bytes,
       CompileTimes times)
      : place_(std::move(place)), phases_(std::move(phases)), blocks_(std::move(blocks)),
        code_bytes_(code_bytes), times_(times) {}
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;

  const void *linked() const { return place_.linked.get(); } // of a device: its module
  std::span<const PhaseFn> phases() const { return phases_; }
  const block::Program &blocks() const { return blocks_; } // that it was made from
  std::size_t code_bytes() const { return code_bytes_; }
  const CompileTimes &times() const { return times_; }

private:
  Place place_;
  std::vector<PhaseFn> phases_;
  block::Program blocks_;
  std::size_t code_bytes_;
  CompileTimes times_;
};

// The functions of an image, made of these blocks. Throws CompileError E0501.
std::shared_ptr<const Code> code_of(const Image &image, block::Program blocks);

} // namespace broadloom::jit

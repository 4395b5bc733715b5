// Loop programs as native code: the one seam to LLVM's code generator and linker.
//
//   auto code = jit::compile_native(program, jit::find_target(""));
//   code->phases()[0](&frame, lo, hi);       // the same bits as loop::interpret(program, 0, ..)
#pragma once

#include "jit/engine/target.hpp"
#include "jit/runtime/abi.hpp"
#include "loop/listing.hpp"

#include <broadloom/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace broadloom::jit {

// Milliseconds spent in each step of compile_native.
struct CompileTimes {
  double choose = 0; // of blocks
  double start = 0;  // of LLVM, where nobody has started it before
  double emit = 0, link_math = 0, optimise = 0, codegen = 0, link = 0;

  double total() const { return choose + start + emit + link_math + optimise + codegen + link; }
  void add(const CompileTimes &other) {
    for (auto step : steps) this->*step += other.*step;
  }
  void scale(double factor) {
    for (auto step : steps) this->*step *= factor;
  }

private:
  static constexpr double CompileTimes::*steps[] = {
      &CompileTimes::choose,    &CompileTimes::start,    &CompileTimes::emit,
      &CompileTimes::link_math, &CompileTimes::optimise, &CompileTimes::codegen,
      &CompileTimes::link};
};

// The functions of a program. The memory that they lie in goes with the Code.
class Code {
public:
  struct Place; // where the code lies: engine.cpp

  Code(std::unique_ptr<Place> place, std::vector<PhaseFn> phases, block::Program blocks,
       std::size_t code_bytes, CompileTimes times);
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code();

  std::span<const PhaseFn> phases() const { return phases_; }
  const block::Program &blocks() const { return blocks_; } // that it was made from
  std::size_t code_bytes() const { return code_bytes_; }
  const CompileTimes &times() const { return times_; }

private:
  std::unique_ptr<Place> place_;
  std::vector<PhaseFn> phases_;
  block::Program blocks_;
  std::size_t code_bytes_;
  CompileTimes times_;
};

// Throws CompileError E0501, with LLVM's message, where native code cannot be had. Thread-safe.
// The tools of `profile` are told of the code, under the program's name (profile.hpp).
std::shared_ptr<const Code> compile_native(const loop::Program &program, const Target &target,
                                           Profile profile = Profile::none);

// The same with other blocks than those that are chosen for the target.
std::shared_ptr<const Code> compile_native(const loop::Program &program, block::Program blocks,
                                           const Target &target, Profile profile = Profile::none);

// The program as LLVM IR after all passes, and as assembly. With a listing of the program, `.loc` directives give
// its lines.
std::string llvm_text(const loop::Program &program, const block::Program &blocks,
                      const Target &target);
std::string asm_text(const loop::Program &program, const block::Program &blocks,
                     const Target &target, const loop::Listing *listing = nullptr);

} // namespace broadloom::jit

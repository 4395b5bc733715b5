// Loop programs as object code, and object code as functions in memory: two steps with a value
// between them, which may be kept, written out, or linked by another process for the same target.
//
//   Object object = generate(program, blocks, target);
//   auto code = link(std::move(object));
#pragma once

#include "jit/native/code.hpp"
#include "jit/native/image.hpp"
#include "jit/native/profile.hpp"
#include "jit/native/target.hpp"

#include <optional>
#include <string>
#include <vector>

namespace broadloom::jit {

struct Object {
  std::vector<std::vector<char>> files; // ELF: one for each part of the program
  std::vector<std::string> phases;      // the symbols of the phases' functions
  block::Program blocks;                // that they were made of
  CompileTimes times;                   // up to here
  Profile profile = Profile::none;      // whom to tell of the code
};

// E0501 and E0502 as compile_native has them. A function of its arguments: no code is linked, and
// nobody is told. Large programs are made in parts, on so many threads; what is in which part
// depends on the program alone.
Object generate(const loop::Program &program, block::Program blocks, const Target &target,
                Profile profile = Profile::none, int threads = 1);

// The phases of each part. Phases of less than some weight are together, as each part takes a code
// generator of its own.
std::vector<std::vector<std::size_t>> parts_of(const block::Weights &weights);

// Whether there is as much memory as a compilation of this weight may take.
bool has_memory_for(std::int64_t weight);

// Puts the functions into memory and tells the profilers. Where an image is asked for, it is that
// of the functions, and nothing where they cannot lie elsewhere. Throws CompileError E0501.
std::shared_ptr<const Code> link(Object object, std::optional<Image> *image = nullptr);

} // namespace broadloom::jit

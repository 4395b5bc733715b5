// Loop programs as object code, and object code as functions in memory: two steps with a value between them, which may be
// kept, written out, or linked by another process for the same target.
//
//   Object object = generate(program, blocks, target);
//   auto code = link(std::move(object));
#pragma once

#include "jit/engine/engine.hpp"

#include <string>
#include <vector>

namespace broadloom::jit {

struct Object {
  std::vector<char> file;          // ELF
  std::vector<std::string> phases; // the symbols of the phases' functions
  block::Program blocks;           // that they were made of
  CompileTimes times;              // up to here
  Profile profile = Profile::none; // whom to tell of the code
};

// E0501 and E0502 as compile_native has them. A function of its arguments: no code is linked, and nobody is told.
Object generate(const loop::Program &program, block::Program blocks, const Target &target,
                Profile profile = Profile::none);

// Puts the functions into memory and tells the profilers. Throws CompileError E0501.
std::shared_ptr<const Code> link(Object object);

} // namespace broadloom::jit

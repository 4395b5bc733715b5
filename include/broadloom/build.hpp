// Kernels that are built ahead of time: machine code in an object file, for programs that ship
// without a compiler.
//
//   bl::write(bl::build(spec, {.layouts = "x=(*, 64)"}), "softmax");
//       // softmax.o, softmax.h, softmax.pc
//
// A program in C or C++ includes softmax.h and is linked with softmax.o and -lbroadloom, of which
// it never loads the part with LLVM. docs/ship.md has the whole of it.
#pragma once

#include <broadloom/kernel.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom {

struct BuildOptions {
  std::string name = {}; // that the functions of the header begin with; "": the kernel's
  // The layouts of calls, one a line: `x=(1024, 64) w=(64)`. See docs/ship.md. "": all inputs lie
  // in C order, with any extents.
  std::string layouts = {};
  std::string layouts_file = "<layouts>"; // its name in errors
  // "x86-64-v3", "x86-64-v4" ..; none: all of this machine's architecture. On x86-64 code is built
  // for "aarch64", too, in an object of its own.
  std::vector<std::string> targets = {};
};

struct BuiltKernel {
  std::string name;
  std::string data;                       // the text and the code, which `load` reads
  std::string object, header, pkg_config; // the contents of the files
  std::vector<std::string> targets;
  std::vector<std::size_t> programs; // [target]: that there is code for
};

// Throws SpecError E0070 for a line of layouts that cannot be read, E0071 for a name that is none
// in C. Throws CompileError E0503, and what `Kernel::prepare` throws for layouts that the kernel
// cannot take.
BuiltKernel build(const LoopSpec &spec, const BuildOptions &options = {});

// Writes `path`.o, `path`.h and `path`.pc: all of them or none. Throws DataError E0303.
void write(const BuiltKernel &built, const std::string &path);

// The kernel of `BuiltKernel::data`, which must stay where it is. Nothing is compiled for it:
// layouts without code of their own run by the generic program, else in the interpreter, with the
// same bits. Throws CompileError E0504 for what is none, or is of another version.
Kernel load(std::string_view data, const Options &options = {});

} // namespace broadloom

// Native code from the disk cache, or made and kept there.
//
// The key is all that code depends on: the sources of the code generator (code_version), LLVM, the
// instructions that may be used, and the loop program. A processor's name only guides scheduling,
// so machines of one level share entries.
#pragma once

#include "jit/native/code.hpp"
#include "jit/native/profile.hpp"
#include "jit/native/target.hpp"

#include <string>

namespace broadloom::jit {

class BuiltCode;

struct KeptCode {
  std::shared_ptr<const Code> code;
  bool from_disk = false;
  struct Times {       // milliseconds, before code was made or run
    double choose = 0; // of blocks
    double look = 0;   // on disk
    double start = 0;  // of LLVM, where it had to be loaded
  };
  Times times;
};

// Of the generator that made code.
std::string code_version_key();

// As compile_native, on so many threads; a kernel that was built has what it was built with, and
// nothing is compiled for it: E0501 where that is all; `program_key` is loop::key(program) and
// `folder` as Options::cache_dir. Code that profilers are told of is made anew: its names are the
// kernel's.
KeptCode find_or_compile(const loop::Program &program, const std::string &program_key,
                         const Target &target, Profile profile, const std::string &folder,
                         int threads, BuiltCode *built);

// Whether the disk cache seems to have it: the file is not read.
bool is_kept(const std::string &program_key, const Target &target, Profile profile,
             const std::string &folder);

} // namespace broadloom::jit

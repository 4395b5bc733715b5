// Native code of a loop program, for all kernels of the process: found in memory or on disk, or
// made.
#pragma once

#include "jit/cache/kept_code.hpp"
#include "jit/nest/setup.hpp"
#include "jit/nest/specialisation.hpp"

#include <memory>
#include <string>

namespace broadloom::jit {

struct FoundCode {
  std::shared_ptr<const Code> code;
  Pattern::Origin origin = Pattern::Origin::Process;
  KeptCode::Times before; // where it was read or made
  double ms = 0;          // that it took
};

// `key` is loop::key(program), and `kernel` the name that profilers are told. Throws what compilers
// throw: CompileError E0501, InternalError.
FoundCode find_code(const MadeFor &made_for, const std::string &kernel,
                    const loop::Program &program, const std::string &key);

// Whether it need not be made.
bool has_code(const MadeFor &made_for, const std::string &kernel, const std::string &key);

} // namespace broadloom::jit

// The one symbol of the library with LLVM: see jit/native/backend.hpp.
#pragma once

#include "jit/native/backend.hpp"

extern "C" const broadloom::jit::Backend broadloom_backend;

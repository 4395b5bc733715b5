// Native code as text, whichever kernel it is of.
#pragma once

#include "block/block.hpp"
#include "jit/native/target.hpp"
#include "plan/plan.hpp"

#include <string>

namespace broadloom::jit {

// `--stage asm`: the innermost loop of the most expensive phase, or all of the code; above each run
// of instructions stands the line of the loop program that they come from.
std::string asm_listing(const loop::Program &program, const block::Program &blocks,
                        const plan::Binding &binding, const Target &target, bool whole);

} // namespace broadloom::jit

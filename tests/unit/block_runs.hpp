// What the tests of blocks share: machines, and block::interpret as a runner of runs.hpp.
#pragma once

#include "tests/unit/runs.hpp"

#include "block/block.hpp"
#include "jit/native/target.hpp"

#include <string>
#include <vector>

namespace broadloom::loop::test {

// Processors: with AVX2, with AVX-512, one that we do not have, and a GPU.
inline std::vector<block::Machine> machines() {
  block::Machine avx2, avx512, small;
  avx512.vector_bits = 512;
  avx512.registers = 32;
  avx512.masks_free = avx512.gathers = true;
  avx512.least_masked_move = 1;
  small.vector_bits = 128;
  small.registers = 8;
  return {avx2, avx512, small, jit::find_isa("warp")->core};
}

// Those that run code of the machine's blocks.
inline std::vector<std::string> targets_for(const block::Machine &machine) {
  return machine.warp > 0 ? std::vector<std::string>{"warp"} : jit::targets_here();
}

inline Runner runner_of(const Program &program, block::Program blocks, std::string name) {
  return {std::move(name),
          [&program, blocks = std::move(blocks)](std::size_t phase, const Frame &frame,
                                                 const std::int64_t *lo, const std::int64_t *hi) {
            block::interpret(program, blocks, phase, frame, lo, hi);
          }};
}

} // namespace broadloom::loop::test

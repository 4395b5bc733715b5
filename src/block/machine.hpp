// What the choice of blocks knows of a processor's core. A second target is a second value of this.
#pragma once

#include <cstddef>

namespace broadloom::block {

struct Machine {
  int vector_bits = 256;
  int registers = 16;        // of so many bits
  bool masks_free = false;   // an operation under a mask costs what a plain one does, for elements of any size
  bool gathers = false;      // faster than loads one by one, for elements of at least four bytes
  std::size_t least_masked_move = 4; // bytes of the smallest element of which a vector moves under a mask

  int vector_bytes() const { return vector_bits / 8; }
  // Bytes of accumulators that a block may hold: half of the registers, as the other half holds operands.
  int accumulator_bytes() const { return registers / 2 * vector_bytes(); }
  bool has_masked_move(std::size_t size) const { return size >= least_masked_move; }
  bool has_gather(std::size_t size) const { return gathers && size >= 4; }
};

} // namespace broadloom::block

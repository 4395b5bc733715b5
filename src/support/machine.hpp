// The machine that code is made for and runs on: every number of it that a choice depends on. A
// second target is a second value of this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadloom::support {

// How large blocks may become. Any value within the bounds given here gives code with the same
// bits: block::random_sizes() draws from all of them, which is how the tests hold schedules that
// nobody has chosen yet.
struct Sizes {
  int columns = 4;              // registers of a strip of columns: 1, 2, 4, 8
  int leaves = 4;               // of a fold that step side by side: 1, 2, 4, 8
  int leaf_registers = 8;       // that the states of all of them fill
  int scan_totals = 4;          // groups of a scan whose totals are found at once: 1, 2, 4
  int jammed_rows = 4;          // copies of a row: 2, 4, 8
  int tile_rows = 4;            // of a register tile: 2, 4, 8
  int tile_folds = 12;          // of a register tile of dot products: 1 to 16
  int transposed = 2;           // operands of a tile that are transposed in registers
  int narrower = 1;             // by which the lanes of maps and folds are divided: 1, 2
  std::size_t copied_body = 64; // statements of a body: copies of longer ones take long to compile
  std::size_t short_statements = 512; // of all copies of a short loop's body
  std::size_t transposed_body = 12;   // statements that a transposed tile may have
  std::int64_t least_leaf = 64;       // positions; leaves of joins have one
  int bytes_of_thread = 16; // that a thread of a warp moves at once: 1 (an element), 8, 16
  bool asks_ahead =
      true; // for the lines of a long stream: some processors' own prefetchers do better alone
  std::int64_t copied_functions =
      12; // their weight in the body of a fold, to have its ways as copies
};

struct Machine {
  // A core: what blocks are chosen by.
  int vector_bits = 256;
  int registers = 16; // of so many bits
  bool masks_free =
      false; // an operation under a mask costs what a plain one does, for elements of any size
  bool gathers = false; // faster than loads one by one, for elements of at least four bytes
  std::size_t least_masked_move =
      4; // bytes of the smallest element of which a vector moves under a mask
  int warp =
      0; // threads of a GPU that run together, each of which is a lane; 0: lanes are of registers
  Sizes sizes = {};

  // Its memory, in bytes: what the plan is chosen by. The first two are a line and a nearest cache
  // that any x86-64 has; the others are those of this machine.
  std::int64_t cache_line = 64;
  std::int64_t nearest_cache = 32 << 10;    // of one core (L1)
  std::int64_t own_caches = 1 << 20;        // of one core (L2)
  std::int64_t last_level_cache = 32 << 20; // of all cores
  std::int64_t kept_output = 32 << 20;      // of an output, in that cache, until somebody reads it

  // Its threads: what phases are cut by.
  int threads = 1;
  double task_cycles = 90'000;      // of work that is worth waking one: 30 us at 3 GHz
  double awake_task_cycles = 7'500; // of work that is worth handing to one that is awake

  int vector_bytes() const { return vector_bits / 8; }
  // Bytes of accumulators that a block may hold: half of the registers, as the other half holds
  // operands.
  int accumulator_bytes() const { return registers / 2 * vector_bytes(); }
  bool has_masked_move(std::size_t size) const { return size >= least_masked_move; }
  bool has_gather(std::size_t size) const { return gathers && size >= 4; }
};

} // namespace broadloom::support

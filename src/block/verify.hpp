// Inside the verifier of blocks: how a buffer may move in a body, given what stands around it.
#pragma once

#include "block/text.hpp"

namespace broadloom::block {

// What stands around a body.
struct Around {
  const loop::Loop *lanes = nullptr; // the loop whose positions are lanes
  int width = 1;                     // of them, all copies counted
  int apiece = 1;                    // neighbours of each lane
  bool masked = false;
  bool streams = false; // stores of the very body may go around the caches: its lanes are aligned
  const loop::Loop *short_row =
      nullptr;                    // a loop of known turns, or of a block of turns of a scan, and
  const Box *short_box = nullptr; // its box
  const loop::Loop *jammed = nullptr;     // rows, of which the body is one of several copies
  const loop::Loop *tiled = nullptr;      // rows that are lanes, too
  const loop::Loop *transposed = nullptr; // rows of a tile that is transposed
};

// The rule that the access breaks, or null.
const char *broken_rule(const loop::Program &program, const Machine &machine, const Access &access,
                        const Around &around);

} // namespace broadloom::block

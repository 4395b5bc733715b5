// The register block: what runs, as data, between the loop IR (what is meant) and native code.
//
// Problem: "vector for j" does not say how many positions a turn takes, which of them are lanes of
// a register and which are copies of the body, how an operand that lies across is loaded, or what
// becomes of the positions that are left over.
// Method: every loop at every place of the nest is a Run of one Shape, with its Boxes. A box is a
// small set of positions, at most three dims of { axis, count, as lanes | copies | turns }, that
// one turn of its code takes, and says how its body moves every buffer. The reduction tree stays
// with the loop IR, so that no block changes a bit.
// Example: the sum over rows of a big matrix, `vector for j` inside `for i`, on 512-bit vectors, as
// print() shows it:
//
//   for i: unroll-and-jam
//     block i 4 copies
//       for j: a map
//         block j 16 lanes
//           load s0: row
//           load x: row
//           store s0: held
//         rest j 16 lanes, masked
//           ..
//     rest i 1 turn
//       ..
//
// choose() is the only code that decides; jit/emit translates, print() shows it, why() gives the
// reasons.
//
// Rows that several loads of a jam read are loaded once, where the addresses are such:
//
//   y[i, j] = x[i, j] + x[i + 1, j]      2 copies of i load three rows of x, not four
//
// shape              as a block                        (the field's term)
//   Turns            1 turn
//   Short            n copies, or n turns              (full unrolling)
//   SerialFold       leaves as copies, or lanes        (interleaved pairwise summation)
//   Unrolled         n copies: all steps of a fold     (full unrolling)
//   VectorFold       k copies x lanes
//   SerialScan       1 turn; in lanes of a row each, n copies or turns of which the rows move
//                    transposed; in threads, n lanes that all take each step
//   GroupScan        groups as copies x 16 lanes; of threads, as many as a warp has room for
//   Map              j copies x lanes                  (strip of columns where there are copies)
//                    j lanes x copies: neighbours of each thread of a warp, moved at once
//   MaskedMap        j lanes, always masked
//   StreamedMap      j lanes                           (non-temporal stores)
//   Jam              i copies around a map             (unroll-and-jam)
//   RowTile          i copies x j lanes; masked, too   (register tile; may_repeat_rows)
//   FoldTile         i copies x j copies around a      (register tile of dot products)
//                    fold over lanes
//   TransposedTile   i turns x j lanes                 (transposition in registers; of threads: in
//                    shared memory)
#pragma once

#include "block/survey.hpp"
#include "loop/loop.hpp"
#include "support/machine.hpp"

#include <broadloom/decision.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::block {

using support::Machine;
using support::Sizes;

enum class As : std::uint8_t { Lanes, Copies, Turns };

struct Dim {
  loop::AxisId axis;
  int count = 1;
  As as = As::Turns;
  bool leaves = false; // lanes or copies are a leaf of the fold's tree apart, not one position
};

// How the elements of a buffer come into registers, or go out of them.
enum class Move : std::uint8_t {
  Scalar,     // one element; for lanes, the same in all of them
  Row,        // neighbours in memory; of a masked box, those that count
  Streamed,   // a row, by non-temporal stores where it is aligned and no input, else by plain ones
  Strided,    // strided load, of a step of 2, 3, 4 or -1: lanes are picked from whole vectors
  Gather,     // lanes apart in memory, by one instruction
  Single,     // lanes apart in memory, one by one
  Transposed, // a block of rows, transposed in registers
  Stack,      // a slot of each lane's own on the stack
  Slots,      // side by side in a row of memory that has a slot for each lane
  Held,       // a state in its register from copy to copy: the first loads, the last stores
  Wide,       // the neighbours that a thread has as copies, at once: at most 16 bytes, aligned
};

// Cache lines that are asked for before they are loaded.
struct Prefetch {
  bool lines = false; // of the same buffer, 1 and 8 KiB ahead
  bool steps = false; // four steps of the fold ahead
  bool block = false; // of a next block: of a tile, of a jam, or of a scan in lanes of rows
};

struct Access {
  loop::BufferId buffer;
  bool store = false;
  Move move = Move::Scalar;
  Prefetch prefetch;
  bool shared = false; // of a jam: rows that another of its loads has, too (loop::Buffer::shift)
};

enum class Shape : std::uint8_t {
  Turns,
  Short,
  SerialFold,
  Unrolled,
  VectorFold,
  SerialScan,
  GroupScan,
  Map,
  MaskedMap,
  StreamedMap,
  Jam,
  RowTile,
  FoldTile,
  TransposedTile,
};

struct Run;
struct Box {
  int id = 0;            // in the order of print()
  std::vector<Dim> dims; // outermost first
  bool masked = false;   // only those of its positions count that lie in the range
  bool rest = false;     // it takes what the boxes before it leave
  std::vector<Access> accesses;
  std::vector<Run> runs; // of the loops in its body, in order

  int count(As as) const; // of all dims of this kind: 1 without
  int positions() const;  // of its last axis
  int apiece() const;     // neighbours that each lane takes: copies behind the lanes, or 1
  const Access *find(loop::BufferId buffer, bool store) const; // null where no access is one
  const Access &access(loop::BufferId buffer, bool store) const;
};

struct Run {
  loop::LoopId loop;
  Shape shape = Shape::Turns;
  std::vector<Box> boxes; // whole blocks first, then the rest
  loop::LoopId inner;     // of two loops as one block: the loop inside that the boxes take along

  const Box &whole() const { return boxes.front(); }
  const Box &rest() const { return boxes.back(); }
  // Of a register tile: the rows whose last lanes are beside the whole boxes; null: one by one.
  const Box *beside() const {
    return shape == Shape::RowTile && boxes.size() == 3 ? &boxes[1] : nullptr;
  }
  bool takes_inner() const { return shape >= Shape::Jam; } // two loops as one block
  // The loop whose body this box of the run takes: the inner one, where dims of both loops are in
  // the box.
  loop::LoopId body_of(const Box &box) const;
};

struct Program {
  Machine machine;
  Weights weights;             // of the loop program
  std::vector<Survey> surveys; // [phase]
  std::vector<Box> phases;     // [phase]: its body as a box of one position
  int boxes = 0;               // in all: ids are below
};

Program choose(const loop::Program &program, const Machine &machine);

// Any sizes within their bounds, for tests.
Sizes random_sizes(std::uint64_t seed);

// The run of this loop among those of a box's body. One that is missing is our bug.
const Run &run_of(const Box &box, loop::LoopId loop);

// The buffers that a loop's own body stores by unit stride along it and that are marked as streams.
std::vector<loop::BufferId> streams(const loop::Program &program, loop::LoopId loop);

// [box]: how many turns each has in a run of the program with these numbers.
std::vector<double> count_turns(const loop::Program &program, const Program &blocks,
                                const loop::Numbers &numbers);

// For people: one line for each run and each box. With numbers, each box says how many turns it has
// in all, and one that has none says no more.
std::string print(const loop::Program &program, const Program &blocks,
                  const loop::Numbers *numbers = nullptr);

// The blocks of the program in such a text; comments count nothing. Throws SpecError E0801
// (malformed) and E0802 (a rule that does not hold), each with the place in the text.
// parse(print(blocks)) prints the same.
Program parse(const loop::Program &program, std::string_view text, std::string_view file = "");

// The machine in the first line of such a text, whatever stands below.
Machine machine_in(std::string_view text, std::string_view file = "");

// "i 4 copies x j 16 lanes"
std::string print_dims(const loop::Program &program, const Box &box);

// Why: the width, the copies and the tiles of every phase, each once. With numbers, only boxes that
// turn have a say.
std::vector<Decision> explain(const loop::Program &program, const Program &blocks,
                              const loop::Numbers *numbers = nullptr);

// Runs one phase on a box of its parallel axes by these blocks, one lane after the other, with the
// bits of loop::interpret. The blocks keep the rules; without that, what they lose or take twice
// shows in the bits.
void interpret(const loop::Program &program, const Program &blocks, std::size_t phase,
               const loop::Frame &frame, const std::int64_t *lo, const std::int64_t *hi);

// Checks what a translator takes for granted: a box that covers its range with what is left over,
// no more lanes than a register group has, dims that are the loop's own. A violation is our bug.
void verify(const loop::Program &program, const Program &blocks);

} // namespace broadloom::block

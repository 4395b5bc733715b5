// Where the walk is: the positions that the code being made runs for, and where their elements are.
//
// Problem: a statement becomes code for one position or for a group of lanes, of one row or of
// several, of which all count or the first few, and what it loads lies in memory or is in registers
// already.
// Method: all of that is one value, made of the dims and the accesses of the boxes around. A turn
// of a loop makes a new place of the one around it and hands it down, so nothing has to be set
// back, and whoever loads, stores or steps asks only its place.
// Example: in a register tile of 4 rows x 16 lanes the group has 4 copies of 16 lanes, and `at` has
// the first row's addresses.
#pragma once

#include "block/block.hpp"

#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace broadloom::jit {

using Values = std::vector<llvm::Value *>;

// Positions of an axis.
struct Range {
  llvm::Value *begin, *end;
};

// Positions that run as lanes of registers.
struct Group {
  const loop::Loop *loop = nullptr; // whose positions they are; null outside of vector loops
  int width = 1;
  std::optional<loop::AxisId>
      rows;       // each row along this axis has lanes of its own, one after the other
  int copies = 1; // so many
  llvm::Value *active = nullptr; // lanes that count (i64), or null when all do
  llvm::Value *mask = nullptr;   // the same as <width x i1>
  int apiece = 1;                // neighbours of each lane, a thread, which has copies of the body

  int lanes() const { return copies * width; }
};

// A buffer's elements along an axis, which are loaded before the turns that take them, or stored
// after those that give them.
struct Elements {
  loop::AxisId along;
  Values vectors;                   // of each position: its element in each lane
  llvm::AllocaInst *room = nullptr; // or the same on the stack
  llvm::Value *row = nullptr;       // which of them; null: that of the position
  llvm::Value *shared = nullptr;    // or, of threads, where this one's first lies in shared memory
  llvm::Type *type = nullptr;       // of an element there
};
using Registers = std::map<loop::BufferId, Elements>;

// One of the bodies of a turn: a row of a jam, or a fold of a register tile, with what is known of
// it before the loop inside.
struct Copy {
  Values at, positions;
  std::vector<std::pair<loop::ValueId, llvm::Value *>> values;
  std::vector<int>
      like; // of a fold, by buffer: the first of the folds that reads the same elements
};

// What several copies read, each as the first that comes to it has loaded it: by buffer, and rows
// of a jam from its own, or such a first fold.
using SharedRegisters = std::map<std::pair<loop::BufferId, int>, llvm::Value *>;

struct Place {
  const block::Box *box = nullptr; // how the body that we are in is run
  Values at;                       // by buffer: the address of its element at the first position
  Values positions;                // by axis, inside its loop: the first position
  Group group;
  std::int64_t offset = 0; // of this copy of a loop's body, in positions
  bool aligned = false;    // streamed rows are, and go around the caches
  std::map<loop::BufferId, Elements *> loaded, awaited; // what moves as blocks around the body
  const std::vector<Copy> *copies = nullptr;            // of the body of the loop inside; null: one
  Values *held =
      nullptr; // by buffer, in such a copy: the states so far; they are stored in the last
  bool last = true;
  const block::Dim *jam = nullptr;        // the rows of the jam around such a copy
  SharedRegisters *shared = nullptr;      // in such a copy
  int row = 0;                            // of the jam
  const std::vector<int> *like = nullptr; // of the fold of a tile

  std::size_t count_copies() const { return copies == nullptr ? 1 : copies->size(); }
};

} // namespace broadloom::jit

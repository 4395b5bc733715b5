// The states of accumulators as values: identities, joins, and the lists and stack slots that loops carry them in.
#pragma once

#include "jit/emit/context.hpp"

namespace broadloom::jit {

using States = Values;                 // of one accumulator
using AllStates = std::vector<States>; // of all the accumulators of a loop

struct Accumulator {
  States now;                // running inside its loop, joined after it
  States carried;            // inside a scan in blocks: the blocks before
  States before;             // inside a scan's group: the groups before
  bool early = false;        // in a group: the step is still to come
  bool takes_blocks = false; // a leaf is the block that it is given
};

class Accumulators {
public:
  explicit Accumulators(Context &context);
  Accumulator &operator[](loop::AccId id) { return all_[id.index]; }

  States identity(loop::AccId acc, int width);
  States join(loop::AccId acc, const States &left, const States &right);
  AllStates join(const loop::Loop &loop, const AllStates &left, const AllStates &right);
  // By the tree's halving: first whole vectors, then the halves of the one that is left.
  States join_lanes(loop::AccId acc, std::vector<States> lanes);
  // With `count` lanes that have had no step.
  States join_identities(loop::AccId acc, const States &states, int count);

  AllStates running(const loop::Loop &loop) const;
  void set_running(const loop::Loop &loop, const AllStates &states);

  // Loops carry plain lists of values; several blocks one after the other.
  static Values flat(const AllStates &block);
  static Values flat(const std::vector<AllStates> &blocks);
  AllStates shaped(const loop::Loop &loop, const Values &values) const;
  std::vector<AllStates> blocks(const loop::Loop &loop, const Values &values) const;

  // So many of each of these, on the stack.
  using Slots = std::vector<llvm::AllocaInst *>;
  Slots slots(const Values &states, int count);
  Values load(const Slots &slots, llvm::Value *index);
  void store(const Slots &slots, llvm::Value *index, const Values &states);

private:
  const loop::Program &program_;
  Builder &ir_;
  Lanes &lanes_;
  std::vector<Accumulator> all_;
};

} // namespace broadloom::jit

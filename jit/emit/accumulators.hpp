// The states of accumulators as values: identities, joins, and the lists and stack slots that loops
// carry them in.
#pragma once

#include "jit/emit/context.hpp"

namespace broadloom::jit {

using States = Values;                 // of one accumulator
using AllStates = std::vector<States>; // of all the accumulators of a loop
using Blocks = std::vector<AllStates>; // of several parts of its range

// Loops carry plain lists of values.
Values flat(const AllStates &block);
Values flat(const Blocks &blocks);

struct Accumulator {
  States now;                // running inside its loop, joined after it
  States carried;            // inside a scan in blocks: the blocks before
  States before;             // inside a scan's group: the groups before
  States earlier, last;      // inside a chain of threads: before each one's step, and in the end
  bool early = false;        // in a group or chain: the step is still to come
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
  // The same of several folds: the halves of two become one vector, and so on.
  std::vector<States> join_lanes(loop::AccId acc, std::vector<std::vector<States>> folds);
  // Of threads, by the tree's pairs.
  States join_neighbours(loop::AccId acc, States states);
  // With `count` lanes that have had no step.
  States join_identities(loop::AccId acc, const States &states, int count);

  // A state that counts steps, as that of var does, is known without having been stepped: 1 is
  // added to 0 in each. So where all lanes step, one number takes the place of a vector for each
  // copy: these become `steps`, which is an integer.
  void set_counts(const loop::Loop &loop, Blocks &blocks, llvm::Value *steps);

  AllStates running(const loop::Loop &loop) const;
  void set_running(const loop::Loop &loop, const AllStates &states);

  AllStates shaped(const loop::Loop &loop, const Values &values) const; // the reverse of flat()
  Blocks blocks(const loop::Loop &loop, const Values &values) const;
  // Lanes::counted_loop, whose turns change the states that it carries.
  Blocks counted_loop(const loop::Loop &loop, Range range, std::int64_t step, const Blocks &start,
                      llvm::function_ref<void(llvm::Value *, Blocks &)> turn);

  // So many of each of these, on the stack.
  using Slots = std::vector<llvm::AllocaInst *>;
  Slots slots(const Values &states, int count);
  Blocks load(const loop::Loop &loop, const Slots &slots, llvm::Value *index);
  void store(const Slots &slots, llvm::Value *index, const Values &states);

private:
  States join_vectors(loop::AccId acc, std::vector<States> lanes); // to one, lane by lane
  States of_thread(const States &states, llvm::Value *number);
  States of_later_thread(const States &states, unsigned apart);

  const loop::Program &program_;
  Builder &ir_;
  Lanes &lanes_;
  std::vector<Accumulator> all_;
};

} // namespace broadloom::jit

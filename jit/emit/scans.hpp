// Loops that run in order: scans, and ordered folds from the end.
//
// scan.cpp has blocks, and positions one after the other; scan_groups.cpp groups of positions as
// lanes.
#pragma once

#include "jit/emit/folds.hpp"

namespace broadloom::jit {

class Scans {
public:
  Scans(Context &context, Accumulators &accs, Memory &memory, Folds &folds, PhaseEmitter &walk)
      : context_(context), program_(context.program), ir_(context.ir), lanes_(context.lanes),
        accs_(accs), memory_(memory), folds_(folds), walk_(walk) {}

  void scan(const Place &here, const block::Run &run, Range range);
  llvm::Value *running_state(const Place &here, loop::AccId acc, std::uint32_t state);
  // Whether we are in a group of the scan that carries this accumulator, and its step there.
  bool in_group(loop::AccId acc) const { return !accs_[acc].before.empty(); }
  void step_group(const Place &here, loop::AccId acc, const std::vector<loop::ValueId> &args);

private:
  // scan.cpp
  void scan_in_blocks(const Place &here, const block::Run &run, Range range);
  AllStates first_states(const Place &here, const loop::Loop &loop, Range range);
  AllStates scan_block(const Place &here, const block::Run &run, Range range,
                       const AllStates &start);

  AllStates chain(const Place &here, const block::Run &run, Range range, const AllStates &start);
  void step_chain(const Place &here, loop::AccId acc, const std::vector<loop::ValueId> &args);

  // scan_groups.cpp
  AllStates scan_groups(const Place &here, const block::Run &run, Range range,
                        const AllStates &start);
  AllStates run_groups(const Place &here, const block::Run &run, const block::Box &box, Range range,
                       const AllStates &start);
  llvm::Value *later_lanes(bool reverse, int distance);
  llvm::Value *select_lanes(llvm::Value *mask, llvm::Value *a, llvm::Value *b);
  States join_group(const Group &group, loop::AccId acc, States states);
  States totals_of_groups(const Group &group, loop::AccId acc, States states);
  States last_of_group(const Group &group, const States &joined, int number);
  States running_group(const Place &here, loop::AccId acc);
  States shuffled(const States &states, const std::vector<int> &sources);
  bool reads_running(const loop::Loop &loop, loop::AccId acc) const;

  Context &context_;
  const loop::Program &program_;
  Builder &ir_;
  Lanes &lanes_;
  Accumulators &accs_;
  Memory &memory_;
  Folds &folds_;
  PhaseEmitter &walk_;
};

} // namespace broadloom::jit

// One call: a plan, where its arrays are, and the loop over its steps.
//
// run_call.cpp takes steps one after the other, run_loops.cpp loops over time.
#pragma once

#include "calls/record.hpp"
#include "jit/call/call_plan.hpp"
#include "jit/gpu/on_host.hpp"
#include "jit/gpu/steps.hpp"
#include "jit/nest/ready_run.hpp"
#include "jit/runtime/paths.hpp"

#include <optional>
#include <span>
#include <vector>

namespace broadloom::jit {

class CallRun {
public:
  using Ready = ReadyRun;

  // What is `ready` was looked at before.
  CallRun(const Nests &nests, const CallPlan &plan, kernel::Operands call,
          std::span<char *const> arrays, std::span<const Ready> ready = {})
      : nests_(nests), plan_(plan), call_(call), arrays_(arrays), ready_(ready),
        there_(plan.loops.size()), saved_(plan.loops.size()), recorder_(calls::Recorder::here()) {
    if (device() != nullptr) steps_.emplace(*device());
  }

  void run(const LetWatch &watch);
  // All that a call looks at before it computes: pointers, and positions that elements say. Those
  // that it computes itself are looked at in each run, once they are there.
  void look();

  AnyView view(const MemRef &operand) const;
  std::vector<AnyView> views(const std::vector<MemRef> &operands) const;

private:
  // run_call.cpp
  gpu::Device *device() const { return nests_.rest.setup().device.get(); }
  const kernel::Elements &elements() const { return steps_ ? *steps_ : kernel::Elements::here(); }
  // Whether a step that looks positions up was done on the device.
  bool is_done(bool on_device) const {
    count(on_device ? Path::StepOnDevice : Path::StepOnHost);
    return on_device;
  }
  void take_all(const std::vector<Action> &actions) {
    for (const Action &action : actions) std::visit([&](const auto &one) { take(one); }, action);
  }
  void take(const act::CheckInput &check);
  void take(const act::CheckApart &check);
  const Ready &ready_for(const act::Run &run);
  void take(const act::Run &run);
  void take(const act::Pad &pad);
  void pad_row(const act::Pad &pad, const AnyView &of, const AnyView &to, std::int64_t row,
               bool is_step = true);
  // The operands of a nest, of which the host reads those that say positions of this window.
  std::vector<AnyView> read_positions(gpu::OnHost &host, const spec::TypedSpec &typed,
                                      std::size_t window, std::vector<AnyView> views) const;
  void look_at(const Nest &nest, std::size_t window, const std::vector<MemRef> &operands,
               const Layout &layout, bool elements) const;
  void take(const act::Gather &gather);
  void take(const act::Scatter &scatter);
  void take(const act::Copy &copy);
  void take(const act::Count &count);
  void take(const act::Told &told);
  void take(const act::InTiles &in);
  void take(const act::ByReference &loop);
  // For calls::Recorder.
  void record_arrays();
  void record(const act::Run &run, const std::vector<const AnyView *> &operands);
  // All of a copy with borders, or a row of it.
  void record(const act::Pad &pad, const AnyView &of, const AnyView &to, std::int64_t row = -1);
  void record(const kernel::Padding &padding, std::vector<calls::Operand> from,
              std::vector<calls::Operand> to);

  // run_loops.cpp
  void take(const act::For &action);
  void step(const TimeLoop &loop, std::int64_t n);
  // Whether no further step would change a member.
  bool is_over(const TimeLoop &loop);
  // Whether what is there before the loop says so of the n-th step.
  bool is_at_rest(const TimeLoop &loop);
  void repeat_last(const TimeLoop &loop, std::int64_t skipped);
  // The rows of all steps behind this one. Of a ring only those are written that stay in it, unless
  // somebody looks at each, or some of them are saved.
  void repeat(const TimeLoop &loop);
  void count_path(Path path) const;
  // The row of this step, which is that of the n-th; `skipped` steps in a row have repeated it.
  void repeat_row(const TimeLoop &loop, std::int64_t n, std::int64_t skipped);
  // Whether all rows of a ring are this one.
  static bool is_full(std::int64_t kept, std::int64_t skipped);
  // The row of the n-th step, of the array that begins with the start.
  static std::int64_t row_at(const TimeLoop &loop, const TimeLoop::Member &member, std::int64_t n);
  // Row c of those before the n-th step.
  static std::int64_t row_before(const TimeLoop &loop, std::int64_t n, std::int64_t c);
  AnyView row_of(const TimeLoop::Member &member, std::int64_t row) const;
  AnyView saved_row(const TimeLoop::Member &member, std::int64_t row) const;
  AnyView whole(const MemRef &operand) const;
  void copy_elements(const AnyView &from, const AnyView &to) const;
  // What the next segment goes on from.
  void take(const act::Save &save);
  // Where a segment begins: whether what it begins with is kept (revolve.hpp).
  bool save_rows(const TimeLoop &loop, std::size_t number);
  void save_last(const TimeLoop &loop, std::size_t number);
  // Has the steps there that what follows reads at its own step.
  void take(const act::Again &again);
  void bring_row(const TimeLoop &loop, std::size_t member, std::int64_t row, std::int64_t saved);

  const Nests &nests_;
  const CallPlan &plan_;
  const kernel::Operands call_;
  const std::span<char *const> arrays_;
  const std::span<const Ready> ready_; // [run]; empty: of a call that comes once
  std::vector<Ready> own_;             // [run]
  std::vector<AnyView> lets_;          // for who looks at them
  const LetWatch *watch_ = nullptr;
  bool has_borders_ = false;        // copies have their zeros and borders of numbers already
  std::vector<std::int64_t> there_; // [loop]: from which step on a segment is there
  std::int64_t n_ = 0, t_ = 0;      // the n-th step, for position t
  std::size_t number_ = 0;          // of the loop
  bool is_in_loop_ = false;
  std::optional<std::int64_t> again_to_ = {};    // steps are run again: up to this segment
  std::vector<std::vector<std::int64_t>> saved_; // [loop][place]: the segment that begins there
  std::optional<gpu::Steps> steps_;              // of a device
  calls::Recorder *const recorder_;
};

} // namespace broadloom::jit

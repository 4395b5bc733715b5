// What stands behind a Kernel: what it is made of, and what its calls have taught.
//
// A call, in the order in which it comes by them (here, where no room is named):
//   api/public_kernel.cpp  arguments by position or by name; of C: ahead/c_interface.cpp
//   api/bound_call.cpp     with its arguments fixed; with states: api/stateful.cpp; frozen.cpp
//   call_chooser.cpp       what a call does around its nests, and in which order: a CallPlan; for
//                          one kernel: choose_reader.cpp, loops over time: choose_loops.cpp, a few
//                          rows at a time: find_tiles.cpp, choose_tiles.cpp, tile_steps.cpp
//   call_plans.cpp         the plans that are kept
//   run_call.cpp           its steps, one after the other; tiles: run_tiles.cpp, loops over time:
//                          run_loops.cpp, and rows computed again: checkpoints.cpp, revolve.cpp
//   call.cpp               a nest: look the layouts up, check the pointers, run
//   nest/layout_cache.cpp  the layouts seen so far
//   nest/executor.cpp      the phases, natively or interpreted, or the reference
//   runtime/               threads, and memory for the time of a call; how much: workspace.cpp
//   api/checked_call.cpp   a call that Options::debug has checked; both engines: nest/twice.cpp
//   api/recorded_call.cpp  a call that is held against what is shown of it
// How it comes to be:
//   compile.cpp            from the spec to a KernelImpl (kernel_impl.cpp)
//   nest/setup.cpp         what no call changes
//   sub_kernels.cpp        the kernels behind: lets.cpp, parts, fold_blocks*.cpp
//   nest/specialise.cpp    from layouts to all that a call of them needs
//   nest/patterns.cpp      the programs and their code: cache/, emit/, engine/, native/, gpu/
//   ahead/build.cpp        ahead of time, as an object file
//   nest/failure.cpp       what a bug of ours leaves behind, and what then takes over
// On blocks of data: api/block_kernel.cpp, api/stages.cpp, api/halos.cpp.
// What it tells: show/, of what show/shown.cpp finds, and of the latest CallPlan.
#pragma once

#include "jit/call/call_plans.hpp"
#include "jit/call/sub_kernels.hpp"
#include "jit/nest/executor.hpp"
#include "jit/nest/layout_cache.hpp"
#include "jit/nest/patterns.hpp"
#include "jit/nest/setup.hpp"

#include <atomic>
#include <memory>

namespace broadloom {

using detail::KernelImpl;

namespace jit {
// As KernelImpl::run_unchecked, where Options::debug asks for more (checked_call.cpp).
void run_checked(const KernelImpl &kernel, kernel::Operands call);
// As KernelImpl::run_unchecked, where BROADLOOM_VERIFY asks for more (recorded_call.cpp).
struct CallCount {
  std::atomic<std::int64_t> begun = 0, running = 0;
};
void run_recorded(const KernelImpl &kernel, kernel::Operands call, CallCount &calls);
// Whether the call is to be run: it is not where its arena measures. Throws DataError E0323 where
// that is too small (workspace.cpp).
bool has_workspace(const KernelImpl &kernel, kernel::Operands call);
} // namespace jit

namespace detail {
// What bl::compile makes. What is declared of the inputs `known` holds: calls do not look.
std::shared_ptr<const KernelImpl> make_kernel(const LoopSpec &spec, const Options &options,
                                              const std::vector<std::string> &known);
// The same of a kernel that was built ahead of time; of one that is being built, for
// `options.target`.
std::shared_ptr<const KernelImpl> make_kernel(const LoopSpec &spec, const Options &options,
                                              const std::vector<std::string> &known,
                                              std::shared_ptr<jit::BuiltCode> built);
} // namespace detail

class detail::KernelImpl {
public:
  // `target` is empty where no native code is wanted; `ms` is the time that was taken so far.
  KernelImpl(const LoopSpec &spec, spec::TypedSpec typed, const Options &options,
             std::optional<jit::Target> target, Profile profile, int threads, double ms,
             std::shared_ptr<jit::BuiltCode> built, std::shared_ptr<jit::gpu::Device> device);

  // Operands are inputs, then outputs; their number is right. Each throws what Kernel::run does.
  // `run` and `run_unchecked` are given what a call is; all else is about operands with their
  // windows.
  void run(kernel::Operands call) const {
    if (jit::runtime::CallArena::now() != nullptr) [[unlikely]]
      if (!jit::has_workspace(*this, call)) return;
    if (setup_.is_plain) [[likely]]
      return run_windowed(call);
    if (setup_.is_debugged()) return jit::run_checked(*this, call);
    const bool is_recorded = setup_.compares && setup_.engine != Engine::reference;
    is_recorded ? jit::run_recorded(*this, call, calls_) : run_unchecked(call, nullptr);
  }
  void run_unchecked(kernel::Operands call, const jit::LetWatch &watch) const;
  void run_windowed(kernel::Operands operands, kernel::Lies lies = {}) const;
  // Looks at layouts only.
  std::shared_ptr<const jit::Specialisation> bind(kernel::Operands operands, kernel::Lies lies,
                                                  jit::Use use) const;

  // A call that allocates its outputs. `operands` are the inputs, in declared order.
  Results call(std::vector<AnyView> operands, Order store = Order::none) const;
  // The layouts of a call with these inputs that allocates its outputs; they may be without memory.
  kernel::Layouts allocated_layouts(std::span<const AnyView> inputs) const;
  // The same of all inputs, lets too.
  kernel::Layouts layouts_of_given(std::span<const AnyView> inputs) const;

  const jit::CallPlans &plans() const { return plans_; }
  // What the latest call chose for its windows; null before any. Calls note it for those who tell.
  void note_windows(std::shared_ptr<const kernel::WindowChoice> choice) const;
  std::shared_ptr<const kernel::WindowChoice> latest_windows() const;

  const jit::Setup &setup() const { return setup_; }
  const spec::TypedSpec &typed() const { return setup_.typed; }
  const jit::SubKernels &subs() const { return subs_; }
  const jit::Executor &executor() const { return executor_; }
  jit::PatternCache &patterns() const { return patterns_; }
  // What the latest call ran; null before any.
  std::shared_ptr<const jit::Specialisation> latest() const { return layout_cache_.latest(); }
  Counters counters() const; // those of the kernels behind, too

private:
  bool run_again(const jit::Specialisation *special, kernel::Operands operands,
                 kernel::Lies lies) const;

  const jit::Setup setup_;
  const jit::SubKernels subs_;
  const jit::Executor executor_;
  mutable jit::LayoutCache layout_cache_;
  mutable jit::PatternCache patterns_;
  const jit::CallPlans plans_;
  mutable jit::CallCount calls_; // that BROADLOOM_VERIFY records
  mutable support::Mutex mutex_;
  mutable std::shared_ptr<const kernel::WindowChoice> latest_windows_; // under the lock
};

} // namespace broadloom

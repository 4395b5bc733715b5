// What stands behind a Kernel: what it is made of, and what its calls have taught.
//
// A call, in the order in which it comes by them (here, where no room is named):
//   api/public_kernel.cpp  arguments by position or by name; of C: ahead/c_interface.cpp
//   api/bound_call.cpp     with its arguments fixed; with states: api/stateful.cpp; frozen.cpp
//   call_chooser.cpp       what a call does around its nests, and in which order: a CallPlan; for
//                          one nest: choose_reader.cpp, loops over time: choose_loops.cpp, a few
//                          rows at a time: find_tiles.cpp, choose_tiles.cpp, tile_steps.cpp
//   call_plans.cpp         the plans that are kept
//   run_call.cpp           its steps, one after the other; tiles: run_tiles.cpp, loops over time:
//                          run_loops.cpp, and rows computed again: checkpoints.cpp, revolve.cpp
//   nest/run_nest.cpp      a nest: look the layouts up, check the pointers, run
//   nest/layout_cache.cpp  the layouts seen so far
//   nest/executor.cpp      the phases, natively or interpreted, or the reference
//   runtime/               threads, and memory for the time of a call; how much: workspace.cpp
//   api/checked_call.cpp   a call that Options::debug has checked; both engines: nest/twice.cpp
//   api/recorded_call.cpp  a call that is held against what is shown of it
// How it comes to be:
//   compile.cpp            from the spec to a KernelImpl (kernel.cpp)
//   lets.cpp               its nests: those of lets that are arrays, which lie as lets_memory.cpp
//                          says, and its own, which reads them
//   nest/nest.cpp          a nest, of which parts and sums have nests of their own
//   nest/setup.cpp         what no call changes
//   nest/specialise.cpp    from layouts to all that a call of them needs
//   nest/find_code.cpp     native code of a program, for all kernels of the process
//   nest/code_beside.cpp   the same, made by another thread while calls are interpreted
//   nest/patterns.cpp      the programs and their code: cache/, emit/, engine/, native/, gpu/
//   ahead/build.cpp        ahead of time, as an object file
//   nest/failure.cpp       what a bug of ours leaves behind, and what then takes over
// On blocks of data: fold_blocks*.cpp, by kernels of their own, api/block_kernel.cpp,
// api/stages.cpp, api/halos.cpp.
// What it tells: show/, of what show/shown.cpp finds, and of the latest CallPlan.
#pragma once

#include "jit/call/call_plans.hpp"

#include <atomic>
#include <memory>
#include <unordered_map>

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
class FoldBlocks;
struct FoldBlocksMade { // so far: fold_blocks.hpp
  support::Mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const FoldBlocks>> by_axis; // under the lock
};
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
  // `ms` is the time that was taken so far.
  KernelImpl(const LoopSpec &spec, spec::TypedSpec typed, const jit::MadeFor &made_for,
             double ms = 0)
      : nests_(spec, std::move(typed), made_for, ms) {}

  // Operands are what a call is given: inputs, then outputs; their number is right. Each throws
  // what Kernel::run does.
  void run(kernel::Operands call) const {
    if (jit::runtime::CallArena::now() != nullptr) [[unlikely]]
      if (!jit::has_workspace(*this, call)) return;
    if (setup().is_plain) [[likely]]
      return nests_.rest.run(call);
    if (setup().is_debugged()) return jit::run_checked(*this, call);
    const bool is_recorded = setup().compares && setup().engine != Engine::reference;
    is_recorded ? jit::run_recorded(*this, call, calls_) : run_unchecked(call, nullptr);
  }
  void run_unchecked(kernel::Operands call, const jit::LetWatch &watch) const;

  // A call that allocates its outputs. `operands` are the inputs, in declared order.
  Results call(std::vector<AnyView> operands, Order store = Order::none) const;
  // The layouts of such a call; the inputs may be without memory.
  kernel::Layouts allocated_layouts(std::span<const AnyView> inputs) const;

  const jit::Nests &nests() const { return nests_; }
  const jit::CallPlans &plans() const { return plans_; }
  jit::FoldBlocksMade &fold_blocks_made() const { return fold_blocks_made_; }
  const jit::Setup &setup() const { return nests_.rest.setup(); }
  const spec::TypedSpec &typed() const { return nests_.rest.typed(); }
  Counters counters() const; // those of all nests

private:
  const jit::Nests nests_;
  const jit::CallPlans plans_;
  mutable jit::CallCount calls_; // that BROADLOOM_VERIFY records
  mutable jit::FoldBlocksMade fold_blocks_made_;
};

} // namespace broadloom

// What a kernel is made of: the checked spec, the options, the target, and what follows from them.
// No call changes it, so that any number of threads read it without a lock.
#pragma once

#include "jit/gpu/device.hpp"
#include "jit/native/target.hpp"
#include "jit/runtime/threads.hpp"
#include "kernel/check.hpp"
#include "kernel/facts.hpp"
#include "kernel/windows.hpp"
#include "rewrite/scatters.hpp"
#include "support/machine.hpp"

#include <broadloom/kernel.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace broadloom::jit {

class BuiltCode; // cache/built_code.hpp

// What a kernel is made for, and all its nests with it.
struct MadeFor {
  Options options;
  std::optional<Target> target; // empty where no native code is wanted
  Profile profile = Profile::none;
  int threads = 1;
  std::shared_ptr<BuiltCode> built;    // of a kernel that was built ahead of time, or is being
  std::shared_ptr<gpu::Device> device; // that runs it, and has all arrays; null: this process
};

struct Setup : MadeFor {
  Setup(const LoopSpec &spec, spec::TypedSpec typed, const MadeFor &made_for);

  const LoopSpec spec;
  const std::optional<rewrite::Scatters> scatters;
  const spec::TypedSpec typed; // what the phases compute
  const kernel::Names names;
  const std::vector<std::vector<bool>> reads; // [output][input]
  struct Declared {
    DType dtype;
    int rank;
  };
  const std::vector<Declared> declared; // [operand]
  const std::size_t callers_inputs;
  const Engine engine;
  const bool compares; // with the interpreter: BROADLOOM_VERIFY, or Options::debug asks for it
  const bool verifies; // that, or calls run on guarded memory
  runtime::Workers &workers;
  const std::int64_t split_from_bytes; // or BROADLOOM_SPLIT
  const std::int64_t tile_rows;        // BROADLOOM_TILE_ROWS; -1: as it pays
  const bool has_windows;
  const bool has_lent;                  // shapes that outputs lend, or extents that are said
  const std::vector<std::size_t> facts; // the inputs that something is declared of
  const bool is_plain;                  // none of all these, no lets, and nothing is checked
  const std::vector<kernel::ByParts> by_parts;

  // As the definition has it.
  const spec::TypedSpec &whole() const { return scatters ? scatters->whole : typed; }
  // Whether the interpreter may run what has no native code.
  bool may_stand_in() const { return engine == Engine::automatic || engine == Engine::tiered; }
  // Whether calls may begin there while code is made.
  bool is_tiered() const;
  bool is_debugged() const { return options.debug != Debug::none; }
  bool asks(Debug what) const { return (options.debug & what) != Debug::none; }
  // Whether a call has so many operands, of which so many are inputs.
  bool takes(std::size_t inputs, std::size_t outputs) const {
    return inputs == callers_inputs && outputs == typed.outputs.size();
  }
  // Looks at the elements of parameters of which something is declared. A call does so by itself; a
  // bound one asks for it, as what it runs are the nests behind.
  void check_facts(kernel::Operands call) const {
    if (!facts.empty()) look_at_facts(call);
  }
  // Throws CompileError E0506 where the kernel runs on a device: "frozen parameters" are of the
  // host.
  void refuse_on_device(const char *what) const;
  // New memory where the kernel's arrays lie, whose elements are not set.
  Array array_of(DType dtype, const Layout &layout) const;

  // How a call sees its windows. The reference looks through them by itself.
  kernel::WindowRules windows() const;

  // What this call may use, by runtime::ThreadCap.
  runtime::Workers &workers_now() const {
    const int most = runtime::ThreadCap::now();
    return most == 0 || most >= threads ? workers : runtime::workers(most);
  }
  int threads_now() const {
    const int most = runtime::ThreadCap::now();
    return most == 0 ? threads : std::min(most, threads);
  }
  void stop_if_cancelled() const {
    if (runtime::is_cancelled(options.cancel.get())) [[unlikely]]
      fail_cancelled();
  }
  [[noreturn]] void fail_cancelled() const;
  // The target's core, with what this process may use of caches and threads.
  support::Machine machine(int threads) const;

private:
  void look_at_facts(kernel::Operands call) const;
};

// The number that an environment variable holds, else `usual`.
template <class Number> Number number_in(const char *name, Number usual);

} // namespace broadloom::jit

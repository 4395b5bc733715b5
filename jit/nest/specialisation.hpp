// What a kernel keeps for the layouts of a call.
//
//   Specialisation     one tuple of layouts: numbers, blocks, what to check about a call's pointers
//   Pattern   the loop program and its native code, shared by all layouts of a pattern
#pragma once

#include "jit/native/code.hpp"
#include "jit/native/profile.hpp"
#include "jit/native/target.hpp"
#include "jit/runtime/pipeline.hpp"
#include "jit/runtime/threads.hpp"
#include "kernel/operands.hpp"
#include "kernel/overlap.hpp"
#include "plan/plan.hpp"
#include "support/float_control.hpp"

#include <broadloom/kernel.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace broadloom::jit {

// What layouts are looked up for: a call, which may begin in the interpreter; a call whose code is
// to be there; or many calls, for which layouts have a pattern of their own.
enum class Use : std::uint8_t { Once, Ready, Often };

struct Pattern {
  loop::Program program;
  std::shared_ptr<const Code> code; // null: the interpreter runs the program
  std::string no_code;              // why there is none, where it was asked for
  enum class Origin : std::uint8_t { Process, Disk, Built, Made };
  Origin origin = Origin::
      Process;   // of the code: found in this process, on disk, in what was built, or made now
  double ms = 0; // that making it took, if it was made
};

class CodeBeside;

struct Specialisation {
  // What a call must look like.
  std::uint64_t hash = 0;
  std::vector<std::int64_t> key; // see layout_key
  struct Operand {
    kernel::Reach reach;
    std::uintptr_t misaligned = 0; // bits that must be 0 in the address
  };
  std::vector<Operand> operands;
  std::size_t input_count = 0;
  // [input * outputs + output]: harmless where both start at one address
  std::vector<std::uint8_t> exact;
  // All outputs are wanted, native code does everything, and needs no memory but theirs: see
  // Nest::run_again.
  bool is_direct = false;

  // What it runs, and why nothing faster does where a bug of ours is the reason.
  Engine engine = Engine::jit; // or Interpreter; or Reference, which needs nothing of what follows
  std::string failure;
  mutable std::atomic<bool> interpreter_failed{false}; // then the reference evaluates
  int threads = 1;                                     // that the plan is for
  plan::Generality generality = plan::Generality::Exact;
  mutable std::atomic<double> generic_ms{0}; // that calls by a generic plan took
  std::shared_ptr<CodeBeside> beside;        // of what is interpreted until it has code; else null
  std::shared_ptr<const Pattern> pattern;
  struct Source {
    std::int32_t operand = -1;   // or scratch:
    std::int64_t scratch_at = 0; // bytes from the start of the scratch block
  };
  std::vector<Source> buffers;
  std::size_t scratch_bytes = 0; // with the rows of all threads
  runtime::Rows rows;
  plan::Binding binding;
  struct Phase {
    PhaseFn code = nullptr;
    runtime::Grid grid;
    std::optional<runtime::PipelineCode> pipeline = {}; // runs this phase and the two after it
    std::optional<runtime::InterleavedCode> interleaved = {}; // runs this phase and later ones
    bool runs_before = false;                                 // with an earlier phase
  };
  std::vector<Phase> phases;
  // The same where native code runs all of them, each as one block, and nobody may cancel: there is
  // nothing to be asked between them. Else empty.
  struct Step {
    PhaseFn code = nullptr;
    const std::int64_t *lo = nullptr, *hi = nullptr; // of the grid
  };
  std::vector<Step> steps;

  // Another one takes its place sooner or later.
  bool stands_in() const { return beside || generality == plan::Generality::Generic; }
  // Whether a pattern of its own would have been made in the time that its calls have taken.
  bool deserves_exact() const {
    constexpr double usual_ms = 20;
    return generic_ms.load(std::memory_order_relaxed) > std::max(pattern->ms, usual_ms);
  }

  // What it tells.
  kernel::Layouts layouts;
  Decision found;     // whether the code was there
  double code_ms = 0; // that it took to have it
};

// All but the buffers.
inline loop::Frame frame_of(const Specialisation &special) {
  loop::Frame frame;
  frame.version = abi_version;
  frame.extents = special.binding.extents.data();
  frame.chunks = special.binding.chunks.data();
  frame.strides = special.binding.strides.data();
  return frame;
}

inline void run_steps(std::span<const Specialisation::Step> steps, const loop::Frame &frame) {
  const support::FloatControl control;
  for (const Specialisation::Step &step : steps) step.code(&frame, step.lo, step.hi);
}

} // namespace broadloom::jit

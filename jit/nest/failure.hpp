// Bugs of our own while a kernel is compiled: what is tried instead, and what is left for us to
// read.
//
//   a plan for several threads fails   a plan for one thread, then the reference
//   native code cannot be made         the interpreter runs the same program, and gives the same
//                                      bits
//   the interpreter fails, too         the reference; the outputs are untouched until one of them
//                                      has come to its end
//
// This holds for Engine::automatic, unless the environment variable BROADLOOM_STRICT is set (to
// other than 0), as in all
// tests: then, and where another engine was asked for, the InternalError goes to the caller. Each
// failure gives one line of the log, and a file with all that is needed to see it again.
#pragma once

#include "jit/nest/setup.hpp"

#include <broadloom/error.hpp>

#include <functional>
#include <string>

namespace broadloom::jit {

// Whether a slower engine takes over where a kernel meets a bug of ours.
bool may_fall_back(const Setup &setup);

// Runs `work`. What it throws by a bug of ours, be it InternalError or an exception of the standard
// library, comes out as an InternalError with an IR: that of `ir()` where it has none of its own.
void with_ir(const std::function<void()> &work, const std::function<std::string()> &ir);

// Logs the failure in one line, with what is done `instead` ("runs in the interpreter"), after its
// report is written to $XDG_STATE_HOME/broadloom (by default ~/.local/state/broadloom), or else to
// $TMPDIR/broadloom-UID (by default in /tmp). A report is named by what stands in it and never
// overwritten; a folder takes 50. Throws nothing: that there is no report is part of the line.
void tell(const Setup &setup, const InternalError &error, const std::string &instead,
          const kernel::Layouts &layouts);

// Where BROADLOOM_FAULT, a list with commas between, asks for a failure: how the tests come by
// bugs. Others let work go on, and go wrong: plans, or native code alone, that subtract where they
// should add, and a call that writes before an output.
enum class Fault { Plan, ParallelPlan, Emit, Interpret, WrongPlan, WrongCode, WriteBefore };
bool is_asked(Fault fault);
void fail_if_asked(Fault fault);
loop::Program made_wrong(loop::Program program);

} // namespace broadloom::jit

// Code that another thread makes while the interpreter runs the calls (Engine::tiered).
//
// Problem: making code takes milliseconds, and a call of a thousand elements microseconds.
// Method: the first call is interpreted, and no code is made: it may be the only one. The second
// one is interpreted, too, and has the code begun by a thread beside, which makes what is waiting
// in turn. The first call after that takes the code.
// Example: if (!beside.is_due()) interpret(); else code = beside.take();
//
// One thread makes all, and ends when nothing waits. A fork and the end of the process wait for it.
#pragma once

#include "jit/nest/find_code.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace broadloom::jit {

class CodeBeside : public std::enable_shared_from_this<CodeBeside> {
public:
  CodeBeside(const Setup &setup, loop::Program program, std::string key);

  // What is interpreted meanwhile.
  std::shared_ptr<const Pattern> pattern() const { return pattern_; }
  void note_run() { has_run_.store(true, std::memory_order_relaxed); }

  // Whether the call is to have its code: it is made, or nobody can make it beside. Asked after a
  // run for the first time, it has that begun.
  bool is_due();
  // What was made, waiting for what is being made; nothing where it was not begun, has failed, or
  // was taken: then the caller makes it, and hears why it fails.
  std::optional<FoundCode> take();

private:
  friend class CodeMaker;
  enum State : std::uint32_t { idle, waiting, being_made, made, taken };
  void make(); // on the thread beside

  const MadeFor made_for_;
  const std::string kernel_, key_;
  const std::shared_ptr<const Pattern> pattern_;
  std::atomic<bool> has_run_{false};
  std::atomic<State> state_{idle};
  std::optional<FoundCode> found_; // of whoever has brought `state_` to being_made or taken
};

} // namespace broadloom::jit

// See backend.hpp.
#include "jit/native/backend.hpp"

#include "jit/native/on_threads.hpp"
#include "support/end.hpp"
#include "support/log.hpp"
#include "support/undivided.hpp"

#include <atomic>
#include <exception>

namespace broadloom::jit {
namespace {

void start(const Target &target) {
  try {
    backend().start(target);
  } catch (const std::exception &error) { // whoever compiles says so
    support::log().debug("nothing is started beforehand: {}", error.what());
  }
}

} // namespace

void start_backend(const Target &target, int threads) {
  static std::atomic<bool> begun{false};
  if (support::end_has_begun() || begun.exchange(true)) return;
  if (may_go_beside(threads)) Beside([target] { start(target); }).leave();
}

} // namespace broadloom::jit

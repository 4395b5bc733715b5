// See backend.hpp.
#include "jit/native/backend.hpp"

#include "jit/native/on_threads.hpp"
#include "support/end.hpp"
#include "support/log.hpp"
#include "support/undivided.hpp"

#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace broadloom::jit {
namespace {

void start(const Target &target) {
  try {
    backend().start(target);
  } catch (const std::exception &error) { // whoever compiles says so
    support::log().debug("nothing is started beforehand: {}", error.what());
  }
}

struct Started { // never destroyed
  support::Mutex mutex;
  bool begun = false;
  std::optional<Beside> thread;
};

} // namespace

void start_backend(const Target &target, int threads) {
  static Started &started = *new Started;
  const std::lock_guard lock(started.mutex);
  if (started.begun || support::end_has_begun()) return;
  started.begun = true;
  if (threads < 2 || std::thread::hardware_concurrency() < 2) return;
  started.thread.emplace([target] { start(target); });
  started.thread->leave();
}

} // namespace broadloom::jit

// See apart.hpp.
#include "tools/broadloom/repl/apart.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace broadloom::cli {

namespace {

using namespace std::chrono_literals;
constexpr auto glance = 5ms, moment = 30ms;

std::atomic<int> running{0}; // works, those left behind too

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr thrown;
};

} // namespace

bool run_apart(std::function<void()> work, const CancelFlag &cancel) {
  if (!cancel) {
    work();
    return true;
  }
  const auto state = std::make_shared<State>();
  ++running;
  std::thread([state, work = std::move(work)]() mutable {
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) { // rethrown on the thread that waits
      thrown = std::current_exception();
    }
    work = nullptr; // what it owns goes before anyone is told
    --running;
    const std::lock_guard lock(state->mutex);
    state->thrown = thrown;
    state->done = true;
    state->changed.notify_one();
  }).detach();

  std::unique_lock lock(state->mutex);
  const auto done = [&] { return state->done; };
  while (!state->changed.wait_for(lock, glance, done))
    if (*cancel) {
      if (state->changed.wait_for(lock, moment, done)) break;
      return false;
    }
  if (state->thrown) std::rethrow_exception(state->thrown);
  return true;
}

bool left_behind() { return running > 0; }

} // namespace broadloom::cli

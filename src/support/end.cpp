// See end.hpp.
#include "support/end.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace broadloom::support {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<int> users{0}; // of LLVM: values of BeforeEnd that hold
std::atomic<pid_t> ender{
    0}; // the thread that ends the process; the main one may have ended itself only
std::atomic<Clock::rep> began{0};
thread_local constinit int own = 0;            // of `users`
thread_local constinit bool ends_here = false; // this thread has begun the end

// The heaviest kernels compile for some fifty seconds.
constexpr std::chrono::seconds patience{60};
// So soon after its thread-local objects are gone a main thread that leaves by pthread_exit is
// dead.
constexpr std::chrono::milliseconds until_dead{200};

void begin_end(bool may_be_thread_only) {
  if (ends_here) return;
  pid_t nobody = 0;
  began.store(Clock::now().time_since_epoch().count());
  if (!may_be_thread_only)
    ender.store(gettid()); // a main thread that has ended itself may stand there
  else if (!ender.compare_exchange_strong(nobody, gettid()))
    return;
  ends_here = true;
  const auto end = Clock::now() + patience;
  while (users.load() > own && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

struct EndOfMain {
  ~EndOfMain() { begin_end(true); }
};

// A main thread that has left by pthread_exit is a zombie as long as the others live. Where nothing
// can be read of it, it may live.
bool is_zombie(pid_t thread) {
  char text[512];
  std::snprintf(text, sizeof text, "/proc/self/task/%d/stat", int(thread));
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text);
  if (file >= 0) close(file);
  const std::string_view stat(text, std::size_t(std::max<ssize_t>(size, 0)));
  const std::size_t name_ends = stat.rfind(')'); // 123 (name) S ..
  return name_ends != stat.npos && stat.substr(name_ends).starts_with(") Z");
}

// Whether whoever began the end has ended itself only, after all.
bool is_no_end(pid_t thread) {
  if (thread != getpid() || thread == gettid()) return false;
  for (;;) {
    if (is_zombie(thread)) {
      ender.compare_exchange_strong(thread, 0);
      return true;
    }
    const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(began.load());
    if (since > until_dead) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// As the library is loaded; LLVM, where it is linked, was before.
__attribute__((constructor)) void begin_to_watch() { watch_end(); }

} // namespace

BeforeEnd::BeforeEnd() noexcept {
  static const bool is_watched = (watch_end(), true);
  (void)is_watched;
  for (;;) { // whoever comes and whoever ends see each other, one of them at least
    users.fetch_add(1);
    const pid_t thread = ender.load();
    if (thread == 0) break;
    users.fetch_sub(1);
    if (!is_no_end(thread)) return;
  }
  holds_ = true;
  ++own;
}

BeforeEnd::~BeforeEnd() {
  if (!holds_) return;
  --own;
  users.fetch_sub(1);
}

bool end_has_begun() { return ender.load(std::memory_order_relaxed) != 0; }

void watch_end() {
  if (gettid() == getpid()) {
    thread_local const EndOfMain end;
    (void)end;
  }
  // Handlers cannot be taken back: the more there are, the less often one is added.
  static std::atomic<unsigned> times{0};
  const unsigned time = times.fetch_add(1) + 1;
  if (time <= 64 || (time & (time - 1)) == 0) (void)std::atexit([] { begin_end(false); });
}

void watch_end_in_child() {
  users.store(own);
  ender.store(ends_here ? gettid() : 0);
  watch_end();
}

} // namespace broadloom::support

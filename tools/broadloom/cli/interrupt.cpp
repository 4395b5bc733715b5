// The handler does nothing but what a signal handler may: read and set flags, write to a
// descriptor, or end the process.
#include "tools/broadloom/cli/interrupt.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>
#include <vector>

namespace broadloom::cli {

namespace {

constexpr int patience = 3;

std::atomic<int> held{0}, held_always{0}, presses{0};

// The handler sees the flag by its address. Never freed: a signal may come at exit.
using Flag = std::shared_ptr<std::atomic<bool>>;
Flag &flag() {
  static Flag &flag = *new Flag(std::make_shared<std::atomic<bool>>(false));
  return flag;
}
std::atomic<std::atomic<bool> *> came{nullptr};
std::atomic<int> event{-1};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<void *>::is_always_lock_free);

void on_interrupt(int) {
  const int error = errno;
  const bool again = presses.fetch_add(1) + 1 >= patience;
  if (held == 0 || (held_always == 0 && again)) _exit(interrupted_status);
  if (std::atomic<bool> *const note = came) *note = true;
  const std::uint64_t one = 1;
  if (event >= 0) (void)!::write(event, &one, sizeof one);
  errno = error;
}

} // namespace

void install_interrupt() {
  struct sigaction action{};
  if (sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  came = flag().get();
  event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

HoldInterrupt::HoldInterrupt(Kind kind) : kind_(kind) {
  if (kind_ == Always) ++held_always;
  ++held;
}
HoldInterrupt::~HoldInterrupt() {
  --held;
  if (kind_ == Always) --held_always;
}

bool interrupted() { return *flag(); }

void clear_interrupt() {
  std::uint64_t count = 0;
  if (event >= 0) (void)!read(event, &count, sizeof count);
  *flag() = false;
  presses = 0;
}

std::shared_ptr<const std::atomic<bool>> interrupt_flag() { return flag(); }

void renew_interrupt_flag() {
  static auto &old = *new std::vector<Flag>; // the handler may hold its address
  old.push_back(flag());
  *flag() = true;
  flag() = std::make_shared<std::atomic<bool>>(false);
  if (came != nullptr) came = flag().get();
}

int interrupt_descriptor() { return event; }

} // namespace broadloom::cli

// The handler does nothing but what a signal handler may: read and set flags, or end the process.
#include "tools/repl/interrupt.hpp"

#include <csignal>
#include <unistd.h>

namespace broadloom::cli {

namespace {

volatile std::sig_atomic_t held = 0, came = 0;

void on_interrupt(int) {
  if (!held) _exit(interrupted_status);
  came = 1;
}

} // namespace

void install_interrupt() {
  struct sigaction action{};
  if (sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

HoldInterrupt::HoldInterrupt() { held = 1; }
HoldInterrupt::~HoldInterrupt() { held = 0; }

bool interrupted() { return came != 0; }

} // namespace broadloom::cli

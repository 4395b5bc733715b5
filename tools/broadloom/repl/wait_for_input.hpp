// Waiting for a key or for Ctrl-C, whichever comes first.
#pragma once

#include "tools/broadloom/cli/interrupt.hpp"

#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace broadloom::cli {

enum class Waited { Ready, Interrupted };

// Ready at the end of standard input, too.
inline Waited wait_for_input() {
  pollfd waiting[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_descriptor(), POLLIN, 0}};
  while (poll(waiting, 2, -1) < 0 && errno == EINTR) {
  }
  return interrupted() ? Waited::Interrupted : Waited::Ready;
}

} // namespace broadloom::cli

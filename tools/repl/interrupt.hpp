// Ctrl-C: the program ends with status 130, and never between two files that belong together.
#pragma once

namespace broadloom::cli {

// From now on SIGINT ends the process, unless it is ignored already (nohup, a background job).
void install_interrupt();

// While one of these lives, SIGINT is only noted; `interrupted` tells.
class HoldInterrupt {
public:
  HoldInterrupt();
  ~HoldInterrupt();
  HoldInterrupt(const HoldInterrupt &) = delete;
  HoldInterrupt &operator=(const HoldInterrupt &) = delete;
};
bool interrupted();

struct Interrupted {}; // thrown to unwind, so that temporary files are removed

inline constexpr int interrupted_status = 130;

} // namespace broadloom::cli

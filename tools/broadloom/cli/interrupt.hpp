// Ctrl-C: the program ends with status 130, and never between two files that belong together. In
// the REPL it stops what runs, and the session goes on.
#pragma once

#include <atomic>
#include <memory>

namespace broadloom::cli {

// From now on SIGINT ends the process, unless it is ignored already (nohup, a background job).
void install_interrupt();

// While one of these lives, SIGINT is only noted; `interrupted` tells. Where all that live are of
// the kind `UntilThird`, the third SIGINT since `clear_interrupt` ends the process all the same.
class HoldInterrupt {
public:
  enum Kind { Always, UntilThird };
  explicit HoldInterrupt(Kind kind = Always);
  ~HoldInterrupt();
  HoldInterrupt(const HoldInterrupt &) = delete;
  HoldInterrupt &operator=(const HoldInterrupt &) = delete;

private:
  Kind kind_;
};
bool interrupted();

// What was noted is forgotten.
void clear_interrupt();

// The same note as a flag, for Options::cancel. `renew_interrupt_flag` makes another one, and
// leaves the old one true for good: for work that nobody waits for any more.
std::shared_ptr<const std::atomic<bool>> interrupt_flag();
void renew_interrupt_flag();

// Readable (poll) once a SIGINT has been noted, until `clear_interrupt`; -1 where the system has
// none.
int interrupt_descriptor();

struct Interrupted {}; // thrown to unwind, so that temporary files are removed

inline constexpr int interrupted_status = 130;

} // namespace broadloom::cli

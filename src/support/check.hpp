// Our own mistakes. A user's mistake is a broadloom::Error; a broken invariant is `bug(...)`.
//
// A bug throws InternalError with the IR at hand in its text: the library never exits or prints, and
// the command line turns it into exit status 70.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace broadloom::support {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

// `what` says which invariant broke; `ir` is the printed IR, if there is one.
[[noreturn]] void bug(const std::string &what, const std::string &ir = {},
                      std::source_location where = std::source_location::current());

// Stops with `what` unless `holds`.
inline void check(bool holds, const char *what,
                  std::source_location where = std::source_location::current()) {
  if (!holds) bug(what, {}, where);
}

} // namespace broadloom::support

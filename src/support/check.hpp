// Our own mistakes: a broken invariant is `bug(...)`, which throws broadloom::InternalError with
// the IR at hand. A user's mistake is any other broadloom::Error.
//
// The library never exits or prints; the command line turns a bug into exit status 70.
#pragma once

#include <broadloom/error.hpp>

#include <source_location>
#include <string>

namespace broadloom::support {

using broadloom::InternalError;

// `what` says which invariant broke; `ir` is the printed IR, if there is one.
[[noreturn]] void bug(const std::string &what, const std::string &ir = {},
                      std::source_location where = std::source_location::current());

// Stops with `what` unless `holds`.
inline void check(bool holds, const char *what,
                  std::source_location where = std::source_location::current()) {
  if (!holds) bug(what, {}, where);
}

} // namespace broadloom::support

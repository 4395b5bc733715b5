// The one seam to spdlog: what the compiler decides, for whoever wants to watch.
//
// Nothing is logged on the way of a call that finds its code ready. The level comes from the
// environment variable BROADLOOM_LOG (spdlog's names: trace, debug, info, warn, error, critical,
// off) and is `warn` where that is unset or unknown; all goes to stderr, without colours where
// NO_COLOR is set or stderr is no terminal.
//
// Example:  support::log().debug("compiled {} in {:.2f} ms", pattern, ms);
#pragma once

#include <spdlog/logger.h>

namespace broadloom::support {

spdlog::logger &log();

// Whether what is said to `log().debug` shows. To be asked where a new process comes by on its way
// to its first kernel: the logger, with what it needs of spdlog and of the terminal, is then not
// made for what nobody reads.
bool logs_debug();

} // namespace broadloom::support

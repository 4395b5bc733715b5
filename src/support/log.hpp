// The one seam to spdlog: what the compiler decides, for whoever wants to watch.
//
// Nothing is logged on the way of a call that finds its code ready. The level comes from the
// environment variable BROADLOOM_LOG (spdlog's names: trace, debug, info, warn, error, critical, off)
// and is `warn` where that is unset or unknown; all goes to stderr, without colours where NO_COLOR is
// set or stderr is no terminal.
//
// Example:  support::log().debug("compiled {} in {:.2f} ms", pattern, ms);
#pragma once

#include <spdlog/logger.h>

namespace broadloom::support {

spdlog::logger &log();

} // namespace broadloom::support

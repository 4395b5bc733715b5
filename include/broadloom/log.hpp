// The place where the library's messages go.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace broadloom {

enum class LogLevel { trace, debug, info, warn, error, critical, off };

using LogSink = std::function<void(LogLevel, std::string_view)>;

// Messages go to `sink` instead of stderr, and to stderr again where it is empty. The thread that
// has something to say calls the sink, one at a time. A sink must not throw or call the library.
void set_log_sink(LogSink sink);

// Messages below this level are not said. The level begins as BROADLOOM_LOG says, else as `warn`.
void set_log_level(LogLevel level);
LogLevel log_level();

} // namespace broadloom

// Where the library's messages go.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace broadloom {

enum class LogLevel { trace, debug, info, warn, error, critical, off };

using LogSink = std::function<void(LogLevel, std::string_view)>;

// Messages go to `sink` instead of stderr, and to stderr again where it is empty. It is called by the thread that has something to
// say, one at a time, and must not throw or call the library.
void set_log_sink(LogSink sink);

// What is below this level is not said. It begins as BROADLOOM_LOG says, else as `warn`.
void set_log_level(LogLevel level);
LogLevel log_level();

} // namespace broadloom

// See log.hpp.
#include "support/log.hpp"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/sinks/stdout_color_sinks.h>

namespace broadloom::support {

namespace {

bool is_set(const char *variable) {
  const char *value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

spdlog::level::level_enum level_from_environment() {
  const std::string_view wanted = is_set("BROADLOOM_LOG") ? std::getenv("BROADLOOM_LOG") : "warn";
  const spdlog::level::level_enum level = spdlog::level::from_str(std::string(wanted));
  // spdlog takes a name that it does not know for `off`, which would hide warnings over a typing slip.
  return level == spdlog::level::off && wanted != "off" ? spdlog::level::warn : level;
}

spdlog::logger *make_logger() {
  const auto colours =
      is_set("NO_COLOR") ? spdlog::color_mode::never : spdlog::color_mode::automatic;
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours);
  auto logger = std::make_unique<spdlog::logger>("broadloom", std::move(sink));
  logger->set_level(level_from_environment());
  logger->set_pattern("broadloom: %^%l%$: %v");
  return logger.release();
}

} // namespace

spdlog::logger &log() {
  // Never freed: kernels may still log while the program's own globals are being destroyed.
  static spdlog::logger *const logger = make_logger();
  return *logger;
}

} // namespace broadloom::support

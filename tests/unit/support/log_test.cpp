// Messages go where set_log_sink says.
#include "support/log.hpp"

#include <broadloom/log.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace broadloom;

TEST_CASE("messages go to the sink that is set, from the level on that is set") {
  std::vector<std::pair<LogLevel, std::string>> said;
  const LogLevel before = log_level();
  set_log_sink([&said](LogLevel level, std::string_view text) {
    said.emplace_back(level, std::string(text));
  });
  set_log_level(LogLevel::info);
  support::log().debug("not said");
  support::log().info("{} of {}", 1, 2);
  set_log_level(LogLevel::off);
  support::log().critical("not said either");
  set_log_level(LogLevel::trace);
  CHECK(log_level() == LogLevel::trace);
  support::log().trace("all is");
  set_log_level(before);
  set_log_sink({});
  CHECK(said == std::vector<std::pair<LogLevel, std::string>>{{LogLevel::info, "1 of 2"},
                                                              {LogLevel::trace, "all is"}});
}

TEST_CASE("whether debugging messages show follows the level that is set") {
  const LogLevel before = log_level();
  for (const auto &[level, shows] : {std::pair(LogLevel::trace, true),
                                     {LogLevel::debug, true},
                                     {LogLevel::info, false},
                                     {LogLevel::off, false}}) {
    set_log_level(level);
    CHECK(support::logs_debug() == shows);
  }
  set_log_level(before);
}

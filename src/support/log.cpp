// See log.hpp.
#include "support/log.hpp"

#include "support/text.hpp"
#include "support/undivided.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <broadloom/log.hpp>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace broadloom::support {

namespace {

bool is_set(const char *variable) {
  const char *value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// stderr, or what set_log_sink was given: the one place where spdlog asks for a derived class.
class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
public:
  Sink() {
    const auto colours =
        is_set("NO_COLOR") ? spdlog::color_mode::never : spdlog::color_mode::automatic;
    stderr_ = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours);
    stderr_->set_pattern("broadloom: %^%l%$: %v");
  }

  void redirect(LogSink sink) {
    const std::lock_guard lock(lock_);
    sink_ = std::move(sink);
  }

private:
  void sink_it_(const spdlog::details::log_msg &message) override {
    const std::lock_guard lock(lock_);
    const std::string text = printable({message.payload.data(), message.payload.size()});
    spdlog::details::log_msg shown = message;
    shown.payload = text;
    if (sink_)
      sink_(LogLevel(message.level), text);
    else
      stderr_->log(shown);
  }
  void flush_() override { stderr_->flush(); }

  Mutex lock_; // spdlog's own would stay locked in a child of fork
  LogSink sink_;
  std::shared_ptr<spdlog::sinks::sink> stderr_;
};

const std::shared_ptr<Sink> &sink() {
  // Never freed, as the logger below.
  static const auto *const made = new std::shared_ptr<Sink>(std::make_shared<Sink>());
  return *made;
}

std::atomic<bool> is_made{false}; // the logger, whose level may be another than the environment's

spdlog::logger *make_logger() {
  auto logger = std::make_unique<spdlog::logger>("broadloom", sink());
  const std::string asked = is_set("BROADLOOM_LOG") ? std::getenv("BROADLOOM_LOG") : "warn";
  const spdlog::level::level_enum level = spdlog::level::from_str(asked);
  // spdlog takes a name that it does not know for `off`, which would hide warnings over a typing
  // slip.
  const bool is_known = level != spdlog::level::off || asked == "off";
  logger->set_level(is_known ? level : spdlog::level::warn);
  if (!is_known)
    logger->warn("BROADLOOM_LOG is '{}': write trace, debug, info, warn, error, critical or off",
                 asked);
  is_made = true;
  return logger.release();
}

} // namespace

spdlog::logger &log() {
  // Never freed: kernels may still log while the program's own globals are being destroyed.
  static spdlog::logger *const logger = make_logger();
  return *logger;
}

bool logs_debug() {
  if (!is_made && !is_set("BROADLOOM_LOG")) return false; // the level is `warn`
  return log().should_log(spdlog::level::debug);
}

} // namespace broadloom::support

namespace broadloom {

// The levels are spdlog's, in its order.
static_assert(int(LogLevel::trace) == SPDLOG_LEVEL_TRACE && int(LogLevel::off) == SPDLOG_LEVEL_OFF);

void set_log_sink(LogSink sink) {
  support::log(); // which reads BROADLOOM_LOG
  support::sink()->redirect(std::move(sink));
}

void set_log_level(LogLevel level) { support::log().set_level(spdlog::level::level_enum(level)); }

LogLevel log_level() { return LogLevel(support::log().level()); }

} // namespace broadloom

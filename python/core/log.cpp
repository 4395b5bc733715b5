#include "log.hpp"

#include <nanobind/nanobind.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace broadloom::python {
namespace {

namespace nb = nanobind;

struct Message {
  LogLevel level;
  std::string text;
};

std::mutex mutex;
std::vector<Message> queued;
bool asked = false;          // the main thread has been asked to hand over
bool goes_to_python = false; // else to stderr
std::set<std::string> said_once;

// Python's numbers: `debug` is 10.
int number_of(LogLevel level) { return level == LogLevel::trace ? 5 : 10 * int(level); }

int hand_over(void *) {
  hand_over_messages();
  return 0;
}

void take(LogLevel level, std::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex);
  queued.push_back({level, std::string(text)});
  if (!asked) asked = Py_AddPendingCall(hand_over, nullptr) == 0;
}

} // namespace

void hand_over_messages() {
  std::vector<Message> messages;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    messages.swap(queued);
    asked = false;
  }
  for (const Message &message : messages) {
    try {
      nb::module_::import_("broadloom")
          .attr("_log")(number_of(message.level),
                        nb::str(message.text.data(), message.text.size()));
    } catch (nb::python_error &error) {
      error.discard_as_unraisable("a message of broadloom");
    }
  }
}

void say_once(LogLevel level, const std::string &text) {
  constexpr std::size_t most = 1000;
  if (level < log_level()) return;
  bool python = false;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (said_once.size() >= most || !said_once.insert(text).second) return;
    python = goes_to_python;
  }
  if (python)
    take(level, text);
  else
    std::fprintf(stderr, "broadloom: %s\n", text.c_str());
}

void send_messages_to_python() {
  const char *said = std::getenv("BROADLOOM_LOG");
  goes_to_python = said == nullptr || *said == '\0';
  if (goes_to_python) set_log_sink(take);
}

void send_messages_to_stderr() {
  set_log_sink({});
  goes_to_python = false;
  hand_over_messages();
}

} // namespace broadloom::python

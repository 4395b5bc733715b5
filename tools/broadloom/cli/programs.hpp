// Other programs of the machine.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

// Where a program of this name lies, by PATH; in no folder that PATH names in relation to the
// current one.
std::optional<std::string> find_program(const std::string &name);

// All that the reader takes: it may end before.
void write_all(int descriptor, std::string_view text);

// What the program prints when it is given this text, where it ends well and in time. One that does
// not is ended.
std::optional<std::string> answer_of(std::vector<std::string> words, std::string_view text,
                                     std::chrono::milliseconds limit);

// A reader that has gone leaves a pipe that nobody reads: no signal, but an error.
class IgnorePipeSignal {
public:
  IgnorePipeSignal() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnorePipeSignal() { std::signal(SIGPIPE, before_); }
  IgnorePipeSignal(const IgnorePipeSignal &) = delete;
  IgnorePipeSignal &operator=(const IgnorePipeSignal &) = delete;

private:
  void (*before_)(int);
};

} // namespace broadloom::cli

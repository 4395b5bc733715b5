// See pager.hpp.
#include "tools/broadloom/repl/pager.hpp"

#include "tools/broadloom/cli/interrupt.hpp"
#include "tools/broadloom/cli/terminal_info.hpp"
#include "tools/broadloom/repl/fit.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace broadloom::cli {

namespace {

bool is_on_path(const std::string &program) {
  const char *path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (access((std::filesystem::path(rest.substr(0, end)) / program).c_str(), X_OK) == 0)
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// All that the reader takes: it may end before.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(std::size_t(count));
  }
}

// A pager that has gone leaves a pipe that nobody reads: no signal, but an error.
class IgnorePipeSignal {
public:
  IgnorePipeSignal() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnorePipeSignal() { std::signal(SIGPIPE, before_); }
  IgnorePipeSignal(const IgnorePipeSignal &) = delete;
  IgnorePipeSignal &operator=(const IgnorePipeSignal &) = delete;

private:
  void (*before_)(int);
};

// The environment, in which `less` without options of its own keeps colours, and ends at once for what fits.
std::vector<char *> environment_for_less() {
  static char options[] = "LESS=FRX";
  std::vector<char *> all;
  for (char **entry = environ; *entry != nullptr; ++entry) all.push_back(*entry);
  if (std::getenv("LESS") == nullptr) all.push_back(options);
  all.push_back(nullptr);
  return all;
}

// The exit status of a shell's command line that reads the text; 127 where it cannot be run.
int run_with_input(const std::string &command, std::string_view text) {
  constexpr int cannot_be_run = 127;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return cannot_be_run;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  std::string shell = "sh", option = "-c", line = command;
  char *words[] = {shell.data(), option.data(), line.data(), nullptr};
  pid_t child = -1;
  const int error =
      posix_spawn(&child, "/bin/sh", &actions, nullptr, words, environment_for_less().data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  if (error == 0) {
    const IgnorePipeSignal ignore;
    write_all(ends[1], text);
  }
  close(ends[1]);
  if (error != 0) return cannot_be_run;
  const HoldInterrupt hold; // Ctrl-C is the pager's
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  clear_interrupt();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

} // namespace

std::optional<std::string> pager_command() {
  if (is_dumb_terminal()) return std::nullopt;
  for (const char *variable : {"BROADLOOM_PAGER", "PAGER"})
    if (const char *command = std::getenv(variable))
      return *command != '\0' ? std::optional<std::string>(command) : std::nullopt;
  return is_on_path("less") ? std::optional<std::string>("less -FRX") : std::nullopt;
}

void show_paged(std::string_view text) {
  const TerminalSize size = terminal_size();
  if (rows_of(text, size.columns) >= size.rows) {
    std::cout.flush();
    if (const auto pager = pager_command(); pager && run_with_input(*pager, text) != 127) return;
  }
  std::cout << text << std::flush;
}

} // namespace broadloom::cli

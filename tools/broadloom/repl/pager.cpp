// See pager.hpp.
#include "tools/broadloom/repl/pager.hpp"

#include "tools/broadloom/cli/interrupt.hpp"
#include "tools/broadloom/cli/programs.hpp"
#include "tools/broadloom/cli/terminal_info.hpp"
#include "tools/broadloom/repl/fit.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace broadloom::cli {

namespace {

// The environment, in which `less` without options of its own keeps colours, and ends at once for
// what fits.
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
  return find_program("less") ? std::optional<std::string>("less -FRX") : std::nullopt;
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

// The program as a person meets it: behind a pseudo-terminal, key by key.
#pragma once

#include "tests/places.hpp"
#include "tests/repl/screen.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

inline constexpr int patience_s = 60; // for what takes milliseconds on an idle machine

using Environment = std::vector<std::pair<const char *, const char *>>;

class Person {
public:
  explicit Person(const TempFolder &folder, bool color = false, const Environment &more = {},
                  const char *file = nullptr)
      : screen_(columns) {
    winsize size{};
    size.ws_row = 40;
    size.ws_col = columns;
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) {
      REQUIRE(sees_last(".help\n>"));
      return;
    }
    signal(SIGINT, SIG_DFL); // a background job of a shell ignores it
    setenv("TERM", "xterm-256color", 1);
    setenv("XDG_STATE_HOME", folder.path.c_str(), 1);
    setenv("INPUTRC", "/dev/null", 1);
    setenv("BROADLOOM_THREADS", "2", 1);
    color ? unsetenv("NO_COLOR") : setenv("NO_COLOR", "1", 1);
    setenv("BROADLOOM_PAGER", "", 1);
    setenv("HOME", folder.path.c_str(), 1);
    for (const auto &[name, value] : more) setenv(name, value, 1);
    if (chdir(folder.path.c_str()) == 0) execl(BROADLOOM_PROGRAM, "broadloom", file, nullptr);
    _exit(127);
  }
  ~Person() {
    if (pid_ > 0 && !status_) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
    close(terminal_);
  }
  Person(const Person &) = delete;
  Person &operator=(const Person &) = delete;

  void types(const std::string &keys) {
    REQUIRE(write(terminal_, keys.data(), keys.size()) == ssize_t(keys.size()));
  }
  // Waits until the screen ends with this, and then stays so for a moment.
  bool sees_last(const std::string &end) {
    return waits([&] {
      std::string text = screen_.text();
      text.erase(text.find_last_not_of(" \n") + 1);
      return text.ends_with(end);
    });
  }
  bool sees(const std::string &part) {
    return waits([&] { return screen_.text().find(part) != std::string::npos; });
  }
  bool got(const std::string &bytes) { // escapes and all
    return waits([&] { return raw_.find(bytes) != std::string::npos; });
  }
  // The exit status, once the program has ended by itself.
  int leaves() {
    while (read_some()) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return *status_;
  }
  std::string screen() const { return screen_.text(); }
  const std::string &bytes() const { return raw_; }
  int row() const { return screen_.row(); }
  int column() const { return screen_.column(); }

  static constexpr int columns = 60;

private:
  bool read_some(int wait_ms = patience_s * 1000) {
    pollfd waiting{terminal_, POLLIN, 0};
    if (poll(&waiting, 1, wait_ms) <= 0) return false;
    char bytes[4096];
    const ssize_t count = read(terminal_, bytes, sizeof bytes); // fails once the program has gone
    if (count <= 0) return false;
    raw_.append(bytes, std::size_t(count));
    screen_.send({bytes, std::size_t(count)});
    return true;
  }
  template <class Condition> bool waits(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(patience_s);
    while (std::chrono::steady_clock::now() < end) {
      if (holds() && !read_some(30)) return true;
      if (!holds() && !read_some()) break;
    }
    MESSAGE("the screen is\n" << screen_.text());
    return false;
  }

  int terminal_ = -1;
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::string raw_;
  Screen screen_;
};

#ifdef BROADLOOM_READLINE
inline constexpr bool no_readline = false;
#else
inline constexpr bool no_readline = true; // a plain prompt: no history, completion, colours
#endif

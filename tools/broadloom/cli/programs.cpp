// See programs.hpp.
#include "tools/broadloom/cli/programs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace broadloom::cli {

std::optional<std::string> find_program(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, end)) + "/" + name;
    if (end > 0 && rest[0] == '/' && access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(std::size_t(count));
  }
}

namespace {

using Clock = std::chrono::steady_clock;

// Two ends, which other programs do not inherit.
class Pipe {
public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
  }
  ~Pipe() { close_end(0), close_end(1); }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;

  bool good() const { return ends_[0] >= 0; }
  int reads() const { return ends_[0]; }
  int writes() const { return ends_[1]; }
  void close_end(int end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }

private:
  int ends_[2];
};

// The process, or -1.
pid_t start(std::vector<std::string> &words, const Pipe &in, const Pipe &out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.reads(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.writes(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char *> list;
  for (std::string &word : words) list.push_back(word.data());
  list.push_back(nullptr);
  pid_t child = -1;
  if (posix_spawn(&child, list[0], &actions, nullptr, list.data(), environ) != 0) child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

// Gives the text and takes the answer, as both sides are ready. Whether all came in time.
bool exchange(Pipe &in, Pipe &out, std::string_view text, Clock::time_point end,
              std::string &answer) {
  fcntl(in.writes(), F_SETFL, O_NONBLOCK);
  while (true) {
    if (text.empty()) in.close_end(1);
    pollfd waiting[] = {{out.reads(), POLLIN, 0}, {in.writes(), POLLOUT, 0}}; // -1 is passed over
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    if (poll(waiting, 2, int(left)) < 0 && errno != EINTR) return false;
    if (waiting[1].revents != 0) {
      const ssize_t count = ::write(in.writes(), text.data(), text.size());
      if (count < 0 && errno != EINTR && errno != EAGAIN) text = {};
      if (count > 0) text.remove_prefix(std::size_t(count));
    }
    if (waiting[0].revents == 0) continue;
    char bytes[4096];
    const ssize_t count = read(out.reads(), bytes, sizeof bytes);
    if (count == 0) return true;
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) answer.append(bytes, std::size_t(count));
  }
}

// The status of a process, which may live until then and no longer.
int end_of(pid_t child, Clock::time_point until) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && Clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (ended != 0) return status;
  kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

} // namespace

std::optional<std::string> answer_of(std::vector<std::string> words, std::string_view text,
                                     std::chrono::milliseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  Pipe in, out;
  if (!in.good() || !out.good()) return std::nullopt;
  const pid_t child = start(words, in, out);
  if (child < 0) return std::nullopt;
  in.close_end(0);
  out.close_end(1);
  std::string answer;
  const IgnorePipeSignal ignore;
  const bool all = exchange(in, out, text, end, answer);
  const int status = end_of(child, all ? end : Clock::now());
  const bool good = all && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return good ? std::optional(std::move(answer)) : std::nullopt;
}

} // namespace broadloom::cli

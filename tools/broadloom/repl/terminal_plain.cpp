// See terminal.hpp: a prompt, and the terminal's own editing.
#include "tools/broadloom/repl/terminal.hpp"

#include "tools/broadloom/repl/wait_for_input.hpp"

#include <cstdio>
#include <unistd.h>

namespace broadloom::cli {

class Terminal::State {
public:
  std::string pending; // read, but not yet asked for
};

Terminal::Terminal(TerminalHooks, bool) : state_(std::make_unique<State>()) {}
Terminal::~Terminal() = default;

Line Terminal::read(const std::string &prompt) {
  std::string &pending = state_->pending;
  std::fputs(prompt.c_str(), stdout);
  std::fflush(stdout);
  while (pending.find('\n') == pending.npos) {
    if (wait_for_input() == Waited::Interrupted) {
      pending.clear();
      std::fputs("\n", stdout);
      return {Line::Cancelled, ""};
    }
    char bytes[4096];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count <= 0) return {Line::End, ""};
    pending.append(bytes, std::size_t(count));
  }
  const std::size_t end = pending.find('\n');
  Line line{Line::Text, pending.substr(0, end)};
  pending.erase(0, end + 1);
  return line;
}

void Terminal::remember(const std::string &) {}

} // namespace broadloom::cli

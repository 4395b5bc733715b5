// Lines from a person: by readline (terminal_readline.cpp), or plainly where the program is built
// without it (terminal_plain.cpp). Standard input and output are terminals.
#pragma once

#include "tools/broadloom/repl/completion.hpp"
#include "tools/broadloom/repl/highlight.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

struct Line {
  enum Kind { Text, Cancelled, End } kind = Text; // Cancelled: by Ctrl-C; End: by Ctrl-D
  std::string text; // without the last line end; there may be several lines
};

struct TerminalHooks {
  std::function<Completion(std::string_view line)> complete; // the line up to the cursor
  std::function<std::vector<Span>(std::string_view line, std::size_t cursor)> paint;
  // Whether lines want more of them: Enter then adds one to the entry.
  std::function<bool(std::string_view lines)> stays_open;
};

class Terminal {
public:
  // One at a time. Reads the history.
  Terminal(TerminalHooks hooks, bool color);
  ~Terminal();
  Terminal(const Terminal &) = delete;
  Terminal &operator=(const Terminal &) = delete;

  Line read(const std::string &prompt);
  // Adds an entry to the history, at once also to its file: $XDG_STATE_HOME/broadloom/history,
  // where ~/.local/state stands for a variable that is not set.
  void remember(const std::string &entry);

private:
  class State;
  std::unique_ptr<State> state_;
};

} // namespace broadloom::cli

// The REPL: from lines to complete inputs, and on to a session.
#pragma once

#include "tools/broadloom/cli/commands.hpp"
#include "tools/broadloom/repl/input_text.hpp"
#include "tools/broadloom/repl/session.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace broadloom::cli {

// Puts lines together and executes what is complete. Throws what `Session::execute` throws; what
// was pending is then forgotten.
class Feeder {
public:
  // `file` names the lines in errors.
  Feeder(Session &session, std::string file) : session_(session), file_(std::move(file)) {}

  void line(std::string_view line);
  void end();     // no more lines come: what is not complete is a mistake
  void restart(); // forgets what is pending, and counts lines from 1 again

  bool open() const { return !pending_.empty(); }
  // Whether it would be open after these lines, too.
  bool stays_open(std::string_view lines) const;
  const std::string &pending() const { return pending_.text(); }

private:
  void execute_pending();

  Session &session_;
  const std::string file_;
  InputText pending_;
  int line_ = 0, first_ = 1;
};

struct ReplOptions {
  std::string file;                // -i: defined first
  std::optional<std::string> text; // -c: lines instead of those of standard input
  bool color = false;
};

// Whether standard input and output are terminals.
bool is_person(const Streams &streams);

// Reads standard input to its end or to `.quit`. For a person, who edits lines, errors are told and
// the session goes on; else the first error is thrown, as `Session::execute` throws it, but with
// its line, and `phase` says whose fault it is.
void repl(const ReplOptions &options, const Streams &streams, Phase &phase);

} // namespace broadloom::cli

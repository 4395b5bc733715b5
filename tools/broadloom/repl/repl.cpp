// See repl.hpp.
#include "tools/broadloom/repl/repl.hpp"

#include "tools/broadloom/cli/failure.hpp"
#include "tools/broadloom/cli/interrupt.hpp"
#include "tools/broadloom/cli/terminal_info.hpp"
#include "tools/broadloom/repl/pager.hpp"
#include "tools/broadloom/repl/terminal.hpp"

#include <broadloom/version.hpp>

#include <exception>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace broadloom::cli {

namespace {

void each_line(std::string_view text, const std::function<void(std::string_view)> &visit) {
  while (true) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    if (end == text.npos) return;
    text.remove_prefix(end + 1);
  }
}

} // namespace

void Feeder::line(std::string_view line) {
  ++line_;
  if (is_command(line)) {
    if (open()) execute_pending(); // not complete: says so
    session_.execute(std::string(line), file_, line_);
    return;
  }
  if (!open() && Session::is_word_of_shells(line)) {
    session_.execute(std::string(line), file_, line_);
    return;
  }
  if (!open()) first_ = line_;
  pending_.add(line);
  if (pending_.complete()) execute_pending();
}

void Feeder::end() {
  if (open()) execute_pending();
}

void Feeder::restart() {
  pending_.clear();
  line_ = 0;
}

bool Feeder::stays_open(std::string_view lines) const {
  InputText pending = pending_;
  each_line(lines, [&](std::string_view line) {
    if (!is_command(line)) pending.add(line);
    if (is_command(line) || pending.complete()) pending.clear();
  });
  return !pending.empty();
}

void Feeder::execute_pending() {
  const std::string text = pending_.text();
  pending_.clear();
  session_.execute(text, file_, first_);
}

namespace {

void print_failure(const Streams &streams, Phase phase, bool color) {
  const Failure failure = describe(std::current_exception(), phase, color);
  streams.out.flush();
  if (failure.status == interrupted_status)
    streams.err << "stopped\n";
  else
    streams.err << failure.text << (failure.text.ends_with('\n') ? "" : "\n");
  streams.err.flush();
}

// `said` is what the session writes to.
void talk(Session &session, std::ostringstream &said, const Streams &streams, bool color) {
  const HoldInterrupt hold(HoldInterrupt::UntilThird);
  Feeder feeder(session, "<input>");
  Terminal terminal(
      {[&](std::string_view line) { return complete(feeder.pending(), line, session.library()); },
       [&](std::string_view line, std::size_t cursor) {
         return highlight(feeder.pending(), line, cursor, session.library());
       },
       [&](std::string_view lines) { return feeder.stays_open(lines); }},
      color);
  const auto show = [&] {
    show_paged(said.str());
    said.str("");
  };
  show(); // of a file that was loaded
  streams.out << "Broadloom " BROADLOOM_VERSION ": type a kernel, or .help\n" << std::flush;
  std::string entry;
  while (!session.done()) {
    if (!feeder.open()) {
      feeder.restart();
      entry.clear();
    }
    clear_interrupt();
    const Line line = terminal.read(feeder.open() ? "... " : "> ");
    clear_interrupt();
    if (line.kind == Line::End) return;
    if (line.kind == Line::Cancelled) {
      feeder.restart();
      continue;
    }
    entry += (entry.empty() ? "" : "\n") + line.text;
    try {
      each_line(line.text, [&](std::string_view part) {
        if (session.done()) return;
        feeder.line(part);
        show();
      });
    } catch (...) { // `describe` throws on what is no error of ours
      show();
      print_failure(streams, session.phase(), color);
      feeder.restart(); // and the rest of what was pasted is dropped
    }
    streams.out.flush();
    if (!feeder.open()) terminal.remember(entry);
  }
}

// Errors of commands, which have no place of their own, get their line.
void read_all(Session &session, std::istream &in, const std::string &file) {
  Feeder feeder(session, file);
  int number = 0;
  try {
    for (std::string line; !session.done() && std::getline(in, line);) {
      ++number;
      feeder.line(line);
    }
    if (!session.done()) feeder.end();
  } catch (const Error &error) {
    throw_at(error, {file, number, 0, 1, ""});
  }
}

} // namespace

bool is_person(const Streams &streams) {
  return &streams.in == &std::cin && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

void repl(const ReplOptions &options, const Streams &streams, Phase &phase) {
  const bool person = is_person(streams) && !options.text;
  SessionOptions choices;
  if (person)
    choices = {interrupt_flag(),
               [] {
                 renew_interrupt_flag();
                 return interrupt_flag();
               },
               isatty(STDERR_FILENO) != 0 && !is_dumb_terminal(), wants_color(STDOUT_FILENO),
               [] { return terminal_size().columns; }};
  std::ostringstream said; // which is shown when its command has ended: it may want a pager
  Session session({streams.in, person ? said : streams.out, streams.err}, choices);
  try {
    if (!options.file.empty()) session.load(options.file);
    if (options.text) {
      std::istringstream lines(*options.text);
      read_all(session, lines, "<text>");
    } else if (!person) {
      read_all(session, streams.in, "<stdin>");
    }
  } catch (...) {
    phase = session.phase();
    if (!person) throw;
    print_failure(streams, phase, options.color);
  }
  if (!person) return;
  talk(session, said, streams, options.color);
  if (!left_behind()) return;
  // Code runs that must not see the program's globals go.
  streams.out.flush();
  _exit(Fine);
}

} // namespace broadloom::cli

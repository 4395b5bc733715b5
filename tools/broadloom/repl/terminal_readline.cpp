// See terminal.hpp: GNU readline, by its callback interface, so that we wait for a key and for
// Ctrl-C at once. Readline keeps its state in globals, and calls plain functions: `current` is how
// they find the one terminal that there is.
//
// Lines are drawn here and not by readline, which knows neither colours nor texts of several lines.
// The screen is a list of rows; the cursor's row is remembered, so that the next drawing knows how
// far up the first one lies.
#include "tools/broadloom/repl/terminal.hpp"

#include "support/own_folder.hpp"
#include "support/text.hpp"
#include "tools/broadloom/cli/terminal_info.hpp"
#include "tools/broadloom/repl/entry_keys.hpp"
#include "tools/broadloom/repl/wait_for_input.hpp"

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <filesystem>
#include <optional>

#include <readline/history.h>
#include <readline/readline.h>

namespace broadloom::cli {

namespace {

constexpr int most_entries = 2000;
constexpr const char *off = "\033[0m";

std::string history_path() {
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state != nullptr && *state == '/')
    folder = state;
  else if (home != nullptr && *home == '/')
    folder = std::filesystem::path(home) / ".local/state";
  if (folder.empty() || !support::may_make_below(folder)) return "";
  std::error_code error; // without a history all else works
  std::filesystem::create_directories(folder / "broadloom", error);
  return error ? "" : folder / "broadloom/history";
}

// A character as it is shown, and how many columns it takes.
struct Glyph {
  std::string text;
  int columns = 1;
};

Glyph glyph_at(std::string_view text, std::size_t at, std::size_t length) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == '\t') return {"  ", 2};
  if (byte < 0x20 || byte == 0x7f) return {{'^', char(byte ^ 0x40)}, 2};
  wchar_t wide = 0;
  std::mbstate_t state{};
  const std::size_t read = std::mbrtowc(&wide, text.data() + at, length, &state);
  const int columns = read == length ? wcwidth(wide) : -1;
  if (columns < 0) return {"?", 1};
  return {std::string(text.substr(at, length)), columns};
}

// A text cut into rows of the screen, and where the cursor is.
struct Screen {
  std::vector<std::string> rows{""};
  int cursor_row = 0, cursor_column = 0;
};

class Drawer {
public:
  explicit Drawer(int columns) : columns_(columns) {}

  void put(const Glyph &glyph, const char *escape) {
    if (column_ + glyph.columns > columns_) end_row();
    std::string &row = screen.rows.back();
    if (std::strcmp(escape, escape_) != 0) row += std::string(*escape_ ? off : "") + escape;
    escape_ = escape;
    row += glyph.text;
    column_ += glyph.columns;
    if (column_ >= columns_) end_row();
  }
  void end_row() {
    if (*escape_) screen.rows.back() += off;
    escape_ = "";
    screen.rows.emplace_back();
    column_ = 0;
  }
  void mark_cursor() {
    screen.cursor_row = int(screen.rows.size()) - 1;
    screen.cursor_column = column_;
  }
  void finish() {
    if (*escape_) screen.rows.back() += off;
  }

  Screen screen;

private:
  const int columns_;
  int column_ = 0;
  const char *escape_ = "";
};

} // namespace

class Terminal::State {
public:
  State(TerminalHooks hooks, bool color) : hooks_(std::move(hooks)), color_(color) {}

  Line read(const std::string &prompt);
  void start_history();
  void remember(const std::string &entry);

private:
  static void on_line(char *line);
  static void on_redisplay();
  static char **on_completion(const char *word, int begin, int end);
  static char *break_characters();
  static void on_matches(char **matches, int count, int longest);
  static int on_clear(int, int);
  static int on_enter(int count, int key);

  Screen draw() const;
  void redisplay();
  void leave(const char *last); // goes below what is drawn
  void show_matches(char **matches, int count, int longest);

  static State *current;

  TerminalHooks hooks_;
  const bool color_;
  int drawn_rows_ = 1, cursor_row_ = 0;
  std::optional<Line> line_; // what the handler has got
  std::vector<std::string> found_;
  std::string history_;
  friend class Terminal;
};

Terminal::State *Terminal::State::current = nullptr;

Line Terminal::State::read(const std::string &prompt) {
  line_.reset();
  drawn_rows_ = 1;
  cursor_row_ = 0;
  rl_callback_handler_install(prompt.c_str(), on_line);
  // Each time, as readline binds the special characters of the terminal (Ctrl-U, Ctrl-W) each time.
  // A dumb terminal would show an entry of several lines as one.
  if (!is_dumb_terminal()) bind_entry_keys(on_enter);
  while (!line_) {
    if (wait_for_input() == Waited::Ready) {
      rl_callback_read_char();
      continue;
    }
    if (rl_redisplay_function == on_redisplay && rl_point < rl_end) {
      rl_point = rl_end;
      redisplay();
    }
    leave("^C\n");
    rl_callback_sigcleanup();
    rl_callback_handler_remove();
    rl_replace_line("", 0);
    return {Line::Cancelled, ""};
  }
  return std::move(*line_);
}

void Terminal::State::on_line(char *line) {
  rl_callback_handler_remove(); // gives the terminal its own modes back
  current->leave("\n");
  current->line_ = line != nullptr ? Line{Line::Text, line} : Line{Line::End, ""};
  std::free(line);
}

Screen Terminal::State::draw() const {
  const std::string_view line(rl_line_buffer, std::size_t(rl_end)), prompt(rl_display_prompt);
  const auto cursor = std::size_t(rl_point);
  std::vector<const char *> paints(line.size() + 1, "");
  if (color_)
    for (const Span &span : hooks_.paint(line, cursor))
      std::fill(paints.begin() + std::ptrdiff_t(span.begin),
                paints.begin() + std::ptrdiff_t(span.end), escape_of(span.paint));
  Drawer drawer(terminal_size().columns);
  const auto put = [&](std::string_view text, std::size_t at, const char *paint) {
    const std::size_t length = std::max<std::size_t>(support::utf8_length(text, at), 1);
    drawer.put(glyph_at(text, at, length), paint);
    return at + length;
  };
  for (std::size_t at = 0; at < prompt.size();) at = put(prompt, at, "");
  for (std::size_t at = 0; at < line.size();) {
    if (at <= cursor) drawer.mark_cursor();
    if (line[at] != '\n') {
      at = put(line, at, paints[at]);
      continue;
    }
    drawer.end_row();
    for (++at; const char c : std::string_view("... ")) drawer.put({std::string(1, c), 1}, "");
  }
  if (cursor >= line.size()) drawer.mark_cursor();
  drawer.finish();
  return std::move(drawer.screen);
}

void Terminal::State::redisplay() {
  Screen screen = draw();
  // Of what is higher than the screen only the part around the cursor can be drawn.
  const int most = std::max(1, terminal_size().rows - 1);
  if (int(screen.rows.size()) > most) {
    const int first = std::clamp(screen.cursor_row - most / 2, 0, int(screen.rows.size()) - most);
    screen.rows = {screen.rows.begin() + first, screen.rows.begin() + first + most};
    screen.cursor_row -= first;
  }
  std::string text = "\r";
  if (cursor_row_ > 0) text += "\033[" + std::to_string(cursor_row_) + "A";
  for (std::size_t k = 0; k < screen.rows.size(); ++k)
    text += (k > 0 ? "\r\n" : "") + screen.rows[k] + "\033[K";
  text += "\033[J\r";
  const int up = int(screen.rows.size()) - 1 - screen.cursor_row;
  if (up > 0) text += "\033[" + std::to_string(up) + "A";
  if (screen.cursor_column > 0) text += "\033[" + std::to_string(screen.cursor_column) + "C";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  drawn_rows_ = int(screen.rows.size());
  cursor_row_ = screen.cursor_row;
}

void Terminal::State::leave(const char *last) {
  const int down = drawn_rows_ - 1 - cursor_row_;
  if (down > 0) std::printf("\033[%dB", down);
  std::fputs(last, stdout);
  std::fflush(stdout);
  drawn_rows_ = 1;
  cursor_row_ = 0;
}

void Terminal::State::on_redisplay() { current->redisplay(); }

int Terminal::State::on_clear(int, int) {
  std::fputs("\033[H\033[2J", stdout);
  current->drawn_rows_ = 1;
  current->cursor_row_ = 0;
  rl_forced_update_display();
  return 0;
}

// Ends an entry that is complete, wherever the cursor is.
int Terminal::State::on_enter(int count, int key) {
  if (!current->hooks_.stays_open({rl_line_buffer, std::size_t(rl_end)}))
    return rl_newline(count, key);
  if (rl_get_keymap() == rl_get_keymap_by_name("vi-move")) rl_vi_append_eol(1, key);
  rl_insert_text("\n");
  return 0;
}

// Readline cuts words at these; they are the ones that `complete` knows.
char *Terminal::State::break_characters() {
  static char command[] = " \t,=", language[] = " \t\n,=.()[]{}:;?!~^*/%+-<>&|#\"'@$`\\";
  const char *text = rl_line_buffer + std::strspn(rl_line_buffer, " \t");
  const bool is_command = *text == '.';
  // Of a command only: a quote in the comment of a kernel opens nothing.
  rl_completer_quote_characters = is_command ? "\"'" : nullptr;
  rl_filename_quote_characters = is_command ? " \t,'\"()[]" : nullptr;
  return is_command ? command : language;
}

char **Terminal::State::on_completion(const char *word, int, int end) {
  const std::string_view line(rl_line_buffer, std::size_t(end));
  const Completion found = current->hooks_.complete(line);
  current->found_ = found.words;
  rl_attempted_completion_over = !found.files;
  const bool joins = std::all_of(found.words.begin(), found.words.end(), [](const auto &w) {
    return w.ends_with('(') || w.ends_with('=');
  });
  const bool language =
      line.find_first_not_of(" \t") == line.npos || line[line.find_first_not_of(" \t")] != '.';
  rl_completion_append_character = joins || language ? '\0' : ' ';
  if (found.words.empty() || (found.files && *word == '\0')) return nullptr;
  return rl_completion_matches(word, [](const char *, int state) -> char * {
    const auto k = static_cast<std::size_t>(state);
    return k < current->found_.size() ? strdup(current->found_[k].c_str()) : nullptr;
  });
}

void Terminal::State::on_matches(char **matches, int count, int longest) {
  current->show_matches(matches, count, longest);
}

void Terminal::State::show_matches(char **matches, int count, int longest) {
  constexpr int most = 200;
  leave("\n");
  const int width = longest + 2, columns = std::max(1, terminal_size().columns / width);
  std::string text;
  for (int k = 1; k <= std::min(count, most); ++k) { // matches[0] is what they have in common
    std::string shown = matches[k];
    // Of a path the last part.
    if (const auto slash = shown.find_last_of('/', shown.size() - 2); slash != shown.npos)
      shown.erase(0, slash + 1);
    const bool last = k % columns == 0 || k == count;
    shown.resize(std::max(shown.size(), last ? 0 : std::size_t(width)), ' ');
    text += shown + (last ? "\n" : "");
  }
  if (count > most) text += "\n.. and " + std::to_string(count - most) + " more\n";
  std::fputs(text.c_str(), stdout);
  rl_forced_update_display();
}

void Terminal::State::start_history() {
  using_history();
  stifle_history(most_entries);
  // Entries of several lines need something between entries: a time stamp.
  history_comment_char = '#';
  history_write_timestamps = 1;
  history_ = history_path();
  if (history_.empty()) return;
  read_history(history_.c_str());
  history_truncate_file(history_.c_str(), most_entries);
}

void Terminal::State::remember(const std::string &entry) {
  const HIST_ENTRY *last =
      history_length > 0 ? history_get(history_base + history_length - 1) : nullptr;
  if (entry.empty() || (last != nullptr && entry == last->line)) return;
  add_history(entry.c_str());
  if (history_.empty()) return;
  if (append_history(1, history_.c_str()) != 0) write_history(history_.c_str()); // a new file
}

Terminal::Terminal(TerminalHooks hooks, bool color)
    : state_(std::make_unique<State>(std::move(hooks), color)) {
  State::current = state_.get();
  std::setlocale(LC_CTYPE, ""); // how wide a character is
  rl_readline_name = "broadloom";
  rl_catch_signals = rl_catch_sigwinch = 0;
  rl_change_environment = 0;
  rl_outstream = stdout;
  rl_attempted_completion_function = State::on_completion;
  rl_completion_word_break_hook = State::break_characters;
  rl_completion_display_matches_hook = State::on_matches;
  if (!is_dumb_terminal()) rl_redisplay_function = State::on_redisplay;
  // What ~/.inputrc says is read by `rl_initialize` and counts.
  rl_variable_bind("blink-matching-paren", "on");
  rl_initialize();
  if (!is_dumb_terminal()) rl_bind_key('\f', State::on_clear);
  state_->start_history();
}

Terminal::~Terminal() { State::current = nullptr; }

Line Terminal::read(const std::string &prompt) { return state_->read(prompt); }
void Terminal::remember(const std::string &entry) { state_->remember(entry); }

} // namespace broadloom::cli

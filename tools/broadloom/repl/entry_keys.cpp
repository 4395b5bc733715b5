// See entry_keys.hpp. Keys are found by the functions that they are bound to, as ~/.inputrc may
// have bound others.
#include "tools/broadloom/repl/entry_keys.hpp"

#include "tools/broadloom/repl/entry_lines.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace broadloom::cli {

namespace {

std::string_view entry() { return {rl_line_buffer, std::size_t(rl_end)}; }
std::size_t cursor() { return std::size_t(rl_point); }

using Beside = std::optional<std::size_t> (*)(std::string_view, std::size_t, std::size_t);

// What several keys that move up and down, one after the other, have in common.
enum class Moved { No, InEntry, InHistory };
Moved moved_before(); // what the key before this one did
Moved latest = Moved::No;
std::size_t column; // that all of them go to, though lines between are shorter

void take_for_readlines(); // the command before this one

// To the line beside this one, else `otherwise`, which goes through the history.
template <Beside beside, rl_command_func_t *otherwise> int move(int count, int key) {
  static_assert(beside == above || beside == below);
  const Moved before = moved_before();
  if (before != Moved::InEntry) column = column_of(entry(), cursor());
  latest = Moved::InEntry;
  if (count == 1)
    if (const auto at = beside(entry(), cursor(), column)) {
      rl_point = int(*at);
      return 0;
    }
  latest = Moved::InHistory;
  if (before == Moved::InHistory)
    take_for_readlines(); // a search goes on with what it searched for
  const int status = otherwise(count, key);
  // An entry that is met on the way down begins with its first line.
  if (beside == below && rl_editing_mode == 1 && rl_point == rl_end)
    rl_point = int(line_end(entry(), 0));
  return status;
}

int to_line_begin(int, int) {
  rl_point = int(line_begin(entry(), cursor()));
  return 0;
}

int to_line_end(int, int) {
  rl_point = int(line_end(entry(), cursor()));
  return 0;
}

// At the end of a line the line end itself.
int kill_to_line_end(int, int) {
  const std::size_t end = line_end(entry(), cursor());
  return rl_kill_text(rl_point, end == cursor() && rl_point < rl_end ? rl_point + 1 : int(end));
}

int kill_back_to(std::size_t begin) {
  rl_kill_text(rl_point, int(begin)); // what is killed backwards is put before what was
  rl_point = int(begin);
  return 0;
}

int kill_to_line_begin(int, int) {
  const std::size_t begin = line_begin(entry(), cursor());
  return kill_back_to(begin == cursor() && begin > 0 ? begin - 1 : begin);
}

int kill_word(int count, int) {
  for (; count > 0 && rl_point > 0; --count) kill_back_to(word_begin(entry(), cursor()));
  return 0;
}

struct Replacement {
  rl_command_func_t *readline, *ours;
};

constexpr std::array moves{
    Replacement{rl_get_previous_history, move<above, rl_get_previous_history>},
    Replacement{rl_get_next_history, move<below, rl_get_next_history>},
    Replacement{rl_history_search_backward, move<above, rl_history_search_backward>},
    Replacement{rl_history_search_forward, move<below, rl_history_search_forward>},
    Replacement{rl_history_substr_search_backward, move<above, rl_history_substr_search_backward>},
    Replacement{rl_history_substr_search_forward, move<below, rl_history_substr_search_forward>},
};

constexpr std::array others{
    Replacement{rl_beg_of_line, to_line_begin},
    Replacement{rl_end_of_line, to_line_end},
    Replacement{rl_kill_line, kill_to_line_end},
    Replacement{rl_unix_line_discard, kill_to_line_begin},
    Replacement{rl_unix_word_rubout, kill_word},
};

Moved moved_before() {
  for (const Replacement &move : moves)
    if (rl_last_func == move.ours) return latest;
  return Moved::No;
}

void take_for_readlines() {
  for (const Replacement &move : moves)
    if (rl_last_func == move.ours) {
      rl_last_func = move.readline;
      return;
    }
}

void replace(Keymap map, const Replacement &by) {
  for (int key = 0; key < KEYMAP_SIZE; ++key) {
    KEYMAP_ENTRY &entry = map[key];
    if (entry.type == ISFUNC && entry.function == by.readline) entry.function = by.ours;
    if (entry.type == ISKMAP) replace(reinterpret_cast<Keymap>(entry.function), by);
  }
}

} // namespace

void bind_entry_keys(rl_command_func_t *enter) {
  for (const char *name : {"emacs-standard", "vi-insert", "vi-move"}) {
    const Keymap map = rl_get_keymap_by_name(name);
    for (const Replacement &by : moves) replace(map, by);
    replace(map, {rl_newline, enter});
    // Commands of vi such as `d$` ask readline's own functions how far they go.
    if (name != std::string_view("vi-move"))
      for (const Replacement &by : others) replace(map, by);
  }
}

} // namespace broadloom::cli

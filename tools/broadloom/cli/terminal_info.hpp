// What there is to know of the terminal without being in charge of it.
#pragma once

namespace broadloom::cli {

struct TerminalSize {
  int rows = 24, columns = 80; // where it does not say
};
TerminalSize terminal_size();

// TERM=dumb, or none: it knows no escapes.
bool is_dumb_terminal();

// A terminal that knows colours, of a user who has not set NO_COLOR.
bool wants_color(int descriptor);

} // namespace broadloom::cli

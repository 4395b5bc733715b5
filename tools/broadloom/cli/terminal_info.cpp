// See terminal_info.hpp.
#include "tools/broadloom/cli/terminal_info.hpp"

#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace broadloom::cli {

TerminalSize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2 || size.ws_row < 2) return {};
  return {size.ws_row, size.ws_col};
}

bool is_dumb_terminal() {
  const char *term = std::getenv("TERM");
  return term == nullptr || *term == '\0' || std::string_view(term) == "dumb";
}

bool wants_color(int descriptor) {
  return isatty(descriptor) != 0 && std::getenv("NO_COLOR") == nullptr && !is_dumb_terminal();
}

} // namespace broadloom::cli

// The `broadloom` program. All that can be tested without a process is in cli.cpp.
#include "tools/broadloom/cli/cli.hpp"
#include "tools/broadloom/cli/interrupt.hpp"
#include "tools/broadloom/cli/terminal_info.hpp"

#include <iostream>
#include <unistd.h>

int main(int argc, char **argv) {
  broadloom::cli::install_interrupt();
  const bool color = broadloom::cli::wants_color(STDERR_FILENO);
  return broadloom::cli::run_cli({argv + 1, argv + argc}, std::cin, std::cout, std::cerr, color);
}

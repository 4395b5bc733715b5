// Readline knows entries of one line. These are its commands for lines, for entries that have
// several: up and down move within the entry first, and the beginning and the end of the line are
// those of the line that the cursor is in.
#pragma once

#include <cstdio> // which readline's header needs

#include <readline/readline.h>

namespace broadloom::cli {

// Whatever keys do these things, by default or by ~/.inputrc, do them for lines from now on; those
// that accept a line call `enter`.
void bind_entry_keys(rl_command_func_t *enter);

} // namespace broadloom::cli

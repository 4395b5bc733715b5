// Long output of a person's session goes through a program that shows it page by page.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace broadloom::cli {

// The command line of the pager: BROADLOOM_PAGER, else PAGER, else `less -FRX` where there is one.
// None where the variable is empty, and on a terminal that knows no escapes.
std::optional<std::string> pager_command();

// Shows a text to a person whose standard input and output are terminals: plainly where it fits the
// screen or where there is no pager, or where the pager cannot be run. Comes back when the pager
// ends.
void show_paged(std::string_view text);

} // namespace broadloom::cli

// What the program says about itself: its version, its manual page and the completions of shells.
// All but the version are made from the options that the command line is read by, so that none can
// fall behind.
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <string_view>

namespace broadloom::cli {

// Several lines; the first is `broadloom X.Y.Z`.
std::string version_text();

// What follows the options in `broadloom --help`: exit statuses and environment variables.
std::string help_footer();

std::string man_page(const CLI::App &app); // roff, for section 1
std::string bash_completion(const CLI::App &app);
std::string zsh_completion(const CLI::App &app);
std::string fish_completion(const CLI::App &app);

// The one of these that a word names: "man", "bash", "zsh" or "fish"; or "words", those of the
// text form.
std::string generated(const CLI::App &app, std::string_view word);

} // namespace broadloom::cli

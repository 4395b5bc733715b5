// An app of CLI11 as its manual page and completions see it.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace broadloom::cli {

struct OptionText {
  std::vector<std::string> names; // "-e" or "--threads"; of a positional argument, "FILE"
  bool positional = false, required = false, repeats = false;
  std::string value;                // "NAME=SOURCE"; empty: a flag
  std::vector<std::string> choices; // of a value such as "jit|interpreter|reference"
  std::string text;
};

struct CommandText {
  std::string name, text;
  std::vector<OptionText> options; // in the order of --help
};

CommandText describe(const CLI::App &app);                       // the options of its own
std::vector<CommandText> describe_commands(const CLI::App &app); // its subcommands

struct Entry {
  const char *name, *text;
};
std::vector<Entry> exit_statuses();
std::vector<Entry> environment();

} // namespace broadloom::cli

// The commands of the REPL: help, completion and execution read this table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

class Session;

// What the words of a command are, for completion.
enum class Argument { None, Kernel, Stage, Setting, Command, File };

struct Command {
  std::string_view name;      // ".run"
  std::string_view arguments; // "[K] x=SOURCE .. -> z=PATH .."
  std::string_view help;      // a line
  std::string_view more;      // further lines, or nothing
  std::string_view example;   // lines that can be typed
  Argument first = Argument::None;
  void (*run)(Session &, const std::vector<std::string> &words); // without the command itself
};

std::span<const Command> command_table();

// What a word may mean, with its dot or without: the command of that name, else all whose names
// begin so.
std::vector<const Command *> commands_like(std::string_view name);

// The only one. Throws UsageError E0401 with those that it may mean, or the name that was perhaps
// meant.
const Command &find_command(std::string_view name);

struct Setting {
  std::string_view name, values, help;
};
std::span<const Setting> setting_table();

} // namespace broadloom::cli

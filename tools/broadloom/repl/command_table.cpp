// See command_table.hpp.
#include "tools/broadloom/repl/command_table.hpp"

#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace broadloom::cli {

namespace {

// What other prompts call otherwise.
constexpr std::pair<std::string_view, std::string_view> elsewhere[] = {
    {"vars", ".list"},
    {"ls", ".list"},
    {"who", ".list"},
    {"exit", ".quit"},
    {"plot", ".set plot on"},
    {"bench", ".time"},
    {"open", ".load FILE"},
    {"print", "the value alone"},
    {"reset", ".clear"},
    {"asm", ".show asm"},
    {"def", "def f(a) = ..., without a dot"},
};

} // namespace

std::vector<const Command *> commands_like(std::string_view name) {
  std::vector<const Command *> like;
  if (name.starts_with('.')) name.remove_prefix(1);
  if (name.empty()) return like;
  for (const Command &command : command_table()) {
    const std::string_view whole = command.name.substr(1);
    if (whole == name) return {&command};
    if (whole.starts_with(name)) like.push_back(&command);
  }
  return like;
}

const Command &find_command(std::string_view name) {
  const std::vector<const Command *> like = commands_like(name);
  if (like.size() == 1) return *like[0];
  std::vector<std::string> names;
  for (const Command *command : like) names.emplace_back(command->name);
  if (!like.empty())
    throw UsageError("E0401", fmt::format("'{}' may be {}", name, fmt::join(names, " or ")),
                     "write as much of it as tells it from the others");
  for (const Command &command : command_table()) names.emplace_back(command.name);
  for (const auto &[theirs, ours] : elsewhere)
    if (name.substr(name.starts_with('.')) == theirs)
      throw UsageError("E0401", fmt::format("there is no command '{}'", name),
                       fmt::format("write {}", ours));
  const std::string near = nearest(name, names);
  throw UsageError("E0401", fmt::format("there is no command '{}'", name),
                   near.empty() ? ".help lists the commands"
                                : fmt::format("did you mean {}? .help lists the commands", near));
}

} // namespace broadloom::cli

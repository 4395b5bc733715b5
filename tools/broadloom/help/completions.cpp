// What bash, zsh and fish need to complete a command line.
//
// All three complete the commands, the options of the command that stands before, and the words of
// an option that takes one of a few (--engine jit|interpreter|reference); files are what is left.
#include "tools/broadloom/help/describe_app.hpp"
#include "tools/broadloom/help/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace broadloom::cli {
namespace {

std::vector<std::string> names_of(const std::vector<CommandText> &commands) {
  std::vector<std::string> names;
  for (const CommandText &command : commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> option_names(const CommandText &command) {
  std::vector<std::string> names;
  for (const OptionText &option : command.options)
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// Each character of `special` with a backslash in front.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// Inside '..' a shell has no escapes: each ' ends the quotes and is followed by new ones.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text)
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  return result + "'";
}

// --- bash
// -----------------------------------------------------------------------------------------

std::string bash_words(const std::vector<std::string> &words) {
  return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", fmt::join(words, " "));
}

std::string bash_choices(const CommandText &command) {
  std::string text;
  for (const OptionText &option : command.options)
    if (!option.choices.empty())
      for (const std::string &name : option.names)
        text += fmt::format("  {}:{})\n    {}\n    return ;;\n", command.name, name,
                            bash_words(option.choices));
  return text;
}

// --- zsh
// ------------------------------------------------------------------------------------------

std::string zsh_text(std::string_view text) { return escaped(text, "\\[]:"); }

// An argument of _arguments: '*--in[what it means]:NAME=SOURCE:_files'
std::string zsh_option(const OptionText &option, const std::string &name) {
  std::string text = option.repeats ? "*" + name : name;
  text += "[" + zsh_text(option.text) + "]";
  if (!option.choices.empty())
    text += fmt::format(":{}:({})", "value", fmt::join(option.choices, " "));
  else if (!option.value.empty())
    text += ":" + zsh_text(option.value) + ":_files";
  return shell_quoted(text);
}

std::string zsh_options(const CommandText &command, const std::string &margin) {
  std::string text;
  for (const OptionText &option : command.options)
    for (const std::string &name : option.names)
      if (!option.positional) text += " \\\n" + margin + zsh_option(option, name);
  return text;
}

// --- fish
// -----------------------------------------------------------------------------------------

std::string fish_option(const CommandText &command, const OptionText &option, bool is_program) {
  std::string text =
      is_program
          ? "complete -c broadloom -n __fish_use_subcommand"
          : fmt::format("complete -c broadloom -n '__fish_seen_subcommand_from {}'", command.name);
  for (const std::string &name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.choices.empty())
    text += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  else if (!option.value.empty())
    text += " -r";
  return text + " -d " + shell_quoted(option.text) + "\n";
}

std::string fish_options(const CommandText &command, bool is_program) {
  std::string text;
  for (const OptionText &option : command.options)
    if (!option.positional) text += fish_option(command, option, is_program);
  return text;
}

} // namespace

std::string bash_completion(const CLI::App &app) {
  const CommandText program = describe(app);
  const std::vector<CommandText> commands = describe_commands(app);
  std::string text = fmt::format(R"(# bash completion for broadloom
_broadloom() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
    case $word in
    {}) command=$word && break ;;
    esac
  done
  COMPREPLY=()
  case $command:$previous in
)",
                                 fmt::join(names_of(commands), " | "));
  for (const CommandText &command : commands) text += bash_choices(command);
  text += "  esac\n  case $command:$current in\n";
  for (const CommandText &command : commands)
    text += fmt::format("  {}:-*) {} ;;\n", command.name, bash_words(option_names(command)));
  text += fmt::format("  :-*) {} ;;\n", bash_words(option_names(program)));
  text += fmt::format("  :*) {} ;;\n", bash_words(names_of(commands)));
  return text + "  esac\n}\ncomplete -o bashdefault -o default -F _broadloom broadloom\n";
}

std::string zsh_completion(const CLI::App &app) {
  const CommandText program = describe(app);
  std::string text = "#compdef broadloom\n_broadloom() {\n  local line state\n  _arguments -C";
  text += zsh_options(program, "    ");
  text += " \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n  case $state in\n";
  text += "  command)\n    local -a commands=(";
  for (const CommandText &command : describe_commands(app))
    text += "\n      " + shell_quoted(command.name + ":" + zsh_text(command.text));
  text += "\n    )\n    _describe command commands; _files ;;\n  argument)\n    case $line[1] in\n";
  for (const CommandText &command : describe_commands(app))
    text += "    " + command.name + ")\n      _arguments" + zsh_options(command, "        ") +
            " \\\n        '*:file:_files' ;;\n";
  return text + "    esac ;;\n  esac\n}\n_broadloom \"$@\"\n";
}

std::string fish_completion(const CLI::App &app) {
  std::string text = "# fish completion for broadloom\n" + fish_options(describe(app), true);
  for (const CommandText &command : describe_commands(app)) {
    text += fmt::format("complete -c broadloom -n __fish_use_subcommand -f -a {} -d {}\n",
                        command.name, shell_quoted(command.text));
    text += fish_options(command, false);
  }
  return text;
}

} // namespace broadloom::cli

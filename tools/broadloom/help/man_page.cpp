// The manual page, in roff.
//
//   .SS run                            a heading
//   .TP                                a term, and what it means, indented
//   \fB\-\-threads\fR \fIN\fR
//   threads to use
#include "tools/broadloom/help/describe_app.hpp"
#include "tools/broadloom/help/help.hpp"

#include <broadloom/version.hpp>

#include <fmt/format.h>

namespace broadloom::cli {
namespace {

// Text as roff prints it: a plain `-` is a hyphen there, and a `.` in front a request.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string paragraph(const std::string &term, std::string_view text) {
  return ".TP\n" + term + "\n" + roff(text) + "\n";
}

std::string term(const OptionText &option) {
  if (option.positional) return italic(option.names.front());
  std::string result;
  for (const std::string &name : option.names) {
    if (!result.empty()) result += ", ";
    result += bold(name);
  }
  return option.value.empty() ? result : result + " " + italic(option.value);
}

std::string options(const CommandText &command) {
  std::string text;
  for (const OptionText &option : command.options) {
    std::string meaning = option.text;
    if (option.required) meaning += " (required)";
    if (option.repeats && !option.positional) meaning += "; may be given several times";
    text += paragraph(term(option), meaning);
  }
  return text;
}

std::string rows_of_table(const std::vector<Entry> &entries) {
  std::string text;
  for (const Entry &entry : entries) text += paragraph(bold(entry.name), entry.text);
  return text;
}

// "Broadloom: a compiler." -> "a compiler", as the line under NAME has it
std::string_view short_description(std::string_view text) {
  if (const std::size_t colon = text.find(": "); colon != std::string_view::npos)
    text.remove_prefix(colon + 2);
  if (text.ends_with('.')) text.remove_suffix(1);
  return text;
}

} // namespace

std::string man_page(const CLI::App &app) {
  const CommandText program = describe(app);
  const std::vector<CommandText> commands = describe_commands(app);
  std::string text =
      fmt::format(".TH BROADLOOM 1 \"\" \"broadloom {}\" \"User Commands\"\n", BROADLOOM_VERSION);
  text += fmt::format(".SH NAME\n{} \\- {}\n", program.name, roff(short_description(program.text)));
  text += ".SH SYNOPSIS\n" + bold(program.name) + " [" + italic("OPTIONS") + "]\n";
  for (const CommandText &command : commands) {
    text += ".br\n" + bold(program.name + " " + command.name) + " [" + italic("OPTIONS") + "]";
    for (const OptionText &option : command.options)
      if (option.positional)
        text +=
            option.required ? " " + italic(option.names[0]) : " [" + italic(option.names[0]) + "]";
    text += "\n";
  }
  text += ".SH OPTIONS\n" + options(program) + ".SH COMMANDS\n";
  for (const CommandText &command : commands)
    text += ".SS " + roff(command.name) + "\n" + roff(command.text) + ".\n" + options(command);
  text += ".SH EXIT STATUS\n" + rows_of_table(exit_statuses());
  text += ".SH ENVIRONMENT\n" + rows_of_table(environment());
  text += ".SH SEE ALSO\n.BR perf (1),\n.BR gdb (1)\n";
  return text;
}

} // namespace broadloom::cli

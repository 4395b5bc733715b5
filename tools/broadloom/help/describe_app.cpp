// See describe_app.hpp.
#include "tools/broadloom/help/describe_app.hpp"

#include <string_view>

namespace broadloom::cli {
namespace {

std::vector<std::string> words_between_bars(std::string_view text) {
  std::vector<std::string> words;
  if (text.find('|') == std::string_view::npos) return words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('|', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

OptionText describe(const CLI::Option &option) {
  OptionText result;
  for (const std::string &name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string &name : option.get_lnames()) result.names.push_back("--" + name);
  result.positional = result.names.empty();
  if (result.positional) result.names.push_back(option.get_name(true));
  const bool flag = option.get_items_expected_max() == 0;
  const std::string value =
      option.get_type_name(); // "N:INT in [1 - 4096]" where the value is checked
  if (!flag && !result.positional) result.value = value.substr(0, value.find(':'));
  result.choices = words_between_bars(result.value);
  result.required = option.get_required();
  result.repeats = option.get_items_expected_max() > 1;
  result.text = option.get_description();
  return result;
}

} // namespace

CommandText describe(const CLI::App &app) {
  CommandText result{app.get_name(), app.get_description(), {}};
  for (const CLI::Option *option : app.get_options())
    if (!option->get_group().empty()) result.options.push_back(describe(*option)); // no hidden ones
  return result;
}

std::vector<CommandText> describe_commands(const CLI::App &app) {
  std::vector<CommandText> commands;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    commands.push_back(describe(*command));
  return commands;
}

std::vector<Entry> exit_statuses() {
  return {{"0", "fine"},
          {"1", "the text is wrong"},
          {"2", "usage: an unknown option, a file that is not there, an input that is not given"},
          {"3", "the data is wrong, or could not be read or written"},
          {"70", "a bug of ours"},
          {"130", "interrupted"}};
}

std::vector<Entry> environment() {
  return {
      {"BROADLOOM_THREADS", "threads to use, where --threads does not say"},
      {"BROADLOOM_STRICT",
       "set to other than 0: a bug in Broadloom is an error, and no slower engine takes over"},
      {"BROADLOOM_TARGET",
       "native (default), x86-64-v3 (AVX2), x86-64-v4 (AVX-512) or aarch64 (NEON)"},
      {"BROADLOOM_CACHE", "0: native code is neither kept on disk nor taken from there"},
      {"BROADLOOM_CACHE_DIR", "where native code is kept; else broadloom in the XDG cache folder"},
      {"BROADLOOM_CACHES", "sizes of a core's own and the last-level cache: 1M,32M"},
      {"BROADLOOM_PROFILE",
       "tools that are to see kernels by name: perf, jitdump, gdb, with commas between"},
      {"BROADLOOM_LOG",
       "what is logged: trace, debug, info, warn (default), error, critical or off"},
      {"BROADLOOM_VERIFY", "1: run each call in the interpreter, too, and compare: slow"},
      {"BROADLOOM_PAGER",
       "what shows long output of the REPL; else PAGER, else less -FRX; empty: nothing does"},
      {"NO_COLOR", "if set, nothing is printed in colours"}};
}

} // namespace broadloom::cli

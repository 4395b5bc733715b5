// See completion.hpp.
#include "tools/broadloom/repl/completion.hpp"

#include "tools/broadloom/cli/stage_words.hpp"
#include "tools/broadloom/data/source.hpp"
#include "tools/broadloom/help/functions.hpp"
#include "tools/broadloom/help/language_words.hpp"
#include "tools/broadloom/repl/command_table.hpp"
#include "tools/broadloom/repl/input_text.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace broadloom::cli {

namespace {

using Words = std::set<std::string>;

// All identifiers of a text: names that have been used once may be used again.
void add_names(std::string_view text, Words &words) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && in_name(text[end])) ++end;
    if (end > at && !is_digit(text[at])) words.emplace(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
}

Words language(std::string_view before, std::string_view line, const Library &library) {
  const LanguageWords &all = language_words();
  Words words{"schedule"};
  for (const LanguageWordList *list :
       {&all.reserved, &all.types, &all.declaring, &all.clauses, &all.schedule, &all.functions,
        &all.folds, &all.constants, &all.options, &all.flags, &all.between, &all.settings})
    words.insert(list->begin(), list->end());
  for (const auto &[name, definition] : library.definitions()) words.insert(name);
  for (const std::string &name : library.statement_names()) words.insert(name);
  add_names(before, words);
  add_names(line, words);
  return words;
}

void add_kernels(const Library &library, Words &words) {
  for (const auto &[name, kernel] : library.kernels()) words.insert(name);
}

void add_inputs(const Library &library, std::string_view kernel, const char *behind, Words &words) {
  auto found = library.kernels().find(std::string(kernel));
  if (found == library.kernels().end()) found = library.kernels().find(library.latest());
  if (found == library.kernels().end()) return;
  for (const spec::TypedInput &input : found->second->typed.callers())
    words.insert(input.name + behind);
}

void add_setting_values(std::string_view name, Words &words) {
  for (const Setting &setting : setting_table()) {
    if (setting.name != name) continue;
    for (std::string_view rest = setting.values; rest.find('|') != rest.npos;) {
      words.emplace(rest.substr(0, rest.find('|')));
      rest.remove_prefix(rest.find('|') + 1);
      if (rest.find('|') == rest.npos) words.emplace(rest);
    }
  }
}

void add_outputs(const Library &library, std::string_view kernel, Words &words) {
  auto found = library.kernels().find(std::string(kernel));
  if (found == library.kernels().end()) found = library.kernels().find(library.latest());
  if (found == library.kernels().end()) return;
  for (const spec::TypedOutput &output : found->second->typed.outputs)
    words.insert(output.name + "=");
}

// Where the quote stands that is still open; npos where none is.
std::size_t open_quote(std::string_view line) {
  std::size_t open = line.npos;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '"' && line[at] != '\'') continue;
    if (open == line.npos)
      open = at;
    else if (line[open] == line[at])
      open = line.npos;
  }
  return open;
}

// The words before the last one, which may be empty.
std::vector<std::string> words_before(std::string_view line, std::size_t last) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line.substr(0, last)) {
    if (c != ' ' && c != ',' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

// Whose inputs stand as they are: `.grad k x`, and not `x=SOURCE`.
bool is_derivation(std::string_view command) {
  constexpr std::array names{".grad", ".jvp", ".jacobian", ".hessian", ".batch"};
  return std::ranges::find(names, command) != names.end();
}

// Words for position `earlier.size()` of a command, the first being the command itself.
Words arguments(const Command &command, const std::vector<std::string> &earlier,
                const Library &library) {
  Words words;
  const bool first = earlier.size() == 1;
  switch (command.first) {
  case Argument::None:
  case Argument::File: break;
  case Argument::Command:
    for (const Command &other : command_table()) words.emplace(other.name.substr(1));
    for (const std::string &name : function_names()) words.insert(name);
    break;
  case Argument::Setting:
    for (const Setting &setting : setting_table())
      if (first) words.emplace(setting.name);
    if (!first) add_setting_values(earlier[1], words);
    break;
  case Argument::Stage:
    if (first)
      for (const auto &[word, stage] : stage_words) words.emplace(word);
    else if (earlier.size() == 2)
      add_kernels(library, words);
    if (earlier.size() == 3) add_inputs(library, earlier[2], "=", words);
    break;
  case Argument::Kernel:
    if (first) add_kernels(library, words);
    add_inputs(library, first ? "" : earlier[1], is_derivation(command.name) ? "" : "=", words);
    break;
  }
  return words;
}

} // namespace

Completion complete(std::string_view before, std::string_view line, const Library &library) {
  Completion found;
  Words words;
  const std::size_t text = line.find_first_not_of(" \t");
  if (before.empty() && text != line.npos && line[text] == '.') {
    if (const std::size_t quote = open_quote(line); quote != line.npos) {
      found.begin = quote + 1;
      found.files = found.in_quotes = true;
      return found;
    }
    const std::size_t space = line.find_last_of(" \t,=");
    found.begin = space == line.npos || space < text ? text : space + 1;
    const std::vector<std::string> earlier = words_before(line, found.begin);
    const bool after_arrow = std::ranges::find(earlier, "->") != earlier.end();
    const bool after_equals = found.begin > 0 && line[found.begin - 1] == '=';
    if (earlier.empty()) {
      for (const Command &command : command_table()) words.emplace(command.name);
    } else if (after_equals) {
      for (const std::string_view word : generator_words())
        if (!after_arrow) words.insert(std::string(word) + "(");
      found.files = true;
    } else if (after_arrow) {
      add_outputs(library, earlier[1], words);
    } else if (const auto like = commands_like(earlier[0]); like.size() == 1) {
      words = arguments(*like[0], earlier, library);
      found.files = like[0]->first == Argument::File;
    }
  } else {
    found.begin = line.size();
    while (found.begin > 0 && in_name(line[found.begin - 1])) --found.begin;
    if (found.begin < line.size()) words = language(before, line.substr(0, found.begin), library);
  }
  const std::string_view word = line.substr(found.begin);
  for (const std::string &candidate : words)
    if (candidate.starts_with(word)) found.words.push_back(candidate);
  return found;
}

} // namespace broadloom::cli

// See words.hpp.
#include "tools/broadloom/repl/words.hpp"

#include "support/text.hpp"
#include "tools/broadloom/cli/usage.hpp"

#include <fmt/format.h>

namespace broadloom::cli {

namespace {

// Words as they stand, `=` apart from what is beside it with spaces between.
std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> words;
  std::string word, open;
  bool quoted = false, any = false;
  char quote = 0;
  const auto end = [&] {
    if (any) words.push_back(std::move(word));
    word.clear();
    any = false;
  };
  for (const char c : line) {
    if (quoted) {
      if (c == quote)
        quoted = false;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quoted = any = true;
      quote = c;
    } else if (open.empty() && (c == ' ' || c == '\t' || c == ',' || c == '\r' || c == '\n')) {
      end();
    } else {
      any = true;
      word += c;
      if (c == '(' || c == '[') open += c;
      if ((c == ')' || c == ']') && !open.empty()) open.pop_back();
    }
  }
  end();
  if (quoted || !open.empty())
    throw UsageError("E0401",
                     fmt::format("{} is not closed in '{}'",
                                 quoted ? "a quote" : fmt::format("'{}'", open.back()), line),
                     "close it; a command is one line");
  return words;
}

} // namespace

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool joins = false;
  for (std::string &word : split(line)) {
    if (!words.empty() && (joins || word.starts_with('=')))
      words.back() += word;
    else
      words.push_back(word);
    joins = words.back().ends_with('=') && words.back() != "=";
  }
  return words;
}

std::string nearest(std::string_view word, const std::vector<std::string> &names) {
  std::string near = support::closest(word, names);
  for (const std::string &name : names)
    if (near.empty() && name.size() == word.size() &&
        std::is_permutation(name.begin(), name.end(), word.begin()))
      near = name;
  return near;
}

} // namespace broadloom::cli

// See debug_words.hpp.
#include "tools/broadloom/cli/debug_words.hpp"

#include "tools/broadloom/cli/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace broadloom::cli {
namespace {

struct Word {
  std::string_view word;
  Debug debug;
};
constexpr std::array words{Word{"off", Debug::none},
                           Word{"all", Debug::all},
                           Word{"interpreter", Debug::interpreter},
                           Word{"reference", Debug::reference},
                           Word{"nan", Debug::nan},
                           Word{"infinity", Debug::infinity},
                           Word{"memory", Debug::memory}};

} // namespace

Debug debug_in(const std::string &list, const std::string &option) {
  Debug debug = Debug::none;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string word = list.substr(at, end - at);
    const auto *found = std::ranges::find(words, word, &Word::word);
    if (found == words.end())
      throw UsageError("E0401", fmt::format("'{}' is no value of {}", word, option),
                       "write all, or some of interpreter, reference, nan, infinity and memory "
                       "with commas between");
    debug = debug | found->debug;
    at = end + 1;
  }
  return debug;
}

std::string debug_text(Debug debug) {
  std::string text;
  for (const Word &word : words) {
    const bool is_one =
        word.debug == debug || (word.debug != Debug::all && word.debug != Debug::none &&
                                (debug & word.debug) != Debug::none);
    if (!is_one) continue;
    if (word.debug == debug) return std::string(word.word);
    text += (text.empty() ? "" : ",") + std::string(word.word);
  }
  return text;
}

} // namespace broadloom::cli

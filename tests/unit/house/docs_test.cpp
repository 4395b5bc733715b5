// The language page and the README are tested as they stand: see tests/docs/page.hpp for how. The README's
// example must be the sample of that name, which the samples suite runs.
#include "ops/ops.hpp"
#include "tests/docs/page.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <sstream>

namespace bl = broadloom;

TEST_CASE("every kernel on the language page is a right one") {
  CHECK(pages::check_loom_blocks("docs/language.md") >= 4);
}

TEST_CASE("every command on the language page prints what is shown there") {
  CHECK(pages::run_console_blocks("docs/language.md") >= 10);
}

TEST_CASE("the README's example is samples/example.cpp, but for line breaks and spaces") {
  const auto solid = [](std::string text) {
    std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
    return text;
  };
  std::string example;
  for (const pages::Block &block : pages::blocks_of(pages::text_of("README.md")))
    if (block.language == "cpp") example += block.text;
  const std::string sample = pages::text_of("samples/example.cpp");
  CHECK(solid(example) == solid(sample.substr(sample.find('\n')))); // without its first comment
}

TEST_CASE("the language page names every function, fold and option") {
  const std::string text = pages::text_of("docs/language.md");
  // As a word of its own between spaces, backquotes, parentheses or commas.
  const auto names = [&](const std::string &word) {
    const auto part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
      if (!part(text[at - 1]) && !part(text[at + word.size()])) return true;
    return false;
  };
  for (int i = 0; i < bl::ops::op_count(); ++i) {
    const std::string spelling(bl::ops::info(bl::ops::Op(i)).spelling);
    INFO(spelling);
    CHECK(names(spelling == "||" ? "\\|\\|" : spelling)); // as a table has it
  }
  for (int i = 0; i < bl::ops::fold_count(); ++i)
    CHECK(names(std::string(bl::ops::info(bl::Fold(i)).name)));

  for (const std::string command : {"run", "show", "check"}) {
    std::istringstream help(pages::output_of("broadloom " + command + " --help"));
    for (std::string word; help >> word;) {
      word = word.substr(0, word.find(','));
      INFO(command << " " << word);
      if (word.rfind("--", 0) == 0) CHECK(names(word));
    }
  }
}

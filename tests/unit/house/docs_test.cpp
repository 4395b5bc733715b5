// The pages of the reference and the README are tested as they stand: see tests/docs/page.hpp for
// how. The README's example must be the sample of that name, which the samples suite runs.
#include "ops/ops.hpp"
#include "tests/docs/page.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <sstream>

namespace bl = broadloom;

namespace {

// Each with the least number of its kernels and of its commands.
struct Page {
  const char *path;
  int kernels, commands;
};
constexpr Page reference[] = {
    {"docs/language.md", 8, 28}, {"docs/positions.md", 2, 15}, {"docs/loops.md", 2, 10},
    {"docs/schedules.md", 2, 4}, {"docs/functions.md", 0, 0},  {"docs/command_line.md", 4, 15},
    {"docs/caches.md", 0, 0},    {"docs/gradients.md", 1, 8},  {"docs/ship.md", 1, 2}};

std::string text_of_reference() {
  std::string text;
  for (const Page &page : reference) text += pages::text_of(page.path);
  return text;
}

} // namespace

TEST_CASE("every kernel on the language page and the other pages of the reference is a right one") {
  for (const Page &page : reference) CHECK(pages::check_loom_blocks(page.path) >= page.kernels);
}

TEST_CASE(
    "every command on the language page and the others of the reference prints what is shown") {
  for (const Page &page : reference) CHECK(pages::run_console_blocks(page.path) >= page.commands);
}

TEST_CASE("each page of the reference lists all its sections at its top") {
  for (const Page &page : reference) {
    const std::string text = pages::prose_of(pages::text_of(page.path));
    const std::string top = text.substr(0, text.find("\n## "));
    for (const std::string &heading : pages::headings_of(text)) {
      if (heading.starts_with("# ")) continue;
      const std::string title = heading.substr(heading.find(' ') + 1);
      INFO(page.path << ": " << title);
      CHECK(top.find("[" + title + "](#" + pages::anchor_of(title) + ")") != top.npos);
    }
  }
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

TEST_CASE("the pages of the reference name every function, fold and option") {
  const std::string text = text_of_reference();
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

TEST_CASE("the index of the language page has every function that is called, in order") {
  const std::string text = pages::text_of("docs/language.md");
  const std::string index = text.substr(text.find("\n## Index of functions"));
  std::string all, last;
  for (std::size_t at = index.find("[`"); at != index.npos; at = index.find("[`", at + 1)) {
    const std::string name = index.substr(at + 2, index.find('`', at + 2) - at - 2);
    CHECK_MESSAGE(last < name, last << " stands before " << name);
    all += " " + name + " ";
    last = name;
  }
  for (int i = 0; i < bl::ops::op_count(); ++i) {
    const bl::ops::OpInfo &info = bl::ops::info(bl::ops::Op(i));
    if (info.form == bl::ops::Form::Call)
      CHECK_MESSAGE(all.find(" " + std::string(info.spelling) + " ") != all.npos, info.spelling);
  }
  for (int i = 0; i < bl::ops::fold_count(); ++i) {
    const std::string name(bl::ops::info(bl::Fold(i)).name);
    CHECK_MESSAGE(all.find(" " + name + " ") != all.npos, name);
  }
}

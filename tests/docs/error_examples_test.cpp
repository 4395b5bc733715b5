// Each code of docs/errors.md has an example there: the wrong text, command or program gives the
// code, the right one none.
#include "tests/docs/error_examples.hpp"
#include "tests/docs/page.hpp"
#include "tests/unit/temp_folder.hpp"

#include <broadloom/error.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

namespace {

const std::string page = "docs/errors.md";

// Not given any more, or about texts and bugs of ours.
const std::set<std::string> without{"E0011", "E0204", "E0407", "E0801", "E0802", "E0901"};

std::string code_of(void (*example)()) {
  try {
    example();
  } catch (const broadloom::Error &error) {
    return error.code();
  }
  return "none";
}

// The sections "### E0102" of the page, as far as the next heading.
std::string example_of(const std::string &code) {
  const std::string text = pages::text_of(page), heading = "\n### " + code + "\n";
  const std::size_t at = text.find(heading);
  REQUIRE_MESSAGE(at != text.npos, "no example of " << code);
  return text.substr(at + heading.size(), text.find("\n### ", at + 1) - at - heading.size());
}

} // namespace

TEST_CASE(
    "every code has an example, whose wrong command gives it and whose right one gives none") {
  std::set<std::string> programs;
  for (const pages::ErrorExample &example : pages::error_examples()) programs.insert(example.code);
  std::istringstream lines(pages::text_of(page));
  int codes = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| E")) continue;
    const std::string code = line.substr(2, 5);
    if (without.count(code) == 1) continue;
    CAPTURE(code);
    ++codes;
    const std::string example = example_of(code);
    CHECK(example.find_first_not_of('\n') < example.find("```")); // it says why
    if (programs.count(code) == 1) continue;
    const auto blocks = pages::blocks_of(example);
    REQUIRE(blocks.size() == 1);
    CHECK(blocks[0].language == "console");
    const std::string &shown = blocks[0].text;
    const std::size_t error = shown.find("error[" + code + "]");
    REQUIRE(error != shown.npos);
    const std::size_t right = shown.find("\n$ ", error);
    REQUIRE_MESSAGE(right != shown.npos, "a right command follows");
    CHECK(shown.find("error[", right) == shown.npos);
  }
  CHECK(codes > 120);
}

TEST_CASE("every command of the examples of errors prints what is shown") {
  CHECK(pages::run_console_blocks(page) > 150);
}

TEST_CASE("every program of the examples of errors gives its code, and the right one none") {
  const TempFolder folder; // of the files that they write
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path);
  CHECK(pages::error_examples().size() > 35);
  for (const pages::ErrorExample &example : pages::error_examples()) {
    CAPTURE(example.code);
    CHECK(code_of(example.wrong) == example.code);
    CHECK(code_of(example.right) == "none");
  }
  std::filesystem::current_path(before);
}

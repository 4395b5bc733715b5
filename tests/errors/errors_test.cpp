// Every mistake has its page: a text that is wrong in one way, and below it, after "#> ", what a
// person then reads. `./dev bless` rewrites those lines from what is printed now.
#include "tests/file_cases.hpp"
#include "tests/golden/golden_files.hpp"
#include "tests/places.hpp"

#include "spec/spec.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace bl = broadloom;
namespace fs = std::filesystem;

namespace {

const std::vector<fs::path> wrong_texts = bl::golden::looms_in("errors");

// The text without its last lines, which say what is expected.
std::string text_of(const std::string &contents) {
  return contents.substr(0, std::min(contents.size(), contents.find("\n#>") + 1));
}

std::string expected(const std::string &contents) {
  std::istringstream lines(contents.substr(text_of(contents).size()));
  std::string message;
  for (std::string line; std::getline(lines, line);)
    message += line.substr(std::min<std::size_t>(line.size(), 3)) + "\n";
  return message;
}

std::string as_lines(const std::string &message) {
  std::istringstream lines(message);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    text += "#>" + (line.empty() ? "" : " " + line) + "\n";
  return text;
}

std::string message_for(const fs::path &path) {
  try {
    for (const bl::LoopSpec &spec :
         bl::parse_all(text_of(bl::golden::read(path)), path.filename().string()))
      bl::check(spec);
  } catch (const bl::Error &error) {
    return error.render() + "\n";
  }
  return "no error\n";
}

void check_message(const fs::path &path) {
  const std::string contents = bl::golden::read(path), message = message_for(path);
  if (std::getenv("BROADLOOM_BLESS") != nullptr)
    std::ofstream(path, std::ios::binary) << text_of(contents) + as_lines(message);
  else
    CHECK(message == expected(contents));
  CHECK(message.find("\nhelp: ") != std::string::npos);
}

const bool added = bl::tests::add_cases(wrong_texts, "the error of ", check_message);

} // namespace

TEST_CASE("there are wrong texts") {
  CHECK(added);
  CHECK(wrong_texts.size() >= 160);
}

TEST_CASE("every code that a wrong text gives is listed in docs/errors.md") {
  std::string list = bl::golden::read(fs::path(BROADLOOM_SOURCE_DIR) / "docs/errors.md");
  for (const fs::path &path : wrong_texts) {
    std::string message = message_for(path);
    std::size_t at = message.find("error[");
    REQUIRE(at != std::string::npos);
    std::string code = message.substr(at + 6, 5);
    INFO(code);
    CHECK(list.find("| " + code + " |") != std::string::npos);
  }
}

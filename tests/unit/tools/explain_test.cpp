// `broadloom explain`: the page of error codes, in the program.
#include "tests/places.hpp"
#include "tools/broadloom/cli/cli.hpp"
#include "tools/broadloom/cli/explain.hpp"
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/help/pages.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

using namespace broadloom;

namespace {

std::string page() {
  std::ifstream file(BROADLOOM_SOURCE_DIR "/docs/errors.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("the program has the page of error codes to the byte") {
  CHECK(!page().empty());
  CHECK(cli::errors_page() == page());
}

TEST_CASE("each code of the page is explained") {
  std::istringstream lines(page());
  int codes = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| E")) continue;
    ++codes;
    const std::string code = line.substr(2, 5), text = cli::explanation(code);
    CHECK(text.starts_with(code + ": "));
    CHECK(text.find("\nE") != text.npos); // the kind
    const std::string words = text.substr(0, text.find("\nFor example:"));
    CHECK(words.find("](") == words.npos); // no marks of links
    CHECK(text.find("\\|") == text.npos);
  }
  CHECK(codes > 100);
}

TEST_CASE("an explanation is the row, its kind, what it links to, and an example") {
  const std::string text = cli::explanation("e0408"), example = "\nFor example:\n";
  REQUIRE(text.find(example) != text.npos);
  CHECK(text.substr(0, text.find(example)) ==
        "E0408: there is no disk cache: no folder that is the user's own and closed to others, or "
        "only one in a home of another user\n\n"
        "E04xx: the command line\n"
        "These errors have no place in a text, but for commands of a script, which have its line. "
        "The "
        "program\nsays `broadloom: error[..]` and ends with status 2.\n");
  CHECK(text.substr(text.find(example)).starts_with(example + "Code is kept in a folder"));
  CHECK(text.find("\n  $ mkdir open") != text.npos);
  CHECK(text.find("```") == text.npos);
  CHECK(cli::explanation("E0305").find("\nWhen memory ends\nAn allocation that fails") !=
        std::string::npos);
}

TEST_CASE("a code that is none brings the one that was perhaps meant") {
  try {
    cli::explanation("E0499");
    CHECK(false);
  } catch (const cli::UsageError &error) {
    CHECK(error.message() == "there is no error 'E0499'");
    CHECK(error.help().ends_with("broadloom explain lists them all"));
  }
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(cli::run_cli({"explain", "nonsense"}, in, out, err) == 2);
  CHECK(cli::run_cli({"explain"}, in, out, err) == 0);
  CHECK(out.str().find("\n  E0102  ") != std::string::npos);
}

// The session on docs/repl.md is what the REPL prints for the lines of transcript.txt.
// BROADLOOM_BLESS=1 writes it there.
#include "tests/places.hpp"
#include "tools/broadloom/cli/failure.hpp"
#include "tools/broadloom/repl/repl.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace broadloom::cli;

namespace {

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a person sees who types these lines.
std::string transcript_of(const std::string &lines) {
  std::istringstream in(lines), nothing;
  std::ostringstream out;
  Session session({nothing, out, out}, {});
  Feeder feeder(session, "<input>");
  for (std::string line; std::getline(in, line);) {
    if (!feeder.open()) feeder.restart();
    out << (feeder.open() ? "... " : "> ") << line << '\n';
    try {
      feeder.line(line);
    } catch (const broadloom::Error &) {
      out << describe(std::current_exception(), session.phase(), false).text << '\n';
    }
  }
  return out.str();
}

} // namespace

TEST_CASE("the session on docs/repl.md is what the REPL prints") {
  const std::string root = BROADLOOM_SOURCE_DIR, path = root + "/docs/repl.md";
  const std::string
      begin = "<!-- transcript of tests/repl/transcript.txt, written by ./dev bless -->\n```text\n",
      end = "```\n<!-- end of the transcript -->";
  const std::string page = contents(path);
  const std::size_t from = page.find(begin), to = page.find(end);
  REQUIRE(from != page.npos);
  REQUIRE(to != page.npos);
  const std::size_t first = from + begin.size();
  const std::string made = transcript_of(contents(root + "/tests/repl/transcript.txt"));
  if (std::getenv("BROADLOOM_BLESS") != nullptr) {
    std::ofstream(path, std::ios::binary) << page.substr(0, first) + made + page.substr(to);
    return;
  }
  CHECK(page.substr(first, to - first) == made);
}

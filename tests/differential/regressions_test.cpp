// Cases that once failed, each a file with its story: see case.hpp for what the lines before the
// kernel mean.
#include "engines.hpp"
#include "tests/places.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace broadloom::differential {
namespace {

TEST_CASE("what once failed stays right in all engines") {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry :
       std::filesystem::directory_iterator(BROADLOOM_SOURCE_DIR "/tests/regressions"))
    if (entry.path().extension() == ".loom") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  CHECK(!paths.empty());
  for (const std::filesystem::path &path : paths) {
    SUBCASE(path.filename().c_str()) {
      std::ostringstream text;
      text << std::ifstream(path).rdbuf();
      Case c = read_case(text.str());
      CHECK(!c.story.empty());
      complete_outputs(c);
      Tally tally;
      const std::optional<std::string> mistake = find_mistake(c, {.all_threads = true}, tally);
      CHECK_MESSAGE(!mistake, mistake.value_or(""));
    }
  }
}

} // namespace
} // namespace broadloom::differential

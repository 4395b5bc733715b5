// The pages for users are tested as they stand: see page.hpp.
#include "tests/docs/page.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

// docs/tutorial.md, docs/compare.md and every page of docs/ideas.
std::vector<std::string> pages_for_users() {
  const fs::path root = BROADLOOM_SOURCE_DIR;
  std::vector<std::string> found{"docs/tutorial.md", "docs/compare.md"};
  for (const auto &entry : fs::directory_iterator(root / "docs" / "ideas"))
    if (entry.path().extension() == ".md")
      found.push_back("docs/ideas/" + entry.path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace

TEST_CASE("every kernel on a page for users is a right one") {
  for (const std::string &path : pages_for_users()) {
    CAPTURE(path);
    pages::check_loom_blocks(path);
  }
}

TEST_CASE("every page for users shows what its commands print") {
  for (const std::string &path : pages_for_users()) {
    CAPTURE(path);
    CHECK(pages::run_console_blocks(path) >= 1);
  }
}

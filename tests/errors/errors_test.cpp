// Every mistake has its page: NAME.loom is wrong in one way, NAME.err is what a person then reads.
// `./dev bless` rewrites the .err files from what is printed now.
#include "spec/spec.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace bl = broadloom;
namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string message_for(const fs::path &path) {
  try {
    for (const bl::LoopSpec &spec : bl::parse_all(contents(path), path.filename().string()))
      bl::check(spec);
  } catch (const bl::Error &error) {
    return error.render() + "\n";
  }
  return "no error\n";
}

std::vector<fs::path> wrong_texts() {
  std::vector<fs::path> paths;
  for (const auto &entry : fs::directory_iterator(fs::path(BROADLOOM_SOURCE_DIR) / "tests/errors"))
    if (entry.path().extension() == ".loom") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() >= 80);
  return paths;
}

} // namespace

TEST_CASE("every wrong text gives the error that is written beside it") {
  bool bless = std::getenv("BROADLOOM_BLESS") != nullptr;
  for (const fs::path &path : wrong_texts()) {
    std::string message = message_for(path);
    fs::path expected = fs::path(path).replace_extension(".err");
    if (bless) std::ofstream(expected, std::ios::binary) << message;
    INFO(path.filename().string());
    CHECK(message == contents(expected));
    CHECK(message.find("\nhelp: ") != std::string::npos);
  }
}

TEST_CASE("every code that a wrong text gives is listed in docs/errors.md") {
  std::string list = contents(fs::path(BROADLOOM_SOURCE_DIR) / "docs/errors.md");
  for (const fs::path &path : wrong_texts()) {
    std::string message = message_for(path);
    std::size_t at = message.find("error[");
    REQUIRE(at != std::string::npos);
    std::string code = message.substr(at + 6, 5);
    INFO(code);
    CHECK(list.find("| " + code + " |") != std::string::npos);
  }
}

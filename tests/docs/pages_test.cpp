// The pages for users are tested as they stand: see page.hpp.
#include "tests/docs/page.hpp"
#include "tests/places.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

// docs/tutorial.md, compare.md, gallery.md and every page of docs/ideas; or the one that
// BROADLOOM_PAGE names: docs/contributing.md, which holds in a tree with its patches only
// (add_op.sh).
std::vector<std::string> pages_for_users() {
  if (const char *one = std::getenv("BROADLOOM_PAGE")) return {one};
  const fs::path root = BROADLOOM_SOURCE_DIR;
  std::vector<std::string> found{"docs/tutorial.md", "docs/compare.md", "docs/gallery.md"};
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

TEST_CASE("every link in README.md, SECURITY.md and docs leads to a file, and to a heading of it") {
  const fs::path root = BROADLOOM_SOURCE_DIR;
  std::vector<fs::path> pages{"README.md", "SECURITY.md"};
  for (const char *folder : {"docs", "docs/ideas"})
    for (const auto &entry : fs::directory_iterator(root / folder))
      if (entry.path().extension() == ".md") pages.push_back(entry.path().lexically_relative(root));
  int links = 0;
  for (const fs::path &page : pages) {
    const std::string text = pages::prose_of(pages::text_of(page.string()));
    for (std::size_t at = text.find("]("); at != text.npos; at = text.find("](", at + 1)) {
      const std::string link = text.substr(at + 2, text.find(')', at + 2) - at - 2);
      if (link.find("://") != link.npos || link.find_first_of(" \n`") != link.npos) continue;
      INFO(page << " links to " << link);
      const std::string file = link.substr(0, link.find('#'));
      const fs::path target = file.empty() ? page : (page.parent_path() / file).lexically_normal();
      REQUIRE(fs::exists(root / target));
      ++links;
      if (link.find('#') == link.npos || target.extension() != ".md") continue;
      std::vector<std::string> anchors;
      for (const std::string &line :
           pages::headings_of(pages::prose_of(pages::text_of(target.string()))))
        anchors.push_back(pages::anchor_of(line.substr(line.find(' ') + 1)));
      CHECK(std::find(anchors.begin(), anchors.end(), link.substr(link.find('#') + 1)) !=
            anchors.end());
    }
  }
  CHECK(links > 200);
}

TEST_CASE("every block on a page for users is run in one way or another") {
  for (const std::string &path : pages_for_users())
    for (const pages::Block &block : pages::blocks_of(pages::text_of(path))) {
      INFO(path << ", line " << block.line);
      const bool program = block.language == "cpp" && !pages::file_name(block).empty();
      const bool peers = block.language == "python" && path == "docs/compare.md"; // by doctest
      const bool patch = block.language == "diff" && path == "docs/contributing.md";
      const bool nest =
          block.language == "text" && path == "docs/contributing.md"; // by loop_parse_test.cpp
      CHECK((program || peers || patch || nest || block.language == "loom" ||
             block.language == "console"));
    }
}

TEST_CASE("the README's figures of speed stand on the benchmark's page") {
  const std::map<std::string, std::string> names{{"Dr.Jit", "drjit"}, {"Halide", "halide"},
                                                 {"JAX", "jax"},      {"NumPy", "numpy"},
                                                 {"numba", "numba"},  {"PyTorch", "torch"}};
  const std::string readme = pages::text_of("README.md"),
                    page = pages::text_of("docs/benchmarks.md");
  const std::string table = readme.substr(readme.find("| case | beside"));
  const std::regex figure(
      R"((?:([0-9]\.[0-9]+) / )?([0-9]\.[0-9]+) (Dr\.Jit|Halide|JAX|NumPy|numba|PyTorch))");
  int figures = 0;
  for (std::sregex_iterator it(table.begin(), table.end(), figure), end; it != end; ++it)
    for (const std::string &number : {(*it)[1].str(), (*it)[2].str()}) {
      if (number.empty()) continue;
      CAPTURE((*it)[0].str());
      const std::string name = names.at((*it)[3]); // "drjit 0.97" or "**1.05** numpy"
      const std::regex there(name + " " + number + "[0-9]?\\b|\\*" + number + "[0-9]?\\*\\* " +
                             name);
      CHECK(std::regex_search(page, there));
      ++figures;
    }
  CHECK(figures > 20);
}

TEST_CASE("the commands of the README that call the program run") {
  int run = 0;
  for (const pages::Block &block : pages::blocks_of(pages::text_of("README.md"))) {
    const std::string folder = "build/tools/";
    if (block.language != "sh" || !block.text.starts_with(folder)) continue;
    std::string commands = block.text;
    for (std::size_t at = 0; (at = commands.find(folder)) != commands.npos;)
      commands.erase(at, folder.size());
    const std::string shown = pages::output_of(std::string("set -e; cd '") + BROADLOOM_SOURCE_DIR +
                                               "'\n" + commands + "\necho all");
    CAPTURE(shown);
    CHECK(shown.ends_with("all\n"));
    for (const char *part : {"s: f32[3]", "out d_x : f32", "phase 0:"})
      CHECK(shown.find(part) != shown.npos);
    ++run;
  }
  CHECK(run == 1);
}

TEST_CASE("the picture of the README is what its script makes of the benchmark's page") {
  const std::string script = (fs::path(BROADLOOM_SOURCE_DIR) / "tools/bench/picture.py").string();
  CHECK(pages::output_of("python3 '" + script + "' --check") == "the same\n");
}

// Rows are | our word | the field's word | what it is | `file` |; of several words, each counts.
TEST_CASE("every word of the glossary stands in the file that its row names, and in one row") {
  const fs::path root = BROADLOOM_SOURCE_DIR;
  const auto lower = [](std::string text) {
    for (char &c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  std::istringstream lines(pages::text_of("docs/glossary.md"));
  int rows = 0;
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.starts_with("| ---") || line.starts_with("| our")) continue;
    CAPTURE(line);
    const std::size_t quote = line.rfind(" | `"), end = line.rfind("` |");
    REQUIRE(quote != line.npos);
    const fs::path file = root / line.substr(quote + 4, end - quote - 4);
    REQUIRE(fs::exists(file));
    std::ifstream in(file);
    const std::string text = lower({std::istreambuf_iterator<char>(in), {}});
    std::istringstream words(line.substr(2, line.find(" | ") - 2));
    for (std::string word; std::getline(words >> std::ws, word, ',');) {
      CAPTURE(word);
      CHECK(text.find(lower(word)) != text.npos);
      CHECK(seen.insert(word).second);
    }
    ++rows;
  }
  CHECK(rows >= 25);
}

// All mistakes of a text at once.
#include "tests/places.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace bl = broadloom;

namespace {

// "E0003 3:11", one for each.
std::vector<std::string> found(const std::string &text) {
  std::vector<std::string> places;
  for (const bl::Error &error : bl::find_mistakes(text))
    places.push_back(error.code() + " " + std::to_string(error.where().line) + ":" +
                     std::to_string(error.where().column));
  return places;
}

using Found = std::vector<std::string>;

} // namespace

TEST_CASE("a right text has no mistakes") {
  CHECK(found("kernel k { in x : f32[i]; out z = exp(x) }").empty());
}

TEST_CASE("each statement tells its mistake, and those around it are read") {
  CHECK(found("kernel k {\n"
              "  in x : float[i]\n"
              "  in y : f32[i]\n"
              "  let t = expp(y)\n"
              "  out a = y +\n"
              "}\n"
              "kernel l {\n"
              "  in x : f32[i]\n"
              "  out z = cumsum(x, i)\n"
              "  out w = x if x > 0 else 1\n"
              "}\n") ==
        Found{"E0002 2:10", "E0008 4:11", "E0002 6:1", "E0008 9:11", "E0002 10:13"});
}

TEST_CASE("what follows from a mistake is no other one") {
  CHECK(found("kernel k {\n"
              "  in x : float[i]\n"
              "  let t = x * 2\n"
              "  out z = t + 1\n"
              "  out w = sqrt(q)\n"
              "}\n") == Found{"E0002 2:10", "E0003 5:16"});
  CHECK(found("def f(a) = a +\n\nkernel k {\n  in x : f32[i]\n  out z = f(x)\n}\n") ==
        Found{"E0005 3:1"});
}

TEST_CASE("characters and numbers that are none are told once for each statement") {
  CHECK(found("kernel k {\n"
              "  in x : f32[i]\n"
              "  out a = np.exp(x)\n"
              "  out b = x @ x\n"
              "  out c = 2x\n"
              "  out d = x + 1\n"
              "}\n") == Found{"E0001 3:13", "E0001 4:13", "E0006 5:11"});
}

TEST_CASE("outputs that are well formed are checked one by one") {
  CHECK(found("kernel k {\n"
              "  in x : bool[i]\n"
              "  in y : f32[j]\n"
              "  out a = -x\n"
              "  out b = sum(y, i)\n"
              "  out c = y + 1\n"
              "  out d = ~y\n"
              "}\n") == Found{"E0201 4:11", "E0103 5:11", "E0201 7:11"});
  // Beside a mistake of form, too, but not where a setting was lost that says how they are meant.
  CHECK(found("kernel k {\n  in x : bool[i]\n  out a = -x\n  out b = x +\n}\n").size() == 2);
  CHECK(found("kernel k {\n  order q\n  in x : f32[:]\n  in y : f32[:, 3]\n  out a = x + y\n}\n") ==
        Found{"E0002 2:9"});
}

TEST_CASE("what ends a text early is told once") {
  CHECK(found("kernel k {\n  in x : f32[i]\n  out z = x\n") == Found{"E0007 1:10"});
  CHECK(found("out z = x\nkernel k { in x : f32[i]; out z = x }\nlet q = 3\n") ==
        Found{"E0002 1:1", "E0002 3:1"});
  CHECK(found("kernel k { in x : f32[i]; out z = \xff }") == Found{"E0014 1:35"});
  CHECK(bl::find_mistakes("").at(0).code() == "E0010");
}

TEST_CASE("the first mistake is the one that parse and check throw") {
  const std::string text = "kernel k {\n  in x : f32[i]\n  out z = x + q\n  out w = p\n}\n";
  try {
    bl::parse(text);
    FAIL("nothing was thrown");
  } catch (const bl::Error &error) {
    CHECK(error.render() == bl::find_mistakes(text).at(0).render());
  }
}

TEST_CASE("a text has mistakes where parse and check throw, the one that they throw among them, "
          "wherever it is damaged") {
  const auto thrown = [](const std::string &text) -> std::string {
    try {
      for (const bl::LoopSpec &spec : bl::parse_all(text)) bl::check(spec);
    } catch (const bl::Error &error) {
      return error.render();
    }
    return "";
  };
  int texts = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(BROADLOOM_SOURCE_DIR "/tests/golden")) {
    if (entry.path().extension() != ".loom") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(file), {});
    const std::size_t step = whole.size() / 8 + 1;
    for (std::size_t at = step / 2; at < whole.size(); at += step)
      for (const std::string &text :
           {whole.substr(0, at), std::string(whole).erase(at, 1),
            std::string(whole).insert(at, "$"), std::string(whole).insert(at, " q ")}) {
        INFO(text);
        const std::string first = thrown(text);
        const std::vector<bl::Error> mistakes = bl::find_mistakes(text);
        bool among = first.empty();
        for (const bl::Error &error : mistakes) among = among || error.render() == first;
        const bool is_kernel_there = !mistakes.empty() && mistakes[0].code() == "E0010";
        CHECK((mistakes.empty() || is_kernel_there) == first.empty());
        CHECK(among);
        ++texts;
      }
  }
  CHECK(texts > 1000);
}

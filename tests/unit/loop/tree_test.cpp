// The trees of folds and scans, joined as text. All who run a fold ask loop/tree.hpp, so that no
// comparison of engines would tell.
#include "loop/tree.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace broadloom::loop {
namespace {

std::vector<std::string> letters(int count) {
  std::vector<std::string> all;
  for (int k = 0; k < count; ++k) all.emplace_back(1, char('a' + k));
  return all;
}

std::string joined(const std::string &earlier, const std::string &later) {
  return "(" + earlier + later + ")";
}

// Of so many leaves, of which the first `together` come in pairs.
std::string leaves(int count, int together = 0) {
  tree::Leaves<std::string> tree;
  const auto join = [](const std::string &a, std::string &b) { b = joined(a, b); };
  std::vector<std::string> all = letters(count);
  for (int k = 0; k < together; k += 2)
    tree.add(joined(all[std::size_t(k)], all[std::size_t(k) + 1]), 2, join);
  for (int k = together; k < count; ++k) tree.add(all[std::size_t(k)], 1, join);
  return tree.all(join);
}

} // namespace

TEST_CASE("lanes are joined by halving") {
  std::vector<std::string> lanes = letters(8);
  tree::halve(8, [&](int into, int from) {
    lanes[std::size_t(into)] = joined(lanes[std::size_t(into)], lanes[std::size_t(from)]);
  });
  CHECK(lanes[0] == "(((ae)(cg))((bf)(dh)))");
}

TEST_CASE("leaves side by side are joined with their neighbours") {
  std::vector<std::string> lanes = letters(8);
  tree::pair(8, [&](int into, int from) {
    lanes[std::size_t(into)] = joined(lanes[std::size_t(into)], lanes[std::size_t(from)]);
  });
  CHECK(lanes[0] == "(((ab)(cd))((ef)(gh)))");
}

TEST_CASE("leaves are joined as a binary counter carries, and the last ones are carried up") {
  CHECK(leaves(1) == "a");
  CHECK(leaves(3) == "((ab)c)");
  CHECK(leaves(7) == "(((ab)(cd))((ef)g))");
  CHECK(leaves(8) == "(((ab)(cd))((ef)(gh)))");
}

TEST_CASE("leaves that come in groups are joined as if they came one by one") {
  for (const int count : {2, 3, 5, 6, 7, 12, 13})
    for (int together = 0; together <= count; together += 2) {
      CAPTURE(together);
      CHECK(leaves(count, together) == leaves(count));
    }
}

TEST_CASE("in a group of a scan the later half is joined to the last place of the earlier half") {
  std::vector<int> earlier;
  for (const int distance : {1, 2, 4})
    for (int place = 0; place < 8; ++place) earlier.push_back(tree::earlier(place, distance));
  CHECK(earlier == std::vector<int>{-1, 0,  -1, 2,  -1, 4,  -1, 6, //
                                    -1, -1, 1,  1,  -1, -1, 5,  5, //
                                    -1, -1, -1, -1, 3,  3,  3,  3});
}

} // namespace broadloom::loop

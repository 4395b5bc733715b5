// Statements that say how, not what:
//
//   set accuracy = high        set relaxed = on
//   fuse a, b                  separate a, c
#include "text/parser.hpp"

#include "support/text.hpp"

#include <array>

namespace broadloom::text {

namespace {

struct Setting {
  std::string_view name;
  std::vector<std::string> values;
};
const std::array<Setting, 3> &settings() {
  static const std::array<Setting, 3> all{{{"accuracy", {"high", "exact", "fast"}},
                                           {"relaxed", {"off", "on"}},
                                           {"scales", {"keep", "fold"}}}};
  return all;
}

// The words of the language's own, in the order of the enumerators.
std::size_t choose(Cursor &cursor, const char *what, const std::vector<std::string> &words) {
  const Token &token = cursor.expect(Tok::Name, what);
  const std::string word(cursor.word(token));
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return i;
  const std::string near = support::closest(word, words);
  cursor.fail("E0015", "'" + word + "' is not " + what, token,
              near.empty() ? "choose from " + support::quoted_list(words)
                           : "did you mean '" + near + "'?");
}

} // namespace

void parse_set(Cursor &cursor, SpecData &data) {
  cursor.next();
  std::vector<std::string> names;
  for (const Setting &setting : settings()) names.emplace_back(setting.name);
  const std::size_t which = choose(cursor, "a setting", names);
  cursor.expect(Tok::Assign, "'='");
  const std::string what = "a value of '" + names[which] + "'";
  const std::size_t value = choose(cursor, what.c_str(), settings()[which].values);
  if (which == 0)
    data.accuracy = Accuracy(value);
  else if (which == 1)
    data.relaxed = value == 1;
  else
    data.scales = Scales(value);
}

void parse_pairing(Cursor &cursor, SpecData &data) {
  const Token word = cursor.next();
  Pairing pairing;
  pairing.fuse = cursor.word(word) == "fuse";
  pairing.a = cursor.word(cursor.expect_new_name("the name of a let or an output"));
  cursor.expect(Tok::Comma, "','");
  pairing.b = cursor.word(cursor.expect_new_name("the name of a let or an output"));
  pairing.where = cursor.source().place(word, cursor.previous());
  data.pairings.push_back(std::move(pairing));
}

} // namespace broadloom::text

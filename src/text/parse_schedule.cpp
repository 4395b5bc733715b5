// How the loops are to run, as wishes:
//
//   schedule {
//     vector j; copies j 2         # clauses end as statements do
//     order i, j
//     stream y
//   }
//   schedule h { parallel n }      # of the loops of let h, an array
//
// Neither `schedule` nor the words of clauses are reserved: they begin a statement or a clause,
// where no name can stand.
#include "text/parser.hpp"

#include "support/text.hpp"

#include <optional>

namespace broadloom::text {

namespace {

using Kind = ScheduleClause::Kind;

Kind parse_word(Cursor &cursor) {
  std::vector<std::string> words;
  for (int k = 0; k <= int(Kind::Separate); ++k) words.emplace_back(spec::word_of(Kind(k)));
  if (!cursor.is(Tok::Name)) cursor.unexpected("a clause of the schedule, or '}'");
  const std::string word(cursor.word(cursor.peek()));
  for (std::size_t k = 0; k < words.size(); ++k)
    if (words[k] == word) return Kind(k);
  const std::string near = support::closest(word, words);
  cursor.fail("E0015", "'" + word + "' is no clause of a schedule", cursor.peek(),
              near.empty() ? "choose from " + support::quoted_list(words)
                           : "did you mean '" + near + "'?");
}

std::string parse_name(Cursor &cursor, const char *what) {
  return std::string(cursor.word(cursor.expect_new_name(what)));
}

ScheduleClause parse_clause(Cursor &cursor) {
  const Token first = cursor.peek();
  ScheduleClause clause;
  clause.kind = parse_word(cursor);
  cursor.next();
  switch (clause.kind) {
  case Kind::Vector:
  case Kind::Parallel:
  case Kind::Serial: clause.axes.push_back(parse_axis(cursor)); break;
  case Kind::Copies:
  case Kind::Tile:
    clause.axes.push_back(parse_axis(cursor));
    clause.count = cursor.expect_int("a count");
    break;
  case Kind::Order:
    do clause.axes.push_back(parse_axis(cursor));
    while (cursor.accept(Tok::Comma));
    break;
  case Kind::Keep:
  case Kind::Recompute:
  case Kind::Inline: clause.names.push_back(parse_name(cursor, "the name of a let")); break;
  case Kind::At:
    clause.names.push_back(parse_name(cursor, "the name of a let"));
    clause.axes.push_back(parse_axis(cursor));
    break;
  case Kind::Stream:
  case Kind::Cached: clause.names.push_back(parse_name(cursor, "the name of an output")); break;
  case Kind::Of: break; // no clause begins with its word
  case Kind::Fuse:
  case Kind::Separate:
    clause.names.push_back(parse_name(cursor, "the name of a let or an output"));
    cursor.expect(Tok::Comma, "','");
    clause.names.push_back(parse_name(cursor, "the name of a let or an output"));
    break;
  }
  clause.where = cursor.source().place(first, cursor.previous());
  return clause;
}

} // namespace

void parse_schedule(Cursor &cursor, SpecData &data) {
  const auto skip_breaks = [&] {
    while (cursor.accept(Tok::Break)) {
    }
  };
  cursor.next();
  std::optional<Token> let;
  if (cursor.is(Tok::Name)) let = cursor.expect_new_name("the name of a let");
  skip_breaks();
  const Token brace = cursor.expect(Tok::LeftBrace, "'{'");
  Schedule said;
  while (skip_breaks(), !cursor.accept(Tok::RightBrace)) {
    if (cursor.is(Tok::End))
      cursor.fail("E0007", "the schedule is never closed", brace, "add the missing '}'");
    said.add(parse_clause(cursor));
    if (!cursor.is(Tok::Break) && !cursor.is(Tok::RightBrace) && !cursor.is(Tok::End))
      cursor.unexpected("the end of the clause");
  }
  if (let)
    data.schedule.of(std::string(cursor.word(*let)), said, cursor.source().place(*let));
  else
    for (const ScheduleClause &clause : said.clauses()) data.schedule.add(clause);
}

} // namespace broadloom::text

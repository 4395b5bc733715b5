// `let z[i, j] = concat(i, x, y)`, `let s[k, i] = stack(k, x, y)` and `let p[r] = parts(x at [2*i],
// y at [2*i + 1])`: arrays that lie in one (expr/join.hpp).
//
//   join = ( "concat" | "stack" ) "(" dim "," expression { "," expression } ")" | "parts" "(" part
//   { "," part } ")"
//   part = expression "at" "[" form [ "<" form ] { "," form [ "<" form ] } "]"
#include "support/text.hpp"
#include "text/parser.hpp"

namespace broadloom::text {

bool at_join(const Cursor &cursor) {
  return (cursor.is_word("concat") || cursor.is_word("stack") || cursor.is_word("parts")) &&
         cursor.peek(1).kind == Tok::LeftParen;
}

PartPlace parse_place_of_part(Cursor &cursor, const Symbols &symbols, const std::string &whole) {
  const Token first = cursor.expect(Tok::LeftBracket, "'['");
  PartPlace place;
  std::vector<SaidExtent> said;
  do {
    place.positions.push_back(parse_form(cursor, symbols));
    if (!cursor.is(Tok::Less)) continue;
    const Token less = cursor.next();
    // `i + 3 < 5`: the position is below 5, so that i has 2 elements.
    const AffineForm &form = place.positions.back();
    AffineForm extent = parse_form(cursor, symbols), before = form;
    if (form.terms.size() != 1) continue; // it is told to be none
    if (form.terms[0].times != 1)
      cursor.fail("E0034",
                  "how many elements of '" + form.terms[0].axis +
                      "' lie below that is no sum of numbers and extents",
                  less, "say the extent of a let, let part[i < 3] = .., and write that");
    before.terms.clear();
    before.stays_inside = false;
    if (!add_to(extent, before, -1))
      cursor.fail("E0006", "the numbers of this extent leave the range of i64", less,
                  "use smaller numbers");
    said.push_back({form.terms[0].axis, std::move(extent)});
  } while (cursor.accept(Tok::Comma));
  cursor.expect(Tok::RightBracket, "',' or ']'");
  const Place where = cursor.source().place(first, cursor.previous());
  const PlaceOf shown = [&] { return support::with_text(where, cursor.source().text.get()); };
  check_positions_of_part(whole, place.positions, shown);
  if (!said.empty()) place.said = make_said(whole, std::move(said), shown);
  return place;
}

static Expr parse_parts(Cursor &cursor, Symbols &symbols, const Definitions &definitions,
                        const std::string &whole, const Token &first) {
  std::vector<Expr> parts;
  JoinPositions positions;
  do {
    parts.push_back(parse_expression(cursor, symbols, definitions));
    if (!cursor.is_word("at")) cursor.unexpected("'at' and the positions of the part");
    cursor.next();
    PartPlace place = parse_place_of_part(cursor, symbols, whole);
    positions.of_parts.push_back(std::move(place.positions));
    positions.said.push_back(std::move(place.said));
  } while (cursor.accept(Tok::Comma));
  cursor.expect(Tok::RightParen, "',' or ')'");
  return make_join_at(std::move(parts), std::move(positions),
                      cursor.source().place(first, cursor.previous()));
}

Expr lay_into(Symbols &symbols, const Joined &into, const Expr &join) {
  Expr let = let_of_join(
      into.name, into.axes, join, into.where,
      [&](const std::string &name) { return !symbols.contains(name); },
      [&](const Expr &part) {
        into.lets.push_back(part);
        symbols[part.node()->name] = {Symbol::Kind::Let, part};
      },
      symbols.parts);
  for (const Expr &part : let.node()->args[0].node()->args) symbols.parts.insert(part.node());
  return let;
}

static void check_dims(const Cursor &cursor, const Joined &into, const Token &first) {
  if (into.axes.empty())
    cursor.fail("E0029", "'" + into.name + "' is made up of parts, and lists no dims", first,
                "list those of the whole: let " + into.name + "[i, j] = concat(i, x, y)");
}

Expr parse_join(Cursor &cursor, Symbols &symbols, const Definitions &definitions,
                const Joined &into) {
  const Token first = cursor.next();
  const bool stacks = cursor.word(first) == "stack";
  cursor.expect(Tok::LeftParen, "'('");
  if (cursor.word(first) == "parts") {
    const Expr join = parse_parts(cursor, symbols, definitions, into.name, first);
    check_dims(cursor, into, first);
    return lay_into(symbols, into, join);
  }
  AxisRef axis = parse_axis(cursor);
  std::vector<Expr> parts;
  while (cursor.accept(Tok::Comma)) parts.push_back(parse_expression(cursor, symbols, definitions));
  if (parts.empty()) cursor.unexpected("',' and the first part");
  cursor.expect(Tok::RightParen, "',' or ')'");
  const Place where = cursor.source().place(first, cursor.previous());
  check_dims(cursor, into, first);
  const Expr join = make_join(std::move(axis), std::move(parts), stacks, where);
  dim_of_join(into.name, *join.node(), into.axes,
              [&] { return support::with_text(where, cursor.source().text.get()); });
  return lay_into(symbols, into, join);
}

} // namespace broadloom::text

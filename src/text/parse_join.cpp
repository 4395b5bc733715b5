// `let z[i, j] = concat(i, x, y)` and `let s[k, i] = stack(k, x, y)`: arrays side by side (expr/join.hpp).
//
//   join = ( "concat" | "stack" ) "(" dim "," expression { "," expression } ")"
#include "support/text.hpp"
#include "text/parser.hpp"

namespace broadloom::spec {

bool at_join(const Cursor &cursor) {
  return (cursor.is_word("concat") || cursor.is_word("stack")) &&
         cursor.peek(1).kind == Tok::LeftParen;
}

Expr parse_join(Cursor &cursor, Symbols &symbols, const Definitions &definitions,
                const Joined &into) {
  const Token first = cursor.next();
  const bool stacks = cursor.word(first) == "stack";
  cursor.expect(Tok::LeftParen, "'('");
  AxisRef axis = parse_axis(cursor);
  std::vector<Expr> parts;
  while (cursor.accept(Tok::Comma)) parts.push_back(parse_expression(cursor, symbols, definitions));
  if (parts.empty()) cursor.unexpected("',' and the first part");
  cursor.expect(Tok::RightParen, "',' or ')'");
  const Place where = cursor.source().place(first, cursor.previous());
  if (into.axes.empty())
    cursor.fail("E0029", "'" + into.name + "' is made up of parts, and lists no dims", first,
                "list those of the whole: let " + into.name + "[i, j] = concat(i, x, y)");
  const Expr join = make_join(std::move(axis), std::move(parts), stacks, where);
  dim_of_join(into.name, *join.node(), into.axes,
              [&] { return support::with_text(where, cursor.source().text.get()); });
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

} // namespace broadloom::spec

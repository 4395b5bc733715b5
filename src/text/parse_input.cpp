// `in x : f32[i, j=3, k?]`, `in y : f32[:, :] axes(1, 2)`, `param s : f32[c] > 0`, `state w :
// f64[c]`.
#include "text/parser.hpp"

#include "expr/stretch.hpp"
#include "support/number.hpp"

#include <array>
#include <utility>

namespace broadloom::text {

namespace {

std::int64_t parse_extent(Cursor &cursor) {
  const Token &token = cursor.expect(Tok::Int, "an extent");
  const auto value = support::number_of<std::int64_t>(cursor.word(token));
  if (!value || *value > std::int64_t(1) << 62)
    cursor.fail("E0006", "the extent is too large", token, "extents go up to 2^62");
  return *value;
}

void parse_dims(Cursor &cursor, InputDecl &decl) {
  if (cursor.accept(Tok::RightBracket)) return;
  do {
    const Token &token = cursor.peek();
    Dim dim;
    if (cursor.is(Tok::Name)) {
      dim.label = cursor.word(cursor.expect_new_name("an axis"));
      if (cursor.accept(Tok::Assign))
        dim.extent = parse_extent(cursor);
      else if (cursor.accept(Tok::Question))
        dim.extent = expr::may_be_one;
    } else if (cursor.is(Tok::Int)) {
      dim.extent = parse_extent(cursor);
    } else if (!cursor.accept(Tok::Colon)) {
      cursor.unexpected("a dim: a label, ':' or an extent");
    }
    if (cursor.is(Tok::Question))
      cursor.fail("E0012", "'?' stands behind a label alone", token, cursor.peek(),
                  "write `i?`: `:` may be 1 without it, and an extent that is given is the extent");
    if (!decl.dims.empty() && decl.labelled() == dim.label.empty())
      cursor.fail("E0012", "'" + decl.name + "' has labelled and unlabelled dims", token,
                  "label all of them, `c=3` where a dim is fixed, or none");
    for (const Dim &other : decl.dims)
      if (!dim.label.empty() && other.label == dim.label)
        cursor.fail("E0133", "'" + decl.name + "' has the label '" + dim.label + "' twice", token,
                    "declare two labels, or none, and read the diagonal at positions: " +
                        decl.name + "[" + dim.label + ", " + dim.label + "]");
    decl.dims.push_back(std::move(dim));
  } while (cursor.accept(Tok::Comma));
  cursor.expect(Tok::RightBracket, "',' or ']'");
}

void parse_placement(Cursor &cursor, InputDecl &decl) {
  bool dims = cursor.is_word("dims");
  decl.placement = dims ? Placement::Dims : Placement::Axes;
  const Token &clause = cursor.next();
  if (decl.labelled())
    cursor.fail("E0132",
                "'" + decl.name + "' has labels, and " + (dims ? "dims" : "axes") +
                    "() places unlabelled dims",
                clause, "leave the clause out: the labels say where the dims are");
  cursor.expect(Tok::LeftParen, "'('");
  if (cursor.accept(Tok::RightParen)) return;
  do decl.axes.push_back(cursor.expect_int("an axis position"));
  while (cursor.accept(Tok::Comma));
  cursor.expect(Tok::RightParen, "',' or ')'");
}

// `> 0` after a parameter, or nothing.
Sign parse_sign(Cursor &cursor) {
  constexpr std::array signs{
      std::pair{Tok::Greater, Sign::positive}, std::pair{Tok::GreaterEqual, Sign::nonnegative},
      std::pair{Tok::Less, Sign::negative}, std::pair{Tok::LessEqual, Sign::nonpositive},
      std::pair{Tok::NotEqual, Sign::nonzero}};
  for (const auto &[token, sign] : signs) {
    if (!cursor.accept(token)) continue;
    const Token &zero = cursor.peek();
    if (!cursor.is(Tok::Int) || cursor.word(zero) != "0")
      cursor.fail("E0002", "a parameter is compared with 0, and found " + cursor.shown(zero), zero,
                  "write one of > 0, >= 0, < 0, <= 0 and != 0");
    cursor.next();
    return sign;
  }
  return Sign::any;
}

} // namespace

void parse_input(Cursor &cursor, Symbols &symbols, SpecData &data, InputRole role) {
  cursor.next();
  const Token name = expect_new_value(cursor, symbols,
                                      role == InputRole::plain       ? "an input"
                                      : role == InputRole::parameter ? "a parameter"
                                                                     : "a state");
  auto decl = std::make_shared<InputDecl>();
  decl->role = role;
  decl->name = cursor.word(name);
  cursor.expect(Tok::Colon, "':' and a dtype");
  decl->dtype = parse_dtype(cursor);
  if (cursor.accept(Tok::LeftBracket)) parse_dims(cursor, *decl);
  if (cursor.is_word("dims") || cursor.is_word("axes")) parse_placement(cursor, *decl);
  if (role == InputRole::parameter) decl->sign = parse_sign(cursor);
  decl->where = cursor.source().place_with_line(name, cursor.previous());
  data.inputs.push_back(decl);
  symbols[decl->name] = {Symbol::Kind::Input, make_input(decl, decl->where)};
}

} // namespace broadloom::text

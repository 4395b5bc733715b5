// See count_operations.hpp.
#include "text/count_operations.hpp"

namespace broadloom::text {
namespace {

bool ends_operand(Tok kind) {
  return kind == Tok::Name || kind == Tok::Int || kind == Tok::Float || kind == Tok::Imaginary ||
         kind == Tok::RightParen || kind == Tok::RightBracket;
}

bool ends_expression(Tok kind) {
  return kind == Tok::End || kind == Tok::Break || kind == Tok::LeftBrace ||
         kind == Tok::RightBrace || kind == Tok::Assign || kind == Tok::AddAssign;
}

bool is_operator(Tok kind) { return kind >= Tok::OrOr; }

} // namespace

std::size_t count_operations(const Cursor &cursor, std::size_t enough) {
  constexpr std::size_t digits_of_least = 19; // -9223372036854775808 is one number
  std::size_t count = 0, parens = 0, brackets = 0;
  bool in_pad = false;
  std::size_t around_pad = 0; // so many parentheses
  Tok before = Tok::Break;
  for (std::size_t k = 0; count <= enough; ++k) {
    const Token &token = cursor.peek(k);
    const Tok kind = token.kind;
    const bool follows = ends_operand(before);
    if (ends_expression(kind)) return count;
    if (parens + brackets == 0)
      if (kind == Tok::RightParen || kind == Tok::RightBracket || kind == Tok::Comma ||
          (kind == Tok::Name && follows)) // of the next clause
        return count;
    if (kind == Tok::LeftParen) {
      if (before == Tok::Name && brackets == 0 && !in_pad) {
        const std::string_view name = cursor.word(cursor.peek(k - 1));
        in_pad = name == "pad";
        around_pad = parens;
        count += !in_pad && name != "extent" && name != "iota"; // one beside its arguments
      }
      ++parens;
    }
    if (kind == Tok::RightParen && parens > 0 && --parens == around_pad) in_pad = false;
    if (kind == Tok::LeftBracket) ++brackets;
    if (kind == Tok::RightBracket && brackets > 0) --brackets;
    if (is_operator(kind) && brackets == 0 && !in_pad) {
      if (follows)
        count += 2;
      else if (kind != Tok::Minus || cursor.peek(k + 1).length != digits_of_least)
        count += 1;
    }
    before = kind;
  }
  return count;
}

} // namespace broadloom::text

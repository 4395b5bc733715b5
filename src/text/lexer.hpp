// Text to tokens. Line ends matter: one ends a statement, except inside () and [] or after a comma
// or a binary operator, where no token is made of it.
#pragma once

#include <broadloom/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::text {

enum class Tok : std::uint8_t {
  End,
  Break, // the end of the text; of a statement (a line end or ';')
  Name,
  Int,
  Float,
  Imaginary, // 2j, .5j
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  LeftBrace,
  RightBrace,
  Comma,
  Colon,
  Question,
  Assign,
  AddAssign,
  OrOr,
  AndAnd,
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  ShiftLeft,
  ShiftRight,
  Plus,
  Minus,
  Star,
  Slash,
  SlashSlash,
  Percent,
  Caret,
  Bang,
  Tilde,
};

struct Token {
  Tok kind = Tok::End;
  std::uint32_t offset = 0; // bytes
  std::uint32_t length = 0;
  std::int32_t line = 1;   // from 1
  std::int32_t column = 1; // from 1, in code points
};

// A text with its tokens, and the places that errors speak of.
struct Source {
  std::shared_ptr<const std::string> text;
  std::string file;
  std::vector<Token> tokens;           // the last one is End
  std::vector<std::int32_t> line_ends; // by line - 1: the column after its last token

  std::string_view word(const Token &token) const {
    return std::string_view(*text).substr(token.offset, token.length);
  }
  // From the first token to the end of the last, or to the end of the first one's line. Without the
  // source line: add it by `support::with_text` when throwing.
  Place place(const Token &first, const Token &last) const;
  Place place(const Token &token) const { return place(token, token); }
  // The same with the source line, unless that is long: for what each kernel has some of and the
  // analysis completes. Found from the token, it takes no look at all lines before.
  Place place_with_line(const Token &first, const Token &last) const;
};

// Throws SpecError E0001 (unexpected character), E0006 (bad number), E0013 (too long), E0014 (NUL
// or broken UTF-8). With `mistakes` E0001 and E0006 are noted there, and what they are about is
// left out.
Source lex(std::string_view text, std::string_view file, std::vector<Error> *mistakes = nullptr);

} // namespace broadloom::text

// What the parser says of the token at which it stands, and the names and dtypes that it expects
// there.
#include "text/parser.hpp"

#include "spec/words.hpp"
#include "support/fail.hpp"
#include "support/number.hpp"
#include "support/text.hpp"
#include "text/hints.hpp"

namespace broadloom::text {

void Cursor::fail(const char *code, std::string message, const Token &first, const Token &last,
                  std::string help) const {
  support::fail(code, std::move(message),
                support::with_text(source_.place(first, last), source_.text.get()),
                std::move(help));
}

std::string Cursor::shown(const Token &token) const {
  if (token.kind == Tok::End) return "the end of the text";
  if (token.kind == Tok::Break && word(token) == "\n") return "the end of the line";
  std::string_view text = word(token);
  constexpr std::size_t longest = 40;
  return "'" + std::string(text.substr(0, longest)) + (text.size() > longest ? "..'" : "'");
}

void Cursor::unexpected(const std::string &expected) const {
  const Token &token = peek();
  bool line_end = token.kind == Tok::Break && word(token) == "\n";
  std::string hint = hint_for_operator(word(token));
  if (hint.empty()) hint = hint_for_place(expected, word(token));
  fail("E0002", "expected " + expected + ", found " + shown(token), token,
       !hint.empty() ? hint
       : line_end    ? "a line goes on after a comma, after a binary operator and inside ( )"
                     : "docs/language.md has the grammar");
}

const Token &Cursor::expect_new_name(const char *what) {
  const Token &token = expect(Tok::Name, what);
  spec::NameCheck found = spec::check_name(word(token), what);
  if (!found.code.empty()) fail(found.code.c_str(), found.message, token, found.help);
  return token;
}

int Cursor::expect_int(const char *what) {
  bool minus = is(Tok::Minus);
  if (minus) next();
  const Token &token = expect(Tok::Int, what);
  const auto value = support::number_of<int>(word(token));
  if (!value)
    fail("E0006", "'" + std::string(word(token)) + "' is too large here", token,
         "use a smaller number");
  return minus ? -*value : *value;
}

const Token &expect_new_value(Cursor &cursor, const Symbols &symbols, const char *what) {
  const Token &token = cursor.expect_new_name(what);
  if (symbols.count(std::string(cursor.word(token))))
    cursor.fail("E0004", "'" + std::string(cursor.word(token)) + "' is defined twice", token,
                "inputs, lets and outputs share one set of names; choose another");
  return token;
}

DType parse_dtype(Cursor &cursor) {
  const Token &token = cursor.expect(Tok::Name, "a dtype");
  std::string word(cursor.word(token));
  auto dtype = dtype_from_name(word);
  if (!dtype)
    cursor.fail("E0002", "expected a dtype, found '" + word + "'", token,
                !hint_for_dtype(word).empty()
                    ? hint_for_dtype(word)
                    : "the dtypes are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128");
  return *dtype;
}

} // namespace broadloom::text

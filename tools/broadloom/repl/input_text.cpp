// See input_text.hpp.
#include "tools/broadloom/repl/input_text.hpp"

#include "text/lexer.hpp"

#include <algorithm>
#include <cctype>

namespace broadloom::cli {

bool is_command(std::string_view line) {
  const std::size_t at = line.find_first_not_of(" \t");
  return at != line.npos && line[at] == '.' && at + 1 < line.size() &&
         !std::isdigit(static_cast<unsigned char>(line[at + 1]));
}

void InputText::add(std::string_view line) {
  if (text_.empty() && line.find_first_not_of(" \t\r") == line.npos) return;
  text_ += line;
  text_ += '\n';
  try {
    const text::Source source = text::lex(std::string(line) + '\n', "");
    const std::size_t count = source.tokens.size(); // the last is End
    if (count == 1) return;                         // a comment: nothing has changed
    const std::string_view first = source.word(source.tokens[0]);
    if (braces_ == 0 && (first == "kernel" || first == "accumulator")) header_ = true;
    for (const text::Token &token : source.tokens) {
      if (token.kind == text::Tok::LeftBrace) ++braces_, header_ = false;
      if (token.kind == text::Tok::RightBrace) braces_ = std::max(0, braces_ - 1);
      if (token.kind == text::Tok::LeftParen || token.kind == text::Tok::LeftBracket) ++brackets_;
      if (token.kind == text::Tok::RightParen || token.kind == text::Tok::RightBracket)
        brackets_ = std::max(0, brackets_ - 1);
      // As in the lexer: a brace ends whatever parentheses were left open.
      if (token.kind == text::Tok::LeftBrace || token.kind == text::Tok::RightBrace) brackets_ = 0;
    }
    // The lexer makes no token of a line end after a binary operator or inside parentheses.
    const bool ended = source.tokens[count - 2].kind == text::Tok::Break;
    open_ = braces_ > 0 || brackets_ > 0 || header_ || !ended;
  } catch (const SpecError &) {
    open_ = false; // whoever parses the text says what is wrong
  }
}

} // namespace broadloom::cli

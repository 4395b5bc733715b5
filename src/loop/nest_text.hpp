// Inside the parser of loop programs: a text as lines of tokens, and the cursor that reads one
// line.
//
// The depth of a line is its indentation, two spaces for each level; `#` begins a comment. Nothing
// here knows what a line means.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::loop {

enum class Tok : std::uint8_t {
  Word,    // i, f32, i.chunk
  Quoted,  // "any name"
  Integer, // 12, 0x7fc00000
  Real,    // 1.5, 2e-3
  Sign,    // ( && :
  End,     // of the line
};

struct Token {
  Tok kind = Tok::End;
  std::string_view text;  // as written
  std::size_t offset = 0; // bytes from the begin of the text
};

struct Line {
  int number = 1; // from 1
  int depth = 0;
  std::size_t offset = 0;    // of its first byte
  std::vector<Token> tokens; // the last one is End
};

// A text with its lines, less those that are blank.
struct NestText {
  std::shared_ptr<const std::string> text;
  std::string file;
  std::vector<Line> lines;
};

// Throws SpecError E0801 (a character or an indentation that there is not), E0013 (too long), E0014
// (NUL or broken UTF-8).
NestText read_lines(std::string_view text, std::string_view file);

// `code` at these bytes of a line.
[[noreturn]] void fail_at(const NestText &source, int line, std::size_t offset, std::size_t length,
                          const char *code, std::string message, std::string help);

class Cursor {
public:
  Cursor(const NestText &source, const Line &line) : source_(source), line_(line) {}

  const Token &peek(std::size_t ahead = 0) const {
    const std::size_t last = line_.tokens.size() - 1;
    return line_.tokens[at_ + ahead < last ? at_ + ahead : last];
  }
  const Token &next();
  bool ends() const { return peek().kind == Tok::End; }
  bool is(std::string_view word) const; // a word or a sign
  bool accept(std::string_view word);
  void expect(std::string_view word);
  void expect_end();

  const Token &word(const char *what);
  // A word or a text in quotes, and an @N behind it, which tells apart what has the same name:
  // {"x", "x@3"}.
  struct Name {
    std::string name, key;
    Token token;
  };
  Name name(const char *what);
  // An integer of decimal digits.
  std::uint64_t integer(const char *what, std::uint64_t greatest);

  int line() const { return line_.number; }
  const NestText &source() const { return source_; }

  [[noreturn]] void unexpected(const std::string &expected) const;
  [[noreturn]] void fail(const Token &at, std::string message, std::string help) const;

private:
  const NestText &source_;
  const Line &line_;
  std::size_t at_ = 0;
};

// What a name is written as: the word itself, or in quotes where it is no word or one that begins a
// value.
std::string quoted(std::string_view name);

} // namespace broadloom::loop

// See nest_text.hpp.
#include "loop/nest_text.hpp"

#include "support/fail.hpp"
#include "support/number.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

namespace broadloom::loop {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_word(char c) { return letter(c) || digit(c); }

constexpr std::array<std::string_view, 9> long_signs{
    "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "//"};
constexpr std::string_view short_signs = "()[],:=|&<>+-*/%^!~@";

// The bytes of the word that begins here: letters, digits and _, and dots between them.
std::size_t word_length(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() &&
         (in_word(text[n]) || (text[n] == '.' && n + 1 < text.size() && in_word(text[n + 1]))))
    ++n;
  return n;
}

class Reader {
public:
  Reader(std::string_view text, std::string_view file) {
    source_.text = std::make_shared<const std::string>(text);
    source_.file = file;
    text_ = *source_.text;
  }

  NestText run() {
    constexpr std::size_t longest = std::size_t(1) << 30;
    if (text_.size() > longest)
      support::fail("E0013", "the text has more than 2^30 bytes", {source_.file, 1, 1, 1, {}},
                    "split it into several files");
    if (const auto bad = support::find_bad_byte(text_)) {
      const auto end = text_.begin() + std::ptrdiff_t(*bad);
      const auto lines = std::count(text_.begin(), end, '\n');
      line_.number = 1 + int(lines);
      line_.offset = lines == 0 ? 0 : text_.rfind('\n', *bad - 1) + 1;
      fail(*bad, 1, "E0014", "the text has a NUL byte or is not UTF-8 here",
           "save the text as UTF-8; is this a loop program?");
    }
    for (int number = 1; at_ < text_.size(); ++number) read_line(number);
    return std::move(source_);
  }

private:
  void read_line(int number) {
    line_ = {number, 0, at_, {}};
    end_ = std::min(text_.find('\n', at_), text_.size());
    while (at_ < end_ && text_[at_] == ' ') ++at_;
    const std::size_t spaces = at_ - line_.offset;
    while (at_ < end_ && text_[at_] != '#')
      if (text_[at_] == ' ' || (text_[at_] == '\r' && at_ + 1 == end_))
        ++at_;
      else
        read_token();
    if (!line_.tokens.empty()) {
      if (spaces % 2 != 0)
        fail(line_.offset, spaces, "E0801", "a line is indented by an odd number of spaces",
             "indent by two spaces for each level");
      line_.depth = int(spaces / 2);
      push(Tok::End, 0);
      source_.lines.push_back(std::move(line_));
    }
    at_ = end_ + 1;
  }

  void read_token() {
    const std::string_view rest = text_.substr(at_, end_ - at_);
    if (letter(rest[0])) return push(Tok::Word, word_length(rest));
    if (rest[0] == '"') return read_quoted(rest);
    if (digit(rest[0])) return read_number(rest);
    for (const std::string_view sign : long_signs)
      if (rest.substr(0, sign.size()) == sign) return push(Tok::Sign, sign.size());
    if (short_signs.find(rest[0]) != short_signs.npos) return push(Tok::Sign, 1);
    const std::size_t length = support::utf8_length(text_, at_);
    fail(at_, length, "E0801", "unexpected character '" + std::string(rest.substr(0, length)) + "'",
         "indent by spaces; names that are no words stand in double quotes");
  }

  void read_quoted(std::string_view rest) {
    std::size_t n = 1;
    while (n < rest.size() && rest[n] != '"') n += rest[n] == '\\' ? 2 : 1;
    if (n >= rest.size())
      fail(at_, rest.size(), "E0801", "a name in quotes that does not end", "close it with \"");
    push(Tok::Quoted, n + 1);
  }

  // digits [. digits] [e [sign] digits], or 0x and hexadecimal digits
  void read_number(std::string_view rest) {
    std::size_t n = 0;
    bool real = false;
    const auto digits = [&] {
      while (n < rest.size() && digit(rest[n])) ++n;
    };
    if (rest.substr(0, 2) == "0x") {
      n = 2;
      while (n < rest.size() && in_word(rest[n])) ++n;
      return push(Tok::Integer, n);
    }
    digits();
    if (n + 1 < rest.size() && rest[n] == '.' && digit(rest[n + 1])) real = true, ++n, digits();
    if (n < rest.size() && rest[n] == 'e') {
      real = true;
      ++n;
      if (n < rest.size() && (rest[n] == '+' || rest[n] == '-')) ++n;
      if (n == rest.size() || !digit(rest[n])) malformed(n);
      digits();
    }
    if (n < rest.size() && (in_word(rest[n]) || rest[n] == '.')) malformed(n + 1);
    push(real ? Tok::Real : Tok::Integer, n);
  }

  [[noreturn]] void malformed(std::size_t length) {
    fail(at_, length, "E0801", "'" + std::string(text_.substr(at_, length)) + "' is not a number",
         "numbers are written like 2, 2.5 or 1e-3");
  }

  void push(Tok kind, std::size_t length) {
    line_.tokens.push_back({kind, text_.substr(at_, length), at_});
    at_ += length;
  }

  [[noreturn]] void fail(std::size_t offset, std::size_t length, const char *code,
                         std::string message, std::string help) {
    fail_at(source_, line_.number, offset, length, code, std::move(message), std::move(help));
  }

  NestText source_;
  std::string_view text_;
  Line line_;
  std::size_t at_ = 0, end_ = 0;
};

int hexadecimal(char c) {
  if (digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

} // namespace

NestText read_lines(std::string_view text, std::string_view file) {
  return Reader(text, file).run();
}

void fail_at(const NestText &source, int line, std::size_t offset, std::size_t length,
             const char *code, std::string message, std::string help) {
  const std::string_view text = *source.text;
  const std::size_t end = offset == 0 ? text.npos : text.rfind('\n', offset - 1);
  const std::size_t first = end == text.npos ? 0 : end + 1;
  Place place{
      source.file, line, 1 + support::count_columns(text.substr(first, offset - first)), 1, {}};
  place.length = std::max(1, support::count_columns(text.substr(offset, length)));
  support::fail(code, std::move(message), support::with_text(std::move(place), source.text.get()),
                std::move(help));
}

const Token &Cursor::next() {
  const Token &token = peek();
  if (at_ + 1 < line_.tokens.size()) ++at_;
  return token;
}

bool Cursor::is(std::string_view word) const {
  return (peek().kind == Tok::Word || peek().kind == Tok::Sign) && peek().text == word;
}

bool Cursor::accept(std::string_view word) {
  if (!is(word)) return false;
  next();
  return true;
}

void Cursor::expect(std::string_view word) {
  if (!accept(word)) unexpected("'" + std::string(word) + "'");
}

void Cursor::expect_end() {
  if (!ends()) unexpected("the end of the line");
}

const Token &Cursor::word(const char *what) {
  if (peek().kind != Tok::Word) unexpected(what);
  return next();
}

Cursor::Name Cursor::name(const char *what) {
  Name result;
  result.token = peek();
  if (peek().kind == Tok::Word) {
    result.name = next().text;
  } else if (peek().kind == Tok::Quoted) {
    const std::string_view text = peek().text;
    for (std::size_t k = 1; k + 1 < text.size(); ++k) {
      if (text[k] != '\\') {
        result.name += text[k];
      } else if (text[k + 1] == '"' || text[k + 1] == '\\') {
        result.name += text[++k];
      } else {
        const bool byte = text[k + 1] == 'x' && k + 4 < text.size() &&
                          hexadecimal(text[k + 2]) >= 0 && hexadecimal(text[k + 3]) >= 0;
        if (!byte)
          fail(peek(), "a name with a backslash before neither \" nor \\ nor xHH",
               "write \\\\ for a backslash");
        result.name += char(hexadecimal(text[k + 2]) * 16 + hexadecimal(text[k + 3]));
        k += 3;
      }
    }
    next();
  } else {
    unexpected(what);
  }
  result.key = result.name;
  if (accept("@")) result.key += '\0' + std::to_string(integer("a number", UINT32_MAX));
  return result;
}

std::uint64_t Cursor::integer(const char *what, std::uint64_t greatest) {
  if (peek().kind != Tok::Integer || peek().text.substr(0, 2) == "0x") unexpected(what);
  const Token &token = next();
  const auto value = support::number_of<std::uint64_t>(token.text);
  if (!value || *value > greatest)
    fail(token, "'" + std::string(token.text) + "' is too large here",
         "it is at most " + std::to_string(greatest));
  return *value;
}

void Cursor::unexpected(const std::string &expected) const {
  const Token &token = peek();
  constexpr std::size_t longest = 40;
  const std::string found = token.kind == Tok::End ? "the end of the line"
                            : token.text.size() > longest
                                ? "'" + std::string(token.text.substr(0, longest)) + "..'"
                                : "'" + std::string(token.text) + "'";
  fail(token, "expected " + expected + ", found " + found,
       "src/loop/loop.hpp has the grammar of loop programs");
}

void Cursor::fail(const Token &at, std::string message, std::string help) const {
  fail_at(source_, line_.number, at.offset, at.text.size(), "E0801", std::move(message),
          std::move(help));
}

std::string quoted(std::string_view name) {
  constexpr std::string_view begin_values[] = {"inf",     "nan",  "true",   "false",
                                               "complex", "bits", "running"};
  const bool taken = std::count(std::begin(begin_values), std::end(begin_values), name) > 0;
  if (!taken && !name.empty() && letter(name[0]) && word_length(name) == name.size())
    return std::string(name);
  std::string text = "\"";
  for (const char c : name) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = std::uint8_t(c);
    if (c == '"' || c == '\\')
      text += std::string("\\") + c;
    else if (byte >= 0x20 && byte < 0x7f)
      text += c;
    else
      text += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
  }
  return text + "\"";
}

} // namespace broadloom::loop

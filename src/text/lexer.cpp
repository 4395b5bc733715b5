// See lexer.hpp.
#include "text/lexer.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"
#include "text/hints.hpp"
#include "text/signs.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace broadloom::text {

namespace {

struct Spelling {
  std::string_view spelling;
  Tok kind;
};
constexpr std::array spellings{
    // longer ones first
    Spelling{"||", Tok::OrOr},       Spelling{"&&", Tok::AndAnd},
    Spelling{"==", Tok::Equal},      Spelling{"!=", Tok::NotEqual},
    Spelling{"<=", Tok::LessEqual},  Spelling{">=", Tok::GreaterEqual},
    Spelling{"<<", Tok::ShiftLeft},  Spelling{">>", Tok::ShiftRight},
    Spelling{"//", Tok::SlashSlash}, Spelling{"+=", Tok::AddAssign},
    Spelling{"(", Tok::LeftParen},   Spelling{")", Tok::RightParen},
    Spelling{"[", Tok::LeftBracket}, Spelling{"]", Tok::RightBracket},
    Spelling{"{", Tok::LeftBrace},   Spelling{"}", Tok::RightBrace},
    Spelling{",", Tok::Comma},       Spelling{":", Tok::Colon},
    Spelling{"?", Tok::Question},    Spelling{"=", Tok::Assign},
    Spelling{"|", Tok::Or},          Spelling{"&", Tok::And},
    Spelling{"<", Tok::Less},        Spelling{">", Tok::Greater},
    Spelling{"+", Tok::Plus},        Spelling{"-", Tok::Minus},
    Spelling{"*", Tok::Star},        Spelling{"/", Tok::Slash},
    Spelling{"%", Tok::Percent},     Spelling{"^", Tok::Caret},
    Spelling{"!", Tok::Bang},        Spelling{"~", Tok::Tilde},
    Spelling{";", Tok::Break},
};

// Whether a line end after this token is no end of the statement.
bool goes_on_after(Tok kind) {
  return kind == Tok::Comma || kind == Tok::Question || kind == Tok::Colon ||
         (kind >= Tok::OrOr && kind <= Tok::Caret);
}

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
public:
  Lexer(std::string_view text, std::string_view file, std::vector<Error> *mistakes)
      : mistakes_(mistakes) {
    source_.text = std::make_shared<const std::string>(text);
    source_.file = file;
    text_ = *source_.text;
  }

  Source run() {
    constexpr std::size_t longest = std::size_t(1) << 30;
    if (text_.size() > longest)
      support::fail("E0013", "the text has more than 2^30 bytes", {source_.file, 1, 1, 1, {}},
                    "split it into several files");
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = column_from_ = 3; // a byte order mark
    if (auto bad = support::find_bad_byte(text_)) fail_encoding(*bad);
    while (at_ < text_.size()) step_or_note();
    push(Tok::End, 0);
    source_.line_ends.push_back(line_end_);
    return std::move(source_);
  }

private:
  void step_or_note() {
    const std::size_t before = at_;
    try {
      step();
    } catch (const SpecError &error) {
      if (!mistakes_) throw;
      mistakes_->push_back(error);
      if (at_ == before) at_ += std::max<std::size_t>(support::utf8_length(text_, at_), 1);
    }
  }

  void step() {
    char c = text_[at_];
    if (c == '\n') return end_line();
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
      return;
    }
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return;
    }
    if (letter(c)) return push(Tok::Name, word_length(at_));
    if (digit(c) || (c == '.' && at_ + 1 < text_.size() && digit(text_[at_ + 1]))) return number();
    for (const Spelling &sign : spellings) {
      if (text_.substr(at_, sign.spelling.size()) != sign.spelling) continue;
      if (sign.kind == Tok::LeftParen || sign.kind == Tok::LeftBracket) ++depth_;
      if (sign.kind == Tok::RightParen || sign.kind == Tok::RightBracket)
        depth_ = std::max(0, depth_ - 1);
      if (sign.kind == Tok::LeftBrace || sign.kind == Tok::RightBrace) depth_ = 0;
      return push(sign.kind, sign.spelling.size());
    }
    fail_character();
  }

  void end_line() {
    if (depth_ == 0 && !source_.tokens.empty() && !goes_on_after(source_.tokens.back().kind))
      push(Tok::Break, 1);
    else
      ++at_;
    source_.line_ends.push_back(line_end_);
    ++line_;
    column_from_ = at_;
    column_ = 1;
    line_end_ = 1;
  }

  // digits [. digits] [e [sign] digits] [j], one side of the point may be empty
  void number() {
    std::size_t i = at_;
    auto digits = [&] {
      while (i < text_.size() && digit(text_[i])) ++i;
    };
    bool real = false;
    digits();
    if (i < text_.size() && text_[i] == '.') {
      real = true;
      ++i;
      digits();
    }
    if (i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
      std::size_t j = i + 1;
      if (j < text_.size() && (text_[j] == '+' || text_[j] == '-')) ++j;
      if (j < text_.size() && digit(text_[j])) {
        real = true;
        i = j;
        digits();
      }
    }
    const auto in_word = [&](std::size_t k) {
      return k < text_.size() && (letter(text_[k]) || text_[k] == '.' || digit(text_[k]));
    };
    if (i < text_.size() && text_[i] == 'j' && !in_word(i + 1))
      return push(Tok::Imaginary, i + 1 - at_);
    bool runs_on = in_word(i);
    while (in_word(i)) ++i;
    push(real ? Tok::Float : Tok::Int, i - at_);
    if (runs_on) {
      const Token &token = source_.tokens.back();
      const std::string hint = hint_for_number(source_.word(token));
      fail("E0006", "'" + std::string(source_.word(token)) + "' is not a number", token,
           !hint.empty() ? hint
                         : "numbers are written like 2, 2., .5, 1e-3 or 2j; put * between a number "
                           "and a name");
    }
  }

  std::size_t word_length(std::size_t i) const {
    std::size_t start = i;
    while (i < text_.size() && (letter(text_[i]) || digit(text_[i]))) ++i;
    return i - start;
  }

  std::int32_t column(std::size_t offset) {
    column_ += support::count_columns(text_.substr(column_from_, offset - column_from_));
    column_from_ = offset;
    return column_;
  }

  void push(Tok kind, std::size_t length) {
    source_.tokens.push_back({kind, std::uint32_t(at_), std::uint32_t(length), line_, column(at_)});
    if (kind != Tok::Break && kind != Tok::End) line_end_ = column_ + std::int32_t(length);
    at_ += length;
  }

  [[noreturn]] void fail(const char *code, std::string message, const Token &token,
                         std::string help) {
    support::fail(
        code, std::move(message),
        support::with_text({source_.file, token.line, token.column, int(token.length), {}},
                           source_.text.get()),
        std::move(help));
  }

  [[noreturn]] void fail_character() {
    std::size_t length = support::utf8_length(text_, at_);
    std::string shown = "'" + std::string(text_.substr(at_, length)) + "'";
    if (std::uint8_t(text_[at_]) < 0x20 || text_[at_] == 0x7f) {
      char code[16];
      std::snprintf(code, sizeof code, "U+%04X", unsigned(text_[at_]));
      shown = code;
    }
    fail("E0001", "unexpected character " + shown,
         {Tok::End, std::uint32_t(at_), 1, line_, column(at_)},
         text_[at_] == '@'   ? "a matrix product is sum(x * y, j), where x is on i, j and y on j, k"
         : text_[at_] == '.' ? "there are no modules and methods: write exp(x), and sum(x, i)"
         : text_[at_] == '\''
             ? "an output lists its axes in any order: out z[j, i] = x"
             : "outside comments a text is made of ASCII letters, digits and operators");
  }

  [[noreturn]] void fail_encoding(std::size_t offset) {
    int line = 1 + int(std::count(text_.begin(), text_.begin() + std::ptrdiff_t(offset), '\n'));
    std::size_t start = text_.rfind('\n', offset);
    if (start == text_.npos || offset == 0)
      start = at_;
    else
      ++start;
    int column = 1 + support::count_columns(text_.substr(start, offset - start));
    bool nul = text_[offset] == '\0';
    fail("E0014", nul ? "the text has a NUL byte" : "the text is not UTF-8 here",
         {Tok::End, std::uint32_t(offset), 1, line, column},
         "save the text as UTF-8; is this a .loom file?");
  }

  std::vector<Error> *mistakes_; // null: the first one is thrown
  Source source_;
  std::string_view text_;
  std::size_t at_ = 0, column_from_ = 0;
  std::int32_t line_ = 1, column_ = 1, line_end_ = 1;
  int depth_ = 0; // of () and []
};

} // namespace

Place Source::place(const Token &first, const Token &last) const {
  Place place;
  place.file = file;
  place.line = first.line;
  place.column = first.column;
  std::int32_t end = last.column + std::int32_t(last.length);
  if (last.line != first.line) end = line_ends[std::size_t(first.line - 1)];
  place.length = std::max(1, end - first.column);
  return place;
}

Place Source::place_with_line(const Token &first, const Token &last) const {
  constexpr std::size_t longest = 1000;
  Place found = place(first, last);
  const std::string_view all = *text;
  std::size_t begin = first.offset;
  while (begin > 0 && all[begin - 1] != '\n')
    if (first.offset - --begin > longest) return found;
  std::string_view line = all.substr(begin, longest + 1);
  line = line.substr(0, line.find('\n'));
  if (line.size() > longest) return found;
  if (line.ends_with('\r')) line.remove_suffix(1);
  found.text = line;
  return found;
}

std::vector<std::string_view> signs() {
  std::vector<std::string_view> found;
  for (const Spelling &sign : spellings) found.push_back(sign.spelling);
  return found;
}

Source lex(std::string_view text, std::string_view file, std::vector<Error> *mistakes) {
  return Lexer(text, file, mistakes).run();
}

} // namespace broadloom::text

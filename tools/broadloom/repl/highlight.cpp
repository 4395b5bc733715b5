// See highlight.hpp.
#include "tools/broadloom/repl/highlight.hpp"

#include "spec/words.hpp"
#include "support/text.hpp"
#include "text/lexer.hpp"
#include "tools/broadloom/help/language_words.hpp"
#include "tools/broadloom/repl/command_table.hpp"
#include "tools/broadloom/repl/input_text.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <broadloom/dtype.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace broadloom::cli {

namespace {

using text::Tok;
using text::Token;

// The tokens before the first thing that is none.
text::Source tokens_of(std::string text) {
  try {
    return text::lex(text, "");
  } catch (const SpecError &error) {
    std::size_t at = 0;
    for (int line = 1; line < error.where().line; ++line) at = text.find('\n', at) + 1;
    for (int column = 1; column < error.where().column && at < text.size(); ++column)
      at += std::max<std::size_t>(support::utf8_length(text, at), 1);
    text.resize(std::min(at, text.size()));
  }
  try {
    return text::lex(text, "");
  } catch (const SpecError &) {
    return {};
  }
}

class Painter {
public:
  Painter(const text::Source &source, std::size_t cursor, const Library &library)
      : source_(source), cursor_(cursor), library_(library) {
    for (const std::string &name : library.statement_names()) values_.insert(name);
  }

  std::vector<Span> paint() {
    for (at_ = 0; at_ + 1 < source_.tokens.size(); ++at_) {
      const Token &token = source_.tokens[at_];
      if (token.kind == Tok::LeftBracket) ++brackets_;
      if (token.kind == Tok::RightBracket) --brackets_;
      if (token.kind == Tok::Break || token.kind == Tok::Assign || token.kind == Tok::LeftBrace)
        header_ = false;
      if (token.kind == Tok::RightBrace) in_schedule_ = false;
      if (token.kind == Tok::Int || token.kind == Tok::Float || token.kind == Tok::Imaginary)
        add(token, Paint::Number);
      if (token.kind == Tok::Name) name(token);
    }
    return std::move(spans_);
  }

private:
  Tok next() const { return source_.tokens[at_ + 1].kind; }

  void name(const Token &token) {
    const std::string word(source_.word(token));
    if (dtype_from_name(word)) return add(token, Paint::Type);
    const bool declares = starts_line() && next() == Tok::Name && holds(words_.declaring, word);
    if (spec::is_reserved(word) || declares || (starts_line() && holds(words_.clauses, word))) {
      defines_ = declares || word == "in" || word == "let" || word == "out" || word == "kernel";
      if (word == "def" || word == "accumulator") header_ = true;
      if (word == "derivative") values_.insert("g");
      return add(token, Paint::Keyword);
    }
    if (starts_line() &&
        ((in_schedule_ && holds(words_.schedule, word)) ||
         (word == "schedule" && (next() == Tok::LeftBrace || next() == Tok::Name)))) { // of a let
      in_schedule_ = true;
      return add(token, Paint::Keyword);
    }
    if (defines_ || header_ || brackets_ > 0) { // a new name, an argument, a label
      values_.insert(word);
      defines_ = false;
      return;
    }
    if (spec::is_built_in(word) || library_.definitions().count(word) > 0)
      return add(token, Paint::Function);
    const bool option = next() == Tok::Assign && !starts_line();
    const std::string base = word.ends_with("_other") ? word.substr(0, word.size() - 6) : word;
    const bool known =
        values_.count(base) > 0 || option ||
        std::ranges::any_of(known_, [&](const auto *words) { return holds(*words, word); });
    const bool typed_now = token.offset + token.length == cursor_;
    if (!known && !typed_now) add(token, Paint::Unknown);
  }

  bool starts_line() const {
    return at_ == 0 || source_.tokens[at_ - 1].kind == Tok::Break ||
           source_.tokens[at_ - 1].kind == Tok::LeftBrace ||
           source_.tokens[at_ - 1].line != source_.tokens[at_].line;
  }

  void add(const Token &token, Paint paint) {
    spans_.push_back({token.offset, token.offset + token.length, paint});
  }

  const text::Source &source_;
  const std::size_t cursor_;
  const Library &library_;
  const LanguageWords &words_ = language_words();
  const std::array<const LanguageWordList *, 5> known_{
      &words_.constants, &words_.options, &words_.flags, &words_.between, &words_.settings};
  std::vector<Span> spans_;
  std::set<std::string> values_;
  std::size_t at_ = 0;
  int brackets_ = 0;
  bool defines_ = false; // the next word is a new name
  bool in_schedule_ = false;
  bool header_ = false; // of a function or accumulator: its name and arguments
};

// From each `#` to the end of its line.
void add_comments(std::string_view text, std::vector<Span> &spans) {
  for (std::size_t at = text.find('#'); at != text.npos;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    spans.push_back({at, end, Paint::Comment});
    at = text.find('#', end);
  }
}

std::vector<Span> paint_command(std::string_view line, std::size_t cursor) {
  const std::size_t begin = line.find_first_not_of(" \t");
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  const bool known = commands_like(word).size() == 1;
  if (!known && end == cursor) return {};
  return {{begin, end, known ? Paint::Command : Paint::Unknown}};
}

} // namespace

std::vector<Span> highlight(std::string_view before, std::string_view line, std::size_t cursor,
                            const Library &library) {
  if (before.empty() && is_command(line)) return paint_command(line, cursor);
  const std::string text = std::string(before) + std::string(line);
  const text::Source source = tokens_of(text);
  std::vector<Span> spans = Painter(source, before.size() + cursor, library).paint();
  add_comments(text, spans);
  std::erase_if(spans, [&](const Span &span) { return span.begin < before.size(); });
  for (Span &span : spans) {
    span.begin -= before.size();
    span.end -= before.size();
  }
  return spans;
}

const char *escape_of(Paint paint) {
  switch (paint) {
  case Paint::Plain: return "";
  case Paint::Keyword: return "\033[1;35m";
  case Paint::Type: return "\033[36m";
  case Paint::Function: return "\033[34m";
  case Paint::Number: return "\033[33m";
  case Paint::Comment: return "\033[2m";
  case Paint::Command: return "\033[1;36m";
  case Paint::Unknown: return "\033[4;31m";
  }
  return "";
}

} // namespace broadloom::cli

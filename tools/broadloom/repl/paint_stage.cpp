// See paint_stage.hpp.
#include "tools/broadloom/repl/paint_stage.hpp"

#include "tools/broadloom/repl/highlight.hpp"
#include "tools/broadloom/repl/words.hpp"

#include <broadloom/dtype.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace broadloom::cli {

namespace {

constexpr std::array keywords{"axes",     "block", "blocks",  "define",  "declare",  "fold",
                              "for",      "in",    "init",    "input",   "load",     "map",
                              "operands", "out",   "output",  "pattern", "parallel", "phase",
                              "phases",   "plan",  "program", "rest",    "ret",      "scan",
                              "set",      "step",  "store",   "vector",  "why"};
constexpr std::array llvm_types{"double", "float", "half", "bfloat", "ptr", "void",
                                "i1",     "i8",    "i16",  "i32",    "i64"};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Words of a line by what they look like: none of these stages has a parser here.
class LinePainter {
public:
  LinePainter(std::string_view line, Stage stage, std::size_t offset)
      : line_(line), stage_(stage), offset_(offset) {}

  void paint(std::vector<Span> &spans) {
    const char mark = stage_ == Stage::llvm ? ';' : '#';
    const bool indented = line_.starts_with(' ') || line_.starts_with('\t');
    bool operation_next = indented; // a word where an instruction has its name
    for (std::size_t at = 0; at < line_.size();) {
      const char c = line_[at];
      if (c == mark && (at == 0 || std::isspace(static_cast<unsigned char>(line_[at - 1])))) {
        add(spans, at, line_.size(), Paint::Comment);
        return;
      }
      if (!in_word(c)) {
        if (c == '=') operation_next = true;
        // A name of LLVM's is one word with its mark.
        const bool name = (c == '%' || c == '@' || c == '!') && stage_ == Stage::llvm;
        for (++at; name && at < line_.size() && in_word(line_[at]);) ++at;
        if (name) operation_next = false;
        continue;
      }
      std::size_t end = at;
      while (end < line_.size() && in_word(line_[end])) ++end;
      add(spans, at, end, paint_of(line_.substr(at, end - at), operation_next));
      operation_next = false;
      at = end;
    }
  }

private:
  Paint paint_of(std::string_view word, bool operation) const {
    if (is_digit(word[0])) return Paint::Number;
    if (dtype_from_name(std::string(word))) return Paint::Type;
    if (stage_ == Stage::llvm && holds(llvm_types, word)) return Paint::Type;
    const bool code = stage_ == Stage::llvm || stage_ == Stage::assembly;
    if (code ? operation : holds(keywords, word)) return Paint::Keyword;
    return Paint::Plain;
  }

  void add(std::vector<Span> &spans, std::size_t begin, std::size_t end, Paint paint) const {
    if (paint != Paint::Plain) spans.push_back({offset_ + begin, offset_ + end, paint});
  }

  const std::string_view line_;
  const Stage stage_;
  const std::size_t offset_;
};

} // namespace

std::string painted_stage(const std::string &text, Stage stage, const Library &library) {
  std::vector<Span> spans;
  if (stage == Stage::spec || stage == Stage::folded) {
    spans = highlight("", text, text.size(), library);
    std::ranges::sort(spans, {}, &Span::begin);
  } else {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      LinePainter(std::string_view(text).substr(at, end - at), stage, at).paint(spans);
      at = end + 1;
    }
  }
  std::string painted;
  std::size_t done = 0;
  for (const Span &span : spans) {
    painted.append(text, done, span.begin - done);
    painted += escape_of(span.paint);
    painted.append(text, span.begin, span.end - span.begin);
    painted += "\033[0m";
    done = span.end;
  }
  return painted.append(text, done);
}

} // namespace broadloom::cli

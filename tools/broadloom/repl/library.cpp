// See library.hpp.
#include "tools/broadloom/repl/library.hpp"

#include "analysis/analyse.hpp"
#include "support/check.hpp"
#include "text/lexer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace broadloom::cli {

void Composed::add(const Chunk &chunk) {
  parts_.push_back({lines_ + 1, chunk.file, chunk.line});
  text_ += chunk.text;
  if (!text_.ends_with('\n')) text_ += '\n';
  lines_ = int(std::count(text_.begin(), text_.end(), '\n'));
}

Place Composed::place(Place place) const {
  if (place.file != file || !place.known()) return place;
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    if (place.line < part->first) continue;
    place.line += part->line - part->first;
    place.file = part->file;
    break;
  }
  return place;
}

// A definition of a text. What stands before the first one has no kind: it is a mistake.
struct Library::Item {
  std::optional<Kind> kind;
  std::string name;
  std::vector<Chunk> chunks; // of a definition one
};

namespace {

std::optional<Library::Kind> kind_of(std::string_view word) {
  if (word == "kernel") return Library::Kind::Kernel;
  if (word == "def") return Library::Kind::Function;
  if (word == "accumulator") return Library::Kind::Accumulator;
  return std::nullopt;
}

constexpr std::array statement_words{"in",      "param",    "state",    "let", "call",
                                     "out",     "update",   "order",    "set", "fuse",
                                     "stretch", "separate", "schedule", "axis"};

std::string_view first_word(std::string_view text, const text::Source &source) {
  const auto first = std::find_if(source.tokens.begin(), source.tokens.end(),
                                  [](auto &token) { return token.kind != text::Tok::Break; });
  return first->kind == text::Tok::Name ? text.substr(first->offset, first->length) : "";
}

// The text from one token up to an offset, as whole lines: spaces in front, so that columns stay
// what they are.
Chunk cut(const Chunk &text, const text::Token &first, std::size_t end) {
  std::string lines(std::size_t(first.column - 1), ' ');
  lines += text.text.substr(first.offset, end - first.offset);
  return {text.file, text.line + first.line - 1, std::move(lines)};
}

text::Source lex_alone(const Chunk &text) {
  Composed alone;
  alone.add(text);
  return with_places(alone, [&] { return text::lex(text.text, Composed::file); });
}

// The tokens with which definitions begin.
std::vector<std::size_t> starts_of(const text::Source &source) {
  std::vector<std::size_t> starts;
  int depth = 0;
  bool fresh = true; // at the start of a statement outside of braces
  for (std::size_t t = 0; t < source.tokens.size(); ++t) {
    const text::Token &token = source.tokens[t];
    if (token.kind == text::Tok::LeftBrace) ++depth;
    if (token.kind == text::Tok::RightBrace) depth = std::max(0, depth - 1);
    if (fresh && token.kind == text::Tok::Name && kind_of(source.word(token))) starts.push_back(t);
    fresh = depth == 0 && (token.kind == text::Tok::Break || token.kind == text::Tok::RightBrace);
  }
  return starts;
}

} // namespace

std::vector<Library::Name> Library::define(const Chunk &text) {
  const text::Source source = lex_alone(text);
  const std::vector<std::size_t> starts = starts_of(source);
  std::vector<Item> items;
  const auto begin_of = [&](std::size_t k) {
    return k < starts.size() ? source.tokens[starts[k]].offset : text.text.size();
  };
  if (starts.empty() || source.tokens[0].offset < begin_of(0)) {
    const bool nothing = std::all_of(source.tokens.begin(), source.tokens.end(), [&](auto &token) {
      return token.kind == text::Tok::Break || token.kind == text::Tok::End ||
             token.offset >= begin_of(0);
    });
    if (!nothing)
      items.push_back(
          {std::nullopt, "", {{text.file, text.line, text.text.substr(0, begin_of(0))}}});
  }
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const text::Token &first = source.tokens[starts[k]];
    const text::Token &second = source.tokens[starts[k] + 1];
    items.push_back({kind_of(source.word(first)),
                     second.kind == text::Tok::Name ? std::string(source.word(second)) : "",
                     {cut(text, first, begin_of(k + 1))}});
  }

  Library next = *this;
  std::vector<Name> names;
  for (const Item &item : items) {
    next.add(item);
    names.push_back({*item.kind, item.name});
  }
  *this = std::move(next);
  return names;
}

void Library::add(const Item &item, bool keep) {
  Composed composed;
  std::vector<std::string> seen;
  for (const Chunk &chunk : item.chunks) add_needed(chunk.text, item.name, seen, composed);
  for (const Chunk &chunk : item.chunks) composed.add(chunk);
  with_places(composed, [&] {
    // A line that is no definition ends here, with the parser's error.
    const std::vector<LoopSpec> kernels = parse_all(composed.text(), Composed::file);
    support::check(item.kind.has_value(), "what is no definition was read as one");
    if (item.kind != Kind::Kernel) {
      definitions_[item.name] = {*item.kind, item.chunks.at(0)};
      last_function_ = item.kind == Kind::Function ? item.name : "";
      return;
    }
    if (!keep) return;
    const LoopSpec &spec = kernels.back();
    check(spec);
    kernels_.insert_or_assign(
        item.name, std::make_shared<const DefinedKernel>(
                       DefinedKernel{composed, spec, analysis::analyse(spec.data()), item.chunks}));
    latest_ = item.name;
    last_function_.clear();
  });
}

// Of a definition, or of a kernel where it is called; none where there is no such thing.
std::span<const Chunk> Library::chunks_of(const std::string &word, bool is_called) const {
  if (const auto kernel = kernels_.find(word); is_called && kernel != kernels_.end())
    return kernel->second->own;
  const auto found = definitions_.find(word);
  if (found == definitions_.end()) return {};
  return {&found->second.chunk, 1};
}

// Adds the definitions that a text names, and before each of them those that it names itself.
void Library::add_needed(const std::string &text, const std::string &self,
                         std::vector<std::string> &seen, Composed &composed) const {
  const text::Source source = text::lex(text, Composed::file);
  bool called = false;
  for (const text::Token &token : source.tokens) {
    const bool after_call = std::exchange(called, false);
    if (token.kind != text::Tok::Name) continue;
    const std::string word(source.word(token));
    called = word == "call";
    const std::span<const Chunk> chunks = chunks_of(word, after_call);
    if (word == self || chunks.empty()) continue;
    if (std::find(seen.begin(), seen.end(), word) != seen.end()) continue;
    seen.push_back(word);
    for (const Chunk &chunk : chunks) {
      add_needed(chunk.text, word, seen, composed);
      composed.add(chunk);
    }
  }
}

bool Library::is_statement(std::string_view text) {
  try {
    const text::Source source = text::lex(text, Composed::file);
    const std::string_view word = first_word(text, source);
    return std::find(statement_words.begin(), statement_words.end(), word) != statement_words.end();
  } catch (const SpecError &) {
    return false; // `define` says what is wrong
  }
}

std::vector<Library::Name> Library::state(const Chunk &text) {
  const text::Source source = lex_alone(text);
  Library next = *this;
  for (std::size_t t = 0; t + 1 < source.tokens.size();) {
    std::size_t end = t;
    for (int depth = 0; source.tokens[end].kind != text::Tok::End; ++end) { // a schedule has braces
      const text::Tok kind = source.tokens[end].kind;
      if (kind == text::Tok::Break && depth == 0) break;
      depth += (kind == text::Tok::LeftBrace) - (kind == text::Tok::RightBrace);
    }
    if (end > t) {
      const text::Token &first = source.tokens[t], &second = source.tokens[t + 1];
      const std::string_view word = source.word(first);
      const bool names = word == "in" || word == "param" || word == "state" || word == "let" ||
                         word == "out" || word == "set" || word == "update";
      const bool pairs = word == "fuse" || word == "separate"; // may stand several times
      std::string key(names ? source.word(second) : word);
      if (word == "set" || word == "update" ||
          (word == "schedule" && second.kind == text::Tok::Name)) // of a let
        key = std::string(word) + " " + std::string(source.word(second));
      Statement statement{std::move(key), cut(text, first, source.tokens[end].offset)};
      const auto same =
          std::find_if(next.statements_.begin(), next.statements_.end(),
                       [&](const Statement &old) { return old.key == statement.key && !pairs; });
      if (same != next.statements_.end())
        *same = std::move(statement);
      else
        next.statements_.push_back(std::move(statement));
    }
    t = end + (end + 1 < source.tokens.size());
  }

  Item item{Kind::Kernel, "scratch", {{"<scratch>", 1, "kernel scratch {"}}};
  bool outputs = false;
  for (const Statement &statement : next.statements_) {
    item.chunks.push_back(statement.chunk);
    const std::string &written = statement.chunk.text;
    const std::size_t first = written.find_first_not_of(" \t\n");
    outputs |= first == written.find("out ") || first == written.find("update ");
  }
  item.chunks.push_back({"<scratch>", 1, "}"});
  next.add(item, outputs);
  *this = std::move(next);
  return outputs ? std::vector<Name>{{Kind::Kernel, "scratch"}} : std::vector<Name>{};
}

std::vector<std::string> Library::statement_names() const {
  std::vector<std::string> names;
  for (const Statement &statement : statements_) names.push_back(statement.key);
  return names;
}

bool Library::extend_function(const Chunk &lines) {
  if (last_function_.empty()) return false;
  Chunk whole = definitions_.at(last_function_).chunk;
  if (!whole.text.ends_with('\n')) whole.text += '\n';
  whole.text += lines.text;
  define(whole);
  return true;
}

} // namespace broadloom::cli

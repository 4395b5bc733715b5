// See library.hpp.
#include "tools/repl/library.hpp"

#include "spec/lexer.hpp"

#include <algorithm>
#include <optional>

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
  Chunk chunk;
};

namespace {

std::optional<Library::Kind> kind_of(std::string_view word) {
  if (word == "kernel") return Library::Kind::Kernel;
  if (word == "def") return Library::Kind::Function;
  if (word == "accumulator") return Library::Kind::Accumulator;
  return std::nullopt;
}

// The tokens with which definitions begin.
std::vector<std::size_t> starts_of(const spec::Source &source) {
  std::vector<std::size_t> starts;
  int depth = 0;
  bool fresh = true; // at the start of a statement outside of braces
  for (std::size_t t = 0; t < source.tokens.size(); ++t) {
    const spec::Token &token = source.tokens[t];
    if (token.kind == spec::Tok::LeftBrace) ++depth;
    if (token.kind == spec::Tok::RightBrace) depth = std::max(0, depth - 1);
    if (fresh && token.kind == spec::Tok::Name && kind_of(source.word(token))) starts.push_back(t);
    fresh = depth == 0 && (token.kind == spec::Tok::Break || token.kind == spec::Tok::RightBrace);
  }
  return starts;
}

} // namespace

std::vector<Library::Name> Library::define(const Chunk &text) {
  const Composed alone = [&] {
    Composed composed;
    composed.add(text);
    return composed;
  }();
  const spec::Source source =
      with_places(alone, [&] { return spec::lex(text.text, Composed::file); });
  const std::vector<std::size_t> starts = starts_of(source);
  std::vector<Item> items;
  const auto begin_of = [&](std::size_t k) {
    return k < starts.size() ? source.tokens[starts[k]].offset : text.text.size();
  };
  if (starts.empty() || source.tokens[0].offset < begin_of(0)) {
    const bool nothing = std::all_of(source.tokens.begin(), source.tokens.end(), [&](auto &token) {
      return token.kind == spec::Tok::Break || token.kind == spec::Tok::End ||
             token.offset >= begin_of(0);
    });
    if (!nothing)
      items.push_back({std::nullopt, "", {text.file, text.line, text.text.substr(0, begin_of(0))}});
  }
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const spec::Token &first = source.tokens[starts[k]];
    const spec::Token &second = source.tokens[starts[k] + 1];
    // Spaces in front, so that columns stay what they are.
    std::string lines(std::size_t(first.column - 1), ' ');
    lines += text.text.substr(first.offset, begin_of(k + 1) - first.offset);
    items.push_back({kind_of(source.word(first)),
                     second.kind == spec::Tok::Name ? std::string(source.word(second)) : "",
                     {text.file, text.line + first.line - 1, std::move(lines)}});
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

void Library::add(const Item &item) {
  Composed composed;
  std::vector<std::string> seen;
  add_needed(item.chunk.text, item.name, seen, composed);
  composed.add(item.chunk);
  with_places(composed, [&] {
    // A line that is no definition ends here, with the parser's error.
    const std::vector<LoopSpec> kernels = parse_all(composed.text(), Composed::file);
    if (item.kind != Kind::Kernel) {
      definitions_[item.name] = {*item.kind, item.chunk};
      last_function_ = item.kind == Kind::Function ? item.name : "";
      return;
    }
    const LoopSpec &spec = kernels.back();
    check(spec);
    kernels_.insert_or_assign(item.name, std::make_shared<const DefinedKernel>(DefinedKernel{
                                             composed, spec, spec::analyse(spec.data())}));
    latest_ = item.name;
    last_function_.clear();
  });
}

// Adds the definitions that a text names, and before each of them those that it names itself.
void Library::add_needed(const std::string &text, const std::string &self,
                         std::vector<std::string> &seen, Composed &composed) const {
  const spec::Source source = spec::lex(text, Composed::file);
  for (const spec::Token &token : source.tokens) {
    if (token.kind != spec::Tok::Name) continue;
    const std::string word(source.word(token));
    const auto found = definitions_.find(word);
    if (word == self || found == definitions_.end()) continue;
    if (std::find(seen.begin(), seen.end(), word) != seen.end()) continue;
    seen.push_back(word);
    add_needed(found->second.chunk.text, word, seen, composed);
    composed.add(found->second.chunk);
  }
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

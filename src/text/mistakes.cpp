// See mistakes.hpp; and bl::find_mistakes.
#include "text/mistakes.hpp"

#include "spec/cut.hpp"
#include "support/check.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace broadloom {
namespace text {
namespace {

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}
constexpr std::array<std::string_view, 3> definitions{"kernel", "def", "accumulator"};
constexpr std::array<std::string_view, 3> setting_words{"order", "stretch", "set"};

} // namespace

void Recovery::recover(Cursor &cursor, std::size_t first, const Error &error, bool whole) {
  if (dynamic_cast<const InternalError *>(&error)) throw;
  const std::vector<Token> &tokens = source_.tokens;
  const auto word = [&](std::size_t at) {
    return tokens[at].kind == Tok::Name ? source_.word(tokens[at]) : std::string_view();
  };
  const std::size_t last = tokens.size() - 1; // Tok::End
  std::size_t end = first;
  if (whole) { // a statement of a kernel has the words of definitions nowhere at its beginning
    for (++end; end < last; ++end)
      if (tokens[end].line != tokens[end - 1].line && is_one_of(word(end), definitions)) break;
  } else {
    for (int open = 0; end < last; ++end) {
      const Tok kind = tokens[end].kind;
      if (open == 0 && end > first && (kind == Tok::Break || kind == Tok::RightBrace)) break;
      open += (kind == Tok::LeftBrace) - (kind == Tok::RightBrace);
      if (open < 0) break;
    }
  }
  const bool noted = !follows(error, first, end);
  if (noted) mistakes_.push_back(error);
  lost_setting_ = lost_setting_ || is_one_of(word(first), setting_words);
  // What it was to define: `let NAME`, and the results of `call f(..) -> NAME, NAME`.
  const bool is_call = word(first) == "call";
  bool results = !is_call;
  for (std::size_t at = first + 1; at < end; ++at) {
    if (tokens[at].kind == Tok::Greater) results = true;
    if (!results || word(at).empty()) continue;
    lost_.emplace(word(at));
    if (!is_call) break;
  }
  cursor.go_to(std::min(end, last));
}

bool Recovery::follows(const Error &error, std::size_t first, std::size_t end) const {
  const auto within = [&](const Error &other) {
    const std::size_t last = std::min(end, source_.tokens.size() - 1);
    return other.where().line >= source_.tokens[first].line &&
           other.where().line <= source_.tokens[last].line;
  };
  if (std::ranges::any_of(of_lexer_, within)) return true;
  if (error.code() != "E0003" && error.code() != "E0008") return false;
  for (std::size_t at = first; at < std::min(end + 1, source_.tokens.size()); ++at) {
    const Token &token = source_.tokens[at];
    if (token.line == error.where().line && token.column == error.where().column)
      return lost_.count(std::string(source_.word(token))) != 0;
  }
  return false;
}

namespace {

// The first mistake of the whole, and of each output alone.
void check_outputs(const LoopSpec &spec, std::vector<Error> &mistakes) {
  constexpr std::size_t most_outputs = 64; // each takes an analysis
  const auto of = [](const LoopSpec &part) -> std::optional<Error> {
    try {
      check(part);
      return {};
    } catch (const Error &error) {
      if (dynamic_cast<const InternalError *>(&error)) throw;
      return error;
    }
  };
  const auto note = [&](const std::optional<Error> &error) {
    const auto is_it = [&](const Error &other) {
      return other.code() == error->code() && other.where().line == error->where().line &&
             other.where().column == error->where().column;
    };
    if (error && std::ranges::none_of(mistakes, is_it)) mistakes.push_back(*error);
  };
  const std::optional<Error> whole = of(spec);
  if (!whole) return;
  note(whole);
  const SpecData &data = spec.data();
  if (data.outputs.size() < 2 || data.outputs.size() > most_outputs) return;
  for (const OutputDecl &output : data.outputs)
    note(of(LoopSpec(std::make_shared<const SpecData>(spec::with_outputs(data, {output})))));
}

} // namespace
} // namespace text

std::vector<Error> find_mistakes(std::string_view text, std::string_view file) try {
  const support::FloatWorld world;
  std::vector<Error> mistakes;
  try {
    const text::Source source = text::lex(text, file, &mistakes);
    text::Recovery recovery(source, mistakes);
    const std::vector<LoopSpec> kernels = text::parse_on(source, recovery);
    if (kernels.empty() && mistakes.empty())
      mistakes.push_back(SpecError("E0010", "there is no kernel in " + std::string(file), {},
                                   "write one: kernel name { in x : f32[:]; out z = x + 1 }"));
    if (!recovery.lost_setting())
      for (const LoopSpec &kernel : kernels) text::check_outputs(kernel, mistakes);
  } catch (const SpecError &error) { // the text as a whole cannot be read
    mistakes.push_back(error);
  }
  std::ranges::stable_sort(mistakes, {}, [](const Error &error) {
    return std::tuple(error.where().line, error.where().column);
  });
  return mistakes;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom

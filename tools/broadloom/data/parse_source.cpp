// Parsing SOURCE. What it stands for is read in read_source.cpp.
#include "support/text.hpp"

#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/data/number.hpp"
#include "tools/broadloom/data/paths.hpp"
#include "tools/broadloom/data/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace broadloom::cli {

namespace {

constexpr const char *forms =
    "a source is a .npy, .csv or .png file, a.npz:NAME, -, a number, a list "
    "[1, 2, 3], or rand(3,4), randn(..), zeros(..), ones(..), arange(n), "
    "arange(2, 10), full(3, value=2), eye(3), linspace(0, 1, 5), with "
    ", seed=7; then views like [::2, -1] and .T";

// In the order of Generator.
constexpr std::array<std::string_view, 8> words_of_generators{
    "rand", "randn", "zeros", "ones", "arange", "full", "eye", "linspace"};
static_assert(words_of_generators.size() == std::size_t(Generator::Linspace) + 1);

class SourceParser {
public:
  SourceParser(std::string_view text, const std::string &input, const Values *values)
      : text_(text), input_(input), values_(values) {}

  Source parse() {
    Source source;
    source.text = text_;
    if (const std::size_t end = path_end(); end > 0) {
      source.base = file(end);
    } else if (skip_space(); peek() == '[') {
      source.base = list();
    } else if (const std::string name = value_name(); !name.empty()) {
      source.base = NameSource{name};
      at_ += name.size();
    } else if (is_letter(peek()) && text_.find('(') != text_.npos) {
      source.base = generator();
    } else {
      source.base = number();
    }
    for (skip_space(); at_ < text_.size(); skip_space()) source.views.push_back(view());
    return source;
  }

private:
  [[noreturn]] void fail(std::size_t at, const std::string &what, const char *help = forms) const {
    const std::size_t columns = std::size_t(support::count_columns(text_.substr(0, at)));
    throw UsageError("E0403",
                     fmt::format("{}{}\n    {}\n    {}^",
                                 input_.empty() ? "" : fmt::format("input {}: ", input_), what,
                                 text_, std::string(columns, ' ')),
                     help);
  }

  // Where a path ends: after the first suffix that only views can follow; 0 where there is none.
  std::size_t path_end() const {
    const auto ends = [](std::string_view rest) {
      return rest.empty() || rest[0] == '[' || rest[0] == ' ' || rest.substr(0, 2) == ".T";
    };
    if (text_.starts_with('-') && ends(text_.substr(1))) return 1;
    for (const std::string_view suffix : {".npy", ".csv", ".png", ".npz:"})
      for (std::size_t at = text_.find(suffix); at != text_.npos; at = text_.find(suffix, at + 1)) {
        const std::string_view rest = text_.substr(at + suffix.size());
        if (suffix.back() == ':' || ends(rest)) return at + suffix.size();
      }
    return 0;
  }

  FileSource file(std::size_t end) {
    FileSource source{with_home(std::string(text_.substr(0, end)))};
    at_ = end;
    if (source.path.back() != ':') return source;
    source.path.pop_back();
    std::size_t stop = std::min(text_.find_first_of("[ ", at_), text_.size());
    if (const std::size_t turned = text_.find(".T", at_); turned < stop) stop = turned;
    if (stop == at_) fail(at_, "expected the name of an array in the file");
    source.entry = text_.substr(at_, stop - at_);
    at_ = stop;
    return source;
  }

  // The value whose name comes next; "" where there is none.
  std::string value_name() const {
    if (!values_ || !is_letter(peek())) return "";
    std::size_t end = at_;
    const auto word_end = [&](std::size_t from) {
      while (from < text_.size() && (is_letter(text_[from]) || is_digit(text_[from]))) ++from;
      return from;
    };
    end = word_end(at_);
    if (end < text_.size() && text_[end] == '.') { // of the two the longer
      const std::string whole(text_.substr(at_, word_end(end + 1) - at_));
      if (values_->count(whole)) return whole;
    }
    const std::string word(text_.substr(at_, end - at_));
    return values_->count(word) ? word : "";
  }

  // Each level opened by a bracket has as many parts as its neighbours.
  ListSource list() {
    ListSource source;
    std::vector<std::int64_t> counts; // of the levels that are open
    const std::size_t start = at_;
    int leaf_level = -1;
    do {
      skip_space();
      if (accept('[')) {
        counts.push_back(0);
        if (counts.size() > std::size_t(max_rank)) fail(start, "a list is nested too deep");
        continue;
      }
      if (accept(']')) {
        const std::size_t level = counts.size() - 1;
        if (source.extents.size() <= level) source.extents.resize(level + 1, -1);
        if (source.extents[level] >= 0 && source.extents[level] != counts[level])
          fail(at_ - 1, "the parts of a list have different lengths");
        source.extents[level] = counts[level];
        counts.pop_back();
        if (!counts.empty()) ++counts.back();
        skip_space();
        if (!counts.empty() && peek() != ']') expect(',');
        continue;
      }
      const std::size_t word = at_;
      if (leaf_level >= 0 && leaf_level != int(counts.size()))
        fail(word, "a list has numbers at one depth only");
      leaf_level = int(counts.size());
      while (at_ < text_.size() &&
             std::string_view(",] ").find(text_[at_]) == std::string_view::npos)
        ++at_;
      source.words.emplace_back(text_.substr(word, at_ - word));
      const std::string &number = source.words.back();
      if (!number_of(number) && number != "true" && number != "false")
        fail(word, number.empty() ? "expected a number" : fmt::format("'{}' is no number", number));
      ++counts.back();
      skip_space();
      if (peek() != ']') expect(',');
    } while (!counts.empty());
    return source;
  }

  NumberSource number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '[' && text_[at_] != ' ') ++at_;
    std::string word(text_.substr(start, at_ - start));
    if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.erase(0, 1);
    if (!number_of(word) && word != "true" && word != "false") {
      fail(start, word.empty() ? "a source is missing"
                               : "this is neither a .npy file, a number nor a generator");
    }
    return {word};
  }

  GeneratorSource generator() {
    const std::size_t start = at_;
    const std::string_view name = word();
    const auto found = std::ranges::find(words_of_generators, name);
    if (found == words_of_generators.end())
      fail(start, fmt::format("there is no generator '{}'", name));
    GeneratorSource source;
    source.generator = Generator(found - words_of_generators.begin());
    expect('(');
    if (source.generator == Generator::Arange) return arange(std::move(source));
    if (source.generator == Generator::Linspace) return linspace(std::move(source));
    while (!accept(')')) {
      skip_space();
      const std::size_t argument = at_;
      if (is_letter(peek())) {
        const std::string_view option = word();
        if (source.generator == Generator::Full && option == "value") {
          expect('=');
          source.value = number_word();
          expect(')');
          return source;
        }
        if (option != "seed") fail(argument, "the only option of a generator is seed=");
        if (source.seed) fail(argument, "the seed is given twice");
        expect('=');
        skip_space();
        const std::size_t at = at_;
        const std::int64_t seed = integer();
        if (seed < 0) fail(at, "a seed is 0 or more");
        source.seed = std::uint64_t(seed);
      } else {
        if (source.seed) fail(argument, "extents come before the seed");
        if (source.extents.size() == std::size_t(max_rank))
          fail(argument, fmt::format("an array has at most {} dims", max_rank));
        const std::int64_t extent = integer();
        if (extent < 0) fail(argument, "an extent is 0 or more");
        source.extents.push_back(extent);
      }
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    if (source.generator == Generator::Full)
      fail(start, "full() lacks its value: full(3, 4, value=2)");
    if (source.generator == Generator::Eye && source.extents.size() == 1)
      source.extents.push_back(source.extents[0]);
    if (source.generator == Generator::Eye && source.extents.size() != 2)
      fail(start, "eye takes one extent or two");
    return source;
  }

  // arange(n), arange(start, stop), arange(start, stop, step), behind the parenthesis.
  GeneratorSource arange(GeneratorSource source) {
    const std::size_t at = at_;
    std::vector<std::int64_t> given{integer()};
    while (given.size() < 3 && accept(',')) given.push_back(integer());
    expect(')');
    const std::int64_t stop = given.size() == 1 ? given[0] : given[1];
    if (given.size() > 1) source.start = given[0];
    if (given.size() > 2) source.step = given[2];
    if (source.step == 0) fail(at, "the step of arange cannot be 0");
    std::int64_t span = 0;
    constexpr std::int64_t most = std::int64_t(1) << 60;
    if (__builtin_sub_overflow(stop, source.start, &span) || std::abs(span) > most ||
        std::abs(source.step) > most)
      fail(at, "this is too long");
    const std::int64_t count = source.step > 0 ? (span + source.step - 1) / source.step
                                               : (-span - source.step - 1) / -source.step;
    if (given.size() == 1 && stop < 0) fail(at, "an extent is 0 or more");
    source.extents = {std::max<std::int64_t>(count, 0)};
    return source;
  }

  // linspace(from, to, n), behind the parenthesis.
  GeneratorSource linspace(GeneratorSource source) {
    const auto real = [&] {
      const std::size_t at = (skip_space(), at_);
      const std::optional<ReadNumber> number = number_of(number_word());
      if (!number || number->value.imag() != 0) fail(at, "expected a real number");
      return number->value.real();
    };
    source.from = real();
    expect(',');
    source.to = real();
    expect(',');
    skip_space();
    const std::size_t at = at_;
    const std::int64_t count = integer();
    if (count < 1) fail(at, "linspace has at least one element");
    source.extents = {count};
    expect(')');
    return source;
  }

  std::string number_word() {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && std::string_view(",) ").find(text_[at_]) == std::string_view::npos)
      ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  ViewStep view() {
    ViewStep step;
    if (text_.substr(at_, 2) == ".T") {
      at_ += 2;
      step.transpose = true;
      return step;
    }
    if (peek() != '[') fail(at_, "expected a view, [..] or .T");
    ++at_;
    bool ellipsis = false;
    do {
      skip_space();
      const std::size_t start = at_;
      step.items.push_back(item());
      if (std::holds_alternative<Ellipsis>(step.items.back()) && std::exchange(ellipsis, true))
        fail(start, "only one '...' can stand in a view");
    } while (accept(',') && !closing());
    expect(']');
    return step;
  }

  Item item() {
    if (text_.substr(at_, 3) == "...") {
      at_ += 3;
      return Ellipsis{};
    }
    const std::optional<std::int64_t> first = optional_integer();
    if (!accept(':')) {
      if (!first) fail(at_, "expected an index, a slice start:stop:step, or '...'");
      return *first;
    }
    Slice slice{first, optional_integer(), {}};
    if (accept(':')) {
      skip_space();
      const std::size_t at = at_;
      slice.step = optional_integer();
      if (slice.step == 0) fail(at, "the step of a slice cannot be 0");
    }
    return slice;
  }

  std::optional<std::int64_t> optional_integer() {
    skip_space();
    if (peek() != '-' && peek() != '+' && !is_digit(peek())) return {};
    return integer();
  }

  std::int64_t integer() {
    skip_space();
    const std::size_t start = at_;
    if (peek() == '+' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) ++at_;
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail(start, "this number does not fit in 64 bits");
    if (error != std::errc{}) fail(start, "expected a whole number");
    at_ = std::size_t(end - text_.data());
    return value;
  }

  std::string_view word() {
    const std::size_t start = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    return text_.substr(start, at_ - start);
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (peek() == ' ') ++at_;
  }
  bool closing() {
    skip_space();
    return peek() == ']';
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(at_, fmt::format("expected '{}'", c));
  }

  std::string_view text_;
  const std::string &input_;
  const Values *values_;
  std::size_t at_ = 0;
};

} // namespace

std::span<const std::string_view> generator_words() { return words_of_generators; }

Source parse_source(std::string_view text, const std::string &input, const Values *values) {
  return SourceParser(text, input, values).parse();
}

std::optional<DType> dtype_of(const Source &source) {
  DType dtype = DType::I64;
  const auto meet = [&](const std::string &word) {
    const std::optional<ReadNumber> number = number_of(word);
    if (word.ends_with('j'))
      dtype = DType::C128;
    else if (dtype != DType::C128 && (!number || word.find_first_of(".enai") != word.npos))
      dtype = word == "true" || word == "false" ? DType::Bool : DType::F64;
  };
  if (std::holds_alternative<NameSource>(source.base)) return std::nullopt;
  if (const auto *file = std::get_if<FileSource>(&source.base))
    return file->path.ends_with(".csv") ? std::optional(DType::F64) : std::nullopt;
  if (const auto *number = std::get_if<NumberSource>(&source.base)) meet(number->text);
  if (const auto *list = std::get_if<ListSource>(&source.base)) {
    for (const std::string &word : list->words) meet(word);
    if (list->words.empty()) dtype = DType::F64;
  }
  if (const auto *made = std::get_if<GeneratorSource>(&source.base)) {
    if (made->generator == Generator::Full)
      meet(made->value);
    else if (made->generator != Generator::Arange)
      dtype = DType::F64;
  }
  return dtype;
}

} // namespace broadloom::cli

// Parsing SOURCE and applying views. What the generators make is in generate.cpp.
#include "tools/broadloom/data/source.hpp"

#include "support/text.hpp"

#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/data/element.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <utility>

namespace broadloom::cli {

namespace {

struct ReadNumber {
  std::complex<double> value;
  bool in_range = true;
};

// 2.5, -inf, 2j or 1-2j; none for any other word.
std::optional<ReadNumber> number_of(std::string_view word) {
  const char *at = word.data(), *const last = at + word.size();
  double parts[2] = {0, 0};
  ReadNumber number;
  const auto read = [&](double &part) {
    const auto [end, error] = std::from_chars(at, last, part);
    at = end;
    number.in_range = number.in_range && error == std::errc{};
    return error != std::errc::invalid_argument;
  };
  if (!read(parts[0])) return std::nullopt;
  if (at != last && *at == 'j') {
    std::swap(parts[0], parts[1]);
  } else if (at != last && (*at == '+' || *at == '-')) {
    if (*at == '+') ++at;
    if (!read(parts[1]) || at == last || *at != 'j') return std::nullopt;
  }
  if (at != last && *at == 'j') ++at;
  if (at != last) return std::nullopt;
  number.value = {parts[0], parts[1]};
  return number;
}

constexpr const char *forms = "a source is a .npy file, a number, or rand(3,4), randn(..), "
                              "zeros(..), ones(..), arange(n) with "
                              ", seed=7; then views like [::2, -1] and .T";

class SourceParser {
public:
  SourceParser(std::string_view text, const std::string &input) : text_(text), input_(input) {}

  Source parse() {
    Source source;
    source.text = text_;
    if (const std::size_t end = path_end(); end > 0) {
      source.base = FileSource{std::string(text_.substr(0, end))};
      at_ = end;
    } else if (skip_space(); is_letter(peek()) && text_.find('(') != text_.npos) {
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
                     fmt::format("input {}: {}\n    {}\n    {}^", input_, what, text_,
                                 std::string(columns, ' ')),
                     help);
  }

  // Where a path ends: after the first ".npy" that only views can follow; 0 where there is none.
  std::size_t path_end() const {
    constexpr std::string_view suffix = ".npy";
    for (std::size_t at = text_.find(suffix); at != text_.npos; at = text_.find(suffix, at + 1)) {
      const std::string_view rest = text_.substr(at + suffix.size());
      if (rest.empty() || rest[0] == '[' || rest[0] == ' ' || rest.substr(0, 2) == ".T") {
        return at + suffix.size();
      }
    }
    return 0;
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
    constexpr std::array<std::pair<std::string_view, Generator>, 5> names{{
        {"rand", Generator::Rand},
        {"randn", Generator::Randn},
        {"zeros", Generator::Zeros},
        {"ones", Generator::Ones},
        {"arange", Generator::Arange},
    }};
    const std::size_t start = at_;
    const std::string_view name = word();
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto &entry) { return entry.first == name; });
    if (found == names.end()) fail(start, fmt::format("there is no generator '{}'", name));
    GeneratorSource source;
    source.generator = found->second;
    expect('(');
    while (!accept(')')) {
      skip_space();
      const std::size_t argument = at_;
      if (is_letter(peek())) {
        if (word() != "seed") fail(argument, "the only option of a generator is seed=");
        if (source.seed) fail(argument, "the seed is given twice");
        expect('=');
        skip_space();
        const std::size_t at = at_;
        const std::int64_t seed = integer();
        if (seed < 0) fail(at, "a seed is 0 or more");
        source.seed = std::uint64_t(seed);
      } else {
        if (source.seed) fail(argument, "extents come before the seed");
        if (source.extents.size() == std::size_t(max_rank)) {
          fail(argument, fmt::format("an array has at most {} dims", max_rank));
        }
        const std::int64_t extent = integer();
        if (extent < 0) fail(argument, "an extent is 0 or more");
        source.extents.push_back(extent);
      }
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    if (source.generator == Generator::Arange && source.extents.size() != 1) {
      fail(start, "arange takes one extent");
    }
    return source;
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
      if (std::holds_alternative<Ellipsis>(step.items.back()) && std::exchange(ellipsis, true)) {
        fail(start, "only one '...' can stand in a view");
      }
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
  std::size_t at_ = 0;
};

Array number_array(const std::string &word, const Target &target) {
  Array array(target.dtype, {});
  with_type(target.dtype, [&](auto zero) {
    using T = decltype(zero);
    T value = zero;
    bool fits = true;
    if constexpr (std::is_same_v<T, bool>) {
      value = word == "true" || word == "1";
      fits = value || word == "false" || word == "0";
    } else if constexpr (is_narrow<T>) {
      double wide = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), wide);
      value = T(wide);
      fits = error == std::errc{} && end == word.data() + word.size() &&
             (std::isfinite(float(value)) || !std::isfinite(wide));
    } else if constexpr (is_complex_type<T>) {
      const std::optional<ReadNumber> number = number_of(word);
      fits = number && number->in_range;
      if (fits) value = T(number->value);
      fits = fits && std::isfinite(value.real()) >= std::isfinite(number->value.real()) &&
             std::isfinite(value.imag()) >= std::isfinite(number->value.imag());
    } else {
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      fits = error == std::errc{} && end == word.data() + word.size();
    }
    if (!fits) {
      throw UsageError(
          "E0403",
          fmt::format("input {}: {} is not a value of {}", target.name, word, name(target.dtype)),
          "give a value in the dtype that the kernel declares for this input");
    }
    *array.data<T>() = value;
  });
  return array;
}

Array file_array(const std::string &path, const Target &target) {
  if (::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    throw UsageError("E0402", fmt::format("input {}: there is no file '{}'", target.name, path),
                     "check the path; it counts from the current folder");
  }
  Array array = load_npy(path);
  if (array.dtype() != target.dtype) {
    throw DTypeError("E0203",
                     fmt::format("'{}' holds {}, and input '{}' is declared as {}", path,
                                 name(array.dtype()), target.name, name(target.dtype)),
                     target.where,
                     fmt::format("declare the input as {}, or convert the file with numpy",
                                 name(array.dtype())));
  }
  return array;
}

[[noreturn]] void bad_view(const std::string &what, const std::string &text) {
  throw ShapeError("E0114", fmt::format("{} in '{}'", what, text), {},
                   "indices count from 0, or from the end with -1; slices may go beyond the end");
}

struct Range {
  std::int64_t start, count, step;
};

// Python's slice.indices: missing and outlying bounds move to the ends.
Range resolve(const Slice &slice, std::int64_t extent) {
  const std::int64_t step =
      std::max(slice.step.value_or(1), -std::numeric_limits<std::int64_t>::max());
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto bound = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + extent : *given, low, high);
  };
  const std::int64_t start = bound(slice.start, step > 0 ? low : high);
  const std::int64_t stop = bound(slice.stop, step > 0 ? high : low);
  if (step > 0) return {start, start < stop ? (stop - start - 1) / step + 1 : 0, step};
  return {start, start > stop ? (start - stop - 1) / -step + 1 : 0, step};
}

} // namespace

Source parse_source(std::string_view text, const std::string &input) {
  return SourceParser(text, input).parse();
}

Array apply_view(const Array &array, const ViewStep &step, const std::string &text) {
  if (step.transpose) return array.transposed();
  const Layout &from = array.layout();
  const int named = int(std::count_if(step.items.begin(), step.items.end(), [](const Item &item) {
    return !std::holds_alternative<Ellipsis>(item);
  }));
  if (named > from.rank) {
    bad_view(fmt::format("{} indices for {} dims", named, from.rank), text);
  }
  Layout to;
  std::int64_t offset = 0;
  int d = 0;
  const auto keep = [&](std::int64_t extent, std::int64_t stride) {
    to.extents[to.rank] = extent;
    to.strides[to.rank++] = stride;
  };
  const auto skip = [&](int dims) {
    for (; dims > 0; --dims, ++d) keep(from.extents[d], from.strides[d]);
  };
  for (const Item &item : step.items) {
    if (std::holds_alternative<Ellipsis>(item)) {
      skip(from.rank - named);
      continue;
    }
    const std::int64_t extent = from.extents[d], stride = from.strides[d];
    if (const std::int64_t *index = std::get_if<std::int64_t>(&item)) {
      if (*index < -extent || *index >= extent) {
        bad_view(fmt::format("index {} is outside dim {} of {} elements", *index, d, extent), text);
      }
      offset += (*index < 0 ? *index + extent : *index) * stride;
    } else {
      const Range range = resolve(std::get<Slice>(item), extent);
      if (range.count > 0) offset += range.start * stride;
      // With one element or none the step is never taken, and the product might not fit.
      keep(range.count, range.count > 1 ? stride * range.step : stride);
    }
    ++d;
  }
  skip(from.rank - d);
  if (element_count(from) == 0) offset = 0;
  char *data = static_cast<char *>(array.raw()) + offset * std::int64_t(size_of(array.dtype()));
  return {std::make_shared<Array>(array), array.dtype(), data, to};
}

Array read_source(const Source &source, const Target &target) {
  Array array;
  if (const auto *file = std::get_if<FileSource>(&source.base)) {
    array = file_array(file->path, target);
  } else if (const auto *number = std::get_if<NumberSource>(&source.base)) {
    array = number_array(number->text, target);
  } else {
    array = generate(std::get<GeneratorSource>(source.base), target);
  }
  for (const ViewStep &step : source.views) array = apply_view(array, step, source.text);
  return array;
}

} // namespace broadloom::cli

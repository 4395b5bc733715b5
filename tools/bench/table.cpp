// See table.hpp.
#include "bench/table.hpp"

#include "support/number.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace bench {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Without empty parts where the separator is a blank.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    const std::string_view part = trimmed(text.substr(0, at));
    if (separator != ' ' || !part.empty()) parts.emplace_back(part);
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

class LineParser {
public:
  explicit LineParser(std::string place) : place_(std::move(place)) {}

  Case parse(std::string_view line) const {
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() != 5)
      fail(fmt::format("{} fields instead of 5", fields.size()),
           "write ID | KERNEL | INPUT=SOURCE .. | OPTION .. | TITLE");
    Case result;
    result.id = fields[0];
    result.kernel = fields[1];
    result.title = fields[4];
    for (std::size_t k : {0, 1, 4})
      if (fields[k].empty()) fail("the id, the kernel or the title is empty", "give all three");
    result.inputs = split(fields[2], ' ');
    for (const std::string &input : result.inputs)
      if (const std::size_t equals = input.find('='); equals == input.npos || equals == 0)
        fail(fmt::format("'{}' is no input", input), "write NAME=SOURCE without blanks");
    for (const std::string &option : split(fields[3], ' ')) apply(option, result);
    if (result.built && !(result.freeze.empty() && result.beside.empty()))
      fail("built stands beside freeze= or beside=", "leave one out: what is frozen is compiled");
    return result;
  }

  [[noreturn]] void fail(const std::string &what, const std::string &help) const {
    throw TableError(fmt::format("{}: {}; {}", place_, what, help));
  }

private:
  void apply(const std::string &option, Case &result) const {
    const std::size_t equals = option.find('=');
    const std::string name = option.substr(0, equals);
    const std::string value = equals == option.npos ? "" : option.substr(equals + 1);
    if (name == "ops") {
      result.ops = positive<double>(option, value);
    } else if (name == "read") {
      result.read_bytes = positive<std::int64_t>(option, value);
    } else if (name == "tol") {
      result.tolerance = positive<double>(option, value);
    } else if (name == "wrt") {
      result.wrt = split(value, ',');
    } else if (name == "freeze") {
      result.freeze = split(value, ',');
    } else if (name == "beside") {
      result.beside = split(value, ',');
    } else if (option == "via=run") {
      result.via = Case::Via::Run;
    } else if (option == "via=views") {
      result.via = Case::Via::Views;
    } else if (option == "via=shared") {
      result.via = Case::Via::Shared;
    } else if (option == "first") {
      result.first = true;
    } else if (option == "tiered") {
      result.tiered = true;
    } else if (option == "built") {
      result.built = true;
    } else if (option == "overhead") {
      result.overhead = true;
    } else {
      fail(fmt::format("there is no option '{}'", option),
           "the options are ops=, read=, tol=, wrt=, freeze=, beside=, via=run, via=views, "
           "via=shared, first, tiered, built, overhead");
    }
  }

  template <class T> T positive(const std::string &option, const std::string &value) const {
    const std::optional<T> read = broadloom::support::number_of<T>(value);
    if (!read || *read <= 0) fail(fmt::format("'{}' needs a number above 0", option), "give one");
    return *read;
  }

  std::string place_;
};

} // namespace

std::string Case::peer_key() const {
  return wrt.empty() ? kernel : fmt::format("{}/{}", kernel, fmt::join(wrt, ","));
}

std::vector<Case> parse_table(std::string_view text, const std::string &file) {
  std::vector<Case> cases;
  int number = 0;
  for (const std::string &line : split(text, '\n')) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const LineParser parser(fmt::format("{}:{}", file, number));
    Case parsed = parser.parse(line);
    if (std::any_of(cases.begin(), cases.end(), [&](const Case &c) { return c.id == parsed.id; }))
      parser.fail(fmt::format("the id '{}' is taken", parsed.id), "ids are distinct");
    cases.push_back(std::move(parsed));
  }
  return cases;
}

} // namespace bench

// The lines that say what the calls of a kernel look like: see build.hpp.
//
//   line     operand operand ..         # a comment
//   operand  NAME=(extent, ..)          an input, in C order; an extent is a number, or * for any
//            NAME=(..)/f                its first dim varies fastest
//            NAME=(..)/(stride, ..)     in elements
//            NAME=/f  NAME=/(..)        an output, whose extents follow; they are listed where
//                                       nothing else has them
//            NAME=none                  an output that is not wanted
#include "jit/ahead/build.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace broadloom::jit {
namespace {

ListedCall any_call(const spec::TypedSpec &spec) {
  ListedCall call;
  for (const spec::TypedInput &input : spec.callers())
    call.operands.push_back({input.name, std::vector<std::int64_t>(input.axis_of_dim.size(), -1)});
  for (const spec::TypedOutput &output : spec.outputs)
    call.operands.push_back({output.name, std::vector<std::int64_t>(output.axes.size(), -1)});
  return call;
}

class LineReader {
public:
  LineReader(const spec::TypedSpec &spec, std::string_view text, const std::string &file, int line)
      : spec_(spec), text_(text.substr(0, std::min(text.find('#'), text.size()))), whole_(text),
        file_(file), line_(line) {}

  std::optional<ListedCall> read() {
    skip_spaces();
    if (at_end()) return std::nullopt;
    ListedCall call = any_call(spec_);
    const std::size_t inputs = spec_.callers().size();
    call.where = place(0, text_.size());
    std::vector<bool> seen(call.operands.size());
    for (; !at_end(); skip_spaces()) {
      const std::size_t start = at_;
      const std::string name(word());
      if (name.empty()) fail("the name of an input or an output is wanted here", start);
      skip_spaces();
      if (!take('=')) fail("'=' is wanted behind '" + name + "'", at_);
      skip_spaces();
      const auto is_called = [&](const ListedOperand &operand) { return operand.name == name; };
      // Of a state both have the name: an input has extents.
      const bool has_extents = !at_end() && text_[at_] == '(';
      const auto first = call.operands.begin(), middle = first + std::ptrdiff_t(inputs),
                 last = call.operands.end();
      auto found = has_extents ? std::find_if(first, middle, is_called) : middle;
      if (found == middle) found = std::find_if(middle, last, is_called);
      if (found == last)
        fail(fmt::format("kernel '{}' has no {} '{}'", spec_.name,
                         has_extents ? "operand" : "output", name),
             start, name.size());
      const auto k = std::size_t(found - call.operands.begin());
      if (seen[k]) fail("'" + name + "' is there twice", start, name.size());
      seen[k] = true;
      has_extents ? read_extents(*found) : read_output(*found);
    }
    return call;
  }

private:
  void read_extents(ListedOperand &operand) {
    operand.extents = tuple(operand.name, operand.extents.size(), true);
    skip_spaces();
    if (take('/')) read_order(operand);
  }

  void read_output(ListedOperand &operand) {
    if (take('/')) return read_order(operand);
    const std::size_t start = at_;
    if (word() != "none")
      fail("an input has extents, as in x=(3, *), and an output /c, /f, strides or none", start);
    operand.is_wanted = false;
  }

  void read_order(ListedOperand &operand) {
    skip_spaces();
    const std::size_t start = at_;
    if (!at_end() && text_[at_] == '(') {
      operand.strides = tuple(operand.name, operand.extents.size(), false);
      return;
    }
    const std::string_view order = word();
    if (order != "c" && order != "f") fail("behind '/' stand c, f or strides: (64, 1)", start);
    operand.is_fortran = order == "f";
  }

  std::vector<std::int64_t> tuple(const std::string &name, std::size_t rank, bool extents) {
    std::vector<std::int64_t> numbers;
    const std::size_t start = at_;
    take('(');
    skip_spaces();
    while (!take(')')) {
      if (!numbers.empty() && !take(',')) fail("',' or ')' is wanted here", at_);
      skip_spaces();
      if (extents && take('*'))
        numbers.push_back(-1);
      else
        numbers.push_back(number(extents));
      skip_spaces();
    }
    if (numbers.size() != rank)
      fail(fmt::format("'{}' has {}, and here are {}", name,
                       support::count(std::int64_t(rank), "dim"),
                       support::count(std::int64_t(numbers.size()), "number")),
           start, at_ - start);
    return numbers;
  }

  std::int64_t number(bool is_extent) {
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || (is_extent && value < 0))
      fail(is_extent ? "an extent is a number from 0 on, or *" : "a stride is a number", at_);
    at_ = std::size_t(end - text_.data());
    return value;
  }

  std::string_view word() {
    std::size_t end = at_;
    while (end < text_.size() && support::is_identifier(text_.substr(at_, end + 1 - at_))) ++end;
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }

  bool at_end() const { return at_ == text_.size(); }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }

  Place place(std::size_t at, std::size_t length) const {
    return {file_, line_, support::count_columns(text_.substr(0, at)) + 1, std::max(1, int(length)),
            std::string(whole_)};
  }
  [[noreturn]] void fail(const std::string &message, std::size_t at, std::size_t length = 1) const {
    support::fail("E0070", message, place(at, length),
                  "a line says what the inputs of a call look like: x=(1024, *) w=(64)/f");
  }

  const spec::TypedSpec &spec_;
  const std::string_view text_, whole_;
  const std::string &file_;
  const int line_;
  std::size_t at_ = 0;
};

} // namespace

std::vector<ListedCall> parse_layouts(const spec::TypedSpec &spec, const std::string &text,
                                      const std::string &file) {
  std::vector<ListedCall> calls;
  int number = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (auto call = LineReader(spec, line, file, ++number).read())
      calls.push_back(std::move(*call));
  }
  if (!calls.empty()) return calls;
  return {any_call(spec)};
}

} // namespace broadloom::jit

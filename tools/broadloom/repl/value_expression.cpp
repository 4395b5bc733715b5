// See value_expression.hpp.
#include "tools/broadloom/repl/value_expression.hpp"

#include "tools/broadloom/repl/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace broadloom::cli {

namespace {

class Translator {
public:
  Translator(std::string_view text, const Values &values) : text_(text), values_(values) {}

  ValueExpression run() {
    while (at_ < text_.size()) {
      if (in_name(text_[at_]))
        word();
      else if (text_[at_] == '[' && begins_operand())
        source(closing(at_));
      else
        mark();
    }
    return std::move(made_);
  }

private:
  char at(std::size_t place) const { return place < text_.size() ? text_[place] : '\0'; }

  void mark() {
    const char c = text_[at_++];
    if (c == '(' || c == '[') open_ += c;
    if ((c == ')' || c == ']') && !open_.empty()) open_.pop_back();
    made_.text += c;
  }

  // Whether no operand ends here, which a bracket would be the positions of.
  bool begins_operand() const {
    const std::size_t last = made_.text.find_last_not_of(" \t\r\n");
    const char before = last == std::string::npos ? '\0' : made_.text[last];
    return !in_name(before) && before != ')' && before != ']';
  }

  std::size_t word_end(std::size_t from) const {
    while (in_name(at(from))) ++from;
    return from;
  }

  // Behind the bracket or parenthesis that closes the one here, or at the end of the text.
  std::size_t closing(std::size_t from) const {
    int open = 0;
    for (; from < text_.size(); ++from) {
      open += text_[from] == '(' || text_[from] == '[';
      open -= text_[from] == ')' || text_[from] == ']';
      if (open == 0) return from + 1;
    }
    return from;
  }

  // Behind the views that follow; those of a name have a `:` or `...`, as other brackets are positions.
  std::size_t views_end(std::size_t from, bool of_name) const {
    while (true) {
      if (at(from) == '.' && at(from + 1) == 'T' && !in_name(at(from + 2))) {
        from += 2;
      } else if (at(from) == '[') {
        const std::size_t end = closing(from);
        const std::string_view inside = text_.substr(from, end - from);
        if (of_name && inside.find(':') == inside.npos && inside.find("...") == inside.npos)
          return from;
        from = end;
      } else {
        return from;
      }
      of_name = false;
    }
  }

  void word() {
    std::size_t end = word_end(at_);
    const auto name = [&] { return std::string(text_.substr(at_, end - at_)); };
    if (!is_digit(text_[at_])) {
      if (at(end) == '(' && std::ranges::count(generator_words(), name()) != 0)
        return source(closing(end));
      if (at(end) == '.' && in_name(at(end + 1))) { // k.z
        const std::size_t first = end;
        end = word_end(end + 1);
        if (values_.count(name()) == 0) end = first;
      }
      if (const auto value = values_.find(name()); value != values_.end()) {
        if (views_end(end, true) > end) return source(end, true);
        std::string word = name();
        std::replace(word.begin(), word.end(), '.', '_');
        // `x[i + 1]` walks an axis i, whatever value has that name.
        const bool is_axis = !open_.empty() && open_.back() == '[' && at(end) != '[';
        if (!is_axis) made_.values.emplace(word, &value->second);
        made_.text += word;
        at_ = end;
        return;
      }
    }
    made_.text += name();
    at_ = end;
  }

  // What stands from here to `end`, and its views.
  void source(std::size_t end, bool is_name = false) {
    end = views_end(end, is_name);
    std::string name;
    do name = fmt::format("source_{}", ++count_);
    while (text_.find(name) != text_.npos || values_.count(name) != 0);
    const std::string_view written = text_.substr(at_, end - at_);
    made_.sources.emplace(
        name, parse_source(written.substr(0, written.find_last_not_of("\r\n") + 1), "", &values_));
    made_.text += name;
    at_ = end;
  }

  std::string_view text_;
  const Values &values_;
  ValueExpression made_;
  std::size_t at_ = 0;
  std::string open_; // parentheses and brackets
  int count_ = 0;    // of sources
};

} // namespace

ValueExpression parse_value_expression(const std::string &text, const Values &values) {
  return Translator(text, values).run();
}

} // namespace broadloom::cli

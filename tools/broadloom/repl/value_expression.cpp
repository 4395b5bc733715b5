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
    while (at_ < text_.size())
      if (in_name(text_[at_]))
        word();
      else if (text_[at_] == '[' && begins_operand())
        source(closing(at_));
      else
        mark();
    return std::move(made_);
  }

private:
  char at(std::size_t place) const { return place < text_.size() ? text_[place] : '\0'; }

  void mark() {
    const char c = text_[at_++];
    if (c == '(' || c == '[') open_ += c;
    if ((c == ')' || c == ']') && !open_.empty()) open_.pop_back();
    made_.text += c;
    made_.typed.emplace_back(at_ - 1, at_);
  }

  // `word` for what stands from here to `end`.
  void put(const std::string &word, std::size_t end) {
    const std::string_view written = text_.substr(at_, end - at_);
    const bool same = word.size() == written.size();
    for (std::size_t k = 0; k < word.size(); ++k)
      made_.typed.emplace_back(same ? at_ + k : at_, same ? at_ + k + 1 : end);
    if (word != written) made_.written.emplace(word, written);
    made_.text += word;
    at_ = end;
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

  // Behind the views that follow; those of a name have a `:` or `...`, as other brackets are
  // positions.
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
        return put(word, end);
      }
    }
    put(name(), end);
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
    put(name, end);
  }

  std::string_view text_;
  const Values &values_;
  ValueExpression made_;
  std::size_t at_ = 0;
  std::string open_; // parentheses and brackets
  int count_ = 0;    // of sources
};

} // namespace

std::pair<std::size_t, std::size_t> ValueExpression::typed_at(std::size_t offset,
                                                              std::size_t length) const {
  if (typed.empty()) return {0, 0};
  const std::size_t last = typed.size() - 1;
  const std::size_t first = offset > last ? typed[last].second : typed[offset].first;
  return {
      first,
      std::max(first, typed[std::min(offset + std::max<std::size_t>(length, 1) - 1, last)].second)};
}

std::string ValueExpression::in_typed_words(std::string message) const {
  for (const auto &[word, as_typed] : written) {
    const std::string name = "'" + word + "'";
    for (std::size_t at = 0; (at = message.find(name, at)) != message.npos; at += as_typed.size())
      message.replace(at + 1, word.size(), as_typed);
  }
  return message;
}

ValueExpression parse_value_expression(const std::string &text, const Values &values) {
  return Translator(text, values).run();
}

} // namespace broadloom::cli

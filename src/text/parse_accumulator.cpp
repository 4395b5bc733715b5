// Definitions of accumulators, and what follows an accumulator's arguments: axes and options.
//
//   accumulator damped(a; m) {         clauses in this order, each ended by its line, `;` or the
//                                      next word
//     init a = 0
//     step a = 0.5 * a + m
//   }
#include "spec/definition.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"
#include "text/hints.hpp"
#include "text/parser.hpp"

#include <limits>
#include <utility>

namespace broadloom::text {

namespace {

class DefinitionParser {
public:
  DefinitionParser(Cursor &cursor, Definitions &definitions)
      : cursor_(cursor), definitions_(definitions) {}

  AccumulatorDef run() {
    const std::string in_kernels = std::exchange(
        definitions_.unknown_name,
        "step reads states and arguments, combine STATE and STATE_other, result states");
    definition();
    definitions_.unknown_name = in_kernels;
    definitions_.being_defined.clear();
    return std::move(def_);
  }

private:
  void definition() {
    cursor_.next();
    const Token name = cursor_.expect_new_name("an accumulator");
    def_.name = cursor_.word(name);
    def_.where = cursor_.source().place(name);
    definitions_.being_defined = def_.name;
    cursor_.expect(Tok::LeftParen, "'(' and the states");
    names(def_.states, "a state");
    if (!cursor_.is(Tok::Break)) cursor_.unexpected("',', or ';' and the arguments");
    cursor_.next();
    names(def_.args, "an argument");
    cursor_.expect(Tok::RightParen, "',' or ')'");
    skip_breaks();
    const Token brace = cursor_.expect(Tok::LeftBrace, "'{'");
    define(def_.states, "");
    begin("init", "'init'", brace);
    numbers();
    define(def_.args, "");
    begin("step", "'step'", brace);
    expressions(def_.step);
    for (const std::string &arg : def_.args) symbols_.erase(arg);
    if (begins("combine")) {
      define(def_.states, "_other");
      cursor_.next();
      expressions(def_.combine);
      for (const std::string &state : def_.states) symbols_.erase(state + "_other");
    }
    if (begins("result")) {
      cursor_.next();
      if (def_.name == "var") define({"correction"}, "");
      def_.result = parse_expression(cursor_, symbols_, definitions_);
    }
    skip_breaks();
    if (cursor_.is(Tok::End)) unclosed(brace);
    cursor_.expect(Tok::RightBrace, def_.combine.empty() && !def_.result.node()
                                        ? "'combine', 'result' or '}'"
                                    : def_.result.node() ? "'}'"
                                                         : "'result' or '}'");
  }

  void skip_breaks() {
    while (cursor_.accept(Tok::Break)) {
    }
  }

  void names(std::vector<std::string> &into, const char *what) {
    do into.emplace_back(cursor_.word(cursor_.expect_new_name(what)));
    while (cursor_.accept(Tok::Comma));
  }

  void define(const std::vector<std::string> &names, const std::string &suffix) {
    for (const std::string &name : names)
      symbols_[name + suffix] = {Symbol::Kind::Let, make_parameter(name + suffix, def_.where)};
  }

  [[noreturn]] void unclosed(const Token &brace) const {
    cursor_.fail("E0007", "accumulator '" + def_.name + "' is never closed", brace,
                 "add the missing '}'");
  }

  bool begins(const char *word) {
    skip_breaks();
    return cursor_.is_word(word);
  }

  void begin(const char *word, const char *shown, const Token &brace) {
    if (!begins(word)) {
      if (cursor_.is(Tok::End)) unclosed(brace);
      cursor_.unexpected(shown);
    }
    cursor_.next();
  }

  AccumulatorDef::Clause clause() {
    const Token state = cursor_.expect(Tok::Name, "a state");
    cursor_.expect(Tok::Assign, "'='");
    return {std::string(cursor_.word(state)), {}, cursor_.source().place(state)};
  }

  void numbers() {
    do {
      AccumulatorDef::Clause init = clause();
      init.value = parse_number(cursor_);
      def_.init.push_back(std::move(init));
    } while (cursor_.accept(Tok::Comma));
  }

  void expressions(std::vector<AccumulatorDef::Clause> &into) {
    do {
      AccumulatorDef::Clause made = clause();
      made.value = parse_expression(cursor_, symbols_, definitions_);
      into.push_back(std::move(made));
    } while (cursor_.accept(Tok::Comma));
  }

  Cursor &cursor_;
  AccumulatorDef def_;
  Symbols symbols_;
  Definitions &definitions_;
};

// The options that a use takes, for errors.
const char *const reduction_options = "init=, acc=, correction= or like=";
const char *const scan_options = "exclusive, reverse, state=, init=, acc= or correction=";

void once(const Cursor &cursor, const Token &option, bool given) {
  const std::string word(cursor.word(option));
  if (given) cursor.fail("E0002", word + "= is given twice", option, "give it once");
}

[[noreturn]] void unknown_option(const Cursor &cursor, const char *options) {
  const Token option = cursor.peek();
  const std::string hint = hint_for_option(cursor.word(option));
  cursor.fail("E0021", "there is no option '" + std::string(cursor.word(option)) + "=' here",
              option, cursor.peek(1),
              hint.empty() ? std::string("the options are ") + options : hint);
}

bool is_option(const Cursor &cursor) {
  return cursor.is(Tok::Name) && cursor.peek(1).kind == Tok::Assign;
}

// acc= and correction=, which are the same everywhere. The cursor is on the word.
bool parse_common_option(Cursor &cursor, FoldUse &use) {
  const Token option = cursor.peek();
  if (cursor.word(option) == "acc") {
    once(cursor, option, use.acc.has_value());
    cursor.next(), cursor.next();
    use.acc = parse_dtype(cursor);
    return true;
  }
  if (cursor.word(option) != "correction") return false;
  once(cursor, option, use.correction.has_value());
  cursor.next(), cursor.next();
  const Number number = parse_number(cursor).node()->number;
  use.correction = number.kind == Number::Kind::Float ? number.real : double(number.integer);
  return true;
}

} // namespace

AccumulatorDef parse_accumulator(Cursor &cursor, Definitions &definitions) {
  return DefinitionParser(cursor, definitions).run();
}

Expr parse_number(Cursor &cursor) {
  const Token first = cursor.peek();
  const bool minus = cursor.accept(Tok::Minus);
  const Token token = cursor.peek();
  Number number;
  if (cursor.is(Tok::Int) || cursor.is(Tok::Float)) {
    number = read_number(cursor, token);
  } else if (cursor.is_word("inf") || cursor.is_word("nan")) {
    using Limits = std::numeric_limits<double>;
    number.kind = Number::Kind::Float;
    number.real = cursor.is_word("inf") ? Limits::infinity() : Limits::quiet_NaN();
  } else if (!minus && (cursor.is_word("true") || cursor.is_word("false"))) {
    number.kind = Number::Kind::Bool;
    number.integer = cursor.is_word("true");
  } else {
    cursor.unexpected("a number");
  }
  cursor.next();
  if (minus) {
    number.real = -number.real;
    if (number.too_large && cursor.word(token) == "9223372036854775808") {
      number.too_large = false;
      number.integer = std::numeric_limits<std::int64_t>::min();
    } else {
      number.integer = -number.integer;
    }
  }
  return make_literal(number, cursor.source().place(first, token));
}

std::optional<Accumulator> find_accumulator(std::string_view word, const Definitions &definitions) {
  if (const auto fold = ops::find_fold(word)) return Accumulator(*fold);
  const auto it = definitions.accumulators.find(std::string(word));
  if (it == definitions.accumulators.end()) return std::nullopt;
  return it->second;
}

Accumulator parse_accumulator_name(Cursor &cursor, const Definitions &definitions) {
  const Token &token = cursor.expect(Tok::Name, "an accumulator");
  const std::string word(cursor.word(token));
  if (auto found = find_accumulator(word, definitions)) return std::move(*found);
  std::vector<std::string> names;
  for (int i = 0; i < ops::fold_count(); ++i) names.emplace_back(ops::info(Fold(i)).name);
  for (const auto &[name, accumulator] : definitions.accumulators) names.push_back(name);
  std::sort(names.begin() + ops::fold_count(), names.end());
  const std::string near = support::closest(word, names);
  cursor.fail("E0008", "there is no accumulator '" + word + "'", token,
              near.empty() ? "there are " + support::joined(names)
                           : "did you mean '" + near + "'?");
}

bool parse_fold_rest(Cursor &cursor, const Symbols &symbols, FoldCall &call) {
  FoldUse &use = call.use;
  while (cursor.accept(Tok::Comma)) {
    const Token token = cursor.peek();
    const std::string word(cursor.is(Tok::Name) ? cursor.word(token) : "");
    if (is_option(cursor)) {
      call.has_options = true;
      if (word == "init") {
        once(cursor, token, call.has_init);
        call.has_init = true;
        cursor.next(), cursor.next();
        return true;
      }
      if (word == "like" && !call.is_scan) {
        once(cursor, token, !use.like.empty());
        if (!call.axes.empty())
          cursor.fail("E0002", "a reduction takes axes or like=, not both", token, "leave one out");
        use.like = parse_inputs_option(cursor, symbols);
      } else if (word == "state" && call.is_scan) {
        once(cursor, token, !use.state.empty());
        cursor.next(), cursor.next();
        use.state = cursor.word(cursor.expect(Tok::Name, "a state"));
      } else if (!parse_common_option(cursor, use)) {
        unknown_option(cursor, call.is_scan ? scan_options : reduction_options);
      }
    } else if (call.is_scan && !call.axes.empty() && (word == "exclusive" || word == "reverse")) {
      call.has_options = true;
      (word == "exclusive" ? use.exclusive : use.reverse) = true;
      cursor.next();
    } else if (call.is_scan && !call.axes.empty()) {
      cursor.fail("E0021",
                  "a scan runs along one axis, and " + cursor.shown(token) + " is no option", token,
                  std::string("the options are ") + scan_options);
    } else {
      const bool axis = cursor.is(Tok::Name) || cursor.is(Tok::Int) || cursor.is(Tok::Minus);
      if (const std::string help = spec::of_two_values(use);
          !axis && !call.is_scan && !help.empty())
        cursor.fail("E0002", "expected an axis, found " + cursor.shown(token), token, help);
      if (!use.like.empty())
        cursor.fail("E0002", "a reduction takes axes or like=, not both", token, "leave one out");
      if (call.has_options)
        cursor.fail("E0002", "the axes come before the options", token, "put the axes first");
      call.axes.push_back(parse_axis(cursor));
      if (cursor.is(Tok::Less)) parse_said_axis(cursor, symbols, call.axes.back(), token);
    }
  }
  return false;
}

void parse_mode_option(Cursor &cursor, const Symbols &symbols, const Definitions &definitions,
                       Mode &mode) {
  const Token option = cursor.peek();
  FoldUse &use = mode.use;
  if (!is_option(cursor))
    cursor.fail("E0002", "expected an option, found " + cursor.shown(option), option,
                "what is folded stands behind the parenthesis, and the axes that are kept behind "
                "the output: out y[i] = " +
                    std::string(mode.kind == ModeKind::accumulate ? "accumulate" : "reduce") +
                    "(sum) x");
  if (cursor.word(option) == "init") {
    once(cursor, option, !use.init.empty());
    cursor.next(), cursor.next();
    const Token first = cursor.peek();
    use.init = parse_tuple(cursor, symbols, definitions);
    const Place where = cursor.source().place(first, cursor.previous());
    for (Expr &value : use.init) // a name stands for the place where it was declared
      if (const ExprNode &node = *value.node(); node.kind == ExprKind::Input)
        value = make_input(node.input, where, node.args);
  } else if (cursor.word(option) == "like") {
    if (mode.kind == ModeKind::accumulate)
      cursor.fail("E0105", "accumulate takes no like=", option,
                  "name the kept axes in brackets, or use reduce");
    once(cursor, option, !use.like.empty());
    use.like = parse_inputs_option(cursor, symbols);
  } else if (!parse_common_option(cursor, use)) {
    unknown_option(cursor, reduction_options);
  }
}

} // namespace broadloom::text

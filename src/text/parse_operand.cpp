// Operands of expressions: see expression_parser.hpp.
#include "text/expression_parser.hpp"

#include "expr/function.hpp"
#include "expr/until.hpp"
#include "spec/definition.hpp"
#include "spec/words.hpp"
#include "support/text.hpp"
#include "text/hints.hpp"

#include <algorithm>
#include <limits>

namespace broadloom::text::expression {

// Reads prefixes and openings up to and with one operand.
void ExpressionParser::read_operand() {
  while (true) {
    const Token &token = cursor_.peek();
    switch (token.kind) {
    case Tok::Minus: push_prefix(Op::Neg); continue;
    case Tok::Bang: push_prefix(Op::Not); continue;
    case Tok::Tilde: push_prefix(Op::BitNot); continue;
    case Tok::LeftParen: push_paren(); continue;
    case Tok::Int:
    case Tok::Float:
    case Tok::Imaginary: return push_number(cursor_.next());
    case Tok::Name:
      if (cursor_.peek(1).kind == Tok::LeftParen) {
        if (cursor_.word(token) == "extent" || cursor_.word(token) == "iota") return push_of_axis();
        if (at_pad(cursor_)) return push_pad();
        if (cursor_.word(token) == "steps" && !definitions_.defined("steps")) return push_steps();
        if (at_join(cursor_))
          cursor_.fail("E0029",
                       "'" + std::string(cursor_.word(token)) +
                           "' is the whole value of a let or an output that lists its dims",
                       token, "write let h[i, j] = concat(i, x, y) and read h here");
        if (cursor_.word(token) == "scan")
          open_scan();
        else
          open_call();
        continue;
      }
      return push_name(cursor_.next());
    case Tok::Star:
      if (cursor_.previous().kind == Tok::Star)
        cursor_.fail("E0002", "there is no operator '**'", cursor_.previous(), token,
                     "the power of x is x ^ 2");
      cursor_.unexpected("an expression");
    default: cursor_.unexpected("an expression");
    }
  }
}

void ExpressionParser::push_number(const Token &token) {
  const Number number = read_number(cursor_, token);
  push_value(make_literal(number, cursor_.source().place(token)), token, token);
}

void ExpressionParser::push_name(const Token &token) {
  std::string word(cursor_.word(token));
  Place place = cursor_.source().place(token);
  auto number = [&](Number::Kind kind, std::int64_t integer, double real) {
    push_value(make_literal({kind, integer, real, false}, place), token, token);
  };
  if (word == "true" || word == "false") return number(Number::Kind::Bool, word == "true", 0);
  auto symbol = symbols_.look_up(word);
  if (symbol != symbols_.end()) {
    if (symbol->second.kind == Symbol::Kind::Output)
      cursor_.fail("E0003", "'" + word + "' is an output, and outputs are not readable", token,
                   "name the value with `let` and use that twice");
    if (cursor_.is(Tok::LeftBracket)) return push_window(symbol->second, token);
    const Expr &value = symbol->second.expr;
    return push_value(
        is_padded_whole(value) ? make_input(value.node()->input, place, value.node()->args) : value,
        token, token);
  }
  if (word == "pi") return number(Number::Kind::Float, 0, 3.141592653589793);
  if (word == "e") return number(Number::Kind::Float, 0, 2.718281828459045);
  if (word == "inf") return number(Number::Kind::Float, 0, std::numeric_limits<double>::infinity());
  if (word == "nan")
    return number(Number::Kind::Float, 0, std::numeric_limits<double>::quiet_NaN());
  if (spec::is_reserved(word))
    cursor_.fail("E0005", "'" + word + "' is a reserved word, not a value", token,
                 "was a statement cut off before it?");
  if (cursor_.is(Tok::LeftBracket) && symbols_.may_read_ahead(word))
    return push_window({Symbol::Kind::Let, make_ahead(word, place)}, token);
  const auto ahead = symbols_.ahead.find(word); // gone where another let of this name has a mistake
  const bool lists_dims = ahead != symbols_.ahead.end() && ahead->second;
  if (!word.empty() && word == symbols_.in_let)
    cursor_.fail("E0028",
                 lists_dims ? "let '" + word + "' reads itself without positions"
                            : "let '" + word + "' reads itself, and its dims are not listed",
                 token,
                 lists_dims ? "read it where it is computed before, as in " + word + "[t - 1, i]"
                            : "list them, and read it at earlier positions: let " + word +
                                  "[t, i] = .. " + word + "[t - 1, i] ..");
  if (symbols_.in_position > 0 && ahead == symbols_.ahead.end())
    return push_value(make_iota(AxisRef(word), {}, place), token, token);
  std::vector<std::string> names;
  for (const auto &[name, known] : symbols_)
    if (known.kind != Symbol::Kind::Output) names.push_back(name);
  std::sort(names.begin(), names.end());
  std::string near = support::closest(word, names);
  const std::string hint = hint_for_value(word);
  cursor_.fail("E0003", "'" + word + "' is not defined", token,
               !hint.empty()   ? hint
               : is_comment()  ? "comments begin with #; a // b is a division that rounds down"
               : !near.empty() ? "did you mean '" + near + "'?"
               : in_function() ? "a function reads its arguments only"
                               : definitions_.unknown_name);
}

// pad(x, i: (1, 1))[i + u]
void ExpressionParser::push_pad() {
  const Token first = cursor_.peek();
  const Expr padded = parse_pad(cursor_, symbols_);
  if (!cursor_.is(Tok::LeftBracket)) return push_value(padded, first, cursor_.previous());
  push_window({Symbol::Kind::Input, padded}, first);
}

// x[2*i + u - 1, j]
void ExpressionParser::push_window(const Symbol &symbol, const Token &name) {
  const bool is_input = symbol.expr.node() && symbol.expr.node()->kind == ExprKind::Input;
  if (!is_input && !is_let_of_kernel(symbol))
    cursor_.fail("E0023",
                 "'" + std::string(cursor_.word(name)) +
                     "' is no input and no let, and only these are read at positions",
                 name, "read an input or a let of the kernel");
  Expr read = parse_read(symbol.expr, cursor_, symbols_, name);
  push_value(std::move(read), name, cursor_.previous());
}

void ExpressionParser::open_call() {
  const Token token = cursor_.next();
  const Token &paren = cursor_.next();
  std::string word(cursor_.word(token));
  Frame frame{Frame::Kind::OpCall, Op::Add, 0, token, values_.size()};
  if (auto dtype = dtype_from_name(word)) {
    frame.kind = Frame::Kind::CastCall;
    frame.dtype = *dtype;
  } else if (auto accumulator = find_accumulator(word, definitions_)) {
    frame.kind = Frame::Kind::FoldArgs;
    calls_.emplace_back().use.accumulator = std::move(*accumulator);
  } else if (auto op = ops::find_function(word)) {
    frame.op = *op;
  } else if (auto it = definitions_.functions.find(word); it != definitions_.functions.end()) {
    frame.function = it->second;
    for (const auto &said : definitions_.said.at(word)) say_axis(cursor_, symbols_, said, token);
  } else if (auto function = spec::prelude_function(word)) {
    frame.function = std::move(function);
  } else {
    unknown_function(word, token);
  }
  if (cursor_.is(Tok::RightParen))
    cursor_.fail("E0009", "'" + word + "' has no argument", token, paren, "give it its arguments");
  push(frame);
}

// scan(ACC, e, axis): up to the first argument.
void ExpressionParser::open_scan() {
  const Token token = cursor_.next();
  cursor_.next();
  FoldCall call;
  call.is_scan = true;
  call.use.accumulator = parse_accumulator_name(cursor_, definitions_);
  cursor_.expect(Tok::Comma, "',' and what is scanned");
  calls_.push_back(std::move(call));
  push({Frame::Kind::FoldArgs, Op::Add, 0, token, values_.size()});
}

// extent(axis), extent(axis, of=x), extent(axis, of=(x, y)), the same of iota
void ExpressionParser::push_of_axis() {
  const Token token = cursor_.next();
  cursor_.next();
  const std::string word(cursor_.word(token));
  if (cursor_.is(Tok::RightParen))
    cursor_.fail("E0009", "'" + word + "' has no argument", token, cursor_.next(),
                 "give it an axis");
  AxisRef axis = parse_axis(cursor_);
  std::vector<std::string> of;
  if (cursor_.accept(Tok::Comma)) {
    if (!cursor_.is(Tok::Name) || cursor_.word(cursor_.peek()) != "of" ||
        cursor_.peek(1).kind != Tok::Assign)
      cursor_.unexpected("of=");
    of = parse_inputs_option(cursor_, symbols_);
  }
  if (!cursor_.is(Tok::RightParen)) cursor_.unexpected("')'");
  const Token paren = cursor_.next();
  const Place place = cursor_.source().place(token, paren);
  push_value(word == "iota" ? make_iota(std::move(axis), std::move(of), place)
                            : make_extent(std::move(axis), std::move(of), place),
             token, paren);
}

// steps(u): those that were run until its condition held, or all. The step at which it does is
// one of them.
void ExpressionParser::push_steps() {
  const Token token = cursor_.next();
  cursor_.next();
  const Token name = cursor_.peek();
  const std::string let(
      cursor_.word(cursor_.expect(Tok::Name, "a let that goes until a condition holds")));
  const auto end = symbols_.ends.find(let);
  if (end == symbols_.ends.end())
    cursor_.fail("E0003", "'" + let + "' is no let that goes until a condition holds", name,
                 "steps are counted of one such as let u[t < 100 until ..] = .., behind it");
  const Token paren = cursor_.expect(Tok::RightParen, "')'");
  const Place place = cursor_.source().place(token, paren);
  const Expr &done = symbols_.look_up(end->second)->second.expr;
  push_value(steps_taken(done, place), token, paren);
}

void ExpressionParser::unknown_function(const std::string &word, const Token &token) {
  if (word == definitions_.being_defined)
    cursor_.fail("E0008", "'" + word + "' calls itself", token,
                 "a function calls only those that are defined before it");
  if (spec::is_reserved(word))
    cursor_.fail("E0005", "'" + word + "' is a reserved word, not a function", token,
                 "was a statement cut off before it?");
  std::vector<std::string> names;
  for (int i = 0; i < ops::op_count(); ++i)
    if (ops::info(Op(i)).form == ops::Form::Call) names.emplace_back(ops::info(Op(i)).spelling);
  for (int i = 0; i < ops::fold_count(); ++i) names.emplace_back(ops::info(Fold(i)).name);
  for (const auto &[name, accumulator] : definitions_.accumulators) names.push_back(name);
  for (const auto &[name, function] : definitions_.functions) names.push_back(name);
  for (const std::string_view name : spec::prelude_functions()) names.emplace_back(name);
  for (const char *other : {"pow", "iota", "extent", "scan", "pad", "concat", "stack", "parts"})
    names.emplace_back(other);
  std::sort(names.begin(), names.end());
  std::string near = support::closest(word, names);
  const std::string hint = hint_for_function(word);
  cursor_.fail("E0008", "there is no function '" + word + "'", token,
               !hint.empty()          ? hint
               : !near.empty()        ? "did you mean '" + near + "'?"
               : symbols_.count(word) ? "'" + word + "' is a value; write * to multiply"
                                      : "docs/functions.md lists the functions");
}

// A tuple may stand only as the first thing where arguments or an init= begin.
void ExpressionParser::push_paren() {
  Frame paren{Frame::Kind::Paren, Op::Add, 0, cursor_.next(), values_.size()};
  if (frames_.empty())
    paren.may_be_tuple = may_be_tuple_ && values_.empty();
  else if (frames_.back().kind == Frame::Kind::FoldArgs ||
           frames_.back().kind == Frame::Kind::FoldInit)
    paren.may_be_tuple = values_.size() == frames_.back().first + frames_.back().args;
  push(std::move(paren));
}

void ExpressionParser::push_value(Expr expr, const Token &first, const Token &last) {
  if (++made_ > most_operations) fail_too_many(first);
  values_.push_back({std::move(expr), first, last});
}

void ExpressionParser::fail_too_many(const Token &at) const {
  cursor_.fail("E0013",
               "the expression has more than " + std::to_string(most_operations) + " operations",
               at, "split it into lets");
}

} // namespace broadloom::text::expression

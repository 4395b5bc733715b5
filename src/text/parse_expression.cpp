// Expressions by operator precedence, with two stacks instead of recursion.
//
//   a - b * c ^ d      values: a b c d      frames: - * ^
//
// A frame is an operator whose right side is not read yet, or an open parenthesis, call or `?`.
// An operator that binds tighter than what comes next is applied as soon as that is seen.
#include "text/expression_parser.hpp"

#include "expr/function.hpp"
#include "spec/definition.hpp"
#include "support/text.hpp"
#include "text/count_operations.hpp"

#include <array>
#include <limits>

namespace broadloom::text {
namespace expression {

constexpr std::array infixes{
    Infix{Tok::OrOr, Op::Or, 1},
    Infix{Tok::AndAnd, Op::And, 2},
    Infix{Tok::Or, Op::BitOr, 3},
    Infix{Tok::And, Op::BitAnd, 4},
    Infix{Tok::Equal, Op::Eq, 5},
    Infix{Tok::NotEqual, Op::Ne, 5},
    Infix{Tok::Less, Op::Lt, 5},
    Infix{Tok::LessEqual, Op::Le, 5},
    Infix{Tok::Greater, Op::Gt, 5},
    Infix{Tok::GreaterEqual, Op::Ge, 5},
    Infix{Tok::ShiftLeft, Op::Shl, 6},
    Infix{Tok::ShiftRight, Op::Shr, 6},
    Infix{Tok::Plus, Op::Add, 7},
    Infix{Tok::Minus, Op::Sub, 7},
    Infix{Tok::Star, Op::Mul, 8},
    Infix{Tok::Slash, Op::Div, 8},
    Infix{Tok::SlashSlash, Op::FloorDiv, 8},
    Infix{Tok::Percent, Op::Mod, 8},
    Infix{Tok::Caret, Op::Pow, power_level},
};

std::vector<Expr> ExpressionParser::run() {
  if (count_operations(cursor_, most_operations) > most_operations) fail_too_many(cursor_.peek());
  while (true) {
    read_operand();
    if (!read_operator()) break;
  }
  std::vector<Expr> results;
  for (const Operand &value : values_) results.push_back(value.expr);
  return results;
}

// After an operand: true where another operand must follow, false at the end of the expression.
bool ExpressionParser::read_operator() {
  while (true) {
    const Token &token = cursor_.peek();
    for (const Infix &infix : infixes)
      if (infix.token == token.kind) {
        if (ends_before(infix.level)) return false;
        push_infix(infix);
        return true;
      }
    if (token.kind == Tok::Question) {
      if (ends_before(1)) return false;
      apply_tighter(1);
      push({Frame::Kind::Condition, Op::Where, 0, cursor_.next(), 0});
      return true;
    }
    if (token.kind == Tok::Colon && waits_for_colon()) {
      apply_tighter(0);
      frames_.back().kind = Frame::Kind::Choice;
      cursor_.next();
      return true;
    }
    apply_tighter(0);
    if (frames_.empty()) return false;
    Frame frame = frames_.back();
    if (token.kind == Tok::RightParen && frame.kind != Frame::Kind::Condition) {
      close(frame, cursor_.next());
      continue;
    }
    if (token.kind == Tok::Comma &&
        (frame.kind == Frame::Kind::OpCall || frame.kind == Frame::Kind::CastCall)) {
      cursor_.next();
      return true;
    }
    if (token.kind == Tok::Comma &&
        (frame.kind == Frame::Kind::FoldArgs || frame.kind == Frame::Kind::FoldInit)) {
      if (read_fold_rest()) return true;
      continue;
    }
    if (token.kind == Tok::Comma && (frame.kind == Frame::Kind::Tuple ||
                                     (frame.kind == Frame::Kind::Paren && frame.may_be_tuple))) {
      frames_.back().kind = Frame::Kind::Tuple;
      cursor_.next();
      return true;
    }
    if (token.kind == Tok::End || token.kind == Tok::RightBrace ||
        token.kind == Tok::RightBracket) {
      if (frame.kind == Frame::Kind::Condition)
        cursor_.fail("E0007", "this '?' has no ':'", frame.token, "write c ? a : b");
      cursor_.fail("E0007", "this parenthesis is never closed", frame.token, "add the missing ')'");
    }
    cursor_.unexpected(frame.kind == Frame::Kind::Condition ? "':' or an operator"
                       : frame.kind == Frame::Kind::Paren   ? "')' or an operator"
                                                            : "',', ')' or an operator");
  }
}

// Whether all that is open is done, and what comes next does not bind as tight as is read here.
bool ExpressionParser::ends_before(int level) {
  if (level >= least_level_) return false;
  apply_tighter(level);
  return frames_.empty();
}

// Is there an open `?` that this `:` belongs to?
bool ExpressionParser::waits_for_colon() const {
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    if (it->kind == Frame::Kind::Condition) return true;
    if (is_opening(it->kind)) return false;
  }
  return false;
}

// `-2 ^ 2` is -(2 ^ 2) and `2 ^ -1` is fine: a prefix waits for a tighter operator on its right.
void ExpressionParser::push_infix(const Infix &infix) {
  apply_tighter(infix.level == power_level ? power_level + 1 : infix.level, infix.level);
  push({Frame::Kind::Infix, infix.op, infix.level, cursor_.next(), 0});
}

// Applies the operators on top that bind at least as tight as `level`. `chaining` is the level of
// the operator that asks: two comparisons in a row are an error.
void ExpressionParser::apply_tighter(int level, int chaining) {
  while (!frames_.empty()) {
    const Frame &frame = frames_.back();
    bool applies = frame.kind == Frame::Kind::Prefix || frame.kind == Frame::Kind::Infix ||
                   frame.kind == Frame::Kind::Choice;
    if (!applies || frame.level < level) return;
    if (chaining == comparison_level && frame.level == comparison_level)
      cursor_.fail("E0002", "comparisons do not chain", cursor_.peek(), "write a < b && b < c");
    apply();
  }
}

void ExpressionParser::apply() {
  Frame frame = frames_.back();
  frames_.pop_back();
  std::size_t count = frame.kind == Frame::Kind::Prefix  ? 1
                      : frame.kind == Frame::Kind::Infix ? 2
                                                         : 3;
  std::size_t first = values_.size() - count;
  Token begin = frame.kind == Frame::Kind::Prefix ? frame.token : values_[first].first;
  Token end = values_.back().last;
  if (frame.op == Op::Neg && negate_least(values_.back(), begin)) return;
  std::vector<Expr> args;
  for (std::size_t i = first; i < values_.size(); ++i) args.push_back(std::move(values_[i].expr));
  values_.resize(first);
  push_value(make_op(frame.op, std::move(args), cursor_.source().place(begin, end)), begin, end);
}

// -9223372036854775808 is a number, though 9223372036854775808 is none.
bool ExpressionParser::negate_least(Operand &value, const Token &minus) {
  if (value.expr.node()->kind != ExprKind::Literal || !value.expr.node()->number.too_large)
    return false;
  if (cursor_.word(value.last) != "9223372036854775808") return false;
  Number number;
  number.integer = std::numeric_limits<std::int64_t>::min();
  value.first = minus;
  value.expr = make_literal(number, cursor_.source().place(minus, value.last));
  return true;
}

// The operand between the parentheses is on top of the values.
void ExpressionParser::close(const Frame &frame, const Token &paren) {
  if (frame.kind == Frame::Kind::FoldArgs || frame.kind == Frame::Kind::FoldInit)
    return close_fold(paren);
  frames_.pop_back();
  if (frame.kind == Frame::Kind::Tuple) {
    if (!cursor_.is(Tok::Comma) && !cursor_.is(Tok::RightParen))
      cursor_.unexpected("',' or ')' after a tuple");
    return;
  }
  if (frame.kind == Frame::Kind::Paren) {
    values_.back().first = frame.token;
    values_.back().last = paren;
    return;
  }
  std::size_t count = values_.size() - frame.first;
  std::size_t wanted = frame.function                      ? frame.function->params.size()
                       : frame.kind == Frame::Kind::OpCall ? std::size_t(ops::info(frame.op).arity)
                                                           : 1;
  if (count != wanted)
    cursor_.fail("E0009",
                 "'" + std::string(cursor_.word(frame.token)) + "' takes " +
                     support::count(std::int64_t(wanted), "argument") + ", not " +
                     std::to_string(count),
                 frame.token, paren, "see docs/functions.md for its arguments");
  Place place = cursor_.source().place(frame.token, paren);
  if (frame.kind == Frame::Kind::CastCall)
    return replace(frame, paren, make_cast(frame.dtype, values_.back().expr, place));
  std::vector<Expr> args;
  for (std::size_t i = frame.first; i < values_.size(); ++i) args.push_back(values_[i].expr);
  replace(frame, paren,
          frame.function ? make_call(frame.function, std::move(args), place)
                         : make_op(frame.op, std::move(args), place));
}

// True where the value of init= comes next.
bool ExpressionParser::read_fold_rest() {
  Frame &frame = frames_.back();
  if (frame.kind == Frame::Kind::FoldArgs) frame.args = values_.size() - frame.first;
  frame.kind = Frame::Kind::FoldInit;
  if (parse_fold_rest(cursor_, symbols_, calls_.back())) return true;
  if (cursor_.is(Tok::RightParen)) return false;
  const FoldCall &call = calls_.back();
  if (const std::string help = spec::of_two_values(call.use);
      !call.is_scan && !call.axes.empty() && !help.empty())
    cursor_.fail("E0002", "expected ',' or ')', found " + cursor_.shown(cursor_.peek()),
                 cursor_.peek(), help);
  cursor_.unexpected("',' or ')'");
}

void ExpressionParser::close_fold(const Token &paren) {
  Frame frame = frames_.back();
  frames_.pop_back();
  FoldCall call = std::move(calls_.back());
  calls_.pop_back();
  if (frame.kind == Frame::Kind::FoldArgs) frame.args = values_.size() - frame.first;
  if (call.is_scan && call.axes.empty())
    cursor_.fail("E0009", "this scan has no axis", frame.token, paren,
                 "write scan(ACCUMULATOR, value, axis)");
  std::vector<Expr> args;
  for (std::size_t i = frame.first; i < values_.size(); ++i)
    (args.size() < frame.args ? args : call.use.init).push_back(values_[i].expr);
  const Place place = cursor_.source().place(frame.token, paren);
  replace(frame, paren,
          call.is_scan
              ? make_scan(std::move(call.use), std::move(args), std::move(call.axes[0]), place)
              : make_fold(std::move(call.use), std::move(args), std::move(call.axes), place));
}

void ExpressionParser::replace(const Frame &frame, const Token &end, Expr result) {
  values_.resize(frame.first);
  push_value(std::move(result), frame.token, end);
}

} // namespace expression

using expression::ExpressionParser;

Expr parse_expression(Cursor &cursor, const Symbols &symbols, const Definitions &definitions) {
  return ExpressionParser(cursor, symbols, definitions, false).run()[0];
}

Expr parse_within(Cursor &cursor, const Symbols &symbols, const Definitions &definitions,
                  Precedence least) {
  const int level =
      least == Precedence::Term ? expression::product_level : expression::power_level + 1;
  return ExpressionParser(cursor, symbols, definitions, false, level).run()[0];
}

std::vector<Expr> parse_tuple(Cursor &cursor, const Symbols &symbols,
                              const Definitions &definitions) {
  return ExpressionParser(cursor, symbols, definitions, true).run();
}

} // namespace broadloom::text

// Expressions by operator precedence, with two stacks instead of recursion.
//
//   a - b * c ^ d      values: a b c d      frames: - * ^
//
// A frame is an operator whose right side is not read yet, or an open parenthesis, call or `?`.
// An operator that binds tighter than what comes next is applied as soon as that is seen.
#include "expr/function.hpp"
#include "expr/until.hpp"
#include "spec/definition.hpp"
#include "text/parser.hpp"

#include "spec/words.hpp"
#include "support/text.hpp"
#include "text/count_operations.hpp"
#include "text/hints.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace broadloom::text {

using ops::Op;

namespace {

constexpr int unary_level = 9, power_level = 10, comparison_level = 5, product_level = 8;

struct Infix {
  Tok token;
  Op op;
  int level; // binds tighter when greater
};
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

struct Operand {
  Expr expr;
  Token first, last; // what it covers, parentheses included
};

struct Frame {
  enum class Kind {
    Prefix,
    Infix,
    Condition,
    Choice,
    Paren,
    Tuple, // (a, b) as the arguments or the init= of a reduction
    OpCall,
    CastCall,
    FoldArgs, // a reduction or a scan before what follows its arguments
    FoldInit, // the same in the value of its init=, or after it
  } kind;
  Op op = Op::Add;
  int level = 0;         // Prefix, Infix, Choice
  Token token;           // the operator, the parenthesis or the name called
  std::size_t first = 0; // calls: where their arguments begin among the values
  DType dtype = DType::F32;
  std::size_t args = 0;                           // FoldInit: how many values are arguments
  bool may_be_tuple = false;                      // Paren: stands where a tuple may
  std::shared_ptr<const FunctionDecl> function{}; // OpCall of a user's function
};

class ExpressionParser {
public:
  ExpressionParser(Cursor &cursor, const Symbols &symbols, const Definitions &definitions,
                   bool may_be_tuple, int least_level = 0)
      : cursor_(cursor), symbols_(symbols), definitions_(definitions), may_be_tuple_(may_be_tuple),
        least_level_(least_level) {}

  std::vector<Expr> run() {
    if (count_operations(cursor_, most_operations) > most_operations) fail_too_many(cursor_.peek());
    while (true) {
      read_operand();
      if (!read_operator()) break;
    }
    std::vector<Expr> results;
    for (const Operand &value : values_) results.push_back(value.expr);
    return results;
  }

private:
  // Reads prefixes and openings up to and with one operand.
  void read_operand() {
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
          if (cursor_.word(token) == "extent" || cursor_.word(token) == "iota")
            return push_of_axis();
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

  // After an operand: true where another operand must follow, false at the end of the expression.
  bool read_operator() {
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
        cursor_.fail("E0007", "this parenthesis is never closed", frame.token,
                     "add the missing ')'");
      }
      cursor_.unexpected(frame.kind == Frame::Kind::Condition ? "':' or an operator"
                         : frame.kind == Frame::Kind::Paren   ? "')' or an operator"
                                                              : "',', ')' or an operator");
    }
  }

  // Whether all that is open is done, and what comes next does not bind as tight as is read here.
  bool ends_before(int level) {
    if (level >= least_level_) return false;
    apply_tighter(level);
    return frames_.empty();
  }

  // Is there an open `?` that this `:` belongs to?
  bool waits_for_colon() const {
    for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
      if (it->kind == Frame::Kind::Condition) return true;
      if (is_opening(it->kind)) return false;
    }
    return false;
  }

  static bool is_opening(Frame::Kind kind) {
    return kind != Frame::Kind::Prefix && kind != Frame::Kind::Infix &&
           kind != Frame::Kind::Condition && kind != Frame::Kind::Choice;
  }

  void push(Frame frame) { frames_.push_back(std::move(frame)); }

  // A tuple may stand only as the first thing where arguments or an init= begin.
  void push_paren() {
    Frame paren{Frame::Kind::Paren, Op::Add, 0, cursor_.next(), values_.size()};
    if (frames_.empty())
      paren.may_be_tuple = may_be_tuple_ && values_.empty();
    else if (frames_.back().kind == Frame::Kind::FoldArgs ||
             frames_.back().kind == Frame::Kind::FoldInit)
      paren.may_be_tuple = values_.size() == frames_.back().first + frames_.back().args;
    push(std::move(paren));
  }

  void push_prefix(Op op) { push({Frame::Kind::Prefix, op, unary_level, cursor_.next(), 0}); }

  // `-2 ^ 2` is -(2 ^ 2) and `2 ^ -1` is fine: a prefix waits for a tighter operator on its right.
  void push_infix(const Infix &infix) {
    apply_tighter(infix.level == power_level ? power_level + 1 : infix.level, infix.level);
    push({Frame::Kind::Infix, infix.op, infix.level, cursor_.next(), 0});
  }

  // Applies the operators on top that bind at least as tight as `level`. `chaining` is the level of
  // the operator that asks: two comparisons in a row are an error.
  void apply_tighter(int level, int chaining = -1) {
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

  void apply() {
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
  bool negate_least(Operand &value, const Token &minus) {
    if (value.expr.node()->kind != ExprKind::Literal || !value.expr.node()->number.too_large)
      return false;
    if (cursor_.word(value.last) != "9223372036854775808") return false;
    Number number;
    number.integer = std::numeric_limits<std::int64_t>::min();
    value.first = minus;
    value.expr = make_literal(number, cursor_.source().place(minus, value.last));
    return true;
  }

  void push_value(Expr expr, const Token &first, const Token &last) {
    if (++made_ > most_operations) fail_too_many(first);
    values_.push_back({std::move(expr), first, last});
  }

  static constexpr std::size_t most_operations = std::size_t(1) << 20;
  [[noreturn]] void fail_too_many(const Token &at) const {
    cursor_.fail("E0013",
                 "the expression has more than " + std::to_string(most_operations) + " operations",
                 at, "split it into lets");
  }

  void push_number(const Token &token) {
    const Number number = read_number(cursor_, token);
    push_value(make_literal(number, cursor_.source().place(token)), token, token);
  }

  void push_name(const Token &token) {
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
      return push_value(is_padded_whole(value)
                            ? make_input(value.node()->input, place, value.node()->args)
                            : value,
                        token, token);
    }
    if (word == "pi") return number(Number::Kind::Float, 0, 3.141592653589793);
    if (word == "e") return number(Number::Kind::Float, 0, 2.718281828459045);
    if (word == "inf")
      return number(Number::Kind::Float, 0, std::numeric_limits<double>::infinity());
    if (word == "nan")
      return number(Number::Kind::Float, 0, std::numeric_limits<double>::quiet_NaN());
    if (spec::is_reserved(word))
      cursor_.fail("E0005", "'" + word + "' is a reserved word, not a value", token,
                   "was a statement cut off before it?");
    if (cursor_.is(Tok::LeftBracket) && symbols_.may_read_ahead(word))
      return push_window({Symbol::Kind::Let, make_ahead(word, place)}, token);
    const auto ahead =
        symbols_.ahead.find(word); // gone where another let of this name has a mistake
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
  void push_pad() {
    const Token first = cursor_.peek();
    const Expr padded = parse_pad(cursor_, symbols_);
    if (!cursor_.is(Tok::LeftBracket)) return push_value(padded, first, cursor_.previous());
    push_window({Symbol::Kind::Input, padded}, first);
  }

  // x[2*i + u - 1, j]
  void push_window(const Symbol &symbol, const Token &name) {
    const bool is_input = symbol.expr.node() && symbol.expr.node()->kind == ExprKind::Input;
    if (!is_input && !is_let_of_kernel(symbol))
      cursor_.fail("E0023",
                   "'" + std::string(cursor_.word(name)) +
                       "' is no input and no let, and only these are read at positions",
                   name, "read an input or a let of the kernel");
    Expr read = parse_read(symbol.expr, cursor_, symbols_, name);
    push_value(std::move(read), name, cursor_.previous());
  }

  // Whether the name behind the cursor follows a //.
  bool is_comment() const { return cursor_.before_previous().kind == Tok::SlashSlash; }

  bool in_function() const {
    return std::any_of(symbols_.begin(), symbols_.end(), [](const auto &symbol) {
      return symbol.second.kind == Symbol::Kind::Parameter;
    });
  }

  void open_call() {
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
      cursor_.fail("E0009", "'" + word + "' has no argument", token, paren,
                   "give it its arguments");
    push(frame);
  }

  // scan(ACC, e, axis): up to the first argument.
  void open_scan() {
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
  void push_of_axis() {
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
  void push_steps() {
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

  [[noreturn]] void unknown_function(const std::string &word, const Token &token) {
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

  // The operand between the parentheses is on top of the values.
  void close(const Frame &frame, const Token &paren) {
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
    std::size_t wanted = frame.function ? frame.function->params.size()
                         : frame.kind == Frame::Kind::OpCall
                             ? std::size_t(ops::info(frame.op).arity)
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
  bool read_fold_rest() {
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

  void close_fold(const Token &paren) {
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

  void replace(const Frame &frame, const Token &end, Expr result) {
    values_.resize(frame.first);
    push_value(std::move(result), frame.token, end);
  }

  Cursor &cursor_;
  const Symbols &symbols_;
  const Definitions &definitions_;
  const bool may_be_tuple_;
  const int least_level_; // of operators that belong to it
  std::vector<Operand> values_;
  std::vector<Frame> frames_;
  std::vector<FoldCall> calls_; // one for each FoldArgs and FoldInit frame
  std::size_t made_ = 0;
};

} // namespace

Expr parse_expression(Cursor &cursor, const Symbols &symbols, const Definitions &definitions) {
  return ExpressionParser(cursor, symbols, definitions, false).run()[0];
}

Expr parse_part(Cursor &cursor, const Symbols &symbols, const Definitions &definitions, Part part) {
  const int least = part == Part::Term ? product_level : power_level + 1;
  return ExpressionParser(cursor, symbols, definitions, false, least).run()[0];
}

std::vector<Expr> parse_tuple(Cursor &cursor, const Symbols &symbols,
                              const Definitions &definitions) {
  return ExpressionParser(cursor, symbols, definitions, true).run();
}

} // namespace broadloom::text

// Inside the parser of expressions: what is read and not applied yet (parse_expression.cpp).
#pragma once

#include "text/parser.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace broadloom::text::expression {

using ops::Op;

constexpr int unary_level = 9, power_level = 10, comparison_level = 5, product_level = 8;

struct Infix {
  Tok token;
  Op op;
  int level; // binds tighter when greater
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

  std::vector<Expr> run();

private:
  // parse_operand.cpp
  void read_operand();
  bool read_operator();
  bool ends_before(int level);
  bool waits_for_colon() const;

  static bool is_opening(Frame::Kind kind) {
    return kind != Frame::Kind::Prefix && kind != Frame::Kind::Infix &&
           kind != Frame::Kind::Condition && kind != Frame::Kind::Choice;
  }

  void push(Frame frame) { frames_.push_back(std::move(frame)); }

  void push_paren();

  void push_prefix(Op op) { push({Frame::Kind::Prefix, op, unary_level, cursor_.next(), 0}); }

  void push_infix(const Infix &infix);
  void apply_tighter(int level, int chaining = -1);
  void apply();
  bool negate_least(Operand &value, const Token &minus);
  void push_value(Expr expr, const Token &first, const Token &last);
  static constexpr std::size_t most_operations = std::size_t(1) << 20;
  [[noreturn]] void fail_too_many(const Token &at) const;
  void push_number(const Token &token);
  void push_name(const Token &token);
  void push_pad();
  void push_window(const Symbol &symbol, const Token &name);

  // Whether the name behind the cursor follows a //.
  bool is_comment() const { return cursor_.before_previous().kind == Tok::SlashSlash; }

  bool in_function() const {
    return std::any_of(symbols_.begin(), symbols_.end(), [](const auto &symbol) {
      return symbol.second.kind == Symbol::Kind::Parameter;
    });
  }

  void open_call();
  void open_scan();
  void push_of_axis();
  void push_steps();
  [[noreturn]] void unknown_function(const std::string &word, const Token &token);
  void close(const Frame &frame, const Token &paren);
  bool read_fold_rest();
  void close_fold(const Token &paren);
  void replace(const Frame &frame, const Token &end, Expr result);

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

} // namespace broadloom::text::expression

// See tidy.hpp.
#include "grad/tidy.hpp"

#include "facts/terms.hpp"

#include <optional>

namespace broadloom::grad {
namespace {

using ops::Op;

bool is_op(const Expr &expr, Op op) {
  return expr.node()->kind == ExprKind::Op && expr.node()->op == op;
}
const Expr &arg(const Expr &expr, std::size_t k = 0) { return expr.node()->args[k]; }

bool is_literal(const Expr &expr) { return expr.node()->kind == ExprKind::Literal; }
std::optional<std::int64_t> integer(const Expr &expr) {
  const Number &number = expr.node()->number;
  if (!is_literal(expr) || number.kind != Number::Kind::Int || number.too_large)
    return std::nullopt;
  return number.integer;
}
bool is_number(const Expr &expr, std::int64_t value) {
  const Number &number = expr.node()->number;
  return integer(expr) == value ||
         (is_literal(expr) && number.kind == Number::Kind::Float && number.real == double(value));
}
std::optional<bool> truth(const Expr &expr) {
  const Number &number = expr.node()->number;
  if (!is_literal(expr) || number.kind != Number::Kind::Bool) return std::nullopt;
  return number.integer != 0;
}

Expr literal(Number::Kind kind, std::int64_t value, const Place &where) {
  Number number;
  number.kind = kind;
  number.integer = value;
  return make_literal(number, where);
}

bool is_not(const Expr &one, const Expr &other) {
  return (is_op(one, Op::Not) && arg(one).node() == other.node()) ||
         (is_op(other, Op::Not) && arg(other).node() == one.node());
}

// t || !t, and what holds that.
bool always_holds(const Expr &condition) {
  if (truth(condition)) return *truth(condition);
  if (!is_op(condition, Op::Or)) return false;
  const Expr &a = arg(condition), &b = arg(condition, 1);
  const auto has = [&](const Expr &all, const Expr &other) {
    return is_op(all, Op::Or) && (is_not(arg(all), other) || is_not(arg(all, 1), other));
  };
  const auto is_true = [](const Expr &one) { return truth(one).value_or(false); };
  return is_not(a, b) || has(a, b) || has(b, a) || is_true(a) || is_true(b) ||
         (is_op(a, Op::Or) && is_not(arg(a), arg(a, 1)));
}

// Whether `test` holds, where that follows from whether the condition does: of a && b that holds
// both a and b do.
std::optional<bool> follows(const Expr &condition, bool holds, const Expr &test, int depth) {
  if (condition.node() == test.node()) return holds;
  if (depth == 0) return std::nullopt;
  if (is_op(condition, Op::Not)) return follows(arg(condition), !holds, test, depth - 1);
  if (!is_op(condition, holds ? Op::And : Op::Or)) return std::nullopt;
  const std::optional<bool> first = follows(arg(condition), holds, test, depth - 1);
  return first ? first : follows(arg(condition, 1), holds, test, depth - 1);
}

// a of a && b || a && !b, and what is dropped; nothing of all else.
std::optional<std::pair<Expr, Expr>> either_way(const Expr &x, const Expr &y) {
  if (!is_op(x, Op::And) || !is_op(y, Op::And)) return std::nullopt;
  for (const std::size_t k : {0, 1})
    for (const std::size_t l : {0, 1})
      if (arg(x, k).node() == arg(y, l).node() && is_not(arg(x, 1 - k), arg(y, 1 - l)))
        return std::pair(arg(x, k), arg(x, 1 - k));
  return std::nullopt;
}

} // namespace

void Tidier::leave(const Expr &root) {
  walker_.walk(root.node(), [&](const ExprNode &node) { left_.insert(&node); });
  alive_.push_back(root);
}

Expr Tidier::current(const Expr &expr) {
  const auto found = now_.find(expr.node());
  if (found != now_.end()) return found->second;
  return expr.node()->kind == ExprKind::Input ? one_.of(expr) : expr; // x * x reads x twice
}

Expr Tidier::run(const Expr &root) {
  alive_.push_back(root);
  walker_.walk(root.node(), [&](const ExprNode &node) {
    if (left_.contains(&node)) return;
    std::vector<Expr> args;
    bool changed = false;
    for (const Expr &one : node.args) {
      args.push_back(current(one));
      changed = changed || args.back().node() != one.node();
    }
    if (node.kind == ExprKind::Op)
      now_.emplace(&node, made(node.op, std::move(args), node.where));
    else if (changed)
      now_.emplace(&node, one_.of(with_args(node, std::move(args))));
    else if (node.kind == ExprKind::Literal)
      now_.emplace(&node, one_.of(make_literal(node.number, node.where)));
  });
  return current(root);
}

Expr Tidier::made(Op op, std::vector<Expr> args, const Place &where) {
  if (Expr known = folded(op, args, where); known.node()) return one_.of(known);
  if (Expr same = simple(op, args, where); same.node()) return same;
  const Expr expr = one_.of(make_op(op, std::move(args), where));
  alive_.push_back(expr);
  return expr;
}

// Of two integers as they are written, where the result is one.
Expr Tidier::folded(Op op, const std::vector<Expr> &args, const Place &where) const {
  if (args.size() != 2) return Expr();
  const std::optional<std::int64_t> a = integer(args[0]), b = integer(args[1]);
  if (!a || !b) return Expr();
  std::int64_t value = 0;
  const auto whole = [&](bool overflows) { // what is below 0 is an operation of its own
    return overflows || value < 0 ? Expr() : literal(Number::Kind::Int, value, where);
  };
  const auto boolean = [&](bool value) { return literal(Number::Kind::Bool, value, where); };
  if (op == Op::Add) return whole(__builtin_add_overflow(*a, *b, &value));
  if (op == Op::Sub) return whole(__builtin_sub_overflow(*a, *b, &value));
  if (op == Op::Mul) return whole(__builtin_mul_overflow(*a, *b, &value));
  if (op == Op::Eq) return boolean(*a == *b);
  if (op == Op::Ne) return boolean(*a != *b);
  if (op == Op::Lt) return boolean(*a < *b);
  if (op == Op::Le) return boolean(*a <= *b);
  if (op == Op::Gt) return boolean(*a > *b);
  if (op == Op::Ge) return boolean(*a >= *b);
  return Expr();
}

namespace {

// Does an operation with this number have the type of what the number meets?
bool yields(const Expr &number, DType type) {
  switch (number.node()->number.kind) {
  case Number::Kind::Bool: return true;
  case Number::Kind::Int: return type != DType::Bool;
  case Number::Kind::Float: return is_float(type) || is_complex(type);
  case Number::Kind::Imaginary: return is_complex(type);
  }
  return false;
}

// Of a choice between these, where the condition is no number itself: nobody else says which type
// they have.
std::optional<DType> type_of_numbers(const Expr &a, const Expr &b) {
  const auto kind = [](const Expr &one) { return one.node()->number.kind; };
  if (!is_literal(a) || !is_literal(b)) return std::nullopt;
  for (const Expr &one : {a, b})
    if (kind(one) != Number::Kind::Int && kind(one) != Number::Kind::Float) return std::nullopt;
  return kind(a) == Number::Kind::Int && kind(b) == Number::Kind::Int ? DType::I64 : DType::F64;
}

} // namespace

std::optional<DType> Tidier::type(const Expr &expr) {
  alive_.push_back(expr);
  types_walker_.walk(expr.node(), [&](const ExprNode &node) {
    std::optional<DType> &known = types_[&node];
    // Of those from `first` on, if they agree.
    const auto of_args = [&](std::size_t first) -> std::optional<DType> {
      std::optional<DType> met;
      for (std::size_t k = first; k < node.args.size(); ++k) {
        if (is_literal(node.args[k])) continue;
        const std::optional<DType> one = types_.at(node.args[k].node());
        if (!one || (met && *met != *one)) return std::nullopt;
        met = one;
      }
      for (std::size_t k = first; met && k < node.args.size(); ++k)
        if (is_literal(node.args[k]) && !yields(node.args[k], *met)) return std::nullopt;
      return met;
    };
    switch (node.kind) {
    case ExprKind::Input: known = node.input->dtype; return;
    case ExprKind::Cast: known = node.dtype; return;
    case ExprKind::Let: known = types_.at(node.args[0].node()); return;
    case ExprKind::Op:
      switch (ops::info(node.op).rule) {
      case ops::TypeRule::Compare:
      case ops::TypeRule::Logical:
      case ops::TypeRule::Classify: known = DType::Bool; return;
      case ops::TypeRule::Select:
        known = is_literal(node.args[0]) ? std::nullopt
                : of_args(1)             ? of_args(1)
                                         : type_of_numbers(node.args[1], node.args[2]);
        return;
      default: break;
      }
      known = std::ranges::all_of(node.args, is_literal) ? DType::F64 : of_args(0); // sqrt(2.)
      if (known && !is_float(*known)) known = std::nullopt;
      return;
    case ExprKind::Fold:
    case ExprKind::Scan: {
      const Fold fold = node.use->accumulator.fold();
      const bool keeps = fold == Fold::Sum || fold == Fold::Prod || fold == Fold::Min ||
                         fold == Fold::Max || fold == Fold::Mean;
      if (keeps && node.args.size() == 1) known = types_.at(node.args[0].node());
      if (known && !is_float(*known)) known = std::nullopt;
      return;
    }
    case ExprKind::Literal:
    case ExprKind::Extent:
    case ExprKind::Iota:
    case ExprKind::Parameter:
    case ExprKind::Call:
    case ExprKind::Join: return;
    }
  });
  return types_.at(expr.node());
}

// Empty where nothing simpler is known.
Expr Tidier::simple(Op op, const std::vector<Expr> &args, const Place &where) {
  if (op == Op::Where) return simple_where(args, where);
  if (op == Op::Add) {
    if (is_op(args[1], Op::Neg)) return made(Op::Sub, {args[0], arg(args[1])}, where);
    if (is_op(args[0], Op::Neg)) return made(Op::Sub, {args[1], arg(args[0])}, where);
    const std::optional<DType> of = type(args[1]);
    if (integer(args[0]) == 0 && of && is_integer(*of)) return args[1];
    if (args[0].node() == args[1].node() && of && is_float(*of))
      return made(Op::Mul, {one_.of(literal(Number::Kind::Int, 2, where)), args[0]}, where);
  }
  if (op == Op::Sub && is_op(args[1], Op::Neg))
    return made(Op::Add, {args[0], arg(args[1])}, where);
  if ((op == Op::Mul || op == Op::Div || op == Op::Pow) && is_number(args[1], 1))
    if (const std::optional<DType> of = type(args[0]); of && is_float(*of)) return args[0];
  if (op == Op::Mul && is_number(args[0], 1))
    if (const std::optional<DType> of = type(args[1]); of && is_float(*of)) return args[1];
  if (op == Op::Neg && is_op(args[0], Op::Neg))
    if (const std::optional<DType> of = type(args[0]); of && is_float(*of)) return arg(args[0]);
  const bool is_bool = type(args[0]) == DType::Bool;
  if (op == Op::Not && is_bool && is_op(args[0], Op::Not) && type(arg(args[0])) == DType::Bool)
    return arg(args[0]);
  if (op == Op::Not && truth(args[0]))
    return one_.of(literal(Number::Kind::Bool, !*truth(args[0]), where));
  if ((op == Op::Or || op == Op::And) && is_bool && args[0].node() == args[1].node())
    return args[0];
  if (const auto found = op == Op::Or ? either_way(args[0], args[1]) : std::nullopt)
    if (const auto &[left, dropped] = *found; type(left) == DType::Bool && may_drop(dropped, left))
      return left;
  for (const std::size_t k : {0, 1}) { // what always holds takes all of `||`, and nothing of `&&`
    if ((op != Op::Or && op != Op::And) || !always_holds(args[k])) continue;
    const Expr &left = args[op == Op::Or ? k : 1 - k], &dropped = args[op == Op::Or ? 1 - k : k];
    if (type(left) == DType::Bool && may_drop(dropped, left)) return left;
  }
  return Expr();
}

Expr Tidier::simple_where(const std::vector<Expr> &args, const Place &where) {
  const Expr &condition = args[0];
  if (is_op(condition, Op::Not)) return made(Op::Where, {arg(condition), args[2], args[1]}, where);
  const auto only = [&](const Expr &chosen, const Expr &other) {
    return chooses_type_of(chosen, other) && (is_literal(other) || may_drop(other, chosen)) &&
           may_drop(condition, chosen);
  };
  if (always_holds(condition) && only(args[1], args[2])) return args[1];
  if (truth(condition) == false && only(args[2], args[1])) return args[2];
  if (args[1].node() == args[2].node() && only(args[1], args[2])) return args[1];
  constexpr int deepest = 6;
  const Expr held = given(condition, true, args[1], deepest);
  const Expr failed = given(condition, false, args[2], deepest);
  if (held.node() == args[1].node() && failed.node() == args[2].node()) return Expr();
  return made(Op::Where, {condition, held, failed}, where);
}

// The value where it is known whether the condition holds.
Expr Tidier::given(const Expr &condition, bool holds, const Expr &value, int depth) {
  const ExprNode &node = *value.node();
  if (depth == 0 || node.kind != ExprKind::Op || left_.contains(&node)) return value;
  constexpr int deepest = 4;
  if (const std::optional<bool> known =
          node.op == Op::Where ? follows(condition, holds, node.args[0], deepest) : std::nullopt) {
    const Expr &chosen = node.args[*known ? 1 : 2], &other = node.args[*known ? 2 : 1];
    if (is_literal(other) && chooses_type_of(chosen, other))
      return given(condition, holds, chosen, depth - 1);
  }
  std::vector<Expr> args;
  bool changed = false;
  for (const Expr &one : node.args) {
    args.push_back(given(condition, holds, one, depth - 1));
    changed = changed || args.back().node() != one.node();
  }
  return changed ? made(node.op, std::move(args), node.where) : value;
}

bool Tidier::chooses_type_of(const Expr &chosen, const Expr &other) {
  constexpr int deepest = 6;
  if (integer(other) && is_never_bool(chosen, deepest)) return true;
  if (in_clause_) return false;
  const std::optional<DType> of = type(chosen);
  return of && (is_literal(other) ? yields(other, *of) : type(other) == of);
}

bool Tidier::is_never_bool(const Expr &expr, int depth) {
  const ExprNode &node = *expr.node();
  if (depth == 0) return false;
  if (const std::optional<DType> of = in_clause_ ? std::nullopt : type(expr))
    return *of != DType::Bool;
  if (node.kind == ExprKind::Parameter) return numbers_.contains(node.name);
  if (node.kind != ExprKind::Op) return false;
  const auto number = [&](std::size_t k) { return is_never_bool(arg(expr, k), depth - 1); };
  switch (ops::info(node.op).rule) { // numbers beside bools are numbers
  case ops::TypeRule::Arithmetic:
  case ops::TypeRule::ArithmeticNotBool:
  case ops::TypeRule::TrueDivide:
    for (std::size_t k = 0; k < node.args.size(); ++k)
      if (number(k)) return true;
    return false;
  case ops::TypeRule::Select: // of a bool and 0, too
    return number(1) || number(2) ||
           (!is_literal(arg(expr)) && (integer(arg(expr, 1)) || integer(arg(expr, 2))));
  default: return false;
  }
}

// What is left has the same extents at every call: labels see to that, and to mistakes, where no
// window has a say.
bool Tidier::may_drop(const Expr &dropped, const Expr &left) {
  if (is_literal(dropped) || in_clause_) return true;
  bool windows = false;
  expr::Walker().walk(dropped.node(), [&](const ExprNode &node) {
    windows = windows || (node.kind == ExprKind::Input && node.input->window);
  });
  if (windows || reads_ == Reads::Same) return false;
  const expr::AxisSet axes = facts_.axes(dropped);
  return (axes - facts_.axes(left)).empty() && facts_.is_firm(axes);
}

} // namespace broadloom::grad

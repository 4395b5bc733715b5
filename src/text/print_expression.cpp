// See printer.hpp: expressions, with parentheses only where precedence asks for them.
#include "expr/join.hpp"
#include "ops/ops.hpp"
#include "spec/definition.hpp"
#include "spec/spec.hpp"
#include "support/check.hpp"
#include "support/number.hpp"
#include "support/text.hpp"
#include "text/printer.hpp"

#include <cmath>

namespace broadloom::text {

using ops::Op;

namespace {

// How tight the printed form binds; the levels are those of the parser.
constexpr int unary_level = 9, power_level = 10, atom_level = 11;

int level_of(Op op) {
  switch (op) {
  case Op::Or: return 1;
  case Op::And: return 2;
  case Op::BitOr: return 3;
  case Op::BitAnd: return 4;
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge: return 5;
  case Op::Shl:
  case Op::Shr: return 6;
  case Op::Add:
  case Op::Sub: return 7;
  case Op::Mul:
  case Op::Div:
  case Op::FloorDiv:
  case Op::Mod: return 8;
  case Op::Pow: return power_level;
  default: return ops::info(op).form == ops::Form::Prefix ? unary_level : atom_level;
  }
}

// As an option has it.
std::string plain_number(double number) {
  if (std::isnan(number)) return "nan";
  return support::shortest(number);
}

} // namespace

std::string axis_text(const AxisRef &axis) {
  if (const int *position = std::get_if<int>(&axis.value())) return std::to_string(*position);
  return std::get<std::string>(axis.value());
}

// acc=, correction=, exclusive, reverse and state=, each after a comma.
std::string options_text(const FoldUse &use) {
  std::string text;
  if (use.exclusive) text += ", exclusive";
  if (use.reverse) text += ", reverse";
  if (!use.state.empty()) text += ", state=" + use.state;
  if (use.acc) text += ", acc=" + std::string(name(*use.acc));
  if (use.correction) text += ", correction=" + plain_number(*use.correction);
  return text;
}

// Prints `root`; `self` is the let being defined, which must not print as its own name.
void Printer::expression(const ExprNode *root, const ExprNode *self) {
  std::vector<Piece> work{{root, 0, {}}};
  while (!work.empty()) {
    Piece piece = std::move(work.back());
    work.pop_back();
    if (!piece.node) {
      text_ += piece.text;
      continue;
    }
    auto known = names_.find(piece.node);
    if (known != names_.end() && piece.node != self)
      text_ += known->second;
    else
      node(*piece.node, piece.level, work);
  }
}

void Printer::node(const ExprNode &node, int level, std::vector<Piece> &work) {
  std::vector<Piece> pieces; // in reading order
  auto text = [&](std::string word) { pieces.push_back({nullptr, 0, std::move(word)}); };
  int own = atom_level;
  switch (node.kind) {
  case ExprKind::Input: text(node.input->name); break;
  case ExprKind::Literal: text(number(node.number, own)); break;
  case ExprKind::Let: support::bug("print: a let without a name"); // collect() named them all
  case ExprKind::Join: join(node, pieces); break;
  case ExprKind::Cast: call(name(node.dtype), node, pieces); break;
  case ExprKind::Parameter: text(node.name); break;
  case ExprKind::Fold:
  case ExprKind::Scan: fold(node, pieces); break;
  case ExprKind::Extent:
  case ExprKind::Iota:
    text((node.kind == ExprKind::Iota ? "iota(" : "extent(") + axis_text(node.axes[0]));
    if (!node.of.empty()) text(", of=" + support::tuple(node.of));
    text(")");
    break;
  case ExprKind::Call: call(definitions_.names.at(node.function.get()), node, pieces); break;
  case ExprKind::Op: own = operation(node, pieces); break;
  }
  bool enclosed = own < level;
  if (enclosed) work.push_back({nullptr, 0, ")"});
  for (std::size_t i = pieces.size(); i-- > 0;) work.push_back(std::move(pieces[i]));
  if (enclosed) work.push_back({nullptr, 0, "("});
}

// The arguments from `first` to `last`, separated by commas.
void Printer::arguments(const ExprNode &node, std::size_t first, std::size_t last,
                        std::vector<Piece> &pieces) {
  for (std::size_t i = first; i < last; ++i) {
    if (i > first) pieces.push_back({nullptr, 0, ", "});
    pieces.push_back({node.args[i].node(), 0, {}});
  }
}

void Printer::call(std::string_view callee, const ExprNode &node, std::vector<Piece> &pieces) {
  pieces.push_back({nullptr, 0, std::string(callee) + "("});
  arguments(node, 0, node.args.size(), pieces);
  pieces.push_back({nullptr, 0, ")"});
}

void Printer::join(const ExprNode &node, std::vector<Piece> &pieces) {
  auto text = [&](std::string word) { pieces.push_back({nullptr, 0, std::move(word)}); };
  if (!node.places) {
    text((node.stacks ? "stack(" : "concat(") + axis_text(node.axes[0]) + ", ");
    arguments(node, 0, node.args.size(), pieces);
    return text(")");
  }
  text("parts(");
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    text(i == 0 ? "" : ", ");
    arguments(node, i, i + 1, pieces);
    const auto print = [](const AffineForm &form) { return broadloom::print(form); };
    text(" at [" + support::joined(node.places->of_parts[i], print) + "]");
  }
  text(")");
}

void Printer::fold(const ExprNode &node, std::vector<Piece> &pieces) {
  auto text = [&](std::string word) { pieces.push_back({nullptr, 0, std::move(word)}); };
  auto tuple = [&](std::size_t first, std::size_t last) {
    if (last - first > 1) text("(");
    arguments(node, first, last, pieces);
    if (last - first > 1) text(")");
  };
  const std::string callee(spec::name_of(node.use->accumulator));
  text(node.kind == ExprKind::Scan ? "scan(" + callee + ", " : callee + "(");
  tuple(0, node.folded);
  for (const AxisRef &axis : node.axes) text(", " + axis_text(axis));
  text(options_text(*node.use));
  if (!node.use->like.empty()) text(", like=" + support::tuple(node.use->like));
  if (node.folded < node.args.size()) {
    text(", init=");
    tuple(node.folded, node.args.size());
  }
  text(")");
}

// How tight it binds.
int Printer::operation(const ExprNode &node, std::vector<Piece> &pieces) {
  auto text = [&](std::string word) { pieces.push_back({nullptr, 0, std::move(word)}); };
  auto arg = [&](std::size_t i, int least) { pieces.push_back({node.args[i].node(), least, {}}); };
  const ops::OpInfo &row = ops::info(node.op);
  const int own = level_of(node.op);
  if (row.form == ops::Form::Prefix) {
    text(std::string(row.spelling));
    arg(0, unary_level);
  } else if (node.op == Op::Pow) {
    arg(0, atom_level);
    text("^");
    arg(1, unary_level);
  } else if (row.form == ops::Form::Infix) {
    bool chains = row.rule != ops::TypeRule::Compare;
    arg(0, chains ? own : own + 1);
    text(" " + std::string(row.spelling) + " ");
    arg(1, own + 1);
  } else {
    call(row.spelling, node, pieces);
  }
  return own;
}

// The shortest digits that read back as the same number; floats keep a point or an exponent.
std::string Printer::number(const Number &number, int &level) const {
  if (number.kind == Number::Kind::Bool) return number.integer != 0 ? "true" : "false";
  if (number.kind == Number::Kind::Int) {
    // An error, here as there: behind a sign too, which makes 9223372036854775808 a number.
    if (number.too_large) return "9999999999999999999";
    if (number.integer < 0) level = unary_level;
    return std::to_string(number.integer);
  }
  if (std::isnan(number.real)) return special("nan", "0. / 0.", level);
  if (std::signbit(number.real)) level = unary_level;
  if (std::isinf(number.real))
    return number.real > 0 ? special("inf", "1. / 0.", level)
                           : special("inf", "-1. / 0.", level, "-");
  std::string text = plain_number(number.real);
  if (number.kind == Number::Kind::Imaginary) return text + "j";
  if (text.find_first_of(".e") == text.npos) text += ".";
  return text;
}

// The names of infinity and NaN, or a quotient where the kernel uses that name for something else.
std::string Printer::special(const char *word, const char *quotient, int &level,
                             const char *sign) const {
  if (!taken_.count(word)) return std::string(sign) + word;
  level = level_of(Op::Div);
  return quotient;
}

} // namespace broadloom::text

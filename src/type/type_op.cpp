// Typing of operations: how numbers take a type, what sugar stands for, and folding of constants.
#include "type/typer.hpp"

#include "support/fail.hpp"
#include "support/number.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace broadloom::type {

using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;
using ops::Scalar;
using support::fail;

namespace {

std::string quoted(Op op) { return "'" + std::string(ops::info(op).spelling) + "'"; }

std::string type_list(const std::vector<DType> &types) {
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i > 0) text += i + 1 == types.size() ? " and " : ", ";
    text += name(types[i]);
  }
  return text;
}

// The type a weak number takes beside operands whose common type is `other` (if there are any).
DType weak_type(DType weak, std::optional<DType> other) {
  if (weak == DType::C128)
    return other && other != DType::F64 && (is_float(*other) || other == DType::C64) ? DType::C64
                                                                                     : DType::C128;
  if (weak == DType::I64) return other && *other != DType::Bool ? *other : DType::I64;
  return other && (is_float(*other) || is_complex(*other)) ? *other : DType::F64;
}

bool fits(std::int64_t value, DType type) {
  if (!is_integer(type)) return true;
  int bits = int(size_of(type)) * 8;
  if (is_unsigned_integer(type)) return value >= 0 && (bits == 64 || value >> bits == 0);
  return bits == 64 ||
         (value >= -(std::int64_t(1) << (bits - 1)) && value < std::int64_t(1) << (bits - 1));
}

// Whether an operation on plain numbers leaves i64, where typed integers would wrap around.
bool overflows(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result;
  switch (op) {
  case Op::Add: return __builtin_add_overflow(a, b, &result);
  case Op::Sub: return __builtin_sub_overflow(a, b, &result);
  case Op::Mul: return __builtin_mul_overflow(a, b, &result);
  case Op::Shl: return b >= 0 && a != 0 && (b > 63 || a << b >> b != a);
  case Op::FloorDiv: return b == -1 && a == std::numeric_limits<std::int64_t>::min();
  case Op::Pow: return b > 0 && std::fabs(std::pow(double(a), double(b))) >= 0x1p63;
  default: return false;
  }
}

} // namespace

Value Typer::type_number(const ExprNode &node) {
  const Number &number = node.number;
  if (number.too_large)
    fail("E0202", "the number is too large for i64", space_.shown(node.where),
         "write it with a point, as a float");
  switch (number.kind) {
  case Number::Kind::Bool:
    return {literal(DType::Bool, ops::scalar_from(number.integer != 0), node.where), false};
  case Number::Kind::Int:
    return {literal(DType::I64, ops::scalar_from(number.integer), node.where), true};
  case Number::Kind::Float:
    return {literal(DType::F64, ops::scalar_from(number.real), node.where), true};
  case Number::Kind::Imaginary:
    return {literal(DType::C128, {0, ops::scalar_from(number.real).bits}, node.where), true};
  }
  return {};
}

ops::Typing Typer::typing_of(const ExprNode &node, const std::vector<DType> &types) const {
  ops::Typing typing = ops::type_of(node.op, types);
  if (!typing.error.empty() && is_complex(typing.compute))
    fail("E0201", quoted(node.op) + " " + std::string(typing.error), space_.shown(node.where),
         "take real(x), imag(x) or abs(x)");
  if (!typing.error.empty())
    fail("E0201",
         quoted(node.op) + " " + std::string(typing.error) +
             (typing.compute == DType::Bool ? "" : ", not for " + type_list(types)),
         space_.shown(node.where),
         typing.compute == DType::Bool
             ? "cast the operand, as in i32(x); for logic there are !, && and ||"
             : "cast the operands to an integer type, as in i64(x)");
  return typing;
}

Value Typer::type_op(const ExprNode &node, std::vector<Value> args) {
  if (node.op == Op::Keep || node.op == Op::Recompute) {
    spec_.marks.push_back({args[0].node, node.op == Op::Keep, node.where});
    return args[0];
  }
  std::size_t first = node.op == Op::Where ? 1 : 0; // the condition takes no part in the typing
  bool all_numbers = true, any_weak = false;
  std::optional<DType> common;
  for (std::size_t i = 0; i < args.size(); ++i) {
    DType type = dtype(args[i]);
    all_numbers =
        all_numbers && (args[i].weak || (is_literal(args[i].node) && type == DType::Bool));
    if (i < first) continue;
    any_weak = any_weak || args[i].weak;
    if (!args[i].weak) common = common ? promote(*common, type) : type;
  }
  if (all_numbers && any_weak) return type_weak_op(node, args);
  // Whether an extent fits a narrower integer is seen only at a call.
  if (common && !is_float(*common) && !is_complex(*common))
    for (std::size_t i = first; i < args.size(); ++i)
      if (args[i].weak && !is_literal(args[i].node)) {
        args[i].weak = false;
        common = promote(*common, dtype(args[i]));
      }

  std::vector<DType> types;
  for (const Value &arg : args) {
    DType type = dtype(arg);
    types.push_back(arg.weak ? weak_type(type, common) : type);
  }
  if (std::optional<Value> compared = compare_integers(node, args)) return *compared;
  ops::Typing typing = typing_of(node, types);
  std::vector<NodeId> converted;
  for (std::size_t i = 0; i < args.size(); ++i) {
    DType to = i < first ? DType::Bool : typing.compute;
    converted.push_back(args[i].weak ? number_as(args[i].node, to, node.where)
                                     : cast(args[i].node, to, node.where));
  }
  auto result = [&](NodeId value) {
    if (is_narrow_float(typing.result)) return Value{value, false, typing.result};
    return Value{value};
  };
  if (ops::info(node.op).math == ops::Math::Sugar)
    return result(emit_sugar(node, typing.compute, std::move(converted)));
  if (node.op == Op::Pow && is_integer(typing.compute) && is_literal(converted[1]) &&
      is_signed_integer(typing.compute) && ops::as_i64(spec_.graph[converted[1]].literal) < 0)
    fail("E0201", "an integer to a negative power is no integer", space_.shown(node.where),
         "use a float: f64(x) ^ -1, or 1 / x");
  // A square is a product, as in NumPy: one rounding, and no power function.
  if (node.op == Op::Pow && is_literal(converted[1])) {
    const Scalar two = ops::convert(ops::scalar_from(2.0), DType::F64, typing.compute);
    if (spec_.graph[converted[1]].literal == two)
      return result(
          emit(Op::Mul, typing.compute, typing.result, {converted[0], converted[0]}, node.where));
  }
  if (node.op == Op::Pow && is_complex(typing.compute) && is_literal(converted[1]))
    if (std::optional<int> exponent = whole_exponent(converted[1]))
      return {power_by_products(converted[0], *exponent, node.where)};
  return result(emit(node.op, typing.compute, typing.result, converted, node.where));
}

// A small whole number as the exponent of a complex power.
std::optional<int> Typer::whole_exponent(NodeId number) const {
  const Node &node = spec_.graph[number];
  const DType real = real_dtype(node.dtype);
  const double re = ops::as_f64(ops::convert({node.literal.bits}, real, DType::F64));
  const double im = ops::as_f64(ops::convert({node.literal.imag}, real, DType::F64));
  if (im != 0 || std::fabs(re) > 100 || re != std::trunc(re)) return std::nullopt;
  return int(re);
}

// A complex number to a whole power, as NumPy has it: by squaring and multiplying; by dividing into
// 1 at the end where the exponent is negative.
NodeId Typer::power_by_products(NodeId base, int exponent, const Place &where) {
  const DType type = dtype(base);
  const NodeId one = literal(type, ops::convert(ops::scalar_from(1.0), DType::F64, type), where);
  auto make = [&](Op op, NodeId a, NodeId b) { return emit(op, type, type, {a, b}, where); };
  std::optional<NodeId> power;
  for (int rest = std::abs(exponent); rest != 0; rest /= 2) {
    if (rest % 2 != 0) power = power ? make(Op::Mul, *power, base) : base;
    if (rest > 1) base = make(Op::Mul, base, base);
  }
  if (!power) { // 1 at every element of the base: its axes and extents stay
    const NodeId any = emit(Op::Eq, type, DType::Bool, {base, base}, where);
    return emit(Op::Where, type, type, {any, one, one}, where);
  }
  return exponent < 0 ? make(Op::Div, one, *power) : *power;
}

// Comparisons of integers are exact, as in NumPy 2, where the common type would not hold both: i64
// with u64, and a number that does not fit the type beside it. Nothing where the common type does.
std::optional<Value> Typer::compare_integers(const ExprNode &node, const std::vector<Value> &args) {
  if (ops::info(node.op).rule != ops::TypeRule::Compare) return {};
  std::array<NodeId, 2> side{args[0].node, args[1].node};
  bool misfit = false;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_integer(dtype(side[i]))) return {};
    if (args[i].weak) misfit = !fits(ops::as_i64(spec_.graph[side[i]].literal), dtype(side[1 - i]));
  }
  auto make = [&](Op op, DType compute, NodeId a, NodeId b) {
    return emit(op, compute, DType::Bool, {a, b}, node.where);
  };
  const bool first = dtype(side[0]) == DType::U64, second = dtype(side[1]) == DType::U64;
  const NodeId other = first ? side[1] : side[0];
  if (first == second || !is_signed_integer(dtype(other))) {
    if (!misfit) return {};
    for (NodeId &id : side) id = cast(id, DType::I64, node.where);
    return Value{make(node.op, DType::I64, side[0], side[1]), false};
  }
  if ((args[0].weak || args[1].weak) && !misfit) return {};

  // A negative number is less than all of u64; any other is compared there.
  const NodeId wide = cast(other, DType::I64, node.where);
  const NodeId zero = literal(DType::I64, ops::scalar_from(std::int64_t(0)), node.where);
  for (NodeId &id : side) id = cast(id, DType::U64, node.where);
  const NodeId among = make(node.op, DType::U64, side[0], side[1]);
  const bool less = second; // stands the signed one on the left?
  const bool if_negative = node.op == Op::Ne || (less ? node.op == Op::Lt || node.op == Op::Le
                                                      : node.op == Op::Gt || node.op == Op::Ge);
  const NodeId sign = make(if_negative ? Op::Lt : Op::Ge, DType::I64, wide, zero);
  return Value{make(if_negative ? Op::Or : Op::And, DType::Bool, sign, among), false};
}

// Numbers and extents only: the value is computed in i64 or f64 and stays weak.
Value Typer::type_weak_op(const ExprNode &node, const std::vector<Value> &args) {
  std::vector<DType> types;
  for (const Value &arg : args) types.push_back(dtype(arg.node));
  ops::TypeRule rule = ops::info(node.op).rule;
  if (rule == ops::TypeRule::FloatMath || rule == ops::TypeRule::Classify)
    std::fill(types.begin(), types.end(),
              std::ranges::any_of(types, is_complex) ? DType::C128 : DType::F64);
  ops::Typing typing = typing_of(node, types);
  std::vector<NodeId> converted;
  for (std::size_t i = 0; i < args.size(); ++i)
    converted.push_back(cast(
        args[i].node, node.op == Op::Where && i == 0 ? DType::Bool : typing.compute, node.where));
  const bool known =
      std::all_of(converted.begin(), converted.end(), [&](NodeId id) { return is_literal(id); });
  if (typing.compute == DType::I64 && known) {
    auto integer = [&](std::size_t i) { return ops::as_i64(spec_.graph[converted[i]].literal); };
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    bool lost = converted.size() == 2   ? overflows(node.op, integer(0), integer(1))
                : node.op == Op::Square ? overflows(Op::Mul, integer(0), integer(0))
                : node.op == Op::Neg || node.op == Op::Abs ? integer(0) == least
                                                           : false;
    if (lost)
      fail("E0202", "the value of these numbers is too large for i64", space_.shown(node.where),
           "write one of them with a point, to compute in f64");
  }
  if (typing.compute == DType::I64 && node.op == Op::Pow && is_literal(converted[1]) &&
      ops::as_i64(spec_.graph[converted[1]].literal) < 0)
    fail("E0201", "an integer to a negative power is no integer", space_.shown(node.where),
         known ? "write the base with a point: 2. ^ -1" : "use a float: f64(x) ^ -1, or 1 / x");
  if (node.op == Op::Pow && is_complex(typing.compute) && is_literal(converted[1]))
    if (std::optional<int> exponent = whole_exponent(converted[1]))
      return {power_by_products(converted[0], *exponent, node.where), true};
  NodeId value = ops::info(node.op).math == ops::Math::Sugar
                     ? emit_sugar(node, typing.compute, std::move(converted))
                     : emit(node.op, typing.compute, typing.result, converted, node.where);
  return {value, dtype(value) != DType::Bool};
}

NodeId Typer::number_as(NodeId number, DType to, const Place &where, const char *met) {
  const Node &node = spec_.graph[number];
  if (!is_literal(number)) return cast(number, to, where); // an extent beside floats
  const Scalar value = node.literal;
  bool lost = node.dtype == DType::I64 && !fits(ops::as_i64(value), to);
  if ((node.dtype == DType::F64 || node.dtype == DType::C128) && real_dtype(to) == DType::F32)
    for (const std::uint64_t part : {value.bits, value.imag}) {
      const double real = ops::as_f64({part});
      lost = lost || (std::isfinite(real) && std::isinf(float(real)));
    }
  if (lost)
    fail("E0202",
         "the number " +
             (node.dtype == DType::I64
                  ? std::to_string(ops::as_i64(value))
                  : support::shortest(ops::as_f64(value)) +
                        (node.dtype == DType::C128
                             ? " + " + support::shortest(ops::as_f64({value.imag})) + "j"
                             : "")) +
             " does not fit " + std::string(name(to)) + ", the type of " + met,
         space_.shown(where),
         node.dtype == DType::I64   ? "cast " + std::string(met) + " to a wider type, as in i64(x)"
         : node.dtype == DType::F64 ? "cast " + std::string(met) + ": f64(x); or write inf"
                                    : "cast " + std::string(met) + ": c128(x)");
  return cast(number, to, where);
}

NodeId Typer::emit_sugar(const ExprNode &node, DType type, std::vector<NodeId> args) {
  auto number = [&](std::int64_t value) {
    return literal(type, ops::convert(ops::scalar_from(value), DType::I64, type), node.where);
  };
  auto make = [&](Op op, NodeId a, NodeId b) { return emit(op, type, type, {a, b}, node.where); };
  switch (node.op) {
  case Op::Square: return make(Op::Mul, args[0], args[0]);
  case Op::Reciprocal: return make(Op::Div, number(1), args[0]);
  case Op::Relu: return make(Op::Maximum, args[0], number(0));
  default: return make(Op::Minimum, make(Op::Maximum, args[0], args[1]), args[2]); // clip
  }
}

NodeId Typer::emit(Op op, DType compute, DType result, const std::vector<NodeId> &args,
                   const Place &where) {
  result = ops::compute_dtype(result);
  if (std::all_of(args.begin(), args.end(), [&](NodeId a) { return is_literal(a); })) {
    std::vector<Scalar> values;
    for (NodeId arg : args) values.push_back(spec_.graph[arg].literal);
    return literal(result, ops::evaluate(op, compute, values, spec_.accuracy), where);
  }
  Node node{.kind = NodeKind::Op, .op = op, .dtype = result};
  Facts facts;
  for (NodeId arg : args) {
    node.axes = node.axes | spec_.graph[arg].axes;
    meet(facts, facts_[arg.index], where);
  }
  return add(node, args, facts, where);
}

} // namespace broadloom::type

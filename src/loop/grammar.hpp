// The grammar of expressions, which the printer and the parser of loop programs share:
// docs/language.md.
#pragma once

#include "loop/loop.hpp"
#include "ops/ops.hpp"

namespace broadloom::loop {

// How tightly a text holds together.
enum Binding {
  any = 0,
  logical_or,
  logical_and,
  bit_or,
  bit_and,
  comparison,
  shift,
  sum,
  product,
  prefix,
  power,
  atom
};

// Of an infix operation.
inline Binding binding_of(ops::Op op) {
  using ops::Op;
  if (op == Op::Or) return logical_or;
  if (op == Op::And) return logical_and;
  if (op == Op::BitOr) return bit_or;
  if (op == Op::BitAnd) return bit_and;
  if (op == Op::Shl || op == Op::Shr) return shift;
  if (op == Op::Add || op == Op::Sub) return sum;
  if (op == Op::Pow) return power;
  return ops::info(op).rule == ops::TypeRule::Compare ? comparison : product;
}

// " (copies 2) (tile 4) (positions 3) (tall)" behind the name of an axis.
inline std::string asked_of(const Axis &axis) {
  std::string text;
  if (axis.copies > 0) text += " (copies " + std::to_string(axis.copies) + ")";
  if (axis.tile > 0) text += " (tile " + std::to_string(axis.tile) + ")";
  if (axis.positions > 0) text += " (positions " + std::to_string(axis.positions) + ")";
  if (axis.tall) text += " (tall)";
  return text;
}

} // namespace broadloom::loop

// The tables behind ops.hpp: one row per operation (from ops.def), one per fold.
#include "ops/ops.hpp"

#include <array>

namespace broadloom::ops {

namespace {

constexpr std::array op_rows{
#define BL_OP(enumerator, spelling, arity, rule, form, cost, math, kinds)                          \
  OpInfo{spelling, arity, TypeRule::rule, Form::form, cost, Math::math, #enumerator},
#include "ops/ops.def"
};

constexpr std::array<FoldInfo, 13> fold_rows{{
    {"sum", FoldKind::Operation, Op::Add, false},
    {"prod", FoldKind::Operation, Op::Mul, false},
    {"min", FoldKind::Operation, Op::Minimum, true},
    {"max", FoldKind::Operation, Op::Maximum, true},
    {"any", FoldKind::Operation, Op::Or, false},
    {"all", FoldKind::Operation, Op::And, false},
    {"mean", FoldKind::Sugar, Op::Add, false},
    {"var", FoldKind::Definition, Op::Add, false},
    {"std", FoldKind::Sugar, Op::Add, false},
    {"norm", FoldKind::Sugar, Op::Add, false},
    {"logsumexp", FoldKind::Definition, Op::Add, false},
    {"argmin", FoldKind::Definition, Op::Minimum, true},
    {"argmax", FoldKind::Definition, Op::Maximum, true},
}};

} // namespace

const OpInfo &info(Op op) { return op_rows.at(std::size_t(op)); }

int op_count() { return int(op_rows.size()); }

std::optional<Op> find_function(std::string_view name) {
  if (name == "pow") return Op::Pow;
  for (std::size_t i = 0; i < op_rows.size(); ++i)
    if (op_rows[i].form == Form::Call && op_rows[i].spelling == name) return Op(i);
  return std::nullopt;
}

const FoldInfo &info(Fold fold) { return fold_rows.at(std::size_t(fold)); }

int fold_count() { return int(fold_rows.size()); }

std::optional<Fold> find_fold(std::string_view name) {
  for (std::size_t i = 0; i < fold_rows.size(); ++i)
    if (fold_rows[i].name == name) return Fold(i);
  return std::nullopt;
}

} // namespace broadloom::ops

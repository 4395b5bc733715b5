// The tables behind ops.hpp: one row per operation (from ops.def), one per fold.
#include "ops/ops.hpp"

#include <array>

namespace broadloom::ops {

namespace {

constexpr std::array op_rows{
#define BL_OP(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling)                 \
  OpInfo{spelling, arity,      TypeRule::rule, Form::form,                                         \
         cost,     Math::math, #enumerator,    Scaling::scaling},
#include "ops/ops.def"
};

constexpr std::array<FoldInfo, 13> fold_rows{{
    {"sum", FoldKind::Operation, Op::Add, false, Scaling::Linear},
    {"prod", FoldKind::Operation, Op::Mul, false, Scaling::Power},
    {"min", FoldKind::Operation, Op::Minimum, true, Scaling::Homogeneous},
    {"max", FoldKind::Operation, Op::Maximum, true, Scaling::Homogeneous},
    {"any", FoldKind::Operation, Op::Or, false, Scaling::None},
    {"all", FoldKind::Operation, Op::And, false, Scaling::None},
    {"mean", FoldKind::Sugar, Op::Add, false, Scaling::Linear},
    {"var", FoldKind::Definition, Op::Add, false, Scaling::Square},
    {"std", FoldKind::Sugar, Op::Add, false, Scaling::Homogeneous},
    {"norm", FoldKind::Sugar, Op::Add, false, Scaling::Homogeneous},
    {"logsumexp", FoldKind::Definition, Op::Add, false, Scaling::None},
    {"argmin", FoldKind::Definition, Op::Minimum, true, Scaling::Invariant},
    {"argmax", FoldKind::Definition, Op::Maximum, true, Scaling::Invariant},
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

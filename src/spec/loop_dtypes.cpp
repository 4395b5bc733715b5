// The dtypes of lets that go step by step together: those that a step makes of them again.
//
//   let z[t] = z[t - 1] + x + d[t - 1]        f32, where x is
//   let d[t] = d[t - 1] || z > 2              bool
#include "spec/loop_splitter.hpp"

namespace broadloom::spec {

// The dtype that a value has whatever it reads.
static std::optional<DType> said_by(const Expr &value) {
  const ExprNode &node = *value.node();
  if (node.kind == ExprKind::Cast) return node.dtype;
  if (node.kind != ExprKind::Op) return std::nullopt;
  const ops::TypeRule rule = ops::info(node.op).rule;
  const bool is_bool = rule == ops::TypeRule::Compare || rule == ops::TypeRule::Logical ||
                       rule == ops::TypeRule::Classify;
  return is_bool ? std::optional(DType::Bool) : std::nullopt;
}

// A number is of the dtype of what it meets, which must have it (E0202).
static Expr number_as(DType dtype, const Expr &number) {
  const Place &where = number.node()->where;
  if (dtype == DType::Bool) return make_cast(dtype, number, where);
  Number yes;
  yes.kind = Number::Kind::Bool;
  yes.integer = 1;
  const Expr zero = make_cast(dtype, make_literal(Number(), where), where);
  return make_op(ops::Op::Where, {make_literal(yes, where), number, zero}, where);
}

// One dtype for all that begin from no array, the first that fits. Else each has its own, which its
// step makes of those of the others: of such dtypes the least.
std::vector<TypedSpec> LoopSplitter::typed_steps() {
  std::vector<TypedSpec> typed;
  const auto made_of = [&](const DTypes &taken) -> std::optional<DTypes> {
    try {
      typed = typed_as(taken);
    } catch (const DTypeError &) { // of a dtype that it cannot have
      return std::nullopt;
    }
    DTypes made;
    for (std::size_t m = 0; m < typed.size(); ++m)
      made.push_back(of_start(m, typed[m].outputs[0].dtype));
    return made;
  };
  const auto all_of = [&](DType guess, bool is_said) {
    DTypes taken;
    for (std::size_t m = 0; m < starts_.size(); ++m) {
      const std::optional<DType> said = is_said ? said_by(value_of(m)) : std::nullopt;
      taken.push_back(of_start(m, said.value_or(guess)));
    }
    return taken;
  };
  const DTypes guesses = guessed();
  for (const DType guess : guesses)
    if (const DTypes taken = all_of(guess, false); made_of(taken) == taken)
      return begun(std::move(typed));
  std::optional<DTypes> found;
  for (const DType guess : guesses) {
    DTypes taken = all_of(guess, true);
    std::optional<DTypes> made = made_of(taken);
    for (std::size_t left = 4 * starts_.size(); left > 0 && made && *made != taken; --left)
      made = made_of(taken = *made);
    if (made == taken && (!found || taken < *found)) found = taken;
  }
  return begun(typed_as(found ? *found : all_of(guesses.back(), false)));
}

// Of a let whose step makes that: an array that it begins from has its dtype, a number with a point
// makes a float of an integer.
DType LoopSplitter::of_start(std::size_t m, DType made) const {
  if (starts_[m].dtype) return *starts_[m].dtype;
  if (!starts_[m].number) return made;
  const ExprNode *number = starts_[m].number->node();
  while (number->kind == ExprKind::Op) number = number->args[0].node();
  const Number::Kind kind = number->number.kind;
  if (kind == Number::Kind::Float && (is_integer(made) || made == DType::Bool)) return DType::F64;
  if (kind == Number::Kind::Imaginary && !is_complex(made))
    return made == DType::F32 ? DType::C64 : DType::C128;
  return made;
}

std::vector<TypedSpec> LoopSplitter::begun(std::vector<TypedSpec> typed) {
  for (std::size_t m = 0; m < typed.size(); ++m) check_dtype(m, typed[m].outputs[0].dtype);
  for (std::size_t m = 0; m < typed.size(); ++m)
    if (starts_[m].number)
      starts_[m] =
          started(loop_.members[m], number_as(typed[m].outputs[0].dtype, *starts_[m].number));
  return typed;
}

void LoopSplitter::check_dtype(std::size_t m, DType made) const {
  const DType read = splitter_.before_[m]->dtype;
  if (read == made) return;
  const std::string &let = loop_.members[m].let;
  support::fail("E0030",
                "let '" + let + "' begins as " + std::string(name(read)) + ", and a step makes " +
                    std::string(name(made)) + " of it",
                shown(let_of(m).where),
                "convert what it begins from, or the value of a step: " + std::string(name(read)) +
                    "(..)");
}

// In the order of dtypes: those of the inputs that it reads, and what a number is by itself.
std::vector<DType> LoopSplitter::guessed() const {
  std::set<DType> found;
  for (const TimeLoop::Member &member : loop_.members)
    splitter_.walk_kernel(value_of(member.let), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Cast) found.insert(node.dtype);
      if (node.kind != ExprKind::Input || reads_ahead(node)) return;
      const std::string *let = Splitter::let_read(*node.input);
      const auto array = let == nullptr ? splitter_.arrays_.end() : splitter_.arrays_.find(*let);
      if (let == nullptr) found.insert(node.input->dtype);
      if (array != splitter_.arrays_.end()) found.insert(array->second.array.node()->input->dtype);
    });
  for (const Start &start : starts_)
    if (start.dtype) found.insert(*start.dtype);
  std::vector<DType> guesses(found.begin(), found.end());
  for (const DType dtype : {DType::I64, DType::F64})
    if (!found.contains(dtype)) guesses.push_back(dtype);
  return guesses;
}

} // namespace broadloom::spec

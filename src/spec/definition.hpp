// Definitions of accumulators: what makes one right, and what it becomes for arguments of certain types.
#pragma once

#include "expr/definition.hpp"
#include "ops/recipe.hpp"

#include <string>
#include <vector>

namespace broadloom::spec {

inline constexpr std::size_t max_states = 16, max_arguments = 16;

// The text form of the accumulators that the language defines in itself: var, logsumexp, argmin, argmax.
const AccumulatorDef &prelude(Fold fold);

// The name of an accumulator, built in or not.
std::string_view name_of(const Accumulator &accumulator);

// What to write where a reduction was meant to be that of two values, as max(a, b + 1); empty where no such
// function is.
std::string of_two_values(const FoldUse &use);

// Throws SpecError E0020 (what a definition needs), E0003 to E0005 (names), E0013 (limits). `source` is the
// text of its places, null for the API.
void check_definition(const AccumulatorDef &definition, const std::string *source);

// `args` are the types in which the arguments enter. A state has the type that its init and its step
// promote to. Throws SpecError, DTypeError for what does not fit these types.
ops::Recipe recipe_of(const AccumulatorDef &definition, const std::vector<DType> &args,
                      const std::shared_ptr<const std::string> &source);

// What `result` gives of such states, and its type. No result: the first state.
struct ResultCode {
  ops::Code code;
  DType dtype = DType::F64;
};
ResultCode result_of(const AccumulatorDef &definition, const std::vector<DType> &states,
                     const std::shared_ptr<const std::string> &source);

// Calls visit(root) for each expression in it.
template <class Visit> void for_each_expression(const AccumulatorDef &definition, Visit visit) {
  for (const auto *clauses : {&definition.init, &definition.step, &definition.combine})
    for (const AccumulatorDef::Clause &clause : *clauses) visit(clause.value);
  if (definition.result.node()) visit(definition.result);
}

} // namespace broadloom::spec

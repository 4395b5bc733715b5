// What the definition of an accumulator becomes for arguments of certain types.
#pragma once

#include "ops/recipe.hpp"
#include "spec/definition.hpp"

namespace broadloom::type {

// `args` are the types in which the arguments enter. A state has the type that its init and its
// step promote to. Throws SpecError, DTypeError for what does not fit these types.
ops::Recipe recipe_of(const AccumulatorDef &definition, const std::vector<DType> &args,
                      const std::shared_ptr<const std::string> &source);

// What `result` gives of such states, and its type. No result: the first state.
struct ResultCode {
  ops::Code code;
  DType dtype = DType::F64;
};
ResultCode result_of(const AccumulatorDef &definition, const std::vector<DType> &states,
                     const std::shared_ptr<const std::string> &source);

} // namespace broadloom::type

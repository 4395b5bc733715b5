// What the language defines in itself, by texts of its own (text/prelude.cpp).
#pragma once

#include "expr/definition.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace broadloom::spec {

// The accumulators that the language defines in itself: var, logsumexp, argmin, argmax.
const AccumulatorDef &prelude(Fold fold);
// The functions of the same kind: random_bits, random, normal. Null for another name.
std::shared_ptr<const FunctionDecl> prelude_function(std::string_view name);
bool is_prelude(const FunctionDecl &function);
std::span<const std::string_view> prelude_functions(); // their names

} // namespace broadloom::spec

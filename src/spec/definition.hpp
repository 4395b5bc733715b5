// Definitions of accumulators: what makes one right.
#pragma once

#include "expr/definition.hpp"
#include "ops/ops.hpp"
#include "spec/prelude.hpp"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::spec {

inline constexpr std::size_t max_states = 16, max_arguments = 16;

// The name of an accumulator, built in or not.
std::string_view name_of(const Accumulator &accumulator);

// Whether such a fold of a single element is that element.
bool keeps_one_element(const FoldUse &use);

// What to write where a reduction was meant to be that of two values, as max(a, b + 1); empty where
// no such function is.
std::string of_two_values(const FoldUse &use);

// Throws SpecError E0020 (what a definition needs), E0003 to E0005 (names), E0013 (limits).
// `source` is the text of its places, null for the API.
void check_definition(const AccumulatorDef &definition, const std::string *source);

} // namespace broadloom::spec

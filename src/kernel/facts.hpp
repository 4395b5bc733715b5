// What is declared of all elements of a parameter, `param s : f64[o] > 0`, held against the
// elements that are given.
//
// Rewrites rely on it, so that a false one would give other values in silence. Each call looks,
// before anything is written: a sweep over the elements, which parameters with facts have few of.
#pragma once

#include "kernel/operands.hpp"
#include "spec/spec.hpp"

#include <cstddef>
#include <vector>

namespace broadloom::kernel {

// The inputs of a call that something is declared of.
std::vector<std::size_t> inputs_with_facts(const spec::TypedSpec &spec);

// Throws DataError E0313 for the first element in C order of which it does not hold. NaN has no
// sign.
void check_fact(const spec::TypedInput &input, const AnyView &view);

// The same of those inputs, which must have memory even if nothing else reads them: E0306, E0310;
// and what check_operands throws.
void check_facts(const spec::TypedSpec &spec, const std::vector<std::size_t> &inputs,
                 Operands call);

} // namespace broadloom::kernel

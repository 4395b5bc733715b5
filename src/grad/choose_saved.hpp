// Inside the gradient stage: the choice of saved_within.hpp, of lets that are arrays or of the
// values of a kernel without such.
#pragma once

#include "facts/facts.hpp"
#include "grad/forward.hpp"
#include "spec/materialise.hpp"

#include <broadloom/gradient_within.hpp>

namespace broadloom::grad {

struct Saved {
  std::int64_t bytes = 0;
  std::size_t saved = 0, wanted = 0;
};

// Of the lets that the backward pass reads those to save, and maybe others that these are made of.
// Throws SpecError E0610.
std::vector<std::string> choose_lets(const SpecData &data, const spec::Split &split,
                                     const SaveWithin &within, const std::vector<std::string> &read,
                                     Saved &told);

// The same of values; each expression that is one of them.
std::vector<Expr> choose_values(const spec::TypedSpec &typed, facts::Facts &facts,
                                const ForwardValues &forward, const std::vector<ReadValue> &read,
                                const SaveWithin &within, Saved &told);

} // namespace broadloom::grad

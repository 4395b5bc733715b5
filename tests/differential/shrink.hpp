// A failing case made smaller, as long as it fails in the same way.
#pragma once

#include "case.hpp"

#include <functional>
#include <optional>
#include <string>

namespace broadloom::differential {

// How a case fails: "crash", or the first words of what is wrong; nothing where it does not.
using Verdict = std::function<std::optional<std::string>(const Case &)>;

// Leaves out outputs, lets and inputs, takes parts of expressions for the whole, smaller extents,
// plain layouts. `verdict` is asked at most `most` times.
Case shrink(Case failing, const Verdict &verdict, int most = 400);

} // namespace broadloom::differential

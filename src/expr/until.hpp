// What counts the steps of a loop that ends (<broadloom/until.hpp>).
#pragma once

#include "expr/node.hpp"

#include <broadloom/until.hpp>

namespace broadloom {

// Those before the one at which `done` is true, and that one.
Expr steps_taken(const Expr &done, const Place &where);

} // namespace broadloom

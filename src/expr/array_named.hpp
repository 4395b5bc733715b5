// The array that a name stands for: `let p = x` is another name of x, where `let p[j, i] = x`,
// which says its dims, is an array of its own.
//
// What is read at positions through such a name is read at the dims of x, as x lists them.
#pragma once

#include "expr/node.hpp"

#include <vector>

namespace broadloom {

// Anything that is no such name stands for itself.
Expr array_named(Expr of);
bool names_array(const Expr &value); // a let, or an input that is no window

// The dims of the array that a value names, as it lists them; none where it lists none or is no
// name: they come in the order of the iteration space.
std::vector<AxisRef> dims_listed(const Expr &value);

} // namespace broadloom

// Inside the gradient stage: the shape of an expression as the text says it.
//
//   x * y of x : f64[:], y : f64[:]         like=(x, y)
//
// A cotangent may have a greater extent than its node, where that is 1 and was repeated at a call.
// sum(.., like=(x, y)) brings it back to the shape of the node, and repeats what it lacks.
#pragma once

#include "facts/facts.hpp"
#include "grad/rules.hpp"

#include <optional>

namespace broadloom::grad {

using InputNames = std::vector<std::string>; // of inputs

// The inputs whose common extents are those of an expression of the kernel. Nothing where no such
// inputs can be named: one of a reduction has axes that its value lacks, and windows and lets are
// not named so.
std::optional<InputNames> shape_of(facts::Facts &facts, const Expr &expr);

// The axes along which all that gives `expr` its extent gives it to `other`, too: there `other` has
// no smaller extent.
expr::AxisSet axes_shown(facts::Facts &facts, const Expr &expr, const Expr &other);
// The axes along which both have their extents from the same inputs, or both lack them.
expr::AxisSet axes_alike(facts::Facts &facts, const Expr &a, const Expr &b);

// Has one of these inputs all of the extent that the label of the axis has, at every call? Then
// `j?` beside it lends no more.
bool has_label(const facts::Facts &facts, const InputNames &inputs, int axis);

// A value with all axes of another one, which it is repeated along.
Expr repeated_like(const Expr &other, const Expr &value, const facts::Terms &t);

// In that shape: the value is summed and repeated, the mask asks whether there is any.
Cotangent in_shape(const InputNames &shape, const Cotangent &cotangent, const facts::Terms &t);

// A cotangent of `expr` with all of its extents.
Cotangent repeated_in(facts::Facts &facts, const Expr &expr, const Cotangent &cotangent,
                      const facts::Terms &t);

} // namespace broadloom::grad

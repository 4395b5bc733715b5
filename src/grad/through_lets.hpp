// The gradient of a kernel whose lets are arrays (spec/materialise.hpp): from the kernel to its
// lets, from these to what they read.
//
//   let h = exp(x)                       d_h is what flows into the array: let d_h = sum(d_y * w,
//                                        like=h[i + u])
//   out y = sum(h[i + u] * w, u)         and then the cotangent of exp(x): out d_x = sum(d_h[i] *
//                                        exp(x), like=x)
//
// Each of them is a kernel, and has its gradient as any kernel has; here they are put together into
// one.
#pragma once

#include "spec/materialise.hpp"

#include <broadloom/gradient.hpp>

#include <functional>
#include <string>
#include <vector>

namespace broadloom::grad {

// The gradient of a kernel without such lets: an output for each input asked about, in order.
using GradientOf = std::function<SpecData(const SpecData &, const std::vector<std::string> &wrt,
                                          const GradientOptions &)>;

// Which arrays to save of those that the gradient reads; all of them where it is empty.
using ChooseSaved = std::function<std::vector<std::string>(const std::vector<std::string> &)>;

// With Policy::save the arrays of these lets are inputs saved_0, saved_1, .. of it; all else is
// computed again.
struct GradientThroughLets {
  SpecData made;
  std::vector<std::string> saved = {};
};

// `data` is the kernel that was split. Throws SpecError as `gradient` does, and E0607 for a let
// whose axes have no names.
GradientThroughLets through_lets(const SpecData &data, const spec::Split &split,
                                 const std::vector<std::string> &wrt,
                                 const GradientOptions &options, const GradientOf &gradient,
                                 const ChooseSaved &choose = {});

// Adds these arrays to the outputs of the kernel that was split.
void save_lets(SpecData &forward, const spec::Split &split, const std::vector<std::string> &saved);

// Whether it is 0 for certain, as what flows into a let is that no output asked about needs.
bool is_nothing(const Expr &value);

// A node of the derivative of a let, where the array has it: the let's own value, and whether what
// relu is of is above 0. Else empty.
Expr held_in(const Expr &array, const ExprNode &value, const ExprNode &node);

} // namespace broadloom::grad

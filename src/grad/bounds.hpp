// Inside the gradient stage: windows that what is derived does not read, and that still bound an axis.
//
//   out y = sum(x[k + 1]^2, k) + sum(z[k + 0], k)      k ends where x or z does, whichever comes first
//   let bound = z[k + 0]                               so does that of the gradient by x, which does not read z
#pragma once

#include "expr/window.hpp"
#include "spec/spec.hpp"

#include <memory>
#include <string>
#include <vector>

namespace broadloom::grad {

// What a dim says about its axes, in words that are the same where it says the same.
std::string bound_of(const Window &window, std::size_t dim);

// Keeps those of `inputs`, of the kernel that it is derived from, as lets, for which the text has a form. An axis that a label gives its extent needs none, nor does one that other windows
// bound in the same way. For kernels without lets that are arrays, which have axes of their own.
void keep_bounds(SpecData &data, const std::vector<std::shared_ptr<const InputDecl>> &inputs);

} // namespace broadloom::grad

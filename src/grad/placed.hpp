// Inside the gradient stage: do unlabelled dims lie on the axes where they lay?
//
//   in  x : f64[i]                                   b lies at i, the last label ..
//   in  b : f64[:]
//   let h[p] = sum(x[p + u] * w[u], u)
//   out z = x * b
//   out d_x = d_z * b + sum(d_h[h_0] * w[u], ..)     .. and at u in what is made of z and h
#pragma once

#include "spec/spec.hpp"

#include <string>

namespace broadloom::grad {

// Whether each unlabelled input that is read whole, and each axis that has a number, is on the axis
// where it is in `kernel`.
bool lies_as_before(const SpecData &kernel, const SpecData &derived);

// The same for nothing that a kernel could lay elsewhere: all of its inputs have labels, and no
// axis is a number.
bool has_labels_alone(const SpecData &kernel);

// Whether an error tells of axes that are not there, or that meet where they should not.
bool is_of_places(const std::string &code);

} // namespace broadloom::grad

// Inside the gradient stage: outputs of a derived kernel whose axes come as those of the kernel do,
// and are as long.
//
//   out o0 = x[2*q, -v] / t         of let t = y[v + 1, u]: the axes are v, u, q, as t is listed
//                                   first
//   out t_o0[v, u, q] = ...         where what it is made of reads q first
#pragma once

#include "spec/materialise.hpp"

#include <string>
#include <unordered_map>

namespace broadloom::grad {

// `names`: what the outputs of the kernel are called in the derived one. Lists the axes of those
// that would have them in another order.
void keep_axis_order(SpecData &derived, const SpecData &kernel,
                     const std::unordered_map<std::string, std::string> &names);

// What an output says of an axis holds in the whole kernel. Where it is not among those that are
// derived, another one says it.
void keep_said(SpecData &derived, const SpecData &kernel,
               const std::unordered_map<std::string, std::string> &names);

// `out y[i, u < 3] = x[(k[i] + u) % 7]` alone says how long u is in the kernel of the positions.
// Where what is derived lacks that output, it says so of the axis.
void keep_counted(SpecData &derived, const spec::Split &split);

} // namespace broadloom::grad

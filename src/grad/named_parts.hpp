// Inside the gradient stage: parts of a kernel of which the sweep has a rule only where they are
// arrays, written as such.
//
//   exp(sum(e, like=b[k[i]]))        let b_sum[b_0] = sum(e, like=b[k[i]])
//                                    exp(b_sum[b_0])
//
// What flows back to e reads slopes at b[k[i]]: those of an array can be read there.
//
//   damped(x, i, j)                  let damped_a[i] = damped(x, j, init=damped_a[i - 1]) from 0
//                                    damped_a[-1]
//
// An accumulator without a combine goes in order: row by row it is a loop, which is derived as any.
#pragma once

#include "spec/spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace broadloom::grad {

// The same kernel, without calls, with the same values; empty where it has no such parts.
std::optional<SpecData> name_parts(const SpecData &data, const std::vector<std::string> &wrt);

} // namespace broadloom::grad

// What depends on parameters only, taken out of a kernel, so that it is computed once and not by
// each call.
//
//   kernel k {                           kernel k_frozen {                kernel k {
//     in    x : f32[n, c]                  in    x : f32[n, c]              in    x : f32[n, c]
//     param g : f32[c]            =        param g : f32[c]          +      param g_1 : f32[c]
//     param v : f32[c]                     param v : f32[c]                 out y = x * g_1
//     out y = x * (g / sqrt(v))            out g_1[c] : f32 = g / sqrt(v)   }
//   }                                    }
//                                        `computed`: once
//                                            `rest`: each call, g_1 built in
//
// No bit of any output may change, so a value is taken out only
//
// - where it has a dtype to be kept in: f16 and bf16 values between operations have more bits than
//   theirs;
// - in no more elements than one of the parameters that it is made of;
// - inside a fold only where the order of the fold's steps stays: that goes by the inputs that the
//   fold reads (plan/trees.hpp), so the new one must stand for all that it replaces: it has the
//   dims of one of them, the others have some of these, and of the folded ones all or none;
// - where the whole output is a reduction, not the reduction alone, whose accumulator has more
//   digits: the whole output then.
//
// Of lets that are arrays, and of what reads them, each is taken apart as a kernel of its own,
// where parameters have labels. Those that hang on parameters alone are computed once as a whole
// (whole_lets.hpp).
//
// Windows, indices and extents, and what `accumulate` folds before it is used, stay. Where the axes
// of the kernel would not come out the same without the parameters, nothing is taken out: all of
// them are then built in as they are.
#pragma once

#include "spec/spec.hpp"

#include <string>
#include <vector>

namespace broadloom::freeze {

struct Frozen {
  SpecData rest;
  std::vector<SpecData>
      computed; // each with all inputs of its part of the kernel, as axes go by them
  std::optional<SpecData> lets; // whole ones: its outputs lie as the arrays of these lets do
  // Parameters of `rest`: outputs of those, else parameters of the kernel themselves.
  std::vector<std::string> built_in;
};

// `names`: parameters of the kernel. Throws what `analyse` throws.
Frozen freeze(const SpecData &data, const std::vector<std::string> &names);

} // namespace broadloom::freeze

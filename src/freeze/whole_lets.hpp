// Inside the freeze stage: lets that are arrays and hang on parameters alone, taken out as a whole.
//
//   kernel k {                                 kernel k_lets {               kernel k {
//     in    x : f32[n]                           param w : f32[u]              in    x : f32[n]
//     param w : f32[u]                  =        let h[u] = exp(w[u])    +     param h_1 : f32[:]
//     let h[u] = exp(w[u])                       out h_1[u] = h[u]
//         out y[i] = sum(x[i + u] * h_1[u + 0], u)
//     out y[i] = sum(x[i + u] * h[u + 0], u)   }                             }
//   }                                          computed once
//
// Such a let is an array with its own extents and its own bits anyway, so nothing changes for those
// that read it.
#pragma once

#include "spec/materialise.hpp"

#include <optional>
#include <string>
#include <vector>

namespace broadloom::freeze {

struct WholeLets {
  SpecData rest, computed;
  std::vector<std::string> made; // parameters of `rest`: the outputs of `computed`
  // Of the names given, parameters that `rest` has; those that it has not are read by the lets
  // alone.
  std::vector<std::string> left;
};

// `data` has all inputs declared and no calls, and was split. Nothing where there is no such let,
// or where axes would not come out the same.
std::optional<WholeLets> take_whole_lets(const SpecData &data, const spec::Split &split,
                                         const std::vector<std::string> &names);

} // namespace broadloom::freeze

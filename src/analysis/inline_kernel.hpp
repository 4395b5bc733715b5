// A kernel called by another: its outputs as lets of the caller.
//
//   kernel dense { in x : f32[n, i]; in w : f32[i, o]; out y = relu(sum(x * w, i)) }
//
//   call dense(a, b) -> h[r, c]         let h[r, c] = relu(sum(a[r, i_h] * b[i_h, c], i_h))
//   call dense(a, b) -> h               the same without dims: computed in the loops that read it,
//                                       or an array where it is read at positions
//
// Each dim of a result walks the axis that its brackets say. Any other axis of the callee has the
// label of a dim of an argument, where one walks it and no other axis has it; an axis of an output
// its own label; and what is folded inside a name of its own. Arguments are read at positions,
// plainly where these are their own labels.
//
// Extents that an output says go to its let, which then lists its dims, and those of axes to the
// caller.
#pragma once

#include "spec/spec.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::analysis {

struct CallResult {
  std::string name;
  std::optional<std::vector<std::string>> axes; // of its dims, where brackets list them
  Place where;
};

struct Inlined {
  std::vector<Expr>
      lets; // of expressions that are arguments, of the callee, then the results in their order
  std::size_t first_result = 0;
  std::vector<std::shared_ptr<const InputDecl>> named; // windows that like= and of= name
  std::vector<std::shared_ptr<const InputDecl>> axes;  // extents that are said of axes
};

// Throws SpecError E0052 for a kernel that cannot be called: with states, or with an output that
// adds.
void check_callable(const SpecData &callee, const Place &where);

// `arguments` are in the order of the inputs of the callee, as many. Throws SpecError E0051 for
// what does not fit, E0052 as above, for an option that names what has no name there, and for a
// reduce() along no axis that is not its value; E0013 for more than 2^18 operations or 4096 lets.
Inlined inline_kernel(const SpecData &callee, const std::vector<Expr> &arguments,
                      const std::vector<CallResult> &results, const Place &where);

} // namespace broadloom::analysis

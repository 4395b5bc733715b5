// Inside the gradient stage: windows that what is derived does not read, and that still bound an
// axis.
//
//   out y = sum(x[k + 1]^2, k) + sum(z[k + 0], k)      k ends where x or z does, whichever comes
//                                                      first
//   let bound = z[k + 0]                               so does that of the gradient by x, which
//                                                      does not read z
#pragma once

#include "expr/window.hpp"
#include "spec/spec.hpp"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::grad {

using Decls = std::vector<std::shared_ptr<const InputDecl>>;
// By array: one that has the same extents whatever they are, as t_h has those of let h, of which it
// is the tangent.
using SameExtents = std::unordered_map<std::string, std::string>;

// What a dim says about its axes, in words that are the same where it says the same.
std::string bound_of(const Window &window, std::size_t dim, const SameExtents &same = {});

// Keeps those of `inputs`, of the kernel that it is derived from, as lets, for which the text has a
// form. An axis that a label gives its extent needs none, nor does one that other windows bound in
// the same way. For kernels whose outputs share their axes.
void keep_bounds(SpecData &data, const Decls &inputs, const SameExtents &same = {});

// An axis that has other things beside it in windows of `inputs`, or walks a let, may be shorter
// than a dim at whose position it stands alone. So it may in what is derived, though that reads
// nothing else: d_y[2*u, i + 0]. keep_bounds() does this, too. `keeps_names`: lets that are no
// arrays keep them, as these are all of a kernel.
void stay_inside(SpecData &data, const Decls &inputs, bool keeps_names);

// The value where the axis has an index in all of these windows, as it always has: so a text names
// them.
Expr where_inside(const Expr &value, const std::string &axis, std::vector<std::string> windows,
                  bool is_bool);

// The same as keep_bounds() for one value whose axes are its own, as those of a let are, by a
// condition that always holds:
//
//   d_y * 2 * where(index(k, of=z[k + 0]) >= 0, h[k + 1], 0)
//
// `named` are the declarations of windows that the value names; those that it names now are added.
// Iterative.
Expr with_bounds(const Expr &value, const Decls &inputs, Decls &named,
                 const SameExtents &same = {});

} // namespace broadloom::grad

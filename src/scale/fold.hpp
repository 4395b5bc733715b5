// Folding scales: factors of parameters move to other parameters, so that after freezing they cost
// nothing in a call.
//
//   in x : f32[n, k]; param w : f32[k, o]; param s : f32[o] > 0; param b : f32[o]
//   out y = relu(sum(x * w, k) + b) * s         out y = relu(sum(x * (w * s), k) + b * s)
//
// From kernel to kernel, before the analysis, so the result prints as text. A matter of choice
// (`set scales = fold`), as last bits change. One rule for each operation (`ops::Scaling`) makes
// one algebra of what frameworks have as two passes over lists of layers: a convolution of any
// layout, a pooling or a layer of one's own is a sum, a maximum or a product like any other.
//
// **What may move.** Only what equals in exact arithmetic of finite numbers moves, and only by
// factors that are finite, of which the following is the whole rule:
//
//   s may be 0     where it moves through what is linear: sums, products, + and -, conversions. 0
//                  times a finite number is 0 there, too.
//   s > 0          must be known where maximum, minimum, abs, comparisons and the like are passed:
//                  with s = 0 an infinity in the data, which a maximum may hide, would become 0 *
//                  inf, no number.
//   s is not 0     must be known where something is divided by it: 1 / r as a scale, or b / s of a
//                  parameter that is added.
//   s is finite    must be known of everything: products of parameters are, quotients only where
//                  the divisor is not 0, roots only where what is under them is not negative. With
//                  inf or NaN in s, 0 * inf and inf - inf could appear.
//
// A parameter is taken to be finite, and to have the sign that its declaration says; `parameters`
// says more (or less) where the values are known. Overflow is not looked at: w * s may be infinite
// where sum(x * w) * s was not.
#pragma once

#include "scale/known.hpp"
#include "spec/spec.hpp"

namespace broadloom::scale {

// Whether the kernel asks for it: by `set scales`, or by `set relaxed`, where it does not say.
bool is_wanted(const SpecData &data);

// The same kernel with its scales folded; itself, where none can be. Folding what comes out changes
// nothing. Notes get a decision for each scale that moved and for each that stays. Throws what
// `analyse` throws; the kernel has no calls. Linear for kernels as people write them; searches stop
// where they would be quadratic.
SpecData fold_scales(const SpecData &data, std::vector<Decision> &notes,
                     const KnownParameters &parameters = {});

// Why no scale of the kernel moves; null where they may: what means another thing in another place,
// as an operand that a mode folds, or an extent of what stands around it.
const char *in_the_way(const SpecData &data);

// The kernel without the wish to fold: what the reference computes.
SpecData unfolded(SpecData data);

} // namespace broadloom::scale

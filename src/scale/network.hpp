// Scales that pass from kernel to kernel, through the lets that are arrays between them.
//
//   let h[n, i, k] = relu(sum(x[n, i + u, c] * w1, u, c)) * s
//   out y = sum(pad(h, i: 1)[n, i + u, k] * w2, u, k)
//       becomes .. * (w2 * s), and h lacks s
//
// A border of zeros is linear, so what multiplies all of h multiplies what is read of it. Two moves
// try this for each such let:
//
//   forward      h becomes itself over s, and each read of it is multiplied by s
//   backward     each read of h becomes s times itself, and so does h
//
// Then each kernel folds what it has now. A move stays where fewer products with constants are left
// in all of them than before; else nothing happened.
#pragma once

#include "scale/fold.hpp"
#include "spec/materialise.hpp"

namespace broadloom::scale {

// Folds the scales of each part, and between them. Loops over time stay as they are. Notes as those
// of fold_scales.
void fold_parts(spec::Split &split, std::vector<Decision> &notes,
                const KnownParameters &parameters = {});

// The same of a whole kernel without calls (expand_calls), of which `split` is what split_lets
// made.
SpecData fold_scales(const SpecData &data, std::optional<spec::Split> split,
                     std::vector<Decision> &notes, const KnownParameters &parameters = {});

} // namespace broadloom::scale

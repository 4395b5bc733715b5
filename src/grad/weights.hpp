// Inside the gradient stage: the weights of a sum back through a window, with what it keeps side by
// side.
//
//   y = sum(x[n, i + u, c] * w, u, c)     d_x = sum(d_y * w, like=x[n, i + u, c])
//       w : f32[u, c, o]
//                                         let w_by_c[u, o, c] in c = w
//                                         d_x = sum(d_y * w_by_c, like=x[n, i + u, c])
//
// As w is given, its elements lie side by side along o, which the second sum folds: rows as short
// as channels are, each of which is folded in 32 ways and joined. With lanes along c the sum goes
// as that of y. A convolution of f32[8, 58, 58, 64] by 3 by 3 to 64 channels takes 21.8 and not 37
// ms (one thread).
#pragma once

#include "spec/spec.hpp"

namespace broadloom::grad {

// Returns whether there are such. Iterative.
bool lay_weights(SpecData &data);

} // namespace broadloom::grad

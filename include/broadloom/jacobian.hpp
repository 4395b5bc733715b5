// Batches and Jacobians: kernels over more axes, made of a kernel. Such kernels print, run, and can
// be derived and batched again.
//
//   auto spec = bl::parse("kernel k { in x : f64[i]; out y = x / sum(x) }");
//   bl::print(bl::batch(spec, "b"));                  bl::print(bl::jacobian(spec, "y", "x"));
//
//   kernel k_batch {                                  kernel k_jacobian {
//     in  x : f64[b, i]                                 in  x : f64[i]
//     out y[b, i] = x / sum(x, i)                       out d_y_d_x[i, i_x < extent(x, 0)] = ..
//   }                                                 }
#pragma once

#include <broadloom/spec.hpp>

#include <string>
#include <vector>

namespace broadloom {

// The kernel NAME_batch, which does for all elements of a batch what `spec` does for one. The named
// inputs (none named: all that have dims) have one dim more, the first, with the label `axis`. So
// has every output that depends on one of them. In a kernel of which nothing has labels the new
// axis has none, and is axis 0. Element b of such an output is what `spec` gives for element b of
// the inputs. The bits are equal where these lie one behind the other. Schedules and wishes are
// dropped. Throws what `check` throws. Throws SpecError E0061 for a kernel that has no such form
// (the message says why) or an axis that is there already. Throws E0003 for a name that is no
// input.
LoopSpec batch(const LoopSpec &spec, const std::string &axis,
               const std::vector<std::string> &inputs = {});

// The kernel NAME_jacobian: all inputs of `spec`, and the output d_OF_d_WRT. Its axes are those of
// output `of` and then those of input `wrt`, each called LABEL_WRT. Its elements say how each
// element of the one moves with each of the other. The kernel goes forward, `jvp` for all elements
// of `wrt` at once, and costs as much as that times their number. Throws what `jvp` and `batch`
// throw; E0603 for complex numbers, E0609 where an axis has no label.
LoopSpec jacobian(const LoopSpec &spec, const std::string &of, const std::string &wrt);

// The kernel NAME_hessian: the Jacobian by `wrt` of the gradient of `of`, which is a single number,
// by `wrt`; its output is d2_OF_d_WRT. Throws what `gradient` and `jacobian` throw, E0609 where
// `of` has axes.
LoopSpec hessian(const LoopSpec &spec, const std::string &of, const std::string &wrt);

} // namespace broadloom

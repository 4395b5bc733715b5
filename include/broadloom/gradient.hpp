// Gradients: from a kernel to the kernel of its derivatives, which prints, runs and can be derived again.
//
//   auto spec = bl::parse("kernel k { in x : f32[i, j]; in y : f32[i]; out z = x * y }");
//   bl::print(bl::gradient(spec, {"x", "y"}));
//
//   kernel k_grad {
//     in  x : f32[i, j]
//     in  y : f32[i]
//     in  d_z : f32[i, j]
//     out d_x : f32 = sum(d_z * y, like=x)
//     out d_y : f32 = sum(d_z * x, like=y)
//   }
#pragma once

#include <broadloom/spec.hpp>

#include <string>
#include <vector>

namespace broadloom {

struct GradientOptions {
  std::vector<std::string> of; // outputs to differentiate; empty: all that are real or complex
  bool value = false;          // the kernel's own outputs, too: value and gradient in one
};

// The kernel NAME_grad: all inputs of `spec`, an input d_OUT for each output asked about (its cotangent: how
// much the loss changes with each element), and an output d_IN for each input in `wrt`, in the shape and
// the dtype of that input. For complex inputs d_IN is dL/dRe + i dL/dIm. What the backward pass needs of the
// forward one is computed again, in the same kernel.
// Throws what `check` throws; SpecError E0601 for an operation without a derivative, E0602 for a cast to an
// integer on the way, E0003 for a name that is not an input or an output; DTypeError E0603 for an integer or
// bool input or output.
LoopSpec gradient(const LoopSpec &spec, const std::vector<std::string> &wrt,
                  const GradientOptions &options = {});

} // namespace broadloom

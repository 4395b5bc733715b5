// Gradients: from a kernel to the kernel of its derivatives, which prints, runs and can be derived
// again.
//
//   auto spec = bl::parse("kernel k { in x : f32[i, j]; in y : f32[i]; out z = x * y }");
//   bl::print(bl::gradient(spec, {"x", "y"}));
//
//   kernel k_grad {
//     in  x : f32[i, j]
//     in  y : f32[i]
//     in  d_z : f32[i, j]
//     out d_x : f32 = d_z * y
//     out d_y : f32 = reduce(sum, like=y) d_z * x
//   }
#pragma once

#include <broadloom/spec.hpp>

#include <functional>
#include <string>
#include <vector>

namespace broadloom {

// How the backward pass comes by the values of the forward one: same bits, but for folds of what
// `save` has saved.
enum class Policy {
  automatic, // in the same kernel, which holds in memory what is dearer to compute again
  save,      // a forward kernel saves them, the backward kernel reads them
  recompute, // all are computed again where they are read (but for reductions, once each)
};

struct GradientOptions {
  std::vector<std::string> of = {}; // outputs to differentiate; empty: all that are real or complex
  Policy policy = Policy::automatic;
  bool value = false; // the kernel's own outputs, too: value and gradient in one
  bool add = false;   // `d_IN += ..`: added to what the call finds in d_IN
  // The steps of a loop over time send to inputs that have no axis of steps. With `carry` that is
  // added up while the loop goes back. Then none of what flows back has to be kept for all steps,
  // and of the states only some (docs/loops.md). The sums have another order,
  // and so other bits.
  bool carry = false;
};

// The kernel NAME_grad. Its inputs are those of `spec` and a d_OUT for each output asked about (its
// cotangent: how much the loss changes with each element). Its outputs are a d_IN for each input in
// `wrt`, in the shape and the dtype of that input. For complex inputs d_IN is dL/dRe + i dL/dIm.
// With Policy::save the kernel has further inputs saved_0, saved_1, ..: outputs of
// `saving_forward`. Throws what `check` throws. Throws SpecError E0601 for an operation without a
// derivative, E0602 for a cast to an integer on the way. Throws E0003 for a name that is not an
// input or an output, E0608 for one that is given twice. Throws DTypeError E0603 for an integer or
// bool input or output.
LoopSpec gradient(const LoopSpec &spec, const std::vector<std::string> &wrt,
                  const GradientOptions &options = {});

// For Policy::save: the kernel NAME_forward, which is `spec` with the outputs saved_0, saved_1, ..
// that `gradient` with the same arguments takes. Each has the dtype in which it was computed. A
// value in recompute() is not saved, but what it is made of is. Nor are f16 and bf16 values between
// operations, which have more bits than their dtype. Throws what `gradient` throws.
LoopSpec saving_forward(const LoopSpec &spec, const std::vector<std::string> &wrt,
                        const GradientOptions &options = {});

struct JvpOptions {
  std::vector<std::string> of = {}; // outputs to differentiate; empty: all that are real or complex
  bool value = false;               // the kernel's own outputs, too
};

// Forward mode, the Jacobian times a vector: the kernel NAME_jvp. Its inputs are those of `spec`
// and a t_IN for each input in `wrt`, in its shape and its dtype. A t_IN is the tangent, by which
// the input moves. Its outputs are a t_OUT for each output asked about, by which that moves. For
// `out z = x * y` by x it has `in t_x : f32[i, j]; out t_z : f32 = t_x * y`.
//
// For any weights w, sum(w * t_z) is sum(d_x * t_x), d_x being the gradient for d_z = w. For
// complex numbers the real parts of sum(conj(w) * t_z) and sum(conj(d_x) * t_x) are equal. A
// complex value moves by its directional derivative. Throws what `gradient` throws. Throws
// SpecError E0601 for a `derivative` clause that folds or scans, or is one of complex numbers, as
// it says only what flows back.
LoopSpec jvp(const LoopSpec &spec, const std::vector<std::string> &wrt,
             const JvpOptions &options = {});

// How a state is to be moved by its gradient: adds `update`s to the kernel, and states of its own
// where it needs some.
//
//   [](LoopSpec &spec, const Expr &w, const Expr &d) { spec.update("w", w - 0.1 * d); }
using UpdateRule = std::function<void(LoopSpec &spec, const Expr &state, const Expr &gradient)>;

// The kernel NAME_step is `spec` and, for each state that is a float, what `rule` says for the
// gradient of the output `loss` by it. The gradient is a let d_NAME. Throws SpecError E0045 where
// `loss` has axes or no state is a float, and what `gradient` throws.
LoopSpec training_step(const LoopSpec &spec, const std::string &loss, const UpdateRule &rule);

} // namespace broadloom

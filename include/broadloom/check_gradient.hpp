// Is the gradient of a kernel right, here? Slopes measured on the kernel itself against those
// derived.
//
//   bl::GradientCheck check = bl::check_gradient(spec, {{"x", xv}, {"y", yv}});
//   if (!check.passed()) std::cerr << bl::describe(check.worst());
//
// For an output z and an input x, with random weights w of the elements of z and a random direction
// v of x:
//
//   measured   d/dt sum(w * z(x + t v)) at t = 0      derived   sum(v * d_x), where d_z = w
//
// The measured slope is that of each element of z by central differences for seven steps.
// Richardson's extrapolation takes them to step 0, and their spread bounds the error. See Ridders,
// "Accurate computation of F'(x) and F'(x) F''(x)", Advances in Engineering Software 4 (1982). The
// kernel is evaluated from its definition, as one of the same text whose float types are all f64
// and complex ones c128. So no rounding to f32 hides in the differences.
//
// Elements of z that have a corner or a jump nearby get the weight 0. There the slopes to the left
// and to the right differ, or the differences do not settle. If nothing is left for any direction,
// also not for single elements of x, the pair is NotSmooth: nothing is known there. If the two
// slopes differ, weights are 0, too, where an operation with a corner or an edge of its domain has
// helped. Such a corner may not show in the value, as in fmax(max(x), x). Each intermediate value
// is moved on its own to find it.
#pragma once

#include <broadloom/gradient.hpp>
#include <broadloom/kernel.hpp>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace broadloom {

struct GradientCheckOptions {
  std::vector<std::string> wrt = {}, of = {}; // inputs, outputs; empty: all real and complex ones
  int directions = 2;                         // random directions for each input
  std::uint64_t seed = 1;  // of weights and directions: the same seed, the same check
  double tolerance = 1e-6; // of the sum of the absolute values of what is added up
  Engine engine =
      Engine::automatic; // runs the derived kernel; the measured slopes are the reference's
  std::shared_ptr<const std::atomic<bool>> cancel = nullptr; // as in Options
};

enum class Slope {
  agrees,
  differs,
  not_smooth, // no element of the output has a slope that can be measured, or an operation has none
  no_gradient // it cannot be derived: `reason`
};

// One output by one input, at the direction where the two were farthest apart for their tolerance.
struct SlopeCheck {
  std::string output, input;
  Slope slope = Slope::not_smooth;
  double measured = 0, derived = 0;
  double difference = 0, tolerance = 0; // Differs: difference > tolerance, or derived is NaN
  std::int64_t compared = 0;            // elements of the output, over all directions
  std::int64_t left_out = 0;            // those that are not smooth
  std::string reason;
};

struct GradientCheck {
  std::vector<SlopeCheck> slopes; // output by output, each by all inputs

  bool passed() const; // nothing differs
  // The one whose difference is the greatest share of its tolerance; throws DataError E0304 where
  // there is none at all.
  const SlopeCheck &worst() const;
};

// The derivative of every output by every input, at `inputs`, in the dtypes and shapes of the
// kernel's declarations. Bool and integer inputs stay as they are. The check takes some 30
// evaluations for each input. Throws what a call of the kernel throws for these inputs (ShapeError,
// DTypeError, DataError). Throws SpecError E0003 and DTypeError E0603 for names in `wrt` and `of`,
// as `gradient` does. An operation without a derivative is no error here, but NoGradient.
GradientCheck check_gradient(const LoopSpec &spec, std::span<const NamedView> inputs,
                             const GradientCheckOptions &options = {});
inline GradientCheck check_gradient(const LoopSpec &spec, std::initializer_list<NamedView> inputs,
                                    const GradientCheckOptions &options = {}) {
  return check_gradient(spec, std::span(inputs.begin(), inputs.size()), options);
}

// "z by x agrees: derived 0.25, measured 0.25 (1e-12 apart, 1e-6 allowed)"
std::string describe(const SlopeCheck &slope);

} // namespace broadloom

// Inside the gradient check: the derived kernels of one kernel, made once and called for many
// cotangents.
#pragma once

#include <broadloom/check_gradient.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::jit {

// The derivatives of one output by some inputs.
class DerivedSlopes {
public:
  // One kernel for all inputs, or one for each where an input has no derivative.
  DerivedSlopes(const LoopSpec &spec, const std::string &output,
                const std::vector<std::string> &wrt, const GradientCheckOptions &options);

  // Why there is no derivative by the input at this position of `wrt`; empty where there is one.
  const std::string &reason(std::size_t input) const { return by_[input].made->reason; }

  // d_INPUT in C order, for the inputs of the kernel and the weights of the output's elements.
  Array call(std::size_t input, std::vector<NamedView> inputs, const Array &weights);
  // The same for the weights of the first such call: it runs once for all inputs and directions.
  Array call_once(std::size_t input, const std::vector<NamedView> &inputs, const Array &weights);

private:
  struct Made {
    std::optional<Kernel> kernel;
    std::string cotangent; // the name of its input
    std::string reason;
    std::optional<Results> results; // of call_once
  };
  struct ByInput {
    std::shared_ptr<Made> made;
    std::size_t position = 0; // of d_INPUT among the kernel's outputs
  };
  static Made made(const LoopSpec &spec, const std::string &output,
                   const std::vector<std::string> &wrt, const GradientCheckOptions &options);
  static Results run(const Made &made, std::vector<NamedView> inputs, const Array &weights);

  std::vector<ByInput> by_; // [input]
};

} // namespace broadloom::jit

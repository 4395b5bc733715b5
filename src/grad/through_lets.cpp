// See through_lets.hpp.
#include "grad/lets_gradient.hpp"

namespace broadloom::grad {

SpecData through_lets(const SpecData &data, const spec::Split &split,
                      const std::vector<std::string> &wrt, const GradientOptions &options,
                      const GradientOf &gradient) {
  return ThroughLets(data, split, wrt, options, gradient).run();
}

} // namespace broadloom::grad

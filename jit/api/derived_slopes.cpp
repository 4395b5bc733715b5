// See derived_slopes.hpp.
#include "jit/api/derived_slopes.hpp"

#include "spec/spec.hpp"

namespace broadloom::jit {

DerivedSlopes::DerivedSlopes(const LoopSpec &spec, const std::string &output,
                             const std::vector<std::string> &wrt,
                             const GradientCheckOptions &options) {
  const auto all = std::make_shared<Made>(made(spec, output, wrt, options));
  for (std::size_t k = 0; k < wrt.size(); ++k)
    by_.push_back(all->kernel
                      ? ByInput{all, k}
                      : ByInput{std::make_shared<Made>(made(spec, output, {wrt[k]}, options)), 0});
}

DerivedSlopes::Made DerivedSlopes::made(const LoopSpec &spec, const std::string &output,
                                        const std::vector<std::string> &wrt,
                                        const GradientCheckOptions &options) {
  try {
    const LoopSpec derived = gradient(spec, wrt, {.of = {output}});
    std::string cotangent; // the last input; windows come behind
    for (const auto &input : derived.data().inputs)
      if (!input->window) cotangent = input->name;
    return {
        compile(derived, {.engine = options.engine, .cancel = options.cancel}), cotangent, "", {}};
  } catch (const SpecError &error) {
    return {{}, "", error.message(), {}};
  }
}

Results DerivedSlopes::run(const Made &made, std::vector<NamedView> inputs, const Array &weights) {
  inputs.push_back({made.cotangent, weights});
  return made.kernel->call(inputs);
}

Array DerivedSlopes::call(std::size_t input, std::vector<NamedView> inputs, const Array &weights) {
  const ByInput &by = by_[input];
  return run(*by.made, std::move(inputs), weights)[by.position].copy();
}

Array DerivedSlopes::call_once(std::size_t input, const std::vector<NamedView> &inputs,
                               const Array &weights) {
  const ByInput &by = by_[input];
  if (!by.made->results) by.made->results = run(*by.made, inputs, weights);
  return (*by.made->results)[by.position].copy();
}

} // namespace broadloom::jit

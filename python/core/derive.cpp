// Kernels that are derived from a kernel: `k.grad`, `k.saving_forward`, `k.jvp`, `k.jacobian`,
// `k.hessian`, `k.batch`; and `k.check`.
#include "derive.hpp"

#include "errors.hpp"
#include "records.hpp"

#include <broadloom/jacobian.hpp>

#include <nanobind/stl/string.h>

namespace broadloom::python {

std::vector<std::string> names_from(const nb::object &names, const char *what,
                                    const char *example) {
  std::vector<std::string> result;
  if (names.is_none()) return result;
  if (nb::isinstance<nb::str>(names)) return {utf8_of(names.ptr())};
  try {
    for (const nb::handle name : names) result.push_back(nb::cast<std::string>(name));
  } catch (const nb::python_error &) {
    result.clear();
  } catch (const nb::cast_error &) {
    result.clear();
  }
  if (result.empty())
    throw ArgumentError("E0401", std::string(what) + "= is no name and no list of names", {},
                        std::string("as in ") + example);
  return result;
}

namespace {

std::vector<std::string> inputs_with_gradient(const State &state) {
  std::vector<std::string> names;
  for (const Slot &slot : state.inputs)
    if (is_float(slot.dtype) || is_complex(slot.dtype)) names.push_back(slot.name);
  return names;
}

// A kernel that was derived of the text of another one: what is frozen there is frozen here.
KernelObject derived(const State &state, const LoopSpec &spec) {
  KernelObject made = make_kernel(spec, state.choices);
  if (const nb::dict values = frozen_values(state); nb::len(values) > 0)
    made = kernel_of(freeze(*made.state, values, nb::kwargs()));
  return state.choices.most_threads == 0
             ? made
             : kernel_of(with_threads(*made.state, state.choices.most_threads));
}

// The value of an option of `check`, taken out of the keyword arguments, unless an input has its
// name.
nb::object taken(const State &state, nb::kwargs &kwargs, const char *name) {
  const nb::str word(name);
  if (!kwargs.contains(word) || state.find_input(word.ptr()) >= 0) return nb::none();
  const nb::object value = kwargs[word];
  nb::del(kwargs[word]);
  return value;
}

Policy policy_from(const std::string &word) {
  if (word == "auto") return Policy::automatic;
  if (word == "save") return Policy::save;
  if (word == "recompute") return Policy::recompute;
  const std::vector<std::string> policies = {"auto", "save", "recompute"};
  throw ArgumentError("E0401", "there is no policy '" + word + "'", {},
                      suggestion(word, policies) + "the policies are " + quoted_list(policies));
}

} // namespace

KernelObject grad(const KernelObject &kernel, const nb::object &wrt, const nb::object &of,
                  bool value, bool add, const std::string &policy, bool carry) {
  State &state = *kernel.state;
  std::vector<std::string> inputs = names_from(wrt, "wrt");
  if (inputs.empty()) inputs = inputs_with_gradient(state);
  GradientOptions options;
  options.policy = policy_from(policy);
  if (value && options.policy == Policy::save)
    throw ArgumentError("E0401",
                        "a kernel that gives values and derivatives is one call, and the policy "
                        "'save' is for two",
                        {},
                        "take the values from k.saving_forward(..) and the derivatives from "
                        "k.grad(.., policy='save')");
  options.of = names_from(of, "of");
  options.value = value;
  options.add = add;
  options.carry = carry;
  KernelObject made = derived(state, gradient(state.spec(), inputs, options));
  for (const Slot &output : state.outputs)
    for (std::size_t i = state.inputs.size(); i < made.state->inputs.size(); ++i)
      if (output.rank == 0 && made.state->inputs[i].rank == 0 &&
          made.state->inputs[i].name == "d_" + output.name)
        made.state->defaults_to_one[i] = true;
  return made;
}

KernelObject saving(const KernelObject &kernel, const nb::object &wrt, const nb::object &of) {
  const State &state = *kernel.state;
  std::vector<std::string> inputs = names_from(wrt, "wrt");
  if (inputs.empty()) inputs = inputs_with_gradient(state);
  GradientOptions options;
  options.of = names_from(of, "of");
  return derived(state, saving_forward(state.spec(), inputs, options));
}

KernelObject forward(const KernelObject &kernel, const nb::object &wrt, const nb::object &of,
                     bool value) {
  const State &state = *kernel.state;
  std::vector<std::string> inputs = names_from(wrt, "wrt");
  if (inputs.empty()) inputs = inputs_with_gradient(state);
  return derived(state, jvp(state.spec(), inputs, {names_from(of, "of"), value}));
}

KernelObject jacobian_of(const KernelObject &kernel, const std::string &of,
                         const std::string &wrt) {
  return derived(*kernel.state, jacobian(kernel.state->spec(), of, wrt));
}

KernelObject hessian_of(const KernelObject &kernel, const std::string &of, const std::string &wrt) {
  return derived(*kernel.state, hessian(kernel.state->spec(), of, wrt));
}

KernelObject batch_of(const KernelObject &kernel, const nb::object &inputs,
                      const std::string &axis) {
  return derived(*kernel.state,
                 batch(kernel.state->spec(), axis,
                       names_from(inputs, "inputs", "inputs='x' or inputs=['x', 'y']")));
}

nb::object check_gradients(const KernelObject &kernel, nb::args args, nb::kwargs kwargs) {
  State &state = *kernel.state;
  GradientCheckOptions options;
  options.wrt = names_from(taken(state, kwargs, "wrt"), "wrt");
  if (options.wrt.empty() && !state.frozen.empty()) options.wrt = inputs_with_gradient(state);
  options.of = names_from(taken(state, kwargs, "of"), "of");
  if (const nb::object value = taken(state, kwargs, "directions"); !value.is_none())
    options.directions = nb::cast<int>(value);
  if (const nb::object value = taken(state, kwargs, "seed"); !value.is_none())
    options.seed = nb::cast<std::uint64_t>(value);
  if (const nb::object value = taken(state, kwargs, "tolerance"); !value.is_none())
    options.tolerance = nb::cast<double>(value);
  return record_of(check(state, args, kwargs, options));
}

} // namespace broadloom::python

// Kernels that are derived from a kernel.
#pragma once

#include "kernel.hpp"

namespace broadloom::python {

// None, one name, or several.
std::vector<std::string> names_from(const nb::object &names, const char *what,
                                    const char *example = "wrt='x' or wrt=['x', 'y']");

KernelObject grad(const KernelObject &kernel, const nb::object &wrt, const nb::object &of,
                  bool value, bool add, const std::string &policy, bool carry);
// The kernel with what `grad` by the policy "save" takes as further outputs.
KernelObject saving(const KernelObject &kernel, const nb::object &wrt, const nb::object &of);
KernelObject forward(const KernelObject &kernel, const nb::object &wrt, const nb::object &of,
                     bool value);
KernelObject jacobian_of(const KernelObject &kernel, const std::string &of, const std::string &wrt);
KernelObject hessian_of(const KernelObject &kernel, const std::string &of, const std::string &wrt);
KernelObject batch_of(const KernelObject &kernel, const nb::object &inputs,
                      const std::string &axis);
nb::object check_gradients(const KernelObject &kernel, nb::args args, nb::kwargs kwargs);

} // namespace broadloom::python

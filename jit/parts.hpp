// What calls choose that see windows or are made in parts (kernel/interior.hpp, kernel/by_parts.hpp):
// for those who tell of them.
#pragma once

#include "jit/kernel.hpp"

namespace broadloom::jit {

// C-contiguous, of typical extents, without memory.
std::vector<AnyView> typical_views(const spec::TypedSpec &typed);
// What a call would choose that is given these inputs, without shapes that outputs lend.
std::shared_ptr<const kernel::WindowChoice> planned_windows(const KernelImpl &kernel,
                                                            kernel::Operands named);
// Whether the latest call ran no loop, as a gather was all of its output; before any, whether one would.
bool fills_output(const KernelImpl &kernel);
// Of the latest call, what computed its parts: the kernel, and of each group the interior or the last part.
std::vector<const KernelImpl *> latest_kernels(const KernelImpl &kernel);

} // namespace broadloom::jit

// The stages of a kernel as text.
#pragma once

#include "calls/call.hpp"

#include <broadloom/kernel.hpp>

#include <string>

namespace broadloom::jit {

using detail::KernelImpl;

std::string show(const KernelImpl &kernel, Stage stage, const ShowFormat &format);

// What a call does, as data: told from what the latest call chose or, before any, from what one on
// C-contiguous inputs of typical extents would. Throws SpecError E0501 where a kernel that was not
// called has lets whose shapes no typical extents fit.
calls::Call describe_call(const KernelImpl &kernel);

// `--stage graph`.
std::string show_graph(const KernelImpl &kernel, ShowFormat::Graph format);

} // namespace broadloom::jit

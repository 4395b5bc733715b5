// The stages of a kernel as text.
#pragma once

#include "calls/call.hpp"
#include "jit/native/target.hpp"
#include "jit/specialisation.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::jit {

using detail::KernelImpl;

std::string show(const KernelImpl &kernel, Stage stage, const ShowFormat &format);

// What a call does, as data: told from what the latest call chose or, before any, from what one on
// C-contiguous inputs of typical extents would. Throws SpecError E0501 where a kernel that was not
// called has lets whose shapes no typical extents fit.
calls::Call describe_call(const KernelImpl &kernel);

// `--stage graph`.
std::string show_graph(const KernelImpl &kernel, ShowFormat::Graph format);

// "  in x : f32 shape (3, 4) strides (4, 1)", where `kind` is "in".
std::string operand_line(std::string_view kind, const std::string &name, DType dtype,
                         const Layout &layout);

// `--stage plan`. Of the decisions, those that are not what most kernels get.
std::string plan_text(const spec::TypedSpec &spec, const kernel::Layouts &layouts,
                      const loop::Program &program, const plan::Binding &binding,
                      std::span<const Decision> why);

// `--stage asm`: the innermost loop of the most expensive phase, or all of the code; above each run of instructions
// stands the line of the loop program that they come from.
std::string asm_listing(const loop::Program &program, const block::Program &blocks,
                        const plan::Binding &binding, const Target &target, bool whole);

} // namespace broadloom::jit

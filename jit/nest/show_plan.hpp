// A plan as text, whichever kernel it is of.
#pragma once

#include "kernel/operands.hpp"
#include "plan/plan.hpp"

#include <broadloom/kernel.hpp>

#include <span>
#include <string>
#include <string_view>

namespace broadloom::jit {

// "  in x : f32 shape (3, 4) strides (4, 1)", where `kind` is "in".
std::string operand_line(std::string_view kind, const std::string &name, DType dtype,
                         const Layout &layout);

// `--stage plan`. Of the decisions, those that are not what most kernels get.
std::string plan_text(const spec::TypedSpec &spec, const kernel::Layouts &layouts,
                      const loop::Program &program, const plan::Binding &binding,
                      std::span<const Decision> why);

} // namespace broadloom::jit

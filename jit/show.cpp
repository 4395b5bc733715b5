// The stages of a kernel as text, and its decisions as data.
//
// Shown is what the latest call or `prepare` ran; before any, what C-contiguous inputs of typical
// extents would give. Showing compiles nothing: code that is not there yet is described, not made.
#include "jit/kernel.hpp"
#include "jit/layouts.hpp"

#include "array/layout.hpp"
#include "ops/complex.hpp"
#include "ops/ops.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace broadloom {

// Program and numbers to print, from a Bound or from a plan made for the purpose.
struct KernelImpl::Shown {
  std::shared_ptr<const jit::Bound> bound; // null before the first call
  jit::Layouts layouts;
  loop::Program program;
  plan::Binding binding;
  std::vector<Decision> why;
};

KernelImpl::Shown KernelImpl::what_to_show() const {
  Shown shown;
  shown.bound = memo_.latest();
  if (shown.bound) {
    shown.layouts = shown.bound->layouts;
    shown.program = shown.bound->pattern->program;
    shown.binding = shown.bound->binding;
    shown.why = shown.bound->why;
    return shown;
  }
  std::vector<AnyView> inputs;
  for (const Layout &layout : jit::typical_inputs(typed_))
    inputs.push_back({typed_.inputs[inputs.size()].dtype, nullptr, false, layout});
  shown.layouts = allocated_layouts(inputs);
  const plan::Resolved resolved = plan::resolve(typed_, shown.layouts.inputs, shown.layouts.wanted);
  plan::Plan plan = make_plan(shown.layouts, resolved);
  loop::verify(plan.program);
  shown.program = std::move(plan.program);
  shown.binding = std::move(plan.binding);
  shown.why = std::move(plan.why);
  return shown;
}

namespace {

std::string operand_line(std::string_view kind, const std::string &name, DType dtype,
                         const Layout &layout) {
  return fmt::format("  {:<8} {} : {} shape {} strides {}\n", kind, name, broadloom::name(dtype),
                     array::shape_text(layout.shape()), array::shape_text(layout.steps()));
}

// How a buffer moves along an axis: '.' not at all, 1 by one element, s by any other stride.
std::string walks(const loop::Program &program, const loop::Buffer &buffer) {
  std::string text(program.axes.size(), '.');
  for (const loop::Walk &walk : buffer.walks)
    text[walk.axis.index] = walk.stride == loop::StrideClass::Unit ? '1' : 's';
  return text;
}

std::string role_name(loop::Role role) {
  switch (role) {
  case loop::Role::Input: return "input";
  case loop::Role::Output: return "output";
  case loop::Role::Scratch: return "scratch";
  case loop::Role::Row: return "row";
  }
  return {};
}

std::string plan_text(const spec::TypedSpec &spec, const jit::Layouts &layouts,
                      const loop::Program &program, const plan::Binding &binding,
                      const std::vector<Decision> &why) {
  std::string text = fmt::format("plan of {}\noperands\n", spec.name);
  for (std::size_t i = 0; i < spec.inputs.size(); ++i)
    text += operand_line("in", spec.inputs[i].name, spec.inputs[i].dtype, layouts.inputs[i]);
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    if (layouts.wanted[o])
      text += operand_line("out", spec.outputs[o].name, spec.outputs[o].dtype, layouts.outputs[o]);
  text += "axes\n";
  for (std::size_t a = 0; a < program.axes.size(); ++a) {
    const loop::Axis &axis = program.axes[a];
    text += fmt::format("  {} = {}", axis.name, binding.extents[a]);
    if (axis.chunks_of)
      text += fmt::format(" chunks of {} positions", binding.chunks[axis.chunks_of->index]);
    text += '\n';
  }
  text += "pattern (an axis a column: . does not move, 1 next element, s any stride)\n";
  for (const loop::Buffer &buffer : program.buffers)
    text += fmt::format("  {:<8} {} {}{}\n", role_name(buffer.role), walks(program, buffer),
                        buffer.name, buffer.stream ? ", stored around the caches" : "");
  text += "phases\n";
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    std::vector<std::string> axes;
    for (const loop::AxisId axis : program.phases[p].parallel) axes.push_back(program[axis].name);
    text += fmt::format("  {} {}, about {:.3g} cycles\n", p,
                        axes.empty() ? "serial"
                                     : fmt::format("parallel over {}", fmt::join(axes, ", ")),
                        binding.phase_work[p]);
  }
  if (!why.empty()) text += "why\n";
  for (const Decision &decision : why)
    text += fmt::format("  {}: {}\n", decision.topic, decision.text);
  return text;
}

std::string engine_name(Engine engine) {
  switch (engine) {
  case Engine::Auto: return "auto";
  case Engine::Jit: return "jit";
  case Engine::Interpreter: return "interpreter";
  case Engine::Reference: return "reference";
  }
  return {};
}

void add_libm(const loop::Program &program, std::vector<Decision> &result) {
  std::set<ops::Op> seen;
  const auto add = [&](ops::Op op) {
    if (ops::info(op).math == ops::Math::Libm && seen.insert(op).second)
      result.push_back({"math", fmt::format("{} runs one lane at a time", ops::info(op).spelling)});
  };
  for (const loop::Value &value : program.values) {
    if (value.kind != loop::ValueKind::Op) continue;
    if (is_complex(value.compute))
      for (const ops::Op op : ops::complex::made_of(value.op)) add(op);
    else
      add(value.op);
  }
}

} // namespace

std::vector<Decision> KernelImpl::why() const {
  std::vector<Decision> result = typed_.notes;
  if (engine_ == Engine::Reference) {
    result.push_back({"engine", "reference: point by point from the definition"});
    return result;
  }
  const Shown shown = what_to_show();
  result.insert(result.end(), shown.why.begin(), shown.why.end());
  const Counters counters = this->counters();
  const jit::Pattern *pattern = shown.bound ? shown.bound->pattern.get() : nullptr;
  if (!target_)
    result.push_back({"engine", engine_name(engine_) + ": the loop IR, one point at a time"});
  else if (pattern != nullptr && !pattern->code)
    result.push_back({"engine", "interpreter, for want of native code: " + pattern->no_code});
  else
    result.push_back({"engine", fmt::format("native code for {} ({}, {}-bit vectors)",
                                            target_->name, target_->cpu, target_->vector_bits)});
  if (pattern != nullptr && pattern->code)
    result.push_back(
        {"code", fmt::format("{} bytes; {} compiled by this kernel in {:.2f} ms in all",
                             pattern->code->code_bytes(),
                             support::count(counters.compiles, "pattern"), counters.compile_ms)});
  if (target_) add_libm(shown.program, result);
  for (std::size_t p = 0; shown.bound && p < shown.bound->phases.size(); ++p)
    result.push_back(
        {"threads", fmt::format("phase {} runs as {} on {}", p,
                                support::count(shown.bound->phases[p].grid.blocks, "block"),
                                support::count(threads_, "thread"))});
  return result;
}

std::string KernelImpl::show(Stage stage) const {
  switch (stage) {
  case Stage::Spec: return print(spec_);
  case Stage::Axes: return spec::print_axes(typed_);
  case Stage::Graph: return spec::print_graph(typed_);
  case Stage::Plan: {
    const Shown shown = what_to_show();
    return plan_text(typed_, shown.layouts, shown.program, shown.binding, shown.why);
  }
  case Stage::Loop: return loop::print(what_to_show().program);
  case Stage::Llvm:
  case Stage::Asm: {
    if (!target_)
      support::fail("E0501",
                    fmt::format("kernel '{}' was compiled for the {} engine and has no native code",
                                typed_.name, engine_name(engine_)),
                    {}, "compile it with Engine::Auto or Engine::Jit");
    const loop::Program program = what_to_show().program;
    return stage == Stage::Llvm ? jit::llvm_text(program, *target_)
                                : jit::asm_text(program, *target_);
  }
  case Stage::Why: {
    std::string text;
    for (const Decision &decision : why())
      text += fmt::format("{}: {}\n", decision.topic, decision.text);
    return text;
  }
  }
  return {};
}

} // namespace broadloom

// `--stage plan`: see show_plan.hpp.
#include "jit/nest/show_plan.hpp"

#include "array/layout.hpp"
#include "support/reasons.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace broadloom::jit {

std::string operand_line(std::string_view kind, const std::string &name, DType dtype,
                         const Layout &layout) {
  return fmt::format("  {} {} : {} shape {} strides {}\n", kind, name, broadloom::name(dtype),
                     array::shape_text(layout.shape()), array::shape_text(layout.steps()));
}

namespace {

// How a buffer moves along an axis: '.' not at all, 1 by one element, 2, 3, 4 or - by a step that
// the code knows, s by any other.
std::string walks(const loop::Program &program, const loop::Buffer &buffer) {
  std::string text(program.axes.size(), '.');
  for (const loop::Walk &walk : buffer.walks)
    text[walk.axis.index] = "-s1234"[loop::step_of(walk.stride) + 1];
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

} // namespace

std::string plan_text(const spec::TypedSpec &spec, const kernel::Layouts &layouts,
                      const loop::Program &program, const plan::Binding &binding,
                      std::span<const Decision> why) {
  std::string text = fmt::format("plan of {}\noperands\n", spec.name);
  for (std::size_t i = 0; i < spec.inputs.size(); ++i)
    text += operand_line("in      ", spec.inputs[i].name, spec.inputs[i].dtype, layouts.inputs[i]);
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    if (layouts.wanted[o])
      text +=
          operand_line("out     ", spec.outputs[o].name, spec.outputs[o].dtype, layouts.outputs[o]);
  text += "axes\n";
  for (std::size_t a = 0; a < program.axes.size(); ++a) {
    const loop::Axis &axis = program.axes[a];
    text += fmt::format("  {} = {}", axis.name, binding.extents[a]);
    if (axis.chunks_of)
      text += fmt::format(" chunks of {} positions", binding.chunks[axis.chunks_of->index]);
    text += '\n';
  }
  text += "pattern (an axis a column: . does not move, 1 next element, 2 3 4 - steps that are "
          "known, s any stride)\n";
  for (const loop::Buffer &buffer : program.buffers)
    text += fmt::format("  {:<8} {} {}{}{}\n", role_name(buffer.role), walks(program, buffer),
                        buffer.name, buffer.reread ? ", read often" : "",
                        !buffer.stream                     ? ""
                        : buffer.role == loop::Role::Input ? ", read ahead"
                                                           : ", stored around the caches");
  text += "phases\n";
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    std::vector<std::string> axes;
    const bool serial = loop::handing_loop(program, program.phases[p]) != nullptr;
    for (const loop::AxisId axis : program.phases[p].parallel)
      if (!serial) axes.push_back(program[axis].name);
    text += fmt::format("  {} {}, about {:.3g} cycles\n", p,
                        axes.empty() ? "serial"
                                     : fmt::format("parallel over {}", fmt::join(axes, ", ")),
                        binding.phase_work[p]);
  }
  std::string reasons;
  for (const Decision &decision : why)
    if (!support::is_usual(decision))
      reasons += fmt::format("  {}: {}\n", decision.topic, decision.text);
  if (!reasons.empty()) text += "why\n" + reasons;
  return text;
}

} // namespace broadloom::jit

// The stages of a kernel as text, and its decisions as data.
//
// Shown is what the latest call or `prepare` ran; before any, what C-contiguous inputs of typical
// extents would give. Showing compiles nothing: code that is not there yet is described, not made.
#include "jit/show.hpp"
#include "jit/kernel.hpp"
#include "jit/layouts.hpp"
#include "jit/why.hpp"

#include "ops/complex.hpp"
#include "ops/ops.hpp"
#include "plan/explain.hpp"
#include "spec/print_typed.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <set>

namespace broadloom {

using support::decide;
using support::Reason;

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
    shown.layouts = shown.bound->layouts; // its plan is made once more, now with the reasons
  } else {
    std::vector<AnyView> inputs;
    for (const Layout &layout : jit::typical_inputs(typed_))
      inputs.push_back({typed_.inputs[inputs.size()].dtype, nullptr, false, layout});
    shown.layouts = allocated_layouts(inputs);
  }
  const plan::Resolved resolved = plan::resolve(typed_, shown.layouts.inputs, shown.layouts.wanted);
  plan::Plan plan = make_plan(shown.layouts, resolved, true);
  loop::verify(plan.program);
  shown.program = std::move(plan.program);
  shown.binding = std::move(plan.binding);
  shown.why = std::move(plan.why);
  return shown;
}

namespace {

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
      result.push_back(decide(Reason::LaneAtATime, std::string(ops::info(op).spelling),
                              "one lane at a time",
                              fmt::format("{} runs one lane at a time", ops::info(op).spelling)));
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

// What runs the program.
Decision KernelImpl::explain_engine(const jit::Pattern *pattern) const {
  if (!target_) {
    const bool asked = engine_ == Engine::Interpreter;
    return decide(asked ? Reason::InterpreterAsked : Reason::NoNativeTarget, "", "interpreter",
                  engine_name(engine_) + ": the loop IR, one point at a time");
  }
  const std::string native = fmt::format("native code for {} ({}, {}-bit vectors)", target_->name,
                                         target_->cpu, target_->vector_bits);
  if (pattern != nullptr && !pattern->code)
    return decide(Reason::NoNativeCode, "", "interpreter",
                  "interpreter, for want of native code: " + pattern->no_code,
                  {{"native code", pattern->no_code}});
  return decide(Reason::NativeCode, "", "native code", native,
                {{"interpreter", "the same bits, far slower"}});
}

std::vector<Decision> KernelImpl::why() const try {
  const support::FloatWorld world;
  std::vector<Decision> result = typed_.notes;
  if (engine_ == Engine::Reference) {
    result.push_back(decide(Reason::ReferenceAsked, "", "reference",
                            "reference: point by point from the definition"));
    return result;
  }
  const Shown shown = what_to_show();
  const auto append = [&](const std::vector<Decision> &more) {
    result.insert(result.end(), more.begin(), more.end());
  };
  append(shown.why);
  append(plan::explain_program(typed_, shown.program, shown.binding));
  const jit::Pattern *pattern = shown.bound ? shown.bound->pattern.get() : nullptr;
  result.push_back(explain_engine(pattern));
  if (target_) {
    append(jit::explain_widths(shown.program, *target_));
    add_libm(shown.program, result);
  }
  if (!shown.bound) return result;
  result.push_back(shown.bound->found);
  if (pattern->code) {
    const Counters counters = this->counters();
    result.push_back(
        decide(Reason::CodeSize, "", fmt::format("{} bytes", pattern->code->code_bytes()),
               fmt::format("{} bytes; {} compiled by this kernel in {:.2f} ms in all",
                           pattern->code->code_bytes(),
                           support::count(counters.compiles, "pattern"), counters.compile_ms)));
  }
  append(jit::explain_threads(shown.program, shown.binding, threads_));
  return result;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void KernelImpl::require_native() const {
  if (!target_)
    support::fail("E0501",
                  fmt::format("kernel '{}' was compiled for the {} engine and has no native code",
                              typed_.name, engine_name(engine_)),
                  {}, "compile it with Engine::Auto or Engine::Jit");
}

std::string KernelImpl::show_graph(ShowFormat::Graph format) const {
  switch (format) {
  case ShowFormat::Graph::Text: return spec::print_graph(typed_);
  case ShowFormat::Graph::Dot: return spec::print_dot(typed_);
  case ShowFormat::Graph::Html: return spec::print_html(typed_);
  }
  return {};
}

std::string KernelImpl::show(Stage stage, const ShowFormat &format) const try {
  const support::FloatWorld world;
  switch (stage) {
  case Stage::Spec: return print(spec_);
  case Stage::Axes: {
    const jit::Layouts layouts = what_to_show().layouts;
    return spec::print_axes(typed_) +
           spec::print_axis_table(typed_, layouts.inputs, layouts.outputs, layouts.wanted);
  }
  case Stage::Graph: return show_graph(format.graph);
  case Stage::Plan: {
    const Shown shown = what_to_show();
    return jit::plan_text(typed_, shown.layouts, shown.program, shown.binding, shown.why);
  }
  case Stage::Loop: return loop::print(what_to_show().program);
  case Stage::Llvm: require_native(); return jit::llvm_text(what_to_show().program, *target_);
  case Stage::Asm: {
    require_native();
    const Shown shown = what_to_show();
    return jit::asm_listing(shown.program, shown.binding, *target_, format.whole);
  }
  case Stage::Why: {
    if (format.json) return to_json(why());
    std::string text;
    for (const Decision &decision : why())
      text += fmt::format("{}: {}\n", decision.topic, decision.text);
    return text;
  }
  }
  return {};
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom

// See specialise.hpp.
#include "jit/nest/specialise.hpp"

#include "jit/cache/built_code.hpp"
#include "jit/gpu/device.hpp"
#include "jit/nest/code_beside.hpp"
#include "jit/nest/failure.hpp"
#include "jit/nest/layout_cache.hpp"
#include "jit/nest/patterns.hpp"
#include "jit/nest/stopwatch.hpp"
#include "jit/runtime/small.hpp"
#include "kernel/check.hpp"
#include "kernel/layouts.hpp"
#include "plan/scratch.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/reasons.hpp"
#include "text/print_typed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::jit {
namespace {

// [phase]: the one that it runs with.
std::vector<std::size_t> phases_run_at(const Specialisation &special) {
  std::vector<std::size_t> at;
  for (std::size_t p = 0; p < special.phases.size(); ++p) at.push_back(p);
  for (std::size_t p = 0; p < special.phases.size(); ++p)
    if (special.phases[p].pipeline)
      for (std::size_t k = 1; k < special.phases[p].pipeline->phases.size(); ++k) at[p + k] = p;
  for (const plan::Interleaving &together : special.binding.interleavings)
    for (const std::size_t p : together.phases) at[p] = together.phases.front();
  return at;
}

// Where each buffer of the program finds its memory: scratch arrays, which share it where they are
// never used at once, then the rows of the first thread, then those of the next. The phases are
// placed.
void place_buffers(Specialisation &special, int threads, bool on_device) {
  const support::Places scratch = support::places_of(plan::scratch_lifetimes(
      special.pattern->program, special.binding.scratch_bytes, phases_run_at(special)));
  std::int64_t end = scratch.bytes;
  const auto lay_out = [&](const std::vector<std::int64_t> &sizes) {
    std::vector<std::int64_t> starts;
    for (const std::int64_t bytes : sizes) {
      starts.push_back(end);
      support::check(!__builtin_add_overflow(end, (bytes + 63) / 64 * 64, &end),
                     "scratch overflows");
    }
    return starts;
  };
  const std::int64_t first_row = end;
  const std::vector<std::int64_t> row_at = lay_out(special.binding.row_bytes);
  special.rows.bytes = end - first_row;
  special.rows.threads = on_device ? gpu::warps_with_rows(threads, special.rows.bytes)
                                   : std::max(threads, 2); // oneTBB's smallest arena has two places
  std::int64_t others = 0;
  support::check(!__builtin_mul_overflow(special.rows.bytes, std::int64_t(special.rows.threads - 1),
                                         &others) &&
                     !__builtin_add_overflow(end, others, &end),
                 "rows overflow");
  special.rows.buffer_count = special.pattern->program.buffers.size();
  special.scratch_bytes = std::size_t(end);
  for (const loop::Buffer &buffer : special.pattern->program.buffers) {
    switch (buffer.role) {
    case loop::Role::Input: special.buffers.push_back({std::int32_t(buffer.operand), 0}); break;
    case loop::Role::Output:
      special.buffers.push_back({std::int32_t(special.input_count + buffer.operand), 0});
      break;
    case loop::Role::Scratch:
      special.buffers.push_back({-1, scratch.starts[buffer.operand]});
      break;
    case loop::Role::Row:
      special.rows.buffers.push_back(special.buffers.size());
      special.buffers.push_back({-1, row_at[buffer.operand]});
      break;
    }
  }
}

// How each phase is cut into blocks.
void place_phases(Specialisation &special, const support::Machine &machine, bool cancellable) {
  const loop::Program &program = special.pattern->program;
  for (std::size_t p = 0; p < program.phases.size(); ++p)
    special.phases.push_back(
        {special.pattern->code ? special.pattern->code->phases()[p] : nullptr,
         plan::grid_of(program, p, special.binding, machine, !special.pattern->code, cancellable)});
  for (std::size_t p = 0; special.pattern->code && p < program.phases.size(); ++p)
    if (const auto pipeline =
            plan::pipeline_of(program, p, special.binding, special.phases[p].grid)) {
      runtime::PipelineCode code{*pipeline, {}};
      for (std::size_t k = 0; k < code.phases.size(); ++k)
        code.phases[k] = special.pattern->code->phases()[p + k];
      special.phases[p].pipeline = code;
    }
  for (const plan::Interleaving &together : special.binding.interleavings) {
    if (!special.pattern->code) break;
    runtime::InterleavedCode code{together.blocks, {}, false};
    for (std::size_t k = 0; k < together.phases.size(); ++k) {
      const std::size_t p = together.phases[k];
      special.phases[p].runs_before = k > 0;
      std::vector<std::int64_t> extents;
      for (const loop::AxisId axis : program.phases[p].parallel)
        extents.push_back(special.binding.extents[axis.index]);
      code.parts.push_back(
          {special.pattern->code->phases()[p], std::move(extents), together.granules[k]});
      code.on_threads = code.on_threads || special.phases[p].grid.wakes_threads();
    }
    special.phases[together.phases.front()].interleaved = std::move(code);
  }
}

// See Specialisation::steps. The phases are placed.
void list_steps(Specialisation &special) {
  for (const Specialisation::Phase &phase : special.phases) {
    if (phase.pipeline || phase.interleaved || phase.runs_before || phase.grid.blocks != 1)
      return special.steps.clear();
    special.steps.push_back({phase.code, phase.grid.lo.data(), phase.grid.hi.data()});
  }
}

// Which inputs may be the very memory of an output: the same elements at the same positions.
void mark_exact_pairs(Specialisation &special, const spec::TypedSpec &spec,
                      const plan::Resolved &resolved,
                      std::span<const plan::Plan::InPlace> in_place) {
  special.exact.assign(spec.inputs.size() * spec.outputs.size(), 0);
  for (const auto [i, o] : in_place) {
    const Layout &in = special.layouts.inputs[i], &out = special.layouts.outputs[o];
    bool same =
        size_of(spec.inputs[i].dtype) == size_of(spec.outputs[o].dtype) && in.rank == out.rank;
    for (int d = 0; same && d < in.rank; ++d)
      same =
          in.extents[d] == out.extents[d] &&
          (in.extents[d] == 1 || (in.strides[d] == out.strides[d] &&
                                  resolved.input_classes[i][d] == resolved.output_classes[o][d]));
    special.exact[i * spec.outputs.size() + o] = same;
  }
}

// Whether everything that is asked for is computed, once, by loops that fit the numbers.
void verify_plan(const plan::Plan &plan, const kernel::Layouts &layouts, bool count) {
  loop::verify(plan.program);
  std::vector<std::int64_t> outputs;
  for (std::size_t o = 0; o < layouts.outputs.size(); ++o)
    outputs.push_back(layouts.wanted[o] ? element_count(layouts.outputs[o]) : -1);
  loop::Numbers numbers = plan.binding.numbers();
  numbers.outputs = outputs;
  loop::verify_numbers(plan.program, numbers);
  if (!count) return;
  for (std::size_t o = 0; o < layouts.outputs.size(); ++o) {
    if (!layouts.wanted[o]) continue;
    const loop::Writes writes =
        loop::count_writes(plan.program, numbers, std::uint32_t(o), layouts.outputs[o]);
    if (!writes.once())
      support::bug(fmt::format("of the {} elements of output {}, {} are never stored and {} more "
                               "than once, first element {} in C order",
                               writes.elements, o, writes.never, writes.again, writes.first),
                   loop::print(plan.program));
  }
}

void describe_operands(Specialisation &special, const spec::TypedSpec &spec) {
  const std::vector<bool> read = kernel::elements_read(spec);
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    if (!read[i]) {
      special.operands.push_back({});
      continue;
    }
    special.operands.push_back({kernel::reach_of(special.layouts.inputs[i], spec.inputs[i].dtype),
                                kernel::alignment_of(spec.inputs[i].dtype) - 1});
  }
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    special.operands.push_back({kernel::reach_of(special.layouts.outputs[o], spec.outputs[o].dtype),
                                kernel::alignment_of(spec.outputs[o].dtype) - 1});
}

} // namespace

plan::Resolved resolve(const Setup &setup, kernel::Operands operands, kernel::Layouts &layouts) {
  const spec::TypedSpec &typed = setup.typed;
  for (std::size_t i = 0; i < typed.inputs.size(); ++i)
    layouts.inputs.push_back(operands[i]->layout);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    layouts.wanted.push_back(operands[typed.inputs.size() + o] != nullptr);
  plan::Resolved resolved = plan::resolve(typed, layouts.inputs, layouts.wanted);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
    const AnyView *view = operands[typed.inputs.size() + o];
    layouts.outputs.push_back(view != nullptr ? view->layout
                                              : contiguous_layout(resolved.output_shapes[o]));
  }
  kernel::check_outputs(typed, layouts, resolved.output_shapes);
  return resolved;
}

plan::Plan make_plan(const Setup &setup, const kernel::Layouts &layouts,
                     const plan::Resolved &resolved, int threads, bool explain,
                     plan::Generality generality) {
  const support::Undivided here; // the first plan asks the machine for what it has
  plan::Plan plan;
  const auto make = [&] {
    fail_if_asked(Fault::Plan);
    if (threads > 1) fail_if_asked(Fault::ParallelPlan);
    plan = plan::make_plan(setup.typed, resolved, layouts.inputs, layouts.outputs, layouts.wanted,
                           setup.machine(threads), explain, generality, layouts.lies, layouts.near);
    verify_plan(plan, layouts, setup.verifies);
    if (is_asked(Fault::WrongPlan)) plan.program = made_wrong(plan.program);
  };
  with_ir(make, [&] { return text::print_graph(setup.typed); });
  return plan;
}

// From layouts to all that a call needs. Throws InternalError.
static void place(const Setup &setup, PatternCache &patterns, Specialisation &special,
                  const plan::Resolved &resolved, int threads, Use use, CodeBeside *beside) {
  special.threads = threads;
  plan::Plan plan = make_plan(setup, special.layouts, resolved, threads, false, special.generality);
  std::string key = loop::key(plan.program);
  const auto generic = [&] {
    return make_plan(setup, special.layouts, resolved, threads, false, plan::Generality::Generic);
  };
  const BuiltCode *built = setup.target ? setup.built.get() : nullptr;
  if (patterns.serves_generic(key, use)) {
    plan::Plan other = generic();
    const std::string other_key = loop::key(other.program);
    // A program that a kernel was built without is interpreted: then the exact one, which does
    // less.
    if (built == nullptr || built->is_being_built() ||
        built->has(setup.target->vector_bits(), other_key)) {
      special.generality = plan::Generality::Generic;
      plan = std::move(other);
      key = other_key;
    }
  }

  // Beyond this point axes, phases and widths are fixed.

  const Stopwatch watch;
  if (use == Use::Once && setup.is_tiered() && special.generality == plan::Generality::Exact &&
      plan::is_soon_interpreted(plan.binding) && !patterns.has(key)) {
    special.found = support::decide(support::Reason::CodeBeside, "", "miss",
                                    "miss: the interpreter begins, and from the second call on "
                                    "another thread makes the code");
    special.beside = std::make_shared<CodeBeside>(setup, std::move(plan.program), key);
    special.pattern = special.beside->pattern();
  } else {
    special.pattern = patterns.find(std::move(plan.program), key, special.generality,
                                    special.layouts, special.found, beside);
  }
  special.code_ms = watch.ms();
  special.engine = special.pattern->code ? Engine::jit : Engine::interpreter;
  special.binding = std::move(plan.binding);
  const auto rest = [&] {
    describe_operands(special, setup.typed);
    mark_exact_pairs(special, setup.typed, resolved, plan.in_place);
    place_phases(special, setup.machine(threads), setup.options.cancel != nullptr);
    place_buffers(special, threads, setup.device != nullptr);
    special.is_direct = special.engine == Engine::jit && special.scratch_bytes == 0 &&
                        special.operands.size() <= few_operands &&
                        special.buffers.size() <= few_buffers &&
                        std::ranges::all_of(special.layouts.wanted, std::identity()) &&
                        !setup.verifies && !setup.device;
    if (special.engine == Engine::jit && setup.options.cancel == nullptr && !setup.device)
      list_steps(special);
  };
  with_ir(rest, [&] { return loop::print(special.pattern->program); });
}

std::shared_ptr<const Specialisation> specialise(const Setup &setup, PatternCache &patterns,
                                                 kernel::Operands operands, kernel::Lies lies,
                                                 std::uint64_t hash, Use use, CodeBeside *beside) {
  const support::FloatWorld world;
  const support::Undivided here;
  const Stopwatch watch;
  if (setup.target && setup.target->isa->device && !setup.device)
    support::fail("E0506",
                  "code for " + std::string(setup.target->isa->name) +
                      " cannot run in this process: it is there to be shown",
                  {}, "name the device that has it: Options::device, or --device");
  kernel::Layouts layouts;
  const plan::Resolved resolved = resolve(setup, operands, layouts);
  layouts.lies.assign(lies.windows.begin(), lies.windows.end());
  layouts.near = lies.near;

  // Beyond this point the layouts are right: a failure is our bug, or no code could be had.

  const auto begin = [&] { // afresh for each attempt
    auto special = std::make_shared<Specialisation>();
    special->hash = hash;
    special->input_count = setup.typed.inputs.size();
    special->key = layout_key(operands, special->input_count, lies);
    special->layouts = layouts;
    return special;
  };
  std::shared_ptr<Specialisation> special = begin();
  try {
    place(setup, patterns, *special, resolved, setup.threads, use, beside);
  } catch (const InternalError &error) {
    if (!may_fall_back(setup)) throw;
    std::string instead = "runs by a plan for one thread";
    try {
      special = begin();
      place(setup, patterns, *special, resolved, 1, use, beside);
    } catch (const InternalError &) { // the first one is told
      special = begin();
      special->engine = Engine::reference;
      instead = "runs in the reference";
    }
    special->failure = error.message();
    tell(setup, error, instead, layouts);
  }

  patterns.count_times(watch.ms(), special->code_ms);
  return special;
}

} // namespace broadloom::jit

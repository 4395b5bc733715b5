// The call of a kernel, gone through by calls::interpret with its nests run by the interpreter of
// loops: what a call does, from the text that is shown of it.
#pragma once

#include "array/copy.hpp"
#include "calls/interpret.hpp"
#include "jit/call/choose_call.hpp"
#include "jit/call/kernel.hpp"
#include "jit/nest/specialisation.hpp"
#include "kernel/overlap.hpp"
#include "kernel/part_spec.hpp"
#include "spec/inputs_of.hpp"
#include "support/float_control.hpp"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace broadloom::tests {

class NestsOfCall {
public:
  // The steps of `call` are those of the plan, as they are or as they were read from its text.
  NestsOfCall(const calls::Call &call, const jit::CallPlan &plan) {
    for (const jit::Tiles &tiles : plan.tiles)
      for (const jit::Tiles::Nest &nest : tiles.nests)
        in_tiles_[std::string(nest.run.name)].push_back(&nest);
    collect(plan, plan.actions);
    std::map<std::string, std::size_t> next;
    assign(call.steps, next);
  }

  calls::Nest operator()(const calls::Step &step, std::span<const calls::Range> over) const {
    if (const auto known = in_tiles_.find(step.kernel); known != in_tiles_.end())
      for (const jit::Tiles::Nest *nest : known->second)
        if (const calls::Nest made = nest_of(nest->run, nest->special, over, nest);
            is_in(made, over))
          return made;
    const auto run = runs_.find(&step);
    return run == runs_.end() ? calls::Nest() : nest_of(*run->second, nullptr, over, nullptr);
  }

private:
  using Run = jit::act::Run;

  void collect(const jit::CallPlan &plan, const std::vector<jit::Action> &actions) {
    for (const jit::Action &action : actions)
      if (const auto *run = std::get_if<Run>(&action))
        of_name_[std::string(run->name)].push_back(run);
      else if (const auto *loop = std::get_if<jit::act::For>(&action))
        collect(plan, plan.loops[loop->loop].body);
  }

  void assign(const std::vector<calls::Step> &steps, std::map<std::string, std::size_t> &next) {
    for (const calls::Step &step : steps) {
      if (step.kind == calls::Step::Kind::Run) {
        const std::vector<const Run *> &runs = of_name_[step.kernel];
        if (std::size_t &n = next[step.kernel]; n < runs.size()) runs_[&step] = runs[n++];
      }
      assign(step.body, next);
    }
  }

  // Whether the nest has the rows that the step is about.
  static bool is_in(const calls::Nest &nest, std::span<const calls::Range> over) {
    const calls::Nest::Operand &written = nest.to.at(0);
    for (std::size_t d = 0; d < written.dims.size(); ++d)
      for (const calls::Range &range : over)
        if (range.axis == written.dims[d].axis)
          if (const std::int64_t first = range.first - written.dims[d].first;
              first < 0 || first + range.count > written.layout.extents[d])
            return false;
    return true;
  }

  static calls::Nest nest_of(const Run &run, std::shared_ptr<const jit::Specialisation> special,
                             std::span<const calls::Range> over, const jit::Tiles::Nest *in_tiles) {
    const spec::TypedSpec &typed = run.nest->typed();
    const std::size_t inputs = typed.inputs.size();
    calls::Nest made;
    const auto operand = [&](const std::vector<int> &axes, const Layout &layout) {
      calls::Nest::Operand walked{layout, {}};
      for (const int axis : axes) {
        calls::Nest::Operand::Walk &walk = walked.dims.emplace_back();
        if (axis == typed.time) continue;
        walk.axis = typed.axes[std::size_t(axis)].name;
        for (const calls::Range &range : over)
          if (range.axis == walk.axis) walk.first = range.first, walk.step = range.step;
        if (in_tiles != nullptr && in_tiles->axis == axis) walk.first = in_tiles->first;
      }
      return walked;
    };
    std::vector<std::size_t> shown_from, shown_to; // [reference]: which operand
    std::vector<expr::NodeId> values;
    for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
      const jit::MemRef &output = run.operands[inputs + o];
      if (output.array == jit::MemRef::not_wanted) continue;
      values.push_back(typed.outputs[o].value);
      shown_to.push_back(inputs + o);
      made.to.push_back(operand(typed.outputs[o].axes, output.view.layout));
    }
    const std::vector<bool> read = spec::inputs_of(typed, values).read;
    for (std::size_t i = 0; i < inputs; ++i) {
      if (!read[i] || kernel::is_part_number(typed.inputs[i])) continue;
      shown_from.push_back(i);
      made.from.push_back(operand(typed.inputs[i].axis_of_dim, run.operands[i].view.layout));
    }
    made.run = [&run, special = std::move(special), shown_from,
                shown_to](std::span<const AnyView> from, std::span<const AnyView> to) {
      std::vector<AnyView> views;
      std::vector<std::vector<char>> nothing; // of what is not read
      for (std::size_t k = 0; k < run.operands.size(); ++k) {
        const jit::MemRef &given = run.operands[k];
        views.push_back(given.view);
        if (given.array == jit::MemRef::none && given.view.data != nullptr) continue; // a number
        const kernel::Reach reach = kernel::reach_of(given.view.layout, given.view.dtype);
        views.back().data = nothing.emplace_back(std::size_t(reach.high - reach.low) + 64).data() +
                            (64 - reach.low) / 64 * 64;
      }
      for (std::size_t k = 0; k < shown_from.size(); ++k) views[shown_from[k]] = from[k];
      for (std::size_t k = 0; k < shown_to.size(); ++k) views[shown_to[k]] = to[k];
      std::vector<const AnyView *> operands;
      for (std::size_t k = 0; k < views.size(); ++k)
        operands.push_back(run.operands[k].array == jit::MemRef::not_wanted ? nullptr : &views[k]);
      interpret(special ? special : run.nest->bind(operands, {run.lies}, jit::Use::Once), operands);
    };
    return made;
  }

  static void interpret(const std::shared_ptr<const jit::Specialisation> &special,
                        const std::vector<const AnyView *> &operands) {
    if (!special->pattern) throw std::runtime_error("a nest has no loops");
    std::vector<char> scratch(special->scratch_bytes + 64);
    char *const begin =
        scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    std::vector<char *> buffers;
    for (const jit::Specialisation::Source source : special->buffers)
      buffers.push_back(source.operand < 0 ? begin + source.scratch_at
                        : operands[std::size_t(source.operand)] == nullptr
                            ? nullptr
                            : static_cast<char *>(operands[std::size_t(source.operand)]->data));
    loop::Frame frame = jit::frame_of(*special);
    frame.buffers = buffers.data();
    const support::FloatControl control;
    for (std::size_t p = 0; p < special->phases.size(); ++p)
      jit::runtime::for_each_block(special->phases[p].grid,
                                   [&](const std::int64_t *lo, const std::int64_t *hi) {
                                     loop::interpret(special->pattern->program, p, frame, lo, hi);
                                   });
  }

  std::map<std::string, std::vector<const jit::Tiles::Nest *>> in_tiles_;
  std::map<std::string, std::vector<const Run *>> of_name_;
  std::map<const calls::Step *, const Run *> runs_;
};

// The outputs of a call of these operands by what is shown of it, in C order. `arrays` are its
// inputs, and outputs as they were before; these stay as they are.
inline std::map<std::string, Array>
interpreted(const detail::KernelImpl &kernel, const std::string &shown, kernel::Operands operands,
            const std::map<std::string, AnyView, std::less<>> &arrays) {
  std::shared_ptr<const jit::CallPlan> plan = kernel.plans().latest();
  if (!plan) // of one nest alone
    plan = jit::choose_call(kernel.nests(), operands, kernel::overlaps_of(kernel.typed(), operands),
                            jit::Purpose::Run);
  const calls::Call call = calls::parse(shown);
  std::map<std::string, AnyView, std::less<>> given = arrays;
  std::map<std::string, Array> made;
  for (const calls::Array &array : call.arrays) {
    if (array.owner != calls::Array::Owner::Out) continue;
    const Array &output =
        made.emplace(array.name, array::dense_copy(arrays.at(array.name))).first->second;
    given[array.name] = {output.dtype(), output.raw(), true, output.layout()};
  }
  calls::interpret(call, given, NestsOfCall(call, *plan));
  return made;
}

} // namespace broadloom::tests

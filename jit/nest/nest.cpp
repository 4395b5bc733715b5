// See nest.hpp; a run is in run_nest.cpp.
#include "jit/nest/nest.hpp"

#include "kernel/layouts.hpp"
#include "support/float_control.hpp"

namespace broadloom::jit {

Nest::Nest(const LoopSpec &spec, spec::TypedSpec typed, const MadeFor &made_for, double ms)
    : setup_(spec, std::move(typed), made_for), executor_(setup_), patterns_(setup_, ms),
      before_(setup_.scatters
                  ? std::make_shared<const Nest>(spec, setup_.scatters->before, made_for)
                  : nullptr),
      parts_(setup_.by_parts.size()) {}

const Nest &Nest::of_part(const kernel::PartId &id) const {
  if (id.kind == kernel::PartKind::Whole) return *this;
  const std::lock_guard lock(mutex_);
  const bool inside = id.kind == kernel::PartKind::Interior;
  std::shared_ptr<const Nest> &made = inside ? parts_[id.group].interior : parts_[id.group].border;
  const kernel::ByParts &group = setup_.by_parts[id.group];
  if (!made)
    made =
        std::make_shared<const Nest>(setup_.spec, inside ? group.interior : group.border, setup_);
  return *made;
}

kernel::Layouts Nest::allocated_layouts(kernel::Operands inputs) const {
  const support::FloatWorld world;
  if (const spec::TypedInput *shape = typed().lent_input()) kernel::fail_lent(typed(), *shape);
  if (!setup_.has_lent) return layouts_of_given(inputs);
  kernel::check_operands(typed(), inputs);
  return layouts_of_given(kernel::LentOperands(typed(), inputs).all());
}

// The outputs have no memory yet: a layout for each.
kernel::Layouts Nest::layouts_of_given(kernel::Operands inputs) const {
  const spec::TypedSpec &typed = setup_.typed;
  kernel::check_operands(typed, inputs);
  kernel::Layouts layouts;
  for (const AnyView *view : inputs) layouts.inputs.push_back(view->layout);
  layouts.lies = kernel::add_windows(typed, layouts.inputs);
  for (std::size_t i = 0; i < layouts.inputs.size(); ++i)
    kernel::take_one_position(typed, i, layouts.inputs[i]);
  // Shapes only: whether each fold has a value is asked when the outputs are computed.
  const std::vector<bool> none(typed.outputs.size(), false);
  const plan::Resolved resolved = plan::resolve(typed, layouts.inputs, none);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    layouts.outputs.push_back(kernel::output_layout(typed, o, setup_.reads[o],
                                                    resolved.output_shapes[o], layouts.inputs));
  layouts.wanted.assign(typed.outputs.size(), true);
  return layouts;
}

void Nest::note_windows(std::shared_ptr<const kernel::WindowChoice> choice) const {
  const std::lock_guard lock(mutex_);
  latest_windows_ = std::move(choice);
}

std::shared_ptr<const kernel::WindowChoice> Nest::latest_windows() const {
  if (setup_.has_windows) {
    const std::lock_guard lock(mutex_);
    return latest_windows_;
  }
  const auto special = layout_cache_.latest();
  if (!special) return nullptr;
  kernel::WindowChoice choice{.layouts = special->layouts};
  choice.parts.push_back({{}, {}, {}, special->layouts.wanted, {}});
  return std::make_shared<const kernel::WindowChoice>(std::move(choice));
}

Counters Nest::counters() const {
  Counters counters = patterns_.counters();
  counters.interpreted = executor_.interpreted();
  if (before_) add(counters, before_->counters());
  const std::lock_guard lock(mutex_);
  for (const Parts &parts : parts_)
    for (const auto &part : {parts.border, parts.interior})
      if (part) add(counters, part->counters());
  return counters;
}

void add(Counters &sum, const Counters &more) {
  sum.compiles += more.compiles;
  sum.loaded += more.loaded;
  sum.patterns += more.patterns;
  sum.interpreted += more.interpreted;
  sum.compile_ms += more.compile_ms;
  using Step = double CompileSteps::*;
  for (const Step step :
       {&CompileSteps::analyse, &CompileSteps::plan, &CompileSteps::block, &CompileSteps::load,
        &CompileSteps::start, &CompileSteps::emit, &CompileSteps::math, &CompileSteps::optimise,
        &CompileSteps::select, &CompileSteps::link})
    sum.steps.*step += more.steps.*step;
}

} // namespace broadloom::jit

// A kernel as several, one for each let that is an array: see include/broadloom/block_kernel.hpp.
#include "analysis/analyse.hpp"
#include "jit/kernel.hpp"
#include "jit/public_call.hpp"
#include "spec/expand.hpp"
#include "spec/materialise.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <broadloom/block_kernel.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace broadloom {

using kernel::pointers_to;
using support::fail;

struct Stages::Impl {
  std::shared_ptr<const KernelImpl> kernel;
};

Stages::Stages(const LoopSpec &spec, const Options &options) try {
  const support::FloatWorld world;
  const SpecData expanded = spec::expand_calls(spec.data());
  const auto split = spec::split_lets(expanded, analysis::analyse);
  if (!split) {
    kernels_ = {spec};
    return;
  }
  for (const auto &let : split->lets) {
    if (let->recurrence || let->join)
      fail("E0060",
           fmt::format("kernel '{}' is not taken apart at its lets: '{}' {}", spec.data().name,
                       let->typed.outputs[0].name,
                       let->join ? "joins arrays" : "is a loop over time, or is read by one"),
           let->typed.outputs[0].where,
           "cut along axes that it does not have, or make it a kernel of its own");
    SpecData one = let->data;
    const std::string &name = let->typed.outputs[0].name;
    const Schedule said = spec::part_of(expanded.schedule, name);
    for (const ScheduleClause &clause : said.clauses()) // the lets that it reads are not listed
      if (std::ranges::all_of(clause.names, [&](const std::string &n) { return n == name; }))
        one.schedule.add(clause);
    kernels_.emplace_back(std::make_shared<const SpecData>(std::move(one)));
  }
  kernels_.emplace_back(std::make_shared<const SpecData>(split->rest));
  impl_ = std::make_shared<const Impl>(
      Impl{detail::make_kernel(LoopSpec(spec).schedule({}), options, {})});
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::vector<Layout> Stages::lets(std::span<const Layout> inputs) const try {
  if (!impl_) return {};
  const support::FloatWorld world;
  const spec::TypedSpec &typed = impl_->kernel->setup().whole();
  std::vector<AnyView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    views.push_back({typed.inputs[i].dtype, nullptr, false, inputs[i]});
  kernel::check_input_count(typed, views.size());
  kernel::check_operands(typed, pointers_to(views));
  return impl_->kernel->subs().lets().layouts(pointers_to(views))->lets;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom

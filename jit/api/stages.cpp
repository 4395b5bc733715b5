// A kernel as several, one for each let that is an array: see include/broadloom/block_kernel.hpp.
#include "analysis/analyse.hpp"
#include "jit/api/public_call.hpp"
#include "jit/call/kernel.hpp"
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
    if (let->recurrence)
      fail(
          "E0060",
          fmt::format("kernel '{}' is not taken apart at its lets: '{}' is a loop over time, or is "
                      "read by one",
                      spec.data().name, let->typed.outputs[0].name),
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

static std::vector<Layout> lets_of(const KernelImpl &kernel, std::span<const Layout> inputs) {
  const support::FloatWorld world;
  const spec::TypedSpec &typed = kernel.setup().whole();
  std::vector<AnyView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    views.push_back({typed.inputs[i].dtype, nullptr, false, inputs[i]});
  kernel::check_input_count(typed, views.size());
  kernel::check_operands(typed, pointers_to(views));
  return kernel.nests().lets.layouts(pointers_to(views))->lets;
}

std::vector<Layout> Stages::lets(std::span<const Layout> inputs) const try {
  return impl_ ? lets_of(*impl_->kernel, inputs) : std::vector<Layout>();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::vector<std::vector<Stages::Part>> Stages::parts(std::span<const Layout> inputs) const try {
  if (!impl_) return {};
  const jit::Lets &lets = impl_->kernel->nests().lets;
  const std::vector<Layout> layouts = lets_of(*impl_->kernel, inputs);
  std::vector<std::vector<Part>> made(layouts.size());
  for (std::size_t k = 0; k < layouts.size(); ++k) {
    const auto &join = lets.specs()[k]->join;
    if (!join) continue;
    std::vector<Layout> parts;
    for (const std::size_t part : lets.reads(k)) parts.push_back(layouts[part]);
    const kernel::Whole whole =
        kernel::whole_of(*lets.specs()[k], parts, [&](std::uint32_t array, std::size_t dim) {
          return array < inputs.size() ? inputs[array].extents[dim]
                                       : layouts[array - inputs.size()].extents[dim];
        });
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Part &part = made[k].emplace_back(Part{join->parts[p], {}});
      for (const kernel::PartDim &dim : whole.places[p])
        part.dims.push_back({dim.first, dim.times, dim.own});
    }
  }
  return made;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

} // namespace broadloom

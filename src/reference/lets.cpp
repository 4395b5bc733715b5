// See lets.hpp.
#include "reference/lets.hpp"

#include "reference/join.hpp"
#include "reference/shapes.hpp"
#include "reference/windows.hpp"
#include "spec/materialise.hpp"
#include "support/check.hpp"

#include <unordered_map>
#include <utility>

namespace broadloom::reference {

// Adds those that `reader` reads, of each let what is known.
template <class Known>
static void add_lets(const spec::TypedSpec &reader,
                     const std::unordered_map<std::string, Known> &lets, std::vector<Known> &to) {
  for (const spec::TypedInput &input : reader.given())
    if (input.materialised) to.push_back(lets.at(input.name));
}

WithLets::WithLets(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                   const EvaluateOne &evaluate)
    : views_(inputs.begin(), inputs.end()) {
  if (inputs.size() == spec.given_inputs()) return;
  support::check(inputs.size() >= spec.callers_inputs(), "one view for each input that is given");
  const std::span<const AnyView> lent = inputs.subspan(spec.callers_inputs());
  inputs = inputs.first(spec.callers_inputs());
  views_.resize(inputs.size());
  std::unordered_map<std::string, AnyView> lets;
  for (std::size_t k = 0; k < spec.materialised.size(); ++k) {
    const spec::Materialised &let = *spec.materialised[k];
    if (let.recurrence && let.recurrence->first == k) {
      const std::vector<AnyView> before(arrays_.begin(), arrays_.end());
      const std::vector<Array> made = run_loop(spec.materialised, k, inputs, before, evaluate);
      for (std::size_t m = 0; m < made.size(); ++m)
        arrays_.push_back(steps_alone(*spec.materialised[k + m]->recurrence, made[m]));
    } else if (let.join) {
      std::vector<AnyView> parts;
      for (const std::string &part : let.join->parts) parts.push_back(lets.at(part));
      arrays_.push_back(joined(let, parts, [&](std::uint32_t array, std::size_t dim) {
        return array < inputs.size() ? inputs[array].layout.extents[dim]
                                     : arrays_[array - inputs.size()].layout().extents[dim];
      }));
    } else if (!let.recurrence) {
      std::vector<AnyView> given(inputs.begin(), inputs.end());
      add_lets(let.typed, lets, given);
      arrays_.push_back(evaluate(let.typed, with_said(let.typed, std::move(given)), std::nullopt));
    }
    lets.emplace(let.typed.outputs[0].name, arrays_[k]);
  }
  add_lets(spec, lets, views_);
  views_.insert(views_.end(), lent.begin(), lent.end()); // shapes of outputs
  views_ = with_said(spec, std::move(views_));
}

std::vector<Layout> layouts_of_lets(const spec::TypedSpec &spec, std::span<const Layout> inputs) {
  std::unordered_map<std::string, Layout> lets;
  std::vector<Layout> arrays;
  for (std::size_t k = 0; k < spec.materialised.size(); ++k) {
    const spec::Materialised &let = *spec.materialised[k];
    if (let.recurrence && let.recurrence->first == k) {
      for (const auto &shape : loop_shapes(spec.materialised, k, inputs, arrays))
        arrays.push_back(contiguous_layout(shape));
    } else if (!let.recurrence) {
      std::vector<Layout> given(inputs.begin(), inputs.end()), parts;
      if (let.join)
        for (const std::string &part : let.join->parts) parts.push_back(lets.at(part));
      else
        add_lets(let.typed, lets, given), add_said(let.typed, given);
      const auto extent_of = [&](std::uint32_t array, std::size_t dim) {
        return array < inputs.size() ? inputs[array].extents[dim]
                                     : arrays[array - inputs.size()].extents[dim];
      };
      arrays.push_back(contiguous_layout(let.join ? shape_of_join(let, parts, extent_of)
                                                  : output_shapes(let.typed, given)[0]));
    }
    lets.emplace(let.typed.outputs[0].name, arrays[k]);
  }
  return arrays;
}

std::vector<Layout> with_lets(const spec::TypedSpec &spec, std::span<const Layout> inputs) {
  std::vector<Layout> all(inputs.begin(), inputs.end());
  if (inputs.size() == spec.given_inputs()) return all;
  const std::span<const Layout> lent = inputs.subspan(spec.callers_inputs());
  inputs = inputs.first(spec.callers_inputs());
  all.resize(inputs.size());
  const std::vector<Layout> arrays = layouts_of_lets(spec, inputs);
  std::unordered_map<std::string, Layout> lets;
  for (std::size_t k = 0; k < arrays.size(); ++k)
    lets.emplace(spec.materialised[k]->typed.outputs[0].name, arrays[k]);
  add_lets(spec, lets, all);
  all.insert(all.end(), lent.begin(), lent.end());
  add_said(spec, all);
  return all;
}

std::vector<std::vector<std::int64_t>> output_shapes(const spec::TypedSpec &spec,
                                                     std::span<const Layout> inputs) {
  const std::vector<Layout> given = with_lets(spec, inputs);
  const std::vector<Extents> extents = shapes_of(spec, given).extents;
  std::vector<std::vector<std::int64_t>> shapes;
  for (const spec::TypedOutput &out : spec.outputs) shapes.push_back(shape_of(out, extents));
  return shapes;
}

} // namespace broadloom::reference

// See frozen.hpp; and Kernel::freeze, which makes the kernels, and Kernel::refreeze.
#include "jit/call/frozen.hpp"

#include "analysis/analyse.hpp"
#include "analysis/fold_scales.hpp"
#include "array/copy.hpp"
#include "jit/call/kernel.hpp"
#include "kernel/facts.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace broadloom {
namespace {

using support::fail;
using Value = FrozenParameters::Value;

// The values of parameters of a kernel that is not frozen, checked and copied.
std::vector<Value> read_values(const KernelImpl &kernel, std::span<const NamedView> given) {
  kernel.setup().refuse_on_device("frozen parameters");
  const spec::TypedSpec &spec = kernel.typed();
  std::vector<std::string> parameters;
  for (const spec::TypedInput &input : spec.callers())
    if (input.role == InputRole::parameter) parameters.push_back(input.name);
  std::vector<Value> values;
  for (const NamedView &view : given) {
    const auto found = std::ranges::find(spec.callers(), view.name, &spec::TypedInput::name);
    if (found == spec.callers().end() || found->role != InputRole::parameter)
      fail("E0311",
           found == spec.callers().end()
               ? fmt::format("kernel '{}' has no parameter '{}'", spec.name, view.name)
               : fmt::format("'{}' is no parameter: only those are frozen", view.name),
           found == spec.callers().end() ? Place() : found->where,
           parameters.empty() ? "declare one: param w : f32[i]"
                              : "the parameters are " + support::quoted_list(parameters));
    if (std::ranges::find(values, view.name, &Value::name) != values.end())
      fail("E0311", fmt::format("parameter '{}' is frozen twice", view.name), found->where,
           "give each parameter once");
    std::vector<const AnyView *> operands(spec.inputs.size() + spec.outputs.size());
    operands[std::size_t(found - spec.callers().begin())] = &view.view;
    kernel::check_operands(spec, operands);
    for (int d = 0; d < view.view.layout.rank; ++d)
      if (const std::int64_t declared = found->extents[std::size_t(d)];
          declared >= 0 && declared != view.view.layout.extents[d])
        spec::fail_declared_extent(*found, d, view.view.layout.extents[d]);
    if (view.view.data == nullptr && element_count(view.view.layout) > 0)
      fail("E0306", fmt::format("the array for parameter '{}' has a null pointer", view.name),
           found->where, "pass memory");
    values.push_back({std::string(view.name), array::dense_copy(view.view)});
    kernel::check_fact(*found, values.back().array);
  }
  return values;
}

template <class T> scale::Known known_of_elements(const Array &array) {
  scale::Known known{false, false, false, true};
  for (const T element : std::span(array.data<T>(), std::size_t(element_count(array.layout()))))
    known = either(known, scale::Known::of(double(element)));
  return known;
}

// What the elements of real parameters are: scales pass a maximum where they are above 0, or below.
scale::KnownParameters known_of_values(std::span<const Value> values) {
  scale::KnownParameters known;
  for (const Value &value : values)
    if (value.array.dtype() == DType::F32)
      known[value.name] = known_of_elements<float>(value.array);
    else if (value.array.dtype() == DType::F64)
      known[value.name] = known_of_elements<double>(value.array);
  return known;
}

// Arrays for inputs that are not read, but lend the kernel their axes: as small as the labels
// allow.
std::vector<Array> stand_ins(const spec::TypedSpec &spec, std::span<const Value> values) {
  std::vector<std::int64_t> extents(spec.axes.size(), -1);
  const auto value_of = [&](const spec::TypedInput &input) {
    return std::ranges::find(values, input.name, &Value::name);
  };
  for (const spec::TypedInput &input : spec.callers())
    for (std::size_t d = 0; d < input.axis_of_dim.size() && input.labelled; ++d) {
      const auto value = value_of(input);
      const std::int64_t extent =
          value != values.end() ? value->array.shape()[d] : input.extents[d];
      const bool is_repeated = input.may_stretch[d] && extent == 1;
      if (extent >= 0 && !is_repeated) extents[std::size_t(input.axis_of_dim[d])] = extent;
    }
  std::vector<Array> arrays;
  for (const spec::TypedInput &input : spec.callers()) {
    if (const auto value = value_of(input); value != values.end()) {
      arrays.push_back(value->array);
      continue;
    }
    std::vector<std::int64_t> shape, strides;
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d) {
      const std::int64_t known = input.labelled ? extents[std::size_t(input.axis_of_dim[d])] : -1;
      shape.push_back(input.extents[d] >= 0 ? input.extents[d] : known >= 0 ? known : 1);
      strides.push_back(0);
    }
    const Array one(input.dtype, {}); // of which each element is
    arrays.emplace_back(std::make_shared<Array>(one), input.dtype, one.raw(),
                        strided_layout(shape, strides));
  }
  return arrays;
}

// What is left to each call, and what is built into it.
std::pair<std::shared_ptr<const KernelImpl>, std::shared_ptr<const FrozenParameters>>
freeze_values(const Kernel &original, const KernelImpl &impl, std::vector<Value> values,
              std::int64_t version) {
  std::vector<std::string> names;
  for (const Value &value : values) names.push_back(value.name);
  // Scales move first: what they leave behind is made of parameters.
  const LoopSpec &written = impl.setup().spec;
  const bool folds =
      scale::is_wanted(written.data()) && impl.setup().options.engine != Engine::reference;
  scale::KnownParameters known;
  if (folds) known = known_of_values(values);
  freeze::Frozen made = freeze::freeze(
      (folds ? analysis::fold_scales(written, nullptr, known) : written).data(), names);
  auto recipe = std::make_shared<FrozenParameters::Recipe>(
      FrozenParameters::Recipe{original, std::move(made.built_in), {}, {}, std::move(known)});
  const auto compile_once = [&](SpecData &computed) { // arrays that lend axes have no elements
    std::vector<std::string> inputs;
    for (const auto &input : computed.inputs) inputs.push_back(input->name);
    return Kernel(detail::make_kernel(
        LoopSpec(std::make_shared<const SpecData>(scale::unfolded(std::move(computed)))),
        impl.setup().options, inputs));
  };
  for (SpecData &computed : made.computed) recipe->computed.push_back(compile_once(computed));
  if (made.lets) recipe->lets = compile_once(*made.lets);
  auto rest = detail::make_kernel(LoopSpec(std::make_shared<const SpecData>(std::move(made.rest))),
                                  impl.setup().options, recipe->built_in);
  auto frozen = std::make_shared<const FrozenParameters>(std::move(recipe), std::move(values),
                                                         rest->typed(), version);
  return {std::move(rest), std::move(frozen)};
}

// Scales went by signs that the new values may not have.
bool fits(const scale::KnownParameters &assumed, std::span<const Value> values) {
  if (assumed.empty()) return true;
  const scale::KnownParameters known = known_of_values(values);
  return std::ranges::all_of(assumed, [&](const auto &parameter) {
    const auto &[name, of] = parameter;
    return of.holds_of(known.at(name));
  });
}

} // namespace

FrozenParameters::FrozenParameters(std::shared_ptr<const Recipe> recipe, std::vector<Value> values,
                                   const spec::TypedSpec &rest, std::int64_t version)
    : recipe_(std::move(recipe)), values_(std::move(values)), version_(version) {
  std::map<std::string, Array> results;
  struct Inputs {
    std::vector<InputInfo> infos; // which have the names
    std::vector<Array> arrays;
    std::vector<NamedView> views;
  };
  const auto inputs_of = [&](const Kernel &kernel) {
    Inputs inputs{kernel.inputs(), stand_ins(analysis::analyse(kernel.spec().data()), values_), {}};
    for (std::size_t i = 0; i < inputs.infos.size(); ++i)
      inputs.views.push_back({inputs.infos[i].name, inputs.arrays[i]});
    return inputs;
  };
  if (recipe_->lets) {
    const Results made = recipe_->lets->call(inputs_of(*recipe_->lets).views);
    for (const OutputInfo &output : recipe_->lets->outputs())
      results.emplace(output.name, made[output.name]);
  }
  for (const Kernel &kernel : recipe_->computed) {
    const Inputs given = inputs_of(kernel);
    const std::vector<NamedView> &inputs = given.views;
    // Each in C order, as copies of parameters are.
    const std::vector<Signature> signatures = kernel.infer_named(inputs);
    std::vector<std::pair<std::string, Array>> outputs;
    std::vector<NamedView> views;
    for (const Signature &output : signatures)
      outputs.emplace_back(output.name, Array(output.dtype, output.shape));
    for (const auto &[name, array] : outputs) views.push_back({name, array});
    kernel.run_named(inputs, views, Kernel::Line());
    for (auto &[name, array] : outputs) results.emplace(name, std::move(array));
  }
  for (std::size_t i = 0; i < rest.callers_inputs(); ++i) {
    const std::string &name = rest.inputs[i].name;
    if (std::ranges::count(recipe_->built_in, name) == 0) continue;
    const auto value = std::ranges::find(values_, name, &Value::name);
    const Array array = value != values_.end() ? value->array : results.at(name);
    built_.push_back({i, name, array, array});
  }
}

bool FrozenParameters::has(std::size_t input) const {
  return std::ranges::find(built_, input, &Built::input) != built_.end();
}

std::vector<AnyView> FrozenParameters::all(const spec::TypedSpec &rest,
                                           std::span<const AnyView> given) const {
  const std::size_t wanted = rest.callers_inputs() - built_.size();
  if (given.size() != wanted)
    fail("E0308",
         fmt::format("kernel '{}' takes {} beside its frozen parameters, {} {} given", rest.name,
                     support::count(std::int64_t(wanted), "input"), given.size(),
                     given.size() == 1 ? "was" : "were"),
         {}, "Kernel::inputs() lists them");
  std::vector<AnyView> views;
  views.reserve(rest.callers_inputs());
  std::size_t next = 0, built = 0;
  for (std::size_t i = 0; i < rest.callers_inputs(); ++i) {
    const bool is_built = built < built_.size() && built_[built].input == i;
    views.push_back(is_built ? built_[built++].view : given[next++]);
  }
  return views;
}

std::vector<NamedView> FrozenParameters::all(std::span<const NamedView> given) const {
  std::vector<NamedView> views(given.begin(), given.end());
  for (const NamedView &view : given) {
    const auto is_it = [&](const auto &frozen) { return frozen.name == view.name; };
    if (std::ranges::any_of(built_, is_it) || std::ranges::any_of(values_, is_it))
      fail("E0312", fmt::format("parameter '{}' is frozen, and calls are not given it", view.name),
           {}, "leave it out, or give it other values by Kernel::refreeze");
  }
  for (const Built &built : built_) views.push_back({built.name, built.view});
  return views;
}

Kernel Kernel::freeze(std::span<const NamedView> parameters) const try {
  const support::FloatWorld world;
  std::vector<NamedView> all(parameters.begin(), parameters.end());
  if (frozen_) { // from the beginning, with these too
    for (const NamedView &view : parameters)
      for (const Value &value : frozen_->values())
        if (view.name == value.name)
          fail("E0311", fmt::format("parameter '{}' is frozen already", value.name), {},
               "give it other values by Kernel::refreeze");
    for (const Value &value : frozen_->values()) all.push_back({value.name, value.array});
    return frozen_->recipe().original.freeze(all).with_threads(most_threads_);
  }
  auto [rest, frozen] = freeze_values(*this, *impl(), read_values(*impl(), all), 1);
  return Kernel(std::move(rest), std::move(frozen), most_threads_);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Kernel Kernel::refreeze(std::span<const NamedView> parameters) const try {
  const support::FloatWorld world;
  if (!frozen_)
    fail("E0311", fmt::format("kernel '{}' has no frozen parameters", impl()->typed().name), {},
         "freeze them first");
  std::vector<Value> values = read_values(*frozen_->recipe().original.impl_, parameters);
  for (const Value &old : frozen_->values()) {
    const auto now = std::ranges::find(values, old.name, &Value::name);
    if (now == values.end())
      fail("E0311", fmt::format("parameter '{}' is frozen, and has no new values", old.name), {},
           "give values of all frozen parameters: what was computed hangs on all of them");
    if (!std::ranges::equal(now->array.shape(), old.array.shape()))
      fail("E0123",
           fmt::format("parameter '{}' was frozen in shape [{}], the array given has [{}]",
                       old.name, fmt::join(old.array.shape(), ", "),
                       fmt::join(now->array.shape(), ", ")),
           {}, "freeze the kernel itself anew where shapes change");
  }
  if (values.size() != frozen_->values().size())
    fail("E0311", "a parameter that is not frozen is given other values", {},
         "freeze it first, or give it to the calls");
  const FrozenParameters::Recipe &recipe = frozen_->recipe();
  if (!fits(recipe.known, values)) {
    auto [rest, anew] = freeze_values(recipe.original, *recipe.original.impl_, std::move(values),
                                      frozen_->version() + 1);
    return Kernel(std::move(rest), std::move(anew), most_threads_);
  }
  auto frozen = std::make_shared<const FrozenParameters>(
      frozen_->shared_recipe(), std::move(values), impl_->typed(), frozen_->version() + 1);
  return Kernel(impl_, std::move(frozen), most_threads_);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::int64_t Kernel::version() const { return frozen_ ? frozen_->version() : 0; }

} // namespace broadloom

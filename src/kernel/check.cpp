// See check.hpp.
#include "kernel/check.hpp"

#include "array/layout.hpp"
#include "kernel/overlap.hpp"
#include "spec/inputs_of.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

namespace broadloom::kernel {
namespace {

using support::fail;

struct Described { // an operand as its declaration has it
  const std::string &name;
  DType dtype;
  int rank;
  const Place &where;
  bool output;
};

Described describe(const spec::TypedSpec &spec, std::size_t operand) {
  if (operand < spec.inputs.size()) {
    const spec::TypedInput &input = spec.inputs[operand];
    return {input.name, input.dtype, int(input.axis_of_dim.size()), input.where, false};
  }
  const spec::TypedOutput &output = spec.outputs[operand - spec.inputs.size()];
  return {output.name, output.dtype, int(output.axes.size()), output.where, true};
}

template <class Operand> std::string names_of(std::span<const Operand> operands) {
  std::vector<std::string> names;
  for (const Operand &operand : operands) names.push_back(operand.name);
  return names.empty() ? "none" : support::quoted_list(names);
}

std::string declared(const spec::TypedSpec &spec) {
  return fmt::format("kernel '{}' declares the inputs {} and the outputs {}", spec.name,
                     names_of(spec.callers()),
                     names_of(std::span<const spec::TypedOutput>(spec.outputs)));
}

// Of a gradient: what a cotangent is that is not given.
std::string cotangent(const spec::TypedSpec &spec, const std::string &input) {
  if (!spec.name.ends_with("_grad") || !input.starts_with("d_")) return "";
  return fmt::format("{} is how much a loss changes with each element of '{}', all ones for its "
                     "sum; ",
                     input, input.substr(2));
}

[[noreturn]] void wrong_count(const spec::TypedSpec &spec, std::string_view what, std::size_t given,
                              std::size_t wanted) {
  fail("E0308",
       fmt::format("kernel '{}' takes {}, {} {} given", spec.name,
                   support::count(std::int64_t(wanted), what), given, given == 1 ? "was" : "were"),
       {}, declared(spec));
}

// Puts the named views at their places.
void place(const spec::TypedSpec &spec, std::span<const NamedView> views, std::string_view what,
           const std::unordered_map<std::string_view, std::size_t> &index,
           std::span<const AnyView *> places) {
  for (const NamedView &named : views) {
    const auto found = index.find(named.name);
    if (found == index.end()) {
      std::vector<std::string> names(index.size());
      for (const auto &[name, at] : index) names[at] = name;
      const std::string near = support::closest(named.name, names);
      fail("E0308", fmt::format("kernel '{}' has no {} called '{}'", spec.name, what, named.name),
           {}, near.empty() ? declared(spec) : "did you mean '" + near + "'? " + declared(spec));
    }
    if (places[found->second] != nullptr)
      fail("E0308", fmt::format("{} '{}' is given twice", what, named.name), {},
           "give each operand once");
    places[found->second] = &named.view;
  }
}

void check_writable(const Described &operand, const AnyView &view) {
  if (!operand.output || view.writable) return;
  fail("E0309", fmt::format("the memory given for output '{}' is read-only", operand.name),
       operand.where, "pass a view of elements that are not const");
}

void check_pointer(const Described &operand, const AnyView &view) {
  const std::string_view kind = operand.output ? "output" : "input";
  if (view.data == nullptr && !array::has_no_elements(view.layout))
    fail("E0306",
         fmt::format("{} '{}' of shape {} has a null pointer", kind, operand.name,
                     array::shape_text(view.layout.shape())),
         operand.where,
         "pass memory; only an array without elements, or of which none is read, may have none");
  const std::size_t size = alignment_of(view.dtype);
  if (reinterpret_cast<std::uintptr_t>(view.data) % size != 0)
    fail("E0310",
         fmt::format("{} '{}' lies at {}, which is no multiple of {} bytes", kind, operand.name,
                     fmt::ptr(view.data), size),
         operand.where,
         fmt::format("align arrays of {} to {} bytes, or copy them", name(view.dtype), size));
  check_writable(operand, view);
}

} // namespace

Names::Names(const spec::TypedSpec &spec) {
  for (std::size_t i = 0; i < spec.callers_inputs(); ++i) inputs.emplace(spec.inputs[i].name, i);
  for (std::size_t o = 0; o < spec.outputs.size(); ++o) outputs.emplace(spec.outputs[o].name, o);
}

void check_input_count(const spec::TypedSpec &spec, std::size_t inputs) {
  if (inputs != spec.callers_inputs()) wrong_count(spec, "input", inputs, spec.callers_inputs());
}

void check_counts(const spec::TypedSpec &spec, std::size_t inputs, std::size_t outputs) {
  check_input_count(spec, inputs);
  if (outputs != spec.outputs.size()) wrong_count(spec, "output", outputs, spec.outputs.size());
}

std::vector<const AnyView *> by_name(const spec::TypedSpec &spec, const Names &names,
                                     std::span<const NamedView> inputs,
                                     std::span<const NamedView> outputs) {
  const std::size_t given = spec.callers_inputs();
  std::vector<const AnyView *> operands(given + spec.outputs.size());
  const std::span<const AnyView *> all(operands);
  place(spec, inputs, "input", names.inputs, all.first(given));
  place(spec, outputs, "output", names.outputs, all.subspan(given));
  for (std::size_t i = 0; i < given; ++i)
    if (operands[i] == nullptr)
      fail("E0308", fmt::format("input '{}' is not given", spec.inputs[i].name),
           spec.inputs[i].where, cotangent(spec, spec.inputs[i].name) + declared(spec));
  return operands;
}

void check_operands(const spec::TypedSpec &spec, Operands operands) {
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k] == nullptr) continue;
    const AnyView &view = *operands[k];
    const Described operand = describe(spec, k);
    const std::string_view kind = operand.output ? "output" : "input";
    if (std::size_t(view.dtype) >= dtype_count)
      fail(
          "E0212",
          fmt::format("the array given for {} '{}' says that its dtype is number {}, which is none",
                      kind, operand.name, int(view.dtype)),
          operand.where, "set AnyView::dtype to a member of DType");
    if (view.dtype != operand.dtype)
      fail("E0203",
           fmt::format("{} '{}' is {}, the array given is {}", kind, operand.name,
                       name(operand.dtype), name(view.dtype)),
           operand.where,
           fmt::format(
               "pass an array of {}, or change the dtype in the kernel: nothing is converted "
               "on the way in or out",
               name(operand.dtype)));
    if (view.layout.rank != operand.rank)
      fail("E0101",
           fmt::format("{} '{}' has {}, the array given has {}", kind, operand.name,
                       support::count(operand.rank, "dim"), view.layout.rank),
           operand.where, "pass an array of that rank, or change the kernel");
    strided_layout(view.layout.shape(), view.layout.steps());
    check_writable(operand, view);
  }
}

void check_outputs(const spec::TypedSpec &spec, const Layouts &layouts,
                   const std::vector<std::vector<std::int64_t>> &shapes) {
  for (std::size_t o = 0; o < spec.outputs.size(); ++o) {
    if (!layouts.wanted[o]) continue;
    const spec::TypedOutput &output = spec.outputs[o];
    const Layout &layout = layouts.outputs[o];
    for (int d = 0; d < layout.rank; ++d)
      if (layout.extents[d] != shapes[o][d])
        fail("E0120",
             fmt::format("axis {} of output '{}' has {}, its expression gives {}", d, output.name,
                         support::count(layout.extents[d], "element"), shapes[o][d]),
             output.where,
             fmt::format("pass an array of shape {}: outputs do not stretch",
                         array::shape_text(shapes[o])));
    if (overlaps_itself(layout))
      fail("E0122",
           fmt::format(
               "output '{}' overlaps itself: shape {} with strides {} has two elements at one "
               "address",
               output.name, array::shape_text(layout.shape()), array::shape_text(layout.steps())),
           output.where, "give every element of an output a place of its own");
  }
}

std::vector<bool> elements_read(const spec::TypedSpec &spec) {
  std::vector<expr::NodeId> values;
  for (const spec::TypedOutput &output : spec.outputs)
    values.insert(values.end(), {output.value, output.addend});
  return spec::inputs_of(spec, values).read;
}

bool has_memory(const AnyView &view) {
  return view.data != nullptr &&
         reinterpret_cast<std::uintptr_t>(view.data) % alignment_of(view.dtype) == 0;
}

void check_pointer(const spec::TypedSpec &spec, std::size_t operand, const AnyView &view) {
  check_pointer(describe(spec, operand), view);
}

void check_pointers(const spec::TypedSpec &spec, Operands operands) {
  const std::vector<bool> read = elements_read(spec);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k] == nullptr || (k < read.size() && !read[k])) continue;
    const spec::TypedWindow *window =
        k < read.size() && spec.inputs[k].window ? &*spec.inputs[k].window : nullptr;
    if (!window || (!window->is_gather() && !window->sum))
      check_pointer(describe(spec, k), *operands[k]);
    else if (!array::has_no_elements(operands[k]->layout)) // an array of ours
      check_gathered(spec, window->sum.value_or(std::uint32_t(k)), operands, !window->sum);
  }
}

void check_gathered(const spec::TypedSpec &spec, std::size_t window, Operands operands,
                    bool elements) {
  const spec::TypedWindow &seen = *spec.inputs[window].window;
  if (elements) check_pointer(describe(spec, seen.of), *operands[seen.of]);
  for (const spec::TypedWindow::Form &form : seen.forms)
    for (const spec::TypedWindow::Index &index : form.indices) {
      const std::size_t array = spec.array_of(index.input);
      check_pointer(describe(spec, array), *operands[array]);
    }
}

void check_apart(const spec::TypedSpec &spec, Operands operands) {
  for (std::size_t a = spec.inputs.size(); a < operands.size(); ++a)
    for (std::size_t b = a + 1; b < operands.size(); ++b)
      if (operands[a] != nullptr && operands[b] != nullptr &&
          elements_meet(*operands[a], *operands[b]))
        fail("E0121",
             fmt::format("outputs '{}' and '{}' overlap in memory", describe(spec, a).name,
                         describe(spec, b).name),
             describe(spec, b).where, "give each output memory of its own");
}

} // namespace broadloom::kernel

// Inside the choice of a call (call_chooser.cpp): the steps around one nest as they are printed.
// Copies with borders, gathers and sums come first, then the nest runs, in parts where the call is
// made so.
#pragma once

#include "calls/call.hpp"
#include "jit/call/call_plan.hpp"
#include "kernel/check.hpp"
#include "kernel/padding.hpp"
#include "kernel/positions.hpp"
#include "ops/ops.hpp"
#include "spec/inputs_of.hpp"
#include "support/free_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace broadloom::jit::choice {

using calls::Affine;
using calls::Range;
using calls::Ref;
using calls::Step;
using kernel::Padding;
using kernel::Seen;
using kernel::WindowChoice;
using spec::TypedSpec;
using spec::TypedWindow;
using Kind = Step::Kind;
using namespace act;
using Owner = calls::Array::Owner;

// What an input of a nest is: an array whose row `shift` along `dim` is row 0 of the input.
struct Given {
  std::string array;
  std::optional<std::size_t> dim = {}; // of steps
  std::int64_t shift = 0;
  std::int64_t kept = 0;                     // rows
  bool comes = false;                        // row by row, while the nest's loop runs
  bool again = false;                        // with the segments of a loop that is computed again
  std::optional<std::int64_t> only_row = {}; // along `dim`: whatever the position
  std::string rows = {}; // the let that is these rows of the array; empty: none is
};

// A copy with borders of what an input of a reader is.
struct Padded {
  Padding padding;
  std::string array;
  AnyView view; // as windows see it
  Pad action;   // with all rows that are there
  std::uint32_t of() const { return padding.of; }
};

// A nest, or that of a step of a loop, and what it is given.
struct Reader {
  const Nest &nest;
  std::vector<Given> given;      // [given input]
  std::vector<Given> outputs;    // [output]
  std::string time = {};         // the axis of the loop around it
  std::vector<AnyView> views{};  // [given input], then [output], at addresses of the plan
  std::vector<bool> is_wanted{}; // [the same]
  std::shared_ptr<const WindowChoice> choice{};
  // Of a step of a loop: an array of it that comes row by row, or of one that is computed again.
  // Where only some of the rows along a dim lie in memory, no window but those of borders looks at
  // more. The array begins with row `first` of them.
  struct Rows {
    std::size_t input = 0, dim = 0;
    std::int64_t kept = 0, first = 0; // 0: all are kept
    bool comes = true;
  };
  std::vector<Rows> rows{};
  Rows own_rows{};     // those of the output
  std::size_t let = 0; // which it is
  const Rows *rows_of(std::size_t input) const {
    const auto found = std::ranges::find(rows, input, &Rows::input);
    return found != rows.end() ? &*found : nullptr;
  }
  std::vector<std::string> made{};   // [input]: a gather's array, or a sum's; empty: none
  std::vector<AnyView> made_views{}; // the same
  std::vector<Padded> copies{};
  const TypedSpec &typed() const { return nest.typed(); }
};

inline Affine at(std::int64_t constant) { return {.constant = constant}; }

class StepWriter {
protected:
  calls::Array &add(Owner owner, const std::string &name, DType dtype, const Layout &layout) {
    calls::Array &array = call_.arrays.emplace_back();
    array.owner = owner;
    array.name = name;
    array.dtype = dtype;
    array.extents.assign(layout.shape().begin(), layout.shape().end());
    return array;
  }

  std::string fresh(const std::string &name) { return support::fresh_name(name, taken_); }

  static Ref ref_over(const std::string &array, const std::vector<Range> &ranges) {
    Ref ref{array, {}};
    for (const Range &range : ranges) ref.at.push_back({.terms = {{range.axis, 1}}});
    return ref;
  }

  static const Padded *find(const Reader &reader, const Padding &padding) {
    const auto known = std::ranges::find(reader.copies, padding, &Padded::padding);
    return known == reader.copies.end() ? nullptr : &*known;
  }

  // All of a copy, or a row of it.
  Step pad_step(const Reader &reader, const Padded &copy, const std::optional<Affine> &row) const {
    const Given &of = reader.given[copy.of()];
    const bool is_let = !of.rows.empty() && !of.comes && !of.again;
    const std::string &from = is_let ? of.rows : of.array;
    Step step{.kind = Kind::Pad, .to = {{copy.array, {}}}, .from = {{from, {}}}};
    if (row) {
      const std::size_t rank = call_.find(copy.array)->extents.size();
      for (Ref *ref : {&step.to[0], &step.from[0]}) {
        ref->at.resize(rank);
        for (Affine &position : ref->at) position.all = true;
        ref->at[*of.dim] = *row;
      }
    }
    step.borders = borders_of(copy.padding.pads, reader.typed().inputs[copy.of()].dtype);
    for (const Padding::Dim &dim : copy.padding.dims)
      step.reach.push_back({dim.first, dim.last, dim.divisor});
    return step;
  }

  static std::vector<calls::Border> borders_of(const std::vector<TypedWindow::Pad> &pads,
                                               DType dtype) {
    std::vector<calls::Border> made;
    for (const TypedWindow::Pad &pad : pads)
      made.push_back({pad.dim, pad.before, pad.after, mode_of(pad, dtype)});
    return made;
  }

  static std::string mode_of(const TypedWindow::Pad &pad, DType dtype) {
    switch (pad.mode) {
    case PadMode::Edge: return "edge";
    case PadMode::Wrap: return "wrap";
    case PadMode::Reflect: return "reflect";
    case PadMode::Constant: break;
    }
    const auto number = [](ops::Scalar value, DType of) {
      if (is_unsigned_integer(of)) return fmt::format("{}", value.bits);
      if (!is_float(of)) return fmt::format("{}", ops::as_i64(value));
      return fmt::format("{}", ops::as_f64(ops::convert(value, of, DType::F64)));
    };
    if (!is_complex(dtype)) return number(pad.value, dtype);
    return fmt::format("({}, {})", number({pad.value.bits}, real_dtype(dtype)),
                       number({pad.value.imag}, real_dtype(dtype)));
  }

  Step scatter_step(const Reader &reader, std::size_t input, const std::string &values) const {
    const TypedSpec &typed = reader.typed();
    const std::uint32_t window = *typed.inputs[input].window->sum;
    Step step{.kind = Kind::Scatter};
    step.over = over_dims(typed, typed.inputs[window].axis_of_dim,
                          contiguous_layout(call_.find(values)->extents));
    step.from = {ref_over(values, step.over)};
    step.to = {window_ref(reader, window, nullptr)};
    step.to[0].array = reader.made[input];
    step.borders = borders_of(typed.inputs[window].window->pads, typed.inputs[window].dtype);
    return step;
  }

  static std::vector<Range> over_dims(const TypedSpec &typed, const std::vector<int> &axes,
                                      const Layout &layout) {
    std::vector<Range> made;
    for (std::size_t d = 0; d < axes.size(); ++d)
      made.push_back({typed.axes[std::size_t(axes[d])].name, 0, layout.extents[d]});
    return made;
  }

  Step gather_step(const Reader &reader, std::size_t window, const std::string &to) const {
    const TypedSpec &typed = reader.typed();
    Step step{.kind = Kind::Gather};
    step.over =
        over_dims(typed, typed.inputs[window].axis_of_dim, reader.choice->layouts.inputs[window]);
    step.to = {ref_over(to, step.over)};
    step.from = {
        window_ref(reader, window, &reader.choice->parts[0].seen[window - typed.given_inputs()])};
    return step;
  }

  Step run_step(const Reader &reader, const WindowChoice::Part &part) const {
    const TypedSpec &typed = reader.typed();
    Step step;
    step.kernel = typed.name;
    if (part.id.kind == kernel::PartKind::Border) step.note = "asks whether its conditions hold";
    if (part.id.kind == kernel::PartKind::Interior) step.note = "its conditions hold";
    std::vector<expr::NodeId> values;
    for (std::size_t o = 0; o < typed.outputs.size(); ++o)
      if (part.wanted[o]) values.push_back(typed.outputs[o].value);
    std::vector<bool> read = spec::inputs_of(typed, values).read;
    if (part.id.kind == kernel::PartKind::Interior) {
      const std::vector<bool> &inside =
          reader.nest.setup().windows().by_parts[part.id.group].read_inside;
      for (std::size_t i = 0; i < read.size(); ++i) read[i] = read[i] && inside[i];
    }
    const kernel::Layouts &layouts = reader.choice->layouts;
    std::vector<std::int64_t> extents(typed.axes.size(), -1);
    const auto note = [&](const std::vector<int> &axes, const Layout &layout) {
      for (std::size_t d = 0; d < axes.size(); ++d) {
        std::int64_t &extent = extents[std::size_t(axes[d])];
        if (extent < 0 || extent == 1)
          extent = layout.extents[d];
        else if (layout.extents[d] != 1)
          extent = std::min(extent, layout.extents[d]); // some outputs have more
      }
    };
    for (std::size_t i = 0; i < typed.inputs.size(); ++i)
      if (read[i]) note(typed.inputs[i].axis_of_dim, layouts.inputs[i]);
    for (std::size_t o = 0; o < typed.outputs.size(); ++o)
      if (part.wanted[o]) note(typed.outputs[o].axes, layouts.outputs[o]);
    expr::AxisSet walked;
    for (std::size_t i = 0; i < typed.inputs.size(); ++i) {
      if (!read[i]) continue;
      walked = walked | typed.inputs[i].axes();
      step.from.push_back(typed.inputs[i].window
                              ? window_ref(reader, i, &part.seen[i - typed.given_inputs()], extents)
                              : array_ref(reader, typed.inputs[i].axis_of_dim, reader.given[i],
                                          layouts.inputs[i], extents));
      say_counts(typed, typed.inputs[i].axis_of_dim, layouts.inputs[i], extents, step.from.back());
    }
    for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
      if (!part.wanted[o]) continue;
      walked = walked | expr::AxisSet::of(typed.outputs[o].axes);
      Ref &output = step.to.emplace_back(
          array_ref(reader, typed.outputs[o].axes, reader.outputs[o], layouts.outputs[o], extents));
      say_counts(typed, typed.outputs[o].axes, layouts.outputs[o], extents, output);
    }
    for (std::size_t axis = 0; axis < typed.axes.size(); ++axis) {
      if (!walked.has(int(axis)) || int(axis) == typed.time) continue;
      Range range{typed.axes[axis].name, 0, extents[axis]};
      if (!part.box.empty() && part.box[axis].count >= 0)
        range = {range.axis, part.box[axis].first, part.box[axis].count, part.box[axis].step};
      step.over.push_back(range);
    }
    return step;
  }

  // Along axes of which an operand has more elements than others of the step have.
  static void say_counts(const TypedSpec &typed, const std::vector<int> &axes, const Layout &layout,
                         const std::vector<std::int64_t> &extents, Ref &ref) {
    for (std::size_t d = 0; d < axes.size(); ++d) {
      if (axes[d] == typed.time || layout.extents[d] == 1 ||
          layout.extents[d] == extents[std::size_t(axes[d])])
        continue;
      const std::string &axis = typed.axes[std::size_t(axes[d])].name;
      for (Affine &position : ref.at)
        for (Affine::Term &term : position.terms)
          if (term.axis == axis) term.count = layout.extents[d];
    }
  }

  std::string axis_name(const Reader &reader, int axis) const {
    return axis == reader.typed().time ? reader.time : reader.typed().axes[std::size_t(axis)].name;
  }

  Ref array_ref(const Reader &reader, const std::vector<int> &axes, const Given &of,
                const Layout &layout, const std::vector<std::int64_t> &extents) const {
    Ref ref{of.array, {}};
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const bool repeats = layout.extents[d] == 1 && extents[std::size_t(axes[d])] != 1;
      Affine &position = ref.at.emplace_back();
      if (!repeats) position.terms = {{axis_name(reader, axes[d]), 1}};
      if (of.dim == d) position.constant += of.shift;
      if (of.dim == d && of.only_row) position = at(*of.only_row);
    }
    return ref;
  }

  // Where a window looks: at the array, or at a copy of it. `extents` are those of the axes where a
  // window of one position along an axis may be repeated.
  Ref window_ref(const Reader &reader, std::size_t i, const Seen *seen,
                 std::span<const std::int64_t> extents = {}) const {
    const TypedSpec &typed = reader.typed();
    const auto is_repeated = [&](int axis) {
      const auto &axes = typed.inputs[i].axis_of_dim;
      const auto dim = std::size_t(std::ranges::find(axes, axis) - axes.begin());
      return !extents.empty() && dim < axes.size() && extents[std::size_t(axis)] != 1 &&
             reader.choice->layouts.inputs[i].extents[dim] == 1;
    };
    if (seen != nullptr && !reader.made.empty() && !reader.made[i].empty()) {
      Ref ref{reader.made[i], {}};
      const Layout &layout = reader.choice->layouts.inputs[i];
      for (const int axis : typed.inputs[i].axis_of_dim) {
        const bool repeats = layout.extents[ref.at.size()] == 1;
        ref.at.push_back(repeats ? at(0) : Affine{.terms = {{axis_name(reader, axis), 1}}});
      }
      return ref;
    }
    const TypedWindow &window = *typed.inputs[i].window;
    const std::vector<Layout> &layouts = reader.choice->layouts.inputs;
    const Layout &array = layouts[window.of];
    const Given &of = reader.given[window.of];
    const Padded *copy = seen != nullptr && seen->padding ? find(reader, *seen->padding) : nullptr;
    Ref ref{copy != nullptr ? copy->array : of.array, {}};
    for (std::size_t dim = 0; dim < window.forms.size(); ++dim) {
      const TypedWindow::Form &form = window.forms[dim];
      Affine &position = ref.at.emplace_back();
      const bool stands = form.stretches && array.extents[dim] == 1;
      if (!stands) {
        position.constant = std::int64_t(kernel::start_of(
            form, window.padded(int(dim), array.extents[dim]),
            [&](std::uint32_t input, std::size_t d) { return layouts[input].extents[d]; }));
        for (const TypedWindow::Term &term : form.terms)
          if (!is_repeated(term.axis))
            position.terms.push_back({axis_name(reader, term.axis), term.times});
        for (const TypedWindow::Index &index : form.indices)
          position.indices.push_back(
              {index.times, std::make_shared<const Ref>(element_ref(reader, index.input))});
        position.divisor = copy == nullptr ? form.divisor
                           : copy->padding.dims.empty()
                               ? 1
                               : form.divisor / copy->padding.dims[dim].divisor;
        if (form.outside != Outside::Fails)
          position.outside = form.outside == Outside::Clips ? "clip" : "wrap";
        else if (copy == nullptr && form.may_leave && window.is_gather())
          position.outside = "zero";
      }
      if (copy != nullptr && !copy->padding.dims.empty())
        position.constant -= copy->padding.dims[dim].first * position.divisor;
      if (copy == nullptr)
        if (const TypedWindow::Pad *pad = window.pad_of(int(dim))) position.constant -= pad->before;
      const bool counts_rows = copy == nullptr || of.comes || of.again;
      if (of.dim == dim && counts_rows) position.constant += of.shift * position.divisor;
      if (of.dim == dim && of.only_row) position = at(*of.only_row);
    }
    return ref;
  }

  // An element that says a position.
  Ref element_ref(const Reader &reader, std::size_t input) const {
    const TypedSpec &typed = reader.typed();
    if (typed.inputs[input].window)
      return window_ref(reader, input, &reader.choice->parts[0].seen[input - typed.given_inputs()]);
    const std::vector<std::int64_t> many(typed.axes.size(), -1);
    return array_ref(reader, typed.inputs[input].axis_of_dim, reader.given[input],
                     reader.choice->layouts.inputs[input], many);
  }

  calls::Call call_;
  std::set<std::string> taken_; // names
};

} // namespace broadloom::jit::choice

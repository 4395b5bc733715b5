// See choose_reader.hpp.
#include "jit/call/choose_reader.hpp"

#include "array/copy.hpp"
#include "kernel/interior.hpp"
#include "kernel/overlap.hpp"

#include <algorithm>
#include <set>

namespace broadloom::jit::choice {
namespace {

constexpr int address_bits = 46;
constexpr std::uintptr_t first_array = 16; // below are addresses of a process
constexpr std::uintptr_t half = std::uintptr_t(1) << (address_bits - 1);

// In place of an array of which only windows are read: they see it, and it is written while the
// step reads them.
AnyView stand_in(const AnyView &array) {
  alignas(64) static constinit char nothing[64] = {};
  AnyView view = array;
  view.data = nothing;
  for (int d = 0; d < view.layout.rank; ++d) {
    view.layout.extents[std::size_t(d)] = 1;
    view.layout.strides[std::size_t(d)] = 0;
  }
  return view;
}

} // namespace

void *address_of(std::size_t array) {
  return reinterpret_cast<void *>((array + first_array) << address_bits);
}

MemRef operand_of(const AnyView &view) {
  MemRef made{view};
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(view.data) + half;
  const std::uintptr_t array = address >> address_bits;
  if (array < first_array) return made;
  made.view.data = nullptr;
  made.array = std::int32_t(array - first_array);
  made.offset =
      std::int64_t(address & ((std::uintptr_t(1) << address_bits) - 1)) - std::int64_t(half);
  return made;
}

MemRef operand_of(const AnyView &view, bool is_wanted) {
  MemRef made = operand_of(view);
  if (!is_wanted) made.array = MemRef::not_wanted;
  return made;
}

std::vector<const AnyView *> pointers_to_wanted(const std::vector<AnyView> &views,
                                                const std::vector<bool> &is_wanted) {
  std::vector<const AnyView *> pointers;
  for (std::size_t k = 0; k < views.size(); ++k)
    pointers.push_back(is_wanted[k] ? &views[k] : nullptr);
  return pointers;
}

// An operand of a step, which has one position of the axis of the steps. `typed` is of the part.
static MemRef moving(const Reader &step, const TypedSpec &typed, std::size_t index,
                     const AnyView &whole) {
  AnyView view = whole;
  const auto size = std::int64_t(size_of(whole.dtype));
  const bool is_output = index >= typed.inputs.size();
  const std::vector<int> &axes =
      is_output ? typed.outputs[0].axes : typed.inputs[index].axis_of_dim;
  std::int64_t move = 0;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (axes[d] != *typed.time) continue;
    if (view.layout.extents[d] != 1) move = view.layout.strides[d] * size;
    view.layout.extents[d] = 1;
  }
  const std::size_t array = is_output ? index : typed.array_of(index);
  const Reader::Rows *rows = is_output ? &step.own_rows : step.rows_of(array);
  if (rows != nullptr && rows->comes && array == index && !is_output) // windows see it
    return operand_of(stand_in(view));
  MemRef made = operand_of(view);
  made.move = move;
  if (rows == nullptr || (array == index && !is_output)) return made;
  made.kept_rows = rows->kept;
  made.first_row = rows->first;
  if (is_output) return made;
  const TypedWindow &window = *typed.inputs[index].window;
  const AnyView &of = step.views[array];
  if (!rows->comes) {
    made.first_row += window.forms[rows->dim].start;
    return made;
  }
  made.first_row = std::int64_t(kernel::start_of(
      window.forms[rows->dim], of.layout.extents[rows->dim],
      [&](std::uint32_t input, std::size_t d) { return step.views[input].layout.extents[d]; }));
  if (made.kept_rows == 0 || move == 0 || kernel::is_guarded(window)) return made;
  made.move = of.layout.strides[rows->dim] * size;
  made.aside = move - made.move;
  return made;
}

AnyView ReaderChooser::new_copy(DType dtype, const Layout &layout, kernel::Reach reach) {
  void *at = static_cast<char *>(address_of(plan_->operands + 1 + copies_.size())) - reach.low;
  copies_.push_back({reach.high - reach.low, now_, now_});
  return {dtype, at, true, layout};
}
AnyView ReaderChooser::new_copy(DType dtype, const Layout &layout) {
  return new_copy(dtype, layout, {0, element_count(layout) * std::int64_t(size_of(dtype))});
}

void ReaderChooser::find_places(std::int64_t bytes_of_lets) {
  const auto rounded = [](std::int64_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::int64_t of_lets = rounded(bytes_of_lets);
  const support::Places places = support::places_of(copies_);
  std::int64_t apart = 0;
  plan_->arrays = {0};
  for (std::size_t c = 0; c < copies_.size(); ++c) {
    plan_->arrays.push_back(of_lets + places.starts[c]);
    apart += rounded(copies_[c].bytes);
  }
  plan_->copies_stay = apart == rounded(places.bytes);
  plan_->bytes = of_lets + places.bytes;
}

Reader ReaderChooser::reader(const Nest &nest, kernel::Operands named, std::vector<Given> given,
                             std::vector<Given> outputs) const {
  const TypedSpec &typed = nest.typed();
  Reader made{nest, std::move(given), std::move(outputs)};
  const kernel::LentOperands lent(typed, named);
  kernel::check_operands(typed, lent.all().first(typed.given_inputs()));
  take_views(made, lent.all());
  return made;
}
void ReaderChooser::take_views(Reader &reader, kernel::Operands operands) {
  for (const AnyView *view : operands) {
    reader.views.push_back(view != nullptr ? *view : AnyView());
    reader.is_wanted.push_back(view != nullptr);
  }
  reader.made.resize(reader.typed().inputs.size());
  reader.made_views.resize(reader.typed().inputs.size());
}

void ReaderChooser::choose(Reader &reader, const kernel::Overlaps &overlaps,
                           const kernel::WindowRules &rules) {
  reader.choice = std::make_shared<const WindowChoice>(kernel::choose_windows(
      reader.typed(), pointers_to_wanted(reader.views, reader.is_wanted), overlaps, rules));
  if (!reader.nest.setup().has_windows) return;
  plan_->windows.emplace_back(&reader.nest, reader.choice);
  note_paths(reader);
}

void ReaderChooser::note_paths(const Reader &reader) {
  if (!reader.choice->split) return;
  const std::vector<kernel::PartId> parts = last_parts(*reader.choice);
  for (const kernel::PartId &id : parts) {
    if (id.kind == kernel::PartKind::Whole) {
      if (parts.size() == 1) plan_->paths.push_back(Path::PaddingSplit);
      continue;
    }
    if (!reader.nest.setup().by_parts[id.group].residues.empty())
      plan_->paths.push_back(Path::ResidueClasses);
    if (id.kind == kernel::PartKind::Interior) plan_->paths.push_back(Path::MasksDropped);
  }
}

// Copies that are made before the nest is run, once.
void ReaderChooser::copies_of(Reader &reader, Steps to) {
  const TypedSpec &typed = reader.typed();
  if (!reader.nest.setup().has_windows || is_reference_) return;
  const std::size_t count = typed.given_inputs();
  const kernel::LookedUp looked = kernel::looked_up(typed);
  const auto sees_array = [&](std::size_t i) { // and not what another step makes of it
    const TypedWindow &window = *typed.inputs[i].window;
    if (!window.is_gather()) return !window.sum && looked.positions[i];
    return !window.sum && looked.elements[i] && element_count(reader.choice->layouts.inputs[i]) > 0;
  };
  std::set<std::size_t> checked;
  for (std::size_t i = count; i < typed.inputs.size(); ++i) {
    const TypedWindow &window = *typed.inputs[i].window;
    if (!sees_array(i)) continue;
    const MemRef of = operand_of(reader.views[window.of]);
    if (of.array >= 0 && std::size_t(of.array) < plan_->operands &&
        checked.insert(window.of).second)
      to.actions.push_back(CheckInput{&reader.nest, window.of, of});
  }
  for (const std::size_t own : reader.choice->own_inputs) copy_own(reader, own, to);
  for (const WindowChoice::Part &part : reader.choice->parts)
    for (std::size_t w = 0; w < part.seen.size(); ++w)
      if (const auto &padding = part.seen[w].padding;
          padding && sees_array(count + w) && find(reader, *padding) == nullptr)
        pad(reader, *padding, to);
  std::vector<Values> added; // [sum]
  std::size_t next = 0;
  for (std::size_t i = count; i < typed.inputs.size() && !reader.choice->split; ++i) {
    const TypedWindow &window = *typed.inputs[i].window;
    if (window.sum) {
      const std::size_t value = next++;
      if (!looked.positions[i]) continue;
      if (added.empty()) added = values_of_sums(reader, to);
      sum(reader, i, added[value], to);
    } else if (window.is_gather() && looked.elements[i]) {
      if (!reader.choice->fills_output || i + 1 < typed.inputs.size()) gather(reader, i, to);
    } else if (window.is_gather() && looked.positions[i] &&
               element_count(reader.choice->layouts.inputs[i]) > 0) {
      to.actions.push_back(Gather{&reader.nest,
                                  i,
                                  inputs_of(reader),
                                  {},
                                  operand_of(window_view(reader, i)),
                                  Gather::What::Look});
    }
  }
}

void ReaderChooser::copy_own(Reader &reader, std::size_t own, Steps to) {
  Given &input = reader.given[own];
  const std::string copy = fresh(input.array + "_copy");
  AnyView &view = reader.views[own];
  add(Owner::Copy, copy, view.dtype, view.layout);
  Step step{.kind = Kind::Copy, .to = {{copy, {}}}, .from = {{input.array, {}}}};
  step.note = "as parts write over it";
  to.shown.push_back(std::move(step));
  input.array = copy;
  AnyView made = new_copy(view.dtype, view.layout, kernel::reach_of(view.layout, view.dtype));
  made.writable = view.writable;
  to.actions.push_back(Copy{Kind::Copy, operand_of(view), operand_of(made)});
  view = made;
}

void ReaderChooser::pad(Reader &reader, const Padding &padding, Steps to) {
  const Given &of = reader.given[padding.of];
  const std::string name = fresh(of.array + "_padded");
  const Layout &array = reader.choice->layouts.inputs[padding.of];
  calls::Array &shown = add(Owner::Copy, name, reader.typed().inputs[padding.of].dtype,
                            kernel::padded_layout(padding, array));
  const bool comes_later = of.dim && of.comes;
  if (of.dim && (of.comes || of.again)) {
    shown.extents[*of.dim] = array.extents[*of.dim];
    shown.rows = {*of.dim, of.shift, of.kept};
  }
  AnyView from = reader.views[padding.of];
  Padding made = padding;
  const Reader::Rows *few = reader.rows_of(padding.of);
  if (few != nullptr && few->kept == 0) few = nullptr;
  if (few != nullptr) {
    from = array::rows_of(from, few->dim, -few->first, few->kept);
    if (!made.dims.empty()) made.dims[few->dim] = {0, few->kept - 1, 1};
  }
  const AnyView copy = new_copy(from.dtype, kernel::padded_layout(made, from.layout));
  Padded added{padding, name, copy, {made, operand_of(from), operand_of(copy), comes_later}};
  if (few != nullptr) added.view = array::rows_of(copy, few->dim, few->first, few->kept);
  to.actions.push_back(added.action);
  reader.copies.push_back(std::move(added));
  if (!comes_later) to.shown.push_back(pad_step(reader, reader.copies.back(), std::nullopt));
}

// One array for each sum through a gather.
std::vector<ReaderChooser::Values> ReaderChooser::values_of_sums(const Reader &reader, Steps to) {
  const Nest &before = *reader.nest.before();
  std::vector<AnyView> views(reader.views.begin(),
                             reader.views.begin() + std::ptrdiff_t(reader.typed().given_inputs()));
  const kernel::Layouts layouts = before.layouts_of_given(kernel::pointers_to(views));
  Reader values{before, reader.given, {}, reader.time};
  std::vector<Values> made;
  for (std::size_t o = 0; o < before.typed().outputs.size(); ++o) {
    const spec::TypedOutput &output = before.typed().outputs[o];
    const Layout layout = contiguous_layout(layouts.outputs[o].shape());
    made.push_back({fresh(output.name + "_added"), new_copy(output.dtype, layout)});
    values.outputs.push_back({made.back().array});
    add(Owner::Copy, made.back().array, output.dtype, layout);
    views.push_back(made.back().view);
  }
  take_views(values, kernel::pointers_to(views));
  choose(values, {}, before.setup().windows());
  read(values, to);
  return made;
}

void ReaderChooser::sum(Reader &reader, std::size_t input, const Values &values, Steps to) {
  const TypedSpec &typed = reader.typed();
  const std::uint32_t window = *typed.inputs[input].window->sum;
  const Layout &layout = reader.choice->layouts.inputs[input];
  reader.made[input] = fresh(typed.inputs[typed.array_of(window)].name + "_sum");
  add(Owner::Copy, reader.made[input], typed.inputs[input].dtype, layout);
  to.shown.push_back(scatter_step(reader, input, values.array));
  Scatter action{&reader.nest, window, inputs_of(reader), operand_of(values.view), {}};
  reader.made_views[input] = new_copy(typed.inputs[input].dtype, layout);
  action.to = operand_of(reader.made_views[input]);
  to.actions.push_back(std::move(action));
}

void ReaderChooser::gather(Reader &reader, std::size_t window, Steps to) {
  const TypedSpec &typed = reader.typed();
  const Layout &layout = reader.choice->layouts.inputs[window];
  const bool is_output = reader.choice->fills_output && window + 1 == typed.inputs.size();
  const std::string name = is_output
                               ? reader.outputs[0].array
                               : fresh(typed.inputs[typed.array_of(window)].name + "_gathered");
  if (!is_output) add(Owner::Copy, name, typed.inputs[window].dtype, layout);
  to.shown.push_back(gather_step(reader, window, name));
  if (is_output) to.shown.back().note = "no nest runs";
  reader.made[window] = name;
  if (element_count(layout) == 0) return;
  const Seen &seen = reader.choice->parts[0].seen[window - typed.given_inputs()];
  const AnyView &of = seen.padding ? find(reader, *seen.padding)->view
                                   : reader.views[typed.inputs[window].window->of];
  Gather action{&reader.nest, window, inputs_of(reader), operand_of(of), {}};
  if (is_output) {
    action.what = Gather::What::Output;
    action.to = operand_of(reader.views.back());
    action.to.view.layout = contiguous_layout(layout.shape());
  } else {
    reader.made_views[window] = new_copy(typed.inputs[window].dtype, layout);
    action.to = operand_of(reader.made_views[window]);
  }
  to.actions.push_back(std::move(action));
}

// What a window sees, of all or of a part.
AnyView ReaderChooser::window_view(const Reader &reader, std::size_t i, const Seen *seen) const {
  const TypedSpec &typed = reader.typed();
  const TypedWindow &window = *typed.inputs[i].window;
  const WindowChoice &choice = *reader.choice;
  if (seen == nullptr) seen = &choice.parts[0].seen[i - typed.given_inputs()];
  if (!choice.split && (window.is_gather() || window.sum))
    return {typed.inputs[i].dtype, reader.made_views[i].data, false, choice.layouts.inputs[i]};
  AnyView view = reader.views[window.of];
  view.layout = seen->layout;
  // It looks through windows by itself; what has no elements may have no memory.
  if (is_reference_) {
    if (element_count(reader.views[window.of].layout) == 0) view.data = stand_in(view).data;
    return view;
  }
  if (seen->padding)
    if (const Padded *copy = find(reader, *seen->padding)) view.data = copy->view.data;
  if (view.data != nullptr)
    view.data = static_cast<char *>(view.data) + seen->offset * std::int64_t(size_of(view.dtype));
  return view;
}

std::vector<MemRef> ReaderChooser::inputs_of(const Reader &reader) const {
  std::vector<MemRef> made;
  for (std::size_t i = 0; i < reader.typed().inputs.size(); ++i)
    made.push_back(
        operand_of(i < reader.typed().given_inputs() ? reader.views[i] : window_view(reader, i)));
  return made;
}

void ReaderChooser::runs(Reader &reader, Steps to) {
  const TypedSpec &typed = reader.typed();
  if (reader.choice->fills_output) return gather(reader, typed.inputs.size() - 1, to);
  const bool in_parts = reader.choice->parts.size() > 1 && !typed.time;
  if (in_parts) check_apart(reader, to);
  for (const WindowChoice::Part &part : reader.choice->parts) {
    const Nest &nest = reader.nest.of_part(part.id);
    const PartViews views = part_views(reader, part);
    if (in_parts && is_run_) // so are mistakes in shapes
      nest.bind(pointers_to_wanted(views.views, views.is_wanted), {part.lies}, Use::Once);
    Run run{&nest, typed.name, {}, part.lies, plan_->runs++};
    for (std::size_t k = 0; k < views.views.size(); ++k) {
      run.operands.push_back(typed.time ? moving(reader, nest.typed(), k, views.views[k])
                                        : operand_of(views.views[k]));
      if (!views.is_wanted[k]) run.operands.back().array = MemRef::not_wanted;
    }
    const MemRef output = run.operands.back();
    to.actions.push_back(std::move(run));
    to.shown.push_back(run_step(reader, part));
    if (typed.time) tell(reader.let, output, to);
  }
}

// Before any part is written.
void ReaderChooser::check_apart(const Reader &reader, Steps to) const {
  CheckApart check{&reader.nest, inputs_of(reader)};
  for (std::size_t k = reader.typed().given_inputs(); k < reader.views.size(); ++k)
    check.operands.push_back(operand_of(reader.views[k], reader.is_wanted[k]));
  to.actions.push_back(std::move(check));
}

ReaderChooser::PartViews ReaderChooser::part_views(const Reader &reader,
                                                   const WindowChoice::Part &part) {
  const TypedSpec &typed = reader.typed();
  const std::size_t count = typed.given_inputs(), inputs = typed.inputs.size();
  const bool is_all = part.box.empty(), is_whole = part.id.kind == kernel::PartKind::Whole;
  PartViews made;
  const auto taken = [&](std::size_t operand, const AnyView &view) {
    return is_all ? view : kernel::part_of(typed, operand, view, reader.choice->whole, part.box);
  };
  for (std::size_t i = 0; i < inputs; ++i)
    made.add(i < count ? taken(i, reader.views[i]) : window_view(reader, i, &part.seen[i - count]),
             true);
  if (!is_whole) add_numbers(reader, part, made);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
    const bool is_computed =
        is_whole || std::ranges::count(reader.nest.setup().by_parts[part.id.group].outputs, o) != 0;
    const AnyView &output = reader.views[count + o];
    if (is_computed)
      made.add(part.wanted[o] ? taken(inputs + o, output) : AnyView(), part.wanted[o]);
  }
  return made;
}

// Where the part begins, and how long the whole is.
void ReaderChooser::add_numbers(const Reader &reader, const WindowChoice::Part &part,
                                PartViews &to) {
  for (const kernel::ByParts::Number &number :
       reader.nest.setup().by_parts[part.id.group].numbers) {
    const auto axis = std::size_t(number.axis);
    const bool first = number.kind == kernel::ByParts::Number::Kind::First;
    plan_->numbers.push_back(first ? part.box[axis].first : reader.choice->whole[axis].count);
    to.add({DType::I64, &plan_->numbers.back(), false, Layout()}, true);
  }
}

} // namespace broadloom::jit::choice

// See choose_call.hpp.
#include "jit/choose_call.hpp"

#include "array/copy.hpp"
#include "jit/call_steps.hpp"
#include "jit/shown.hpp"
#include "kernel/interior.hpp"
#include "kernel/overlap.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace broadloom::jit {
namespace choice {
namespace {

// Arrays have no memory while steps are chosen. The number of one stands in the upper bits of its
// address, beyond all addresses that a process has, so views of it are made as of any other.
constexpr int address_bits = 46;
constexpr std::uintptr_t first_array = 16; // below are addresses of a process
constexpr std::uintptr_t half = std::uintptr_t(1) << (address_bits - 1);

void *address_of(std::size_t array) {
  return reinterpret_cast<void *>((array + first_array) << address_bits);
}

Operand operand_of(const AnyView &view) {
  Operand made{view};
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(view.data) + half;
  const std::uintptr_t array = address >> address_bits;
  if (array < first_array) return made;
  made.view.data = nullptr;
  made.array = std::int32_t(array - first_array);
  made.offset =
      std::int64_t(address & ((std::uintptr_t(1) << address_bits) - 1)) - std::int64_t(half);
  return made;
}

// In place of an array of which only windows are read: they see it, and it is written while the step
// reads them.
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

// Where steps are added: as they are printed, and as they are run.
struct Steps {
  std::vector<Step> &shown;
  std::vector<Action> &actions;
};

class CallChooser : StepWriter {
public:
  CallChooser(const KernelImpl &kernel, kernel::Operands call, const kernel::Overlaps &overlaps,
              Purpose purpose)
      : kernel_(kernel), lets_(kernel.subs().lets()), overlaps_(overlaps),
        is_run_(purpose == Purpose::Run),
        is_reference_(kernel.setup().engine == Engine::reference) {
    for (std::size_t k = 0; k < call.size(); ++k) {
      named_.push_back(call[k] != nullptr ? *call[k] : AnyView());
      if (call[k] != nullptr) named_.back().data = address_of(k);
      is_named_.push_back(call[k] != nullptr);
    }
    plan_->operands = call.size();
  }

  std::shared_ptr<const CallPlan> run() {
    const TypedSpec &typed = kernel_.typed();
    const std::size_t inputs = typed.callers_inputs();
    call_.name = typed.name;
    for (const spec::TypedInput &input : typed.given()) taken_.insert(input.name);
    const std::vector<std::string> names = arrays_of_outputs(typed);
    taken_.insert(names.begin(), names.end());
    for (std::size_t i = 0; i < inputs; ++i) {
      inputs_.push_back(&named_[i]);
      add(Owner::In, typed.inputs[i].name, typed.inputs[i].dtype, named_[i].layout);
    }
    kernel::check_operands(typed, inputs_);
    std::vector<Given> outputs;
    for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
      outputs.push_back({names[o]});
      outputs_.push_back(is_named_[inputs + o] ? &named_[inputs + o] : nullptr);
      if (outputs_[o] != nullptr)
        add(Owner::Out, names[o], typed.outputs[o].dtype, named_[inputs + o].layout);
    }
    plan_->key = layout_key(all_named(), inputs);
    plan_->overlaps = overlaps_;
    if (!lets_.empty()) {
      plan_->lets = layouts_ = lets_.layouts(inputs_);
      views_ = lets_.views(*layouts_, static_cast<char *>(address_of(named_.size())));
    }
    Reader rest = reader(kernel_, lets_.operands_of_rest(inputs_, views_, outputs_),
                         given(typed, nullptr), std::move(outputs));
    choose(rest, overlaps_, kernel_.setup().windows());
    if (is_run_) check_outputs(rest);
    Steps steps{call_.steps, plan_->actions};
    if (!lets_.empty()) lets(steps);
    ++now_;
    if (!lets_.empty()) rest.given = given(typed, nullptr); // some are saved rows now
    read(rest, steps);
    if (is_reference_) by_reference(names);
    plan_->shown = std::move(call_);
    find_places();
    return std::move(plan_);
  }

private:
  std::vector<const AnyView *> all_named() const {
    std::vector<const AnyView *> all = inputs_;
    all.insert(all.end(), outputs_.begin(), outputs_.end());
    return all;
  }

  void by_reference(const std::vector<std::string> &outputs) {
    const TypedSpec &typed = kernel_.typed();
    std::erase_if(call_.arrays, [](const calls::Array &array) {
      return array.owner != Owner::In && array.owner != Owner::Out;
    });
    call_.steps.clear();
    Step &step = call_.steps.emplace_back();
    step.kernel = typed.name;
    step.note = "by the reference, from the definition";
    for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
      step.from.push_back({typed.inputs[i].name, {}});
    for (std::size_t o = 0; o < typed.outputs.size(); ++o)
      if (outputs_[o] != nullptr) step.to.push_back({outputs[o], {}});
  }

  // Memory.
  AnyView new_copy(DType dtype, const Layout &layout, kernel::Reach reach) {
    void *at = static_cast<char *>(address_of(named_.size() + 1 + copies_.size())) - reach.low;
    copies_.push_back({reach.high - reach.low, now_, now_});
    return {dtype, at, true, layout};
  }
  AnyView new_copy(DType dtype, const Layout &layout) {
    return new_copy(dtype, layout, {0, element_count(layout) * std::int64_t(size_of(dtype))});
  }

  void find_places() {
    const auto rounded = [](std::int64_t bytes) { return (bytes + 63) / 64 * 64; };
    const std::int64_t of_lets = layouts_ ? rounded(layouts_->bytes_to_have()) : 0;
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

  // Readers.
  Reader reader(const KernelImpl &kernel, kernel::Operands named, std::vector<Given> given,
                std::vector<Given> outputs, std::string time = {}) const {
    const TypedSpec &typed = kernel.typed();
    Reader made{kernel, std::move(given), std::move(outputs), std::move(time)};
    const kernel::LentOperands lent(typed, named);
    kernel::check_operands(typed, lent.all().first(typed.given_inputs()));
    take_views(made, lent.all());
    return made;
  }
  static void take_views(Reader &reader, kernel::Operands operands) {
    for (const AnyView *view : operands) {
      reader.views.push_back(view != nullptr ? *view : AnyView());
      reader.is_wanted.push_back(view != nullptr);
    }
    reader.made.resize(reader.typed().inputs.size());
    reader.made_views.resize(reader.typed().inputs.size());
  }

  void choose(Reader &reader, const kernel::Overlaps &overlaps, const kernel::WindowRules &rules) {
    std::vector<const AnyView *> operands;
    for (std::size_t k = 0; k < reader.views.size(); ++k)
      operands.push_back(reader.is_wanted[k] ? &reader.views[k] : nullptr);
    reader.choice = std::make_shared<const WindowChoice>(
        kernel::choose_windows(reader.typed(), operands, overlaps, rules));
    if (!reader.kernel.setup().has_windows) return;
    plan_->windows.emplace_back(&reader.kernel, reader.choice);
    note_paths(reader);
  }

  void note_paths(const Reader &reader) {
    if (!reader.choice->split) return;
    const std::vector<kernel::PartId> parts = last_parts(*reader.choice);
    for (const kernel::PartId &id : parts) {
      if (id.kind == kernel::PartKind::Whole) {
        if (parts.size() == 1) plan_->paths.push_back(Path::PaddingSplit);
        continue;
      }
      if (!reader.kernel.setup().by_parts[id.group].residues.empty())
        plan_->paths.push_back(Path::ResidueClasses);
      if (id.kind == kernel::PartKind::Interior) plan_->paths.push_back(Path::MasksDropped);
    }
  }

  // Mistakes in shapes come before those in data, which may come of them.
  void check_outputs(const Reader &rest) const {
    std::vector<AnyView> views(rest.views.begin(),
                               rest.views.begin() + std::ptrdiff_t(rest.typed().given_inputs()));
    for (std::size_t i = views.size(); i < rest.typed().inputs.size(); ++i)
      views.push_back({rest.typed().inputs[i].dtype, nullptr, false, rest.choice->layouts.inputs[i]});
    std::vector<const AnyView *> operands = kernel::pointers_to(views);
    operands.insert(operands.end(), outputs_.begin(), outputs_.end());
    kernel::check_operands(rest.typed(), operands);
    kernel::Layouts layouts;
    if (!rest.choice->fills_output) resolve(kernel_.setup(), operands, layouts);
  }

  void read(Reader &reader, Steps to) {
    copies_of(reader, to);
    runs(reader, to);
  }

  // Copies that are made before the kernel is run, once.
  void copies_of(Reader &reader, Steps to) {
    const TypedSpec &typed = reader.typed();
    if (!reader.kernel.setup().has_windows || is_reference_) return;
    const std::size_t count = typed.given_inputs();
    const kernel::LookedUp looked = kernel::looked_up(typed);
    std::set<std::size_t> checked;
    for (std::size_t i = count; i < typed.inputs.size(); ++i) {
      const TypedWindow &window = *typed.inputs[i].window;
      if (window.is_gather() || window.sum || !looked.positions[i]) continue;
      const Operand of = operand_of(reader.views[window.of]);
      if (of.array >= 0 && std::size_t(of.array) < named_.size() && checked.insert(window.of).second)
        to.actions.push_back(CheckInput{&reader.kernel, window.of, of});
    }
    for (const std::size_t own : reader.choice->own_inputs) copy_own(reader, own, to);
    for (const WindowChoice::Part &part : reader.choice->parts)
      for (const Seen &seen : part.seen)
        if (seen.padding && find(reader, *seen.padding) == nullptr) pad(reader, *seen.padding, to);
    std::vector<Values> added; // [sum]
    std::size_t next = 0;
    for (std::size_t i = count; i < typed.inputs.size() && !reader.choice->split; ++i) {
      const TypedWindow &window = *typed.inputs[i].window;
      if (window.sum) {
        if (added.empty()) added = values_of_sums(reader, to);
        sum(reader, i, added[next++], to);
      } else if (window.is_gather() && looked.elements[i]) {
        if (!reader.choice->fills_output || i + 1 < typed.inputs.size()) gather(reader, i, to);
      } else if (window.is_gather() && looked.positions[i] &&
                 element_count(reader.choice->layouts.inputs[i]) > 0) {
        to.actions.push_back(
            Gather{&reader.kernel, i, inputs_of(reader), {}, operand_of(window_view(reader, i)),
                   Gather::What::Look});
      }
    }
  }

  void copy_own(Reader &reader, std::size_t own, Steps to) {
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

  void pad(Reader &reader, const Padding &padding, Steps to) {
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
    const auto few = std::ranges::find(reader.kept_rows, padding.of, &Reader::KeptRows::input);
    if (few != reader.kept_rows.end()) {
      from = array::rows_of(from, few->dim, -few->first, few->rows);
      if (!made.dims.empty()) made.dims[few->dim] = {0, few->rows - 1, 1};
    }
    const AnyView copy = new_copy(from.dtype, kernel::padded_layout(made, from.layout));
    Padded added{padding, name, copy, {made, operand_of(from), operand_of(copy), comes_later}};
    if (few != reader.kept_rows.end())
      added.view = array::rows_of(copy, few->dim, few->first, few->rows);
    to.actions.push_back(added.action);
    reader.copies.push_back(std::move(added));
    if (!comes_later) to.shown.push_back(pad_step(reader, reader.copies.back(), std::nullopt));
  }

  // What is added up in the sums through gathers, one array for each.
  struct Values {
    std::string array;
    AnyView view;
  };
  std::vector<Values> values_of_sums(const Reader &reader, Steps to) {
    const KernelImpl &before = *reader.kernel.subs().before();
    std::vector<AnyView> views(
        reader.views.begin(), reader.views.begin() + std::ptrdiff_t(reader.typed().given_inputs()));
    const kernel::Layouts layouts = before.layouts_of_given(views);
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

  void sum(Reader &reader, std::size_t input, const Values &values, Steps to) {
    const TypedSpec &typed = reader.typed();
    const std::uint32_t window = *typed.inputs[input].window->sum;
    const Layout &layout = reader.choice->layouts.inputs[input];
    reader.made[input] = fresh(typed.inputs[typed.array_of(window)].name + "_sum");
    add(Owner::Copy, reader.made[input], typed.inputs[input].dtype, layout);
    to.shown.push_back(scatter_step(reader, input, values.array));
    Scatter action{&reader.kernel, window, inputs_of(reader), operand_of(values.view), {}};
    reader.made_views[input] = new_copy(typed.inputs[input].dtype, layout);
    action.to = operand_of(reader.made_views[input]);
    to.actions.push_back(std::move(action));
  }

  void gather(Reader &reader, std::size_t window, Steps to) {
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
    Gather action{&reader.kernel, window, inputs_of(reader), operand_of(of), {}};
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
  AnyView window_view(const Reader &reader, std::size_t i, const Seen *seen = nullptr) const {
    const TypedSpec &typed = reader.typed();
    const TypedWindow &window = *typed.inputs[i].window;
    const WindowChoice &choice = *reader.choice;
    if (seen == nullptr) seen = &choice.parts[0].seen[i - typed.given_inputs()];
    if (!choice.split && (window.is_gather() || window.sum))
      return {typed.inputs[i].dtype, reader.made_views[i].data, false, choice.layouts.inputs[i]};
    AnyView view = reader.views[window.of];
    view.layout = seen->layout;
    if (is_reference_) return view; // it looks through windows by itself
    if (seen->padding)
      if (const Padded *copy = find(reader, *seen->padding)) view.data = copy->view.data;
    if (view.data != nullptr)
      view.data =
          static_cast<char *>(view.data) + seen->offset * std::int64_t(size_of(view.dtype));
    return view;
  }

  std::vector<Operand> inputs_of(const Reader &reader) const {
    std::vector<Operand> made;
    for (std::size_t i = 0; i < reader.typed().inputs.size(); ++i)
      made.push_back(operand_of(i < reader.typed().given_inputs() ? reader.views[i]
                                                                  : window_view(reader, i)));
    return made;
  }

  void runs(Reader &reader, Steps to) {
    const TypedSpec &typed = reader.typed();
    if (reader.choice->fills_output) return gather(reader, typed.inputs.size() - 1, to);
    const bool in_parts = reader.choice->parts.size() > 1 && !typed.time;
    if (in_parts) { // before any part is written
      CheckApart check{&reader.kernel, inputs_of(reader)};
      for (std::size_t k = typed.given_inputs(); k < reader.views.size(); ++k)
        check.operands.push_back(checked_output(reader, k));
      to.actions.push_back(std::move(check));
    }
    for (const WindowChoice::Part &part : reader.choice->parts) {
      const KernelImpl &kernel = reader.kernel.subs().of_part(part.id);
      const PartViews views = part_views(reader, part);
      if (in_parts && is_run_) { // so are mistakes in shapes
        std::vector<const AnyView *> operands;
        for (std::size_t k = 0; k < views.views.size(); ++k)
          operands.push_back(views.is_wanted[k] ? &views.views[k] : nullptr);
        kernel.bind(operands, part.lies, Use::Once);
      }
      Run run{&kernel, typed.name, {}, part.lies, plan_->runs++};
      for (std::size_t k = 0; k < views.views.size(); ++k) {
        run.operands.push_back(typed.time ? moving(reader, kernel.typed(), k, views.views[k])
                                          : operand_of(views.views[k]));
        if (!views.is_wanted[k]) run.operands.back().array = Operand::not_wanted;
      }
      const Operand output = run.operands.back();
      to.actions.push_back(std::move(run));
      to.shown.push_back(run_step(reader, part));
      if (typed.time) tell(current_, output, to);
    }
  }

  static Operand checked_output(const Reader &reader, std::size_t k) {
    Operand output = operand_of(reader.views[k]);
    if (!reader.is_wanted[k]) output.array = Operand::not_wanted;
    return output;
  }

  struct PartViews {
    std::vector<AnyView> views;
    std::vector<bool> is_wanted;
    void add(const AnyView &view, bool wanted) {
      views.push_back(view);
      is_wanted.push_back(wanted);
    }
  };
  PartViews part_views(const Reader &reader, const WindowChoice::Part &part) {
    const TypedSpec &typed = reader.typed();
    const std::size_t count = typed.given_inputs(), inputs = typed.inputs.size();
    const bool is_all = part.box.empty(), is_whole = part.id.kind == kernel::PartKind::Whole;
    PartViews made;
    const auto taken = [&](std::size_t operand, const AnyView &view) {
      return is_all ? view
                    : kernel::part_of(typed, operand, view, reader.choice->whole, part.box);
    };
    for (std::size_t i = 0; i < inputs; ++i)
      made.add(i < count ? taken(i, reader.views[i])
                         : window_view(reader, i, &part.seen[i - count]),
               true);
    if (!is_whole) add_numbers(reader, part, made);
    for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
      const bool is_computed =
          is_whole || std::ranges::count(
                          reader.kernel.setup().by_parts[part.id.group].outputs, o) != 0;
      const AnyView &output = reader.views[count + o];
      if (is_computed)
        made.add(part.wanted[o] ? taken(inputs + o, output) : AnyView(), part.wanted[o]);
    }
    return made;
  }

  // Where the part begins, and how long the whole is.
  void add_numbers(const Reader &reader, const WindowChoice::Part &part, PartViews &to) {
    for (const kernel::ByParts::Number &number :
         reader.kernel.setup().by_parts[part.id.group].numbers) {
      const auto axis = std::size_t(number.axis);
      const bool first = number.kind == kernel::ByParts::Number::Kind::First;
      plan_->numbers.push_back(first ? part.box[axis].first : reader.choice->whole[axis].count);
      to.add({DType::I64, &plan_->numbers.back(), false, Layout()}, true);
    }
  }

  // Lets.
  const std::string &name_of(std::size_t k) const {
    return lets_.specs()[k]->typed.outputs[0].name;
  }
  const spec::Recurrence *recurrence(std::size_t k) const {
    const auto &loop = lets_.specs()[k]->recurrence;
    return loop ? &*loop : nullptr;
  }
  std::optional<std::size_t> let_called(const std::string &name) const {
    for (std::size_t k = 0; k < lets_.specs().size(); ++k)
      if (name_of(k) == name) return k;
    return std::nullopt;
  }

  void lets(Steps to) {
    needed_ = lets_.needed(outputs_);
    plan_->needed = needed_;
    for (std::size_t k = 0; k < lets_.specs().size(); ++k) {
      if (lets_.rows_of_loop(k)) plan_->paths.push_back(Path::RowsOfLoop);
      declare(k);
    }
    for (std::size_t k = 0; k < lets_.specs().size(); ++k) {
      const spec::Materialised &let = *lets_.specs()[k];
      if (!is_made(k)) continue;
      if (let.join) {
        Step &step = to.shown.emplace_back();
        step.kind = Kind::View;
        step.to = {{name_of(k), {}}};
        for (const std::string &part : let.join->parts) step.from.push_back({part, {}});
        step.note = "each was computed where it lies in it";
      } else if (lets_.rows_of_loop(k)) {
        rows_of_loop(k);
      } else if (!let.recurrence) {
        ++now_;
        const KernelImpl &kernel = *lets_.kernels()[k];
        Reader made = reader(kernel, lets_.operands(k, inputs_, views_), given(let.typed, nullptr),
                             {{name_of(k)}});
        choose(made, {}, kernel.setup().windows());
        read(made, to);
        tell(k, operand_of(views_[k]), to);
      } else if (let.recurrence->first == k) {
        ++now_;
        loop(k, to);
      }
    }
  }

  // Who looks at each let, to explain it, is told of it.
  void tell(std::size_t let, const Operand &row, Steps to) const {
    if (kernel_.setup().is_debugged()) to.actions.push_back(Told{let, row});
  }

  // Whether a call has the array of let k.
  bool is_made(std::size_t k) const {
    if (const auto &join = lets_.specs()[k]->join)
      return std::ranges::any_of(join->parts, [&](const std::string &part) {
        const std::optional<std::size_t> let = let_called(part);
        return let && is_made(*let);
      });
    return lets_.rows_of_loop(k) ? needed_[lets_.rows_of_loop(k)->loop] : needed_[k];
  }

  void declare(std::size_t k) {
    if (!is_made(k)) return;
    const spec::Recurrence *loop = recurrence(k);
    calls::Array &array =
        add(Owner::Temp, name_of(k), lets_.specs()[k]->typed.outputs[0].dtype, layouts_->lets[k]);
    taken_.insert(array.name);
    if (loop != nullptr) {
      array.extents[loop->dim] += loop->lag;
      array.rows = {loop->dim, loop->backwards ? 0 : -loop->lag, layouts_->kept_rows[k]};
      if (lets_.keeps_last_rows(k)) array.note = "only its last position is read";
    }
    if (layouts_->bytes[k] > 0) array.place = {layouts_->bytes[k], layouts_->places.starts[k]};
    if (std::ranges::count(layouts_->reordered, k) != 0)
      array.note = fmt::format("strides {}: as what reads it goes through it",
                               fmt::join(layouts_->lets[k].steps(), ", "));
  }

  std::vector<Range> ranges_of(const std::string &array) const {
    std::vector<Range> made;
    for (const std::int64_t extent : call_.find(array)->extents)
      made.push_back({fmt::format("p{}", made.size()), 0, extent});
    return made;
  }
  void rows_of_loop(std::size_t k) {
    const spec::EarlierRows &rows = *lets_.rows_of_loop(k);
    const spec::Recurrence &loop = *recurrence(rows.loop);
    Step &step = call_.steps.emplace_back();
    step.kind = Kind::View;
    step.over = ranges_of(name_of(k));
    step.to = {ref_over(name_of(k), step.over)};
    step.from = {ref_over(name_of(rows.loop), step.over)};
    step.from[0].at[loop.dim].constant = loop.backwards ? rows.back : -rows.back;
    step.note = "rows that lie there";
  }

  // What the inputs of a kernel are, of one of a loop with its steps.
  std::vector<Given> given(const TypedSpec &typed, const std::size_t *member) {
    std::vector<Given> made;
    const spec::Recurrence *step = member != nullptr ? recurrence(*member) : nullptr;
    for (std::uint32_t i = 0; i < typed.given_inputs(); ++i) {
      Given &input = made.emplace_back(Given{typed.inputs[i].name});
      if (!typed.inputs[i].materialised) continue;
      if (step != nullptr && step->positions == i) {
        input.array = numbers_;
        continue;
      }
      std::optional<std::size_t> let = let_called(input.array);
      const spec::Recurrence::Read *read = nullptr;
      for (std::size_t r = 0; step != nullptr && r < step->reads.size(); ++r)
        if (step->reads[r].input == i) let = (read = &step->reads[r])->let;
      if (!let) continue;
      const std::optional<spec::EarlierRows> &rows = lets_.rows_of_loop(*let);
      const spec::Recurrence *of = recurrence(rows ? rows->loop : *let);
      if (of == nullptr) continue;
      const std::size_t loop = rows ? rows->loop : *let;
      input.dim = of->dim;
      input.kept = layouts_->kept_rows[loop];
      if (read != nullptr) {
        input = {name_of(*let), of->dim, of->backwards ? 0 : -of->lag, input.kept, true};
        continue;
      }
      if (rows) {
        input.shift = of->backwards ? rows->back : -rows->back;
        input.rows = input.array;
      }
      input.array = name_of(loop);
      const bool follows = member != nullptr && lets_.computed_again(*member, i).has_value();
      input.again = follows && layouts_->segment[loop] > 0;
      if (const auto saved = saved_.find(loop); saved != saved_.end() && !follows) { // the last row
        input.array = saved->second;
        input.only_row = call_.find(saved->second)->extents[of->dim] - 1;
      }
    }
    return made;
  }

  // A loop over time, which begins with let k.
  void loop(std::size_t first, Steps all) {
    const spec::Recurrence &loop = *recurrence(first);
    const std::size_t end = first + loop.count;
    const std::int64_t steps = layouts_->lets[first].extents[loop.dim];
    if (lets_.keeps_last_rows(first)) plan_->paths.push_back(Path::RowsKept);
    if (layouts_->segment[first] > 0) plan_->paths.push_back(Path::Checkpoints);
    const bool is_empty = element_count(layouts_->lets[first]) == 0 && loop.count == 1;
    std::vector<Action> none;
    Steps outside{all.shown, is_empty || is_reference_ ? none : all.actions};
    const std::size_t index = plan_->loops.size();
    loops_[first] = index;
    made_at_[first] = now_;
    Loop &made = plan_->loops.emplace_back(steps, loop.backwards, layouts_->segment[first],
                                           lets_.last_step_read(first));
    Step turns{.kind = Kind::For};
    Steps inside{turns.body, made.body};
    std::vector<Reader> members;
    for (std::size_t k = first; k < end; ++k) {
      const TypedSpec &typed = lets_.kernels()[k]->typed();
      if (k == first) turns.over = {{typed.axes[std::size_t(*typed.time)].name, 0, steps}};
      if (recurrence(k)->positions) declare_numbers(k, steps, outside);
      members.push_back(member(k, turns.over[0].axis));
      made.members.push_back(rows_of_member(k));
    }
    turns.down = loop.backwards;
    first_member_ = first;
    for (Reader &member : members) copies_of(member, outside);
    for (std::size_t k = first; k < end; ++k) start(k, outside);
    for (std::size_t k = first; k < end; ++k)
      for (std::int64_t c = 0; c < recurrence(k)->lag; ++c) {
        const std::int64_t row = recurrence(k)->backwards ? steps + c : c;
        pad_rows(members, k, at(recurrence(k)->backwards ? row : c - recurrence(k)->lag),
                 {.first = row}, outside);
      }
    if (made.segment > 0) save(first, end, index, inside);
    for (const std::size_t other : followed(first, end)) again(other, members, inside);
    for (std::size_t k = first; k < end; ++k) {
      Reader &member = members[k - first];
      current_ = k;
      runs(member, inside);
      pad_rows(members, k, {.terms = {{turns.over[0].axis, 1}}},
               {.first = recurrence(k)->backwards ? 0 : recurrence(k)->lag, .moves = true}, inside);
    }
    outside.shown.push_back(std::move(turns));
    outside.actions.push_back(For{index});
    if (is_reference_) all.actions.push_back(ByReference{first});
  }

  Reader member(std::size_t k, const std::string &time) {
    const KernelImpl &kernel = *lets_.kernels()[k];
    const spec::Recurrence &own = *recurrence(k);
    Reader made = reader(kernel, lets_.operands(k, inputs_, views_), given(kernel.typed(), &k),
                         {{name_of(k), own.dim, 0, layouts_->kept_rows[k]}}, time);
    for (const spec::Recurrence::Read &read : own.reads)
      if (const std::int64_t rows = layouts_->kept_rows[read.let]; rows > 0)
        made.kept_rows.push_back({read.input, recurrence(read.let)->dim, rows, 0});
    for (std::size_t i = 0; i < kernel.typed().given_inputs(); ++i)
      if (const auto read = read_again(k, i))
        made.kept_rows.push_back(
            {i, recurrence(read->let)->dim, layouts_->kept_rows[read->let], read->first});
    kernel::WindowRules rules = kernel.setup().windows();
    rules.may_fill = false; // a step fills nothing by itself
    choose(made, {}, rules);
    return made;
  }

  // What let k, a member of a loop, reads of a loop that is computed again for it.
  std::optional<Lets::LoopRead> read_again(std::size_t k, std::size_t input) const {
    if (input >= lets_.kernels()[k]->typed().given_inputs()) return std::nullopt;
    const auto read = lets_.computed_again(k, input);
    return read && layouts_->segment[read->let] > 0 ? read : std::nullopt;
  }

  std::set<std::size_t> followed(std::size_t first, std::size_t end) const {
    std::set<std::size_t> loops;
    for (std::size_t k = first; k < end; ++k)
      for (std::size_t i = 0; i < lets_.kernels()[k]->typed().given_inputs(); ++i)
        if (const auto read = read_again(k, i)) loops.insert(recurrence(read->let)->first);
    return loops;
  }

  AnyView with_start(std::size_t k) const {
    const spec::Recurrence &loop = *recurrence(k);
    return array::rows_of(views_[k], loop.dim, loop.backwards ? 0 : -loop.lag,
                          views_[k].layout.extents[loop.dim] + loop.lag);
  }

  Loop::Member rows_of_member(std::size_t k) const {
    const spec::Recurrence &loop = *recurrence(k);
    Loop::Member made{operand_of(with_start(k)), {}, loop.dim, loop.lag, layouts_->kept_rows[k]};
    if (layouts_->segment[k] > 0) made.saved = operand_of(lets_.checkpoints(k, views_));
    return made;
  }

  // An operand of a step, which has one position of the axis of the steps. `typed` is of the part.
  Operand moving(const Reader &step, const TypedSpec &typed, std::size_t index,
                 const AnyView &whole) const {
    const spec::Recurrence &loop = *recurrence(current_);
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
    Operand made = operand_of(view);
    made.move = move;
    if (is_output) {
      made.kept_rows = layouts_->kept_rows[current_];
      made.first_row = loop.backwards ? 0 : loop.lag;
      return made;
    }
    const std::size_t array = typed.array_of(index);
    for (const spec::Recurrence::Read &read : loop.reads) {
      if (read.input != array) continue;
      if (array == index) { // windows see it
        made = operand_of(stand_in(view));
        continue;
      }
      const std::size_t dim = recurrence(read.let)->dim;
      made.kept_rows = layouts_->kept_rows[read.let];
      made.first_row = std::int64_t(kernel::start_of(
          typed.inputs[index].window->forms[dim], step.views[array].layout.extents[dim],
          [&](std::uint32_t input, std::size_t d) { return step.views[input].layout.extents[d]; }));
      if (made.kept_rows == 0 || made.move == 0 ||
          kernel::is_guarded(*typed.inputs[index].window))
        continue;
      made.move = step.views[array].layout.strides[dim] * size;
      made.aside = move - made.move;
    }
    if (const auto again = read_again(current_, array); again && array != index) {
      made.kept_rows = layouts_->kept_rows[again->let];
      made.first_row =
          again->first + typed.inputs[index].window->forms[recurrence(again->let)->dim].start;
    }
    return made;
  }

  void declare_numbers(std::size_t k, std::int64_t steps, Steps to) {
    numbers_ = fresh(name_of(k) + "_steps");
    const std::int64_t extents[] = {steps};
    add(Owner::Temp, numbers_, DType::I64, contiguous_layout(extents));
    Step &step = to.shown.emplace_back();
    step.kind = Kind::Count;
    step.to = {{numbers_, {}}};
    const auto operands = lets_.operands(k, inputs_, views_);
    to.actions.push_back(Count{operand_of(*operands[*recurrence(k)->positions])});
  }

  // The rows that let k begins with.
  void start(std::size_t k, Steps to) {
    const spec::Recurrence &loop = *recurrence(k);
    if (loop.lag == 0) return;
    Step step{.kind = Kind::Start};
    for (std::size_t d = 0; d < std::size_t(layouts_->lets[k].rank); ++d) {
      const bool is_time = d == loop.dim;
      const std::int64_t extent = layouts_->lets[k].extents[d];
      step.over.push_back({fmt::format("p{}", d),
                           is_time && !loop.backwards ? -loop.lag
                           : is_time                  ? extent
                                                      : 0,
                           is_time ? loop.lag : extent});
    }
    step.to = {ref_over(name_of(k), step.over)};
    if (loop.start) {
      Ref from{name_of(*loop.start), {}};
      for (const std::size_t d : loop.start_dims) {
        const auto dim = from.at.size();
        const bool is_one = layouts_->lets[*loop.start].extents[dim] == 1;
        from.at.push_back(is_one ? at(0) : step.to[0].at[d]);
      }
      step.from = {from};
    }
    to.shown.push_back(std::move(step));
    for (std::int64_t c = 0; c < loop.lag; ++c) {
      const std::int64_t row = loop.backwards ? layouts_->lets[k].extents[loop.dim] + c : c;
      const std::int64_t kept = layouts_->kept_rows[k];
      const AnyView row_view =
          array::rows_of(with_start(k), loop.dim, kept > 0 ? row % kept : row, 1);
      to.actions.push_back(
          Copy{Kind::Start, operand_of(started_from(loop, row_view)), operand_of(row_view)});
    }
  }

  AnyView started_from(const spec::Recurrence &loop, const AnyView &row) const {
    alignas(16) static constinit char zero[16] = {};
    AnyView from = row;
    for (int d = 0; d < from.layout.rank; ++d) from.layout.strides[std::size_t(d)] = 0;
    from.data = zero;
    if (!loop.start) return from;
    const AnyView &start = views_[*loop.start];
    from.data = start.data;
    for (std::size_t d = 0; d < loop.start_dims.size(); ++d)
      from.layout.strides[loop.start_dims[d]] = start.layout.strides[d];
    return from;
  }

  void save(std::size_t first, std::size_t end, std::size_t index, Steps to) {
    const std::int64_t segment = layouts_->segment[first];
    for (std::size_t k = first; k < end; ++k) {
      const spec::Recurrence &loop = *recurrence(k);
      const std::string saved = fresh(name_of(k) + "_saved");
      saved_[k] = saved;
      calls::Array &array = add(Owner::Temp, saved, lets_.specs()[k]->typed.outputs[0].dtype,
                                lets_.checkpoints(k, views_).layout);
      array.note = fmt::format("{} of each {} steps, and the last row",
                               support::count(loop.lag, "row"), segment);
      Step step{.kind = Kind::Save};
      step.to = {{saved, {}}};
      step.from = {{name_of(k), {}}};
      step.each = segment;
      to.shown.push_back(std::move(step));
    }
    to.actions.push_back(Save{index});
  }

  void again(std::size_t other, std::vector<Reader> &members, Steps to) {
    const spec::Recurrence &loop = *recurrence(other);
    Step step{.kind = Kind::Again};
    step.each = layouts_->segment[other];
    for (std::size_t k = other; k < other + loop.count; ++k) {
      Ref ref{name_of(k), std::vector<Affine>(std::size_t(layouts_->lets[k].rank))};
      for (Affine &position : ref.at) position.all = true;
      ref.at[recurrence(k)->dim] = {.constant = lets_.last_step_read(other),
                                    .terms = {{members[0].time, 1}}};
      step.to.push_back(std::move(ref));
    }
    step.note = fmt::format("from '{}', where its segment is not there", saved_.at(other));
    to.shown.push_back(std::move(step));
    Again action{loops_.at(other), {}};
    for (Reader &member : members)
      for (const Padded &copy : member.copies)
        if (const Given &of = member.given[copy.of()]; of.again)
          if (const auto let = let_called(of.array); let && recurrence(*let)->first == other) {
            to.shown.push_back(pad_step(member, copy, std::nullopt));
            action.pads.push_back(copy.action);
          }
    to.actions.push_back(std::move(action));
    for (support::Lifetime &copy : copies_) // it goes on with its copies
      if (copy.made == made_at_.at(other)) copy.last_read = now_;
  }

  // Row `row` of let k, for the copies of it that the members read.
  void pad_rows(std::vector<Reader> &members, std::size_t k, const Affine &shown, Pad::Row row,
                Steps to) {
    row.member = k - first_member_;
    row.dim = recurrence(k)->dim;
    row.kept = layouts_->kept_rows[k];
    for (std::size_t m = 0; m < members.size(); ++m)
      for (const Padded &copy : members[m].copies) {
        if (const Given &of = members[m].given[copy.of()]; !of.comes || of.array != name_of(k))
          continue;
        to.shown.push_back(pad_step(members[m], copy, shown));
        for (const spec::Recurrence::Read &read : recurrence(first_member_ + m)->reads)
          if (read.input == copy.of())
            row.most = layouts_->lets[first_member_].extents[recurrence(first_member_)->dim] +
                       read.more;
        Pad action = copy.action;
        action.comes_later = false;
        action.row = row;
        to.actions.push_back(std::move(action));
      }
  }

  const KernelImpl &kernel_;
  const Lets &lets_;
  const kernel::Overlaps &overlaps_;
  const bool is_run_, is_reference_;
  std::shared_ptr<CallPlan> plan_ = std::make_shared<CallPlan>();
  std::vector<AnyView> named_; // by the caller
  std::vector<bool> is_named_;
  std::vector<const AnyView *> inputs_, outputs_;
  std::vector<AnyView> views_; // of lets
  std::shared_ptr<const Lets::Layouts> layouts_;
  std::vector<bool> needed_;
  std::vector<support::Lifetime> copies_;
  std::size_t now_ = 0;                      // of those lifetimes
  std::map<std::size_t, std::size_t> loops_, made_at_; // [first let]: its number; when
  std::size_t first_member_ = 0, current_ = 0; // lets of the loop that is chosen
  std::map<std::size_t, std::string> saved_; // [let]: the rows that it is computed again from
  std::string numbers_;
};

} // namespace
} // namespace choice

std::vector<std::string> arrays_of_outputs(const spec::TypedSpec &typed) {
  std::vector<std::string> names;
  for (const spec::TypedOutput &output : typed.outputs) {
    const auto is_known = [&](const std::string &name) {
      return std::ranges::any_of(typed.given(), [&](const auto &in) { return in.name == name; }) ||
             std::ranges::count(names, name) != 0;
    };
    names.push_back(!is_known(output.name)
                        ? output.name
                        : support::free_name(output.name + "_next", [&](const std::string &free) {
                            return !is_known(free) &&
                                   std::ranges::count(typed.outputs, free,
                                                      &spec::TypedOutput::name) == 0;
                          }));
  }
  return names;
}

std::shared_ptr<const CallPlan> choose_call(const KernelImpl &kernel, kernel::Operands call,
                                            const kernel::Overlaps &overlaps, Purpose purpose) {
  return choice::CallChooser(kernel, call, overlaps, purpose).run();
}

} // namespace broadloom::jit

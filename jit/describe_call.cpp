// See describe_call.hpp.
#include "jit/describe_call.hpp"

#include "kernel/check.hpp"
#include "kernel/layouts.hpp"
#include "kernel/padding.hpp"
#include "kernel/positions.hpp"
#include "ops/ops.hpp"
#include "support/fail.hpp"
#include "support/free_name.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace broadloom::jit {
namespace {

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
using Owner = calls::Array::Owner;

// What an input of a kernel is: an array whose row `shift` along `dim` is row 0 of the input.
struct Given {
  std::string array;
  std::optional<std::size_t> dim = {}; // of steps
  std::int64_t shift = 0;
  std::int64_t kept = 0;                     // rows
  bool comes = false;                        // row by row, while the kernel's loop runs
  bool again = false;                        // with the segments of a loop that is computed again
  std::optional<std::int64_t> only_row = {}; // along `dim`: whatever the position
};

struct Copy {
  std::uint32_t of = 0;
  Padding padding;
  std::string array;
};

// A kernel, or a step of one, and what it is given.
struct Reader {
  const KernelImpl &kernel;
  std::shared_ptr<const WindowChoice> choice;
  std::vector<Given> given;        // [given input]
  std::vector<Given> outputs;      // [output]
  std::string time = {};           // the axis of the loop around it
  std::vector<std::string> made{}; // [input]: a gather's array, or a sum's; empty: none
  std::vector<Copy> copies{};
  const TypedSpec &typed() const { return kernel.typed(); }
};

Affine at(std::int64_t constant) { return {.constant = constant}; }

class Describer {
public:
  explicit Describer(const KernelImpl &kernel) : kernel_(kernel), lets_(kernel.lets()) {}

  calls::Call run() {
    const TypedSpec &typed = kernel_.typed();
    call_.name = typed.name;
    for (const spec::TypedInput &input : typed.given()) taken_.insert(input.name);
    for (const spec::TypedOutput &output : typed.outputs) taken_.insert(output.name);
    find_layouts();
    for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
      add(Owner::In, typed.inputs[i].name, typed.inputs[i].dtype, inputs_[i].layout);
    std::vector<Given> outputs;
    for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
      const spec::TypedOutput &output = typed.outputs[o];
      outputs.push_back({output.name});
      if (rest_->layouts.wanted[o])
        add(Owner::Out, output.name, output.dtype, rest_->layouts.outputs[o]);
    }
    if (kernel_.engine() == Engine::reference) {
      by_reference();
      return std::move(call_);
    }
    if (!lets_.empty()) lets();
    Reader rest{kernel_, rest_, given(kernel_.typed(), nullptr), outputs};
    read(rest, call_.steps);
    return std::move(call_);
  }

private:
  // Layouts.
  void find_layouts() try {
    const TypedSpec &typed = kernel_.typed();
    rest_ = kernel_.latest_windows();
    if (rest_) {
      for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
        inputs_.push_back({typed.inputs[i].dtype, nullptr, false, rest_->layouts.inputs[i]});
    } else {
      std::vector<Layout> typical = kernel::typical_inputs(typed);
      for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
        inputs_.push_back({typed.inputs[i].dtype, nullptr, false, typical[i]});
    }
    const std::vector<const AnyView *> in = kernel::pointers_to(inputs_);
    if (!lets_.empty()) {
      layouts_ = lets_.layouts(in);
      views_ = lets_.views(*layouts_, nullptr);
    }
    if (rest_) return;
    std::vector<const AnyView *> operands = lets_.operands_of_rest(in, views_, {});
    std::vector<AnyView> lent; // outputs, which are not there
    lent.reserve(typed.given_inputs());
    if (typed.lent_input() != nullptr)
      for (std::size_t i = operands.size(); i < typed.given_inputs(); ++i)
        operands.push_back(&lent.emplace_back(typed.inputs[i].dtype, nullptr, false,
                                              kernel::typical_inputs(typed)[i]));
    rest_ = kernel_.planned_windows(operands);
  } catch (const ShapeError &error) {
    support::fail("E0501",
                  fmt::format("kernel '{}' was not called, and no typical extents fit: {}",
                              kernel_.typed().name, error.message()),
                  {}, "call or prepare it first, or give data by --in");
  }

  calls::Array &add(Owner owner, const std::string &name, DType dtype, const Layout &layout) {
    calls::Array &array = call_.arrays.emplace_back();
    array.owner = owner;
    array.name = name;
    array.dtype = dtype;
    array.extents.assign(layout.shape().begin(), layout.shape().end());
    return array;
  }

  std::string fresh(const std::string &name) {
    return support::free_name(name,
                              [&](const std::string &free) { return taken_.insert(free).second; });
  }

  void by_reference() {
    const TypedSpec &typed = kernel_.typed();
    Step &step = call_.steps.emplace_back();
    step.kernel = typed.name;
    step.note = "by the reference, from the definition";
    for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
      step.from.push_back({typed.inputs[i].name, {}});
    for (std::size_t o = 0; o < typed.outputs.size(); ++o)
      if (rest_->layouts.wanted[o]) step.to.push_back({typed.outputs[o].name, {}});
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

  void lets() {
    std::vector<const AnyView *> outputs;
    static const AnyView wanted;
    for (const bool is_wanted : rest_->layouts.wanted)
      outputs.push_back(is_wanted ? &wanted : nullptr);
    needed_ = lets_.needed(outputs);
    for (std::size_t k = 0; k < lets_.specs().size(); ++k) declare(k);
    for (std::size_t k = 0; k < lets_.specs().size(); ++k) {
      const spec::Materialised &let = *lets_.specs()[k];
      if (!is_made(k)) continue;
      if (let.join) {
        Step &step = call_.steps.emplace_back();
        step.kind = Kind::View;
        step.to = {{name_of(k), {}}};
        for (const std::string &part : let.join->parts) step.from.push_back({part, {}});
        step.note = "each was computed where it lies in it";
      } else if (lets_.rows_of_loop(k)) {
        rows_of_loop(k);
      } else if (!let.recurrence) {
        std::shared_ptr<const WindowChoice> choice = lets_.kernels()[k]->latest_windows();
        const std::vector<const AnyView *> operands =
            lets_.operands(k, kernel::pointers_to(inputs_), views_);
        if (!choice)
          choice =
              lets_.kernels()[k]->planned_windows(std::span(operands).first(operands.size() - 1));
        Reader reader{*lets_.kernels()[k], choice, given(let.typed, nullptr), {{name_of(k)}}};
        read(reader, call_.steps);
      } else if (let.recurrence->first == k) {
        loop(k);
      }
    }
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
  static Ref ref_over(const std::string &array, const std::vector<Range> &ranges) {
    Ref ref{array, {}};
    for (const Range &range : ranges) ref.at.push_back({.terms = {{range.axis, 1}}});
    return ref;
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
      if (rows) input.shift = of->backwards ? rows->back : -rows->back;
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
  void loop(std::size_t first) {
    const spec::Recurrence &loop = *recurrence(first);
    const std::size_t end = first + loop.count;
    const std::int64_t segment = layouts_->segment[first];
    const std::int64_t steps = layouts_->lets[first].extents[loop.dim];
    Step turns{.kind = Kind::For};
    std::vector<Reader> members;
    std::vector<Step> before; // what comes with each turn before the steps
    std::set<std::size_t> followed;
    for (std::size_t k = first; k < end; ++k) {
      const KernelImpl &kernel = *lets_.kernels()[k];
      const TypedSpec &typed = kernel.typed();
      const std::string axis = typed.axes[std::size_t(*typed.time)].name;
      if (k == first) turns.over = {{axis, 0, steps}};
      if (recurrence(k)->positions) declare_numbers(k, steps);
      std::shared_ptr<const WindowChoice> choice = kernel.latest_windows();
      if (!choice) choice = planned_step(k);
      const spec::Recurrence &own = *recurrence(k);
      members.push_back({kernel,
                         choice,
                         given(typed, &k),
                         {{name_of(k), own.dim, 0, layouts_->kept_rows[k]}},
                         turns.over[0].axis});
      for (std::size_t i = 0; i < typed.given_inputs(); ++i)
        if (const auto read = lets_.computed_again(k, i); read && layouts_->segment[read->let] > 0)
          followed.insert(recurrence(read->let)->first);
    }
    turns.down = loop.backwards;
    std::vector<Step> &steps_before = call_.steps;
    for (Reader &member : members) copies_of(member, steps_before);
    for (std::size_t k = first; k < end; ++k) start(k, steps_before);
    for (std::size_t k = first; k < end; ++k)
      for (std::int64_t c = 0; c < recurrence(k)->lag; ++c)
        pad_rows(members, k, at(recurrence(k)->backwards ? steps + c : c - recurrence(k)->lag),
                 steps_before);
    if (segment > 0) save(first, end, steps, turns);
    for (const std::size_t other : followed) again(other, members, turns);
    for (std::size_t k = first; k < end; ++k) {
      Reader &member = members[k - first];
      runs(member, turns.body);
      pad_rows(members, k, {.terms = {{turns.over[0].axis, 1}}}, turns.body);
    }
    call_.steps.push_back(std::move(turns));
  }

  std::shared_ptr<const WindowChoice> planned_step(std::size_t k) {
    const TypedSpec &typed = lets_.kernels()[k]->typed();
    const std::vector<const AnyView *> operands =
        lets_.operands(k, kernel::pointers_to(inputs_), views_);
    kernel::WindowedOperands::How how = lets_.kernels()[k]->windows_of_nothing();
    how.elements = kernel::WindowedOperands::Elements::NotThere;
    return std::make_shared<const WindowChoice>(
        kernel::WindowedOperands(typed, operands, lets_.kernels()[k]->helpers(), how).choice());
  }

  void declare_numbers(std::size_t k, std::int64_t steps) {
    numbers_ = fresh(name_of(k) + "_steps");
    const std::int64_t extents[] = {steps};
    add(Owner::Temp, numbers_, DType::I64, contiguous_layout(extents));
    Step &step = call_.steps.emplace_back();
    step.kind = Kind::Count;
    step.to = {{numbers_, {}}};
  }

  // The rows that let k begins with.
  void start(std::size_t k, std::vector<Step> &to) {
    const spec::Recurrence &loop = *recurrence(k);
    if (loop.lag == 0) return;
    Step step{.kind = Kind::Start};
    Ref rows{name_of(k), {}};
    std::vector<Affine> by_dim;
    for (std::size_t d = 0; d < std::size_t(layouts_->lets[k].rank); ++d) {
      const bool is_time = d == loop.dim;
      const std::int64_t extent = layouts_->lets[k].extents[d];
      step.over.push_back({fmt::format("p{}", d),
                           is_time && !loop.backwards ? -loop.lag
                           : is_time                  ? extent
                                                      : 0,
                           is_time ? loop.lag : extent});
      by_dim.push_back({.terms = {{step.over.back().axis, 1}}});
    }
    rows.at = by_dim;
    step.to = {rows};
    if (loop.start) {
      Ref from{name_of(*loop.start), {}};
      for (const std::size_t d : loop.start_dims) {
        const auto dim = from.at.size();
        const bool is_one = layouts_->lets[*loop.start].extents[dim] == 1;
        from.at.push_back(is_one ? at(0) : by_dim[d]);
      }
      step.from = {from};
    }
    to.push_back(std::move(step));
  }

  void save(std::size_t first, std::size_t end, std::int64_t steps, Step &turns) {
    const std::int64_t segment = layouts_->segment[first];
    for (std::size_t k = first; k < end; ++k) {
      const spec::Recurrence &loop = *recurrence(k);
      Layout rows = layouts_->lets[k];
      rows.extents[loop.dim] = (steps + segment - 1) / segment * loop.lag + 1;
      const std::string saved = fresh(name_of(k) + "_saved");
      saved_[k] = saved;
      calls::Array &array = add(Owner::Temp, saved, lets_.specs()[k]->typed.outputs[0].dtype, rows);
      array.note = fmt::format("{} of each {} steps, and the last row",
                               support::count(loop.lag, "row"), segment);
      Step step{.kind = Kind::Save};
      step.to = {{saved, {}}};
      step.from = {{name_of(k), {}}};
      step.each = segment;
      turns.body.push_back(std::move(step));
    }
  }

  void again(std::size_t other, std::vector<Reader> &members, Step &turns) {
    const spec::Recurrence &loop = *recurrence(other);
    Step step{.kind = Kind::Again};
    step.each = layouts_->segment[other];
    for (std::size_t k = other; k < other + loop.count; ++k) {
      Ref ref{name_of(k), std::vector<Affine>(std::size_t(layouts_->lets[k].rank))};
      for (Affine &position : ref.at) position.all = true;
      ref.at[recurrence(k)->dim] = {.constant = lets_.last_step_read(other),
                                    .terms = {{turns.over[0].axis, 1}}};
      step.to.push_back(std::move(ref));
    }
    step.note = fmt::format("from '{}', where its segment is not there", saved_.at(other));
    turns.body.push_back(std::move(step));
    for (Reader &member : members)
      for (const Copy &copy : member.copies)
        if (const Given &of = member.given[copy.of]; of.again)
          if (const auto let = let_called(of.array); let && recurrence(*let)->first == other)
            turns.body.push_back(pad_step(member, copy, std::nullopt));
  }

  // Row `row` of let k, for the copies of it that the members read.
  void pad_rows(std::vector<Reader> &members, std::size_t k, const Affine &row,
                std::vector<Step> &to) {
    for (Reader &member : members)
      for (const Copy &copy : member.copies)
        if (const Given &of = member.given[copy.of]; of.comes && of.array == name_of(k))
          to.push_back(pad_step(member, copy, row));
  }

  // Windows.
  void read(Reader &reader, std::vector<Step> &to) {
    copies_of(reader, to);
    runs(reader, to);
  }

  // Copies that are made before the kernel is run, once.
  void copies_of(Reader &reader, std::vector<Step> &to) {
    const TypedSpec &typed = reader.typed();
    const std::size_t count = typed.given_inputs();
    for (const std::size_t own : reader.choice->own_inputs) {
      Given &input = reader.given[own];
      const std::string copy = fresh(input.array + "_copy");
      add(Owner::Copy, copy, typed.inputs[own].dtype, reader.choice->layouts.inputs[own]);
      Step step{.kind = Kind::Copy, .to = {{copy, {}}}, .from = {{input.array, {}}}};
      step.note = "as parts write over it";
      to.push_back(std::move(step));
      input.array = copy;
    }
    for (const WindowChoice::Part &part : reader.choice->parts)
      for (std::size_t w = 0; w < part.seen.size(); ++w)
        if (const std::optional<Padding> &padding = part.seen[w].padding;
            padding && find(reader, *padding) == nullptr)
          pad(reader, *padding, to);
    reader.made.resize(typed.inputs.size());
    const std::vector<bool> read = kernel::elements_read(typed);
    if (std::ranges::any_of(typed.inputs,
                            [](const auto &input) { return input.window && input.window->sum; }))
      sums(reader, to);
    for (std::size_t i = count; i < typed.inputs.size(); ++i)
      if (read[i] && typed.inputs[i].window->is_gather() && !reader.choice->fills_output)
        gather(reader, i, fresh(typed.inputs[typed.array_of(i)].name + "_gathered"), to);
  }

  static const Copy *find(const Reader &reader, const Padding &padding) {
    const auto known = std::ranges::find(reader.copies, padding, &Copy::padding);
    return known == reader.copies.end() ? nullptr : &*known;
  }

  void pad(Reader &reader, const Padding &padding, std::vector<Step> &to) {
    const Given &of = reader.given[padding.of];
    const std::string name = fresh(of.array + "_padded");
    const Layout &array = reader.choice->layouts.inputs[padding.of];
    calls::Array &copy = add(Owner::Copy, name, reader.typed().inputs[padding.of].dtype,
                             kernel::padded_layout(padding, array));
    if (of.dim && (of.comes || of.again)) {
      copy.extents[*of.dim] = array.extents[*of.dim];
      copy.rows = {*of.dim, of.shift, of.kept};
    }
    reader.copies.push_back({padding.of, padding, name});
    if (!of.comes && !of.again) to.push_back(pad_step(reader, reader.copies.back(), std::nullopt));
  }

  // All of a copy, or a row of it.
  Step pad_step(const Reader &reader, const Copy &copy, const std::optional<Affine> &row) const {
    const Given &of = reader.given[copy.of];
    Step step{.kind = Kind::Pad, .to = {{copy.array, {}}}, .from = {{of.array, {}}}};
    if (row) {
      const std::size_t rank = call_.find(copy.array)->extents.size();
      for (Ref *ref : {&step.to[0], &step.from[0]}) {
        ref->at.resize(rank);
        for (Affine &position : ref->at) position.all = true;
        ref->at[*of.dim] = *row;
      }
    }
    for (const TypedWindow::Pad &pad : copy.padding.pads)
      step.borders.push_back(
          {pad.dim, pad.before, pad.after, mode_of(pad, reader.typed().inputs[copy.of].dtype)});
    for (const Padding::Dim &dim : copy.padding.dims)
      step.reach.push_back({dim.first, dim.last, dim.divisor});
    return step;
  }

  static std::string mode_of(const TypedWindow::Pad &pad, DType dtype) {
    switch (pad.mode) {
    case PadMode::Edge: return "edge";
    case PadMode::Wrap: return "wrap";
    case PadMode::Reflect: return "reflect";
    case PadMode::Constant: break;
    }
    if (is_complex(dtype)) return "number";
    return fmt::format("{}", ops::as_f64(ops::convert(pad.value, dtype, DType::F64)));
  }

  // A sum through a gather: its values, and what they are added up to.
  void sums(Reader &reader, std::vector<Step> &to) {
    const KernelImpl &before = *reader.kernel.before();
    const TypedSpec &typed = reader.typed();
    std::vector<AnyView> inputs;
    for (std::size_t i = 0; i < typed.given_inputs(); ++i)
      inputs.push_back({typed.inputs[i].dtype, nullptr, false, reader.choice->layouts.inputs[i]});
    std::shared_ptr<const WindowChoice> choice = before.latest_windows();
    if (!choice) choice = before.planned_windows(kernel::pointers_to(inputs));
    Reader values{before, choice, reader.given, {}, reader.time};
    for (std::size_t o = 0; o < before.typed().outputs.size(); ++o) {
      const spec::TypedOutput &output = before.typed().outputs[o];
      values.outputs.push_back({fresh(output.name + "_added")});
      add(Owner::Copy, values.outputs.back().array, output.dtype, choice->layouts.outputs[o]);
    }
    read(values, to);
    std::size_t next = 0;
    for (std::size_t i = typed.given_inputs(); i < typed.inputs.size(); ++i) {
      const std::optional<std::uint32_t> window = typed.inputs[i].window->sum;
      if (!window) continue;
      reader.made[i] = fresh(typed.inputs[typed.array_of(*window)].name + "_sum");
      add(Owner::Copy, reader.made[i], typed.inputs[i].dtype, reader.choice->layouts.inputs[i]);
      Step step{.kind = Kind::Scatter};
      step.over = over_dims(typed, typed.inputs[*window].axis_of_dim, choice->layouts.outputs[next],
                            reader);
      step.from = {{values.outputs[next++].array, {}}};
      for (const Range &range : step.over) step.from[0].at.push_back({.terms = {{range.axis, 1}}});
      step.to = {window_ref(reader, *window, nullptr)};
      step.to[0].array = reader.made[i];
      to.push_back(std::move(step));
    }
  }

  std::vector<Range> over_dims(const TypedSpec &typed, const std::vector<int> &axes,
                               const Layout &layout, const Reader &) const {
    std::vector<Range> made;
    for (std::size_t d = 0; d < axes.size(); ++d)
      made.push_back({typed.axes[std::size_t(axes[d])].name, 0, layout.extents[d]});
    return made;
  }

  void gather(Reader &reader, std::size_t window, const std::string &name, std::vector<Step> &to) {
    const TypedSpec &typed = reader.typed();
    const Layout &layout = reader.choice->layouts.inputs[window];
    const bool is_output = reader.choice->fills_output;
    if (!is_output) add(Owner::Copy, name, typed.inputs[window].dtype, layout);
    Step step{.kind = Kind::Gather};
    step.over = over_dims(typed, typed.inputs[window].axis_of_dim, layout, reader);
    step.to = {{name, {}}};
    for (const Range &range : step.over) step.to[0].at.push_back({.terms = {{range.axis, 1}}});
    step.from = {
        window_ref(reader, window, &reader.choice->parts[0].seen[window - typed.given_inputs()])};
    if (is_output) step.note = "no nest runs";
    reader.made[window] = name;
    to.push_back(std::move(step));
  }

  void runs(Reader &reader, std::vector<Step> &to) {
    const TypedSpec &typed = reader.typed();
    if (reader.choice->fills_output)
      return gather(reader, typed.inputs.size() - 1, reader.outputs[0].array, to);
    for (const WindowChoice::Part &part : reader.choice->parts) run(reader, part, to);
  }

  void run(const Reader &reader, const WindowChoice::Part &part, std::vector<Step> &to) {
    const TypedSpec &typed = reader.typed();
    Step step;
    step.kernel = typed.name;
    if (part.id.kind == kernel::PartKind::Border) step.note = "asks whether its conditions hold";
    if (part.id.kind == kernel::PartKind::Interior) step.note = "its conditions hold";
    std::vector<bool> read = elements_read(typed, part.wanted);
    if (part.id.kind == kernel::PartKind::Interior) {
      const std::vector<bool> &inside = reader.kernel.windows().by_parts[part.id.group].read_inside;
      for (std::size_t i = 0; i < read.size(); ++i) read[i] = read[i] && inside[i];
    }
    const kernel::Layouts &layouts = reader.choice->layouts;
    std::vector<std::int64_t> extents(typed.axes.size(), -1);
    const auto note = [&](const std::vector<int> &axes, const Layout &layout) {
      for (std::size_t d = 0; d < axes.size(); ++d)
        extents[std::size_t(axes[d])] =
            extents[std::size_t(axes[d])] < 0 || extents[std::size_t(axes[d])] == 1
                ? layout.extents[d]
                : extents[std::size_t(axes[d])];
    };
    for (std::size_t o = 0; o < typed.outputs.size(); ++o)
      if (part.wanted[o]) note(typed.outputs[o].axes, layouts.outputs[o]);
    for (std::size_t i = 0; i < typed.inputs.size(); ++i)
      if (read[i]) note(typed.inputs[i].axis_of_dim, layouts.inputs[i]);
    expr::AxisSet walked;
    for (std::size_t i = 0; i < typed.inputs.size(); ++i) {
      if (!read[i]) continue;
      walked = walked | typed.inputs[i].axes();
      step.from.push_back(typed.inputs[i].window
                              ? window_ref(reader, i, &part.seen[i - typed.given_inputs()])
                              : array_ref(reader, typed.inputs[i].axis_of_dim, reader.given[i],
                                          layouts.inputs[i], extents));
    }
    for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
      if (!part.wanted[o]) continue;
      for (const int axis : typed.outputs[o].axes) walked = walked | expr::AxisSet::of(axis);
      Ref &output = step.to.emplace_back(
          array_ref(reader, typed.outputs[o].axes, reader.outputs[o], layouts.outputs[o], extents));
      for (std::size_t d = 0; d < output.at.size();
           ++d) // of the shape of an input that nothing reads
        output.at[d].all =
            typed.outputs[o].axes[d] != typed.time &&
            layouts.outputs[o].extents[d] != extents[std::size_t(typed.outputs[o].axes[d])];
    }
    for (std::size_t axis = 0; axis < typed.axes.size(); ++axis) {
      if (!walked.has(int(axis)) || int(axis) == typed.time) continue;
      Range range{typed.axes[axis].name, 0, extents[axis]};
      if (!part.box.empty() && part.box[axis].count >= 0)
        range = {range.axis, part.box[axis].first, part.box[axis].count, part.box[axis].step};
      step.over.push_back(range);
    }
    to.push_back(std::move(step));
  }

  static std::vector<bool> elements_read(const TypedSpec &typed, const std::vector<bool> &wanted) {
    std::vector<bool> read(typed.inputs.size()), seen(typed.graph.size());
    std::vector<expr::NodeId> left;
    for (std::size_t o = 0; o < typed.outputs.size(); ++o)
      if (wanted[o]) left.push_back(typed.outputs[o].value);
    while (!left.empty()) {
      const expr::NodeId id = left.back();
      left.pop_back();
      if (seen[id.index]) continue;
      seen[id.index] = true;
      const expr::Node &node = typed.graph[id];
      if (node.kind == expr::NodeKind::Input) read[node.payload] = true;
      for (const expr::NodeId arg : typed.graph.operands(id)) left.push_back(arg);
    }
    return read;
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

  // Where a window looks: at the array, or at a copy of it.
  Ref window_ref(const Reader &reader, std::size_t i, const Seen *seen) const {
    const TypedSpec &typed = reader.typed();
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
    const Copy *copy = seen != nullptr && seen->padding ? find(reader, *seen->padding) : nullptr;
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

  const KernelImpl &kernel_;
  const Lets &lets_;
  calls::Call call_;
  std::set<std::string> taken_;
  std::vector<AnyView> inputs_, views_;
  std::shared_ptr<const WindowChoice> rest_;
  std::shared_ptr<const Lets::Layouts> layouts_;
  std::vector<bool> needed_;
  std::map<std::size_t, std::string> saved_; // [let]: the rows that it is computed again from
  std::string numbers_;
};

} // namespace

calls::Call describe_call(const KernelImpl &kernel) { return Describer(kernel).run(); }

} // namespace broadloom::jit

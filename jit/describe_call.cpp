// What a call of a kernel does (show.hpp).
#include "jit/show.hpp"

#include "jit/describe_windows.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace broadloom::jit {
namespace description {
namespace {

class Describer : WindowDescriber {
public:
  explicit Describer(const KernelImpl &kernel) : kernel_(kernel), lets_(kernel.subs().lets()) {}

  calls::Call run() {
    const TypedSpec &typed = kernel_.typed();
    call_.name = typed.name;
    for (const spec::TypedInput &input : typed.given()) taken_.insert(input.name);
    const std::vector<std::string> names = arrays_of_outputs(typed);
    taken_.insert(names.begin(), names.end());
    find_layouts();
    for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
      add(Owner::In, typed.inputs[i].name, typed.inputs[i].dtype, inputs_[i].layout);
    std::vector<Given> outputs;
    for (std::size_t o = 0; o < typed.outputs.size(); ++o) {
      const spec::TypedOutput &output = typed.outputs[o];
      outputs.push_back({names[o]});
      if (rest_->layouts.wanted[o])
        add(Owner::Out, names[o], output.dtype, rest_->layouts.outputs[o]);
    }
    if (kernel_.setup().engine == Engine::reference) {
      by_reference(names);
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
      inputs_ = typical_views(typed);
      inputs_.resize(typed.callers_inputs());
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
    rest_ = planned_windows(kernel_, operands);
  } catch (const ShapeError &error) {
    support::fail("E0501",
                  fmt::format("kernel '{}' was not called, and no typical extents fit: {}",
                              kernel_.typed().name, error.message()),
                  {}, "call or prepare it first, or give data by --in");
  }

  void by_reference(const std::vector<std::string> &outputs) {
    const TypedSpec &typed = kernel_.typed();
    Step &step = call_.steps.emplace_back();
    step.kernel = typed.name;
    step.note = "by the reference, from the definition";
    for (std::size_t i = 0; i < typed.callers_inputs(); ++i)
      step.from.push_back({typed.inputs[i].name, {}});
    for (std::size_t o = 0; o < typed.outputs.size(); ++o)
      if (rest_->layouts.wanted[o]) step.to.push_back({outputs[o], {}});
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
        const std::vector<const AnyView *> operands =
            lets_.operands(k, kernel::pointers_to(inputs_), views_);
        const KernelImpl &kernel = *lets_.kernels()[k];
        Reader reader{kernel,
                      choice_of(kernel, std::span(operands).first(operands.size() - 1)),
                      given(let.typed, nullptr),
                      {{name_of(k)}}};
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
  void loop(std::size_t first) {
    const spec::Recurrence &loop = *recurrence(first);
    const std::size_t end = first + loop.count;
    const std::int64_t segment = layouts_->segment[first];
    const std::int64_t steps = layouts_->lets[first].extents[loop.dim];
    Step turns{.kind = Kind::For};
    std::vector<Reader> members;
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
    for (Reader &member : members) copies_of(member, call_.steps);
    for (std::size_t k = first; k < end; ++k) start(k, call_.steps);
    for (std::size_t k = first; k < end; ++k)
      for (std::int64_t c = 0; c < recurrence(k)->lag; ++c)
        pad_rows(members, k, at(recurrence(k)->backwards ? steps + c : c - recurrence(k)->lag),
                 call_.steps);
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
    kernel::WindowedOperands::How how = lets_.kernels()[k]->setup().windows_of_nothing();
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

  const KernelImpl &kernel_;
  const Lets &lets_;
  std::vector<AnyView> inputs_, views_;
  std::shared_ptr<const WindowChoice> rest_;
  std::shared_ptr<const Lets::Layouts> layouts_;
  std::vector<bool> needed_;
  std::map<std::size_t, std::string> saved_; // [let]: the rows that it is computed again from
  std::string numbers_;
};

} // namespace
} // namespace description

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

calls::Call describe_call(const KernelImpl &kernel) { return description::Describer(kernel).run(); }

} // namespace broadloom::jit

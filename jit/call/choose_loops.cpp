// How loops over time run in a call: see call_chooser.hpp.
#include "jit/call/call_chooser.hpp"

#include "array/copy.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::jit::choice {

// A loop over time, which begins with let k.
void CallChooser::loop(std::size_t first, Steps all) {
  const spec::Recurrence &loop = *recurrence(first);
  const std::size_t end = first + loop.count;
  const std::int64_t steps = layouts_->lets[first].extents[loop.dim];
  if (lets_.keeps_last_rows(first)) plan_->paths.push_back(Path::RowsKept);
  if (layouts_->segment(first) > 0) plan_->paths.push_back(Path::Checkpoints);
  const bool is_empty = element_count(layouts_->lets[first]) == 0 && loop.count == 1;
  std::vector<Action> none;
  Steps outside{all.shown, is_empty || is_reference_ ? none : all.actions};
  const std::size_t index = plan_->loops.size();
  loops_[first] = index;
  made_at_[first] = now_;
  TimeLoop &made = plan_->loops.emplace_back(steps, loop.backwards, layouts_->segments[first],
                                             lets_.last_step_read(first));
  Step turns{.kind = Kind::For};
  Steps inside{turns.body, made.body};
  std::vector<Reader> members;
  for (std::size_t k = first; k < end; ++k) {
    const TypedSpec &typed = lets_.nests()[k]->typed();
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
  if (made.segment() > 0) save(first, end, index, inside);
  for (const std::size_t other : followed(first, end)) again(other, members, inside);
  for (std::size_t k = first; k < end; ++k) {
    Reader &member = members[k - first];
    runs(member, inside);
    pad_rows(members, k, {.terms = {{turns.over[0].axis, 1}}},
             {.first = recurrence(k)->backwards ? 0 : recurrence(k)->lag, .moves = true}, inside);
  }
  if (const auto end = spec::early_end(lets_.specs(), first); end && !end->moves)
    end_at(*end, made, turns);
  else if (const auto rest = lets_.rest_of(first, *layouts_))
    rest_at(*rest, made, turns);
  outside.shown.push_back(std::move(turns));
  outside.actions.push_back(For{index});
  if (is_reference_ && !is_empty) all.actions.push_back(ByReference{first});
}

void CallChooser::end_at(const spec::EarlyEnd &end, TimeLoop &made, Step &turns) {
  made.end = {end.done - first_member_, end.more};
  turns.from = {
      {name_of(end.done),
       {{.constant = made.backwards ? end.more : -end.more, .terms = {{turns.over[0].axis, 1}}}}}};
  turns.note = "the rows behind that step repeat its row";
}

void CallChooser::rest_at(const Lets::Rest &rest, TimeLoop &made, Step &turns) {
  made.rest = {operand_of(views_[rest.says]), rest.shift, rest.after};
  turns.from = {
      {name_of(rest.says), {{.constant = rest.shift, .terms = {{turns.over[0].axis, 1}}}}}};
  turns.each = rest.after;
  turns.note = "a further step at which it is true repeats the rows before";
}

Reader CallChooser::member(std::size_t k, const std::string &time) {
  const Nest &nest = *lets_.nests()[k];
  const spec::Recurrence &own = *recurrence(k);
  Reader made = reader(nest, lets_.operands(k, inputs_, views_), given(nest.typed(), &k),
                       {{name_of(k), own.dim, 0, layouts_->kept_rows[k]}});
  made.time = time;
  made.let = k;
  made.own_rows = {0, own.dim, layouts_->kept_rows[k], own.backwards ? 0 : own.lag};
  for (const spec::Recurrence::Read &read : own.reads)
    made.rows.push_back({read.input, recurrence(read.let)->dim, layouts_->kept_rows[read.let]});
  for (std::size_t i = 0; i < nest.typed().given_inputs(); ++i)
    if (const auto read = read_again(k, i))
      made.rows.push_back(
          {i, recurrence(read->let)->dim, layouts_->kept_rows[read->let], read->first, false});
  kernel::WindowRules rules = nest.setup().windows();
  rules.may_fill = false; // a step fills nothing by itself
  choose(made, {}, rules);
  return made;
}

// What let k, a member of a loop, reads of a loop that is computed again for it.
std::optional<Lets::LoopRead> CallChooser::read_again(std::size_t k, std::size_t input) const {
  const auto read = lets_.computed_again(k, input);
  return read && layouts_->segment(read->let) > 0 ? read : std::nullopt;
}

std::set<std::size_t> CallChooser::followed(std::size_t first, std::size_t end) const {
  std::set<std::size_t> loops;
  for (std::size_t k = first; k < end; ++k)
    for (std::size_t i = 0; i < lets_.nests()[k]->typed().given_inputs(); ++i)
      if (const auto read = read_again(k, i); read && needed_[read->let])
        loops.insert(recurrence(read->let)->first);
  return loops;
}

AnyView CallChooser::with_start(std::size_t k) const {
  const spec::Recurrence &loop = *recurrence(k);
  return array::rows_of(views_[k], loop.dim, loop.backwards ? 0 : -loop.lag,
                        views_[k].layout.extents[loop.dim] + loop.lag);
}

TimeLoop::Member CallChooser::rows_of_member(std::size_t k) const {
  const spec::Recurrence &loop = *recurrence(k);
  TimeLoop::Member made{operand_of(with_start(k)), {}, loop.dim, loop.lag, layouts_->kept_rows[k]};
  if (layouts_->segment(k) > 0) made.saved = operand_of(lets_.checkpoints(k, views_));
  return made;
}

void CallChooser::declare_numbers(std::size_t k, std::int64_t steps, Steps to) {
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
void CallChooser::start(std::size_t k, Steps to) {
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

AnyView CallChooser::started_from(const spec::Recurrence &loop, const AnyView &row) const {
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

void CallChooser::save(std::size_t first, std::size_t end, std::size_t index, Steps to) {
  const Segments &segments = layouts_->segments[first];
  for (std::size_t k = first; k < end; ++k) {
    const spec::Recurrence &loop = *recurrence(k);
    const std::string saved = fresh(name_of(k) + "_saved");
    saved_[k] = saved;
    calls::Array &array = add(Owner::Temp, saved, lets_.specs()[k]->typed.outputs[0].dtype,
                              lets_.checkpoints(k, views_).layout);
    array.note =
        fmt::format("{} before each of {}, and the last row", support::count(loop.lag, "row"),
                    support::count(segments.places, "segment"));
    Step step{.kind = Kind::Save};
    step.to = {{saved, {}}};
    step.from = {{name_of(k), {}}};
    step.each = segments.steps;
    to.shown.push_back(std::move(step));
  }
  to.actions.push_back(Save{index});
}

void CallChooser::again(std::size_t other, std::vector<Reader> &members, Steps to) {
  const spec::Recurrence &loop = *recurrence(other);
  Step step{.kind = Kind::Again};
  step.each = layouts_->segment(other);
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
void CallChooser::pad_rows(std::vector<Reader> &members, std::size_t k, const Affine &shown,
                           Pad::Row row, Steps to) {
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
          row.most =
              layouts_->lets[first_member_].extents[recurrence(first_member_)->dim] + read.more;
      Pad action = copy.action;
      action.comes_later = false;
      action.row = row;
      to.actions.push_back(std::move(action));
    }
}

} // namespace broadloom::jit::choice

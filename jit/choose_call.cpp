// See choose_call.hpp.
#include "jit/choose_call.hpp"

#include "array/copy.hpp"
#include "jit/choose_tiles.hpp"
#include "jit/specialise.hpp"
#include "spec/early_end.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace broadloom::jit {
namespace choice {
namespace {

class CallChooser : TileChooser {
public:
  CallChooser(const KernelImpl &kernel, kernel::Operands call, const kernel::Overlaps &overlaps,
              Purpose purpose, bool may_tile)
      : TileChooser(kernel, call.size(), purpose), lets_(kernel.subs().lets()), overlaps_(overlaps),
        may_tile_(may_tile) {
    for (std::size_t k = 0; k < call.size(); ++k) {
      named_.push_back(call[k] != nullptr ? *call[k] : AnyView());
      if (call[k] != nullptr) named_.back().data = address_of(k);
      is_named_.push_back(call[k] != nullptr);
    }
  }

  // Null where lets that were to be in tiles cannot be.
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
      layouts_ = lets_.layouts(inputs_);
      needed_ = plan_->needed = lets_.needed(outputs_);
      views_ = lets_.views(*layouts_, static_cast<char *>(address_of(named_.size())));
      if (may_tile_) find_tiles();
      plan_->lets = layouts_;
    }
    Reader rest = reader(kernel_, lets_.operands_of_rest(inputs_, views_, outputs_),
                         given(typed, nullptr), std::move(outputs));
    choose(rest, overlaps_, rules_of(lets_.specs().size()));
    if (is_run_) check_outputs(rest);
    Steps steps{call_.steps, plan_->actions};
    if (!lets_.empty()) lets(steps);
    ++now_;
    if (!lets_.empty()) rest.given = given(typed, nullptr); // some are saved rows now
    read_in_tiles(lets_.specs().size(), rest, steps);
    if (!fits_) return nullptr;
    if (is_reference_) by_reference(names);
    plan_->shown = std::move(call_);
    find_places(layouts_ ? layouts_->bytes_to_have() : 0);
    return plan_;
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

  // Mistakes in shapes come before those in data, which may come of them.
  void check_outputs(const Reader &rest) const {
    std::vector<AnyView> views(rest.views.begin(),
                               rest.views.begin() + std::ptrdiff_t(rest.typed().given_inputs()));
    for (std::size_t i = views.size(); i < rest.typed().inputs.size(); ++i)
      views.push_back(
          {rest.typed().inputs[i].dtype, nullptr, false, rest.choice->layouts.inputs[i]});
    std::vector<const AnyView *> operands = kernel::pointers_to(views);
    operands.insert(operands.end(), outputs_.begin(), outputs_.end());
    kernel::check_operands(rest.typed(), operands);
    kernel::Layouts layouts;
    if (!rest.choice->fills_output) resolve(kernel_.setup(), operands, layouts);
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

  // Where nothing that is written is read as well, so that no tile is read behind one.
  void find_tiles() {
    if (is_reference_ || kernel_.setup().is_debugged() || !overlaps_.written.empty()) return;
    groups_ = find_groups(kernel_, needed_, inputs_, views_, outputs_, plan_->not_in_tiles);
    if (groups_.empty()) return;
    std::vector<Lets::InTiles> lets;
    for (const TileGroup &group : groups_)
      for (const TileMember &member : group.members)
        if (&member != &group.members.back())
          lets.push_back({member.let, group.members.back().let});
    layouts_ = lets_.in_tiles(*layouts_, lets);
    views_ = lets_.views(*layouts_, static_cast<char *>(address_of(named_.size())));
    for (TileGroup &group : groups_)
      for (std::size_t m = 0; m + 1 < group.members.size(); ++m)
        lay(group.members[m]); // its rows have memory while they are read
  }
  void lay(TileMember &member) {
    AnyView &view = views_[member.let];
    if (!member.border) // rows may begin further apart than they are long
      view.layout.strides[*outermost_dim(view.layout)] =
          member.row_bytes / std::int64_t(size_of(view.dtype));
    view.data = new_copy(view.dtype, view.layout, kernel::Reach{}).data; // of row 0
    if (!member.border) return;
    AnyView copy = member.border->copy.view;
    view.layout.strides = copy.layout.strides;
    copy.data = static_cast<char *>(view.data) - member.border->before() * member.row_bytes;
    member.border->copy = operand_of(copy);
    for (const TypedWindow::Pad &pad : member.border->padding.pads)
      if (std::size_t(pad.dim) != member.border->dim)
        view.data = array::rows_of(view, std::size_t(pad.dim), pad.before, 1).data;
  }

  // Who sees a copy of borders of tiles is not split into parts.
  kernel::WindowRules rules_of(std::size_t let) const {
    for (const TileGroup &group : groups_)
      for (const TileMember &member : group.members)
        if (member.let == let && std::ranges::any_of(member.reads, [](const RowsRead &read) {
              return read.padding.has_value();
            }))
          return {};
    return (let < lets_.specs().size() ? *lets_.kernels()[let] : kernel_).setup().windows();
  }

  // A let, or the kernel itself, with all lets that are computed in tiles of it.
  void read_in_tiles(std::size_t let, Reader &last, Steps to) {
    const auto group = std::ranges::find(
        groups_, let, [](const TileGroup &group) { return group.members.back().let; });
    if (group == groups_.end()) return read(last, to);
    std::vector<Reader> members;
    for (const TileMember &member : group->members)
      members.push_back(&member == &group->members.back() ? last : reader_of(member.let));
    fits_ = fits_ && in_tiles(*group, members, to);
  }
  Reader reader_of(std::size_t k) {
    const KernelImpl &kernel = *lets_.kernels()[k];
    Reader made = reader(kernel, lets_.operands(k, inputs_, views_), given(kernel.typed(), nullptr),
                         {{name_of(k)}});
    choose(made, {}, rules_of(k));
    return made;
  }

  void lets(Steps to) {
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
        if (!layouts_->in_tiles.empty() && layouts_->in_tiles[k]) continue;
        ++now_;
        Reader made = reader_of(k);
        read_in_tiles(k, made, to);
        tell(k, operand_of(views_[k]), to);
      } else if (let.recurrence->first == k) {
        ++now_;
        loop(k, to);
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
      input.again = follows && layouts_->segment(loop) > 0;
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

  void end_at(const spec::EarlyEnd &end, TimeLoop &made, Step &turns) {
    made.end = {end.done - first_member_, end.more};
    turns.from = {{name_of(end.done),
                   {{.constant = made.backwards ? end.more : -end.more,
                     .terms = {{turns.over[0].axis, 1}}}}}};
    turns.note = "the rows behind that step repeat its row";
  }

  void rest_at(const Lets::Rest &rest, TimeLoop &made, Step &turns) {
    made.rest = {operand_of(views_[rest.says]), rest.shift, rest.after};
    turns.from = {
        {name_of(rest.says), {{.constant = rest.shift, .terms = {{turns.over[0].axis, 1}}}}}};
    turns.each = rest.after;
    turns.note = "a further step at which it is true repeats the rows before";
  }

  Reader member(std::size_t k, const std::string &time) {
    const KernelImpl &kernel = *lets_.kernels()[k];
    const spec::Recurrence &own = *recurrence(k);
    Reader made = reader(kernel, lets_.operands(k, inputs_, views_), given(kernel.typed(), &k),
                         {{name_of(k), own.dim, 0, layouts_->kept_rows[k]}});
    made.time = time;
    made.let = k;
    made.own_rows = {0, own.dim, layouts_->kept_rows[k], own.backwards ? 0 : own.lag};
    for (const spec::Recurrence::Read &read : own.reads)
      made.rows.push_back({read.input, recurrence(read.let)->dim, layouts_->kept_rows[read.let]});
    for (std::size_t i = 0; i < kernel.typed().given_inputs(); ++i)
      if (const auto read = read_again(k, i))
        made.rows.push_back(
            {i, recurrence(read->let)->dim, layouts_->kept_rows[read->let], read->first, false});
    kernel::WindowRules rules = kernel.setup().windows();
    rules.may_fill = false; // a step fills nothing by itself
    choose(made, {}, rules);
    return made;
  }

  // What let k, a member of a loop, reads of a loop that is computed again for it.
  std::optional<Lets::LoopRead> read_again(std::size_t k, std::size_t input) const {
    const auto read = lets_.computed_again(k, input);
    return read && layouts_->segment(read->let) > 0 ? read : std::nullopt;
  }

  std::set<std::size_t> followed(std::size_t first, std::size_t end) const {
    std::set<std::size_t> loops;
    for (std::size_t k = first; k < end; ++k)
      for (std::size_t i = 0; i < lets_.kernels()[k]->typed().given_inputs(); ++i)
        if (const auto read = read_again(k, i); read && needed_[read->let])
          loops.insert(recurrence(read->let)->first);
    return loops;
  }

  AnyView with_start(std::size_t k) const {
    const spec::Recurrence &loop = *recurrence(k);
    return array::rows_of(views_[k], loop.dim, loop.backwards ? 0 : -loop.lag,
                          views_[k].layout.extents[loop.dim] + loop.lag);
  }

  TimeLoop::Member rows_of_member(std::size_t k) const {
    const spec::Recurrence &loop = *recurrence(k);
    TimeLoop::Member made{
        operand_of(with_start(k)), {}, loop.dim, loop.lag, layouts_->kept_rows[k]};
    if (layouts_->segment(k) > 0) made.saved = operand_of(lets_.checkpoints(k, views_));
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

  void again(std::size_t other, std::vector<Reader> &members, Steps to) {
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
            row.most =
                layouts_->lets[first_member_].extents[recurrence(first_member_)->dim] + read.more;
        Pad action = copy.action;
        action.comes_later = false;
        action.row = row;
        to.actions.push_back(std::move(action));
      }
  }

  const Lets &lets_;
  const kernel::Overlaps &overlaps_;
  std::vector<AnyView> named_; // by the caller
  std::vector<bool> is_named_;
  std::vector<const AnyView *> inputs_, outputs_;
  std::vector<AnyView> views_; // of lets
  std::shared_ptr<const Lets::Layouts> layouts_;
  std::vector<bool> needed_;
  std::vector<TileGroup> groups_;
  const bool may_tile_;
  bool fits_ = true;
  std::map<std::size_t, std::size_t> loops_, made_at_; // [first let]: its number; when
  std::size_t first_member_ = 0;                       // of the loop that is chosen
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
  std::shared_ptr<const CallPlan> plan =
      choice::CallChooser(kernel, call, overlaps, purpose, true).run();
  return plan ? plan : choice::CallChooser(kernel, call, overlaps, purpose, false).run();
}

} // namespace broadloom::jit

// See call_chooser.hpp and, for choose_call, choose_call.hpp.
#include "jit/call/choose_call.hpp"

#include "array/copy.hpp"
#include "jit/call/call_chooser.hpp"
#include "jit/nest/specialise.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::jit {
namespace choice {

// Null where lets that were to be in tiles cannot be.
std::shared_ptr<const CallPlan> CallChooser::run() {
  const TypedSpec &typed = nests_.rest.typed();
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
  Reader rest = reader(nests_.rest, lets_.operands_of_rest(inputs_, views_, outputs_),
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

void CallChooser::by_reference(const std::vector<std::string> &outputs) {
  const TypedSpec &typed = nests_.rest.typed();
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
void CallChooser::check_outputs(const Reader &rest) const {
  std::vector<AnyView> views(rest.views.begin(),
                             rest.views.begin() + std::ptrdiff_t(rest.typed().given_inputs()));
  for (std::size_t i = views.size(); i < rest.typed().inputs.size(); ++i)
    views.push_back({rest.typed().inputs[i].dtype, nullptr, false, rest.choice->layouts.inputs[i]});
  std::vector<const AnyView *> operands = kernel::pointers_to(views);
  operands.insert(operands.end(), outputs_.begin(), outputs_.end());
  kernel::check_operands(rest.typed(), operands);
  kernel::Layouts layouts;
  if (!rest.choice->fills_output) resolve(nests_.rest.setup(), operands, layouts);
}

// Where nothing that is written is read as well, so that no tile is read behind one.
void CallChooser::find_tiles() {
  if (is_reference_ || nests_.rest.setup().is_debugged() || !overlaps_.written.empty()) return;
  groups_ = find_groups(nests_, needed_, inputs_, views_, outputs_, plan_->not_in_tiles);
  if (groups_.empty()) return;
  std::vector<Lets::InTiles> lets;
  for (const TileGroup &group : groups_)
    for (const TileMember &member : group.members)
      if (&member != &group.members.back()) lets.push_back({member.let, group.members.back().let});
  layouts_ = lets_.in_tiles(*layouts_, lets);
  views_ = lets_.views(*layouts_, static_cast<char *>(address_of(named_.size())));
  for (TileGroup &group : groups_)
    for (std::size_t m = 0; m + 1 < group.members.size(); ++m)
      lay(group.members[m]); // its rows have memory while they are read
}

void CallChooser::lay(TileMember &member) {
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
kernel::WindowRules CallChooser::rules_of(std::size_t let) const {
  for (const TileGroup &group : groups_)
    for (const TileMember &member : group.members)
      if (member.let == let && std::ranges::any_of(member.reads, [](const RowsRead &read) {
            return read.padding.has_value();
          }))
        return {};
  return nests_.of(let).setup().windows();
}

// A let, or the kernel itself, with all lets that are computed in tiles of it.
void CallChooser::read_in_tiles(std::size_t let, Reader &last, Steps to) {
  const auto group = std::ranges::find(
      groups_, let, [](const TileGroup &group) { return group.members.back().let; });
  if (group == groups_.end()) return read(last, to);
  std::vector<Reader> members;
  for (const TileMember &member : group->members)
    members.push_back(&member == &group->members.back() ? last : reader_of(member.let));
  fits_ = fits_ && in_tiles(*group, members, to);
}

Reader CallChooser::reader_of(std::size_t k) {
  const Nest &nest = *lets_.nests()[k];
  Reader made = reader(nest, lets_.operands(k, inputs_, views_), given(nest.typed(), nullptr),
                       {{name_of(k)}});
  choose(made, {}, rules_of(k));
  return made;
}

void CallChooser::lets(Steps to) {
  for (std::size_t k = 0; k < lets_.specs().size(); ++k) {
    if (lets_.rows_of_loop(k)) plan_->paths.push_back(Path::RowsOfLoop);
    declare(k);
  }
  for (std::size_t k = 0; k < lets_.specs().size(); ++k) {
    const spec::Materialised &let = *lets_.specs()[k];
    if (!is_made(k)) continue;
    if (let.join) {
      join(k, to);
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
bool CallChooser::is_made(std::size_t k) const {
  if (const auto &join = lets_.specs()[k]->join)
    return std::ranges::any_of(join->parts, [&](const std::string &part) {
      const std::optional<std::size_t> let = let_called(part);
      return let && is_made(*let);
    });
  return lets_.rows_of_loop(k) ? needed_[lets_.rows_of_loop(k)->loop] : needed_[k];
}

void CallChooser::declare(std::size_t k) {
  if (!is_made(k)) return;
  const spec::Recurrence *loop = recurrence(k);
  calls::Array &array =
      add(Owner::Temp, name_of(k), lets_.specs()[k]->typed.outputs[0].dtype, layouts_->lets[k]);
  taken_.insert(array.name);
  if (loop != nullptr) {
    array.extents[loop->dim] += loop->lag;
    array.rows = {loop->dim, loop->backwards ? 0 : -loop->lag, layouts_->kept_rows[k], false,
                  loop->backwards ? loop->lag : 0};
    if (lets_.keeps_last_rows(k)) array.note = "only its last position is read";
  }
  if (layouts_->bytes[k] > 0) array.place = {layouts_->bytes[k], layouts_->places.starts[k]};
  if (std::ranges::count(layouts_->reordered, k) != 0)
    array.note = fmt::format("strides {}: as what reads it goes through it",
                             fmt::join(layouts_->lets[k].steps(), ", "));
}

void CallChooser::join(std::size_t k, Steps to) {
  const std::vector<std::string> &parts = lets_.specs()[k]->join->parts;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::optional<std::size_t> part = let_called(parts[p]);
    if (!part || !is_made(*part)) continue;
    Step &step = to.shown.emplace_back();
    step.kind = Kind::View;
    const Layout &layout = layouts_->lets[*part];
    for (std::size_t d = 0; d < std::size_t(layout.rank); ++d)
      step.over.push_back({fmt::format("p{}", d), 0, layout.extents[d]});
    step.from = {ref_over(parts[p], step.over)};
    Ref &whole = step.to.emplace_back(Ref{name_of(k), {}});
    for (const kernel::PartDim &place : layouts_->wholes[k].places[p]) {
      whole.at.push_back(at(place.first));
      if (place.own >= 0)
        whole.at.back().terms = {{step.over[std::size_t(place.own)].axis, place.times}};
    }
    step.note = "it was computed where it lies there";
  }
}

std::vector<Range> CallChooser::ranges_of(const std::string &array) const {
  std::vector<Range> made;
  for (const std::int64_t extent : call_.find(array)->extents)
    made.push_back({fmt::format("p{}", made.size()), 0, extent});
  return made;
}

void CallChooser::rows_of_loop(std::size_t k) {
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

// What the inputs of a nest are, of one of a loop with its steps.
std::vector<Given> CallChooser::given(const TypedSpec &typed, const std::size_t *member) {
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

std::optional<std::size_t> CallChooser::let_called(const std::string &name) const {
  for (std::size_t k = 0; k < lets_.specs().size(); ++k)
    if (name_of(k) == name) return k;
  return std::nullopt;
}

std::vector<const AnyView *> CallChooser::all_named() const {
  std::vector<const AnyView *> all = inputs_;
  all.insert(all.end(), outputs_.begin(), outputs_.end());
  return all;
}

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

std::shared_ptr<const CallPlan> choose_call(const Nests &nests, kernel::Operands call,
                                            const kernel::Overlaps &overlaps, Purpose purpose) {
  std::shared_ptr<const CallPlan> plan =
      choice::CallChooser(nests, call, overlaps, purpose, true).run();
  return plan ? plan : choice::CallChooser(nests, call, overlaps, purpose, false).run();
}

} // namespace broadloom::jit

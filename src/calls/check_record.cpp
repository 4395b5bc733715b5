// See record.hpp. The printed call is gone through as it would run, and each of its steps takes the
// event that it says.
#include "calls/record.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace broadloom::calls {
namespace {

using Kind = Step::Kind;

// Where an array lies: element 0 of each dim, of rows the first, and strides in bytes.
struct Memory {
  const char *begin = nullptr;
  std::vector<std::int64_t> strides = {};
};

Memory memory_of(const AnyView &view) {
  Memory made{static_cast<const char *>(view.data)};
  for (const std::int64_t stride : view.layout.steps())
    made.strides.push_back(stride * std::int64_t(size_of(view.dtype)));
  return made;
}

// Where a row lies: of an array of which few are kept one takes the place of another. Of tiles a
// call that is recorded keeps all.
std::int64_t place_of_row(const Array::Rows &rows, std::int64_t row) {
  const std::int64_t place = row - rows.from;
  return rows.kept > 0 && !rows.in_tiles ? place % rows.kept : place;
}

class Checker {
public:
  Checker(const Record &record, const Call &call)
      : events_(record.events), call_(call), taken_(record.events.size()) {
    for (const auto &[name, view] : record.arrays) memory_[name] = memory_of(view);
  }

  void run() {
    go_through(call_.steps);
    for (std::size_t e = 0; e < events_.size(); ++e)
      if (!taken_[e])
        fail(fmt::format("it ran '{}', of which its steps say nothing", text_of(events_[e])));
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    std::string text = print(call_) + "# what ran:\n";
    for (std::size_t e = 0; e < std::min<std::size_t>(events_.size(), 200); ++e)
      text += fmt::format("# {} {}\n", taken_[e] ? "told" : "    ", text_of(events_[e]));
    throw InternalError("a call is not what is shown of it: " + what, text);
  }

  static std::string text_of(const Event &event) {
    return fmt::format("{}{}{}", word_of(event.kind), event.kernel.empty() ? "" : " ",
                       event.kernel);
  }

  void go_through(const std::vector<Step> &steps) {
    bool is_there = false; // what the step before would have computed again
    for (const Step &step : steps) {
      if (step.kind == Kind::Pad && is_there) continue;
      is_there = false;
      switch (step.kind) {
      case Kind::For: loop(step); break;
      case Kind::View: break; // where it lies the record says
      case Kind::Run: nest(step); break;
      case Kind::Gather:
      case Kind::Scatter:
      case Kind::Copy:
      case Kind::Count: copy(step); break;
      case Kind::Start: start(step); break;
      case Kind::Pad: pad(step); break;
      case Kind::Save: save(step); break;
      case Kind::Again: is_there = !again(); break;
      }
    }
  }

  void loop(const Step &step) {
    const Range &range = step.over[0];
    for (std::int64_t k = 0; k < range.count; ++k) {
      const std::int64_t n = step.down ? range.count - 1 - k : k;
      axes_[range.axis] = range.first + n * range.step;
      if (step.each > 0 && looked(step)) continue;
      go_through(step.body);
      if (step.each == 0 && looked(step)) break;
    }
    axes_.erase(range.axis);
  }

  // Whether the loop ended behind this step, or rests at it: it looked at what says so, before any
  // further nest ran.
  bool looked(const Step &step) {
    const Event *end = next(Kind::For);
    const Event *run = next(Kind::Run);
    if (step.from.empty() || end == nullptr || (run != nullptr && run < end)) return false;
    see({.kind = Kind::For}, step.from, end->from);
    take(*end);
    return true;
  }

  // The next of this kind; null: there is none.
  const Event *next(Kind kind) {
    std::size_t &e = next_[std::size_t(kind)];
    while (e < events_.size() && (taken_[e] || events_[e].kind != kind)) ++e;
    return e < events_.size() ? &events_[e] : nullptr;
  }
  void take(const Event &event) {
    const auto e = std::size_t(&event - events_.data());
    taken_[e] = true;
    if (event.kind == Kind::Run) latest_run_ = e;
  }
  const Event &expect(const Step &step) {
    const Event *event = next(step.kind);
    if (event == nullptr || event->kernel != step.kernel)
      fail(fmt::format("'{}' did not run there, but '{}'", name_of(step),
                       event != nullptr ? text_of(*event) : "nothing"));
    take(*event);
    return *event;
  }
  static std::string name_of(const Step &step) {
    return fmt::format("{} = {} {}({})", step.to.empty() ? "" : print(step.to[0]),
                       word_of(step.kind), step.kernel,
                       step.from.empty() ? "" : print(step.from[0]));
  }

  void nest(const Step &step) {
    const Event *run = next(Kind::Run);
    if (writes_nothing(step) && (run == nullptr || run->kernel != step.kernel)) return;
    const Event &event = expect(step);
    see(step, step.from, event.from);
    see(step, step.to, event.to);
  }
  bool writes_nothing(const Step &step) const {
    return std::ranges::all_of(step.to, [&](const Ref &ref) {
      return std::ranges::count(call_.find(ref.array)->extents, 0) > 0;
    });
  }

  void copy(const Step &step) {
    if (step.kind == Kind::Gather && writes_nothing(step)) return;
    const Event &event = expect(step);
    see(step, step.from, event.from);
    see(step, step.to, event.to);
  }

  // One event for each row, if rows have elements.
  void start(const Step &step) {
    if (writes_nothing(step)) return;
    const std::size_t dim = call_.find(step.to[0].array)->rows->dim;
    Step row = step;
    for (std::int64_t c = 0; c < step.over[dim].count; ++c) {
      row.over[dim].first = step.over[dim].first + c;
      row.over[dim].count = 1;
      const Event &event = expect(step);
      learn_of_row(row.to[0].array, row.over[dim].first, event.to[0].view);
      Operand from = event.from[0];
      for (const Range &range : step.over) from.axes.push_back(range.axis);
      see(row, row.from, {from});
      see(row, row.to, event.to);
    }
  }

  // Where an array lies of which this is a row.
  void learn_of_row(const std::string &name, std::int64_t row, const AnyView &view) {
    const Array::Rows &rows = *call_.find(name)->rows;
    Memory made = memory_of(view);
    made.begin -= place_of_row(rows, row) * made.strides[rows.dim];
    memory_.emplace(name, std::move(made));
  }

  // Those of a row, in any order where several copies of it are made; rows that a copy has not are
  // left out.
  void pad(const Step &step) {
    for (const Range &range : step.over) axes_[range.axis] = first_of(range); // rows, from it on
    pad_rows(step);
    for (const Range &range : step.over) axes_.erase(range.axis);
  }
  void pad_rows(const Step &step) {
    const Array &array = *call_.find(step.to[0].array);
    if (!step.to[0].at.empty() && array.rows) {
      const std::int64_t row = value(step.to[0].at[array.rows->dim]).value_or(0) - array.rows->from;
      if (row < 0 || row >= array.extents[array.rows->dim]) return;
    }
    next(Kind::Pad);
    for (std::size_t e = std::max(next_[std::size_t(Kind::Pad)], latest_run_); e < events_.size();
         ++e) {
      const Event &event = events_[e];
      if (event.kind == Kind::Run && !taken_[e]) break;
      if (taken_[e] || event.kind != Kind::Pad || !copies(step, event)) continue;
      take(event);
      return;
    }
    fail(fmt::format("'{}' was not copied there", print(step.to[0])));
  }

  // Whether this event is that step; an array that nobody saw yet is the one of the event.
  bool copies(const Step &step, const Event &event) {
    const AnyView &from = event.from[0].view, &to = event.to[0].view;
    const auto source = memory_.find(step.from[0].array);
    const bool is_row = !step.from[0].at.empty();
    const bool copied_all =
        event.to.size() == 1 || element_count(event.to[1].view.layout) == element_count(to.layout);
    if (is_row ? event.to.size() == 1 : !copied_all) return false;
    const Array &copy = *call_.find(step.to[0].array);
    if (!copy.rows && !std::ranges::equal(copy.extents, to.layout.shape())) return false;
    if (!has_borders(step, event, copy)) return false;
    if (source != memory_.end() && source->second.begin != from.data && from.data != nullptr &&
        (is_row || first_step(step.from[0].array, source->second) != from.data))
      return false;
    const auto known = memory_.find(step.to[0].array);
    if (known == memory_.end())
      memory_[step.to[0].array] = memory_of(to);
    else if (known->second.begin != to.data)
      return false;
    return !is_row || (event.from[1].view.data == row_at(step.from[0], from) &&
                       event.to[1].view.data == row_at(step.to[0], to));
  }

  // Along the rows of a loop of which few are kept a copy has those.
  static bool has_borders(const Step &step, const Event &event, const Array &copy) {
    if (step.reach.size() != event.reach.size() || step.borders.size() != event.borders.size())
      return false;
    for (std::size_t d = 0; d < step.reach.size(); ++d)
      if (!(copy.rows && copy.rows->dim == d) && step.reach[d] != event.reach[d]) return false;
    return std::ranges::equal(step.borders, event.borders, [](const Border &a, const Border &b) {
      return a.dim == b.dim && a.before == b.before && a.after == b.after;
    });
  }

  // A row `u[t, :]`.
  const char *row_at(const Ref &ref, const AnyView &view) const {
    const Memory memory = memory_of(view);
    const std::optional<Array::Rows> &rows = call_.find(ref.array)->rows;
    if (!rows) return memory.begin;
    const std::int64_t row = value(ref.at[rows->dim]).value_or(0);
    return memory.begin + place_of_row(*rows, row) * memory.strides[rows->dim];
  }

  // Row 0 of an array that has rows before it.
  const char *first_step(const std::string &name, const Memory &memory) const {
    const Array &array = *call_.find(name);
    return array.rows ? memory.begin - array.rows->from * memory.strides[array.rows->dim]
                      : memory.begin;
  }

  void save(const Step &step) {
    const Event *event = next(Kind::Save);
    if (event == nullptr || next(Kind::Run) < event ||
        event->from[0].view.data != memory_[step.from[0].array].begin)
      return;
    take(*event);
    memory_.emplace(step.to[0].array, memory_of(event->to[0].view));
  }

  // Whether a segment was computed again here: all that ran for it stands between two events.
  bool again() {
    const Event *begin = next(Kind::Again);
    if (begin == nullptr || next(Kind::Run) < begin) return false;
    auto e = std::size_t(begin - events_.data());
    do taken_[e] = true;
    while (events_[++e].kind != Kind::Again);
    taken_[e] = true;
    return true;
  }

  std::optional<std::int64_t> value(const Affine &position) const {
    if (position.all || !position.indices.empty() || !position.outside.empty()) return std::nullopt;
    std::int64_t sum = position.constant;
    for (const Affine::Term &term : position.terms) {
      const auto axis = axes_.find(term.axis);
      if (axis == axes_.end()) return std::nullopt;
      sum += term.times * axis->second;
    }
    if (sum % position.divisor != 0) return std::nullopt;
    return sum / position.divisor;
  }

  // Where an element lies, for the axes as they stand; none: nothing to say.
  std::optional<std::int64_t> place_of(const Ref &ref, const Memory &memory) const {
    const Array &array = *call_.find(ref.array);
    std::int64_t place = 0;
    for (std::size_t d = 0; d < ref.at.size(); ++d) {
      std::optional<std::int64_t> at = value(ref.at[d]);
      if (!at) return std::nullopt;
      if (array.rows && array.rows->dim == d) at = place_of_row(*array.rows, *at);
      place += *at * memory.strides[d];
    }
    return place;
  }

  // Each reference is one of the operands, in their order: those that a nest does not read are not
  // printed.
  void see(const Step &step, const std::vector<Ref> &refs, const std::vector<Operand> &operands) {
    for (const Range &range : step.over) axes_[range.axis] = first_of(range);
    auto operand = operands.begin();
    for (const Ref &ref : refs) {
      const auto known = memory_.find(ref.array);
      if (known == memory_.end()) {
        const bool is_written = &refs == &step.to;
        if (refs.size() == operands.size() &&
            !learn(ref, operands[std::size_t(&ref - refs.data())], step) && is_written)
          fail(fmt::format("'{}' was not written there", print(ref)));
        continue;
      }
      while (operand != operands.end() && !lies_at(step, ref, known->second, *operand)) ++operand;
      if (operand == operands.end() && !operands.empty())
        fail(fmt::format("'{}' of '{}' did not see '{}' there: {}", word_of(step.kind), step.kernel,
                         print(ref), where_are(ref, known->second, operands)));
      if (operand != operands.end()) ++operand;
    }
    for (const Range &range : step.over) axes_.erase(range.axis);
  }

  std::string where_are(const Ref &ref, const Memory &memory,
                        const std::vector<Operand> &operands) const {
    std::string text = "nowhere";
    if (const std::optional<std::int64_t> place = place_of(ref, memory))
      text = fmt::format("at byte {}", *place);
    for (const Operand &operand : operands)
      text += fmt::format(
          ", {} {}",
          operand.view.data == nullptr
              ? std::string("none")
              : std::to_string(static_cast<const char *>(operand.view.data) - memory.begin),
          fmt::join(operand.axes, " "));
    return text;
  }

  bool lies_at(const Step &step, const Ref &ref, const Memory &memory, const Operand &operand) {
    const AnyView &view = operand.view;
    if (view.data == nullptr || element_count(view.layout) == 0 || memory.begin == nullptr)
      return true;
    const std::optional<std::int64_t> first = place_of(ref, memory);
    if (!first) return true;
    if (ref.at.empty()) return view.data == memory.begin;
    if (view.data != memory.begin + *first) return false;
    for (std::size_t d = 0; d < operand.axes.size(); ++d) {
      const std::string &axis = operand.axes[d];
      if (axis.empty() || view.layout.extents[d] == 1) continue;
      const auto range = std::ranges::find(step.over, axis, &Range::axis);
      if (range == step.over.end()) return false;
      if (count_of(*range, ref) != view.layout.extents[d]) return false;
      axes_[axis] += range->step;
      const std::optional<std::int64_t> second = place_of(ref, memory);
      axes_[axis] -= range->step;
      if (second && *second - *first != view.layout.strides[d] * std::int64_t(size_of(view.dtype)))
        return false;
    }
    return true;
  }

  std::int64_t first_of(const Range &range) const {
    return *value({.constant = range.first, .terms = range.moves});
  }

  // Of an axis, for this reference.
  static std::int64_t count_of(const Range &range, const Ref &ref) {
    for (const Affine &position : ref.at)
      for (const Affine::Term &term : position.terms)
        if (term.axis == range.axis && term.count > 0) return term.count;
    return range.count;
  }

  // An array that is first seen here, of which this is all: where it lies its axes say.
  bool learn(const Ref &ref, const Operand &operand, const Step &step) {
    if (operand.axes.empty() || ref.at.empty()) {
      memory_[ref.array] = memory_of(operand.view);
      return true;
    }
    Memory made{static_cast<const char *>(operand.view.data)};
    const Memory view = memory_of(operand.view);
    for (const Affine &position : ref.at) {
      if (position.terms.empty() && position.constant == 0) {
        made.strides.push_back(0);
        continue;
      }
      if (position.terms.size() != 1 || position.terms[0].times != 1 || position.constant != 0)
        return false;
      const std::string &axis = position.terms[0].axis;
      const auto dim = std::ranges::find(operand.axes, axis);
      const auto range = std::ranges::find(step.over, axis, &Range::axis);
      if (dim == operand.axes.end() || range == step.over.end() || range->first != 0 ||
          range->step != 1)
        return false;
      made.strides.push_back(view.strides[std::size_t(dim - operand.axes.begin())]);
    }
    memory_[ref.array] = made;
    return true;
  }

  const std::vector<Event> &events_;
  const Call &call_;
  std::vector<bool> taken_;
  std::size_t latest_run_ = 0;
  std::array<std::size_t, 16> next_{}; // [kind]: no event before it is left
  std::map<std::string, Memory> memory_;
  std::map<std::string, std::int64_t> axes_;
};

} // namespace

void check_record(const Record &record, const Call &call) { Checker(record, call).run(); }

} // namespace broadloom::calls

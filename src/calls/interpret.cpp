// See interpret.hpp.
#include "calls/interpret.hpp"

#include "calls/elements.hpp"
#include "ops/ops.hpp"

#include <fmt/format.h>

#include <deque>
#include <tuple>

namespace broadloom::calls {
namespace interpreted {
namespace {

// The least and the greatest offset of an element, in elements.
std::pair<std::int64_t, std::int64_t> reach_of(const Layout &layout) {
  std::pair<std::int64_t, std::int64_t> reach{0, 0};
  for (int d = 0; d < layout.rank; ++d) {
    const std::int64_t last = layout.strides[std::size_t(d)] *
                              std::max<std::int64_t>(layout.extents[std::size_t(d)] - 1, 0);
    (last < 0 ? reach.first : reach.second) += last;
  }
  return reach;
}

class Interpreter {
public:
  Interpreter(const Call &call, const std::map<std::string, AnyView, std::less<>> &arrays,
              const NestOf &nest_of)
      : elements_(call, arrays), nest_of_(nest_of) {}

  void go_through(const std::vector<Step> &steps) {
    for (const Step &step : steps) take(step);
  }

private:
  void take(const Step &step) {
    switch (step.kind) {
    case Step::Kind::Run: return run(step);
    case Step::Kind::Gather:
    case Step::Kind::Start:
    case Step::Kind::Count:
    case Step::Kind::Copy: return move_elements(elements_, step);
    case Step::Kind::Scatter: return scatter(elements_, step);
    case Step::Kind::Pad: return pad(elements_, step);
    case Step::Kind::View: return elements_.memory_of(step.to[0]).views.push_back(&step);
    case Step::Kind::Save: return save(step);
    case Step::Kind::Again: return again(step);
    case Step::Kind::For: return loop(step);
    }
  }

  // Nests.
  struct Buffer {
    std::vector<char> bytes;
    AnyView view;
  };
  static Buffer buffer_of(const Layout &layout, DType dtype) {
    const auto [low, high] = reach_of(layout);
    const auto size = std::int64_t(size_of(dtype));
    Buffer made;
    made.bytes.assign(std::size_t((high - low + 1) * size + 64), 0);
    const auto begin = reinterpret_cast<std::uintptr_t>(made.bytes.data());
    made.view = {dtype, made.bytes.data() + (64 - begin % 64) % 64 - low * size, true, layout};
    return made;
  }

  void run(const Step &step) {
    const std::vector<Range> ranges = elements_.ranges_now(step);
    const Nest nest = nest_of_(step, ranges);
    if (!nest.run) {
      for (const Ref &ref : step.to)
        if (std::ranges::count(elements_.memory_of(ref).array->extents, 0) == 0)
          fail(fmt::format("there is no nest '{}'", step.kernel));
      return;
    }
    if (nest.from.size() != step.from.size() || nest.to.size() != step.to.size())
      fail(fmt::format("'{}' reads {} operands and writes {}, and the step says others",
                       step.kernel, nest.from.size(), nest.to.size()));
    std::deque<Buffer> buffers; // stay where they are
    std::vector<AnyView> from, to;
    const auto give = [&](const Ref &ref, const Nest::Operand &operand,
                          std::vector<AnyView> &views) {
      Buffer &made =
          buffers.emplace_back(buffer_of(operand.layout, elements_.memory_of(ref).array->dtype));
      views.push_back(made.view);
      const std::size_t size = elements_.memory_of(ref).size();
      for_each(ranges, ref, operand, made.view,
               [&](char *at) { put(at, elements_.read(ref), size); });
    };
    for (std::size_t k = 0; k < step.from.size(); ++k) give(step.from[k], nest.from[k], from);
    for (std::size_t k = 0; k < step.to.size(); ++k) give(step.to[k], nest.to[k], to);
    nest.run(from, to);
    for (std::size_t k = 0; k < step.to.size(); ++k) {
      const std::size_t size = elements_.memory_of(step.to[k]).size();
      for_each(ranges, step.to[k], nest.to[k], to[k],
               [&](const char *at) { put(elements_.read(step.to[k]), at, size); });
    }
  }

  // The elements of an operand that the step says, with the axes where they stand.
  template <class Visit>
  void for_each(std::span<const Range> ranges, const Ref &ref, const Nest::Operand &operand,
                const AnyView &view, const Visit &visit) {
    const auto outer = elements_.axes;
    const auto shape = operand.layout.shape();
    interpreted::for_each(Position(shape.begin(), shape.end()), [&](const Position &at) {
      std::int64_t offset = 0;
      bool is_said = true;
      for (std::size_t d = 0; d < at.size(); ++d) {
        offset += at[d] * operand.layout.strides[d];
        const Nest::Operand::Walk &walk = operand.dims[d];
        // A dim of one element is repeated along an axis that the reference does not name, which
        // may be one of no positions.
        if (walk.axis.empty() || (shape[d] == 1 && !walks(ref, walk.axis))) continue;
        elements_.axes[walk.axis] = walk.first + at[d] * walk.step;
        is_said = is_said && has(ranges, ref, walk.axis);
      }
      if (is_said)
        visit(static_cast<char *>(view.data) + offset * std::int64_t(size_of(view.dtype)));
    });
    elements_.axes = outer;
  }

  bool has(std::span<const Range> ranges, const Ref &ref, const std::string &axis) const {
    const std::int64_t at = elements_.axes.at(axis);
    for (const Affine &position : ref.at)
      for (const Affine::Term &term : position.terms)
        if (term.axis == axis && term.count > 0) return at >= 0 && at < term.count;
    const auto range = std::ranges::find(ranges, axis, &Range::axis);
    if (range == ranges.end()) fail(fmt::format("no step walks '{}'", axis));
    const std::int64_t behind = at - range->first;
    return behind >= 0 && behind % range->step == 0 && behind / range->step < range->count;
  }

  // Loops.
  bool is_true(const Ref &ref) {
    Stored &memory = elements_.memory_of(ref);
    for (std::size_t d = 0; d < ref.at.size(); ++d)
      if (!memory.is_inside(d, elements_.sum(ref.at[d].terms, ref.at[d].constant))) return false;
    const DType dtype = memory.array->dtype;
    return ops::convert(ops::load(elements_.read(ref), dtype), dtype, DType::Bool).bits != 0;
  }

  void loop(const Step &step) {
    const auto outer = std::tuple(elements_.axes, n_, turns_);
    turns_ = &step;
    std::int64_t rested = 0; // steps in a row
    bool is_over = false;
    for (n_ = 0; n_ < step.over[0].count; ++n_) {
      set_step(step, n_);
      if (step.each > 0) rested = is_true(step.from[0]) ? rested + 1 : 0;
      if (is_over || (step.each > 0 && rested > step.each))
        repeat(step);
      else
        go_through(step.body);
      is_over = is_over || (step.each == 0 && !step.from.empty() && is_true(step.from[0]));
    }
    save_last(step);
    std::tie(elements_.axes, n_, turns_) = outer;
  }

  void set_step(const Step &step, std::int64_t n) {
    const Range &range = step.over[0];
    elements_.axes[range.axis] = range.first + (step.down ? range.count - 1 - n : n) * range.step;
  }

  // What the steps of a loop write is as it was one step before.
  void repeat(const Step &turns) {
    for (const Step &step : turns.body) {
      if (step.kind == Step::Kind::Save || (step.kind == Step::Kind::Pad && !step.to[0].at.empty()))
        take(step);
      if (step.kind != Step::Kind::Run) continue;
      for (const Ref &ref : step.to) {
        std::vector<char> row(elements_.memory_of(ref).size());
        elements_.for_each(step, [&] {
          set_step(turns, n_ - 1);
          put(row.data(), elements_.read(ref), row.size());
          set_step(turns, n_);
          put(elements_.read(ref), row.data(), row.size());
        });
      }
    }
  }

  // Checkpoints: the rows before some of the segments, evenly spread over the places that there
  // are.
  static std::int64_t lag_of(const Stored &memory) {
    return std::max(-memory.array->rows->from, memory.array->rows->behind);
  }
  // Of the rows that step n of a loop goes on from row c.
  static std::int64_t row_before(const Step &turns, const Stored &memory, std::int64_t n,
                                 std::int64_t c) {
    return turns.down ? turns.over[0].count - n + c : n - lag_of(memory) + c;
  }
  static std::int64_t segments_apart(const Step &turns, const Step &save, std::int64_t rows,
                                     std::int64_t lag) {
    const std::int64_t segments = (turns.over[0].count + save.each - 1) / save.each,
                       places = std::max<std::int64_t>(rows / lag, 1);
    return (segments + places - 1) / places;
  }

  void copy_row(Stored &from, std::int64_t row, Stored &to, std::int64_t to_row) {
    const std::size_t dim = (from.array->rows ? from : to).array->rows->dim;
    Position extents = from.array->extents;
    extents[dim] = 1;
    interpreted::for_each(extents, [&](Position at) {
      at[dim] = row;
      const char *element_there = elements_.at(from, at);
      at[dim] = to_row;
      put(elements_.at(to, at), element_there, to.size());
    });
  }

  void save(const Step &step) {
    loops_[step.from[0].array] = turns_;
    if (is_again_ || n_ % step.each != 0) return;
    Stored &from = elements_.memory_of(step.from[0]), &to = elements_.memory_of(step.to[0]);
    const std::int64_t lag = lag_of(from), segment = n_ / step.each;
    if (lag == 0) return;
    const std::int64_t apart =
        segments_apart(*turns_, step, to.extent(from.array->rows->dim) - 1, lag);
    if (segment % apart != 0) return;
    for (std::int64_t c = 0; c < lag; ++c)
      copy_row(from, row_before(*turns_, from, n_, c), to, segment / apart * lag + c);
  }

  void save_last(const Step &turns) {
    const std::int64_t steps = turns.over[0].count;
    for (const Step &step : turns.body) {
      if (step.kind != Step::Kind::Save || steps == 0) continue;
      Stored &from = elements_.memory_of(step.from[0]), &to = elements_.memory_of(step.to[0]);
      copy_row(from, turns.down ? 0 : steps - 1, to, to.extent(from.array->rows->dim) - 1);
      there_[&turns] = std::max<std::int64_t>(0, steps - step.each);
    }
  }

  void again(const Step &step) {
    const auto known = loops_.find(step.to[0].array);
    if (known == loops_.end()) fail(fmt::format("no loop saves '{}'", step.to[0].array));
    const Step &turns = *known->second;
    const std::int64_t steps = turns.over[0].count;
    const Affine &asked = step.to[0].at[elements_.memory_of(step.to[0]).array->rows->dim];
    const std::int64_t row = elements_.sum(asked.terms, asked.constant);
    const std::int64_t n =
        std::clamp<std::int64_t>(turns.down ? steps - 1 - row : row, 0, steps - 1);
    std::int64_t &there = there_[&turns];
    if (n >= there && n < there + step.each) return;
    there = n / step.each * step.each;
    const auto outer = std::tuple(elements_.axes, n_, turns_);
    turns_ = &turns;
    is_again_ = true;
    std::int64_t begin = 0;
    for (const Step &save : turns.body)
      if (save.kind == Step::Kind::Save)
        begin = std::max(begin, bring_rows(save, there / step.each));
    for (n_ = begin; n_ < std::min(there + step.each, steps); ++n_) {
      set_step(turns, n_);
      go_through(turns.body);
    }
    is_again_ = false;
    std::tie(elements_.axes, n_, turns_) = outer;
  }

  // The first step that can be taken with the rows that were saved before a segment.
  std::int64_t bring_rows(const Step &save, std::int64_t segment) {
    Stored &from = elements_.memory_of(save.from[0]), &saved = elements_.memory_of(save.to[0]);
    const std::int64_t lag = lag_of(from);
    if (lag == 0) return 0;
    const std::int64_t apart =
        segments_apart(*turns_, save, saved.extent(from.array->rows->dim) - 1, lag);
    const std::int64_t begin = segment / apart * apart * save.each;
    for (std::int64_t c = 0; c < lag; ++c) {
      const std::int64_t row = row_before(*turns_, from, begin, c);
      copy_row(saved, segment / apart * lag + c, from, row);
      elements_.axes[turns_->over[0].axis] = row;
      for (const Step &pad : turns_->body)
        if (pad.kind == Step::Kind::Pad && pad.from[0].array == save.from[0].array) take(pad);
    }
    return begin;
  }

  Elements elements_;
  const NestOf &nest_of_;
  const Step *turns_ = nullptr; // the loop around
  std::int64_t n_ = 0;          // of its steps, in the order in which they are taken
  bool is_again_ = false;
  std::map<std::string, const Step *> loops_;  // [array of which rows are saved]
  std::map<const Step *, std::int64_t> there_; // [such a loop]: the first step of the segment
};

} // namespace
} // namespace interpreted

void interpret(const Call &call, const std::map<std::string, AnyView, std::less<>> &arrays,
               const NestOf &nest_of) {
  interpreted::Interpreter(call, arrays, nest_of).go_through(call.steps);
}

} // namespace broadloom::calls

// See verify.hpp. The steps are gone through as a call does, with a mark for each element in place
// of its value: which row has been written there.
#include "calls/verify.hpp"

#include "calls/views.hpp"
#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>

namespace broadloom::calls {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();

// The marks of one array: the number of the row that lies there; of an array without rows 0.
struct Marks : Laid {
  std::vector<std::int64_t> rows = {};

  std::size_t place(const Position &at) const {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      place = place * kept(d) + (at[d] - first(d)) % std::max<std::int64_t>(kept(d), 1);
    return std::size_t(place);
  }
  std::int64_t row(const Position &at) const { return array->rows ? at[array->rows->dim] : 0; }
};

class Verifier {
public:
  explicit Verifier(const Call &call) : call_(call) {}

  void run() {
    for (const Array &array : call_.arrays) {
      Marks &marks = marks_[array.name];
      marks.array = &array;
      std::int64_t size = 1;
      for (std::size_t d = 0; d < array.extents.size(); ++d) size *= marks.kept(d);
      marks.rows.assign(std::size_t(size), array.owner == Array::Owner::In ? 0 : never);
    }
    line_ = int(call_.arrays.size()) + 1; // of the text of print
    go_through(call_.steps);
    line_ = 1;
    for (const Array &array : call_.arrays) {
      ++line_;
      if (array.owner == Array::Owner::Out &&
          std::ranges::count(marks_[array.name].rows, never) != 0)
        fail(fmt::format("no step writes all of output '{}'", array.name),
             "parts that leave a hole are wrong");
    }
  }

private:
  [[noreturn]] void fail(const std::string &what, const std::string &help) const {
    support::fail("E0801", fmt::format("{}, in line {}", what, line_), {}, help);
  }

  void go_through(const std::vector<Step> &steps) {
    const int begin = line_;
    int line = begin;
    for (const Step &step : steps) {
      line_ = step.line > 0 ? step.line : ++line;
      const int own = line_;
      take(step);
      if (step.line == 0) line = std::max(line, line_);
      line_ = own;
    }
    line_ = std::max(line, begin);
  }

  void take(const Step &step) {
    switch (step.kind) {
    case Step::Kind::For: return loop(step);
    case Step::Kind::View: return view(step);
    case Step::Kind::Again: return again(step);
    default: break;
    }
    for (const Range &range : step.over) check_range(range);
    if (step.kind == Step::Kind::Pad && step.to[0].at.empty() && marks_of(step.from[0]).is_ring())
      return copy_ring(marks_of(step.from[0]), marks_of(step.to[0]));
    if (step.kind == Step::Kind::Pad && step.over.empty() && lacks_row(step.to[0])) return;
    for (const Ref &ref : step.from)
      if (step.kind != Step::Kind::Save) read(ref, step); // some rows, now and then
    for (const Ref &ref : step.to)
      step.kind == Step::Kind::Scatter ? write({ref.array, {}}, step) : write(ref, step);
    // A nest reads while it writes: no row may take the place of one that it reads.
    for (const Ref &ref : step.from)
      if (step.kind == Step::Kind::Run && marks_of(ref).array->rows) read(ref, step);
  }

  void view(const Step &step) {
    if (step.from.size() != 1 || step.to.size() != 1)
      fail("a view of several arrays", "one step says where one of them lies");
    const std::size_t dims = marks_of(step.from[0]).array->extents.size();
    if (step.to[0].at.size() != marks_of(step.to[0]).array->extents.size() ||
        step.from[0].at.size() != dims ||
        std::ranges::any_of(step.to[0].at, [](const Affine &position) {
          return position.terms.size() > 1 || position.all || position.divisor != 1 ||
                 (!position.terms.empty() && position.terms[0].times < 1);
        }))
      fail("a view that walks two axes along a dim", "each dim is an axis, or one position");
    for (const Range &range : step.over) check_range(range);
    marks_of(step.to[0]).views.push_back(&step);
    write(step.to[0], step);
  }

  bool is_inside(const Ref &ref) {
    const Marks &marks = marks_of(ref);
    for (std::size_t d = 0; d < ref.at.size(); ++d)
      if (!marks.is_inside(d, value(ref.at[d]))) return false;
    return true;
  }

  bool lacks_row(const Ref &ref) {
    const Marks &marks = marks_of(ref);
    if (!marks.array->rows || ref.at.empty()) return false;
    const std::size_t dim = marks.array->rows->dim;
    const std::int64_t row = ref.at[dim].all ? marks.first(dim) : value(ref.at[dim]);
    return !marks.is_inside(dim, row);
  }

  // The rows that are there, whichever these are.
  void copy_ring(const Marks &from, Marks &to) {
    if (!to.array->rows || to.array->rows->dim != from.array->rows->dim ||
        to.kept(to.array->rows->dim) != from.kept(to.array->rows->dim))
      fail("a copy of some rows has others", "it keeps as many rows as the array");
    const std::size_t dim = to.array->rows->dim;
    for (std::int64_t row = to.first(dim); row < to.first(dim) + to.kept(dim); ++row) {
      std::int64_t found = never;
      each_element(from, {Affine{.constant = row}}, dim,
                   [&](const auto &at) { found = from.rows[from.place(at)]; });
      each_element(to, {Affine{.constant = row}}, dim,
                   [&](const auto &at) { to.rows[to.place(at)] = found; });
    }
  }

  void check_range(const Range &range) const {
    if (range.count < 0 || axes_.contains(range.axis))
      fail(fmt::format("'{}' is no axis of a step here", range.axis), "a loop has it already");
  }

  void loop(const Step &step) {
    const Range &range = step.over[0];
    check_range(range);
    const int begin = line_;
    for (std::int64_t k = 0; k < range.count; ++k) {
      const std::int64_t n = step.down ? range.count - 1 - k : k;
      axes_[range.axis] = range.first + n * range.step;
      line_ = begin;
      const auto look = [&] {
        for (const Ref &says : step.from)
          if (!lacks_row(says) && (step.each == 0 || is_inside(says)))
            read(says, {.kind = Step::Kind::For});
      };
      if (step.each > 0) look(); // before this step
      go_through(step.body);
      if (step.each == 0) look(); // at this step
    }
    axes_.erase(range.axis);
  }

  // The segment that holds this row, and as many rows before it as are kept.
  void again(const Step &step) {
    for (const Ref &ref : step.to) {
      Marks &marks = marks_of(ref);
      if (!marks.array->rows || ref.at.size() <= marks.array->rows->dim)
        fail(fmt::format("'{}' has no rows along the steps of a loop", ref.array),
             "a loop that is computed again has a ring of rows");
      const Array::Rows &rows = *marks.array->rows;
      const std::int64_t lag = std::max<std::int64_t>(marks.kept(rows.dim) - step.each, 0);
      const bool backwards = rows.from == 0;
      const std::int64_t steps = marks.extent(rows.dim) - lag;
      const std::int64_t t = std::clamp<std::int64_t>(value(ref.at[rows.dim]), 0, steps - 1);
      const std::int64_t n = backwards ? steps - 1 - t : t, begin = n - n % step.each;
      for (std::int64_t m = begin - lag; m < std::min(begin + step.each, steps); ++m) {
        const std::int64_t row = backwards ? steps - 1 - m : m;
        each_element(marks, {Affine{.constant = row}}, rows.dim,
                     [&](const auto &at) { marks.rows[marks.place(at)] = marks.row(at); });
      }
    }
  }

  Marks &marks_of(const Ref &ref) {
    const auto known = marks_.find(ref.array);
    if (known == marks_.end())
      fail(fmt::format("there is no array '{}'", ref.array), "name one of those above the steps");
    if (!ref.at.empty() && ref.at.size() != known->second.array->extents.size())
      fail(fmt::format("'{}' has {} dims", print(ref), known->second.array->extents.size()),
           "give a position for each dim, or none");
    return known->second;
  }

  std::int64_t value(const Affine &position) const {
    std::int64_t sum = position.constant;
    for (const Affine::Term &term : position.terms) {
      const auto axis = axes_.find(term.axis);
      if (axis == axes_.end())
        fail(fmt::format("there is no axis '{}' here", term.axis), "name those of the step");
      sum += term.times * axis->second;
    }
    return sum;
  }

  void read(const Ref &ref, const Step &step) {
    for (const Affine &position : ref.at)
      for (const Affine::Index &index : position.indices) read(*index.element, step);
    for_each_position(ref, step,
                      [&](Marks &marks, const Position &at) { check_read(marks, at, ref); });
  }

  void check_read(Marks &marks, const Position &at, const Ref &ref) {
    check_inside(marks, at, ref);
    const std::int64_t found = marks.rows[marks.place(at)];
    const bool is_in = marks.array->owner == Array::Owner::In;
    if (found == never)
      fail(fmt::format("'{}' is read before it is written", print(ref)), "a step must write it");
    if (!is_in && found != marks.row(at))
      fail(fmt::format("'{}' is read, of which row {} lies in the place of row {}", print(ref),
                       found, marks.row(at)),
           "more rows must be kept");
    for (const Step *view : marks.views)
      if (const auto seen = seen_through(*view, at))
        return check_read(marks_of(view->from[0]), *seen, view->from[0]);
  }

  void write(const Ref &ref, const Step &step) {
    const std::optional<Array::Rows> &rows = marks_of(ref).array->rows;
    // Tasks of tiles compute the rows that they share each for itself.
    const bool again =
        step.kind == Step::Kind::Pad || step.kind == Step::Kind::Save || (rows && rows->in_tiles);
    for_each_position(ref, step, [&](Marks &marks, const Position &at) {
      check_inside(marks, at, ref);
      std::int64_t &found = marks.rows[marks.place(at)];
      if (!again && found == marks.row(at))
        fail(fmt::format("'{}' is written twice", print(ref)), "parts must not overlap");
      found = marks.row(at);
    });
  }

  void check_inside(const Marks &marks, const Position &at, const Ref &ref) const {
    for (std::size_t d = 0; d < at.size(); ++d)
      if (!marks.is_inside(d, at[d]))
        fail(fmt::format("'{}' is at {} along dim {}, outside of [{}, {})", print(ref), at[d], d,
                         marks.first(d), marks.first(d) + marks.extent(d)),
             "a position must be inside of the array");
  }

  using Visit = std::function<void(Marks &, const Position &)>;
  // At all positions of those axes of the step that the reference walks.
  void for_each_position(const Ref &ref, const Step &step, const Visit &visit) {
    std::vector<Range> walked;
    for (const Range &range : step.over)
      if (walks(ref, range.axis)) walked.push_back(range_of(range, ref));
    walk(ref, walked, 0, visit);
    for (const Range &range : walked) axes_.erase(range.axis);
  }

  // Where it begins now, and how long it is for this reference.
  Range range_of(const Range &range, const Ref &ref) const {
    Range made = range;
    made.first = value({.constant = range.first, .terms = range.moves});
    for (const Affine &position : ref.at)
      for (const Affine::Term &term : position.terms)
        if (term.axis == range.axis && term.count > 0) made.count = term.count;
    return made;
  }

  void walk(const Ref &ref, const std::vector<Range> &walked, std::size_t depth,
            const Visit &visit) {
    if (depth < walked.size()) {
      const Range &range = walked[depth];
      for (std::int64_t k = 0; k < range.count; ++k) {
        axes_[range.axis] = range.first + k * range.step;
        walk(ref, walked, depth + 1, visit);
      }
      return;
    }
    Marks &marks = marks_of(ref);
    each_element(marks, ref.at, 0, [&](const Position &at) { visit(marks, at); });
  }

  // Those whose first dims, from `dim` on, are at these positions; where elements say a position,
  // any stands for it.
  template <class Take>
  void each_element(const Marks &marks, const std::vector<Affine> &positions, std::size_t dim,
                    const Take &take) {
    const std::size_t rank = marks.array->extents.size();
    std::vector<std::int64_t> first(rank), count(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      first[d] = marks.first(d);
      count[d] = marks.extent(d);
      if (d < dim || d - dim >= positions.size()) continue;
      const Affine &position = positions[d - dim];
      if (position.all) continue;
      if (!position.indices.empty() || !position.outside.empty()) {
        count[d] = std::min<std::int64_t>(count[d], 1);
        continue;
      }
      const std::int64_t sum = value(position);
      if (sum % position.divisor != 0) return; // between two elements nothing is read
      first[d] = sum / position.divisor;
      count[d] = 1;
    }
    for_each(first, count, take);
  }

  const Call &call_;
  std::unordered_map<std::string, Marks> marks_;
  std::map<std::string, std::int64_t> axes_; // where the loops around a step, and the step, are
  int line_ = 0;
};

} // namespace

void verify(const Call &call) { Verifier(call).run(); }

} // namespace broadloom::calls

// See scatter.hpp.
#include "kernel/scatter.hpp"

#include "support/element.hpp"
#include "support/float_control.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace broadloom::kernel {
namespace {

using spec::TypedWindow;

// The sum of two elements of T, as the operation has it.
template <class T> T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return T(U(U(a) + U(b)));
  } else if constexpr (support::is_narrow<T>) {
    return T(float(a) + float(b));
  } else {
    return a + b;
  }
}

// The dim of the window that is this dim of the array, position by position: whose axis stands
// nowhere else.
std::optional<std::size_t> kept_dim(const spec::TypedSpec &spec, std::size_t window,
                                    std::size_t dim) {
  const TypedWindow &seen = *spec.inputs[window].window;
  if (!seen.forms[dim].is_axis() || seen.pad_of(int(dim)) != nullptr) return std::nullopt;
  const int axis = seen.forms[dim].terms[0].axis;
  for (std::size_t other = 0; other < seen.forms.size(); ++other) {
    for (const TypedWindow::Term &term : seen.forms[other].terms)
      if (term.axis == axis && other != dim) return std::nullopt;
    for (const TypedWindow::Index &index : seen.forms[other].indices)
      if (spec.inputs[index.input].axes().has(axis)) return std::nullopt;
  }
  const std::vector<int> &axes = spec.inputs[window].axis_of_dim;
  return std::size_t(std::find(axes.begin(), axes.end(), axis) - axes.begin());
}

class Scatter {
  using Kept = ScatterWalk::Kept;
  using Walked = ScatterWalk::Walked;
  using LookedUp = ScatterWalk::LookedUp;

public:
  Scatter(const spec::TypedSpec &spec, std::size_t window, const Array &values, const Array &to,
          const std::vector<ListedPositions> &lists, std::span<const AnyView *const> operands)
      : values_(values), to_(to), lists_(lists) {
    ScatterWalk walk = walk_of_scatter(spec, window, values.layout(), to.layout(), operands);
    kept_ = std::move(walk.kept);
    walked_ = std::move(walk.walked);
    looked_up_ = std::move(walk.looked_up);
    for (const Walked &axis : walked_) extents_.push_back(axis.extent);
    find_rows();
  }

  // Rows are shared out by what is kept, so that each element gets its values in their order. Of
  // values alone one thread adds one after the other, as any other way would have to sort them
  // first. `tasks` are few elements each, as a call may be cancelled in between.
  void run(const RunTasks &tasks) const {
    const std::int64_t points = points_of(extents_), rows = std::ssize(rows_);
    const std::int64_t pieces = std::clamp<std::int64_t>(row_.extent / least_piece, 1, 16);
    const std::int64_t most = std::max<std::int64_t>(most_at_once / (rows * row_.extent), 1);
    if (points * rows * row_.extent < 1 << 16) return add_in_order({0, points});
    if (rows * pieces == 1) {
      for (std::int64_t at = 0; at < points; at += most)
        tasks(1, [&](std::int64_t) { add_in_order({at, std::min(points, at + most)}); });
      return;
    }
    const std::int64_t room = std::min(points, most);
    const Array places = Array::to_be_written(DType::I64, contiguous_layout({&room, 1}));
    auto *const all = static_cast<std::int64_t *>(places.raw());
    for (std::int64_t at = 0; at < points; at += most) {
      const std::int64_t end = std::min(points, at + most);
      share_out(end - at, 1 << 14, tasks, [&](std::int64_t first, std::int64_t last) {
        find_places(at + first, at + last, all + first);
      });
      const std::int64_t work = std::max<std::int64_t>((end - at) * rows * row_.extent >> 15, 1);
      share_out(rows * pieces, std::max<std::int64_t>(rows * pieces / work, 1), tasks,
                [&](std::int64_t first, std::int64_t last) {
                  const support::FloatControl control;
                  for (std::int64_t n = first; n < last; ++n) {
                    const std::int64_t piece = n % pieces;
                    add({at, end, all}, {n / pieces, n / pieces + 1},
                        {row_.extent * piece / pieces, row_.extent * (piece + 1) / pieces});
                  }
                });
    }
  }

private:
  static constexpr std::int64_t least_piece = 16;       // elements of a row
  static constexpr std::int64_t most_at_once = 1 << 20; // elements: some milliseconds

  struct Range {
    std::int64_t first = 0, last = 0;
  };
  // Points of the walked axes, in C order, and where in the sum they go: elements, or -1 where a
  // padding reads a number.
  struct Points {
    std::int64_t first = 0, last = 0;
    const std::int64_t *places = nullptr;
  };

  // Dims that lie behind each other in both are one. The last one is a row, the others say where
  // rows begin.
  void find_rows() {
    std::sort(kept_.begin(), kept_.end(),
              [](const Kept &a, const Kept &b) { return a.from > b.from; });
    while (kept_.size() > 1) {
      const Kept last = kept_.back();
      Kept &before = kept_[kept_.size() - 2];
      if (before.from != last.extent * last.from || before.to != last.extent * last.to) break;
      before = {before.extent * last.extent, last.from, last.to};
      kept_.pop_back();
    }
    if (!kept_.empty()) {
      row_ = kept_.back();
      kept_.pop_back();
    }
    std::vector<std::int64_t> outer;
    for (const Kept &dim : kept_) outer.push_back(dim.extent);
    for_each_piece(outer, 0, points_of(outer),
                   [&](const auto &index, std::int64_t, std::int64_t count) {
                     Row row;
                     for (std::size_t d = 0; d < index.size(); ++d) {
                       row.from += index[d] * kept_[d].from;
                       row.to += index[d] * kept_[d].to;
                     }
                     for (std::int64_t n = 0; n < count; ++n) {
                       rows_.push_back(row);
                       if (kept_.empty()) continue;
                       row.from += kept_.back().from;
                       row.to += kept_.back().to;
                     }
                   });
  }

  void add_in_order(Range points) const {
    std::array<std::int64_t, 1024> places;
    const support::FloatControl control;
    for (std::int64_t at = points.first; at < points.last; at += std::ssize(places)) {
      const std::int64_t end = std::min(points.last, at + std::ssize(places));
      find_places(at, end, places.data());
      add({at, end, places.data()}, {0, std::ssize(rows_)}, {0, row_.extent});
    }
  }

  void find_places(std::int64_t first, std::int64_t last, std::int64_t *places) const {
    std::fill(places, places + (last - first), 0);
    for (const LookedUp &dim : looked_up_)
      for_each_piece(extents_, first, last,
                     [&](const auto &index, std::int64_t at, std::int64_t count) {
                       add_places(dim, index, {at, at + count}, places + (at - first));
                     });
  }

  // What the position along a dim adds to the places of a row of points.
  void add_places(const LookedUp &dim, std::span<const std::int64_t> index, Range points,
                  std::int64_t *places) const {
    const std::int64_t count = points.last - points.first, stride = dim.stride;
    const auto add = [&](auto position_of) {
      for (std::int64_t n = 0; n < count; ++n) {
        std::int64_t position = position_of(n);
        if (dim.pad != nullptr) position = unpadded(*dim.pad, position, dim.extent);
        places[n] = (position | places[n]) < 0 ? -1 : places[n] + position * stride;
      }
    };
    const auto list = std::find_if(lists_.begin(), lists_.end(),
                                   [&](const auto &listed) { return listed.dim == int(dim.dim); });
    if (list != lists_.end()) {
      const std::int64_t *entries = list->at();
      for (std::size_t k = 0; k < walked_.size(); ++k)
        entries += list->steps[walked_[k].dim] * index[k];
      const std::int64_t step = walked_.empty() ? 0 : list->steps[walked_.back().dim];
      return add([=](std::int64_t n) { return entries[n * step]; });
    }
    std::int64_t start = dim.start;
    for (std::size_t k = 0; k < walked_.size(); ++k) start += dim.times[k] * index[k];
    const std::int64_t step = walked_.empty() ? 0 : dim.times.back();
    add([=](std::int64_t n) { return start + n * step; });
  }

  // The element of a dim that is read there, of `count`; -1 where a number is.
  static std::int64_t unpadded(const TypedWindow::Pad &pad, std::int64_t position,
                               std::int64_t count) {
    const auto rest = [](std::int64_t at, std::int64_t period) {
      return at % period < 0 ? at % period + period : at % period;
    };
    const std::int64_t at = position - pad.before;
    if (at >= 0 && at < count) return at;
    switch (pad.mode) {
    case PadMode::Constant: break;
    case PadMode::Edge: return at < 0 ? 0 : count - 1;
    case PadMode::Wrap: return rest(at, count);
    case PadMode::Reflect: {
      const std::int64_t period = std::max<std::int64_t>(2 * (count - 1), 1),
                         turned = rest(at, period);
      return std::min(turned, period - turned);
    }
    }
    return -1;
  }

  // The elements `within` of these rows, of all these points.
  void add(const Points &points, Range rows, Range within) const {
    support::with_type(values_.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_each_piece(extents_, points.first, points.last,
                     [&](const auto &index, std::int64_t at, std::int64_t count) {
                       std::int64_t from = 0;
                       for (std::size_t k = 0; k < walked_.size(); ++k)
                         from += index[k] * walked_[k].step;
                       const std::int64_t *places = points.places + (at - points.first);
                       for (std::int64_t r = rows.first; r < rows.last; ++r)
                         add_row<T>(places, count, rows_[std::size_t(r)], from, within);
                     });
    });
  }

  struct Row { // where it begins
    std::int64_t from = 0, to = 0;
  };
  template <class T>
  void add_row(const std::int64_t *places, std::int64_t count, const Row &row, std::int64_t from,
               Range within) const {
    const T *values = static_cast<const T *>(values_.raw()) + from + row.from;
    T *sums = static_cast<T *>(to_.raw()) + row.to;
    const std::int64_t step = walked_.empty() ? 0 : walked_.back().step;
    if (row_.from == 1 && row_.to == 1) {
      for (std::int64_t n = 0; n < count; ++n) {
        if (places[n] < 0) continue;
        T *const sum = sums + places[n];
        const T *const value = values + n * step;
        for (std::int64_t k = within.first; k < within.last; ++k) sum[k] = sum_of(sum[k], value[k]);
      }
    } else {
      // No processor foresees where the next one goes: beyond the caches its line is asked for in
      // time.
      const std::int64_t ahead = to_.size() * std::int64_t(sizeof(T)) > (1 << 20) ? 16 : 0;
      for (std::int64_t k = within.first; k < within.last; ++k)
        for (std::int64_t n = 0; n < count; ++n) {
          if (ahead != 0 && n + ahead < count)
            __builtin_prefetch(sums + (std::max<std::int64_t>(places[n + ahead], 0) + k * row_.to),
                               1);
          if (places[n] < 0) continue;
          T &sum = sums[places[n] + k * row_.to];
          sum = sum_of(sum, values[n * step + k * row_.from]);
        }
    }
  }

  const Array &values_, &to_;
  const std::vector<ListedPositions> &lists_;
  std::vector<LookedUp> looked_up_;
  std::vector<Walked> walked_;
  std::vector<std::int64_t> extents_; // of these
  std::vector<Kept> kept_;            // longest steps of the values first; without the row
  std::vector<Row> rows_;
  Kept row_; // each of them
};

} // namespace

ScatterWalk walk_of_scatter(const spec::TypedSpec &spec, std::size_t window, const Layout &values,
                            const Layout &to, std::span<const AnyView *const> operands) {
  const spec::TypedInput &input = spec.inputs[window];
  const TypedWindow &seen = *input.window;
  ScatterWalk made;
  std::vector<bool> is_kept(input.axis_of_dim.size());
  for (std::size_t dim = 0; dim < seen.forms.size(); ++dim) {
    const std::optional<std::size_t> kept = kept_dim(spec, window, dim);
    if (!kept) {
      made.looked_up.push_back(
          {dim, to.extents[dim], to.strides[dim], 0, {}, seen.pad_of(int(dim))});
      continue;
    }
    is_kept[*kept] = true;
    if (values.extents[*kept] != 1)
      made.kept.push_back({values.extents[*kept], values.strides[*kept], to.strides[dim]});
  }
  for (std::size_t k = 0; k < is_kept.size(); ++k)
    if (!is_kept[k]) made.walked.push_back({k, values.extents[k], values.strides[k]});
  for (ScatterWalk::LookedUp &dim : made.looked_up) {
    const TypedWindow::Form &form = seen.forms[dim.dim];
    dim.start =
        form.start +
        (form.from_end ? seen.padded(int(dim.dim), operands[seen.of]->layout.extents[dim.dim]) : 0);
    for (const ScatterWalk::Walked &axis : made.walked) {
      dim.times.push_back(0);
      for (const TypedWindow::Term &term : form.terms)
        if (input.axis_of_dim[axis.dim] == term.axis) dim.times.back() += term.times;
    }
  }
  return made;
}

void scatter(const spec::TypedSpec &spec, std::size_t window,
             std::span<const AnyView *const> operands, const Array &values, const Array &to,
             const RunTasks &tasks) {
  const std::vector<ListedPositions> lists =
      listed_positions(spec, window, values.layout(), operands, tasks);
  std::memset(to.raw(), 0, std::size_t(to.size()) * size_of(to.dtype()));
  if (values.size() == 0 || to.size() == 0) return; // numbers around nothing may be read, too
  Scatter(spec, window, values, to, lists, operands).run(tasks);
}

} // namespace broadloom::kernel

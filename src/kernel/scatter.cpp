// See scatter.hpp.
#include "kernel/scatter.hpp"

#include "ops/rows.hpp"
#include "support/float_control.hpp"

#include <algorithm>
#include <cstring>

namespace broadloom::kernel {
namespace {

using spec::TypedWindow;

// A dim that both the values and the sum have, as j above.
struct Inner {
  std::int64_t extent = 1, from = 0, to = 0; // and steps in elements
};
// An axis along which values come together, as i above.
struct WalkedOutput {
  std::int64_t extent = 1, step = 0;
};

// Points of the walked axes, in C order, by the position that they go to.
struct Sorted {
  std::vector<std::uint64_t> keys;  // ascending
  std::vector<std::int64_t> points; // of one key ascending
};

// Stable, by the digits of the keys from the last on.
Sorted sorted(std::vector<std::uint64_t> keys, std::uint64_t most) {
  constexpr int digit = 11;
  constexpr std::size_t values = std::size_t(1) << digit;
  const std::size_t count = keys.size();
  Sorted now{std::move(keys), std::vector<std::int64_t>(count)};
  for (std::size_t k = 0; k < count; ++k) now.points[k] = std::int64_t(k);
  if (std::is_sorted(now.keys.begin(), now.keys.end())) return now;
  Sorted next{std::vector<std::uint64_t>(count), std::vector<std::int64_t>(count)};
  for (int shift = 0; shift < 64 && most >> shift != 0; shift += digit) {
    std::vector<std::size_t> at(values + 1);
    for (const std::uint64_t key : now.keys) ++at[(key >> shift) % values + 1];
    for (std::size_t v = 0; v < values; ++v) at[v + 1] += at[v];
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t place = at[(now.keys[k] >> shift) % values]++;
      next.keys[place] = now.keys[k];
      next.points[place] = now.points[k];
    }
    std::swap(now, next);
  }
  return now;
}

class Scatter {
public:
  Scatter(const spec::TypedSpec &spec, std::size_t window, const Array &values, const Array &to)
      : input_(spec.inputs[window]), values_(values), to_(to) {
    const TypedWindow &seen = *input_.window;
    for (std::size_t dim = 0; dim < seen.forms.size(); ++dim) {
      const std::optional<std::size_t> kept = kept_dim(spec, dim);
      is_kept_.push_back(kept.has_value());
      if (!kept) continue;
      kept_.push_back(*kept);
      inner_.push_back({values.layout().extents[*kept], values.layout().strides[*kept],
                        to.layout().strides[dim]});
    }
    for (std::size_t k = 0; k < input_.axis_of_dim.size(); ++k) {
      const bool walked = std::find(kept_.begin(), kept_.end(), k) == kept_.end();
      walked_.push_back(walked
                            ? WalkedOutput{values.layout().extents[k], values.layout().strides[k]}
                            : WalkedOutput{1, 0});
    }
    std::sort(inner_.begin(), inner_.end(),
              [](const Inner &a, const Inner &b) { return a.from > b.from; });
    std::erase_if(inner_, [](const Inner &dim) { return dim.extent == 1; });
    while (inner_.size() > 1) { // dims that lie behind each other in both are one
      const Inner last = inner_.back();
      Inner &before = inner_[inner_.size() - 2];
      if (before.from != last.extent * last.from || before.to != last.extent * last.to) break;
      before = {before.extent * last.extent, last.from, last.to};
      inner_.pop_back();
    }
  }

  void run(const std::vector<ListedPositions> &lists, std::span<const AnyView *const> operands,
           const RunTasks &tasks) {
    find_keys(lists, operands);
    const Sorted order = sorted(std::move(keys_), most_key_);
    std::vector<std::size_t> begins; // of the segments
    for (std::size_t k = 0; k < order.keys.size(); ++k)
      if (k == 0 || order.keys[k] != order.keys[k - 1]) begins.push_back(k);
    begins.push_back(order.keys.size());
    const std::size_t segments = begins.size() - 1;
    std::int64_t inner = 1;
    for (const Inner &dim : inner_) inner *= dim.extent;
    // Each share has whole segments, with about as many values as the others.
    const std::int64_t work = std::int64_t(order.keys.size()) * inner;
    find_rows();
    const auto shares = std::int64_t(std::clamp<std::int64_t>(
        work >> 15, 1, std::min<std::int64_t>(std::int64_t(segments), 256)));
    const auto share_of =
        [&](std::int64_t share) { // the first segment at or after its part of the values
          const std::size_t at = order.keys.size() / std::size_t(shares) * std::size_t(share);
          return std::size_t(std::lower_bound(begins.begin(), begins.end() - 1, at) -
                             begins.begin());
        };
    const auto task = [&](std::int64_t share) {
      const support::FloatControl control;
      const std::size_t last = share + 1 == shares ? segments : share_of(share + 1);
      for (std::size_t s = share_of(share); s < last; ++s)
        add_segment(order, begins[s], begins[s + 1]);
    };
    shares == 1 ? task(0) : tasks(shares, task);
  }

private:
  // The dim of the window that is this dim of the array, position by position: whose axis stands nowhere else.
  std::optional<std::size_t> kept_dim(const spec::TypedSpec &spec, std::size_t dim) const {
    const TypedWindow &seen = *input_.window;
    if (!seen.forms[dim].is_axis() || seen.pad_of(int(dim)) != nullptr) return std::nullopt;
    const int axis = seen.forms[dim].terms[0].axis;
    for (std::size_t other = 0; other < seen.forms.size(); ++other) {
      for (const TypedWindow::Term &term : seen.forms[other].terms)
        if (term.axis == axis && other != dim) return std::nullopt;
      for (const TypedWindow::Index &index : seen.forms[other].indices)
        if (spec.inputs[index.input].axes().has(axis)) return std::nullopt;
    }
    const std::vector<int> &axes = input_.axis_of_dim;
    return std::size_t(std::find(axes.begin(), axes.end(), axis) - axes.begin());
  }

  void find_keys(const std::vector<ListedPositions> &lists,
                 std::span<const AnyView *const> operands) {
    const TypedWindow &seen = *input_.window;
    std::uint64_t step = 1;
    std::vector<std::uint64_t> steps(seen.forms.size());
    for (std::size_t dim = seen.forms.size(); dim-- > 0;) {
      if (is_kept_[dim]) continue;
      steps[dim] = step;
      keyed_.push_back({std::uint64_t(to_.layout().extents[dim]), to_.layout().strides[dim]});
      step *= std::uint64_t(to_.layout().extents[dim]);
    }
    most_key_ = nowhere_ = step;
    std::int64_t points = 1;
    for (const WalkedOutput &axis : walked_) points *= axis.extent;
    keys_.resize(std::size_t(points));
    std::vector<std::int64_t> index(walked_.size());
    for (std::uint64_t &key : keys_) {
      for (std::size_t dim = 0; dim < seen.forms.size(); ++dim) {
        if (is_kept_[dim]) continue;
        std::int64_t position = 0;
        const auto list = std::find_if(lists.begin(), lists.end(),
                                       [&](const auto &listed) { return listed.dim == int(dim); });
        if (list != lists.end()) {
          std::int64_t entry = 0;
          for (std::size_t k = 0; k < index.size(); ++k) entry += list->steps[k] * index[k];
          position = list->at()[entry];
        } else {
          const TypedWindow::Form &form = seen.forms[dim];
          position =
              form.start +
              (form.from_end ? seen.padded(int(dim), operands[seen.of]->layout.extents[dim]) : 0);
          for (const TypedWindow::Term &term : form.terms)
            for (std::size_t k = 0; k < index.size(); ++k)
              if (input_.axis_of_dim[k] == term.axis) position += term.times * index[k];
        }
        if (const TypedWindow::Pad *pad = seen.pad_of(int(dim)))
          position = unpadded(*pad, position, to_.layout().extents[dim]);
        if (position < 0) {
          key = nowhere_;
          break;
        }
        key += steps[dim] * std::uint64_t(position);
      }
      for (std::size_t k = index.size(); k-- > 0;) {
        if (++index[k] < walked_[k].extent) break;
        index[k] = 0;
      }
    }
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

  std::int64_t value_at(std::int64_t point) const { // elements
    std::int64_t offset = 0;
    for (std::size_t k = walked_.size(); k-- > 0;) {
      offset += point % walked_[k].extent * walked_[k].step;
      point /= walked_[k].extent;
    }
    return offset;
  }
  std::int64_t place_of(std::uint64_t key) const {
    std::int64_t offset = 0;
    for (const Keyed &dim : keyed_) { // from the last dim on
      offset += std::int64_t(key % dim.extent) * dim.stride;
      key /= dim.extent;
    }
    return offset;
  }

  void add_segment(const Sorted &order, std::size_t first, std::size_t last) const {
    if (order.keys[first] == nowhere_) return;
    const std::int64_t place = place_of(order.keys[first]);
    const DType dtype = values_.dtype();
    if (dtype == DType::F64) return add<double>(order, first, last, place);
    if (dtype == DType::F32) return add<float>(order, first, last, place);
    if (is_integer(dtype) && size_of(dtype) == 8)
      return add<std::uint64_t>(order, first, last, place);
    add_rows(order, first, last, place);
  }

  template <class T>
  void add(const Sorted &order, std::size_t first, std::size_t last, std::int64_t place) const {
    const T *values = static_cast<const T *>(values_.raw());
    T *sums = static_cast<T *>(to_.raw()) + place;
    for (std::size_t n = first; n < last; ++n) {
      const T *value = values + value_at(order.points[n]);
      for (const Row &row : rows_)
        if (row_.from == 1 && row_.to == 1)
          for (std::int64_t k = 0; k < row_.extent; ++k) sums[row.to + k] += value[row.from + k];
        else
          for (std::int64_t k = 0; k < row_.extent; ++k)
            sums[row.to + k * row_.to] += value[row.from + k * row_.from];
    }
  }

  // By the operation itself, for all other types.
  void add_rows(const Sorted &order, std::size_t first, std::size_t last,
                std::int64_t place) const {
    const DType dtype = values_.dtype();
    const auto size = std::int64_t(size_of(dtype));
    const char *values = static_cast<const char *>(values_.raw());
    char *sums = static_cast<char *>(to_.raw()) + place * size;
    for (std::size_t n = first; n < last; ++n) {
      const std::int64_t value = value_at(order.points[n]);
      for (const Row &row : rows_) {
        const ops::WritableRow sum{sums + row.to * size, row_.to * size};
        const ops::Row both[] = {{sum.data, sum.step},
                                 {values + (value + row.from) * size, row_.from * size}};
        ops::evaluate_row(ops::Op::Add, dtype, both, sum, row_.extent);
      }
    }
  }

  // The offsets of the rows of what is kept, and how each runs.
  void find_rows() {
    if (!inner_.empty()) {
      row_ = inner_.back();
      inner_.pop_back();
    }
    std::vector<std::int64_t> index(inner_.size());
    for (bool more = true; more;) {
      Row &row = rows_.emplace_back();
      for (std::size_t d = 0; d < index.size(); ++d) {
        row.from += index[d] * inner_[d].from;
        row.to += index[d] * inner_[d].to;
      }
      more = false;
      for (std::size_t d = index.size(); d-- > 0 && !more;) {
        more = ++index[d] < inner_[d].extent;
        if (!more) index[d] = 0;
      }
    }
  }

  struct Keyed {
    std::uint64_t extent = 1;
    std::int64_t stride = 0;
  };
  const spec::TypedInput &input_;
  const Array &values_, &to_;
  std::vector<bool> is_kept_;     // [dim of the array]
  std::vector<std::size_t> kept_; // dims of the window
  std::vector<Inner> inner_;      // longest steps of the values first
  struct Row {
    std::int64_t from = 0, to = 0;
  };
  std::vector<Row> rows_;
  Inner row_;                        // of each of them
  std::vector<WalkedOutput> walked_; // [dim of the window]
  std::vector<Keyed> keyed_;         // from the last dim on
  std::vector<std::uint64_t> keys_;  // [point]
  std::uint64_t most_key_ = 0;
  std::uint64_t nowhere_ = 0; // the key of points where a padding reads a number
};

} // namespace

void scatter(const spec::TypedSpec &spec, std::size_t window,
             std::span<const AnyView *const> operands, const Array &values, const Array &to,
             const RunTasks &tasks) {
  const std::vector<ListedPositions> lists =
      listed_positions(spec, window, values.layout(), operands, tasks);
  std::memset(to.raw(), 0, std::size_t(to.size()) * size_of(to.dtype()));
  if (values.size() == 0 || to.size() == 0) return; // numbers around nothing may be read, too
  Scatter(spec, window, values, to).run(lists, operands, tasks);
}

} // namespace broadloom::kernel

// See positions.hpp.
#include "kernel/positions.hpp"

#include "support/check.hpp"
#include "support/element.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

namespace broadloom::kernel {
namespace {

using spec::TypedWindow;
using Wide = __int128; // positions: multiples times elements

template <class T> Wide element_of(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// visit(T()) of the integer type T of an index.
template <class Result, class Visit> Result by_type_of_index(DType dtype, Visit visit) {
  return support::with_type(dtype, [&](auto zero) -> Result {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return visit(zero);
    else
      support::bug("an index is no integer");
  });
}

using Load = Wide (*)(const char *);
Load load_of(DType dtype) {
  return by_type_of_index<Load>(dtype, [](auto zero) { return element_of<decltype(zero)>; });
}

// Lists the positions of one form.
class Lister {
public:
  Lister(const spec::TypedSpec &spec, std::size_t window, std::size_t dim, const Layout &shape,
         std::span<const AnyView *const> operands)
      : spec_(spec), input_(spec.inputs[window]), form_(input_.window->forms[dim]), dim_(dim),
        operands_(operands), count_(input_.window->padded(int(dim), of().layout.extents[dim])) {
    const std::vector<int> &axes = input_.axis_of_dim;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      Dim walked{axes[k], shape.extents[k], 0, {}};
      for (const TypedWindow::Term &term : form_.terms)
        if (term.axis == axes[k]) walked.times = term.times;
      bool matters = walked.times != 0;
      for (const TypedWindow::Index &index : form_.indices) {
        const std::vector<int> &own = spec.inputs[index.input].axis_of_dim;
        const auto found = std::find(own.begin(), own.end(), axes[k]);
        matters = matters || found != own.end();
        walked.strides.push_back(
            found == own.end() ? 0 : operands[index.input]->layout.strides[found - own.begin()]);
      }
      listed_.steps.push_back(0);
      if (!matters) continue;
      places_.push_back(k);
      extents_.push_back(walked.extent);
      dims_.push_back(std::move(walked));
    }
    listed_.dim = int(dim_);
    std::int64_t step = 1;
    for (std::size_t k = places_.size(); k-- > 0;) {
      if (extents_[k] != 1) listed_.steps[places_[k]] = step;
      step *= std::max<std::int64_t>(extents_[k], 1);
    }
    start_ = start_of(form_, count_, [&](std::uint32_t input, std::size_t dim) {
      return operands[input]->layout.extents[dim];
    });
  }

  // Whether every position is inside of the array, whatever the elements of the indices.
  bool is_sure() const {
    return form_.outside != Outside::Fails && form_.divisor == 1 && count_ > 0 &&
           !input_.window->derived;
  }
  const ListedPositions &described() const { return listed_; }
  void list_to(std::int64_t from, std::int64_t to, std::int64_t *entries) const {
    list(from, to, entries);
  }

  std::optional<DescribedPositions> describe() const {
    constexpr Wide most = Wide(1) << 62;
    DescribedPositions made{listed_,       extents_,      {},       std::int64_t(start_),   count_,
                            form_.divisor, form_.outside, stands(), input_.window->derived, {}};
    Wide reach = start_ < 0 ? -start_ : start_;
    for (const Dim &dim : dims_) {
      made.times.push_back(dim.times);
      reach += (dim.times < 0 ? -Wide(dim.times) : Wide(dim.times)) * dim.extent;
    }
    if (reach >= most) return std::nullopt;
    for (std::size_t k = 0; k < form_.indices.size(); ++k) {
      made.indices.push_back({*operands_[form_.indices[k].input], form_.indices[k].times, {}});
      for (const Dim &dim : dims_) made.indices.back().strides.push_back(dim.strides[k]);
    }
    return made;
  }

  ListedPositions run(const RunTasks &tasks) {
    const std::int64_t points = points_of(extents_);
    listed_.entries = Array::to_be_written(DType::I64, contiguous_layout({&points, 1}));
    std::atomic<std::int64_t> first_bad{INT64_MAX};
    share_out(points, 1 << 12, tasks, [&](std::int64_t from, std::int64_t to) {
      const std::int64_t bad =
          list(from, to, static_cast<std::int64_t *>(listed_.entries.raw()) + from);
      std::int64_t known = first_bad.load();
      while (bad < known && !first_bad.compare_exchange_weak(known, bad)) {
      }
    });
    if (first_bad.load() != INT64_MAX) fail_outside(first_bad.load());
    return std::move(listed_);
  }

private:
  struct Dim { // of those that matter
    int axis = 0;
    std::int64_t extent = 1, times = 0;
    std::vector<std::int64_t> strides; // [index]
  };

  const AnyView &of() const { return *operands_[input_.window->of]; }
  bool stands() const { return form_.stretches && of().layout.extents[dim_] == 1; }

  // Lists a range of points. Gives the first bad one, INT64_MAX where there is none.
  std::int64_t list(std::int64_t from, std::int64_t to, std::int64_t *listed) const {
    std::int64_t bad = INT64_MAX;
    const Dim none;
    const Dim &inner = dims_.empty() ? none : dims_.back();
    std::vector<Load> loads;
    std::vector<std::int64_t> steps; // bytes along the row
    for (std::size_t k = 0; k < form_.indices.size(); ++k) {
      const AnyView &read = *operands_[form_.indices[k].input];
      loads.push_back(load_of(read.dtype));
      steps.push_back(dims_.empty() ? 0 : inner.strides[k] * std::int64_t(size_of(read.dtype)));
    }
    std::vector<const char *> rows(loads.size());
    for_each_piece(extents_, from, to, [&](const auto &index, std::int64_t at, std::int64_t count) {
      const Wide affine = affine_at(index);
      std::int64_t *const entries = listed + (at - from);
      for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = element(k, index);
      if (rows.size() == 1 && inner.times == 0 && is_small(affine) &&
          is_small(form_.indices[0].times)) {
        const std::int64_t first =
            list_row(rows[0], steps[0], std::int64_t(affine), count, entries);
        if (first < count && !input_.window->derived && bad == INT64_MAX) bad = at + first;
        return;
      }
      for (std::int64_t n = 0; n < count; ++n) {
        Wide elements = 0;
        for (std::size_t k = 0; k < rows.size(); ++k)
          elements += form_.indices[k].times * loads[k](rows[k] + n * steps[k]);
        const std::int64_t position = inside(affine + n * Wide(inner.times), elements);
        entries[n] = position;
        if (position < 0 && !input_.window->derived && bad == INT64_MAX) bad = at + n;
      }
    });
    return bad;
  }

  static bool is_small(Wide number) { return number > -(1 << 30) && number < (1 << 30); }

  // As x[k[i]], without wide numbers: those of a row whose positions differ by one element of an
  // index only. Gives the first that is outside.
  std::int64_t list_row(const char *row, std::int64_t step, std::int64_t affine, std::int64_t count,
                        std::int64_t *entries) const {
    const DType dtype = operands_[form_.indices[0].input]->dtype;
    return by_type_of_index<std::int64_t>(dtype, [&](auto zero) {
      return list_row_of<decltype(zero)>(row, step, affine, count, entries);
    });
  }

  template <class T>
  std::int64_t list_row_of(const char *row, std::int64_t step, std::int64_t affine,
                           std::int64_t count, std::int64_t *entries) const {
    const std::int64_t times = form_.indices[0].times, extent = count_;
    const bool wraps = form_.outside == Outside::Wraps && extent > 0;
    const bool is_plain = form_.divisor == 1 && !stands();
    const double inverse = 1 / double(std::max<std::int64_t>(extent, 1));
    std::int64_t first = count;
    for (std::int64_t begin = 0; begin < count; begin += run_length) {
      const std::int64_t end = std::min(count, begin + run_length);
      if (is_plain && list_inside<T>(row, step, affine, begin, end, entries)) continue;
      for (std::int64_t n = begin; n < end; ++n) {
        T value;
        std::memcpy(&value, row + n * step, sizeof value);
        constexpr std::int64_t most = std::int64_t(1)
                                      << 51; // a quotient of such is off by less than 1
        std::int64_t position = 0;
        if (is_plain && std::in_range<std::int64_t>(value) &&
            !__builtin_mul_overflow(times, std::int64_t(value), &position) &&
            !__builtin_add_overflow(position, affine, &position) && position > -most &&
            position < most) {
          if (wraps) {
            position -= std::int64_t(double(position) * inverse) * extent;
            if (position < 0) position += extent;
            if (position >= extent) position -= extent;
          } else if (position < 0 || position >= extent) {
            position = inside(position, 0);
          }
        } else {
          position = inside(affine, Wide(times) * Wide(value));
        }
        entries[n] = position;
        if (position < 0) first = std::min(first, n);
      }
    }
    return first;
  }

  // Positions one after the other are mostly all inside, which one look at the end says. If not,
  // what is listed is of no use.
  static constexpr std::int64_t run_length = 128;
  template <class T>
  bool list_inside(const char *row, std::int64_t step, std::int64_t affine, std::int64_t begin,
                   std::int64_t end, std::int64_t *entries) const {
    constexpr std::uint64_t small = std::uint64_t(1) << 32; // times a small number: no overflow
    constexpr std::uint64_t below = std::is_signed_v<T> ? small : 0;
    const auto times = std::uint64_t(std::int64_t(form_.indices[0].times));
    bool all = true;
    for (std::int64_t n = begin; n < end; ++n) {
      T value;
      std::memcpy(&value, row + n * step, sizeof value);
      const std::uint64_t position = std::uint64_t(affine) + times * std::uint64_t(value);
      entries[n] = std::int64_t(position);
      all &= (std::uint64_t(value) + below < below + small) & (position < std::uint64_t(count_));
    }
    return all;
  }

  Wide affine_at(std::span<const std::int64_t> index) const {
    Wide sum = start_;
    for (std::size_t d = 0; d < dims_.size(); ++d) sum += Wide(dims_[d].times) * index[d];
    return sum;
  }
  const char *element(std::size_t k, std::span<const std::int64_t> index) const {
    const AnyView &read = *operands_[form_.indices[k].input];
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < dims_.size(); ++d) offset += dims_[d].strides[k] * index[d];
    return static_cast<const char *>(read.data) + offset * std::int64_t(size_of(read.dtype));
  }

  // The position where the affine part and the elements say this; -1 where there is none.
  std::int64_t inside(Wide affine, Wide elements) const {
    if (stands()) affine = 0;
    if (form_.divisor != 1) {
      if (affine % form_.divisor != 0) return -1;
      affine /= form_.divisor;
    }
    Wide position = affine + elements;
    if (position >= 0 && position < count_) return std::int64_t(position);
    if (count_ == 0) return -1;
    switch (form_.outside) {
    case Outside::Fails: return -1;
    case Outside::Clips: return position < 0 ? 0 : count_ - 1;
    case Outside::Wraps:
      position %= count_;
      return std::int64_t(position < 0 ? position + count_ : position);
    }
    return -1;
  }

  [[noreturn]] void fail_outside(std::int64_t point) const {
    std::vector<std::int64_t> index(extents_.size());
    for_each_piece(extents_, point, point + 1,
                   [&](const auto &at, std::int64_t, std::int64_t) { index = at; });
    Wide position = affine_at(index);
    std::string said;
    for (std::size_t k = 0; k < form_.indices.size(); ++k) {
      const Wide value = load_of(operands_[form_.indices[k].input]->dtype)(element(k, index));
      position += form_.indices[k].times * value;
      said += fmt::format("{}{} is {}", k == 0 ? "" : ", ", name_of(k, index), value);
    }
    support::fail(
        "E0315",
        fmt::format("{} reads position {} of axis {} of {}, which has {}: {}", input_.name,
                    position, dim_, array_of(*input_.window), support::count(count_, "element"),
                    said),
        input_.where,
        position < 0
            ? "positions begin at 0 and do not count from the end; wrap(..) around this one takes "
              "it "
              "modulo the extent, clip(..) takes the nearest inside"
            : "let the index be below the extent; wrap(..) around the position takes it modulo the "
              "extent, clip(..) takes the nearest inside");
  }

  std::string array_of(const TypedWindow &window) const {
    return window.pads.empty() ? "'" + spec_.inputs[window.of].name + "'" : window.seen;
  }

  // "k[2, 1]": where it lies in its array, or where the axes are if that takes its position from
  // elsewhere.
  std::string name_of(std::size_t k, std::span<const std::int64_t> index) const {
    const spec::TypedInput &read = spec_.inputs[form_.indices[k].input];
    const auto at = [&](int axis) -> std::int64_t {
      for (std::size_t d = 0; d < dims_.size(); ++d)
        if (dims_[d].axis == axis) return index[d];
      return 0;
    };
    std::string text;
    if (read.window->is_gather()) {
      for (const int axis : read.axis_of_dim)
        text += fmt::format("{}{} = {}", text.empty() ? " at " : ", ",
                            spec_.axes[std::size_t(axis)].name, at(axis));
      return read.name + text;
    }
    for (std::size_t d = 0; d < read.window->forms.size(); ++d) {
      const TypedWindow::Form &form = read.window->forms[d];
      std::int64_t position =
          form.start +
          (form.from_end
               ? read.window->padded(int(d), operands_[read.window->of]->layout.extents[d])
               : 0);
      for (const TypedWindow::Term &term : form.terms) position += term.times * at(term.axis);
      text += fmt::format("{}{}", d == 0 ? "" : ", ", position);
    }
    const bool padded = !read.window->pads.empty();
    return fmt::format("{}[{}]", padded ? read.window->seen : spec_.inputs[read.window->of].name,
                       text);
  }

  const spec::TypedSpec &spec_;
  const spec::TypedInput &input_;
  const TypedWindow::Form &form_;
  const std::size_t dim_;
  const std::span<const AnyView *const> operands_;
  const std::int64_t count_;
  Wide start_ = 0;
  std::vector<Dim> dims_;
  std::vector<std::size_t> places_;   // [of dims_]: the dim of the window
  std::vector<std::int64_t> extents_; // the same
  ListedPositions listed_;
};

} // namespace

void run_in_order(std::int64_t count, const std::function<void(std::int64_t)> &task) {
  for (std::int64_t k = 0; k < count; ++k) task(k);
}

std::optional<SurePositions> sure_positions(const spec::TypedSpec &spec, std::size_t window,
                                            const Layout &shape,
                                            std::span<const AnyView *const> operands) {
  const std::vector<TypedWindow::Form> &forms = spec.inputs[window].window->forms;
  if (std::ranges::count_if(forms, is_listed) != 1) return std::nullopt;
  const auto dim = std::size_t(std::ranges::find_if(forms, is_listed) - forms.begin());
  const auto lister = std::make_shared<const Lister>(spec, window, dim, shape, operands);
  if (!lister->is_sure()) return std::nullopt;
  return SurePositions{lister->described(),
                       [lister](std::int64_t first, std::int64_t last, std::int64_t *to) {
                         lister->list_to(first, last, to);
                       }};
}

std::optional<std::vector<DescribedPositions>>
described_positions(const spec::TypedSpec &spec, std::size_t window, const Layout &shape,
                    std::span<const AnyView *const> operands) {
  std::vector<DescribedPositions> made;
  const TypedWindow &seen = *spec.inputs[window].window;
  for (std::size_t dim = 0; dim < seen.forms.size(); ++dim) {
    if (!is_listed(seen.forms[dim])) continue;
    auto one = Lister(spec, window, dim, shape, operands).describe();
    if (!one) return std::nullopt;
    made.push_back(std::move(*one));
  }
  return made;
}

std::vector<ListedPositions> listed_positions(const spec::TypedSpec &spec, std::size_t window,
                                              const Layout &shape,
                                              std::span<const AnyView *const> operands,
                                              const RunTasks &tasks) {
  std::vector<ListedPositions> lists;
  if (element_count(shape) == 0) return lists; // nothing is read
  const TypedWindow &seen = *spec.inputs[window].window;
  for (std::size_t dim = 0; dim < seen.forms.size(); ++dim)
    if (is_listed(seen.forms[dim]))
      lists.push_back(Lister(spec, window, dim, shape, operands).run(tasks));
  return lists;
}

} // namespace broadloom::kernel

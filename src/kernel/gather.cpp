// See gather.hpp.
#include "kernel/gather.hpp"

#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace broadloom::kernel {
namespace {

using spec::TypedWindow;
using Wide = __int128; // positions: multiples times elements

// Calls piece(index, first, count) for the pieces of rows between two points of a box in C order: `index` is that of the first point.
template <class Piece>
void for_each_piece(std::span<const std::int64_t> extents, std::int64_t from, std::int64_t to,
                    Piece piece) {
  std::vector<std::int64_t> index(extents.size());
  const std::int64_t row = extents.empty() ? 1 : extents.back();
  for (std::int64_t at = from; at < to;) {
    std::int64_t rest = at;
    for (std::size_t d = extents.size(); d-- > 0;) {
      index[d] = rest % extents[d];
      rest /= extents[d];
    }
    const std::int64_t count = std::min(to - at, row - (extents.empty() ? 0 : index.back()));
    piece(index, at, count);
    at += count;
  }
}

std::int64_t points_of(std::span<const std::int64_t> extents) {
  std::int64_t points = 1;
  for (const std::int64_t extent : extents) points *= extent;
  return points;
}

// Shares out points: `grain` is how many are worth a task.
template <class Range>
void share_out(std::int64_t points, std::int64_t grain, const RunTasks &tasks, Range range) {
  const std::int64_t count =
      std::clamp<std::int64_t>(points / std::max<std::int64_t>(grain, 1), 1, 256);
  const auto begin = [&](std::int64_t k) { return points / count * k + points % count * k / count; };
  if (count == 1) return range(0, points);
  tasks(count, [&](std::int64_t k) { range(begin(k), begin(k + 1)); });
}

template <class T> Wide element_of(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

using Load = Wide (*)(const char *);
Load load_of(DType dtype) {
  switch (dtype) {
  case DType::I8: return element_of<std::int8_t>;
  case DType::I16: return element_of<std::int16_t>;
  case DType::I32: return element_of<std::int32_t>;
  case DType::I64: return element_of<std::int64_t>;
  case DType::U8: return element_of<std::uint8_t>;
  case DType::U16: return element_of<std::uint16_t>;
  case DType::U32: return element_of<std::uint32_t>;
  case DType::U64: return element_of<std::uint64_t>;
  case DType::Bool:
  case DType::F16:
  case DType::BF16:
  case DType::F32:
  case DType::F64:
  case DType::C64:
  case DType::C128: break;
  }
  support::bug("an index is no integer");
}

// Lists the positions of one form.
class Lister {
public:
  Lister(const spec::TypedSpec &spec, std::size_t window, std::size_t dim, const Layout &shape,
         std::span<const AnyView *const> operands)
      : spec_(spec), input_(spec.inputs[window]), form_(input_.window->forms[dim]), dim_(dim),
        operands_(operands), count_(of().layout.extents[dim]) {
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
    std::int64_t step = 1;
    for (std::size_t k = places_.size(); k-- > 0;) {
      if (extents_[k] != 1) listed_.steps[places_[k]] = step;
      step *= std::max<std::int64_t>(extents_[k], 1);
    }
    start_ = Wide(form_.start) + (form_.from_end ? count_ : 0);
    for (const TypedWindow::Count &count : form_.counts)
      start_ += Wide(count.times) * operands[count.input]->layout.extents[std::size_t(count.dim)];
  }

  ListedPositions run(const RunTasks &tasks) {
    const std::int64_t points = points_of(extents_);
    listed_.dim = int(dim_);
    listed_.entries = Array::to_be_written(DType::I64, contiguous_layout({&points, 1}));
    std::atomic<std::int64_t> first_bad{INT64_MAX};
    share_out(points, 1 << 15, tasks, [&](std::int64_t from, std::int64_t to) {
      const std::int64_t bad = list(from, to);
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
  bool stands() const { return form_.stretches && count_ == 1; }

  // The first bad point of a range, INT64_MAX where there is none.
  std::int64_t list(std::int64_t from, std::int64_t to) {
    std::int64_t *entries = static_cast<std::int64_t *>(listed_.entries.raw());
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
      for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = element(k, index);
      for (std::int64_t n = 0; n < count; ++n) {
        Wide elements = 0;
        for (std::size_t k = 0; k < rows.size(); ++k)
          elements += form_.indices[k].times * loads[k](rows[k] + n * steps[k]);
        const std::int64_t position = inside(affine + n * Wide(inner.times), elements);
        entries[at + n] = position;
        if (position < 0 && !input_.window->derived && bad == INT64_MAX) bad = at + n;
      }
    });
    return bad;
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
    case Outside::Wraps: position %= count_; return std::int64_t(position < 0 ? position + count_ : position);
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
      said += fmt::format("{}{} is {}", k == 0 ? "" : ", ", name_of(k, index), shown(value));
    }
    support::fail(
        "E0311",
        fmt::format("{} reads position {} of axis {} of '{}', which has {}: {}", input_.name,
                    shown(position), dim_, spec_.inputs[input_.window->of].name,
                    support::count(count_, "element"), said),
        input_.where,
        position < 0
            ? "positions begin at 0 and do not count from the end; wrap(..) around this one takes it "
              "modulo the extent, clip(..) takes the nearest inside"
            : "let the index be below the extent; wrap(..) around the position takes it modulo the "
              "extent, clip(..) takes the nearest inside");
  }

  static std::string shown(Wide number) { // most fit; the others are far away
    constexpr Wide most = INT64_MAX;
    return std::to_string(std::int64_t(std::clamp(number, -most, most)));
  }

  // "k[2, 1]": where it lies in its array, or where the axes are if that takes its position from elsewhere.
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
          form.start + (form.from_end ? operands_[read.window->of]->layout.extents[d] : 0);
      for (const TypedWindow::Term &term : form.terms) position += term.times * at(term.axis);
      text += fmt::format("{}{}", d == 0 ? "" : ", ", position);
    }
    return fmt::format("{}[{}]", spec_.inputs[read.window->of].name, text);
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

bool is_listed(const TypedWindow::Form &form) {
  return !form.indices.empty() || form.may_leave || form.divisor != 1;
}

// Copies elements of one size.
template <std::size_t size> struct Copier {
  static void row(char *to, const char *from, std::int64_t count, std::int64_t step) {
    if (step == std::int64_t(size)) {
      std::memcpy(to, from, std::size_t(count) * size);
      return;
    }
    for (std::int64_t n = 0; n < count; ++n) std::memcpy(to + n * size, from + n * step, size);
  }
};

struct Walked { // a dim of what is written
  std::int64_t extent = 1;
  std::int64_t step = 0;           // elements of the array
  std::vector<std::int64_t> steps; // [list]: entries
};

template <std::size_t size>
void copy_range(const std::vector<Walked> &dims, std::span<const std::int64_t> extents,
                const std::vector<ListedPositions> &lists, std::span<const std::int64_t> strides,
                const char *from, char *to, std::int64_t first, std::int64_t last) {
  const Walked point;
  const Walked &inner = dims.empty() ? point : dims.back();
  const bool is_row = std::all_of(inner.steps.begin(), inner.steps.end(),
                                  [](std::int64_t step) { return step == 0; });
  std::vector<const std::int64_t *> entries(lists.size());
  for_each_piece(extents, first, last, [&](const auto &index, std::int64_t at, std::int64_t count) {
    std::int64_t offset = 0;
    bool is_there = true;
    for (std::size_t d = 0; d < dims.size(); ++d) offset += dims[d].step * index[d];
    for (std::size_t l = 0; l < lists.size(); ++l) {
      entries[l] = lists[l].at();
      for (std::size_t d = 0; d < dims.size(); ++d) entries[l] += dims[d].steps[l] * index[d];
      if (!is_row) continue;
      is_there = is_there && *entries[l] >= 0;
      offset += *entries[l] * strides[l];
    }
    char *row = to + at * std::int64_t(size);
    const std::int64_t step = inner.step * std::int64_t(size);
    if (is_row && is_there)
      return Copier<size>::row(row, from + offset * std::int64_t(size), count, step);
    if (is_row) {
      std::memset(row, 0, std::size_t(count) * size);
      return;
    }
    if (lists.size() == 1 && inner.steps[0] == 1) { // x[k[i]]
      const std::int64_t *positions = entries[0];
      for (std::int64_t n = 0; n < count; ++n)
        if (positions[n] < 0)
          std::memset(row + n * size, 0, size);
        else
          std::memcpy(row + n * size,
                      from + (offset + n * inner.step + positions[n] * strides[0]) *
                                 std::int64_t(size),
                      size);
      return;
    }
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t at_n = offset + n * inner.step;
      bool there = true;
      for (std::size_t l = 0; l < lists.size(); ++l) {
        const std::int64_t position = entries[l][n * inner.steps[l]];
        there = there && position >= 0;
        at_n += position * strides[l];
      }
      if (there)
        std::memcpy(row + n * size, from + at_n * std::int64_t(size), size);
      else
        std::memset(row + n * size, 0, size);
    }
  });
}

} // namespace

void run_in_order(std::int64_t count, const std::function<void(std::int64_t)> &task) {
  for (std::int64_t k = 0; k < count; ++k) task(k);
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

void gather(const spec::TypedSpec &spec, std::size_t window, std::span<const AnyView *const> operands,
            const Array &to, const RunTasks &tasks) {
  const std::vector<ListedPositions> lists =
      listed_positions(spec, window, to.layout(), operands, tasks);
  if (to.size() == 0) return;
  const spec::TypedInput &input = spec.inputs[window];
  const AnyView &of = *operands[input.window->of];
  std::vector<Walked> dims;
  for (std::size_t k = 0; k < input.axis_of_dim.size(); ++k) {
    Walked dim{to.layout().extents[k], 0, {}};
    for (const ListedPositions &list : lists) dim.steps.push_back(list.steps[k]);
    dims.push_back(std::move(dim));
  }
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < input.window->forms.size(); ++d) {
    const TypedWindow::Form &form = input.window->forms[d];
    if (is_listed(form) || (form.stretches && of.layout.extents[d] == 1)) continue;
    std::int64_t start = form.start + (form.from_end ? of.layout.extents[d] : 0);
    for (const TypedWindow::Count &count : form.counts)
      start += count.times * operands[count.input]->layout.extents[std::size_t(count.dim)];
    offset += start * of.layout.strides[d];
    for (const TypedWindow::Term &term : form.terms)
      for (std::size_t k = 0; k < dims.size(); ++k)
        if (input.axis_of_dim[k] == term.axis && dims[k].extent > 1)
          dims[k].step += term.times * of.layout.strides[d];
  }
  std::vector<std::int64_t> strides;
  for (const ListedPositions &list : lists)
    strides.push_back(of.layout.strides[std::size_t(list.dim)]);

  // Dims that lie behind each other in both are one row.
  std::erase_if(dims, [](const Walked &dim) { return dim.extent == 1; });
  const auto is_plain = [](const Walked &dim) {
    return std::all_of(dim.steps.begin(), dim.steps.end(),
                       [](std::int64_t step) { return step == 0; });
  };
  while (dims.size() > 1 && is_plain(dims.back()) && is_plain(dims[dims.size() - 2]) &&
         dims[dims.size() - 2].step == dims.back().extent * dims.back().step) {
    const Walked inner = dims.back();
    dims.pop_back();
    dims.back().extent *= inner.extent;
    dims.back().step = inner.step;
  }
  std::vector<std::int64_t> extents;
  for (const Walked &dim : dims) extents.push_back(dim.extent);

  const std::size_t size = size_of(of.dtype);
  const char *from = static_cast<const char *>(of.data) + offset * std::int64_t(size);
  char *target = static_cast<char *>(to.raw());
  share_out(to.size(), std::int64_t(1 << 17) / std::int64_t(size), tasks,
            [&](std::int64_t first, std::int64_t last) {
              const auto copy = [&](auto range) {
                range(dims, extents, lists, strides, from, target, first, last);
              };
              switch (size) {
              case 1: return copy(copy_range<1>);
              case 2: return copy(copy_range<2>);
              case 4: return copy(copy_range<4>);
              case 8: return copy(copy_range<8>);
              default: return copy(copy_range<16>);
              }
            });
}

} // namespace broadloom::kernel

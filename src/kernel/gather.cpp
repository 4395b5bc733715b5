// See gather.hpp.
#include "kernel/gather.hpp"

#include <array>
#include <cstring>

namespace broadloom::kernel {
namespace {

using spec::TypedWindow;

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

using Walked = GatherWalk::Dim;

// Rows as they lie, as of x[k[i], j]. No processor foresees where the next one is, so its first
// lines are asked for while others are copied: some 2 KiB ahead, which is what a core can wait for
// at a time. Rows of 256 bytes that lie in no cache take 0.75 of the time.
void copy_rows(const std::int64_t *positions, std::int64_t step, std::int64_t stride,
               std::int64_t bytes, const char *from, char *to, std::int64_t count) {
  constexpr std::int64_t line = 64, most_bytes = 512, bytes_ahead = 2048;
  const std::int64_t ahead = std::clamp<std::int64_t>(bytes_ahead / bytes, 1, 16);
  const std::int64_t asked = std::min(bytes, most_bytes);
  const auto row = [&](std::int64_t n) { return from + (positions[n] * stride + n * step); };
  for (std::int64_t n = 0; n < count; ++n, to += bytes) {
    if (n + ahead < count && positions[n + ahead] >= 0)
      for (std::int64_t at = 0; at < asked; at += line) __builtin_prefetch(row(n + ahead) + at);
    if (positions[n] < 0)
      std::memset(to, 0, std::size_t(bytes));
    else
      std::memcpy(to, row(n), std::size_t(bytes));
  }
}

template <std::size_t size>
void copy_range(const std::vector<Walked> &dims, std::span<const std::int64_t> extents,
                const std::vector<ListedPositions> &lists, std::span<const std::int64_t> strides,
                const char *from, char *to, std::int64_t first, std::int64_t last) {
  const Walked point;
  const Walked &inner = dims.empty() ? point : dims.back();
  const bool is_row = inner.is_plain();
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

GatherWalk walk_of_gather(const spec::TypedSpec &spec, std::size_t window,
                          std::span<const AnyView *const> operands, const AnyView &of,
                          const Layout &to, const std::vector<ListedPositions> &lists) {
  const spec::TypedInput &input = spec.inputs[window];
  GatherWalk made;
  std::vector<Walked> &dims = made.dims;
  for (std::size_t k = 0; k < input.axis_of_dim.size(); ++k) {
    Walked dim{to.extents[k], 0, {}};
    for (const ListedPositions &list : lists) dim.steps.push_back(list.steps[k]);
    dims.push_back(std::move(dim));
  }
  for (std::size_t d = 0; d < input.window->forms.size(); ++d) {
    const TypedWindow::Form &form = input.window->forms[d];
    if (is_listed(form) || (form.stretches && operands[input.window->of]->layout.extents[d] == 1))
      continue;
    made.offset += std::int64_t(start_of(form, of.layout.extents[d],
                                         [&](std::uint32_t input, std::size_t dim) {
                                           return operands[input]->layout.extents[dim];
                                         })) *
                   of.layout.strides[d];
    for (const TypedWindow::Term &term : form.terms)
      for (std::size_t k = 0; k < dims.size(); ++k)
        if (input.axis_of_dim[k] == term.axis && dims[k].extent > 1)
          dims[k].step += term.times * of.layout.strides[d];
  }
  for (const ListedPositions &list : lists)
    made.strides.push_back(of.layout.strides[std::size_t(list.dim)]);

  // Dims that lie behind each other in both are one row.
  std::erase_if(dims, [](const Walked &dim) { return dim.extent == 1; });
  while (dims.size() > 1 && dims.back().is_plain() && dims[dims.size() - 2].is_plain() &&
         dims[dims.size() - 2].step == dims.back().extent * dims.back().step) {
    const Walked inner = dims.back();
    dims.pop_back();
    dims.back().extent *= inner.extent;
    dims.back().step = inner.step;
  }
  return made;
}

void gather(const spec::TypedSpec &spec, std::size_t window,
            std::span<const AnyView *const> operands, const AnyView &of, const Array &to,
            const RunTasks &tasks) {
  if (to.size() == 0) return;
  const std::optional<SurePositions> sure = sure_positions(spec, window, to.layout(), operands);
  std::vector<ListedPositions> lists =
      sure ? std::vector{sure->described}
           : listed_positions(spec, window, to.layout(), operands, tasks);
  const auto [dims, offset, strides] =
      walk_of_gather(spec, window, operands, of, to.layout(), lists);
  std::vector<std::int64_t> extents;
  for (const Walked &dim : dims) extents.push_back(dim.extent);

  const std::size_t size = size_of(of.dtype);
  const char *from = static_cast<const char *>(of.data) + offset * std::int64_t(size);
  char *target = static_cast<char *>(to.raw());
  if (dims.size() == 2 && lists.size() == 1 && dims[1].is_plain() && dims[1].step == 1 &&
      dims[0].steps[0] == 1) {
    const std::int64_t bytes = extents[1] * std::int64_t(size);
    const auto copy = [&](const std::int64_t *positions, std::int64_t first, std::int64_t last) {
      copy_rows(positions, dims[0].step * std::int64_t(size), strides[0] * std::int64_t(size),
                bytes, from + first * dims[0].step * std::int64_t(size), target + first * bytes,
                last - first);
    };
    share_out(extents[0], std::max<std::int64_t>(1, (1 << 18) / bytes), tasks,
              [&](std::int64_t first, std::int64_t last) {
                if (!sure) return copy(lists[0].at() + first, first, last);
                std::array<std::int64_t, 1024> positions;
                for (std::int64_t at = first; at < last; at += std::ssize(positions)) {
                  const std::int64_t end = std::min(last, at + std::ssize(positions));
                  sure->list(at, end, positions.data());
                  copy(positions.data(), at, end);
                }
              });
    return;
  }
  if (sure) lists = listed_positions(spec, window, to.layout(), operands, tasks);
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

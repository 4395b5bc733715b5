// The positions that a window reads, listed where no strided view can follow them: see gather.hpp.
#pragma once

#include "spec/spec.hpp"
#include "spec/start_of.hpp"

#include <broadloom/array.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace broadloom::kernel {

// Runs task(0) to task(count - 1), at the same time or one after the other, and comes back when all
// are done. No task throws. Where a call is cancelled it throws, and some are not run.
using RunTasks =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)> &task)>;
void run_in_order(std::int64_t count, const std::function<void(std::int64_t)> &task);

// The positions along one dim of an array that a window reads, for all positions of those of its
// axes that matter.
struct ListedPositions {
  int dim = 0; // of the array
  std::vector<std::int64_t>
      steps;     // [dim of the window]: between entries; 0 where they are the same
  Array entries; // i64; -1: there is nothing, which is read as 0
  const std::int64_t *at() const { return static_cast<const std::int64_t *>(entries.raw()); }
};

// Whether a strided view cannot follow: with an index, and of derived windows what may leave the
// array.
inline bool is_listed(const spec::TypedWindow::Form &form) {
  return !form.indices.empty() || form.may_leave || form.divisor != 1;
}

using spec::start_of;

// Of a window of which one dim is listed, and no position can be outside: they are listed piece by
// piece, where they are needed.
struct SurePositions {
  ListedPositions described; // without its entries
  std::function<void(std::int64_t first, std::int64_t last, std::int64_t *to)> list;
};
// Nothing where the window is not such. The operands must live as long as it does.
std::optional<SurePositions> sure_positions(const spec::TypedSpec &spec, std::size_t window,
                                            const Layout &shape,
                                            std::span<const AnyView *const> operands);

// How the positions along a dim come about, for who lists them elsewhere: start + times * place
// along the dims of the window that matter, divided, and times * elements of indices.
struct DescribedPositions {
  ListedPositions listed; // without its entries
  std::vector<std::int64_t> extents, times;
  std::int64_t start = 0, extent = 0, divisor = 1;
  Outside outside = Outside::Fails;
  bool stands = false;    // the affine part counts for nothing
  bool may_leave = false; // what is outside is -1, not a mistake
  struct Index {
    AnyView of;
    std::int64_t times = 0;
    std::vector<std::int64_t> strides;
  };
  std::vector<Index> indices;
};
// Of all that are listed; nothing where numbers are so large that they need care.
std::optional<std::vector<DescribedPositions>>
described_positions(const spec::TypedSpec &spec, std::size_t window, const Layout &shape,
                    std::span<const AnyView *const> operands);

// For the dims that are listed. `shape` is that of the window, `operands` are views of all inputs
// before it. Throws DataError E0315 for the first element, in C order, that says a position
// outside.
std::vector<ListedPositions> listed_positions(const spec::TypedSpec &spec, std::size_t window,
                                              const Layout &shape,
                                              std::span<const AnyView *const> operands,
                                              const RunTasks &tasks);

// Calls piece(index, first, count) for the pieces of rows between two points of a box in C order:
// `index` is that of the first point.
template <class Piece>
void for_each_piece(std::span<const std::int64_t> extents, std::int64_t from, std::int64_t to,
                    Piece piece) {
  std::vector<std::int64_t> index(extents.size());
  const std::int64_t row = extents.empty() ? 1 : extents.back();
  std::int64_t rest = from;
  for (std::size_t d = extents.size(); d-- > 0 && from < to;) {
    index[d] = rest % extents[d];
    rest /= extents[d];
  }
  for (std::int64_t at = from; at < to;) {
    const std::int64_t count = std::min(to - at, row - (extents.empty() ? 0 : index.back()));
    piece(index, at, count);
    at += count;
    if (extents.empty()) continue;
    index.back() = 0; // the next row
    for (std::size_t d = extents.size() - 1; d > 0; --d) {
      ++index[d - 1];
      if (index[d - 1] < extents[d - 1]) break;
      index[d - 1] = 0;
    }
  }
}

inline std::int64_t points_of(std::span<const std::int64_t> extents) {
  std::int64_t points = 1;
  for (const std::int64_t extent : extents) points *= extent;
  return points;
}

// Shares out points: `grain` is how many are worth a task.
template <class Range>
void share_out(std::int64_t points, std::int64_t grain, const RunTasks &tasks, Range range) {
  const std::int64_t count =
      std::clamp<std::int64_t>(points / std::max<std::int64_t>(grain, 1), 1, 256);
  const auto begin = [&](std::int64_t k) {
    return points / count * k + points % count * k / count;
  };
  if (count == 1) return range(0, points);
  tasks(count, [&](std::int64_t k) { range(begin(k), begin(k + 1)); });
}

} // namespace broadloom::kernel

// See run_tiles.hpp.
#include "jit/call/run_tiles.hpp"

#include "array/copy.hpp"
#include "jit/runtime/scratch.hpp"
#include "jit/runtime/threads.hpp"
#include "kernel/check.hpp"
#include "support/check.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

namespace broadloom::jit {
namespace {

using Piece = Tiles::Piece;

// One task: the rows of each let that are there, and where they lie.
class TileTask {
public:
  // `keeps_all`: no row of a let makes room for another.
  TileTask(const Tiles &tiles, std::span<char *const> arrays, bool keeps_all)
      : tiles_(tiles), arrays_(arrays.begin(), arrays.end()), keeps_all_(keeps_all),
        memory_(bytes(tiles, keeps_all)), rows_(tiles.arrays.size()) {
    std::int64_t at = 0;
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      rows_[a].memory = memory_.data() + at;
      at += bytes(tiles.arrays[a], keeps_all);
      if (keeps_all) begin_with(a, -above(tiles.arrays[a]));
    }
    scratch_ = memory_.data() + at;
  }

  // Its rows, and behind them what the largest piece needs.
  static std::size_t bytes(const Tiles &tiles, bool keeps_all) {
    std::int64_t all = tiles.scratch;
    for (const Tiles::Array &array : tiles.arrays) all += bytes(array, keeps_all);
    return std::size_t(all);
  }

  void run(const std::vector<Piece> &pieces, const TileWatch *watch) {
    for (const Piece &piece : pieces) {
      if (piece.is_border) {
        make_room(piece.nest, piece);
        pad(tiles_.arrays[piece.nest], piece, watch);
        continue;
      }
      const Tiles::Nest &nest = tiles_.nests[piece.nest];
      if (nest.array) make_room(*nest.array, piece);
      if (watch != nullptr) tell(nest, piece, *watch);
      run(nest, piece);
    }
  }

  std::span<char *const> arrays() const { return arrays_; }
  AnyView at(const MemRef &whole) const {
    AnyView view = whole.view;
    view.data = whole.at(arrays_);
    return view;
  }

private:
  struct Rows {
    char *memory = nullptr;
    std::optional<std::int64_t> first = {}; // the row that lies where the memory begins
    std::int64_t end = 0;
  };

  // Lines of 64 bytes, and not all of them at the same place of a page.
  static std::int64_t bytes(const Tiles::Array &array, bool keeps_all) {
    const std::int64_t rows =
        keeps_all ? above(array) + array.rows + (array.border ? array.border->below : 0)
                  : array.room;
    return (rows * array.row_bytes + 63) / 64 * 64 + 320;
  }
  static std::int64_t above(const Tiles::Array &array) {
    return array.border ? array.border->above : 0;
  }

  // Rows that are still needed move to the front. Several nests may write parts of the same rows.
  void make_room(std::size_t a, const Piece &piece) {
    const Tiles::Array &array = tiles_.arrays[a];
    Rows &rows = rows_[a];
    if (!rows.first) {
      begin_with(a, piece.needed);
      rows.end = piece.needed;
    } else if (!keeps_all_ && piece.end - *rows.first > array.room) {
      const std::int64_t first = piece.needed, left = std::max<std::int64_t>(rows.end - first, 0);
      if (left > 0)
        std::memmove(rows.memory, rows.memory + (first - *rows.first) * array.row_bytes,
                     std::size_t(left * array.row_bytes));
      begin_with(a, first);
    }
    rows.end = std::max(rows.end, piece.end);
  }
  void begin_with(std::size_t a, std::int64_t row) {
    rows_[a].first = row;
    arrays_[tiles_.arrays[a].number] = rows_[a].memory - row * tiles_.arrays[a].row_bytes;
  }

  void pad(const Tiles::Array &array, const Piece &piece, const TileWatch *watch) const {
    const Tiles::Border &border = *array.border;
    const AnyView of = at(array.whole), copy = at(border.copy);
    kernel::pad_around(border.padding, of, copy, border.dim, piece.begin, piece.end - piece.begin);
    if (watch == nullptr) return;
    for (const Tiles::PaddedRows &rows : Tiles::padded_rows(border, array.rows, piece))
      watch->pad(border, of, copy, rows);
  }

  void run(const Tiles::Nest &nest, const Piece &piece) {
    const Specialisation &special = *nest.special;
    const loop::Program &program = special.pattern->program;
    const std::int64_t begin = piece.begin - nest.first, count = piece.end - piece.begin;
    // Scratch arrays have the rows of the piece alone. Behind them comes what a thread has for
    // itself.
    const std::vector<std::int64_t> starts = nest.rows.starts(count);
    std::int64_t first_own = 0;
    if (!special.rows.buffers.empty())
      first_own = special.buffers[special.rows.buffers.front()].scratch_at;
    buffers_.clear();
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const loop::Buffer &buffer = program.buffers[b];
      const Specialisation::Source source = special.buffers[b];
      if (source.operand >= 0)
        buffers_.push_back(
            static_cast<char *>(nest.run.operands[std::size_t(source.operand)].at(arrays_)));
      else if (buffer.role == loop::Role::Scratch)
        buffers_.push_back(scratch_ + starts[buffer.operand] -
                           begin * nest.rows.scratch[buffer.operand]);
      else
        buffers_.push_back(scratch_ + starts.back() + source.scratch_at - first_own);
    }
    for (std::size_t phase = 0; phase < special.phases.size(); ++phase) {
      const runtime::Grid &grid = special.phases[phase].grid;
      std::int64_t lo[runtime::most_parallel_axes], hi[runtime::most_parallel_axes];
      std::ranges::copy(grid.lo, lo);
      std::ranges::copy(grid.hi, hi);
      lo[nest.rows.boxes[phase]] = begin * nest.rows.positions;
      hi[nest.rows.boxes[phase]] = (begin + count) * nest.rows.positions;
      nest.run.nest->executor().run_box(special, phase, buffers_.data(), lo, hi);
    }
  }

  // The views of a whole nest, cut down to the rows of the piece.
  void tell(const Tiles::Nest &nest, const Piece &piece, const TileWatch &watch) const {
    const spec::TypedSpec &typed = nest.run.nest->typed();
    std::vector<AnyView> views = views_at(nest.run.operands, arrays_);
    for (std::size_t k = 0; k < views.size(); ++k) {
      const std::vector<int> &axes = k < typed.inputs.size()
                                         ? typed.inputs[k].axis_of_dim
                                         : typed.outputs[k - typed.inputs.size()].axes;
      for (std::size_t d = 0; d < axes.size(); ++d)
        if (axes[d] == nest.axis && views[k].layout.extents[d] > 1)
          views[k] = array::rows_of(views[k], d, piece.begin - nest.first, piece.end - piece.begin);
    }
    watch.piece(nest.run, pointers_to(nest.run.operands, views));
  }

  const Tiles &tiles_;
  std::vector<char *> arrays_;
  const bool keeps_all_;
  const runtime::Scratch memory_;
  char *scratch_ = nullptr; // of a piece
  std::vector<Rows> rows_;
  std::vector<char *> buffers_;
};

bool same_bits(const Array &a, const Array &b) {
  const auto bytes = std::size_t(element_count(a.layout())) * size_of(a.dtype());
  return bytes == 0 || std::memcmp(a.raw(), b.raw(), bytes) == 0;
}

// All rows again, by each nest as a whole, which is verified: they must be as they were.
void verify_whole(const Tiles &tiles, std::span<char *const> arrays) {
  for (const Tiles::Nest &nest : tiles.nests) {
    const std::vector<AnyView> views = views_at(nest.run.operands, arrays);
    const std::vector<const AnyView *> operands = pointers_to(nest.run.operands, views);
    std::vector<Array> before;
    const std::size_t inputs = nest.run.nest->typed().inputs.size();
    for (std::size_t k = inputs; k < operands.size(); ++k)
      before.push_back(operands[k] != nullptr ? array::dense_copy(views[k])
                                              : Array(views[k].dtype, {0}));
    nest.run.nest->run(operands, {nest.run.lies});
    for (std::size_t k = inputs; k < operands.size() && !nest.array; ++k)
      if (operands[k] != nullptr && !same_bits(before[k - inputs], array::dense_copy(views[k])))
        support::bug("an output has other bits in tiles", nest.run.nest->typed().name);
  }
}

} // namespace

std::size_t bytes_of_task(const Tiles &tiles) { return TileTask::bytes(tiles, false); }

void run_tiles(const Setup &setup, const Tiles &tiles, std::span<char *const> arrays,
               const TileWatch *watch) {
  for (const Tiles::Nest &nest : tiles.nests) {
    const std::vector<AnyView> views = views_at(nest.run.operands, arrays);
    kernel::check_pointers(nest.run.nest->typed(), pointers_to(nest.run.operands, views));
  }
  if (watch != nullptr || setup.verifies) {
    TileTask all(tiles, arrays, true);
    for (const Tiles::Array &array : tiles.arrays)
      if (watch != nullptr) watch->let(array.name, all.at(array.whole));
    for (const std::vector<Piece> &task : tiles.tasks) all.run(task, watch);
    if (setup.verifies) verify_whole(tiles, all.arrays());
    return;
  }
  std::exception_ptr failure; // of the first task that fails; no error passes through oneTBB
  std::mutex mutex;
  runtime::CallArena *const arena = runtime::CallArena::now();
  const auto run = [&](std::int64_t task) noexcept {
    const runtime::CallArena::Use here(arena);
    try {
      TileTask(tiles, arrays, false).run(tiles.tasks[std::size_t(task)], nullptr);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  const auto tasks = std::int64_t(tiles.tasks.size());
  if (tasks == 1)
    run(0);
  else
    runtime::run_tasks(setup.workers_now(), tasks, run);
  if (failure) std::rethrow_exception(failure);
}

} // namespace broadloom::jit

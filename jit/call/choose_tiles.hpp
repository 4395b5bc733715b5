// Lets that are arrays, computed a few rows at a time, just before what reads these rows. They stay
// in the cache of a core, and no memory is written and read for the rest.
//
//   let h[r, j] = x[r, j] + x[r, j + 1] + x[r, j + 2]
//   out y[i, j] = h[i, j] + h[i + 1, j] + h[i + 2, j]
//
//   tile    rows of y     rows of h that are computed, and kept from before
//   0       [0, 32)       [0, 34)
//   1       [32, 64)      [34, 66)       [32, 34)
//
// Each nest runs as it would for the whole call, on boxes of its outermost parallel axis, so all
// bits are the same. Threads take tasks of several tiles, and compute the rows that two tasks share
// once for each. Halide calls it compute_at with a store_at further out, a sliding window.
#pragma once

#include "jit/call/choose_reader.hpp"

#include <optional>
#include <span>
#include <vector>

namespace broadloom::jit::choice {

// What a nest reads of an input for rows [begin, end) along one of its axes: rows from
// times * begin + low to times * (end - 1) + high, both included.
struct RowsRead {
  std::size_t reads = 0; // the member of a group that computes them
  std::int64_t times = 1, low = 0, high = 0;
  bool by_one_axis = true;             // no fold goes from row to row
  std::optional<Padding> padding = {}; // of the input, where some are read in its borders
};

// The dim that lies outside of all others: its rows lie one behind the other.
std::optional<std::size_t> outermost_dim(const Layout &layout);

// The rows of `array` that lie along its outermost dim, for rows along `axis`; none: they are read
// in another way, from all of them, or from the other end of the array, as one that wraps.
std::optional<RowsRead> rows_read(const TypedSpec &typed, std::span<const Layout> given,
                                  std::size_t array, int axis);

// Bytes from row to row of a let in tiles: rows begin where cache lines do. Rows that are whole
// lines stay side by side, as loops that walk them as one are faster.
std::int64_t apart_in_lines(std::int64_t row_bytes);

// A let, or at last what reads them all: another let, or the kernel itself.
struct TileMember {
  std::size_t let = 0;                  // the number of lets: the kernel
  int axis = 0;                         // of its nest
  std::int64_t rows = 0, row_bytes = 0; // from row to row
  std::vector<RowsRead> reads = {};
  std::int64_t times = 1; // rows for each row of the last member
  std::optional<Tiles::Border> border = {};
};
struct TileGroup {
  std::vector<TileMember> members;
  std::int64_t rows = 0;         // of a tile
  std::int64_t spare = 0;        // rows of the last member that memory has room for beyond a tile
  std::int64_t tasks = 1;        // that the tiles are shared out to
  std::string_view why_not = {}; // with rows of 0
};

// Rows of the last member that the memory of the lets, of so many bytes, has room for beyond a
// tile. Rows that the next tile needs, too, move to its front where it ends. In memory for one tile
// alone they would at each: of Harris corners of f32[4096, 4096], in tiles of two rows, four
// windows and two rows more would move for two rows that are computed, which takes 1.12 times as
// long.
std::int64_t spare_rows(const TileGroup &group, std::int64_t most_bytes);

// How many rows a tile has and in how many tasks they come; 0 where the whole arrays are as good,
// or the tiles would not stay in a cache, which `why_not` says. `asked` is a number of rows, or -1;
// a schedule that asks for tiles (`must`) has them of any size.
void choose_rows(TileGroup &group, std::int64_t asked, bool must, std::int64_t other_row_bytes,
                 const support::Machine &machine);

// The pieces of each task, of nests with these rows: [member][nest of it] begin and end.
struct NestRows {
  std::uint32_t nest = 0;
  std::int64_t begin = 0, end = 0;
};
std::vector<std::vector<Tiles::Piece>> pieces_of(const TileGroup &group,
                                                 std::span<const std::vector<NestRows>> nests);

// Which parallel axis of a nest has the rows of all that it writes, each along a dim of its own;
// none: there is none in each phase.
std::optional<Tiles::RowsOfNest> rows_of_nest(const loop::Program &program,
                                              const plan::Binding &binding,
                                              std::span<const Layout> outputs,
                                              std::span<const std::size_t> dims);

// The groups of a call, in the order of their last members. `views` are those of the lets, `call`
// the operands of the kernel with all that it reads. `why_not`: of each let that is in none.
std::vector<TileGroup> find_groups(const Nests &nests, const std::vector<bool> &needed,
                                   kernel::Operands inputs, std::span<const AnyView> views,
                                   kernel::Operands outputs, std::vector<std::string> &why_not);

class TileChooser : protected ReaderChooser {
protected:
  using ReaderChooser::ReaderChooser;
  // Steps of a group. False where a nest does not go by these rows: nothing is chosen then.
  bool in_tiles(const TileGroup &group, std::vector<Reader> &members, Steps to);

private:
  std::vector<Step> see_borders(const TileGroup &group, std::vector<Reader> &members);
  bool add_nests(const TileGroup &group, std::size_t member, Reader &reader, Tiles &tiles,
                 std::vector<NestRows> &rows);
  void show(const TileGroup &group, std::vector<Reader> &members, std::span<const Step> borders,
            const Tiles &tiles, std::vector<Step> &to);
};

} // namespace broadloom::jit::choice

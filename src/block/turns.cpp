// How often each box turns: what listings show, and what decides which block is the hot one. See
// block.hpp.
#include "block/block.hpp"
#include "block/rules.hpp"

#include <algorithm>

namespace broadloom::block {

using namespace loop;

namespace {

// A loop that is entered so many times with so many positions.
struct Entry {
  double times = 0;
  std::int64_t positions = 0;
};

class Counter {
public:
  Counter(const loop::Program &program, const Program &blocks, const Numbers &numbers)
      : program_(program), numbers_(numbers), turns_(std::size_t(blocks.boxes)) {
    for (const Box &phase : blocks.phases) turn(phase, 1);
  }
  std::vector<double> turns() && { return std::move(turns_); }

private:
  // Chunks but for the last one are full.
  std::vector<Entry> entries(LoopId id, double times) const {
    const Loop &loop = program_[id];
    const std::int64_t extent = numbers_.extents[loop.axis.index];
    const std::int64_t chunk = loop.within ? numbers_.chunks[loop.axis.index] : 0;
    if (chunk == 0) return {{times, extent}};
    const std::int64_t count = std::max<std::int64_t>(1, (extent + chunk - 1) / chunk);
    const double each = times / double(count);
    return {{each * double(count - 1), chunk}, {each, extent - (count - 1) * chunk}};
  }

  // The box turns so often, and each of its turns enters the loops inside.
  void turn(const Box &box, double times) {
    count(box, times);
    inside(box, times);
  }
  void count(const Box &box, double times) { turns_[std::size_t(box.id)] += times; }
  void inside(const Box &box, double times) {
    for (const Run &run : box.runs)
      for (const Entry &entry : entries(run.loop, times)) enter(run, entry);
  }

  void enter(const Run &run, const Entry &entry) {
    const std::int64_t n = std::max<std::int64_t>(0, entry.positions);
    const auto turns = [&](const Box &box, std::int64_t count) {
      turn(box, entry.times * double(count));
    };
    const Loop &loop = program_[run.loop];
    const Box &whole = run.whole(), &rest = run.rest();
    switch (run.shape) {
    case Shape::Turns: return turns(whole, n);
    case Shape::SerialScan: return scan(run, entry, n);
    case Shape::Unrolled:
    case Shape::Short: // copies are one turn, and enter the loops inside one by one
      count(whole, entry.times * double(whole.dims[0].as == As::Copies ? 1 : n));
      return inside(whole, entry.times * double(n));
    case Shape::SerialFold: {
      std::int64_t together = 0;
      if (&whole != &rest && n > 0)
        together = (n - 1) / (whole.positions() * loop.leaf) * loop.leaf;
      if (together > 0) turns(whole, together);
      return turns(rest, n - together * (&whole != &rest ? whole.positions() : 1));
    }
    case Shape::VectorFold: {
      const std::int64_t size = std::int64_t(fold_ways) * whole.apiece();
      const std::int64_t groups = &whole != &rest ? n / size : 0;
      if (groups > 0) turns(whole, groups);
      const std::int64_t left = n - groups * size;
      return turns(rest, (left + fold_ways - 1) / fold_ways * (fold_ways / rest.positions()));
    }
    case Shape::Map:
    case Shape::MaskedMap:
    case Shape::StreamedMap:
    case Shape::GroupScan: return strips(run, entry.times, n);
    case Shape::Jam: turns(whole, n / whole.positions()); return turns(rest, n % whole.positions());
    case Shape::RowTile:
    case Shape::FoldTile:
    case Shape::TransposedTile: return tile(run, entry);
    }
  }

  // In blocks as the loop has them, each with whole boxes and a rest. Copies are one turn.
  void scan(const Run &run, const Entry &entry, std::int64_t n) {
    const Box &whole = run.whole(), &rest = run.rest();
    if (&whole == &rest) return turn(rest, entry.times * double(n));
    const std::int64_t leaf = program_[run.loop].leaf, size = whole.positions();
    const std::int64_t each = leaf > 0 ? leaf / size : n;
    const std::int64_t blocks = leaf > 0 ? n / leaf : 0;
    const std::int64_t boxes = blocks * each + (leaf > 0 ? n % leaf : n) / size;
    const bool one = whole.dims[0].as != As::Turns;
    turn(whole, entry.times * double(boxes * (one ? 1 : size)));
    turn(rest, entry.times * double(n - boxes * size));
  }

  // Whole boxes, then the narrowest that holds what is left.
  void strips(const Run &run, double times, std::int64_t n) {
    const Box &whole = run.whole();
    const std::int64_t size = whole.positions(), count = n / size;
    turn(whole, times * double(count));
    std::int64_t left = n - count * size;
    if (run.boxes.size() == 1) return turn(whole, times * double(left > 0 ? 1 : 0));
    const std::int64_t part = run.boxes[1].positions();
    const std::int64_t parts = left / part;
    if (parts > 0) turn(run.boxes[1], times * double(parts));
    left %= part;
    if (left == 0) return;
    std::size_t box = 1;
    while (box + 1 < run.boxes.size() && left <= run.boxes[box + 1].positions()) ++box;
    turn(run.boxes[box], times);
  }

  // Blocks of rows and columns; beside them the columns that are left over, below them whole rows.
  void tile(const Run &run, const Entry &entry) {
    const Box &whole = run.whole();
    const std::int64_t rows = whole.dims[0].count, lanes = whole.dims[1].count;
    const bool by_rows = whole.dims[0].as == As::Turns;
    const std::int64_t in_tiles =
        run.shape == Shape::RowTile
            ? rows_in_tiles(program_, program_[run.loop], int(rows), entry.positions)
            : entry.positions / rows * rows;
    const std::int64_t down = (in_tiles + rows - 1) / rows;
    for (const Entry &inner : entries(run.inner, entry.times)) {
      const std::int64_t across = inner.positions / lanes;
      std::int64_t beside = inner.positions % lanes;
      turn(whole, inner.times * double(down * across * (by_rows ? rows : 1)));
      if (run.beside() != nullptr && beside > 0) {
        turn(*run.beside(), inner.times * double(down));
        beside = 0;
      }
      const std::int64_t below = entry.positions - in_tiles;
      const double left = double(beside > 0 ? entry.positions : below);
      count(run.rest(), inner.times * left);
      const Run &map = run_of(run.rest(), run.inner);
      if (beside > 0) enter(map, {inner.times * double(in_tiles), beside});
      enter(map, {inner.times * double(below), inner.positions});
    }
  }

  const loop::Program &program_;
  const Numbers &numbers_;
  std::vector<double> turns_;
};

} // namespace

std::vector<double> count_turns(const loop::Program &program, const Program &blocks,
                                const Numbers &numbers) {
  return Counter(program, blocks, numbers).turns();
}

} // namespace broadloom::block

// Two loops as one block: see interpreter.hpp.
#include "block/interpreter.hpp"

#include "block/rules.hpp"

#include <utility>

namespace broadloom::block {

using namespace loop;

// Several rows are copies of the inner loop's body, in order. A state goes from one to the next in
// its register.
void Interpreter::jam(const Run &run, Range range) {
  const Loop &rows = program_[run.loop];
  const Box &box = run.whole(), *around = box_;
  const int count = box.positions();
  const Addresses outer = at_;
  const std::int64_t rest = range.whole(count);
  for (std::int64_t p = range.begin; p < rest; p += count) {
    box_ = &box;
    Jam jam{run.inner, rows.axis, {}};
    for (int r = 0; r < count; ++r) {
      move(run.loop, outer, p + r);
      Jam::Row row{at_, p + r, {}};
      for (const Stmt &s : rows.body)
        if (s.kind == StmtKind::Let) {
          let(s.value);
          row.values.emplace_back(s.value, values_[s.value.index]);
        }
      jam.rows.push_back(std::move(row));
    }
    jam_ = std::move(jam);
    loop(run_of(box, run.inner));
    jam_.reset();
    box_ = around;
  }
  at_ = outer;
  for (std::int64_t p = rest; p < range.end; ++p) turn(run.rest(), run.loop, outer, p);
}

// One turn of the inner loop: its body for each of the rows.
void Interpreter::jammed_turn(const Box &box, std::int64_t position) {
  const Jam jam = *std::exchange(jam_, std::nullopt);
  held_.assign(program_.buffers.size(), {});
  for (std::size_t r = 0; r < jam.rows.size(); ++r) {
    for (const auto &[value, lanes] : jam.rows[r].values) values_[value.index] = lanes;
    positions_[jam.across.index] = jam.rows[r].position;
    last_row_ = r + 1 == jam.rows.size();
    turn(box, jam.inner, jam.rows[r].at, position);
  }
  held_.clear();
  jam_ = jam;
}

void Interpreter::known_of_rows(const Loop &rows) {
  for (const Stmt &s : rows.body)
    if (s.kind == StmtKind::Let) let(s.value);
}

// Rows by lanes of a result: the rows are lanes, too, and go round inside of a few columns.
void Interpreter::row_tile(const Run &run, Range range) {
  const Addresses outer = at_;
  const Box &box = run.whole();
  const int rows = box.count(As::Copies), width = box.count(As::Lanes);
  const RegisterTile block{program_[run.loop].axis, width};
  const Loop &lanes = program_[run.inner];
  const Range columns = this->range(lanes);
  const std::int64_t below = range.begin +
                             rows_in_tiles(program_, program_[run.loop], rows, range.count()),
                     beside = columns.whole(width);
  for (std::int64_t p = columns.begin; p < beside; p += width)
    for (std::int64_t row = range.begin; row < below; row += rows) {
      move(run.loop, outer, std::min(row, below - rows));
      rows_ = &block;
      set_lanes(&lanes, rows * width, rows * width);
      known_of_rows(program_[run.loop]);
      turn(box, run.inner, Addresses(at_), p);
      set_lanes(nullptr, 1, 1);
      rows_ = nullptr;
      at_ = outer;
    }
  // The lanes beside the blocks, and whole rows below them.
  for (std::int64_t row = beside == columns.end ? below : range.begin; row < range.end; ++row) {
    move(run.loop, outer, row);
    if (run.beside() != nullptr && row < below) {
      const Box &last = *run.beside();
      set_lanes(&lanes, width, last.masked ? int(columns.end - beside) : width);
      known_of_rows(program_[run.loop]);
      turn(last, run.inner, Addresses(at_), beside);
      set_lanes(nullptr, 1, 1);
      at_ = outer;
      continue;
    }
    known_of_rows(program_[run.loop]);
    map(run_of(run.rest(), run.inner), {row < below ? beside : columns.begin, columns.end});
  }
  at_ = outer;
}

// Folds at rows by columns: none sees what another does.
void Interpreter::fold_tile(const Run &run, Range range) {
  const Addresses outer = at_;
  const Box &box = run.whole(), *around = box_;
  const std::int64_t down = box.dims[0].count, across = box.dims[1].count;
  const Range columns = this->range(program_[run.inner]);
  const std::int64_t below = range.whole(down), beside = columns.whole(across);
  const auto enter = [&](const Box &of, std::int64_t row) {
    box_ = &of;
    at_ = outer;
    move(run.loop, outer, row);
    known_of_rows(program_[run.loop]);
  };
  for (std::int64_t p = columns.begin; p < beside; p += across)
    for (std::int64_t row = range.begin; row < below; row += down)
      for (std::int64_t r = 0; r < down; ++r) {
        enter(box, row + r);
        const Addresses in_row = at_;
        for (std::int64_t c = 0; c < across; ++c) turn(box, run.inner, in_row, p + c);
      }
  for (std::int64_t row = beside == columns.end ? below : range.begin; row < range.end; ++row) {
    enter(run.rest(), row);
    plain_loop(run_of(run.rest(), run.inner), {row < below ? beside : columns.begin, columns.end});
  }
  box_ = around;
  at_ = outer;
}

// Turns of rows by lanes of columns, whose operands that lie across are transposed.
void Interpreter::transposed_tile(const Run &run, Range range) {
  const Addresses outer = at_;
  const Box &box = run.whole();
  const int rows = box.count(As::Turns), width = box.count(As::Lanes);
  const Range columns = this->range(program_[run.inner]);
  const std::int64_t below = range.whole(rows), beside = columns.whole(width);
  Tile tile;
  tile.inner = run.inner;
  tile.width = width;
  tile.in_block = true;
  for (std::int64_t row = range.begin; row < below; row += rows)
    for (std::int64_t p = columns.begin; p < beside; p += width) {
      load_blocks(tile, run, outer, row, p);
      tile.begin = p;
      for (tile.row = 0; tile.row < rows; ++tile.row) {
        tile_ = &tile;
        turn(box, run.loop, outer, row + tile.row);
        tile_ = nullptr;
      }
    }
  tile.in_block = false;
  for (std::int64_t row = beside == columns.end ? below : range.begin; row < range.end; ++row) {
    tile.begin = row < below ? beside : columns.begin;
    tile_ = &tile;
    turn(run.rest(), run.loop, outer, row);
    tile_ = nullptr;
  }
  at_ = outer;
}

// Neighbours along the rows, for each lane: each row of what comes of it has all lanes.
void Interpreter::load_blocks(Tile &tile, const Run &run, const Addresses &outer, std::int64_t row,
                              std::int64_t lane) const {
  const AxisId down = program_[run.loop].axis, across = program_[run.inner].axis;
  tile.blocks.assign(program_.buffers.size(), {});
  for (const Access &access : run.whole().accesses) {
    if (access.store || access.move != Move::Transposed) continue;
    const BufferId id = access.buffer;
    std::vector<Lanes> &block = tile.blocks[id.index];
    block.assign(std::size_t(run.whole().count(As::Turns)), Lanes(std::size_t(tile.width)));
    for (std::size_t l = 0; l < std::size_t(tile.width); ++l) {
      const std::uintptr_t first =
          outer[id.index] + std::uintptr_t(row * step_bytes(id, down)) +
          std::uintptr_t((lane + std::int64_t(l)) * step_bytes(id, across));
      for (std::size_t k = 0; k < block.size(); ++k)
        block[k][l] = element(id, first + k * size_of(program_[id].dtype));
    }
  }
}

// The inner loop is at one group of lanes, or begins later.
void Interpreter::loop_in_tile(LoopId id) {
  const Addresses outer = at_;
  if (tile_->in_block) {
    set_lanes(&program_[id], tile_->width, tile_->width);
    turn(*box_, id, outer, tile_->begin);
    set_lanes(nullptr, 1, 1);
  } else {
    const Tile *tile = std::exchange(tile_, nullptr);
    map(run_of(*box_, id), {tile->begin, range(program_[id]).end});
  }
  at_ = outer;
}

} // namespace broadloom::block

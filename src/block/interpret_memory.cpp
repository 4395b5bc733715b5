// How elements move between memory and lanes: see interpreter.hpp, and Move in block.hpp.
#include "block/interpreter.hpp"

#include "support/check.hpp"

namespace broadloom::block {

using namespace loop;

std::int64_t Interpreter::step_bytes(BufferId id, AxisId axis) const {
  return frame_.strides[id.index * program_.axes.size() + axis.index] *
         std::int64_t(size_of(program_[id].dtype));
}

ops::Scalar Interpreter::element(BufferId id, std::uintptr_t address) const {
  return ops::load(reinterpret_cast<const void *>(address), program_[id].dtype);
}

void Interpreter::set_element(BufferId id, std::uintptr_t address, const Scalar &value) const {
  ops::store(reinterpret_cast<void *>(address), program_[id].dtype, value);
}

// Of one lane's element. Those of a row are neighbours, whatever the stride is.
std::uintptr_t Interpreter::address(const Access &access, int lane) const {
  std::uintptr_t there = at_[access.buffer.index];
  int place = lane * apiece_ + copy_;
  if (rows_ != nullptr) {
    place = lane % rows_->width;
    there += std::uintptr_t(lane / rows_->width * step_bytes(access.buffer, rows_->axis));
  }
  switch (access.move) {
  case Move::Scalar: return there;
  case Move::Row:
  case Move::Streamed:
  case Move::Slots:
  case Move::Held: return there + std::uintptr_t(place) * size_of(program_[access.buffer].dtype);
  case Move::Wide: {
    const std::size_t size = size_of(program_[access.buffer].dtype);
    support::check(there % (size * std::size_t(box_->apiece())) == 0,
                   "a thread moves at once what is not aligned");
    return there + std::uintptr_t(place) * size;
  }
  case Move::Strided:
  case Move::Gather:
  case Move::Single:
  case Move::Transposed:
    return there + std::uintptr_t(place * step_bytes(access.buffer, vector_->axis));
  case Move::Stack: break;
  }
  support::bug("a stack slot has no address");
}

// The elements of a row of each lane's own at the current position.
Interpreter::Lanes &Interpreter::slot(BufferId id) {
  const auto position = std::size_t(positions_[program_[id].walks.front().axis.index]);
  support::check(position < std::size_t(fold_ways), "a row of a lane is longer than a short row");
  std::vector<Lanes> &slots = slots_[id.index];
  slots.resize(fold_ways);
  slots[position].resize(std::size_t(width_));
  return slots[position];
}

// Which of the columns is that of the current position.
std::size_t Interpreter::column(BufferId id) const {
  const Columns &columns = columns_[id.index];
  return std::size_t(positions_[columns.axis.index] - columns.first);
}

void Interpreter::load(BufferId id, Lanes &out) {
  if (!held_.empty() && !held_[id.index].empty()) {
    out = held_[id.index];
    return;
  }
  const Access &access = box_->access(id, false);
  switch (access.move) {
  case Move::Stack: out = slot(id); return;
  case Move::Transposed:
    if (tile_ != nullptr)
      out = tile_->blocks[id.index].at(std::size_t(tile_->row));
    else
      out = columns_[id.index].loaded.at(column(id));
    return;
  case Move::Scalar:
    if (rows_ == nullptr) {
      out.assign(1, element(id, at_[id.index]));
      return;
    }
    break;
  case Move::Row:
  case Move::Strided:
  case Move::Gather:
  case Move::Slots:
  case Move::Wide:
  case Move::Single: break;
  case Move::Streamed:
  case Move::Held: support::bug("a load that is none");
  }
  for (int lane = 0; lane < active_; ++lane)
    out[std::size_t(lane)] = element(id, address(access, lane));
}

void Interpreter::store(BufferId id, ValueId stored) {
  const Access &access = box_->access(id, true);
  const auto keep = [&](Lanes &out) {
    out.resize(std::size_t(width_));
    for (int lane = 0; lane < active_; ++lane) out[std::size_t(lane)] = value(stored, lane);
  };
  switch (access.move) {
  case Move::Stack: return keep(slot(id));
  case Move::Transposed: return keep(columns_[id.index].awaited.at(column(id)));
  case Move::Held:
    support::check(!held_.empty(), "a state is held where no rows are copies");
    keep(held_[id.index]);
    if (!last_row_) return;
    break;
  case Move::Scalar: support::check(width_ == 1, "lanes are stored to one place"); break;
  case Move::Row:
  case Move::Streamed:
  case Move::Gather:
  case Move::Slots:
  case Move::Wide:
  case Move::Single: break;
  case Move::Strided: support::bug("a store that is none");
  }
  for (int lane = 0; lane < active_; ++lane)
    set_element(id, address(access, lane), value(stored, lane));
}

// What a short loop, or a block of a scan, loads of rows before its first turn: neighbours along
// the row, for each lane.
void Interpreter::load_columns(const Run &run, std::int64_t first) {
  const Loop &l = program_[run.loop];
  const int turns = run.whole().positions();
  for (const Access &access : run.whole().accesses) {
    if (access.move != Move::Transposed) continue;
    if (walk(program_, access.buffer, l.axis) == nullptr) continue; // of a short loop around
    Columns &columns = columns_[access.buffer.index];
    columns.axis = l.axis;
    columns.first = first;
    auto &vectors = access.store ? columns.awaited : columns.loaded;
    vectors.assign(std::size_t(turns), Lanes(std::size_t(width_)));
    const std::size_t size = size_of(program_[access.buffer].dtype);
    for (int p = 0; !access.store && p < turns; ++p)
      for (int lane = 0; lane < active_; ++lane)
        vectors[std::size_t(p)][std::size_t(lane)] =
            element(access.buffer, address(access, lane) + std::size_t(p) * size);
  }
}

// What it stores into rows, after its last turn.
void Interpreter::store_columns(const Run &run) {
  const Loop &l = program_[run.loop];
  const int turns = run.whole().positions();
  for (const Access &access : run.whole().accesses) {
    if (access.move != Move::Transposed || !access.store) continue;
    if (walk(program_, access.buffer, l.axis) == nullptr) continue;
    const std::size_t size = size_of(program_[access.buffer].dtype);
    for (int lane = 0; lane < active_; ++lane)
      for (int p = 0; p < turns; ++p)
        set_element(access.buffer, address(access, lane) + std::size_t(p) * size,
                    columns_[access.buffer.index].awaited[std::size_t(p)][std::size_t(lane)]);
  }
}

} // namespace broadloom::block

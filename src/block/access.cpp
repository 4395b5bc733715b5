// How each buffer moves in a box: see Move in block.hpp.
#include "block/chooser.hpp"

#include "block/rules.hpp"

#include <algorithm>

namespace broadloom::block {

using namespace loop;

namespace {

bool holds(const std::vector<BufferId> &list, BufferId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// Of the element, or of a part of a complex one.
std::size_t part_size(DType dtype) { return size_of(real_dtype(dtype)); }

} // namespace

// Its elements lie side by side along the short axis, and those of the lanes do not.
bool Chooser::lies_in_rows(BufferId id, AxisId along, const Loop &lanes) const {
  const Walk *in = walk(id, along), *across = walk(id, lanes.axis);
  return in != nullptr && across != nullptr && in->stride == StrideClass::Unit &&
         across->stride != StrideClass::Unit && !is_complex(program_[id].dtype);
}

Move Chooser::apart(std::size_t size) const {
  return machine_.has_gather(size) ? Move::Gather : Move::Single;
}

// Whether a thread moves all of its neighbours at once.
bool Chooser::is_wide(BufferId id, const Place &place) const {
  return place.apiece > 1 && moves_as_one(program_, place.vector->body, id);
}

Access Chooser::load(BufferId id, const Place &place) const {
  const Buffer &buffer = program_[id];
  const Walk *lanes = place.vector != nullptr ? walk(id, place.vector->axis) : nullptr;
  const std::size_t size = part_size(buffer.dtype);
  const auto move = [&] {
    if (place.vector != nullptr && is_row_of_lanes(program_, id, *place.vector))
      return is_row_in_lanes(buffer) ? Move::Slots : Move::Stack;
    if (lanes == nullptr) return Move::Scalar;
    if (holds(place.loaded_across, id)) return Move::Transposed;
    if (is_wide(id, place)) return Move::Wide;
    if (lanes->stride == StrideClass::Unit &&
        (!place.masked || is_complex(buffer.dtype) || machine_.has_masked_move(size)))
      return Move::Row;
    // A strided load reads what lies between the lanes, which a masked box may not.
    if (place.masked || place.in_tile || place.width == 1 || lanes_are_threads())
      return apart(size);
    return known_step(buffer, place.vector->axis) != 0 ? Move::Strided : apart(size);
  };
  Access access{id, false, move(), {}};
  access.prefetch = prefetch(id, access.move, place);
  access.shared = access.move == Move::Row && holds(place.shared, id);
  return access;
}

Prefetch Chooser::prefetch(BufferId id, Move move, const Place &place) const {
  const Buffer &buffer = program_[id];
  const Walk *lanes = place.vector != nullptr ? walk(id, place.vector->axis) : nullptr;
  const bool unit = lanes != nullptr && lanes->stride == StrideClass::Unit;
  Prefetch found;
  if (lanes_are_threads()) return found; // other warps run while one waits
  found.block = holds(place.next_block, id);
  if (move == Move::Transposed && !place.in_tile) { // the rows of a short axis, one after the other
    if (place.in_strip)
      found.block = buffer.stream;
    else
      found.lines = buffer.stream && machine_.sizes.asks_ahead;
    return found;
  }
  const bool streamed =
      buffer.stream && machine_.sizes.asks_ahead && buffer.role == Role::Input && unit;
  // Of several rows at once what comes next is the same piece of the rows below them: four streams,
  // each of which ends at the end of its row.
  found.block |= streamed && place.jammed && walk(id, *place.jammed) != nullptr;
  found.lines = streamed && !place.jammed;
  // Each step of the folds reads another row of what the rows of the tile share, often in another
  // page, where the processor does not look ahead by itself; where rows lie a power of two apart,
  // few of them stay in the nearest caches.
  if (place.tiled && unit && walk(id, *place.tiled) == nullptr && !place.in_tree)
    found.steps = std::any_of(
        place.tile_lanes->body.begin(), place.tile_lanes->body.end(), [&](const Stmt &s) {
          return s.kind == StmtKind::Loop && walk(id, program_[s.loop].axis) != nullptr;
        });
  return found;
}

Access Chooser::store(BufferId id, const Place &place) const {
  const Buffer &buffer = program_[id];
  const Walk *lanes = place.vector != nullptr ? walk(id, place.vector->axis) : nullptr;
  const std::size_t size = part_size(buffer.dtype);
  const auto move = [&] {
    if (place.vector != nullptr && is_row_of_lanes(program_, id, *place.vector))
      return is_row_in_lanes(buffer) ? Move::Slots : Move::Stack;
    if (place.jammed && lanes != nullptr && walk(id, *place.jammed) == nullptr) return Move::Held;
    if (lanes == nullptr) return Move::Scalar;
    if (holds(place.stored_across, id)) return Move::Transposed;
    if (is_wide(id, place)) return Move::Wide;
    if (lanes->stride != StrideClass::Unit) return apart(size);
    if (!place.masked) return holds(place.streamed, id) ? Move::Streamed : Move::Row;
    return is_complex(buffer.dtype) || machine_.has_masked_move(size) ? Move::Row : apart(size);
  };
  return {id, true, move(), {}};
}

// Each buffer once for its loads and once for its stores: in one body they are all alike. A state
// that a jam holds is loaded as it is stored.
void Chooser::add_accesses(Box &box, const std::vector<Stmt> &body, const Place &place) const {
  const auto add = [&](const Access &access) {
    if (box.find(access.buffer, access.store) == nullptr) box.accesses.push_back(access);
  };
  for (const Stmt &s : body) {
    if (s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Load)
      add(load(program_[s.value].buffer, place));
    if (s.kind == StmtKind::Set) add(store(s.buffer, place));
    if (s.kind != StmtKind::Loop) continue;
    for (const BufferId handed : program_[s.loop].handed) {
      add(load(handed, place));
      add(store(handed, place));
    }
  }
}

} // namespace broadloom::block

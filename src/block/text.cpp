// See text.hpp.
#include "block/text.hpp"

#include "loop/nest_text.hpp"

#include <algorithm>

namespace broadloom::block {

const char *name(Shape shape) {
  switch (shape) {
  case Shape::Turns: return "turn by turn";
  case Shape::Short: return "a short row in each lane";
  case Shape::SerialFold: return "a serial fold";
  case Shape::Unrolled: return "an unrolled fold";
  case Shape::VectorFold: return "a fold over lanes";
  case Shape::SerialScan: return "a serial scan";
  case Shape::GroupScan: return "a scan in groups";
  case Shape::Map: return "a map";
  case Shape::MaskedMap: return "a masked map";
  case Shape::StreamedMap: return "a map with non-temporal stores";
  case Shape::Jam: return "unroll-and-jam";
  case Shape::RowTile: return "a register tile";
  case Shape::FoldTile: return "a register tile of folds";
  case Shape::TransposedTile: return "a transposed tile";
  }
  return "";
}

const char *name(Move move, bool store) {
  switch (move) {
  case Move::Scalar: return "scalar";
  case Move::Row: return "row";
  case Move::Streamed: return "non-temporal row";
  case Move::Strided: return "strided";
  case Move::Gather: return store ? "scatter" : "gather";
  case Move::Single: return "one by one";
  case Move::Transposed: return "transposed";
  case Move::Stack: return "stack slot";
  case Move::Slots: return "slots";
  case Move::Held: return "held";
  case Move::Wide: return "wide";
  }
  return "";
}

std::optional<Shape> shape_called(std::string_view words) {
  for (int k = 0; k <= int(Shape::TransposedTile); ++k)
    if (words == name(Shape(k))) return Shape(k);
  return std::nullopt;
}

std::optional<Move> move_called(std::string_view words, bool store) {
  for (int k = 0; k <= int(Move::Wide); ++k)
    if (words == name(Move(k), store)) return Move(k);
  return std::nullopt;
}

std::string all_shapes() {
  std::string all;
  for (int k = 0; k <= int(Shape::TransposedTile); ++k)
    all += (k == 0 ? "" : "; ") + std::string(name(Shape(k)));
  return all;
}

std::string all_moves(bool store) {
  std::string all;
  for (int k = 0; k <= int(Move::Wide); ++k)
    all += (k == 0 ? "" : "; ") + std::string(name(Move(k), store));
  return all;
}

namespace {

bool is_unique(const loop::Program &program, loop::BufferId id) {
  return std::count_if(program.buffers.begin(), program.buffers.end(),
                       [&](const loop::Buffer &b) { return b.name == program[id].name; }) == 1;
}

} // namespace

std::string unique_name(const loop::Program &program, loop::BufferId id) {
  const std::string name = loop::quoted(program[id].name);
  return is_unique(program, id) ? name : name + "@" + std::to_string(id.index);
}

std::optional<loop::BufferId> buffer_called(const loop::Program &program, std::string_view key) {
  for (std::uint32_t k = 0; k < program.buffers.size(); ++k) {
    std::string own = program.buffers[k].name;
    if (!is_unique(program, {k})) own += '\0' + std::to_string(k);
    if (own == key) return loop::BufferId{k};
  }
  return std::nullopt;
}

} // namespace broadloom::block

// Statements, plain loops and maps: see interpreter.hpp.
#include "block/interpreter.hpp"

#include "support/check.hpp"

#include <algorithm>
#include <utility>

namespace broadloom::block {

using namespace loop;

Interpreter::Interpreter(const loop::Program &program, const Program &blocks, std::size_t phase,
                         const Frame &frame, const std::int64_t *lo, const std::int64_t *hi)
    : program_(program), phase_(program.phases.at(phase)), machine_(blocks.machine),
      survey_(blocks.surveys.at(phase)), frame_(frame), lo_(lo), hi_(hi),
      box_(&blocks.phases.at(phase)), positions_(program.axes.size()),
      values_(program.values.size()), accs_(program.accs.size()), columns_(program.buffers.size()),
      slots_(program.buffers.size()) {
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    at_.push_back(reinterpret_cast<std::uintptr_t>(frame.buffers[b]));
  for (std::size_t v = 0; v < program.values.size(); ++v)
    if (interpreted::is_ready(program.values[v]))
      values_[v] = {interpreted::ready(program.values[v], frame)};
  for (std::uint32_t a = 0; a < program.accs.size(); ++a)
    accs_[a].code = {&program.recipe({a}), program.accuracy, {}, {}};
  for (const Loop &l : program.loops)
    for (const AccId acc : l.accs) accs_[acc.index].takes_blocks = takes_blocks(program, l, acc);
}

void Interpreter::run() { body(phase_.body); }

void Interpreter::body(const std::vector<Stmt> &statements) {
  for (const Stmt &s : statements) {
    switch (s.kind) {
    case StmtKind::Let: let(s.value); break;
    case StmtKind::Set: store(s.buffer, s.value); break;
    case StmtKind::Step: step(s); break;
    case StmtKind::Loop: loop_statement(s.loop); break;
    }
  }
}

// Of one lane; what is known outside of the lanes is the same in all of them.
const ops::Scalar &Interpreter::value(ValueId id, int lane) const {
  const Lanes &lanes = values_[id.index];
  support::check(lanes.size() == 1 || std::size_t(lane) < lanes.size(),
                 "a value is used in a lane in which it was not computed");
  return lanes.size() == 1 ? lanes[0] : lanes[std::size_t(lane)];
}

void Interpreter::let(ValueId id) {
  const Value &v = program_[id];
  if (interpreted::is_ready(v)) return;
  Lanes out(std::size_t(width_), Scalar{});
  if (v.kind == ValueKind::Load) load(v.buffer, out);
  if (v.kind == ValueKind::Running) running_state(v.acc, v.state, out);
  for (int lane = 0; lane < active_; ++lane) {
    Scalar &here = out[out.size() == 1 ? 0 : std::size_t(lane)];
    switch (v.kind) {
    case ValueKind::Literal:
    case ValueKind::Extent:
    case ValueKind::Load:
    case ValueKind::Running: break;
    case ValueKind::Op:
    case ValueKind::Cast: {
      Scalar args[3];
      for (int a = 0; a < v.arg_count; ++a) args[a] = value(v.args[a], lane);
      here = interpreted::compute(v, args, program_.accuracy);
      break;
    }
    case ValueKind::Index: here = position(v.axis, lane); break;
    case ValueKind::Result: {
      const LaneStates &states = accs_[v.acc.index].now;
      here = states.at(states.size() == 1 ? 0 : std::size_t(lane)).at(v.state);
      break;
    }
    }
  }
  values_[id.index] = std::move(out);
}

ops::Scalar Interpreter::position(AxisId axis, int lane) const {
  int place = 0;
  if (rows_ != nullptr && rows_->axis == axis)
    place = lane / rows_->width;
  else if (vector_ != nullptr && vector_->axis == axis)
    place = rows_ != nullptr ? lane % rows_->width : lane * apiece_ + copy_;
  return ops::scalar_from(positions_[axis.index] + place);
}

Interpreter::Range Interpreter::range(const Loop &loop) const {
  if (loop.parallel || !loop.handed.empty()) {
    const auto found = std::find(phase_.parallel.begin(), phase_.parallel.end(), loop.axis);
    support::check(found != phase_.parallel.end(), "a parallel loop is not listed by its phase");
    return {lo_[found - phase_.parallel.begin()], hi_[found - phase_.parallel.begin()]};
  }
  const std::int64_t extent = frame_.extents[loop.axis.index];
  if (!loop.within) return {0, extent};
  const std::int64_t chunk = frame_.chunks[loop.axis.index];
  const std::int64_t begin = positions_[loop.within->index] * chunk;
  return {begin, std::min(extent, begin + chunk)};
}

void Interpreter::loop_statement(LoopId id) {
  if (tile_ != nullptr && tile_->inner.index == id.index)
    loop_in_tile(id);
  else
    loop(run_of(*box_, id));
}

void Interpreter::loop(const Run &run) {
  const Addresses outer = at_;
  const Range all = range(program_[run.loop]);
  switch (run.shape) {
  case Shape::Turns: plain_loop(run, all); break;
  case Shape::Short: short_row(run); break;
  case Shape::SerialFold:
  case Shape::Unrolled:
  case Shape::VectorFold: fold(run, all); break;
  case Shape::SerialScan:
  case Shape::GroupScan: scan(run, all); break;
  case Shape::Map:
  case Shape::MaskedMap:
  case Shape::StreamedMap: map(run, all); break;
  case Shape::Jam: jam(run, all); break;
  case Shape::RowTile: row_tile(run, all); break;
  case Shape::FoldTile: fold_tile(run, all); break;
  case Shape::TransposedTile: transposed_tile(run, all); break;
  }
  at_ = outer;
}

void Interpreter::turn(const Box &box, LoopId id, const Addresses &outer, std::int64_t position) {
  if (jam_ && jam_->inner.index == id.index) return jammed_turn(box, position);
  move(id, outer, position);
  const Box *around = std::exchange(box_, &box);
  body(program_[id].body);
  box_ = around;
}

void Interpreter::move(LoopId id, const Addresses &outer, std::int64_t position) {
  const AxisId axis = program_[id].axis;
  positions_[axis.index] = position;
  for (const BufferId buffer : survey_.loops[id.index].buffers)
    if (walk(program_, buffer, axis) != nullptr)
      at_[buffer.index] = outer[buffer.index] + std::uintptr_t(position * step_bytes(buffer, axis));
}

// From here on the positions of `vector` run `width` at a time, of which the first `active` count.
void Interpreter::set_lanes(const Loop *vector, int width, int active) {
  vector_ = vector;
  width_ = width;
  active_ = active;
}

void Interpreter::plain_loop(const Run &run, Range range) {
  const Addresses outer = at_;
  const int turns = run.whole().positions();
  for (std::int64_t p = range.begin; p < range.end; p += turns)
    turn(run.whole(), run.loop, outer, p);
}

void Interpreter::map(const Run &run, Range range) {
  if (run.shape == Shape::StreamedMap) return streamed_map(run, range);
  if (run.shape == Shape::MaskedMap) return masked_map(run, range);
  const std::int64_t rest = whole_end(run, range);
  whole_boxes(run, {range.begin, rest});
  const Addresses outer = at_;
  const std::int64_t most = run.boxes.at(1).positions();
  for (std::int64_t p = rest; p < range.end; p += most) {
    const Range left{p, std::min(range.end, p + most)};
    std::size_t box = 1; // the narrowest that holds what is left
    while (box + 1 < run.boxes.size() && left.count() <= run.boxes[box + 1].positions()) ++box;
    part(run, run.boxes[box], outer, left);
  }
  at_ = outer;
}

// Of whole boxes from the first position on. What threads move at once is aligned, or there are
// none.
std::int64_t Interpreter::whole_end(const Run &run, Range range) const {
  const Box &box = run.whole();
  for (const Access &access : box.accesses) {
    const std::size_t size = size_of(program_[access.buffer].dtype);
    if (access.move == Move::Wide && (at_[access.buffer.index] + std::size_t(range.begin) * size) %
                                             (size * std::size_t(box.apiece())) !=
                                         0)
      return range.begin;
  }
  return range.whole(box.positions());
}

void Interpreter::whole_boxes(const Run &run, Range range) {
  const Addresses outer = at_;
  const int width = run.whole().positions();
  for (std::int64_t p = range.begin; p < range.end; p += width)
    part(run, run.whole(), outer, {p, p + width});
  at_ = outer;
}

// One turn of a box. What is not masked takes all of its positions; a masked one takes no more than
// it has.
void Interpreter::part(const Run &run, const Box &box, const Addresses &outer, Range range) {
  const auto width = std::int64_t(box.positions());
  support::check(box.masked || range.count() == width,
                 "a block without a mask takes positions that are not there");
  set_lanes(&program_[run.loop], int(width), int(std::min(width, range.count())));
  turn(box, run.loop, outer, range.begin);
  set_lanes(nullptr, 1, 1);
}

void Interpreter::masked_map(const Run &run, Range range) {
  const Addresses outer = at_;
  const int width = run.whole().positions();
  for (std::int64_t p = range.begin; p < range.end; p += width)
    part(run, run.whole(), outer, {p, std::min(range.end, p + width)});
  at_ = outer;
}

// How many positions lie before the first aligned address of the first stream.
std::int64_t Interpreter::before_aligned(const Box &box, std::int64_t position) const {
  const auto stream = std::ranges::find_if(
      box.accesses, [](const Access &access) { return access.move == Move::Streamed; });
  support::check(stream != box.accesses.end(), "a map with non-temporal stores has none");
  const auto size = std::int64_t(size_of(program_[stream->buffer].dtype));
  const std::int64_t alignment =
      std::min<std::int64_t>(machine_.vector_bytes(), size * box.positions());
  const std::int64_t off =
      (std::int64_t(at_[stream->buffer.index]) + position * size) & (alignment - 1);
  return off == 0 ? 0 : (alignment - off) / size;
}

// Up to the first aligned address, whole blocks, and what is left.
void Interpreter::streamed_map(const Run &run, Range range) {
  if (range.count() == 0) return;
  const Addresses outer = at_;
  const std::int64_t head =
      range.begin + std::min(range.count(), before_aligned(run.whole(), range.begin));
  if (head > range.begin) part(run, run.rest(), outer, {range.begin, head});
  at_ = outer;
  const Range left{head, range.end};
  const std::int64_t rest = left.whole(run.whole().positions());
  whole_boxes(run, {head, rest});
  if (rest < range.end) part(run, run.rest(), outer, {rest, range.end});
  at_ = outer;
}

void interpret(const loop::Program &program, const Program &blocks, std::size_t phase,
               const Frame &frame, const std::int64_t *lo, const std::int64_t *hi) {
  Interpreter(program, blocks, phase, frame, lo, hi).run();
}

} // namespace broadloom::block

// The rules that a translator of blocks takes for granted: see block.hpp.
#include "block/text.hpp"

#include "support/check.hpp"

#include <algorithm>
#include <bit>

namespace broadloom::block {

using namespace loop;

namespace {

class Verifier {
public:
  Verifier(const loop::Program &program, const Program &blocks)
      : program_(program), blocks_(blocks) {}

  void run() {
    require(blocks_.phases.size() == program_.phases.size(), "a phase has no blocks");
    for (std::size_t p = 0; p < program_.phases.size(); ++p) {
      box_ = blocks_.phases[p].id;
      require(blocks_.phases[p].dims.empty(), "a phase is no loop");
      body(blocks_.phases[p], program_.phases[p].body, nullptr);
    }
  }

private:
  void require(bool holds, const char *rule) const {
    if (!holds) throw BrokenRule{rule, box_};
  }

  // Every loop of the body has its run, in order, and every buffer its move.
  void body(const Box &box, const std::vector<Stmt> &statements, const Loop *lanes) {
    std::size_t next = 0;
    const auto access_of = [&](BufferId buffer, bool store) {
      box_ = box.id;
      const Access *found = box.find(buffer, store);
      require(found != nullptr, "a block does not say how a buffer of its body moves");
      access(*found, lanes);
    };
    for (const Stmt &s : statements) {
      if (s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Load)
        access_of(program_[s.value].buffer, false);
      if (s.kind == StmtKind::Set) access_of(s.buffer, true);
      if (s.kind != StmtKind::Loop) continue;
      require(next < box.runs.size() && box.runs[next].loop.index == s.loop.index,
              "a box runs other loops than its body has");
      for (const BufferId handed : program_[s.loop].handed)
        for (const bool store : {false, true}) access_of(handed, store);
      run(box.runs[next++], lanes);
    }
    box_ = box.id;
    require(next == box.runs.size(), "a box runs a loop that its body lacks");
  }

  void access(const Access &access, const Loop *lanes) const {
    const Walk *along = lanes == nullptr ? nullptr : walk(program_, access.buffer, lanes->axis);
    const bool unit = along != nullptr && along->stride == StrideClass::Unit;
    switch (access.move) {
    case Move::Scalar: return require(along == nullptr, "lanes move as one element");
    case Move::Row: return require(unit, "a row has no unit stride");
    case Move::Streamed: return require(unit && access.store, "no row is stored around the caches");
    case Move::Window: return require(along != nullptr && !access.store, "a window of no lanes");
    case Move::Gather:
      return require(along != nullptr && blocks_.machine.gathers, "a gather that is not there");
    case Move::Single:
    case Move::Transposed: return require(along != nullptr, "lanes that lie nowhere");
    case Move::Held: return require(unit && access.store, "what is held is no row of states");
    case Move::Stack:
      return require(along == nullptr && program_[access.buffer].role == Role::Row,
                     "a stack slot of what is no row");
    }
  }

  void run(const Run &run, const Loop *lanes) {
    require(!run.boxes.empty(), "a run without boxes");
    box_ = run.whole().id;
    require(!run.whole().rest, "a run begins with its rest");
    require(!run.takes_inner() || run.boxes.size() == 2,
            "two loops as one block have whole blocks and a rest");
    for (const Box &box : run.boxes) dims(run, box, lanes);
    covers(run);
    for (const Box &box : run.boxes) {
      const Loop &taken = program_[run.body_of(box)];
      const bool has_lanes = box.count(As::Lanes) > 1;
      body(box, taken.body, has_lanes ? &taken : lanes);
    }
  }

  void dims(const Run &run, const Box &box, const Loop *lanes) {
    box_ = box.id;
    const Loop &loop = program_[run.loop];
    require(!box.dims.empty() && box.dims.size() <= 3, "a box has one to three dims");
    int lane_dims = 0;
    for (const Dim &dim : box.dims) {
      const bool own = dim.axis == loop.axis;
      const bool inner = run.takes_inner() && dim.axis == program_[run.inner].axis;
      require(own || inner, "a dim is of another loop");
      require(dim.count >= 1, "a dim of no positions");
      require(!dim.leaves || (dim.as == As::Copies && loop.leaf > 0), "leaves of no tree");
      if (dim.as == As::Lanes) ++lane_dims;
      if (dim.as != As::Lanes || dim.count == 1) continue;
      require(std::has_single_bit(unsigned(dim.count)), "lanes are a power of two");
      require(loop.vector || program_[run.inner].vector, "lanes of a loop that is no vector loop");
    }
    require(lane_dims <= 1, "two dims of lanes");
    require(lane_dims == 0 || lanes == nullptr, "lanes within lanes");
    require(!box.masked || lane_dims == 1, "a mask without lanes");
  }

  // What whole boxes leave is taken: by a masked box, by single turns, or because nothing is left.
  void covers(const Run &run) {
    box_ = run.rest().id;
    const Box &rest = run.rest();
    const Loop &loop = program_[run.loop];
    switch (run.shape) {
    case Shape::Turns:
    case Shape::SerialScan:
    case Shape::SerialFold: return require(rest.positions() == 1, "a rest of single turns");
    case Shape::Short: return require(rest.positions() == loop.turns, "a short loop as a whole");
    case Shape::Map:
    case Shape::MaskedMap:
    case Shape::StreamedMap:
    case Shape::VectorFold:
    case Shape::GroupScan:
      for (std::size_t k = 1; k + 1 < run.boxes.size(); ++k)
        require(run.boxes[k].positions() == 2 * run.boxes[k + 1].positions(),
                "each box of a rest is half of the one before");
      return require(rest.masked, "a rest that is not masked");
    case Shape::Jam:
    case Shape::RowTile:
    case Shape::TransposedTile:
      return require(rest.positions() == 1 && rest.runs.size() == 1, "a rest of single rows");
    }
  }

  const loop::Program &program_;
  const Program &blocks_;
  int box_ = 0; // that is being looked at
};

} // namespace

void check_rules(const loop::Program &program, const Program &blocks) {
  Verifier(program, blocks).run();
}

void verify(const loop::Program &program, const Program &blocks) {
  try {
    check_rules(program, blocks);
  } catch (const BrokenRule &broken) {
    support::bug("block " + std::to_string(broken.box) + ": " + broken.what,
                 print(program, blocks));
  }
}

} // namespace broadloom::block

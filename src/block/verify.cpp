// The rules that a translator of blocks takes for granted: see block.hpp.
//
// Each shape has loops that it is for, and a form: how many boxes, of which dims. Their sizes are
// free within bounds. What a body may do with its buffers is in verify_access.cpp.
#include "block/verify.hpp"

#include "block/rules.hpp"
#include "support/check.hpp"

#include <algorithm>
#include <bit>

namespace broadloom::block {

using namespace loop;

namespace {

constexpr std::int64_t most_positions = 1024; // of a box

bool is_map(Shape shape) {
  return shape == Shape::Map || shape == Shape::MaskedMap || shape == Shape::StreamedMap;
}

class Verifier {
public:
  Verifier(const loop::Program &program, const Program &blocks)
      : program_(program), blocks_(blocks) {}

  void run() {
    require(blocks_.phases.size() == program_.phases.size(), "a phase has no blocks");
    for (phase_ = 0; phase_ < program_.phases.size(); ++phase_) {
      box_ = blocks_.phases[phase_].id;
      require(blocks_.phases[phase_].dims.empty(), "a phase is no loop");
      body(blocks_.phases[phase_], program_.phases[phase_].body, {});
    }
  }

private:
  void require(bool holds, const char *rule) const {
    if (!holds) throw BrokenRule{rule, box_};
  }

  // Every loop of the body has its run, in order, and every buffer its move.
  void body(const Box &box, const std::vector<Stmt> &statements, const Around &around) {
    accesses(box, statements, around);
    Around inside = around;
    inside.streams = false; // the loops inside move what is aligned here
    std::size_t next = 0;
    for (const Stmt &s : statements) {
      if (s.kind != StmtKind::Loop) continue;
      require(next < box.runs.size() && box.runs[next].loop.index == s.loop.index,
              "a box runs other loops than its body has");
      run(box.runs[next++], inside);
    }
    box_ = box.id;
    require(next == box.runs.size(), "a box runs a loop that its body lacks");
  }

  void accesses(const Box &box, const std::vector<Stmt> &statements, const Around &around) {
    box_ = box.id;
    const auto access_of = [&](BufferId buffer, bool store) {
      const Access *found = box.find(buffer, store);
      require(found != nullptr, "a block does not say how a buffer of its body moves");
      const char *rule = broken_rule(program_, blocks_.machine, *found, around);
      if (rule != nullptr) require(false, rule);
    };
    for (const Stmt &s : statements) {
      if (s.kind == StmtKind::Let && program_[s.value].kind == ValueKind::Load)
        access_of(program_[s.value].buffer, false);
      if (s.kind == StmtKind::Set) access_of(s.buffer, true);
      if (s.kind != StmtKind::Loop) continue;
      for (const BufferId handed : program_[s.loop].handed)
        for (const bool store : {false, true}) access_of(handed, store);
    }
  }

  void run(const Run &run, const Around &around) {
    require(!run.boxes.empty(), "a run without boxes");
    box_ = run.whole().id;
    require(!run.whole().rest, "a run begins with its rest");
    require(!run.takes_inner() || blocks_.machine.warp == 0 || run.shape == Shape::TransposedTile,
            "threads of a warp take one loop, or a transposed tile");
    require(!run.takes_inner() || run.boxes.size() == 2 || run.beside() != nullptr,
            "two loops as one block have whole blocks and a rest");
    for (const Box &box : run.boxes) dims(run, box, around);
    box_ = run.whole().id;
    fits(run, around);
    covers(run);
    for (const Box &box : run.boxes) inside(run, box, around);
  }

  // The bodies of a box, and what it adds to what stands around.
  void inside(const Run &run, const Box &box, Around around) {
    const Loop &own = program_[run.loop], &taken = program_[run.body_of(box)];
    const bool whole = &box == &run.whole();
    if (box.count(As::Lanes) > 1) {
      around.lanes = &taken;
      around.width = box.positions();
      around.apiece = box.apiece();
      around.masked = box.masked;
      around.streams =
          !box.masked && (run.shape == Shape::StreamedMap || run.shape == Shape::VectorFold ||
                          run.shape == Shape::GroupScan || run.shape == Shape::RowTile);
    }
    const bool strip = run.shape == Shape::SerialScan && run.boxes.size() > 1 && whole &&
                       box.count(As::Lanes) == 1;
    if (run.shape == Shape::Short || strip) around.short_row = &own, around.short_box = &box;
    if (run.shape == Shape::Jam && whole) around.jammed = &own;
    if (run.shape == Shape::RowTile && &box != &run.rest()) around.tiled = &own;
    if (run.shape == Shape::TransposedTile && whole)
      around.transposed = &own, around.streams = true;
    if (run.shape >= Shape::FoldTile && whole)
      accesses(box, own.body, {}); // what is known for a whole row
    body(box, taken.body, around);
  }

  void dims(const Run &run, const Box &box, const Around &around) {
    box_ = box.id;
    const Loop &loop = program_[run.loop];
    require(!box.dims.empty() && box.dims.size() <= 3, "a box has one to three dims");
    require(box.rest == (&box != &run.whole()), "what is not the first block is a rest");
    int lane_dims = 0;
    std::int64_t positions = 1;
    for (const Dim &dim : box.dims) {
      const bool own = dim.axis == loop.axis;
      const bool inner = run.takes_inner() && dim.axis == program_[run.inner].axis;
      require(own || inner, "a dim is of another loop");
      require(dim.count >= 1, "a dim of no positions");
      positions *= dim.count;
      require(positions <= most_positions, "a block of more than 1024 positions");
      require(!dim.leaves ||
                  (dim.as != As::Turns && loop.leaf > 0 && run.shape == Shape::SerialFold),
              "leaves of no serial fold");
      require(!dim.leaves || dim.count > 1, "one leaf is not side by side");
      if (dim.as != As::Lanes) continue;
      ++lane_dims;
      require(dim.count >= 2 && std::has_single_bit(unsigned(dim.count)),
              "lanes are a power of two");
      require(loop.vector || dim.leaves || run.shape == Shape::SerialScan ||
                  (run.takes_inner() && program_[run.inner].vector),
              "lanes of a loop that is no vector loop");
    }
    require(lane_dims <= 1, "two dims of lanes");
    require(blocks_.machine.warp == 0 || lane_dims == 0 ||
                (box.count(As::Lanes) <= blocks_.machine.warp &&
                 box.count(As::Copies) == box.apiece()) ||
                (run.shape == Shape::GroupScan && box.positions() == blocks_.machine.warp),
            "threads of a warp are lanes, one each");
    require(box.apiece() == 1 ||
                (blocks_.machine.warp == box.count(As::Lanes) && !box.masked && !box.rest &&
                 is_power(box.apiece()) && box.runs.empty() &&
                 (run.shape == Shape::Map ||
                  (run.shape == Shape::VectorFold && folds_in_any_order(program_, loop)))),
            "neighbours of what is no thread of a map, or of a fold in any order");
    require(lane_dims == 0 || around.lanes == nullptr, "lanes within lanes");
    require(!box.masked || lane_dims == 1, "a mask without lanes");
  }

  // The loops that a shape is for.
  void fits(const Run &run, const Around &around) const {
    const Loop &loop = program_[run.loop];
    const bool folds = !loop.accs.empty(), ordered = loop.scan || loop.reverse;
    const bool lanes = runs_as_vector(program_, loop) && around.lanes == nullptr;
    switch (run.shape) {
    case Shape::Turns:
      return require(!folds && !ordered && loop.turns == 0, "a fold runs turn by turn");
    case Shape::Short:
      require(loop.turns > 0 && around.lanes != nullptr, "no short row in each lane");
      return require(run.whole().dims[0].as == As::Copies || identity_stays(program_, loop),
                     "a tree whose identities have to be joined one by one is a loop");
    case Shape::SerialFold:
      return require(folds && !ordered && loop.turns == 0 && !runs_as_vector(program_, loop),
                     "no serial fold");
    case Shape::Unrolled:
      return require(folds && !ordered && loop.turns == 0 && !runs_as_vector(program_, loop) &&
                         !loop.within && program_[loop.axis].positions > 0,
                     "no serial fold of known positions");
    case Shape::VectorFold: return require(folds && !ordered && lanes, "no fold over lanes");
    case Shape::SerialScan:
      if (run.whole().count(As::Lanes) > 1)
        require(blocks_.machine.warp == run.whole().positions() && is_chain(program_, loop),
                "lanes of a scan that are no threads, or move what is another's");
      else
        require(run.boxes.size() == 1 || (around.lanes != nullptr && !has_loops(loop.body)),
                "a block of positions of a scan that has no lanes around, or loops inside");
      return require(ordered && loop.ways == 1, "no serial scan");
    case Shape::GroupScan:
      return require(loop.scan && loop.ways == scan_ways && lanes, "no scan in groups");
    case Shape::Map:
    case Shape::MaskedMap:
    case Shape::StreamedMap: return require(!folds && !ordered && lanes, "no map");
    case Shape::Jam:
    case Shape::RowTile:
    case Shape::TransposedTile: return pair(run, around);
    case Shape::FoldTile: {
      const std::optional<LoopId> only = only_loop(loop.body);
      return require(only && only->index == run.inner.index && around.lanes == nullptr &&
                         fold_of_tile(program_, loop, run.inner),
                     "no fold that positions of two loops take side by side");
    }
    }
  }

  // Two loops as one block: neither folds, and the inner one runs over the same positions in each
  // turn of the outer one.
  void pair(const Run &run, const Around &around) const {
    const Loop &rows = program_[run.loop], &inner = program_[run.inner];
    const std::optional<LoopId> only = only_loop(rows.body);
    require(only && only->index == run.inner.index && around.lanes == nullptr,
            "two loops as one block are not two");
    require(rows.accs.empty() && !rows.scan && !rows.reverse && !rows.vector && rows.turns == 0,
            "the rows of a block are no plain loop");
    require(inner.vector && inner.accs.empty() && !inner.scan && inner.turns == 0 &&
                inner.within != rows.axis,
            "the inner loop of a block is no map over the same positions in each row");
    const Run &beside = run.rest().runs.empty() ? run : run.rest().runs[0];
    require(run.shape == Shape::RowTile || !has_loops(inner.body),
            "the inner loop of a block has loops");
    if (run.shape == Shape::Jam) {
      for (const Run &body : run.whole().runs) require(is_map(body.shape), "a jam of no map");
      return;
    }
    require(is_map(beside.shape), "what is beside a tile is no map");
    if (run.shape == Shape::RowTile)
      require(lanes_of_rows(program_, blocks_.surveys[phase_], rows).has_value(),
              "rows that cannot be lanes of their own");
  }

  // Whether the dims of a box are these.
  static bool is(const Box &box, std::initializer_list<std::pair<AxisId, As>> dims) {
    return std::ranges::equal(box.dims, dims, [](const Dim &dim, const auto &form) {
      return dim.axis == form.first && dim.as == form.second;
    });
  }
  static bool is_power(int n) { return std::has_single_bit(unsigned(n)); }

  // The form of its boxes: what whole ones leave is taken by a masked box, by single turns, or
  // nothing is left.
  void covers(const Run &run) {
    box_ = run.rest().id;
    const Box &whole = run.whole(), &rest = run.rest();
    const Loop &loop = program_[run.loop];
    const AxisId axis = loop.axis, inner = run.takes_inner() ? program_[run.inner].axis : axis;
    const bool single = is(rest, {{axis, As::Turns}}) && rest.positions() == 1;
    const std::size_t boxes = run.boxes.size();
    switch (run.shape) {
    case Shape::Turns: return require(boxes == 1 && single, "a rest of single turns");
    case Shape::SerialScan:
      require(boxes <= 2 && single, "a rest of single turns");
      box_ = whole.id;
      return require(boxes == 1 ||
                         (whole.dims.size() == 1 && !whole.dims[0].leaves && !whole.masked &&
                          whole.positions() > 1 && whole.positions() <= fold_ways),
                     "a block of a scan is 2 to 32 copies, turns or lanes");
    case Shape::SerialFold:
      require(boxes <= 2 && single, "a rest of single turns");
      if (boxes == 2) leaves(whole, loop);
      return;
    case Shape::Unrolled:
      return require(boxes == 1 && is(whole, {{axis, As::Copies}}) && !whole.dims[0].leaves &&
                         whole.positions() == program_[axis].positions,
                     "all steps of a fold as copies");
    case Shape::Short:
      return require(boxes == 1 && rest.dims.size() == 1 && rest.dims[0].as != As::Lanes &&
                         rest.positions() == loop.turns,
                     "a short loop as a whole");
    case Shape::Map:
    case Shape::MaskedMap:
    case Shape::StreamedMap: return map(run);
    case Shape::VectorFold:
    case Shape::GroupScan: return groups(run);
    case Shape::Jam:
      box_ = whole.id;
      require(is(whole, {{axis, As::Copies}}) && is_power(whole.positions()),
              "copies of rows are a power of two");
      break;
    case Shape::RowTile:
      box_ = whole.id;
      require(is(whole, {{axis, As::Copies}, {inner, As::Lanes}}) &&
                  is_power(whole.count(As::Copies)) && !whole.masked,
              "a register tile is copies by lanes");
      if (const Box *beside = run.beside()) {
        box_ = beside->id;
        require(is(*beside, {{axis, As::Copies}, {inner, As::Lanes}}) && beside->masked &&
                    beside->count(As::Copies) == whole.count(As::Copies) &&
                    beside->positions() == whole.positions() && beside->positions() <= most_masked,
                "beside a register tile is a masked one of its size");
      }
      break;
    case Shape::FoldTile:
      box_ = whole.id;
      require(is(whole, {{axis, As::Copies}, {inner, As::Copies}}),
              "a register tile of folds is copies by copies");
      require(whole.runs.size() == 1 && whole.runs[0].shape == Shape::VectorFold,
              "a register tile of folds has a fold over lanes");
      require(rest.runs.size() == 1 && rest.runs[0].shape == Shape::Turns,
              "what is beside a tile of folds goes turn by turn");
      break;
    case Shape::TransposedTile:
      box_ = whole.id;
      require(is(whole, {{axis, As::Turns}, {inner, As::Lanes}}) && !whole.masked &&
                  whole.count(As::Turns) == whole.count(As::Lanes),
              "a transposed tile is as many turns by lanes");
      if (blocks_.machine.warp > 0) tile_of_warp(whole);
      break;
    }
    box_ = rest.id;
    require(single && rest.runs.size() == 1, "a rest of single rows");
  }

  void tile_of_warp(const Box &box) const {
    require(box.count(As::Lanes) == blocks_.machine.warp,
            "a tile of a warp has a turn for each of its threads");
    std::size_t bytes = 0;
    for (const Access &access : box.accesses)
      if (access.move == Move::Transposed) bytes += size_of(program_[access.buffer].dtype);
    require(bytes <= most_bytes_across_warp, "a warp transposes more than its threads share");
  }

  void leaves(const Box &box, const Loop &loop) {
    box_ = box.id;
    const bool lanes = is(box, {{loop.axis, As::Lanes}});
    require((lanes || is(box, {{loop.axis, As::Copies}})) && box.dims[0].leaves &&
                is_power(box.positions()) && std::has_single_bit(std::uint64_t(loop.leaf)),
            "leaves side by side are a power of two, of such leaves");
    require(!lanes || (blocks_.machine.warp == box.positions() && loop.leaf == 1 && !box.masked),
            "leaves in lanes are of one position, in each thread of a warp");
    require(!has_loops(loop.body) && !has_stores(loop.body), "leaves side by side only fold");
  }

  static bool is_strip(const Box &box, AxisId axis) {
    return is(box, {{axis, As::Lanes}}) ||
           (is(box, {{axis, As::Copies}, {axis, As::Lanes}}) && is_power(box.count(As::Copies)));
  }

  void map(const Run &run) {
    const AxisId axis = program_[run.loop].axis;
    const Box &whole = run.whole();
    for (std::size_t k = 1; k < run.boxes.size(); ++k) {
      box_ = run.boxes[k].id;
      require(run.boxes[k].masked, "a rest that is not masked");
      require(is(run.boxes[k], {{axis, As::Lanes}}), "a rest of lanes");
      require(k == 1 || run.boxes[k - 1].positions() == 2 * run.boxes[k].positions(),
              "each box of a rest is half of the one before");
    }
    box_ = whole.id;
    if (run.shape == Shape::MaskedMap) {
      require(run.boxes.size() == 1 && whole.masked && is(whole, {{axis, As::Lanes}}) &&
                  whole.positions() <= most_masked,
              "a masked map is one masked block");
      return;
    }
    require((is_strip(whole, axis) || whole.apiece() > 1) && !whole.masked && run.boxes.size() >= 2,
            "a map is whole blocks and a rest");
    if (run.shape != Shape::StreamedMap) return;
    const bool streams = std::ranges::any_of(
        whole.accesses, [](const Access &access) { return access.move == Move::Streamed; });
    require(streams, "a map with non-temporal stores has none");
    require(run.boxes.size() == 2 && run.rest().positions() == whole.positions(),
            "what is beside aligned stores is as wide as these");
  }

  // The lanes of a fold's tree, or the groups of a scan's.
  void groups(const Run &run) {
    const Loop &loop = program_[run.loop];
    const Box &whole = run.whole(), &rest = run.rest();
    require(rest.masked, "a rest that is not masked");
    const bool scan = run.shape == Shape::GroupScan;
    require(run.boxes.size() <= 2 && is(rest, {{loop.axis, As::Lanes}}) &&
                (scan ? rest.positions() == scan_ways : rest.positions() <= fold_ways),
            "the lanes of a rest are those of the tree, or a part of them");
    if (run.boxes.size() == 1) return;
    box_ = whole.id;
    require((is_strip(whole, loop.axis) || whole.apiece() > 1) && !whole.masked &&
                whole.count(As::Lanes) == rest.positions(),
            "a whole block has the lanes of its rest");
    require(scan || whole.positions() == fold_ways * whole.apiece(),
            "a whole block has all ways of the tree");
    require(!scan || whole.count(As::Copies) == 1 || blocks_.machine.warp > 0 ||
                (!loop.reverse && !reads_running(program_, loop)),
            "several groups of a scan come to their totals alone");
  }

  const loop::Program &program_;
  const Program &blocks_;
  std::size_t phase_ = 0;
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

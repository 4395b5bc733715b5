// Blocks that nobody chose: those that break a rule are seen to be wrong, and all others have the
// interpreter's bits.
#include "tests/unit/block_runs.hpp"
#include "tests/unit/native_runs.hpp"
#include "tests/unit/nests.hpp"

#include "block/text.hpp"
#include "jit/engine/engine.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>

namespace broadloom::loop::test {

namespace {

struct Wrong {
  const char *what, *nest, *choices;
  std::map<std::string, std::int64_t> extents;
  void (*change)(block::Program &);
  bool threads = false; // of a warp, and not lanes of 512 bits
};

// Whether a run by these blocks is seen to be wrong: by its bits, or by a check of
// block::interpret.
bool is_found(const Wrong &wrong, const Program &program, block::Program blocks) {
  Runs runs(program, {runner_of(program, std::move(blocks), wrong.what)});
  for (const Axis &axis : program.axes) runs.extents.push_back(wrong.extents.at(axis.name));
  runs.chunks = runs.extents;         // all in one
  runs.special = runs.at_end = false; // what is read beside a row is there
  try {
    return !runs.differences().empty();
  } catch (const InternalError &) {
    return true;
  }
}

} // namespace

TEST_CASE("blocks that lose a position, or put one in another place, are seen to be wrong") {
  using block::Move;
  const block::Machine avx512 = machines()[1], warp = machines().back();
  const Wrong all[] = {
      {"half of a tree's lanes step",
       "whole_fold.loop",
       "fold=sum; T=f64; how=, 32 ways, leaves of 64",
       {{"i", 4000}, {"i.chunk", 1}},
       [](block::Program &b) { b.phases[0].runs[0].boxes[0].dims[0].count = 1; }},
      {"the head and the tail are too short",
       "triad.loop",
       "T=f32; x=unit; z=unit; how=, streamed",
       {{"i", 133}},
       [](block::Program &b) { b.phases[0].runs[0].boxes[1].dims[0].count = 2; }},
      {"the rest is not masked",
       "triad.loop",
       "T=f32; x=unit; z=unit; how=",
       {{"i", 37}},
       [](block::Program &b) { b.phases[0].runs[0].boxes[1].masked = false; }},
      {"a rest of fewer lanes than are left",
       "heavy_columns.loop",
       "",
       {{"i", 3}, {"j", 21}},
       [](block::Program &b) { b.phases[0].runs[0].boxes[0].masked = false; }},
      {"two positions in one turn",
       "rows.loop",
       "",
       {{"i", 3}, {"j", 40}},
       [](block::Program &b) { b.phases[0].runs[0].boxes[0].dims[0].count = 2; }},
      {"a short row loses its last position",
       "short_rows.loop",
       "lies=i other, j unit; at=i, j; fold=sum",
       {{"i", 20}, {"j", 5}},
       [](block::Program &b) { b.phases[0].runs[0].boxes[0].runs[0].boxes[0].dims[0].count = 4; }},
      {"two steps of a serial fold in one turn",
       "product.loop",
       "fold=sum; T=f32; A=f64; columns=unit",
       {{"i", 1}, {"j", 130}, {"k", 1200}},
       [](block::Program &b) {
         for (block::Box &map : b.phases[0].runs[0].boxes.back().runs[0].boxes)
           map.runs[0].boxes.back().dims[0].count = 2;
       }},
      {"the last columns beside a tile are not masked",
       "product.loop",
       "fold=sum; T=f32; A=f64; columns=unit",
       {{"i", 9}, {"j", 35}, {"k", 7}},
       [](block::Program &b) { b.phases[0].runs[0].boxes[1].masked = false; }},
      {"rows of a tile that read their neighbours",
       "product.loop",
       "fold=sum; T=f32; A=f64; columns=unit",
       {{"i", 9}, {"j", 130}, {"k", 7}},
       [](block::Program &b) {
         for (block::Access &access : b.phases[0].runs[0].boxes[0].runs[0].boxes[0].accesses)
           if (access.move == Move::Scalar) access.move = Move::Row;
       }},
      {"lanes that share what is a row",
       "rows.loop",
       "",
       {{"i", 3}, {"j", 40}},
       [](block::Program &b) {
         b.phases[0].runs[0].boxes[0].runs[0].boxes[0].accesses[0].move = Move::Scalar;
       }},
      {"a row of what lies across",
       "tile.loop",
       "B=f32; T=f32; two=#; three=#; last=t1; how=, streamed",
       {{"i", 40}, {"i.chunk", 1}, {"j", 40}, {"j.chunk", 1}},
       [](block::Program &b) {
         block::Box &tile = b.phases[0].runs[0].boxes[0].runs[0].boxes[0].runs[0].boxes[0];
         for (block::Access &access : tile.accesses)
           if (access.move == Move::Transposed) access.move = Move::Row;
       }},
      {"a state that is held over one row too many",
       "jammed_rows.loop",
       "T=f32",
       {{"i", 9}, {"j", 33}},
       [](block::Program &b) {
         for (block::Access &access : b.phases[0].runs[1].boxes[1].runs[0].boxes[0].accesses)
           if (access.store) access.move = Move::Held;
       }},
      {"groups of a scan as one",
       "scan_totals.loop",
       "direction=; blocks=",
       {{"i", 64}},
       [](block::Program &b) {
         block::Box &box = b.phases[0].runs[0].boxes[0];
         box.dims = {{box.dims[1].axis, 64, block::As::Lanes, false}};
       }},
      {"threads that take one element for all neighbours",
       "whole_fold.loop",
       "fold=sum; T=i32; how=",
       {{"i", 300}, {"i.chunk", 1}},
       [](block::Program &b) {
         for (block::Access &access : b.phases[0].runs[0].boxes[0].accesses)
           access.move = Move::Scalar;
       },
       true},
      {"groups of a warp as one",
       "running_groups.loop",
       "blocks=; exclusive=; inclusive=#; direction=; start=",
       {{"k", 1}, {"i", 64}},
       [](block::Program &b) {
         block::Box &box = b.phases[0].runs[0].boxes[0].runs[0].boxes[0];
         box.dims = {{box.dims[1].axis, 32, block::As::Lanes, false}};
       },
       true},
  };
  for (const Wrong &wrong : all) {
    CAPTURE(std::string(wrong.what));
    const Program program = nest(wrong.nest, wrong.choices);
    block::Program blocks = block::choose(program, wrong.threads ? warp : avx512);
    CHECK_FALSE(is_found(wrong, program, blocks));
    wrong.change(blocks);
    CHECK(is_found(wrong, program, blocks));
    CHECK_THROWS_AS(block::verify(program, blocks), InternalError);
  }
}

namespace {

// Changes one thing somewhere in the blocks: a size, a shape, a move, a mask, a prefetch, or which
// boxes there are.
class Perturbation {
public:
  Perturbation(const Program &program, block::Program &blocks, std::uint64_t seed)
      : program_(program), random_(seed) {
    for (block::Box &phase : blocks.phases) gather(phase);
  }

  void run() {
    block::Run &run = *runs_[pick(runs_.size())];
    block::Box &box = run.boxes[pick(run.boxes.size())];
    block::Dim &dim = box.dims[pick(box.dims.size())];
    switch (pick(10)) {
    case 0: dim.count *= 2; break;
    case 1: dim.count /= 2; break;
    case 2: dim.as = block::As(pick(3)); break;
    case 3: box.masked = !box.masked; break;
    case 4: shape(run); break;
    case 5: run.boxes.erase(run.boxes.begin() + std::ptrdiff_t(pick(run.boxes.size()))); break;
    case 6: run.boxes.push_back(run.boxes.back()); break;
    case 7: move(box); break;
    case 8: dim.leaves = !dim.leaves; break;
    case 9: prefetch(box); break;
    }
  }

private:
  std::size_t pick(std::size_t count) { return std::size_t(random_() % count); }

  void gather(block::Box &box) {
    for (block::Run &run : box.runs) {
      runs_.push_back(&run);
      for (block::Box &inner : run.boxes) gather(inner);
    }
  }

  void shape(block::Run &run) {
    run.shape = block::Shape(pick(std::size_t(block::Shape::TransposedTile) + 1));
    if (!run.takes_inner()) return;
    const std::optional<LoopId> inner = only_loop(program_[run.loop].body);
    if (inner)
      run.inner = *inner;
    else
      run.shape = block::Shape::Turns;
  }

  void move(block::Box &box) {
    if (box.accesses.empty()) return;
    box.accesses[pick(box.accesses.size())].move =
        block::Move(pick(std::size_t(block::Move::Wide) + 1));
  }

  void prefetch(block::Box &box) {
    if (box.accesses.empty()) return;
    block::Prefetch &ahead = box.accesses[pick(box.accesses.size())].prefetch;
    bool *const ways[] = {&ahead.lines, &ahead.steps, &ahead.block};
    bool &way = *ways[pick(3)];
    way = !way;
  }

  const Program &program_;
  std::mt19937_64 random_;
  std::vector<block::Run *> runs_;
};

bool keeps_rules(const Program &program, const block::Program &blocks) {
  try {
    block::check_rules(program, blocks);
    return true;
  } catch (const block::BrokenRule &) {
    return false;
  }
}

// The agreement at one of its extents.
Agreement at_one(Agreement agreement, std::mt19937_64 &random) {
  for (auto &[axis, extents] : agreement.axes)
    extents.values = {extents.values[random() % extents.values.size()]};
  return agreement;
}

} // namespace

TEST_CASE("whatever keeps the rules of blocks has the interpreter's bits, in native code, too") {
  const char *count = std::getenv("BROADLOOM_FUZZ");
  const std::uint64_t tries = count != nullptr ? std::strtoull(count, nullptr, 10) : 40;
  int kept = 0, refused = 0;
  for (const std::string &name : nest_names()) {
    const NestFile file = read_nests(name);
    if (file.agreements.empty()) continue;
    for (std::uint64_t seed = 0; seed < tries; ++seed) {
      std::mt19937_64 random(seed + std::hash<std::string>()(name));
      const Nest &nest = file.nests[random() % file.nests.size()];
      block::Machine machine = machines()[random() % machines().size()];
      if (random() % 2 == 0) machine.sizes = block::random_sizes(random());
      block::Program blocks = block::choose(nest.program, machine);
      for (std::uint64_t changes = random() % 3; changes < 3; ++changes) {
        block::Program changed = blocks;
        Perturbation(nest.program, changed, random()).run();
        const bool keeps = keeps_rules(nest.program, changed);
        ++(keeps ? kept : refused);
        if (keeps) blocks = std::move(changed);
      }
      INFO(name, " with ", nest.choices, ", seed ", seed, "\n", block::print(nest.program, blocks));
      std::vector<Runner> runners{runner_of(nest.program, blocks, "blocks")};
      for (const std::string &target : targets_for(machine))
        if (seed % 8 == 0)
          runners.push_back(jit::test::runner_of(
              jit::compile_native(nest.program, blocks, jit::find_target(target)), target));
      Runs runs(nest.program, std::move(runners));
      for (int k = 0; k < 4; ++k)
        agree(runs, nest.program,
              at_one(file.agreements[random() % file.agreements.size()], random), false);
    }
  }
  CHECK(kept > int(tries));
  CHECK(refused > int(tries));
}

} // namespace broadloom::loop::test

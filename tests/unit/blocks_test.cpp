// Blocks of the programs of tests/nests: those that are chosen, those that the files give and refuse, and that each program has
// the interpreter's bits whatever blocks it runs by, in native code and in block::interpret.
#include "native_runs.hpp"
#include "nests.hpp"

#include "block/block.hpp"
#include "block/text.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>

namespace broadloom::loop::test {

namespace {

// Processors: with AVX2, with AVX-512, and one that we do not have.
std::vector<block::Machine> machines() {
  block::Machine avx2, avx512, small;
  avx512.vector_bits = 512;
  avx512.registers = 32;
  avx512.masks_free = avx512.gathers = true;
  avx512.least_masked_move = 1;
  small.vector_bits = 128;
  small.registers = 8;
  return {avx2, avx512, small};
}

Runner runner_of(const Program &program, block::Program blocks, std::string name) {
  return {std::move(name),
          [&program, blocks = std::move(blocks)](std::size_t phase, const Frame &frame,
                                                 const std::int64_t *lo, const std::int64_t *hi) {
            block::interpret(program, blocks, phase, frame, lo, hi);
          }};
}

Runner chosen(const Program &program, const block::Machine &machine, std::string name) {
  return runner_of(program, block::choose(program, machine), std::move(name));
}

void gather(const block::Box &box, std::set<block::Shape> &shapes, std::set<block::Move> &moves) {
  for (const block::Access &access : box.accesses) moves.insert(access.move);
  for (const block::Run &run : box.runs) {
    shapes.insert(run.shape);
    for (const block::Box &inner : run.boxes) gather(inner, shapes, moves);
  }
}

// The listing less the empty lines and the lines of the file before it.
std::string bare(const std::string &text) {
  const std::size_t from = text.find_first_not_of('\n');
  return text.substr(from, text.find_last_not_of('\n') + 1 - from) + "\n";
}

} // namespace

TEST_CASE("every nest has the interpreter's bits by the blocks of any machine, of any sizes") {
  for (const std::string &name : nest_names()) {
    const NestFile file = read_nests(name);
    for (const Nest &nest : file.nests) {
      INFO(name, " with ", nest.choices);
      std::vector<Runner> runners;
      for (block::Machine machine : machines()) {
        const std::string bits = std::to_string(machine.vector_bits) + " bits";
        runners.push_back(chosen(nest.program, machine, bits));
        const std::uint64_t seed = std::hash<std::string>()(nest.choices + bits) % 1000;
        machine.sizes = block::random_sizes(seed);
        runners.push_back(
            chosen(nest.program, machine, bits + ", sizes of seed " + std::to_string(seed)));
      }
      for (const Listing &listing : file.listings)
        if (listing.use == Listing::Use::Given && listing.is_of(nest))
          runners.push_back(runner_of(nest.program, block::parse(nest.program, listing.text, name),
                                      "the blocks of line " + std::to_string(listing.first + 1)));
      Runs runs(nest.program, std::move(runners));
      for (const Agreement &agreement : file.agreements)
        agree(runs, nest.program, agreement, false);
    }
  }
}

TEST_CASE("native code of the blocks that a file gives has the interpreter's bits") {
  for (const std::string &name : nest_names()) {
    const NestFile file = read_nests(name);
    for (const Listing &listing : file.listings) {
      if (listing.use != Listing::Use::Given) continue;
      for (const Nest &nest : file.nests) {
        if (!listing.is_of(nest)) continue;
        INFO(name, " with ", nest.choices, ", the blocks of line ", listing.first + 1);
        const block::Program blocks = block::parse(nest.program, listing.text, name);
        std::vector<Runner> runners;
        for (const std::string &target : jit::test::targets_here())
          runners.push_back(jit::test::runner_of(
              jit::compile_native(nest.program, blocks, jit::find_target(target)), target));
        Runs runs(nest.program, std::move(runners));
        for (const Agreement &agreement : file.agreements)
          agree(runs, nest.program, agreement, false);
      }
    }
  }
}

TEST_CASE("native code of blocks of any sizes, for any machine, has the interpreter's bits") {
  for (const std::string &name : nest_names()) {
    const NestFile file = read_nests(name);
    const Nest &nest = file.nests[0];
    INFO(name, " with ", nest.choices);
    std::vector<Runner> runners;
    for (block::Machine machine : machines()) {
      machine.sizes = block::random_sizes(std::hash<std::string>()(name) % 1000);
      for (const std::string &target : jit::test::targets_here())
        runners.push_back(jit::test::runner_of(
            jit::compile_native(nest.program, block::choose(nest.program, machine),
                                jit::find_target(target)),
            target + ", blocks for " + std::to_string(machine.vector_bits) + " bits"));
    }
    Runs runs(nest.program, std::move(runners));
    for (const Agreement &agreement : file.agreements) agree(runs, nest.program, agreement, false);
  }
}

TEST_CASE("native code is made of the blocks that are given, and keeps them") {
  const Program program = nest("triad.loop");
  const jit::Target target = jit::find_target("x86-64-v3");
  const std::string one_by_one = "blocks of triad: 16 registers of 64 bits\n\nphase 0:\n"
                                 "  parallel for i: turn by turn\n    block i 1 turn\n"
                                 "      load x: scalar\n      load y: scalar\n"
                                 "      load w: scalar\n      store z: scalar\n";
  const block::Program given = block::parse(program, one_by_one);
  CHECK(jit::llvm_text(program, jit::blocks_of(program, target), target).find("<8 x float>") !=
        std::string::npos);
  CHECK(jit::llvm_text(program, given, target).find(" x float>") == std::string::npos);
  CHECK(block::print(program, jit::compile_native(program, given, target)->blocks()) == one_by_one);
}

TEST_CASE("the blocks that a file expects are those that are chosen") {
  const bool bless = std::getenv("BROADLOOM_BLESS") != nullptr;
  for (const std::string &name : nest_names()) {
    const NestFile file = read_nests(name);
    std::string blessed;
    int line = 0;
    std::istringstream lines(text_of_nests(name));
    const auto copy_until = [&](int end) {
      for (std::string text; line < end && std::getline(lines, text); ++line)
        blessed += text + "\n";
    };
    for (const Listing &listing : file.listings) {
      if (listing.use != Listing::Use::Expected) continue;
      int programs = 0;
      for (const Nest &nest : file.nests) {
        if (!listing.is_of(nest)) continue;
        INFO(name, " with ", nest.choices, ", line ", listing.first + 1);
        const block::Machine machine = block::machine_in(listing.text, name);
        const std::string text = block::print(nest.program, block::choose(nest.program, machine));
        if (bless && programs == 0) {
          copy_until(listing.first);
          blessed += text + "\n";
          for (std::string dropped; line < listing.end; ++line) std::getline(lines, dropped);
        }
        ++programs;
        if (!bless) CHECK(bare(listing.text) == text);
      }
      CHECK(programs > 0);
    }
    if (!bless || blessed.empty()) continue;
    for (std::string text; std::getline(lines, text);) blessed += text + "\n";
    while (blessed.ends_with("\n\n")) blessed.pop_back();
    std::ofstream(BROADLOOM_SOURCE_DIR "/tests/nests/" + name, std::ios::binary) << blessed;
  }
}

TEST_CASE("blocks that a file refuses are refused at their line") {
  int refused = 0;
  for (const std::string &name : nest_names()) {
    const NestFile file = read_nests(name);
    for (const Listing &listing : file.listings) {
      if (listing.use != Listing::Use::Refused) continue;
      for (const Nest &nest : file.nests) {
        if (!listing.is_of(nest)) continue;
        INFO(name, " with ", nest.choices, ", line ", listing.first + 1);
        ++refused;
        try {
          block::parse(nest.program, listing.text, name);
          FAIL_CHECK("nothing was thrown");
        } catch (const SpecError &error) {
          CHECK(error.code() == listing.code);
          CHECK_MESSAGE(error.message().find(listing.rule) != std::string::npos, error.message());
          CHECK(error.where().file == name);
          const std::size_t here = listing.text.find("# here");
          REQUIRE(here != std::string::npos);
          CHECK(error.where().line == 1 + std::count(listing.text.begin(),
                                                     listing.text.begin() + std::ptrdiff_t(here),
                                                     '\n'));
        }
      }
    }
  }
  CHECK(refused > 5);
}

namespace {

struct Wrong {
  const char *what, *nest, *choices;
  std::map<std::string, std::int64_t> extents;
  void (*change)(block::Program &);
};

// Whether a run by these blocks is seen to be wrong: by its bits, or by a check of block::interpret.
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
  block::Machine avx512 = machines()[1];
  const Wrong all[] = {
      {"half of a tree's lanes step",
       "whole_fold.loop",
       "fold=sum; T=f64; how=, 32 lanes, leaves of 64",
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
         for (block::Box &map : b.phases[0].runs[0].boxes[1].runs[0].boxes)
           map.runs[0].boxes.back().dims[0].count = 2;
       }},
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
  };
  for (const Wrong &wrong : all) {
    CAPTURE(std::string(wrong.what));
    const Program program = nest(wrong.nest, wrong.choices);
    block::Program blocks = block::choose(program, avx512);
    CHECK_FALSE(is_found(wrong, program, blocks));
    wrong.change(blocks);
    CHECK(is_found(wrong, program, blocks));
    CHECK_THROWS_AS(block::verify(program, blocks), InternalError);
  }
}

namespace {

// Changes one thing somewhere in the blocks: a size, a shape, a move, a mask, or which boxes there are.
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
    switch (pick(8)) {
    case 0: dim.count *= 2; break;
    case 1: dim.count /= 2; break;
    case 2: dim.as = block::As(pick(3)); break;
    case 3: box.masked = !box.masked; break;
    case 4: shape(run); break;
    case 5: run.boxes.erase(run.boxes.begin() + std::ptrdiff_t(pick(run.boxes.size()))); break;
    case 6: run.boxes.push_back(run.boxes.back()); break;
    case 7: move(box); break;
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
        block::Move(pick(std::size_t(block::Move::Held) + 1));
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
      block::Machine machine = machines()[random() % 3];
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
      for (const std::string &target : jit::test::targets_here())
        if (seed % 8 == 0)
          runners.push_back(jit::test::runner_of(
              jit::compile_native(nest.program, blocks, jit::find_target(target)), target));
      Runs runs(nest.program, std::move(runners));
      for (int k = 0; k < 4; ++k)
        agree(runs, nest.program,
              at_one(file.agreements[random() % file.agreements.size()], random), false);
    }
  }
  MESSAGE(kept, " changes kept the rules, ", refused, " were refused");
  CHECK(kept > int(tries));
  CHECK(refused > int(tries));
}

TEST_CASE("the listings of the nests have every shape and every move between them") {
  std::set<block::Shape> shapes;
  std::set<block::Move> moves;
  for (const std::string &name : nest_names()) {
    const NestFile file = read_nests(name);
    for (const Listing &listing : file.listings)
      for (const Nest &nest : file.nests) {
        if (listing.use == Listing::Use::Refused || !listing.is_of(nest)) continue;
        const block::Program blocks = block::parse(nest.program, listing.text, name);
        CHECK(block::print(nest.program, blocks) == bare(listing.text));
        for (const block::Box &phase : blocks.phases) gather(phase, shapes, moves);
      }
  }
  for (int k = 0; k <= int(block::Shape::TransposedTile); ++k) {
    CAPTURE(block::name(block::Shape(k)));
    CHECK(shapes.contains(block::Shape(k)));
  }
  for (int k = 0; k <= int(block::Move::Held); ++k) {
    CAPTURE(block::name(block::Move(k), false));
    CHECK(moves.contains(block::Move(k)));
  }
}

} // namespace broadloom::loop::test

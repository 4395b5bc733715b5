// Blocks of the programs of tests/nests: those that are chosen, those that the files give and
// refuse, and that each program has the interpreter's bits whatever blocks it runs by, in native
// code and in block::interpret.
#include "tests/places.hpp"
#include "tests/unit/block_runs.hpp"
#include "tests/unit/native_runs.hpp"
#include "tests/unit/nests.hpp"

#include "block/block.hpp"
#include "block/text.hpp"
#include "jit/engine/engine.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace broadloom::loop::test {

namespace {

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
        for (const std::string &target : targets_for(blocks.machine))
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
      for (const std::string &target : targets_for(machine))
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
  const jit::Target target = jit::find_target(jit::targets_here().front());
  const std::string one_by_one = "blocks of triad: 16 registers of 64 bits\n\nphase 0:\n"
                                 "  parallel for i: turn by turn\n    block i 1 turn\n"
                                 "      load x: scalar\n      load y: scalar\n"
                                 "      load w: scalar\n      store z: scalar\n";
  const block::Program given = block::parse(program, one_by_one);
  const std::string vectors = "<" + std::to_string(target.vector_bits() / 32) + " x float>";
  CHECK(jit::llvm_text(program, jit::blocks_of(program, target), target).find(vectors) !=
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
  for (int k = 0; k <= int(block::Move::Wide); ++k) {
    CAPTURE(block::name(block::Move(k), false));
    CHECK(moves.contains(block::Move(k)));
  }
}

} // namespace broadloom::loop::test

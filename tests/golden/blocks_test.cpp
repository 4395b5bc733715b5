// Golden blocks: what runs, as `show --stage block` prints it, on 512-bit and on 256-bit vectors,
// so that no choice of the schedule is lost in silence. tests/blocks/NAME.golden is of
// tests/blocks/NAME.loom or tests/decisions/NAME.loom, kernels with layouts (golden_files.hpp).
// `./dev bless` rewrites the files.
#include "analysis/analyse.hpp"
#include "golden_plan.hpp"
#include "tests/places.hpp"

#include "tests/file_cases.hpp"

#include "block/block.hpp"
#include "jit/native/target.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace broadloom {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> all_looms() {
  std::vector<fs::path> files = golden::looms_in("blocks");
  for (const fs::path &file : golden::looms_in("decisions")) files.push_back(file);
  return files;
}

using golden::target_of;

plan::Plan plan_in(const fs::path &file, int bits) {
  const std::string text = golden::read(file);
  return golden::plan_of(analysis::analyse(parse(text).data()), text, golden::machine_of(bits));
}

std::string blocks_text(const fs::path &file, int bits) {
  const plan::Plan plan = plan_in(file, bits);
  const block::Program blocks = jit::blocks_of(plan.program, target_of(bits));
  block::verify(plan.program, blocks);
  const loop::Numbers numbers = plan.binding.numbers();
  return block::print(plan.program, blocks, &numbers);
}

void gather(const block::Box &box, std::set<block::Shape> &shapes, std::set<block::Move> &moves) {
  for (const block::Access &access : box.accesses) moves.insert(access.move);
  for (const block::Run &run : box.runs) {
    shapes.insert(run.shape);
    for (const block::Box &inner : run.boxes) gather(inner, shapes, moves);
  }
}

void check_blocks(const fs::path &file) {
  golden::check_golden(fs::path(BROADLOOM_SOURCE_DIR) / "tests" / "blocks" /
                           (file.stem().string() + ".golden"),
                       blocks_text(file, 512) + "\n" + blocks_text(file, 256));
}

const bool added = tests::add_cases(all_looms(), "the blocks of ", check_blocks);

} // namespace

TEST_CASE("there are golden blocks") { CHECK(added); }

TEST_CASE("the golden kernels have every shape and every move between them") {
  std::set<block::Shape> shapes;
  std::set<block::Move> moves;
  for (const fs::path &file : all_looms()) {
    for (const int bits : {512, 256}) {
      const plan::Plan plan = plan_in(file, bits);
      for (const block::Box &phase : jit::blocks_of(plan.program, target_of(bits)).phases)
        gather(phase, shapes, moves);
    }
  }
  CHECK(shapes.size() == std::size_t(block::Shape::TransposedTile) + 1);
  CHECK(moves.size() == std::size_t(block::Move::Held) + 1);
}

TEST_CASE("blocks print as a text that reads back as the same blocks, whatever their sizes") {
  for (const fs::path &file : all_looms()) {
    CAPTURE(file.filename().string());
    const loop::Program program = plan_in(file, 512).program;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      block::Machine machine = jit::machine_of(target_of(seed % 2 == 0 ? 512 : 256));
      if (seed > 1) machine.sizes = block::random_sizes(seed);
      const block::Program blocks = block::choose(program, machine);
      const std::string text = block::print(program, blocks);
      CHECK(block::print(program, block::parse(program, text)) == text);
    }
  }
}

TEST_CASE("a text of blocks that is malformed or breaks a rule is refused at its line") {
  const loop::Program program =
      plan_in(fs::path(BROADLOOM_SOURCE_DIR) / "tests" / "blocks" / "column_sum.loom", 512).program;
  const std::string text = block::print(program, jit::blocks_of(program, target_of(512)));
  struct Wrong {
    std::string what, with, code, message;
    bool places = true; // the error is in the line that was changed
  };
  const Wrong all[] = {
      {"block i 8 copies", "block i 0 copies", "E0802", "a dim of no positions"},
      {"block i 8 copies", "block k 8 copies", "E0801",
       "a block of another axis than its loops have"},
      {"block i 8 copies", "block i 8 threads", "E0801", "expected 'turn'"},
      {"block i 8 copies", "block i 5000 copies", "E0801", "too large"},
      {"unroll-and-jam", "unroll-and-spread", "E0801", "no way to run a loop"},
      {"rest j 16 lanes, masked", "rest j 16 lanes", "E0802", "a rest that is not masked"},
      {"block j 16 lanes", "block j 15 lanes", "E0802", "lanes are a power of two"},
      {"store s0: held", "store s0: stack slot", "E0802", "a stack slot of what is no row", false},
      {"load a: row", "load a: scalar", "E0802", "lanes move as one element", false},
      {"load a: row", "load b: row", "E0801", "there is no buffer 'b'"},
      {"load a: row", "load s0: row", "E0802",
       "a block does not say how a buffer of its body moves", false},
      {"phase 1:", "phase 7:", "E0801", "too large"},
      {"    parallel for i.chunk", "   parallel for i.chunk", "E0801", "odd number of spaces",
       false},
  };
  for (const Wrong &wrong : all) {
    CAPTURE(wrong.with);
    std::string changed = text;
    const std::size_t at = changed.find(wrong.what);
    REQUIRE((at != changed.npos || wrong.what.starts_with(' ')));
    if (at != changed.npos)
      changed.replace(at, wrong.what.size(), wrong.with);
    else
      changed.insert(changed.find("parallel for"), " ");
    try {
      block::parse(program, changed, "blocks.txt");
      FAIL_CHECK("nothing was thrown");
    } catch (const SpecError &error) {
      CHECK(error.code() == wrong.code);
      CHECK_MESSAGE(std::string(error.what()).find(wrong.message) != std::string::npos,
                    error.what());
      const std::int64_t line =
          1 + std::count(changed.begin(),
                         changed.begin() + std::ptrdiff_t(at != changed.npos ? at : 0), '\n');
      CHECK(error.where().file == "blocks.txt");
      if (wrong.places) CHECK(error.where().line == line);
    }
  }
  CHECK_THROWS_AS(block::parse(program, ""), SpecError);
  CHECK_THROWS_AS(block::parse(program, text.substr(0, text.size() / 2)), SpecError);
}

} // namespace broadloom

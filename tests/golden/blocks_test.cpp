// Golden blocks: what runs, as `show --stage block` prints it, on 512-bit and on 256-bit vectors, so that no choice of the
// schedule is lost in silence. tests/blocks/NAME.golden is of tests/blocks/NAME.loom or tests/decisions/NAME.loom, kernels with
// layouts (golden_files.hpp). `./dev bless` rewrites the files.
#include "golden_plan.hpp"

#include "block/block.hpp"
#include "jit/why.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

namespace broadloom {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> all_looms() {
  std::vector<fs::path> files = golden::looms_in("blocks");
  for (const fs::path &file : golden::looms_in("decisions")) files.push_back(file);
  return files;
}

jit::Target target_of(int bits) {
  jit::Target target;
  target.vector_bits = bits;
  return target;
}

std::string blocks_text(const fs::path &file, int bits) {
  const std::string text = golden::read(file);
  const spec::TypedSpec typed = spec::analyse(parse(text).data());
  const plan::Plan plan = golden::plan_of(typed, text);
  const block::Program blocks = jit::blocks_of(plan.program, target_of(bits));
  block::verify(plan.program, blocks);
  const loop::Numbers numbers{plan.binding.extents, plan.binding.chunks, plan.binding.strides};
  return block::print(plan.program, blocks, &numbers);
}

void gather(const block::Box &box, std::set<block::Shape> &shapes, std::set<block::Move> &moves) {
  for (const block::Access &access : box.accesses) moves.insert(access.move);
  for (const block::Run &run : box.runs) {
    shapes.insert(run.shape);
    for (const block::Box &inner : run.boxes) gather(inner, shapes, moves);
  }
}

} // namespace

TEST_CASE("every golden kernel gets the blocks that it had") {
  const bool bless = std::getenv("BROADLOOM_BLESS") != nullptr;
  for (const fs::path &file : all_looms()) {
    CAPTURE(file.filename().string());
    const std::string printed = blocks_text(file, 512) + "\n" + blocks_text(file, 256);
    const fs::path golden =
        fs::path(BROADLOOM_SOURCE_DIR) / "tests" / "blocks" / (file.stem().string() + ".golden");
    if (bless) std::ofstream(golden, std::ios::binary) << printed;
    REQUIRE_MESSAGE(fs::exists(golden), "no golden file; write it with: ./dev bless");
    CHECK_MESSAGE(golden::read(golden) == printed,
                  "differs from " << golden.string() << "; if the new text is right: ./dev bless");
  }
}

TEST_CASE("the golden kernels have every shape and every move between them") {
  std::set<block::Shape> shapes;
  std::set<block::Move> moves;
  for (const fs::path &file : all_looms()) {
    const std::string text = golden::read(file);
    const spec::TypedSpec typed = spec::analyse(parse(text).data());
    const plan::Plan plan = golden::plan_of(typed, text);
    for (const int bits : {512, 256})
      for (const block::Box &phase : jit::blocks_of(plan.program, target_of(bits)).phases)
        gather(phase, shapes, moves);
  }
  CHECK(shapes.size() == std::size_t(block::Shape::TransposedTile) + 1);
  CHECK(moves.size() == std::size_t(block::Move::Held) + 1);
}

} // namespace broadloom

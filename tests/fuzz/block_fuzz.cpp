// Any bytes as the text of a loop program and, behind it, of its blocks: what is refused has a
// helpful error with a place in the text, and what is not runs by its blocks with the bits of the
// loop program.
//
// It runs by chosen ones, too: of a machine and of sizes that follow from the text.
#include "layouts.hpp"
#include "require.hpp"

#include "block/block.hpp"

#include <cmath>
#include <cstring>

namespace broadloom::fuzz {
namespace {

using loop::Program;

// Where the blocks begin: a line of their own.
std::size_t blocks_in(std::string_view text) {
  const std::size_t found = text.find("\nblocks of ");
  return found == text.npos ? text.size() : found + 1;
}

// The text from there on, in the lines in which it is.
std::string below(std::string_view text, std::size_t from) {
  const auto lines = std::count(text.begin(), text.begin() + std::ptrdiff_t(from), '\n');
  return std::string(std::size_t(lines), '\n') + std::string(text.substr(from));
}

block::Machine machine_of(std::uint64_t seed) {
  block::Machine machine;
  machine.vector_bits = 128 << seed % 3;
  machine.masks_free = machine.gathers = machine.vector_bits == 512;
  if (machine.masks_free) machine.registers = 32, machine.least_masked_move = 1;
  if (seed / 3 % 4 != 0) machine.sizes = block::random_sizes(seed);
  return machine;
}

void round_trip(const Program &program, const block::Program &blocks) {
  const std::string once = block::print(program, blocks);
  try {
    const block::Program again = block::parse(program, once);
    require(block::print(program, again) == once, "other blocks come back:\n" + once);
  } catch (const InternalError &) {
    throw;
  } catch (const Error &error) {
    require(false, "printed blocks cannot be read:\n" + once + error.render());
  }
  block::explain(program, blocks);
}

// A text may claim that any order of steps and joins gives the same bits. That is so for the
// accumulators of the table.
bool keeps_claims(const Program &program) {
  return std::ranges::all_of(program.recipes, [](const ops::Recipe &recipe) {
    if (!recipe.exact) return true;
    for (int fold = 0; recipe.states.size() == 1 && fold < ops::fold_count(); ++fold)
      if (ops::info(Fold(fold)).kind == ops::FoldKind::Operation &&
          same(recipe, ops::recipe_of(Fold(fold), recipe.states[0])))
        return true;
    return false;
  });
}

bool is_nan(const char *at, DType dtype) {
  const DType real = real_dtype(dtype);
  return (is_float(real)) &&
         std::isnan(ops::as_f64(ops::convert(ops::load(at, real), real, DType::F64)));
}

// Equal bits, all NaNs being equal, part by part.
bool same_bytes(const std::vector<char> &a, const std::vector<char> &b, DType dtype) {
  const std::size_t size = size_of(real_dtype(dtype));
  for (std::size_t at = 0; at < a.size(); at += size)
    if (std::memcmp(a.data() + at, b.data() + at, size) != 0 &&
        !(is_nan(a.data() + at, dtype) && is_nan(b.data() + at, dtype)))
      return false;
  return true;
}

void compare(const Program &program, const block::Program &blocks, const Layouts &layouts) {
  const auto told =
      layouts.run([&](std::size_t phase, const loop::Frame &frame, const std::int64_t *lo,
                      const std::int64_t *hi) { loop::interpret(program, phase, frame, lo, hi); });
  const auto found = layouts.run(
      [&](std::size_t phase, const loop::Frame &frame, const std::int64_t *lo,
          const std::int64_t *hi) { block::interpret(program, blocks, phase, frame, lo, hi); });
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].role == loop::Role::Output)
      require(same_bytes(found[b], told[b], program.buffers[b].dtype),
              program.buffers[b].name + " differs:\n" + loop::write(program) + "\n" +
                  block::print(program, blocks));
}

} // namespace
} // namespace broadloom::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace broadloom;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const std::size_t end = fuzz::blocks_in(text);
  const std::uint64_t seed = fuzz::hash_of(text);
  loop::Program program;
  std::vector<block::Program> ways;
  try {
    program = loop::parse(text.substr(0, end));
    ways.push_back(block::choose(program, fuzz::machine_of(seed)));
    ways.push_back(block::parse(program, fuzz::below(text, end)));
  } catch (const InternalError &) {
    throw;
  } catch (const Error &error) {
    fuzz::require_place(error, text);
  }
  if (ways.empty()) return 0;
  const fuzz::Layouts layouts(program, seed);
  const bool runs = layouts.turns() <= fuzz::most_turns && layouts.verifies();
  for (const block::Program &blocks : ways) {
    fuzz::round_trip(program, blocks);
    if (!runs) continue;
    const loop::Numbers numbers{layouts.extents, layouts.chunks, layouts.strides};
    block::print(program, blocks, &numbers);
    if (layouts.are_apart() && fuzz::keeps_claims(program)) fuzz::compare(program, blocks, layouts);
  }
  return 0;
}

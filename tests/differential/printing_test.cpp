// A kernel and its canonical text are one thing: random kernels printed, read back and run.
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include <doctest/doctest.h>

namespace broadloom::differential {
namespace {

TEST_CASE("every random kernel prints as a text that means the same and prints itself") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomSpec random = random_spec(seed);
    const std::string text = print(parse(random.text));
    INFO("seed " << seed << "\n" << random.text << text);
    CHECK(print(parse(text)) == text);
    if (seed % 8 != 0) continue;
    Random source(seed);
    std::vector<Operand> operands;
    for (const RandomInput &in : random.inputs) {
      operands.emplace_back(source, in.dtype, in.shape, false);
      operands.back().fill(source, false);
    }
    std::vector<NamedView> views;
    for (std::size_t k = 0; k < operands.size(); ++k)
      views.push_back({random.inputs[k].name, operands[k].view()});
    const Options options{.threads = 1, .engine = Engine::Interpreter};
    try {
      const Results written = compile(parse(random.text), options).call(views);
      const Results printed = compile(parse(text), options).call(views);
      for (std::size_t k = 0; k < written.size(); ++k) CHECK(same_bits(written[k], printed[k]));
    } catch (const ShapeError &) {
    } catch (const DataError &) { // some cases are wrong on purpose
    }
  }
}

} // namespace
} // namespace broadloom::differential

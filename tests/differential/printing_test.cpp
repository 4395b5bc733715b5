// A kernel and its canonical text are one thing: random kernels printed, read back and run.
#include "analysis/analyse.hpp"
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include "kernel/windows.hpp"
#include "plan/plan.hpp"
#include "reference/lets.hpp"
#include "reference/reference.hpp"
#include "rewrite/scatters.hpp"

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
    const Options options{.threads = 1, .engine = Engine::interpreter};
    try {
      const Results written = compile(parse(random.text), options).call(views);
      const Results printed = compile(parse(text), options).call(views);
      for (std::size_t k = 0; k < written.size(); ++k) CHECK(same_bits(written[k], printed[k]));
    } catch (const ShapeError &) {
    } catch (const DataError &) { // some cases are wrong on purpose
    }
  }
}

TEST_CASE("the loop program of every random kernel reads back from its text") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count);
  std::uint64_t planned = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomSpec random = random_spec(seed);
    spec::TypedSpec typed = analysis::analyse(parse(random.text).data());
    if (auto parts = rewrite::split_scatters(typed)) typed = std::move(parts->after);
    const std::vector<bool> wanted(typed.outputs.size(), true);
    Random source(seed);
    std::vector<Layout> inputs, outputs;
    for (const RandomInput &in : random.inputs)
      inputs.push_back(Operand(source, in.dtype, in.shape, false).view().layout);
    loop::Program program;
    try {
      inputs = reference::with_lets(typed, inputs);
      kernel::add_windows(typed, inputs);
      const plan::Resolved resolved = plan::resolve(typed, inputs, wanted);
      for (const auto &shape : resolved.output_shapes) outputs.push_back(contiguous_layout(shape));
      program = plan::make_plan(typed, resolved, inputs, outputs, wanted, {.threads = 4}).program;
    } catch (const ShapeError &) {
      continue;
    } catch (const DataError &) { // some cases are wrong on purpose
      continue;
    }
    ++planned;
    const std::string text = loop::write(program);
    INFO("seed " << seed << "\n" << random.text << text);
    const loop::Program again = loop::parse(text);
    CHECK(loop::key(again) == loop::key(program));
    CHECK(loop::write(again) == text);
  }
  CHECK(planned > count / 2);
}

} // namespace
} // namespace broadloom::differential

// Random kernels some of whose inputs are frozen: the bits are those of the kernel itself.
#include "case.hpp"
#include "random_data.hpp"
#include "random_spec.hpp"
#include "same_bits.hpp"

#include <doctest/doctest.h>

#include <set>

namespace broadloom::differential {
namespace {

TEST_CASE("random kernels have the same bits with frozen parameters") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count) / 2;
  std::uint64_t frozen = 0, computed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomSpec random = random_spec(seed);
    if (random.text.find("relaxed = on") != random.text.npos) continue; // rounds as it likes
    Random source(seed);
    std::set<std::string> names;
    for (const RandomInput &in : random.inputs)
      if (source.chance(60)) names.insert(in.name);
    const std::string text = with_parameters(random.text, names);
    std::vector<Array> arrays;
    for (const RandomInput &in : random.inputs) {
      Operand operand(source, in.dtype, in.shape, false);
      operand.fill(source, false);
      const AnyView view = operand.view();
      arrays.push_back(Array(std::shared_ptr<void>(), view.dtype, view.data, view.layout).copy());
    }
    std::vector<NamedView> all, parameters, others;
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const NamedView view{random.inputs[k].name, arrays[k]};
      all.push_back(view);
      (names.count(random.inputs[k].name) != 0 ? parameters : others).push_back(view);
    }
    INFO("seed " << seed << "\n" << text);
    const Options options{.threads = 1,
                          .engine = seed % 4 == 0 ? Engine::automatic : Engine::interpreter};
    std::optional<Results> whole;
    const Kernel kernel = compile(parse(text), options);
    try {
      whole = kernel.call(all);
    } catch (const ShapeError &) {
      continue;
    } catch (const DataError &) { // some cases are wrong on purpose
      continue;
    }
    const Kernel rest = kernel.freeze(parameters);
    const std::string left = print(rest.spec());
    INFO(left);
    CHECK(print(parse(left)) == left);
    ++frozen;
    computed += left != print(kernel.spec());
    const Results results = rest.call(others);
    REQUIRE(results.size() == whole->size());
    for (std::size_t k = 0; k < results.size(); ++k) CHECK(same_bits(results[k], (*whole)[k]));
  }
  MESSAGE(frozen << " frozen, of " << computed << " something is computed once");
  CHECK(frozen > count / 2);
  CHECK(computed > count / 10);
}

} // namespace
} // namespace broadloom::differential

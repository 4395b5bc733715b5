// The tree of a fold follows from what it reads, and not from what is computed, stored or chosen
// beside it.
#include "all_engines.hpp"

#include <cmath>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

Array fractions(std::vector<std::int64_t> shape) {
  Array array(DType::F64, shape);
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<double>()[k] = 1.3 + std::sin(double(k));
  return array;
}

} // namespace

// Sixteen of its rows go side by side if they lie so in x; that the rows of w do not is nothing to
// it.
TEST_CASE("a scan of numbers with exponents has the same bits whatever is computed beside it") {
  const LoopSpec derived =
      gradient(parse("kernel k { in x : f64[i, j, n]; out y = prod(x, n) }"), {"x"});
  std::string text = print(derived);
  text.insert(text.find("  let "), "  in w : f64[i, j]\n  out q = d_y * w\n");
  const Array x = fractions({8, 8, 300}), d_y = fractions({8, 8}), w = fractions({8, 8});
  const Array turned = fractions({8, 8}).transposed();
  for (const Engine engine : {Engine::interpreter, Engine::jit}) {
    const std::vector<NamedView> alone{{"x", x}, {"d_y", d_y}};
    const auto expected = bytes(compile(derived, with(engine)).call(alone)["d_x"]);
    for (const Array &other : {w, turned}) {
      std::vector<NamedView> in = alone;
      in.push_back({"w", other});
      CHECK(bytes(compile(parse(text), with(engine)).call(in)["d_x"]) == expected);
    }
  }
}

// Folds of two operands' rows side by side. tests/nests/dot_products.loop holds native code against
// the interpreter.
#include "tests/unit/native_runs.hpp"
#include "tests/unit/nests.hpp"

#include "jit/show/why.hpp"

#include <broadloom/broadloom.hpp>

#include <algorithm>
#include <array>

namespace broadloom::jit {
namespace {

TEST_CASE("folds along the rows of both operands share what they load") {
  const loop::Program program = loop::test::nest("dot_products.loop"); // f64 of f32
  const block::Run wide = blocks_of(program, find_target("x86-64-v4")).phases[0].runs.at(0);
  CHECK(wide.shape == block::Shape::FoldTile);
  CHECK(wide.whole().dims[0].count == 2);
  CHECK(wide.whole().dims[1].count == 3);
  // Two folds of 32 ways in f64 would fill all of 16 registers.
  const block::Run narrow = blocks_of(program, find_target("x86-64-v3")).phases[0].runs.at(0);
  CHECK(narrow.shape == block::Shape::Turns);
}

TEST_CASE("where nothing is shared folds go one by one") {
  const LoopSpec spec = parse("kernel k { in a : f32[i, j, k]; in b : f32[i, j, k]\n"
                              "  out c = sum(a * b, k) }");
  const Array a(f32, {6, 8, 100}), b(f32, {6, 8, 100});
  const Kernel kernel = compile(spec);
  kernel({{"a", a}, {"b", b}});
  CHECK(std::ranges::none_of(kernel.why(), [](const Decision &decision) {
    return decision.text.find("what folds share") != std::string::npos;
  }));
}

TEST_CASE("products of rows have the interpreter's bits in any layout, on any number of threads") {
  const LoopSpec spec = parse("kernel k { in a : f32[i, k]; in b : f32[j, k]; in w : f32[i]\n"
                              "  let t = w * 2\n"
                              "  out c[i, j] = sum(a * b, k, acc=f32) + t\n"
                              "  out d[i, j] = sum((a - b)^2, k, acc=f32) }");
  std::vector<float> data(20000);
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = float(k * 7919 % 251) / 251 - 0.5f;
  for (const auto &[rows, columns, steps] :
       {std::array<std::int64_t, 3>{7, 9, 70}, {2, 4, 64}, {1, 5, 33}, {5, 1, 33}, {9, 13, 200}})
    for (const std::int64_t gap : {0, 3}) {
      CAPTURE(rows);
      CAPTURE(columns);
      CAPTURE(steps);
      const auto run = [&, rows = rows, columns = columns, steps = steps](Engine engine,
                                                                          int threads) {
        Options options;
        options.engine = engine;
        options.threads = threads;
        const Results r = compile(spec, options)(
            {{"a", View<const float>(data.data(), {rows, steps}, {steps + gap, 1})},
             {"b", View<const float>(data.data() + 5001, {columns, steps}, {steps + 2 * gap, 1})},
             {"w", View<const float>(data.data() + 9000, {rows})}});
        std::vector<float> all;
        for (const char *name : {"c", "d"}) {
          const float *values = r[name].data<float>();
          all.insert(all.end(), values, values + rows * columns);
        }
        return all;
      };
      const std::vector<float> told = run(Engine::interpreter, 1);
      CHECK(run(Engine::automatic, 1) == told);
      CHECK(run(Engine::automatic, 2) == told);
    }
}

} // namespace
} // namespace broadloom::jit

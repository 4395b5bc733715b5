// Rows of a product in one group of lanes. tests/nests/product.loop holds native code against the
// interpreter.
#include "tests/unit/native_runs.hpp"
#include "tests/unit/nests.hpp"

#include "jit/show/why.hpp"

#include <broadloom/broadloom.hpp>

namespace broadloom::jit {
namespace {

using jit::targets_here;

TEST_CASE("a product of matrices runs in blocks of rows") {
  for (const std::string &target : targets_here()) {
    const block::Program blocks = blocks_of(loop::test::nest("product.loop"), find_target(target));
    const block::Run &rows = blocks.phases[0].runs.at(0);
    CHECK(rows.shape == block::Shape::RowTile);
    CHECK(rows.whole().count(block::As::Copies) == 4);
  }
}

TEST_CASE("a large product has the interpreter's bits on any number of threads") {
  const std::int64_t rows = 7, columns = 530, steps = 520; // b is larger than 1 MB
  std::vector<float> a(std::size_t(rows * steps)), b(std::size_t(steps * columns));
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = float(k % 251) / 251;
  for (std::size_t k = 0; k < b.size(); ++k) b[k] = float(k % 241) / 241 - 0.5f;
  const LoopSpec spec = parse("kernel k { in a : f32[i, k]; in b : f32[k, j]\n"
                              "  out c[i, j] = sum(a * b, k) }");
  const auto run = [&](Engine engine, int threads) {
    Options options;
    options.engine = engine;
    options.threads = threads;
    const Results r =
        compile(spec, options)({{"a", View<const float>(a.data(), {rows, steps})},
                                {"b", View<const float>(b.data(), {steps, columns})}});
    const float *c = r["c"].data<float>();
    return std::vector<float>(c, c + rows * columns);
  };
  const std::vector<float> told = run(Engine::interpreter, 1);
  CHECK(run(Engine::automatic, 1) == told);
  CHECK(run(Engine::automatic, 2) == told);
}

TEST_CASE("a product of bools has tiles of many lanes, and its last columns go row by row") {
  const LoopSpec spec = parse("kernel k { in a : f64[i, k]; in b : f64[k, j]\n"
                              "  out c[i, j] = any(a == b, k) }");
  std::vector<double> data(70 * 70);
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = double(k * 7919 % 13);
  const auto run = [&](Engine engine) {
    Options options;
    options.engine = engine;
    const Results r = compile(spec, options)({{"a", View<const double>(data.data(), {70, 70})},
                                              {"b", View<const double>(data.data(), {70, 70})}});
    const bool *c = r["c"].data<bool>();
    return std::vector<bool>(c, c + 70 * 70);
  };
  CHECK(run(Engine::jit) == run(Engine::interpreter));
}

} // namespace
} // namespace broadloom::jit

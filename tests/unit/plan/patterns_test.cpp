// Patterns, not shapes: how many programs a kernel comes to for all the layouts it is called with.
#include "tests/unit/native_runs.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace broadloom {
namespace {

Options with(Engine engine) { return {.threads = 1, .engine = engine}; }

std::string dims(int rank) {
  std::string text;
  for (int d = 0; d < rank; ++d) text += d == 0 ? "[:" : ", :";
  return rank == 0 ? "" : text + "]";
}

// d = g folded to the shape of x: what broadcasting x to the shape of g needs backwards.
Kernel folding_kernel(int rank, Engine engine) {
  return compile(parse("kernel k { in g : f32" + dims(rank) + "; in x : f32" + dims(rank) +
                       "; out d = sum(g, like=x) }"),
                 with(engine));
}

// g of these extents holds 0, 1, 2, ..; x has extent 1 where `bits` has a 1. Small whole numbers:
// exact.
bool folds_right(const Kernel &kernel, const std::vector<std::int64_t> &extents, unsigned bits) {
  std::vector<std::int64_t> shape = extents;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (bits >> d & 1) shape[d] = 1;
  Array g(f32, extents), x(f32, shape), expected(f32, shape);
  std::iota(g.data<float>(), g.data<float>() + g.size(), 0.0f);
  for (std::int64_t k = 0; k < g.size(); ++k) {
    std::int64_t rest = k, at = 0, step = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
      const std::int64_t index = rest % extents[d];
      rest /= extents[d];
      if (shape[d] != 1) at += index * step;
      step *= shape[d];
    }
    expected.data<float>()[at] += float(k);
  }
  const Results results = kernel({{"g", g}, {"x", x}});
  return std::memcmp(results["d"].raw(), expected.raw(), std::size_t(expected.size()) * 4) == 0;
}

} // namespace

TEST_CASE("Folding an operand of n dims over any of its axes takes at most 2n patterns") {
  const std::vector<std::int64_t> extents{3, 2, 4, 2, 3, 2};
  for (int rank = 1; rank <= 6; ++rank) {
    CAPTURE(rank);
    const Kernel kernel = folding_kernel(rank, Engine::interpreter);
    for (unsigned bits = 0; bits < 1u << rank; ++bits) {
      CAPTURE(bits);
      CHECK(folds_right(kernel, {extents.begin(), extents.begin() + rank}, bits));
    }
    CHECK(kernel.counters().patterns <= 2 * rank);
  }
}

TEST_CASE("Folding an operand of 4 dims over any of its axes is compiled at most 8 times") {
  const Kernel kernel = folding_kernel(4, Engine::jit);
  for (int turn = 0; turn < 2; ++turn)
    for (unsigned bits = 0; bits < 16; ++bits)
      CHECK(folds_right(kernel,
                        turn == 0 ? std::vector<std::int64_t>{3, 2, 4, 2}
                                  : std::vector<std::int64_t>{2, 5, 3, 7},
                        bits));
  CHECK(kernel.counters().compiles <= 8);
}

TEST_CASE("One compile serves ten shapes of a kernel of mixed modes") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[i, j]; in y : f32[i]\n"
                                      "out z = x * y + 1; out s = accumulate(sum) x * y\n"
                                      "out c[j] = reduce(max) x * y; out n = x / sum(x, j) }"),
                                with(Engine::jit));
  for (int n = 2; n < 12; ++n) {
    Array x(f32, {n, 13 - n}), y(f32, {n});
    for (int k = 0; k < n * (13 - n); ++k) x.data<float>()[k] = 1;
    y.data<float>()[n - 1] = 2;
    const Results results = kernel({{"x", x}, {"y", y}});
    CHECK(results["s"].data<float>()[n - 1] == 2 * (13 - n));
    CHECK(results["c"].data<float>()[0] == 2);
  }
  CHECK(kernel.counters().compiles == 1);
}

TEST_CASE("Dims of size 1 fold into the pattern of their neighbours") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[:, :, :]; out z = x * 2 }"), with(Engine::interpreter));
  for (const std::vector<std::int64_t> &shape : std::vector<std::vector<std::int64_t>>{
           {2, 3, 4}, {1, 3, 4}, {2, 1, 4}, {2, 3, 1}, {1, 1, 4}, {24, 1, 1}})
    kernel({{"x", Array(f32, shape)}});
  CHECK(kernel.counters().patterns == 1); // one loop over all elements
}

TEST_CASE("A kernel keeps 64 patterns and few generic ones, and goes on giving right answers") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[:, :, :, :]; in y : f32[:, :, :, :]\n"
                                      "in w : f32[:, :, :, :]; out z = x * 2 - y + w }"),
                                with(Engine::interpreter));
  const auto counting = [](unsigned bits) { // extent 1 for each 1
    std::vector<std::int64_t> shape;
    for (int d = 0; d < 4; ++d) shape.push_back(bits >> d & 1 ? 1 : 3);
    Array array(f32, shape);
    std::iota(array.data<float>(), array.data<float>() + array.size(), 1.0f);
    return array;
  };
  for (int turn = 0; turn < 2; ++turn)
    for (unsigned bits = 0; bits < 256; ++bits) {
      const Array x = counting(0), y = counting(bits & 15), w = counting(bits >> 4);
      const Results results = kernel({{"x", x}, {"y", y}, {"w", w}});
      CHECK(results["z"].data<float>()[0] == 2);
      CHECK(results["z"].data<float>()[80] == float(162 - y.size() + w.size()));
    }
  CHECK(kernel.counters().patterns > 64); // the generic ones
  CHECK(kernel.counters().patterns <= 72);
}

TEST_CASE("A dim of size 1 met at run time picks another pattern and is never read past") {
  for (const Engine engine : {Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(parse("kernel k { in x : f32[:, :]; in y : f32[:, :]; out z = x "
                                        "+ y; out s = sum(x * y, 1) }"),
                                  with(engine));
    for (const bool at_end : {true, false})
      for (const auto &[rows, columns] :
           std::vector<std::pair<int, int>>{{9, 37}, {1, 37}, {9, 1}, {1, 1}}) {
        const int these_rows = rows, these_columns = columns;
        CAPTURE(these_rows);
        CAPTURE(these_columns);
        const loop::test::Guarded x(9 * 37 * 4, at_end), y(std::size_t(rows * columns) * 4, at_end);
        const loop::test::Guarded z(9 * 37 * 4, at_end), s(9 * 4, at_end);
        auto *xs = reinterpret_cast<float *>(x.data()), *ys = reinterpret_cast<float *>(y.data());
        for (int k = 0; k < 9 * 37; ++k) xs[k] = 1;
        for (int k = 0; k < rows * columns; ++k) ys[k] = float(k);
        kernel.run({View<const float>(xs, {9, 37}), View<const float>(ys, {rows, columns})},
                   {View<float>(reinterpret_cast<float *>(z.data()), {9, 37}),
                    View<float>(reinterpret_cast<float *>(s.data()), {9})});
        const float last = float(rows * columns - 1);
        CHECK(reinterpret_cast<float *>(z.data())[9 * 37 - 1] == 1 + last);
        CHECK(reinterpret_cast<float *>(s.data())[8] ==
              (columns == 1 ? 37 * last : 37 * (last - 18)));
      }
    CHECK(kernel.counters().patterns == 4);
  }
}

} // namespace broadloom

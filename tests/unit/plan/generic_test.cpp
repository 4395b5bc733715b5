// Generic plans: what serves a kernel that has compiled as many patterns as it keeps.
#include "analysis/analyse.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace broadloom {
namespace {

// Kernels that are compiled while it lives keep so many patterns.
class PatternsKept {
public:
  explicit PatternsKept(const std::string &count) {
    setenv("BROADLOOM_PATTERNS", count.c_str(), 1);
  }
  ~PatternsKept() { unsetenv("BROADLOOM_PATTERNS"); }
};

std::string dims(int rank) {
  std::string text = "[:";
  for (int d = 1; d < rank; ++d) text += ", :";
  return text + "]";
}

std::string two_operands(int rank, const std::string &rest) {
  return "kernel k { in x : f64" + dims(rank) + "; in y : f64" + dims(rank) + "; " + rest + " }";
}

using Shape = std::vector<std::int64_t>;

// Sums of them in different orders differ.
Array numbers(const Shape &shape, int seed) {
  Array array(f64, shape);
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<double>()[k] = double((k * 7919 + seed * 31) % 1009) / 37 - 11.3f;
  return array;
}

bool equal_bytes(const Array &a, const Array &b) {
  return a.size() == b.size() &&
         std::memcmp(a.raw(), b.raw(), std::size_t(a.size()) * size_of(a.dtype())) == 0;
}

// Of each dim of x and y, both are full or one of them is 1: 3^rank pairs.
std::vector<std::pair<Shape, Shape>> all_shapes(const Shape &full) {
  std::vector<std::pair<Shape, Shape>> all{{{}, {}}};
  for (std::int64_t extent : full) {
    std::vector<std::pair<Shape, Shape>> longer;
    for (auto [x, y] : all)
      for (const auto &[a, b] :
           {std::pair{extent, extent}, {std::int64_t(1), extent}, {extent, 1}}) {
        longer.push_back({x, y});
        longer.back().first.push_back(a);
        longer.back().second.push_back(b);
      }
    all = std::move(longer);
  }
  return all;
}

// Runs all shapes on `kernel`, and holds what it gives against the interpreter by exact plans.
void check_shapes(const Kernel &kernel, const LoopSpec &spec, const Shape &full) {
  setenv("BROADLOOM_PATTERNS", "1000000", 1);
  const Kernel exact = compile(spec, {.threads = 1, .engine = Engine::interpreter});
  unsetenv("BROADLOOM_PATTERNS");
  for (const auto &[a, b] : all_shapes(full)) {
    const Array x = numbers(a, 1), y = numbers(b, 2), d_z = numbers(full, 3);
    std::vector<NamedView> in{{"x", x}, {"y", y}};
    if (kernel.inputs().size() > 2) in.push_back({"d_z", d_z});
    const Results expected = exact.call(in), got = kernel.call(in);
    for (std::size_t o = 0; o < got.size(); ++o) CHECK(equal_bytes(got[o], expected[o]));
  }
}

bool served_generically(const Kernel &kernel) {
  for (const Decision &decision : kernel.why())
    if (decision.code == "pattern-generic") return true;
  return false;
}

std::int64_t generic_programs(const std::string &text, const Shape &full) {
  const PatternsKept none("0");
  const LoopSpec spec = parse(text);
  const Kernel kernel = compile(spec, {.threads = 2, .engine = Engine::interpreter});
  check_shapes(kernel, spec, full);
  return kernel.counters().patterns;
}

} // namespace

TEST_CASE(
    "Two operands of six dims in all 729 shapes of size-1 dims take few more than 64 compiles") {
  const Shape full{3, 2, 4, 2, 3, 5};
  const LoopSpec spec = parse(two_operands(6, "out z = x * y + x"));
  const Kernel kernel = compile(spec, {.threads = 1, .engine = Engine::jit});
  check_shapes(kernel, spec, full);
  CHECK(kernel.counters().compiles > 60);
  CHECK(kernel.counters().compiles <= 68);
  const std::int64_t before = kernel.counters().compiles;
  check_shapes(kernel, spec, full);
  CHECK(kernel.counters().compiles == before);
}

TEST_CASE("The gradients of a product of two operands of six dims have few generic programs") {
  const LoopSpec product = parse(two_operands(6, "out z = x * y"));
  const LoopSpec spec = gradient(product, {"x", "y"});
  const PatternsKept none("0");
  const Kernel kernel = compile(spec, {.threads = 1, .engine = Engine::interpreter});
  check_shapes(kernel, spec, {2, 2, 3, 2, 2, 3});
  CHECK(kernel.counters().patterns <= 6);
}

TEST_CASE("A generic program has the bits of the exact one, whatever is folded and nested") {
  const Shape full{5, 4, 140};
  CHECK(generic_programs(two_operands(3, "out d = sum(x * y, like=y)"), full) <= 4);
  CHECK(generic_programs(two_operands(3, "out m = x - mean(x, 1) + y; out t = sum(x * y)"), full) <=
        16);
  CHECK(generic_programs(
            two_operands(3, "out n = exp(x - max(x, 2)) / sum(exp(x - max(x, 2)), 2) * y"), full) <=
        16);
  CHECK(generic_programs(two_operands(3, "out v = var(x * y, 0); out l = logsumexp(y, like=x)"),
                         full) <= 16);
  CHECK(generic_programs(two_operands(3, "out s = sum(mean(x, 0) * sum(y, like=x), 1)"), full) <=
        32);
}

TEST_CASE(
    "A fold over nothing steps once in the lanes of a generic program, signs of zeros included") {
  const PatternsKept none("0");
  const Kernel kernel =
      compile(parse(two_operands(2, "out d = sum(x, like=y); out p = prod(x, like=y)")),
              {.threads = 1, .engine = Engine::jit});
  Array x(f64, {3, 20}), y(f64, {3, 20});
  for (std::int64_t k = 0; k < x.size(); ++k) x.data<double>()[k] = -0.0;
  const Results results = kernel({{"x", x}, {"y", y}});
  CHECK(served_generically(kernel));
  CHECK(!std::signbit(results["d"].data<double>()[7]));
  CHECK(std::signbit(results["p"].data<double>()[7]));
}

TEST_CASE("A generic program is a text that is read again") {
  const spec::TypedSpec spec = analysis::analyse(
      parse(two_operands(3, "out z = x - mean(x, 1); out d = sum(x * y, like=y)")).data());
  const std::vector<Layout> inputs{contiguous_layout(Shape{5, 1, 70}),
                                   contiguous_layout(Shape{5, 4, 1})},
      outputs{contiguous_layout(Shape{5, 1, 70}), contiguous_layout(Shape{5, 4, 1})};
  const std::vector<bool> wanted{true, true};
  const loop::Program program =
      plan::make_plan(spec, plan::resolve(spec, inputs, wanted), inputs, outputs, wanted, {}, false,
                      plan::Generality::Generic)
          .program;
  CHECK(loop::key(loop::parse(loop::write(program))) == loop::key(program));
}

TEST_CASE("A bound call has a pattern of its own") {
  const PatternsKept none("0");
  const Kernel kernel =
      compile(parse(two_operands(2, "out z = x * y")), {.threads = 1, .engine = Engine::jit});
  Array x = numbers({3, 20}, 1), y = numbers({3, 1}, 2), z(f64, {3, 20});
  kernel({{"x", x}, {"y", y}});
  CHECK(served_generically(kernel));
  const std::vector<AnyView> in{x, y}, out{z};
  const BoundCall bound = kernel.bind(in, out);
  CHECK(!served_generically(kernel));
  bound();
  CHECK(z.data<double>()[45] == x.data<double>()[45] * y.data<double>()[2]);
  kernel({{"x", x}, {"y", y}}); // the layouts are known by that pattern now
  CHECK(!served_generically(kernel));
}

TEST_CASE("Kernels with scans, positions, ordered folds or schedules have no generic plan") {
  const auto has = [](const std::string &text) {
    return plan::has_generic(analysis::analyse(parse(text).data()));
  };
  CHECK(has(two_operands(2, "out z = x + sum(y, 1)")));
  CHECK(!has(two_operands(2, "out z = scan(sum, x, 1) + y")));
  CHECK(!has(two_operands(2, "out z = x + iota(1) + y")));
  CHECK(!has("accumulator damped(a; m) { init a = 0; step a = 0.5*a + m }\n" +
             two_operands(2, "out z = y + damped(x, 1)")));
  CHECK(!has("kernel k { in x : f64[i, j]; out z = x * 2; schedule { vector i } }"));
  CHECK(!has("kernel k { in x : f64[i, j]; out z = x * 2; schedule { stream z } }"));
}

TEST_CASE("A kernel without a generic plan keeps its latest patterns, as many as it may") {
  const PatternsKept three("3");
  const Kernel kernel = compile(parse(two_operands(4, "out z = scan(sum, x * y, 0)")),
                                {.threads = 1, .engine = Engine::interpreter});
  for (const auto &[a, b] : all_shapes({2, 3, 2, 3}))
    kernel({{"x", numbers(a, 1)}, {"y", numbers(b, 2)}});
  CHECK(kernel.counters().patterns == 3);
}

} // namespace broadloom

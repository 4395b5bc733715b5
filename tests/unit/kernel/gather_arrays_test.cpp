// Gathers of lets that are arrays and of paddings, and sums through them: what one kernel made of
// several does.
#include "jit/call/kernel.hpp"

#include <broadloom/broadloom.hpp>
#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

namespace broadloom {
namespace {

using Numbers = std::vector<double>;

Array counting(std::int64_t count) {
  Array made(f64, {count});
  std::iota(made.data<double>(), made.data<double>() + count, 0.0);
  return made;
}

Array index(const std::vector<std::int32_t> &elements) {
  Array made(i32, {std::int64_t(elements.size())});
  std::memcpy(made.raw(), elements.data(), elements.size() * sizeof(std::int32_t));
  return made;
}

Numbers numbers(const Array &array) {
  const Array copy = array.copy();
  return {copy.data<double>(), copy.data<double>() + copy.size()};
}

const Array x5 = counting(5), e4 = counting(4), k4 = index({3, 2, 1, 0}), q3 = index({1, 1, 4});

// Output y of all engines, called, bound and after `prepare`.
Numbers value(const std::string &body, std::vector<NamedView> inputs) {
  std::optional<Numbers> all;
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    const Kernel kernel =
        compile(parse("kernel k { " + body + " }"), {.threads = 2, .engine = engine});
    kernel.prepare_named(inputs);
    const Array called = kernel.call(inputs)["y"];
    const auto shape = called.shape();
    Array y(f64, std::vector<std::int64_t>(shape.begin(), shape.end()));
    const BoundCall bound = kernel.bind_named(inputs, std::vector<NamedView>{{"y", y}});
    bound();
    bound();
    CHECK(numbers(y) == numbers(called));
    if (all) CHECK(numbers(called) == *all);
    all = numbers(called);
  }
  return *all;
}

} // namespace

TEST_CASE("a let that is an array is read by an index, and holds gathers and sums through them") {
  const std::vector<NamedView> xk{{"x", x5}, {"k", k4}}, xke{{"x", x5}, {"k", k4}, {"e", e4}};
  CHECK(value("in x : f64[:]; in k : i32[:]; let h = x[p] * 10; out y = h[k[i]]", xk) ==
        Numbers{30, 20, 10, 0});
  CHECK(value("in x : f64[:]; in k : i32[:]; let h = x[k[i]]; out y = pad(h, 0: (1, 1), edge)[p]",
              xk) == Numbers{3, 3, 2, 1, 0, 0});
  CHECK(value("in x : f64[:]; in k : i32[:]; in e : f64[i]; let h = sum(e, like=x[k[i]]); "
              "out y = h[p + 1] - h[p]",
              xke) == Numbers{-1, -1, -1, 0});
  CHECK(value("in x : f64[:]; in k : i32[:]; in e : f64[i]; let h = sum(e, like=x[k[i]]); "
              "let g = h[p + 1] + h[p]; out y = sum(g[k[i]] + e, like=g[k[i]])",
              xke) == Numbers{8, 5, 2, 0});
  CHECK(value("in x : f64[:]; in k : i32[:]; in e : f64[:]; let h = e[i] * 2; "
              "out y = sum(h[i + 1] + 1, like=x[clip(k[i])])",
              xke) == Numbers{0, 7, 5, 3, 0});
}

TEST_CASE("what an output at positions adds may be read of lets that are arrays") {
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(
        parse(
            "kernel k { in k : i32[:]; in e : f64[:]; let h = e[i] * 2; out y[k[p]] += h[p + 1] }"),
        {.engine = engine});
    CHECK(kernel.inputs().size() == 2);
    Array y = counting(6);
    kernel.run({{"k", q3}, {"e", e4}}, {{"y", y}});
    CHECK(numbers(y) == Numbers{0, 1 + 2 + 4, 2, 3, 4 + 6, 5});
    const BoundCall bound = kernel.bind({{"k", q3}, {"e", e4}}, {{"y", y}});
    bound();
    CHECK(numbers(y) == Numbers{0, 13, 2, 3, 16, 5});
    CHECK(kernel.show(Stage::loop).find("# let h") != std::string::npos);
  }
}

TEST_CASE("an index says positions in a padded array, and may be padded itself") {
  const std::vector<NamedView> xk{{"x", x5}, {"k", k4}}, xke{{"x", x5}, {"k", k4}, {"e", e4}};
  const std::string in = "in x : f64[:]; in k : i32[:]; ";
  CHECK(value(in + "out y = pad(x, 0: (2, 1), wrap)[k[i]]", xk) == Numbers{1, 0, 4, 3});
  CHECK(value(in + "out y = pad(x, 0: (2, 1), 7)[clip(2*k[i] + 1)]", xk) ==
        Numbers{5 + 2, 3, 1, 7});
  CHECK(value(in + "out y = x[pad(k, 0: (1, 1), 4)[i]]", xk) == Numbers{4, 3, 2, 1, 0, 4});
  CHECK(value(in + "in e : f64[i]; out y = sum(e + 1, like=pad(x, 0: (2, 1), wrap)[k[i]])", xke) ==
        Numbers{2, 1, 0, 4, 3});
  CHECK(value(in + "in e : f64[i]; out y = sum(e + 1, like=pad(x, 0: (2, 1), reflect)[k[i]])",
              xke) == Numbers{2, 1 + 3, 4, 0, 0});
  CHECK(value(in + "in e : f64[i]; out y = sum(e + 1, like=pad(x, 0: (2, 1), edge)[k[i]])", xke) ==
        Numbers{2 + 3 + 4, 1, 0, 0, 0});
  CHECK(value(in + "in e : f64[i]; out y = sum(e + 1, like=pad(x, 0: (2, 1))[k[i]])", xke) ==
        Numbers{2, 1, 0, 0, 0});
  try {
    value(in + "out y = pad(x, 0: (2, 1), wrap)[k[i] - 1]", xk);
    CHECK(false);
  } catch (const DataError &error) {
    CHECK(error.code() == "E0315");
  }
}

TEST_CASE("a kernel with gathers is frozen and specialised, with the same bits") {
  const LoopSpec spec = parse("kernel k { param x : f64[p]; param s : f64[p]; in k : i32[i]; "
                              "out y = x[k[i]] + sum(exp(s) * x) }");
  const Array three = counting(5);
  const Kernel kernel = compile(spec);
  const Numbers whole =
      numbers(kernel.call(std::vector<NamedView>{{"x", x5}, {"s", three}, {"k", k4}})["y"]);
  const Kernel frozen = kernel.freeze({{"x", x5}, {"s", three}});
  CHECK(numbers(frozen.call(std::vector<NamedView>{{"k", k4}})["y"]) == whole);
  const LoopSpec fixed = specialise(spec, {{"i", 4}, {"p", 5}});
  CHECK(print(fixed).find("i32[i=4]") != std::string::npos);
  CHECK(print(parse(print(fixed))) == print(fixed));
  CHECK(numbers(compile(fixed).call(
            std::vector<NamedView>{{"x", x5}, {"s", three}, {"k", k4}})["y"]) == whole);
}

} // namespace broadloom

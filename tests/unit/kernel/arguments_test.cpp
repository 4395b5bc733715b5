// What is checked before a call, and told of its arguments.
#include "tests/unit/kernel/calls.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace broadloom;
using namespace broadloom::tests;

TEST_CASE("Every mistake about the arguments is found before a byte is written") {
  const Kernel kernel = compile(scaled_rows(), interpreted);
  const auto x = counting<float>(6), y = counting<float>(2);
  std::vector<float> z(6, -1);
  const View<const float> xv(x.data(), {2, 3}), yv(y.data(), {2});
  const View<float> zv(z.data(), {2, 3});
  const auto code = [&](std::vector<AnyView> inputs, std::vector<AnyView> outputs) {
    const Caught caught = error_of([&] { kernel.run(inputs, outputs); });
    CHECK_FALSE(caught.help.empty());
    return caught.code;
  };
  const auto wrong = counting<double>(6);
  CHECK(code({xv}, {zv}) == "E0308");
  CHECK(code({xv, yv}, {zv, zv}) == "E0308");
  CHECK(code({View<const double>(wrong.data(), {2, 3}), yv}, {zv}) == "E0203");
  CHECK(code({View<const float>(x.data(), {6}), yv}, {zv}) == "E0101");
  CHECK(code({xv, View<const float>(y.data(), {1})}, {zv}) == "E0102");
  CHECK(code({View<const float>(nullptr, {2, 3}), yv}, {zv}) == "E0306");
  CHECK(code({xv, yv}, {View<const float>(z.data(), {2, 3})}) == "E0309");
  CHECK(code({xv, yv}, {View<float>(z.data(), {2, 2})}) == "E0120");
  CHECK(code({xv, yv}, {View<float>(z.data(), {2, 3}, {0, 1})}) == "E0122");
  auto *odd = reinterpret_cast<float *>(reinterpret_cast<char *>(z.data()) + 2);
  CHECK(code({xv, yv}, {View<float>(odd, {2, 2}, {2, 1})}) == "E0120");
  CHECK(code({View<const float>(odd, {2, 2}), yv}, {View<float>(z.data() + 2, {2, 2})}) == "E0310");
  CHECK(z == std::vector<float>(6, -1));
}

TEST_CASE("A dtype that is none is an error, in a view and in an array") {
  const auto none = DType(77);
  double memory[6] = {};
  AnyView odd = View<const double>(memory, {6});
  odd.dtype = none;
  const LoopSpec spec = parse("kernel k { in x : f64[i]; out y = 2 * x }");
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Kernel kernel = compile(spec, with(engine));
    CHECK(error_of([&] { kernel({{"x", odd}}); }).code == "E0212");
    CHECK(error_of([&] { kernel.run({odd}, {View<double>(memory, {6})}); }).code == "E0212");
    CHECK(error_of([&] { (void)kernel.bind({odd}, {View<double>(memory, {6})}); }).code == "E0212");
  }
  CHECK(error_of([&] { (void)Array(none, {6}); }).code == "E0212");
  CHECK(error_of([&] { (void)name(none); }).code == "E0212");
}

TEST_CASE("The same mistakes are found in calls whose layouts are known") {
  for (const Engine engine : {Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(two_outputs(), with(engine));
    auto a = counting<double>(9), z = a, w = a;
    const View<const double> av(a.data(), {8});
    const View<double> zv(z.data(), {8}), wv(w.data(), {8});
    const auto code = [&](std::vector<AnyView> inputs, std::vector<AnyView> outputs) {
      kernel.run({av, av}, {zv, wv});
      const auto before = z;
      const std::string found = error_of([&] { kernel.run(inputs, outputs); }).code;
      CHECK(z == before);
      return found;
    };
    CHECK(code({View<const double>(nullptr, {8}), av}, {zv, wv}) == "E0306");
    CHECK(code({av, av}, {View<const double>(z.data(), {8}), wv}) == "E0309");
    CHECK(code({av, av}, {zv, zv}) == "E0121");
    CHECK(code({av, av}, {zv, View<double>(z.data() + 1, {8})}) == "E0121");
    auto *odd = reinterpret_cast<double *>(reinterpret_cast<char *>(a.data()) + 4);
    CHECK(code({View<const double>(odd, {8}), av}, {zv, wv}) == "E0310");
    CHECK(code({av, av}, {View<double>(odd, {8}), wv}) == "E0310");
    const std::vector<float> narrow(8);
    CHECK(code({av, View<const float>(narrow.data(), {8})}, {zv, wv}) == "E0203");
    CHECK(code({av, View<const double>(a.data(), {4, 2})}, {zv, wv}) == "E0101");
    CHECK(code({av, View<const double>(a.data(), {7})}, {zv, wv}) == "E0102");
    CHECK(code({av, av}, {zv, View<double>(w.data(), {7})}) == "E0120");
    CHECK(code({av, av}, {zv, View<double>(w.data(), {8}, {0})}) == "E0122");
  }
}

TEST_CASE("Calls whose layouts are known take the memory, the strides and the outputs of each") {
  for (const Engine engine : {Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(two_outputs(), with(engine)); // z = a + 1, w = a * b
    const auto a = counting<double>(8), b = counting<double>(16);
    const View<const double> av(a.data(), {4}), bv(b.data(), {4});
    std::vector<double> z(4), w(4);
    const View<double> zv(z.data(), {4}), wv(w.data(), {4});
    std::vector<double> sums(4), products(4), strided(4);
    for (std::size_t k = 0; k < 4; ++k) {
      sums[k] = a[k] + 1;
      products[k] = a[k] * b[k];
      strided[k] = a[k] * b[2 * k];
    }
    kernel.run({av, bv}, {zv, wv});
    REQUIRE(z == sums);
    REQUIRE(w == products);

    auto onto = a; // an output on its input, element by element
    kernel.run({View<const double>(onto.data(), {4}), bv}, {View<double>(onto.data(), {4}), wv});
    CHECK(std::vector(onto.begin(), onto.begin() + 4) == sums);
    CHECK(w == products);

    auto beside = a; // one element further on: as if copied
    kernel.run({View<const double>(beside.data(), {4}), bv},
               {View<double>(beside.data() + 1, {4}), wv});
    CHECK(beside[0] == a[0]);
    CHECK(std::vector(beside.begin() + 1, beside.begin() + 5) == sums);
    CHECK(w == products);

    kernel.run({av, View<const double>(b.data(), {4}, {2})}, {zv, wv});
    CHECK(w == strided);
    std::fill(w.begin(), w.end(), -1);
    kernel.run({{"a", av}, {"b", bv}}, {{"w", wv}}); // z is not wanted
    CHECK(w == products);
  }
}

TEST_CASE("Errors about names list what the kernel declares") {
  const Kernel kernel = compile(two_outputs(), interpreted);
  std::vector<double> a(4), z(4);
  const View<const double> av(a.data(), {4});
  const View<double> zv(z.data(), {4});
  const Caught missing = error_of([&] { kernel.run({{"a", av}}, {{"z", zv}}); });
  CHECK(missing.code == "E0308");
  CHECK(has(missing.message, "'b'"));
  CHECK(has(missing.help, "'a' and 'b'"));
  const Caught unknown = error_of([&] { kernel.run({{"a", av}, {"b", av}}, {{"y", zv}}); });
  CHECK(unknown.code == "E0308");
  CHECK(has(unknown.message, "'y'"));
  CHECK(has(unknown.help, "'z' and 'w'"));
  CHECK(error_of([&] { kernel.run({{"a", av}, {"b", av}, {"a", av}}, {{"z", zv}}); }).code ==
        "E0308");
}

TEST_CASE("Binding checks pointers too") {
  const Kernel kernel = compile(row_sums(), interpreted);
  std::vector<float> s(3);
  CHECK(error_of([&] {
          kernel.bind({View<const float>(nullptr, {3, 4})}, {View<float>(s.data(), {3})});
        }).code == "E0306");
}

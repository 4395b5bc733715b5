// Short operands that are written out along the next axis: see src/plan/repeat.hpp.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

const char *const scaled = "kernel k { in x : f32[h, w, c]; in s : f32[c]; in b : f32[c]\n"
                           "out z = (x - b) * s }";

Array counting(DType dtype, std::initializer_list<std::int64_t> shape) {
  const Array array(dtype, shape);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    if (dtype == f32) array.data<float>()[k] = float(k % 251) * 0.25f - 20;
    if (dtype == u8) array.data<std::uint8_t>()[k] = std::uint8_t(k * 7);
  }
  return array;
}

bool repeats(const Kernel &kernel) {
  const std::vector<Decision> why = kernel.why();
  return std::any_of(why.begin(), why.end(), [](const Decision &decision) {
    return decision.code == "short-operand-repeated";
  });
}

bool equal(const Array &a, const Array &b) {
  const auto bytes = std::size_t(a.size()) * size_of(a.dtype());
  return std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end()) &&
         std::memcmp(a.copy().raw(), b.copy().raw(), bytes) == 0;
}

// What native code, the interpreter and the reference give are the same bits; is something
// repeated?
bool agrees(const std::string &text, const std::vector<Array> &inputs) {
  const LoopSpec spec = parse(text);
  std::vector<NamedView> named;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < inputs.size(); ++k) names.push_back(std::string(1, "xsbm"[k]));
  for (std::size_t k = 0; k < inputs.size(); ++k) named.push_back({names[k], inputs[k]});
  const auto run = [&](Engine engine) { return compile(spec, {.engine = engine}).call(named); };
  const Kernel kernel = compile(spec);
  const Results ours = kernel.call(named);
  for (const Engine engine : {Engine::interpreter, Engine::reference}) {
    const Results theirs = run(engine);
    for (std::size_t k = 0; k < ours.size(); ++k) CHECK(equal(ours[k], theirs[k]));
  }
  return repeats(kernel);
}

} // namespace

TEST_CASE("Operands of three channels are repeated along a row of pixels") {
  CHECK(agrees(scaled, {counting(f32, {40, 33, 3}), counting(f32, {3}), counting(f32, {3})}));
  CHECK(agrees("kernel k { in x : u8[h, w, c]; in s : f32[c]; out z : u8 = x * s }",
               {counting(u8, {40, 33, 3}), counting(f32, {3})}));
}

TEST_CASE("Operands of rows and scalars do not keep channels from being repeated") {
  CHECK(agrees(
      "kernel k { in x : f32[h, w, c]; in s : f32[c]; in b : f32[h]; in m : f32\n"
      "out z = x * s + b * m }",
      {counting(f32, {40, 33, 3}), counting(f32, {3}), counting(f32, {40}), counting(f32, {})}));
}

TEST_CASE("Operands of channels are repeated whatever the order of the axes in memory") {
  const Array x = counting(f32, {3, 33, 40}).transposed();
  CHECK_FALSE(agrees(scaled, {x, counting(f32, {3}), counting(f32, {3})}));
  CHECK(agrees("kernel k { in x : f32[c, w, h]; in s : f32[c]; out z = x * s }",
               {counting(f32, {40, 33, 3}).transposed(), counting(f32, {3})}));
}

TEST_CASE("Nothing is repeated where an operand of pixels has no channels") {
  CHECK_FALSE(agrees("kernel k { in x : f32[h, w, c]; in s : f32[c]; in b : f32[h, w]\n"
                     "out z = x * s + b }",
                     {counting(f32, {40, 33, 3}), counting(f32, {3}), counting(f32, {40, 33})}));
}

TEST_CASE("Nothing is repeated for few rows, for long rows, or beside a fold") {
  const Array s = counting(f32, {3});
  CHECK_FALSE(agrees(scaled, {counting(f32, {4, 33, 3}), s, s}));
  CHECK_FALSE(agrees("kernel k { in x : f32[h, w, c]; in s : f32[c]; out z = x * s }",
                     {counting(f32, {40, 5, 100}), counting(f32, {100})}));
  CHECK_FALSE(agrees("kernel k { in x : f32[h, w, c]; in s : f32[c]\n"
                     "out z = x * s; out t = max(x, c) }",
                     {counting(f32, {40, 33, 3}), s}));
}

TEST_CASE("An operand of few columns is repeated in blocks of rows, the last of which is short") {
  const std::string text = "kernel k { in x : f32[n, c]; in s : f32[c]; out z = x * s }";
  for (const std::int64_t rows : {2048, 2049, 4095, 100'003})
    for (const std::int64_t columns : {2, 3, 8, 63})
      CHECK(agrees(text, {counting(f32, {rows, columns}), counting(f32, {columns})}));
  CHECK_FALSE(agrees(text, {counting(f32, {4095, 64}), counting(f32, {64})}));
  CHECK_FALSE(agrees(text, {counting(f32, {5, 3}), counting(f32, {3})}));
  CHECK_FALSE(agrees(text, {counting(f32, {0, 3}), counting(f32, {3})}));
}

TEST_CASE("Blocks of rows go over all axes that are one for the other operands") {
  const Array s = counting(f32, {3});
  CHECK(agrees("kernel k { in x : u8[h, w, c]; in s : f32[c]; out z : f32 = x * s }",
               {counting(u8, {4, 1000, 3}), s}));
  CHECK(agrees("kernel k { in x : f32[n, c]; in s : f32[c]; in b : f32[c]; in m : f32\n"
               "out z = x * s + b; out t : f64 = x - b * m }",
               {counting(f32, {5000, 3}), s, counting(f32, {3}), counting(f32, {})}));
}

TEST_CASE("Blocks of rows are not made where an operand has gaps or is of rows alone") {
  const Array wide = counting(f32, {5000, 4}), s = counting(f32, {3});
  const View<const float> x(wide.data<float>(), {5000, 3}, {4, 1});
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[n, c]; in s : f32[c]; out z = x * s }"));
  const Array z = kernel({{"x", x}, {"s", s}})["z"];
  CHECK_FALSE(repeats(kernel));
  for (const std::int64_t row : {0, 1, 4999})
    CHECK(z.data<float>()[row * 3 + 2] == wide.data<float>()[row * 4 + 2] * s.data<float>()[2]);
  CHECK_FALSE(
      agrees("kernel k { in x : f32[n, c]; in s : f32[c]; in b : f32[n]\nout z = x * s + b }",
             {counting(f32, {5000, 3}), s, counting(f32, {5000})}));
}

TEST_CASE("Columns are scaled in place in blocks of rows") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[n, c]; in s : f32[c]; out z = x * s }"));
  const Array x = counting(f32, {5000, 3}), s = counting(f32, {3});
  const Array expected = kernel({{"x", x}, {"s", s}})["z"];
  kernel.run({x, s}, {x});
  CHECK(repeats(kernel));
  CHECK(equal(x, expected));
}

TEST_CASE("Channels are scaled in place without a copy of the image") {
  const Kernel kernel = compile(parse(scaled));
  const Array x = counting(f32, {40, 33, 3}), s = counting(f32, {3}), b = counting(f32, {3});
  const Array expected = kernel({{"x", x}, {"s", s}, {"b", b}})["z"];
  kernel.run({x, s, b}, {x});
  CHECK(repeats(kernel));
  CHECK(equal(x, expected));
}

TEST_CASE("An output that lies on a repeated operand does not change what is read") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[h, w, c]; in s : f32[c]\n"
                                      "out z = x * s }"));
  const Array memory = counting(f32, {40, 33, 3}), x = counting(f32, {40, 33, 3});
  const View<const float> s(memory.data<float>() + 1000, {3});
  const Array copy = memory.copy();
  const Array expected =
      kernel({{"x", x}, {"s", View<const float>(copy.data<float>() + 1000, {3})}})["z"];
  kernel.run({x, s}, {memory});
  CHECK(equal(memory, expected));
}

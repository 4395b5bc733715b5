// Large shapes, for which loops run in special ways: every element of every output is written,
// once, by the right row.
//
// Outputs hold a pattern before each call, so that an element that nobody writes shows.
#include "jit/native/target.hpp"
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace broadloom {
namespace {

using Shape = std::vector<std::int64_t>;

struct Input {
  std::string name;
  Array array;
};

Array numbers(DType dtype, const Shape &shape) {
  const Array array(dtype, shape);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    const double value = double(k * 7919 % 1009) / 7 + 1;
    if (dtype == f32) array.data<float>()[k] = float(value);
    if (dtype == f64) array.data<double>()[k] = value;
  }
  return array;
}

// Every second column.
Array stepped(const Array &array) {
  return Array(nullptr, array.dtype(), array.raw(),
               strided_layout(Shape{array.shape()[0], array.shape()[1] / 2},
                              Shape{array.strides()[0], 2 * array.strides()[1]}));
}

// The outputs as bytes, of arrays that held 0x5A before.
std::vector<std::vector<char>> outputs(const LoopSpec &spec, const std::vector<Input> &inputs,
                                       const Options &options) {
  const Kernel kernel = compile(spec, options);
  std::vector<AnyView> given, taken;
  for (const Input &input : inputs) given.push_back(input.array);
  std::vector<std::vector<char>> memory;
  for (const Signature &out : kernel.infer(given)) {
    const Layout layout = contiguous_layout(out.shape);
    memory.emplace_back(std::size_t(element_count(layout)) * size_of(out.dtype), char(0x5A));
    taken.push_back({out.dtype, memory.back().data(), true, layout});
  }
  kernel.run(std::span<const AnyView>(given), std::span<const AnyView>(taken));
  return memory;
}

void agree(const std::string &statements, const std::vector<Input> &inputs) {
  const LoopSpec spec = parse("kernel k {\n" + statements + "\n}");
  const auto told = outputs(spec, inputs, {.threads = 1, .engine = Engine::interpreter});
  for (const std::string &target : jit::targets_here())
    for (const int threads : {1, 2, 3, 7}) {
      INFO(statements, " by ", target, " on ", threads, " threads");
      const auto ours =
          outputs(spec, inputs, {.threads = threads, .target = target, .engine = Engine::jit});
      for (std::size_t k = 0; k < told.size(); ++k) CHECK((ours[k] == told[k]));
    }
}

} // namespace

TEST_CASE("An output of few long rows is written in every chunk of a row") {
  for (const Shape &shape : {Shape{4, 98305}, Shape{2, 130000}, Shape{31, 33000}}) {
    const std::vector<Input> x{{"x", numbers(f32, shape)}};
    agree("in x : f32[i, j]; out p = x + sum(x, j)", x);
    agree("in x : f32[i, j]; out p += x - mean(x, j)", x);
  }
  agree("in x : f64[i, j]; out p = x / sum(x, j); out q = sum(x, i)",
        {{"x", numbers(f64, {6, 66000})}});
}

TEST_CASE("Short rows that a fold over columns holds back are stored by lanes of rows") {
  for (const std::int64_t columns : {2, 3, 10, 32}) {
    const std::vector<Input> x{{"x", numbers(f64, {1000, columns})}};
    agree("in x : f64[i, j]; out q = sum(x, j); out p = x / max(x, i)", x);
    agree("in x : f64[i, j]; out p = (x - mean(x, j)) / std(x)", x);
    agree("in x : f64[i, j]; out p = x - mean(x, j) - mean(x, i) + mean(x)", x);
  }
}

TEST_CASE("Lanes without a row store nothing") {
  for (const std::int64_t rows : {512, 513, 527, 530, 544, 545})
    for (const std::int64_t columns : {6, 8, 34}) {
      const Array y = numbers(f64, {rows, columns});
      const std::string folded = "in y : f64[i, j]; out q = y * 2; out s = sum(sqrt(sum(y, j)))";
      agree(folded, {{"y", y}});
      agree(folded, {{"y", stepped(y)}});
      agree("in y : f64[i, j]; out q += y * 2; out s = sum(sqrt(sum(exp(-y), j)))", {{"y", y}});
    }
}

TEST_CASE("A fold in lanes and a scan keep their tree beside a sweep of the same axis") {
  // The sweep of max(x, i) cuts i into chunks of 128 rows; a leaf of sum(y, i) has 4096, as a block
  // of the scan has.
  const std::vector<Input> given{{"x", numbers(f32, {33, 9000, 65})},
                                 {"y", numbers(f64, {33, 9000})}};
  const auto alone = [&](const std::string &out) {
    return outputs(parse("kernel k {\n in x : f32[k, i, j]; in y : f64[k, i]\n" + out + " }"),
                   given, {.threads = 2})[0];
  };
  const auto beside = [&](const std::string &out) { return alone(out + "\n out m = max(x, i)"); };
  for (const char *out : {"out s = sum(y, i)", "out s = scan(sum, y, i)"}) {
    INFO(std::string(out));
    CHECK((alone(out) == beside(out)));
  }
}

TEST_CASE("A row of short rows finds its lanes whatever else its loops do") {
  const Array x = numbers(f64, {70, 600, 3});
  const auto check = [&](const std::string &axes, const Shape &shape) {
    agree("in x : f64[h, i, j]; in y : f64[" + axes + "]; out p = x + sum(y, l); out q = sum(x, j)",
          {{"x", x}, {"y", numbers(f64, shape)}});
  };
  check("l, h", {40, 70}); // lanes along h
  check("h, l", {70, 40}); // along l
  check("h, i, l", {70, 600, 40});
  check("l, h, i", {40, 70, 600});
}

TEST_CASE("Rows of a product that run together have one position along their lanes") {
  const std::vector<Input> given{{"a", numbers(f32, {37, 520})}, {"b", numbers(f32, {520, 600})}};
  const std::string matrices = "in a : f32[i, k]; in b : f32[k, j]; out c[i, j] = ";
  agree(matrices + "sum(a * b * iota(j), k)", given);
  agree(matrices + "sum(a * b * iota(i), k)", given);
  agree(matrices + "sum(a * b, k) + iota(j) * extent(j)", given);
}

TEST_CASE("A kernel that is verified runs twice and gives the same") {
  const std::vector<Input> x{{"x", numbers(f32, {40, 700})}};
  const LoopSpec spec =
      parse("kernel k { in x : f32[i, j]; out p += x / sum(x, j); out s = sum(x, i)\n"
            "  out r = scan(sum, x, j) }");
  const auto plain = outputs(spec, x, {.threads = 2});
  setenv("BROADLOOM_VERIFY", "1", 1);
  const auto verified = outputs(spec, x, {.threads = 2});
  const Kernel kernel = compile(spec);
  unsetenv("BROADLOOM_VERIFY");
  CHECK((plain == verified));
  kernel({{"x", x[0].array}});
  CHECK(kernel.counters().interpreted == 1);
}

} // namespace broadloom

// Folds of short rows, many at once, and rows and leaves taken several at a time: always the bits
// of the one tree.
#include "tests/unit/native_runs.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

// Values of mixed magnitude, in which a sum in another order would round differently; zeros of both
// signs.
template <class T> void fill(T *at, std::int64_t count) {
  std::uint32_t state = 12345;
  for (std::int64_t k = 0; k < count; ++k) {
    state = state * 1664525u + 1013904223u;
    const double value = std::ldexp(double(state >> 8) - 8e6, int(state & 31) - 20);
    at[k] = k % 7 == 0 ? T(-0.0) : std::is_floating_point_v<T> ? T(value) : T(state >> 8);
  }
}

Array numbers(DType dtype, std::vector<std::int64_t> shape) {
  const Array array(dtype, shape);
  if (dtype == f32) fill(array.data<float>(), array.size());
  if (dtype == f64) fill(array.data<double>(), array.size());
  if (dtype == c64) fill(static_cast<float *>(array.raw()), 2 * array.size());
  if (dtype == u8) fill(array.data<std::uint8_t>(), array.size());
  if (dtype == i32) fill(array.data<std::int32_t>(), array.size());
  if (dtype == i16) fill(array.data<std::int16_t>(), array.size());
  return array;
}

bool equal(const Array &a, const Array &b) {
  const Array x = a.copy(), y = b.copy();
  if (!std::equal(x.shape().begin(), x.shape().end(), y.shape().begin(), y.shape().end()))
    return false;
  const auto same = [&](auto type) { // all NaNs are one
    using T = decltype(type);
    const auto parts = std::size_t(x.size()) * size_of(x.dtype()) / sizeof(T);
    const T *p = static_cast<const T *>(x.raw()), *q = static_cast<const T *>(y.raw());
    return std::equal(p, p + parts, q, [](T a, T b) {
      return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
    });
  };
  if (x.dtype() == f32 || x.dtype() == c64) return same(float());
  if (x.dtype() == f64) return same(double());
  return same(std::uint8_t());
}

// The same bits from both widths of vectors and the interpreter; does `code` tell what was done?
bool agrees(const std::string &text, const std::vector<Array> &inputs, const std::string &code) {
  const LoopSpec spec = parse(text);
  const std::vector<std::string> names{"x", "y"};
  std::vector<NamedView> named;
  for (std::size_t k = 0; k < inputs.size(); ++k) named.push_back({names[k], inputs[k]});
  const Results told = compile(spec, {.engine = Engine::interpreter}).call(named);
  const auto check = [&](const Results &ours, const std::string &who) {
    INFO(text, " by ", who);
    for (std::size_t k = 0; k < told.size(); ++k) CHECK(equal(ours[k], told[k]));
  };
  for (const std::string &target : jit::targets_here())
    for (const int threads : {1, 2})
      check(compile(spec, {.threads = threads, .target = target}).call(named), target);
  const Kernel kernel = compile(spec);
  kernel.call(named);
  const std::vector<Decision> why = kernel.why();
  return std::any_of(why.begin(), why.end(),
                     [&](const Decision &decision) { return decision.code == code; });
}

bool together(const std::string &text, const std::vector<Array> &inputs) {
  return agrees(text, inputs, "short-rows-together");
}

std::string over_rows(const std::string &dtype, const std::string &expression) {
  return "kernel k { in x : " + dtype + "[i, j]\nout s = " + expression + " }";
}

} // namespace

TEST_CASE("Rows of any length up to 32 are folded together with the bits of one tree") {
  for (std::int64_t length = 2; length <= 32; ++length)
    CHECK(together(over_rows("f32", "sum(x, j)"), {numbers(f32, {515, length})}));
  CHECK_FALSE(together(over_rows("f32", "sum(x, j)"), {numbers(f32, {515, 33})}));
  CHECK_FALSE(together(over_rows("f32", "sum(x, j)"), {numbers(f32, {515, 1})}));
  CHECK_FALSE(together(over_rows("f32", "sum(x, j)"), {numbers(f32, {515, 0})}));
}

TEST_CASE("Any number of short rows is folded, in whole and partial groups") {
  for (const std::int64_t rows : {512, 513, 519, 527, 528, 529, 544, 575, 576})
    CHECK(together(over_rows("f32", "sum(x, j)"), {numbers(f32, {rows, 8})}));
  CHECK_FALSE(together(over_rows("f32", "sum(x, j)"), {numbers(f32, {511, 8})}));
}

TEST_CASE("A short row has the same bits among few rows and many") {
  const Array many = numbers(f64, {600, 13}), few(f64, {40, 13});
  std::copy_n(many.data<double>(), few.size(), few.data<double>());
  const Kernel kernel = compile(parse(over_rows("f64", "sum(x, j)")));
  const Results s = kernel({{"x", many}}), t = kernel({{"x", few}});
  CHECK(std::memcmp(s[0].raw(), t[0].raw(), 40 * sizeof(double)) == 0);
}

TEST_CASE("Every accumulator folds short rows") {
  for (const char *expression :
       {"mean(x, j)", "prod(x, j)", "max(x, j)", "min(x, j)", "argmax(x, j)", "var(x, j)",
        "logsumexp(x * 1e-4, j)", "any(x > 0, j)", "all(x > -1e6, j)", "norm(x, j)",
        "sum((x - mean(x, j)) * (x - mean(x, j)), j)", "sum(x, j) + max(x, j) / 2",
        "sum(exp(x * 1e-6) * (j_ + 1), j)"}) {
    std::string text = expression;
    if (const auto at = text.find("j_"); at != text.npos) text.replace(at, 2, "iota(j)");
    for (const std::int64_t length : {3, 8, 13})
      CHECK(together(over_rows("f32", text), {numbers(f32, {531, length})}));
  }
}

TEST_CASE("Short rows of every type are folded together") {
  for (const std::int64_t length : {2, 5, 8, 16, 31}) {
    CHECK(together(over_rows("f64", "sum(x, j)"), {numbers(f64, {518, length})}));
    CHECK(together(over_rows("i32", "sum(x, j)"), {numbers(i32, {518, length})}));
    CHECK(together(over_rows("u8", "sum(x, j)"), {numbers(u8, {518, length})}));
    CHECK(together(over_rows("i16", "max(x, j)"), {numbers(i16, {518, length})}));
    CHECK(together(over_rows("c64", "sum(x, j)"), {numbers(c64, {518, length})}));
    CHECK(together(over_rows("c64", "prod(x, j)"), {numbers(c64, {518, length})}));
  }
}

TEST_CASE("An accumulator whose identity is not neutral meets it as in the tree") {
  const std::string odd = "accumulator odd(s; x) {\n init s = 0.\n step s = s + x\n"
                          " combine s = (s + s_other) * 0.75 }\n";
  for (const std::int64_t length : {2, 8, 11, 32})
    CHECK(together(odd + over_rows("f32", "odd(x, j)"), {numbers(f32, {514, length})}));
  const std::string counting = "accumulator joins(s, n; x) {\n init s = 0., n = 0.\n"
                               " step s = s + EXPR, n = n\n"
                               " combine s = s + s_other, n = n + n_other + 1\n result s + n }\n";
  for (const std::string expression : {"x", "exp(x * 1e-5)"})
    for (const std::int64_t length : {2, 8, 11, 32}) {
      std::string text = counting;
      text.replace(text.find("EXPR"), 4, expression);
      CHECK(together(text + over_rows("f64", "joins(x, j)"), {numbers(f64, {514, length})}));
    }
}

TEST_CASE("Short rows may lie apart, backwards, or along another operand") {
  const Array wide = numbers(f32, {530, 24});
  const auto view = [&](std::int64_t first, std::vector<std::int64_t> shape,
                        std::vector<std::int64_t> strides) {
    return Array(nullptr, f32, wide.data<float>() + first, strided_layout(shape, strides));
  };
  const std::string sum = over_rows("f32", "sum(x, j)");
  CHECK(together(sum, {view(3, {530, 8}, {24, 1})}));
  CHECK(together(sum, {view(529 * 24 + 2, {530, 7}, {-24, 1})}));
  CHECK(together(sum, {view(1, {530, 5}, {24, 3})}));
  CHECK(together(sum, {view(23, {530, 8}, {24, -1})}));
  CHECK(together("kernel k { in x : f32[i, j]; in y : f32[j]\nout s = sum(x * y, j) }",
                 {numbers(f32, {525, 8}), numbers(f32, {8})}));
  CHECK(together("kernel k { in x : f32[i, j]; in y : f32[i]\nout s = sum(x - y, j) * y }",
                 {numbers(f32, {525, 8}), numbers(f32, {525})}));
}

TEST_CASE("Outputs along short rows are written by the lanes that folded them") {
  for (const std::int64_t length : {2, 3, 8, 13, 16, 17, 32})
    for (const std::int64_t rows : {512, 515, 528, 545}) {
      CHECK(together("kernel k { in x : f32[i, j]\nout z = x / sum(x, j) }",
                     {numbers(f32, {rows, length})}));
      CHECK(together("kernel k { in x : f32[i, j]\nlet e = exp(x * 1e-5 - max(x * 1e-5, j))\n"
                     "out z = e / sum(e, j)\nout m = sum(e, j)\nout w = x * 2 }",
                     {numbers(f32, {rows, length})}));
      CHECK(together("kernel k { in x : f32[i, j]; in y : f32[j]\n"
                     "out z = (x - mean(x, j)) / sqrt(var(x, j) + 1e-5) * y }",
                     {numbers(f32, {rows, length}), numbers(f32, {length})}));
    }
}

TEST_CASE("Outputs of every type lie along short rows") {
  for (const std::int64_t length : {3, 8, 17}) {
    CHECK(
        together("kernel k { in x : u8[i, j]\nout z : u8 = x - min(x, j)\nout b = x > mean(x, j) }",
                 {numbers(u8, {519, length})}));
    CHECK(together("kernel k { in x : f64[i, j]\nout z : i16 = floor(x / (1 + norm(x, j)) * 100) }",
                   {numbers(f64, {519, length})}));
    CHECK(together("kernel k { in x : c64[i, j]\nout z = x - sum(x, j)\nout h : f16 = abs(x) / "
                   "norm(abs(x), j) }",
                   {numbers(c64, {519, length})}));
  }
}

TEST_CASE("Outputs along short rows may lie apart or have other strides") {
  const LoopSpec spec = parse("kernel k { in x : f32[i, j]\nout z = x / sum(x, j) }");
  const Array x = numbers(f32, {523, 6});
  const Array told = compile(spec, {.engine = Engine::interpreter})({{"x", x}})[0];
  for (const auto &[first, across, along] :
       {std::array{0, 9, 1}, std::array{522 * 9, -9, 1}, std::array{0, 12, 2},
        std::array{0, 1, 523}, std::array{5, 6, -1}}) {
    std::vector<float> memory(523 * 12 + 12, -1), wanted = memory;
    for (int i = 0; i < 523; ++i)
      for (int j = 0; j < 6; ++j)
        wanted[std::size_t(first + i * across + j * along)] = told.data<float>()[i * 6 + j];
    compile(spec).run({{"x", x}},
                      {{"z", View<float>(memory.data() + first, {523, 6}, {across, along})}});
    CHECK(memory == wanted);
  }
}

TEST_CASE("An output along another axis keeps the lanes along the row") {
  CHECK_FALSE(together("kernel k { in x : f32[i, j]; in y : f32[i, k]\nout z = y / sum(x, j) }",
                       {numbers(f32, {525, 8}), numbers(f32, {525, 70})}));
}

TEST_CASE("Short rows inside longer folds keep their tree") {
  CHECK(together("kernel k { in x : f32[i, k, j]\nout s = sum(x, k, j) }",
                 {numbers(f32, {5, 530, 8}).transposed()}) == false);
  CHECK(together("kernel k { in x : f32[k, i, j]\nout s = sum(x, k, j) }",
                 {numbers(f32, {5, 530, 8})}));
  CHECK(together("kernel k { in x : f32[i, j]\nlet r = sum(x, j)\nout s = sum(r * r, i) }",
                 {numbers(f32, {700, 8})}));
}

TEST_CASE("Nothing outside of short rows is read or written") {
  using loop::test::Guarded;
  for (const std::string &target : jit::targets_here())
    for (const std::int64_t length : {3, 8, 21})
      for (const bool at_end : {true, false}) {
        const std::int64_t rows = 517;
        const Guarded memory(std::size_t(rows * length) * sizeof(float), at_end);
        auto *data = reinterpret_cast<float *>(memory.data());
        fill(data, rows * length);
        const Results s = compile(parse(over_rows("f32", "sum(x, j)")), {.target = target})(
            {{"x", View<const float>(data, {rows, length})}});
        CHECK(std::isfinite(s[0].data<float>()[rows - 1]));
      }
}

TEST_CASE("Narrow columns fold several leaves at a time in the order of the tree") {
  for (const std::int64_t columns : {1, 2, 3, 4, 5, 8, 9, 17})
    for (const std::int64_t rows : {1, 127, 128, 511, 512, 513, 1024, 1290})
      agrees("kernel k { in x : f32[i, j]\nout s = sum(x, i)\nout v = var(x, i) }",
             {numbers(f32, {rows, columns})}, "");
  agrees("kernel k { in x : f32[i, j]\nout s = mean(x, i) }", {numbers(f32, {100000, 3})}, "");
  agrees("kernel k { in x : f64[i, j]\nout s = mean(x, i) }", {numbers(f64, {100003, 8})}, "");
}

TEST_CASE("Rows of states take several rows at a time in the order of the tree") {
  for (const std::int64_t rows : {512, 513, 514, 515, 640})
    for (const std::int64_t columns : {64, 65, 80, 96})
      CHECK(agrees(
          "kernel k { in x : f32[i, j]; in y : f32[i]\nout s = sum(x * y, i)\nout m = max(x, i) }",
          {numbers(f32, {rows, columns}), numbers(f32, {rows})}, "rows-as-they-lie"));
  CHECK(agrees("kernel k { in x : f32[i, j]\nout s = sum(x, i)\nout z = x * 2 }",
               {numbers(f32, {517, 70})}, "rows-as-they-lie"));
}

namespace {
bool written_out(const std::string &text, const std::vector<Array> &inputs) {
  return agrees(text, inputs, "few-positions-folded");
}
} // namespace

TEST_CASE("A fold over few positions, with elements side by side in lanes, is written out with the "
          "bits of its loop") {
  const auto over_columns = [](const std::string &dtype, const std::string &expression) {
    return "kernel k { in x : " + dtype + "[i, j]\nout s = " + expression + " }";
  };
  for (std::int64_t length = 2; length <= 32; ++length)
    CHECK(written_out(over_columns("f32", "sum(x, i)"), {numbers(f32, {length, 521})}));
  CHECK_FALSE(written_out(over_columns("f32", "sum(x, i)"), {numbers(f32, {33, 521})}));
  CHECK_FALSE(written_out(over_columns("f32", "sum(x, i)"), {numbers(f32, {4, 511})}));
  CHECK_FALSE(written_out(over_columns("f32", "sum(x, i)"), {numbers(f32, {1, 521})}));
  for (const char *fold : {"max(x, i)", "var(x, i)", "mean(x*x, i)", "norm(x, i)",
                           "logsumexp(x, i)", "argmin(x, i)", "prod(x, i)", "any(x > 0, i)"}) {
    CHECK(written_out(over_columns("f32", fold), {numbers(f32, {5, 600})}));
    CHECK(written_out(over_columns("f64", fold), {numbers(f64, {8, 600})}));
  }
  CHECK(written_out(over_columns("c64", "prod(x, i)"), {numbers(c64, {7, 600})}));
  CHECK(written_out(over_columns("i16", "sum(x, i)"), {numbers(i16, {6, 777})}));
}

TEST_CASE("Folds over several short axes are written out as the tree has them") {
  for (const std::int64_t rows : {2, 3, 4, 5})
    for (const std::int64_t columns : {2, 3, 6})
      CHECK(written_out("kernel k { in x : f32[u, i, v, j]\nout s = sum(x, u, v) }",
                        {numbers(f32, {rows, 9, columns, 70})}));
  CHECK_FALSE(written_out("kernel k { in x : f32[u, i, v, j]\nout s = sum(x, u, v) }",
                          {numbers(f32, {6, 9, 6, 70})}));
  const Array image = numbers(f32, {2, 11, 12, 68});
  const std::vector<Array> windows{image, numbers(f32, {3, 3, 68})};
  for (const char *acc : {"", ", acc=f32"})
    CHECK(written_out(std::string("kernel k { set relaxed = on\nin x : f32[:, :, :, :]\n"
                                  "in y : f32[u, v, c]\n"
                                  "out s[n, i, j, c] = sum(x[n, i + u, j + v, c] * y, u, v") +
                          acc + ") }",
                      windows));
  CHECK(written_out("kernel k { in x : f32[:, :, :, :]\nin y : f32[a=3, b=2]\n"
                    "out s[n, i, j, c] = max(x[n, 2*i + a, 2*j + b, c], a, b) }",
                    {image, numbers(f32, {3, 2})}));
}

// Small facts of the language that no other test is about, in every engine.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

const std::vector<Engine> engines{Engine::reference, Engine::interpreter, Engine::automatic};

template <class T> Array array_of(std::vector<std::int64_t> shape, const std::vector<T> &values) {
  Array array(dtype_of<T>(), shape);
  for (std::size_t k = 0; k < values.size(); ++k) array.data<T>()[k] = values[k];
  return array;
}

Results run(const std::string &body, const std::vector<NamedView> &inputs, Engine engine) {
  return compile(parse("kernel k {\n" + body + "\n}"), {.threads = 1, .engine = engine})
      .call(inputs);
}

std::vector<std::int64_t> shape_of(const Array &array) {
  return {array.shape().begin(), array.shape().end()};
}

} // namespace

TEST_CASE("Placing by dims comes first, stretching second: 4 by dims(0) and 1 x 2 give 4 x 2") {
  const Array v = array_of<float>({4}, {1, 2, 3, 4}), m = array_of<float>({1, 2}, {10, 20});
  for (const Engine engine : engines) {
    const Results r =
        run("in v : f32[:] dims(0); in m : f32[:, :]; out z = v + m", {{"v", v}, {"m", m}}, engine);
    REQUIRE(shape_of(r["z"]) == std::vector<std::int64_t>{4, 2});
    CHECK(r["z"].data<float>()[0] == 11);
    CHECK(r["z"].data<float>()[7] == 24);
  }
}

TEST_CASE("Order is alignment, not storage: any strides give the same values") {
  const Array x = array_of<double>({2, 3}, {1, 2, 3, 4, 5, 6}), y = array_of<double>({2}, {10, 20});
  const Array flipped = x.transposed().copy().transposed(); // the same values, columns contiguous
  for (const Engine engine : engines)
    for (const Array &operand : {x, flipped}) {
      const Results r =
          run("order c; in x : f64[:, :]; in y : f64[:]; out z = x * y; out s = sum(x, 0)",
              {{"x", operand}, {"y", y}}, engine);
      const Array z = r["z"].copy();
      CHECK(z.data<double>()[1] == 20);
      CHECK(z.data<double>()[5] == 120);
      CHECK(r["s"].data<double>()[2] == 9);
    }
}

TEST_CASE("A folded axis of size 1 still steps once") {
  const Array x = array_of<std::int8_t>({1, 2}, {-5, 7});
  for (const Engine engine : engines) {
    const Results r =
        run("in x : i8[:, :]\nout s = sum(x, 0); out p = prod(x, 0); out a = any(x, 0)\n"
            "out m = mean(x, 0); out g = max(x, 0)",
            {{"x", x}}, engine);
    CHECK(r["s"].dtype() == i64);
    CHECK(r["s"].data<std::int64_t>()[0] == -5);
    CHECK(r["p"].data<std::int64_t>()[1] == 7);
    CHECK(r["a"].data<bool>()[0]);
    CHECK(r["m"].data<double>()[0] == -5);
    CHECK(r["g"].data<std::int8_t>()[1] == 7);
  }
}

TEST_CASE("Folds by min and max propagate NaN and order -0 below +0, wherever they stand") {
  for (const std::int64_t n : {2, 5, 70, 5000})
    for (const std::int64_t at : {std::int64_t(0), n / 2, n - 1})
      for (const Engine engine : engines) {
        CAPTURE(n);
        CAPTURE(at);
        Array x(f64, {n}), y(f64, {n}),
            w(f64, {n}); // all 0 but for one NaN, one -0, one that is not -0
        for (std::int64_t k = 0; k < n; ++k) w.data<double>()[k] = -0.0;
        x.data<double>()[at] = not_a_number;
        y.data<double>()[at] = -0.0;
        w.data<double>()[at] = 0.0;
        const Results r =
            run("in x : f64[i]; in y : f64[i]; in w : f64[i]\nout a = min(x); out b = max(x)\n"
                "out c = min(y); out d = max(y); out e = min(w); out f = max(w)",
                {{"x", x}, {"y", y}, {"w", w}}, engine);
        CHECK(std::isnan(r["a"].data<double>()[0]));
        CHECK(std::isnan(r["b"].data<double>()[0]));
        CHECK(std::signbit(r["c"].data<double>()[0]));
        CHECK_FALSE(std::signbit(r["d"].data<double>()[0]));
        CHECK(std::signbit(r["e"].data<double>()[0]));
        CHECK_FALSE(std::signbit(r["f"].data<double>()[0]));
      }
}

TEST_CASE("A sum of zeros is +0, as in NumPy, whatever their signs") {
  const Array x = array_of<double>({3}, {-0.0, -0.0, -0.0});
  for (const Engine engine : engines)
    CHECK_FALSE(std::signbit(
        run("in x : f64[i]; out s = sum(x)", {{"x", x}}, engine)["s"].data<double>()[0]));
}

TEST_CASE("A product and a sum round twice: nothing is contracted") {
  // x * x is 1 + 2^-26 + 2^-54: the last digit is lost in f64, and would not be in a fused
  // multiply-add.
  const double x = 1 + 0x1p-27;
  const Array a = array_of<double>({20}, std::vector<double>(20, x));
  const Array b = array_of<double>({20}, std::vector<double>(20, -(1 + 0x1p-26)));
  for (const Engine engine : engines) {
    const Results r = run("in a : f64[i]; in b : f64[i]; out z = a * a + b; out y = b - a * -a\n"
                          "out s = sum(a * a + b); out t = sum(a * a) + sum(b)",
                          {{"a", a}, {"b", b}}, engine);
    for (int k = 0; k < 20; ++k) {
      CHECK(r["z"].data<double>()[k] == 0);
      CHECK(r["y"].data<double>()[k] == 0);
    }
    CHECK(r["s"].data<double>()[0] == 0);
    CHECK(r["t"].data<double>()[0] == 0);
  }
}

TEST_CASE("Subnormal numbers are kept, in operands and in results") {
  const Array x = array_of<float>({3}, {1e-40f, -1e-45f, 1.5e-38f});
  for (const Engine engine : engines) {
    const Results r =
        run("in x : f32[i]; out d = x * 2; out h = x / 2; out s = sum(x); out t = x > 0",
            {{"x", x}}, engine);
    CHECK(r["d"].data<float>()[0] == 2 * 1e-40f);
    CHECK(r["h"].data<float>()[2] == 7.5e-39f);
    CHECK(r["s"].data<float>()[0] == float(double(1e-40f) + double(-1e-45f) + double(1.5e-38f)));
    CHECK(r["t"].data<bool>()[0]);
  }
}

TEST_CASE("An infinite difference inside a sum is NaN, an infinite sum is infinite") {
  const Array x = array_of<float>({3}, {float(infinite), 1, float(-infinite)}),
              y = array_of<float>({2}, {3e38f, 3e38f});
  for (const Engine engine : engines) {
    const Results r =
        run("in x : f32[i]; in y : f32[j]; out a = sum(x); out b = sum(y); out c : f64 = sum(y)",
            {{"x", x}, {"y", y}}, engine);
    CHECK(std::isnan(r["a"].data<float>()[0]));
    CHECK(r["b"].data<float>()[0] == float(infinite));
    CHECK(r["c"].data<double>()[0] == 2 * double(3e38f));
  }
}

TEST_CASE("An axis that only brackets name takes no other axis from the input that lends it") {
  const Array x(f64, {4, 3, 2, 5}), z(f64, {3, 2, 5}), u(f64, {4, 3, 5});
  const Array y = array_of<float>({1, 2}, {7, 8});
  for (const Engine engine : engines)
    for (const std::string more : {"", "in u : f64[i, j, l]; "}) {
      std::vector<NamedView> inputs{{"x", x}, {"y", y}, {"z", z}};
      if (!more.empty()) inputs.push_back({"u", u});
      const Results r =
          run("in x : f64[i, j, k, l]; in y : f32[i=1, k]; in z : f64[j, k, l]\n" + more +
                  "out o[l, k, i, j] = broadcast y; out p[k, i, j] += broadcast y",
              inputs, engine);
      CHECK(shape_of(r["o"]) == std::vector<std::int64_t>{5, 2, 1, 3});
      CHECK(shape_of(r["p"]) == std::vector<std::int64_t>{2, 1, 3});
      CHECK(r["p"].copy().data<float>()[5] == 8);
    }
}

TEST_CASE(
    "A sum that starts from -0 is -0 where all is -0, of nothing too; without a start it is +0") {
  const Array x = array_of<double>({2, 40}, std::vector<double>(80, -0.0)), none(f64, {2, 0});
  for (const Engine engine : engines)
    for (const Array &input : {x, none}) {
      const Results r =
          run("in x : f64[i, j]; out a = sum(x, j, init=-0.); out b = sum(x, init=-0.)\n"
              "out c[i] = reduce(sum, init=-0.) f32(x); out d = sum(c64(f32(x)), j, init=-0.)\n"
              "out e = sum(x, j); out f = sum(x, j, init=0); out g = 1 / sum(x, i, init=-0.)\n"
              "out h = sum(x, init=-0., acc=f32)",
              {{"x", input}}, engine);
      for (const char *minus : {"a", "b", "h"}) CHECK(std::signbit(r[minus].data<double>()[0]));
      CHECK(std::signbit(r["c"].data<float>()[1]));
      CHECK(std::signbit(r["d"].data<std::complex<float>>()[1].real()));
      for (const char *plus : {"e", "f"}) CHECK(!std::signbit(r[plus].data<double>()[1]));
      if (r["g"].size() > 0) CHECK(r["g"].data<double>()[0] == -infinite);
    }
}

TEST_CASE(
    "A sum of the user starts from his number in every engine, and goes in order to the bit") {
  const Array x = array_of<double>({4}, {1e16, 1, -1e16, 1});
  for (const Engine engine : engines) {
    const Results r =
        compile(parse("accumulator total(s; x) { init s = 5; step s = s + x }\n"
                      "accumulator times(p; x) { init p = 3; step p = p * x }\n"
                      "kernel k { in x : f64[i]; out s = total(x, i); out p = times(x, i) }",
                      "k"),
                {.engine = engine})({{"x", x}});
    CHECK(r["s"].data<double>()[0] == ((5 + 1e16) + 1 - 1e16) + 1);
    CHECK(r["p"].data<double>()[0] == -3e32);
  }
}

TEST_CASE("a dim i? of 1 is repeated along i, and of more has the extent of i") {
  const Array x = array_of<double>({2, 3}, {1, 2, 3, 4, 5, 6}),
              row = array_of<double>({1, 3}, {7, 8, 9});
  const Array one = array_of<double>({1, 1}, {10}), two(f64, {2}), other(f64, {5, 3});
  using Shape = std::vector<std::int64_t>;
  for (const Engine engine : engines) {
    const auto sums = [&](const Array &m) {
      return run(
          "stretch off; in x : f64[i, j]; in m : f64[i?, j?]; out z = x + m; out s = sum(m, i)\n"
          "out e = sum(x, like=m); out n = x * extent(i, of=m)",
          {{"x", x}, {"m", m}}, engine);
    };
    const Results r = sums(row);
    CHECK(r["z"].copy().data<double>()[5] == 15);
    CHECK(r["s"].copy().data<double>()[1] == 8);
    CHECK(shape_of(r["e"]) == Shape{1, 3});
    CHECK(r["e"].copy().data<double>()[2] == 9);
    CHECK(r["n"].copy().data<double>()[5] == 6);
    CHECK(sums(x)["z"].copy().data<double>()[5] == 12);
    CHECK(sums(x)["s"].copy().data<double>()[1] == 7);
    CHECK(sums(one)["z"].copy().data<double>()[5] == 16);
    CHECK(sums(one)["e"].copy().data<double>()[0] == 21);
    CHECK_THROWS_WITH_AS(sums(other), doctest::Contains("E0102"), ShapeError);
    // Where all are 1, the axis has 1; a listed axis has the extent of the one that is not 1.
    const Results b =
        run("in x : f64[i?]; in y : f64[i?]; in k : f64\nout z = x * y; out w[i] = broadcast k",
            {{"x", array_of<double>({1}, {2})},
             {"y", array_of<double>({1}, {3})},
             {"k", array_of<double>({}, {4})}},
            engine);
    CHECK(shape_of(b["z"]) == Shape{1});
    const Results w =
        run("in x : f64[i?]; in y : f64[i]; in u : f64[i?]; in k : f64; out w[i] = broadcast k",
            {{"x", array_of<double>({1}, {2})},
             {"y", two},
             {"u", array_of<double>({1}, {3})},
             {"k", array_of<double>({}, {4})}},
            engine);
    CHECK(shape_of(w["w"]) == Shape{2});
  }
}

TEST_CASE("like=(x, y) is the shape that x + y has") {
  const Array e = array_of<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array one(f64, {1, 1}), row(f64, {1, 3}), column(f64, {2, 1}), wide(f64, {1, 4});
  using Shape = std::vector<std::int64_t>;
  for (const Engine engine : engines) {
    const auto sums = [&](const Array &value, const Array &x, const Array &y) {
      const Results r = run("in e : f64[:, :]; in x : f64[:, :]; in y : f64[:, :]\n"
                            "out s = sum(e, like=(x, y)); out m = reduce(mean, like=(x, y)) e\n"
                            "out z = x + y",
                            {{"e", value}, {"x", x}, {"y", y}}, engine);
      CHECK(shape_of(r["s"]) == shape_of(r["z"]));
      CHECK(shape_of(r["m"]) == shape_of(r["z"]));
      return r["s"].copy();
    };
    CHECK(sums(e, one, one).data<double>()[0] == 21);
    CHECK(sums(e, one, row).data<double>()[2] == 9);
    CHECK(sums(e, column, one).data<double>()[1] == 15);
    CHECK(sums(e, column, row).data<double>()[4] == 5);
    CHECK(sums(one, column, row).data<double>()[5] == 0);
    CHECK_THROWS_WITH_AS(sums(e, row, wide), doctest::Contains("E0102"), ShapeError);
    // What only one of them has is an axis of the result; y has the last one.
    const Results r = run("in e : f64[i, j]; in x : f64[i]; in y : f64[k]\n"
                          "out s = sum(e, like=(x, y)); out b = broadcast(like=(y, x, e)) 1",
                          {{"e", e}, {"x", Array(f64, {2})}, {"y", Array(f64, {4})}}, engine);
    CHECK(shape_of(r["s"]) == Shape{2, 4});
    CHECK(r["s"].copy().data<double>()[7] == 15);
    CHECK(shape_of(r["b"]) == Shape{2, 3, 4});
  }
  const Expr x = input("x", f64, 2), y = input("y", f64, 2), v = input("v", f64, 2);
  const LoopSpec spec = LoopSpec("k")
                            .out("s", sum(v, like("x", "y")) + x + y)
                            .out("r", reduce_like(max, "x", "y"), v)
                            .out("b", broadcast_like("v", "y"), x);
  const std::string text = print(spec);
  CHECK(text.find("out s = sum(v, like=(x, y)) + x + y\n") != std::string::npos);
  CHECK(text.find("out r = reduce(max, like=(x, y)) v\n") != std::string::npos);
  CHECK(text.find("out b = broadcast(like=(v, y)) x\n") != std::string::npos);
  CHECK(print(parse(text)) == text);
}

TEST_CASE("broadcast(like=t) gives the shape of t or an error, as np.broadcast_to does") {
  const Array x(f64, {2, 3}), row(f64, {1, 3}), column(f64, {2, 1}), three(f64, {3});
  for (const Engine engine : engines) {
    const auto shape = [&](const std::string &declared, const Array &t) {
      try {
        return shape_of(
            run("in x : f64[:, :]; in t : f64" + declared + "\nout z = broadcast(like=t) 2 * x",
                {{"x", x}, {"t", t}}, engine)["z"]);
      } catch (const Error &error) {
        CHECK(error.where().line == 3);
        CHECK(error.help() != "");
        return std::vector<std::int64_t>{std::stoi(error.code().substr(1))};
      }
    };
    CHECK(shape("[:, :]", x) == std::vector<std::int64_t>{2, 3});
    CHECK(shape("[:, :]", row) == std::vector<std::int64_t>{102});
    CHECK(shape("[:, :]", column) == std::vector<std::int64_t>{102});
    CHECK(shape("[2, 1]", column) == std::vector<std::int64_t>{102});
    CHECK(shape("[:]", three) == std::vector<std::int64_t>{106});
    const Results r = run("in x : f64[i, j]; in t : f64[k]; out z[k, i, j] = broadcast(like=t) x",
                          {{"x", x}, {"t", three}}, engine);
    CHECK(shape_of(r["z"]) == std::vector<std::int64_t>{3, 2, 3});
  }
}

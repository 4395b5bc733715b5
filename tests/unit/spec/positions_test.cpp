// any, all, mean, extent and iota from text to numbers, the same in every engine.
#include "analysis/analyse.hpp"
#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numeric>

using namespace broadloom;

namespace {

template <class T> std::vector<T> values(const Array &a) {
  return std::vector<T>(a.data<T>(), a.data<T>() + a.size());
}

// The inputs by name, in declared order.
Results call(const Kernel &kernel, const std::vector<AnyView> &inputs) {
  std::vector<NamedView> named;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    named.push_back({kernel.spec().data().inputs[i]->name, inputs[i]});
  return kernel.call(named);
}

// Runs the kernel in every engine and hands each result to `check`.
template <class Check>
void everywhere(const LoopSpec &spec, const std::vector<AnyView> &inputs, const Check &check) {
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::automatic}) {
    Options options;
    options.engine = engine;
    INFO("engine " << int(engine));
    check(call(compile(spec, options), inputs));
  }
}

LoopSpec kernel(const std::string &body) { return parse("kernel k {\n" + body + "\n}"); }

std::string code_of(const std::string &body) {
  try {
    broadloom::check(kernel(body));
  } catch (const Error &error) {
    return error.code();
  }
  return {};
}

std::vector<float> counting(std::size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

using I = std::vector<std::int64_t>;
using D = std::vector<double>;
using F = std::vector<float>;

} // namespace

TEST_CASE("any and all test for what is not zero, NaN included") {
  const F x{0, 0, 0, 0, std::nanf(""), 2, 1, 0, -1};
  everywhere(kernel("in x : f32[i, j]\nout a = any(x, j)\nout b = all(x, j)\n"
                    "out c[] = reduce(any) x > 100\nout d = accumulate(all) x"),
             {View<const float>(x.data(), {3, 3})}, [](const Results &r) {
               CHECK(r["a"].dtype() == bool_);
               CHECK(values<bool>(r["a"]) == std::vector<bool>{false, true, true});
               CHECK(values<bool>(r["b"]) == std::vector<bool>{false, false, false});
               CHECK_FALSE(*r["c"].data<bool>());
               CHECK(r["d"].shape().size() == 2); // x alone has the least rank
             });
}

TEST_CASE("any and all of large arrays end with the last element") {
  std::vector<std::int32_t> x(500'000, 1);
  const LoopSpec spec = kernel("in x : i32[i]\nout a = any(x - 1)\nout b = all(x == 1)");
  everywhere(spec, {View<const std::int32_t>(x.data(), {500'000})}, [](const Results &r) {
    CHECK_FALSE(*r["a"].data<bool>());
    CHECK(*r["b"].data<bool>());
  });
  x.back() = 2;
  everywhere(spec, {View<const std::int32_t>(x.data(), {500'000})}, [](const Results &r) {
    CHECK(*r["a"].data<bool>());
    CHECK_FALSE(*r["b"].data<bool>());
  });
}

TEST_CASE("of nothing, any is false, all is true and mean is NaN") {
  const F x{1};
  everywhere(kernel("in x : f32[i, j]\nout a = any(x, j)\nout b = all(x, j)\nout m = mean(x, j)\n"
                    "out n = extent(j) + 0 * x"),
             {View<const float>(x.data(), {2, 0})}, [](const Results &r) {
               CHECK(values<bool>(r["a"]) == std::vector<bool>{false, false});
               CHECK(values<bool>(r["b"]) == std::vector<bool>{true, true});
               for (float m : values<float>(r["m"])) CHECK(std::isnan(m));
               CHECK(r["n"].size() == 0);
             });
}

TEST_CASE("a mean divides by the number of points folded, in f64") {
  const F x = counting(6);
  const std::vector<std::int8_t> k{1, 2, 2};
  everywhere(kernel("in x : f32[i, j]\nin k : i8[j]\nout r = mean(x, j)\nout a = mean(x)\n"
                    "out c[j] = reduce(mean) x\nout n = mean(k)\nout u = accumulate(mean) x * k\n"
                    "out w : f64 = mean(x * x, i)\nout l = mean(x, like=k)"),
             {View<const float>(x.data(), {2, 3}), View<const std::int8_t>(k.data(), {3})},
             [](const Results &r) {
               CHECK(values<float>(r["r"]) == F{2, 5});
               CHECK(values<float>(r["a"]) == F{3.5f});
               CHECK(values<float>(r["c"]) == F{2.5f, 3.5f, 4.5f});
               CHECK(values<double>(r["n"]) == D{5. / 3});
               CHECK(values<float>(r["u"]) == F{2.5f, 7, 9});
               CHECK(values<double>(r["w"]) == D{8.5, 14.5, 22.5});
               CHECK(values<float>(r["l"]) == F{2.5f, 3.5f, 4.5f});
             });
}

TEST_CASE("a mean of stretched operands counts the points that are there") {
  const F x = counting(3), w{1};
  const LoopSpec spec =
      kernel("in x : f32[:, :]\nin w : f32[:, :]\nout m = mean(x * w)\n"
             "out l = mean(x, like=w)\nout n = extent(0) + 10 * extent(1) + 0 * x");
  everywhere(spec, {View<const float>(x.data(), {3, 1}), View<const float>(w.data(), {1, 1})},
             [](const Results &r) {
               CHECK(values<float>(r["m"]) == F{2});
               CHECK(values<float>(r["l"]) == F{2});
               CHECK(values<float>(r["n"]) == F{13, 13, 13});
             });
  everywhere(spec, {View<const float>(x.data(), {1, 3}), View<const float>(x.data(), {3, 1})},
             [](const Results &r) {
               CHECK(values<float>(r["m"]) == F{4});
               CHECK(r["l"].shape().size() == 2);
               CHECK(values<float>(r["l"]) == F{2, 2, 2});
               CHECK(values<float>(r["n"]) == F{31, 31, 31});
             });
}

TEST_CASE("a mean takes += before it is rounded to the output") {
  const F x{1, 2, 2};
  const LoopSpec spec = kernel("in x : f32[i]\nout m : f64 += mean(x)");
  everywhere(spec, {View<const float>(x.data(), {3})},
             [](const Results &r) { CHECK(values<double>(r["m"]) == D{5. / 3}); });
}

TEST_CASE("an extent is that of the expression, of the reduction around it, or of an input") {
  const F x = counting(6), y = counting(4);
  everywhere(kernel("in x : f32[i, j]\nin y : f32[k]\nlet n = extent(j)\n"
                    "out a = sum(x, j) / n\nout b = sum(x * extent(j), i, j) + n\n"
                    "out c = y + extent(j, of=x)\nout d = extent(i, of=x) * extent(k, of=y)\n"
                    "out e = x * 0 + extent(i)"),
             {View<const float>(x.data(), {2, 3}), View<const float>(y.data(), {4})},
             [](const Results &r) {
               CHECK(values<float>(r["a"]) == F{2, 5});
               CHECK(values<float>(r["b"]) == F{66});
               CHECK(values<float>(r["c"]) == F{4, 5, 6, 7});
               CHECK(r["d"].dtype() == i64);
               CHECK(values<std::int64_t>(r["d"]) == I{8});
               CHECK(values<float>(r["e"]) == F(6, 2));
             });
}

TEST_CASE("an extent takes the type of floats beside it, as a number does, and is an i64 beside "
          "integers") {
  const struct {
    const char *value;
    DType with_f32, with_f16, with_i8, with_u64;
  } rows[] = {
      {"x / extent(j)", f32, f16, f64, f64},
      {"x * extent(j)", f32, f16, i64, f64},
      {"x - (extent(j) - 1) / 2", f32, f16, f64, f64},
      {"x + 1 / extent(j)", f32, f16, f64, f64},
      {"x / sqrt(extent(j))", f32, f16, f64, f64},
      {"where(x > extent(j), x, extent(j))", f32, f16, i64, f64},
      {"x ^ extent(j)", f32, f16, i64, f64},
      {"maximum(extent(j) + 1, x)", f32, f16, i64, f64},
      {"x + f64(extent(j))", f64, f64, f64, f64},
      {"x + iota(j)", f64, f64, i64, f64},
      {"sum(x, j) / extent(j)", f32, f16, f64, f64},
      {"c64(x) * extent(j)", c64, c64, c64, c64},
      {"extent(j, of=x) + 0", i64, i64, i64, i64},
      {"sum(extent(j)) * x", f32, f16, i64, f64},
      {"x < extent(j)", bool_, bool_, bool_, bool_},
  };
  for (const auto &row : rows) {
    const auto type = [&](const char *dtype) {
      const LoopSpec spec = kernel(std::string("in x : ") + dtype + "[i, j]\nout o = " + row.value);
      CHECK(print(parse(print(spec))) == print(spec));
      return analysis::analyse(spec.data()).outputs[0].dtype;
    };
    INFO(std::string(row.value));
    CHECK(type("f32") == row.with_f32);
    CHECK(type("f16") == row.with_f16);
    CHECK(type("i8") == row.with_i8);
    CHECK(type("u64") == row.with_u64);
  }
}

TEST_CASE("extents beside floats round once, and their gradients keep the type") {
  const F x = counting(6);
  const std::string text = "in x : f32[i, j]\nlet n = extent(j)\nout s = sum(x, j) / (n * 1e-10)\n"
                           "out t = x + n / 7\nout u = sum(x, j, init=n) ^ (1 / n)";
  everywhere(kernel(text), {View<const float>(x.data(), {2, 3})}, [](const Results &r) {
    CHECK(values<float>(r["s"]) == F{6 / float(3e-10), 15 / float(3e-10)});
    CHECK(values<float>(r["t"])[5] == 6 + float(3. / 7));
    CHECK(values<float>(r["u"])[1] == std::pow(18.f, float(1. / 3)));
  });
  const LoopSpec back = gradient(kernel(text), {"x"});
  CHECK(print(parse(print(back))) == print(back));
  const NamedView view{"x", View<const float>(x.data(), {2, 3})};
  CHECK(check_gradient(kernel(text), std::span(&view, 1), {}).passed());
}

TEST_CASE("one compiled kernel counts right for other extents of the same pattern") {
  const Kernel k = compile(kernel("in x : f32[i, j]\nout m = mean(x)\nout z = x + iota(j)"));
  for (std::int64_t rows : {2, 3, 7})
    for (std::int64_t columns : {2, 5, 70}) {
      const F x(std::size_t(rows * columns), 1);
      const Results r = call(k, {View<const float>(x.data(), {rows, columns})});
      CHECK(*r["m"].data<float>() == 1);
      CHECK(r["z"].data<double>()[columns - 1] == double(columns));
    }
}

TEST_CASE("an index is logical: from 0 along each axis, whatever the strides") {
  const std::int64_t rows = 5, columns = 37;
  const F x(std::size_t(rows * columns), 0);
  const LoopSpec spec = kernel("in x : f32[i, j]\nout z = x + 100 * iota(i) + iota(j)\n"
                               "out s = sum(x + iota(j), j)\nout t = sum(x + iota(i) * iota(j))\n"
                               "out u = sum(x + iota(j), i)\nout v = max(x + iota(i), i, j)");
  const float *end = x.data() + x.size() - 1;
  for (const AnyView &view : {AnyView(View<const float>(x.data(), {rows, columns})),
                              AnyView(View<const float>(x.data(), {rows, columns}, {1, rows})),
                              AnyView(View<const float>(end, {rows, columns}, {-columns, -1})),
                              AnyView(View<const float>(x.data(), {rows, columns}, {0, 0}))})
    everywhere(spec, {view}, [&](const Results &r) {
      const Array &z = r["z"];
      const std::vector<std::int64_t> strides(z.strides().begin(), z.strides().end());
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          CHECK(z.data<double>()[i * strides[0] + j * strides[1]] == double(100 * i + j));
      CHECK(values<double>(r["s"]) == D(5, 666));
      CHECK(values<double>(r["t"]) == D{6660});
      CHECK(values<double>(r["u"])[36] == 180);
      CHECK(values<double>(r["v"]) == D{4});
    });
}

TEST_CASE("an index within chunks is the absolute position") {
  const std::int64_t n = 400'000;
  const std::vector<std::int64_t> x(std::size_t(n), 1);
  everywhere(kernel("in x : i64[i]\nout s = sum(x * iota(i))\nout m = max(x * iota(i))\n"
                    "out z = x * iota(i)"),
             {View<const std::int64_t>(x.data(), {n})}, [&](const Results &r) {
               CHECK(*r["s"].data<std::int64_t>() == n * (n - 1) / 2);
               CHECK(*r["m"].data<std::int64_t>() == n - 1);
               CHECK(r["z"].data<std::int64_t>()[n - 1] == n - 1);
             });
}

TEST_CASE("an index and a fold of it take their extent from the expression around") {
  const F x = counting(6);
  everywhere(
      kernel("in x : f32[i, j]\nout a = x * 0 + sum(iota(j), j)\nlet m = iota(i) == iota(j)\n"
             "out trace = sum(where(m, x, 0))\nout b = accumulate(sum) x * iota(j)"),
      {View<const float>(x.data(), {2, 3})}, [](const Results &r) {
        CHECK(values<double>(r["a"]) == D(6, 3));
        CHECK(values<float>(r["trace"]) == F{6});
        CHECK(values<double>(r["b"]) == D{0, 2, 6, 0, 5, 12});
      });
}

TEST_CASE("an index may be that of inputs which the expression does not read") {
  const F x = counting(6), y = counting(3);
  const LoopSpec spec = kernel("in x : f32[:, :]\nin y : f32[:]\nout a = iota(1, of=x)\n"
                               "out b = iota(0, of=x) * y\nout c = iota(1, of=(x, y)) + 0 * y\n"
                               "out n = extent(1, of=(y, x)) * sum(iota(1, of=y))");
  for (const std::int64_t columns : {1, 3})
    everywhere(spec, {View<const float>(x.data(), {2, columns}), View<const float>(y.data(), {3})},
               [&](const Results &r) {
                 CHECK(values<std::int64_t>(r["a"]) == (columns == 1 ? I{0} : I{0, 1, 2}));
                 CHECK(values<double>(r["b"]) == D{0, 0, 0, 1, 2, 3});
                 CHECK(values<double>(r["c"]) == D{0, 1, 2});
                 CHECK(values<std::int64_t>(r["n"]) == I{9});
               });
}

TEST_CASE("extents and indices print as they are written") {
  const std::string text = "kernel k {\n  in  x : f32[i, j]\n  in  y : f32[:]\n"
                           "  let n = extent(j)\n  out z = x / n + iota(-1) + extent(0, of=y)\n"
                           "  out p = iota(j, of=x) + iota(1, of=(x, y)) + extent(j, of=(y, x))\n"
                           "  out m[] = reduce(mean) x\n  out a = any(x, j)\n}\n";
  CHECK(print(parse(text)) == text);
  const Expr x = input("x", f32, {"i", "j"});
  CHECK(print(LoopSpec("k").out("z", x * iota("j", {"x", "x"}) + iota(0, "x"))) ==
        "kernel k {\n  in  x : f32[i, j]\n  out z = x * iota(j, of=(x, x)) + iota(0, of=x)\n}\n");
  CHECK(print(LoopSpec("k").out("z", x / extent("j", "x") + iota(0)).out("m", reduce(mean), x)) ==
        "kernel k {\n  in  x : f32[i, j]\n  out z = x / extent(j, of=x) + iota(0)\n"
        "  out m = reduce(mean) x\n}\n");
}

TEST_CASE("an axis that no input of the expression has is an error") {
  const std::string inputs = "in x : f32[i]\nin y : f32[i, j]\n";
  CHECK(code_of(inputs + "out z = x + iota(j)") == "E0103");
  CHECK(code_of(inputs + "out z = x + extent(j)") == "E0103");
  CHECK(code_of(inputs + "out z = y + extent(j, of=x)") == "E0103");
  CHECK(code_of(inputs + "out z = x + extent(j, of=y)").empty());
  CHECK(code_of(inputs + "out z = x + extent(k)") == "E0104");
  CHECK(code_of(inputs + "out z = y + iota(j, of=x)") == "E0103");
  CHECK(code_of(inputs + "out z = x + iota(j, of=y)").empty());
  CHECK(code_of("in x : f32[3]\nin y : f32[4]\nout z = extent(0, of=(x, y))") == "E0102");
  CHECK(code_of(inputs + "let n = extent(j)\nout z = x").empty());
  CHECK(code_of("in x : f32[3]\nin y : f32[4]\nout z = sum(x) + sum(y)").empty());
  CHECK(code_of("in x : f32[3]\nin y : f32[4]\nout z = sum(x) + sum(y) / extent(0)") == "E0102");
  CHECK(code_of("in x : f32[3]\nin y : f32[4]\nout z = sum(x) + sum(y) / extent(0, of=y)").empty());
}

TEST_CASE("a let with an extent may be read at many depths of reductions") {
  std::string body = "in x : f64[i, j]\nlet t0 = x * extent(i)\n";
  const int deep = 40;
  for (int k = 1; k <= deep; ++k) {
    const std::string last = "t" + std::to_string(k - 1);
    body += "let t" + std::to_string(k) + " = x + sum(" + last + " + 1) + max(" + last + " + 2)\n";
  }
  CHECK(code_of(body + "out z = t" + std::to_string(deep)).empty());
}

TEST_CASE("axes that the compiler names move no unlabelled input") {
  const Array x(f64, {4}), b(f64, {4}), p(f64, {3}), a = Array(f64, {});
  std::fill_n(x.data<double>(), 4, 2.0);
  std::fill_n(b.data<double>(), 4, 3.0);
  std::fill_n(p.data<double>(), 3, 1.0);
  a.data<double>()[0] = 2;
  const std::string loop = "let u[t < 5 until abs(u[t] - u[t - 1]) < 1e-3] = "
                           "(u[t - 1] + a / u[t - 1]) / 2 from a\n";
  for (const std::string dims : {"i", ":"})
    for (const std::string &other :
         {loop + "out n = steps(u)", std::string("out q[r] = concat(r, p[r], p[r])"),
          std::string("out q[r, s] = stack(s, p[r], p[r])"),
          std::string("out q[2*r] = p[r]\nout q[2*r + 1] = p[r]")}) {
      INFO(other);
      const Results results =
          compile(kernel("in x : f64[" + dims + "]\nin b : f64[:]\n" +
                         "in p : f64[:]\nin a : f64\nout z = x * b\n" + other))
              .call(std::vector<NamedView>{{"x", x}, {"b", b}, {"p", p}, {"a", a}});
      const Array z = results["z"].copy();
      REQUIRE(z.shape().size() == 1);
      CHECK(values<double>(z) == std::vector<double>(4, 6));
    }
}

// Kernel::freeze: what depends on parameters only is computed once, and no bit changes.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

using namespace broadloom;

namespace {

Array numbers(std::initializer_list<std::int64_t> shape, double first = 0.5, DType dtype = f32) {
  Array array(dtype, shape);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    const double value = first + 0.37 * double(k % 11);
    if (dtype == f64)
      array.data<double>()[k] = value;
    else
      array.data<float>()[k] = float(value);
  }
  return array;
}

std::string frozen_text(const std::string &statements, std::span<const NamedView> parameters) {
  return print(compile(parse("kernel k {\n" + statements + "\n}")).freeze(parameters).spec());
}
std::string frozen_text(const std::string &statements,
                        std::initializer_list<NamedView> parameters) {
  return frozen_text(statements, std::span(parameters.begin(), parameters.size()));
}

template <class F> std::string code_of(const F &call) {
  try {
    call();
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "none";
}

const char *const normalise = "kernel norm {\n"
                              "  in    x : f32[n, c]\n"
                              "  param g : f32[c]\n"
                              "  param v : f32[c] >= 0\n"
                              "  param b : f32[c]\n"
                              "  out y = x * (g / sqrt(v + 1e-5)) + b\n"
                              "}\n";

} // namespace

TEST_CASE("A loop begins from the same dims where what it begins from is computed once") {
  const Array h = numbers({2}), z = numbers({3}, 1), w = numbers({2}, 2);
  for (const std::string loop :
       {"let a[t < 2, p, q] = a[t - 1, p, q] * 2 from A\nout y[i, n] = a[-1, i, n] * w",
        "let a[t < 2, n, i] = a[t - 1, n, i] * 2 from A\nout y = a[-1, n, i] * w"}) {
    const Kernel kernel =
        compile(parse("kernel k {\nparam h : f32[i]\nparam z : f32[n]\nin w : f32[i]\n"
                      "let A[n, i] = exp(z * h)\n" +
                      loop + "\n}"));
    const std::vector<NamedView> given{{"h", h}, {"z", z}, {"w", w}};
    const Array all = kernel.call(given)["y"].copy();
    const Kernel frozen = kernel.freeze({{"h", h}, {"z", z}});
    const Array rest = frozen.call(std::span(given).subspan(2))["y"].copy();
    REQUIRE(all.size() == rest.size());
    CHECK(std::memcmp(all.raw(), rest.raw(), std::size_t(all.size()) * 4) == 0);
  }
}

TEST_CASE("What depends on parameters only is computed once, and the rest prints as a kernel") {
  const Array x = numbers({4, 3}), g = numbers({3}, 1), v = numbers({3}, 2), b = numbers({3}, -1);
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
    const Kernel kernel = compile(parse(normalise), {.engine = engine});
    const Kernel frozen = kernel.freeze({{"g", g}, {"v", v}, {"b", b}});
    CHECK(print(frozen.spec()) == "kernel norm {\n"
                                  "  in  x : f32[n, c]\n"
                                  "  param g_1 : f32[c]\n"
                                  "  param b : f32[c]\n"
                                  "  out y = x * g_1 + b\n"
                                  "}\n");
    CHECK(kernel.version() == 0);
    CHECK(frozen.version() == 1);
    REQUIRE(frozen.inputs().size() == 1);
    CHECK(frozen.inputs()[0].name == "x");
    const Results whole = kernel({{"x", x}, {"g", g}, {"v", v}, {"b", b}});
    const Results rest = frozen({{"x", x}});
    const float *a = whole["y"].data<float>(), *c = rest["y"].data<float>();
    CHECK(std::equal(a, a + 12, c));
    Array y(f32, {4, 3});
    frozen.run({x}, {y});
    CHECK(std::equal(a, a + 12, y.data<float>()));
    Array z(f32, {4, 3});
    frozen.bind({{"x", x}}, {{"y", z}})();
    CHECK(std::equal(a, a + 12, z.data<float>()));
    CHECK(frozen.infer({x})[0].shape == std::vector<std::int64_t>{4, 3});
    frozen.prepare({x});
  }
}

TEST_CASE("A frozen kernel keeps its values, whatever becomes of the arrays") {
  const Array w = numbers({3});
  const Kernel frozen =
      compile(parse("kernel k { in x : f32[i]; param w : f32[i]; out y = x * w; out z = w }"))
          .freeze({{"w", w}});
  const float was = w.data<float>()[1];
  w.data<float>()[1] = 100;
  const Results results = frozen({{"x", numbers({3}, 1)}});
  CHECK(results["z"].data<float>()[1] == was);
}

TEST_CASE("Refreezing gives the next version, over the same code") {
  const Kernel first =
      compile(parse("kernel k { in x : f32[i]; param w : f32[i]; out y = x + exp(w) }"))
          .freeze({{"w", numbers({3})}});
  const Array x = numbers({3}, 0);
  const float before = first({{"x", x}})["y"].data<float>()[0];
  const auto compiles = first.counters().compiles;
  const Kernel second = first.refreeze({{"w", numbers({3}, 2)}});
  CHECK(second.version() == 2);
  CHECK(second.refreeze({{"w", numbers({3}, 3)}}).version() == 3);
  const float after = second({{"x", x}})["y"].data<float>()[0];
  CHECK(after != before);
  CHECK(first({{"x", x}})["y"].data<float>()[0] == before);
  CHECK(second.counters().compiles == compiles);
  CHECK(code_of([&] { first.refreeze({{"w", numbers({4})}}); }) == "E0123");
  CHECK(code_of([&] { first.refreeze({}); }) == "E0311");
}

TEST_CASE("Parameters may be frozen one after another") {
  const Array x = numbers({4, 3}), g = numbers({3}, 1), v = numbers({3}, 2), b = numbers({3}, -1);
  const Kernel kernel = compile(parse(normalise));
  const Kernel one = kernel.freeze({{"v", v}});
  const Kernel all = one.freeze({{"g", g}, {"b", b}});
  CHECK(print(all.spec()) == print(kernel.freeze({{"g", g}, {"v", v}, {"b", b}}).spec()));
  const Results whole = kernel({{"x", x}, {"g", g}, {"v", v}, {"b", b}});
  const Results some = one({{"x", x}, {"g", g}, {"b", b}}), rest = all({{"x", x}});
  for (int k = 0; k < 12; ++k) {
    CHECK(whole["y"].data<float>()[k] == some["y"].data<float>()[k]);
    CHECK(whole["y"].data<float>()[k] == rest["y"].data<float>()[k]);
  }
}

TEST_CASE("Values stay in the call where taking them out would change bits or cost memory") {
  const Array w = numbers({3, 4}), s = numbers({3}), t = numbers({4});
  // One value for each pair is more to read than to compute.
  CHECK(frozen_text("in x : f32[i, j]; param s : f32[i]; param t : f32[j]; out y = x + s * t",
                    {{"s", s}, {"t", t}})
            .find("s * t") != std::string::npos);
  // The reduction that is an output has all digits of its accumulator.
  CHECK(frozen_text("in x : f32[i]; param w : f32[i, j]; out y = x; out r : f64 += sum(w)",
                    {{"w", w}})
            .find("sum(w)") != std::string::npos);
  // f16 between operations has more bits than f16.
  const Array h(f16, {3});
  CHECK(frozen_text("in x : f16[i]; param h : f16[i]; out y = x * (h + 1)", {{"h", h}})
            .find("h + 1") != std::string::npos);
  // i and j of w * s are walked as one, those of s are not: the tree of the sum would be another.
  CHECK(frozen_text(
            "in x : f32[i, j]; param w : f32[i, j]; param s : f32[i]; out y = sum(x * (w * s))",
            {{"w", w}, {"s", s}})
            .find("w * s") != std::string::npos);
  // A sum over one of them has one tree.
  CHECK(frozen_text(
            "in x : f32[n, j]; param w : f32[i, j]; param s : f32[i]; out y = sum(x * (w * s), j)",
            {{"w", w}, {"s", s}})
            .find("w_1") != std::string::npos);
}

TEST_CASE("Beside inputs of which a dim may be 1, values of other parameters are computed once") {
  const char *text = "kernel k {\n"
                     "  in    x : f32[i, j]\n"
                     "  in    m : f32[i?, j]\n"
                     "  param g : f32[j]\n"
                     "  param v : f32[j?]\n"
                     "  out y = sum((x - m) * exp(g) * v, j) + m\n"
                     "}\n";
  const Array x = numbers({5, 3}), g = numbers({3}, -1);
  for (const std::int64_t rows : {1, 5})
    for (const std::int64_t columns : {1, 3}) {
      const Array m = numbers({rows, 3}, 2), v = numbers({columns}, 3);
      const Kernel kernel = compile(parse(text)), frozen = kernel.freeze({{"g", g}, {"v", v}});
      CHECK(print(frozen.spec()) == "kernel k {\n"
                                    "  in  x : f32[i, j]\n"
                                    "  in  m : f32[i?, j]\n"
                                    "  param g_1 : f32[j]\n"
                                    "  param v : f32[j?]\n"
                                    "  out y = sum((x - m) * g_1 * v, j) + m\n"
                                    "}\n");
      const Results whole = kernel({{"x", x}, {"m", m}, {"g", g}, {"v", v}});
      const Results rest = frozen({{"x", x}, {"m", m}});
      CHECK(std::equal(whole["y"].data<float>(), whole["y"].data<float>() + 15,
                       rest["y"].data<float>()));
      const Kernel again = frozen.refreeze({{"g", numbers({3}, 1)}, {"v", v}});
      CHECK(again({{"x", x}, {"m", m}})["y"].shape()[0] == 5);
    }
}

TEST_CASE("A parameter whose dim is not repeated says how long the other inputs' are") {
  const Array x = numbers({5, 3}), b = numbers({3}, 1);
  const Kernel kernel = compile(parse("kernel k { in x : f32[i, j]; param a : f32[i?, j]\n"
                                      "param b : f32[j]; out y = x * a * exp(b) }"));
  for (const std::int64_t rows : {1, 5}) {
    const Array a = numbers({rows, 3}, 2);
    const Kernel frozen = kernel.freeze({{"a", a}, {"b", b}});
    const Results whole = kernel({{"x", x}, {"a", a}, {"b", b}}), rest = frozen({{"x", x}});
    CHECK(std::equal(whole["y"].data<float>(), whole["y"].data<float>() + 15,
                     rest["y"].data<float>()));
  }
}

TEST_CASE("A parameter stays where it alone says how often a 1 is repeated") {
  const Array w = numbers({4}), x = numbers({2}), y = numbers({1}, 2);
  const Kernel kernel = compile(parse("kernel k { in x : f32[i]; in y : f32[j?]; param w : f32[j]\n"
                                      "out z = x * sum(w * w, j) + sum(y, j) }"));
  const Kernel frozen = kernel.freeze({{"w", w}});
  const Results whole = kernel({{"x", x}, {"y", y}, {"w", w}}), rest = frozen({{"x", x}, {"y", y}});
  for (int k = 0; k < 2; ++k) CHECK(whole["z"].data<float>()[k] == rest["z"].data<float>()[k]);
  // A value of its own dim that may be 1 is computed in the call.
  const Array one = numbers({1});
  const Kernel repeated = compile(parse(
      "kernel k { in x : f32[i]; param w : f32[i?]; out z = x * exp(w); out o = exp(w) + 1 }"));
  const Results a = repeated({{"x", x}, {"w", one}}), b = repeated.freeze({{"w", one}})({{"x", x}});
  REQUIRE(a["o"].shape()[0] == b["o"].shape()[0]);
  for (int k = 0; k < 2; ++k) CHECK(a["z"].data<float>()[k] == b["z"].data<float>()[k]);
}

TEST_CASE("A fold like a parameter of which a dim may be 1 stays where it is") {
  const Array x = numbers({5, 3}), a = numbers({1, 3}, 2), b = numbers({3}, 1);
  for (const char *output : {"out y = reduce(argmax, like=a) b", "out y = reduce(sum, like=a) b"}) {
    const Kernel kernel =
        compile(parse("kernel k { in x : f32[i, j]; param a : f32[i?, j]; param b : f32[j]\n" +
                      std::string(output) + "; out z = x * exp(b) + sum(b, like=a) + x * a }"));
    const Results whole = kernel({{"x", x}, {"a", a}, {"b", b}});
    const Results rest = kernel.freeze({{"a", a}, {"b", b}})({{"x", x}});
    for (const char *name : {"y", "z"}) {
      const Array left = whole[name], right = rest[name];
      REQUIRE(std::ranges::equal(left.shape(), right.shape()));
      CHECK(std::memcmp(left.copy().raw(), right.copy().raw(),
                        std::size_t(left.size()) * size_of(left.dtype())) == 0);
    }
  }
}

TEST_CASE("Scales move before parameters are taken out, so that a batch norm costs nothing") {
  const Array w = numbers({3, 4}), m = numbers({4}), v = numbers({4}, 1), g = numbers({4}, -1),
              b = numbers({4}, 2);
  CHECK(frozen_text("set scales = fold; in x : f32[n, k]; param w : f32[k, o]; param m : f32[o]\n"
                    "param v : f32[o] >= 0; param g : f32[o]; param b : f32[o]\n"
                    "out y = relu((sum(x * w, k) - m) / sqrt(v + 1e-5) * g + b)",
                    {{"w", w}, {"m", m}, {"v", v}, {"g", g}, {"b", b}}) ==
        "kernel k {\n"
        "  set scales = fold\n"
        "  in  x : f32[n, k]\n"
        "  param w_1 : f32[k, o]\n"
        "  param m_1 : f32[o]\n"
        "  out y = relu(sum(x * w_1, k) + m_1)\n"
        "}\n");
}

TEST_CASE("Values are taken out of lets that are arrays, and of what reads them") {
  const Array x = numbers({2, 6, 3}), w = numbers({3, 3, 4}, -1), g = numbers({4}, 0.2),
              d = numbers({4, 5}, -2), s = numbers({4}, 3);
  const std::string text =
      "kernel k {\n"
      "  in  x : f32[:, :, :]\n"
      "  param w : f32[u, c, o]\n"
      "  param g : f32[o]\n"
      "  param d : f32[o, z]\n"
      "  param s : f32[o]\n"
      "  let h[n, p, o] = relu(sum(x[n, p + u, c] * (w * exp(g)), u, c) + g)\n"
      "  out y[n, i, z] = sum(maximum(h[n, 2*i, o], h[n, 2*i + 1, o]) * (d / s), o)\n"
      "}\n";
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
    const Kernel kernel = compile(parse(text), {.engine = engine});
    const Kernel frozen = kernel.freeze({{"w", w}, {"g", g}, {"d", d}, {"s", s}});
    const std::string left = print(frozen.spec());
    CHECK(left == "kernel k {\n"
                  "  in  x : f32[:, :, :]\n"
                  "  param w_1 : f32[u, c, o]\n"
                  "  param g : f32[o]\n"
                  "  param d_1 : f32[o, z]\n"
                  "  let h[n, p, o] = relu(sum(x[n, p + u, c] * w_1, u, c) + g)\n"
                  "  out y[n, i, z] = sum(maximum(h[n, 2*i, o], h[n, 2*i + 1, o]) * d_1, o)\n"
                  "}\n");
    CHECK(print(parse(left)) == left);
    const Results whole = kernel({{"x", x}, {"w", w}, {"g", g}, {"d", d}, {"s", s}});
    const Results rest = frozen({{"x", x}});
    REQUIRE(rest["y"].size() == whole["y"].size());
    CHECK(std::equal(whole["y"].data<float>(), whole["y"].data<float>() + whole["y"].size(),
                     rest["y"].data<float>()));
  }
  // All as before where a let reads itself.
  CHECK(frozen_text("in x : f32[t, k]; param w : f32[k]; param v : f32[k]\n"
                    "let h[t, k] = h[t - 1, k] * (w * v) + x from 0; out y = h[t, k]",
                    {{"w", g}, {"v", s}})
            .find("w * v") != std::string::npos);
}

TEST_CASE("What is computed once does not go by extents that the kernel says of its axes") {
  const Array w = numbers({3}, 1), p = numbers({2}, 2), x = numbers({9});
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; in w : f32[u]; param p : f32[d]; let h[i, d] = x * "
                    "exp(p); out z = sum(pad(h, 0: (1, 1))[i + u, d] * w, u < 3) }"));
  const Results frozen = kernel.freeze({{"p", p}})({{"x", x}, {"w", w}});
  const Results whole = kernel({{"x", x}, {"w", w}, {"p", p}});
  REQUIRE(frozen["z"].size() == whole["z"].size());
  CHECK(std::equal(whole["z"].data<float>(), whole["z"].data<float>() + whole["z"].size(),
                   frozen["z"].data<float>()));
}

TEST_CASE("Lets that are arrays and hang on parameters only are computed once as a whole") {
  const Array w = numbers({3}, 1), m = numbers({3, 2}, 2), x = numbers({9}), y = numbers({9, 2});
  const auto same = [](const std::string &statements, std::initializer_list<NamedView> parameters,
                       std::initializer_list<NamedView> inputs, const std::string &text) {
    const std::string whole = "kernel k {\n" + statements + "\n}";
    std::vector<NamedView> all(parameters);
    all.insert(all.end(), inputs);
    for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
      const Kernel kernel = compile(parse(whole), {.engine = engine});
      const Kernel frozen = kernel.freeze(parameters);
      CHECK(print(frozen.spec()) == "kernel k {\n" + text + "}\n");
      CHECK(print(parse(print(frozen.spec()))) == print(frozen.spec()));
      const Results once = frozen.call(inputs), always = kernel.call(all);
      for (const Signature &output : kernel.infer_named(all)) {
        const Array a = once[output.name].copy(), b = always[output.name].copy();
        REQUIRE(std::ranges::equal(a.shape(), b.shape()));
        CHECK(std::equal(a.data<float>(), a.data<float>() + a.size(), b.data<float>()));
      }
    }
  };
  same("in x : f32[n]\nparam w : f32[u]\nlet h[u] = exp(w[u]) / 3\n"
       "let g[u] = h[u + 0] + h[-1 - u]\nout y[i] = sum(x[i + u] * h[u + 0] + g[u + 0], u)",
       {{"w", w}}, {{"x", x}},
       "  in  x : f32[n]\n  param w : f32[u]\n  param h_1 : f32[:]\n  param g_1 : f32[:]\n"
       "  out y[i] = sum(x[i + u] * h_1[u + 0] + g_1[u + 0], u)\n");
  // Another input says how long the axes are; what hangs on it stays.
  same("in x : f32[n]\nin y : f32[n, c]\nparam m : f32[u, c]\n"
       "let norm[c] = sqrt(sum(m * m, u))\nlet unit[u, c] = m[u, c] / norm[c]\n"
       "let t[n, c] = y[n, c] * norm[c]\nout z[i, c] = sum(x[i + u] * unit[u, c], u) + t[i + 2, c]",
       {{"m", m}}, {{"x", x}, {"y", y}},
       "  in  x : f32[n]\n  in  y : f32[n, c]\n  param m : f32[u, c]\n  param norm_1 : f32[:]\n"
       "  param unit_1 : f32[:, :]\n  let t[n, c] = y[n, c] * norm_1[c]\n"
       "  out z[i, c] = sum(x[i + u] * unit_1[u, c], u) + t[i + 2, c]\n");
  // Whose extents are those of what is given, and which a name asks for.
  same("in x : f32[u]\nparam w : f32[c]\nlet h[u] = sum(w, c) * f32(iota(u, of=x))\n"
       "out z = x[u] * h[-u - 1]",
       {{"w", w}}, {{"x", x}},
       "  in  x : f32[u]\n  param w_1 : f32\n  let h[u] = w_1 * f32(iota(u, of=x))\n"
       "  out z = x[u] * h[-u - 1]\n");
  // A parameter that is read by another name of its axis is computed with.
  same("in x : f32[n, c]\nparam w : f32[c, o]\nparam s : f32[k]\nlet h[n, c] = exp(x)\n"
       "out z[i, o] = sum(h[i + 1, c] * (w * s[c]), c)",
       {{"w", m}, {"s", w}}, {{"x", Array(numbers({4, 3}))}},
       "  in  x : f32[n, c]\n  param w_1 : f32[c, o]\n  let h[n, c] = exp(x)\n"
       "  out z[i, o] = sum(h[i + 1, c] * w_1, c)\n");
  // Its array lies as m does, and not in C order, frozen or not: sums over both axes go by that.
  same("in y : f32[n, c]\nparam m : f32[u, c]\nlet h[c, u] = exp(m[u, c])\n"
       "out z[i] = sum(y[i + u, c] * h[c, u], u, c)",
       {{"m", m}}, {{"y", y}},
       "  in  y : f32[n, c]\n  param m : f32[u, c]\n  param h_1 : f32[:, :]\n"
       "  out z[i] = sum(y[i + u, c] * h_1[c, u], u, c)\n");
}

TEST_CASE("Outputs that hang on parameters only are computed once as a whole") {
  const Array w = numbers({3, 4});
  const Kernel frozen =
      compile(parse("kernel k { in x : f32[i]; param w : f32[i, j]; out y = x * sum(w, j)\n"
                    "out r : f64 = sum(w); out t[j, i] = w }"))
          .freeze({{"w", w}});
  CHECK(print(frozen.spec()) == "kernel k {\n"
                                "  in  x : f32[i]\n"
                                "  param w_1 : f32[i]\n"
                                "  param r_1 : f64\n"
                                "  param t_1 : f32[j, i]\n"
                                "  out y = x * w_1\n"
                                "  out r : f64 = r_1\n"
                                "  out t[j, i] = t_1\n"
                                "}\n");
  const Kernel kernel = compile(parse("kernel k { param w : f32[i, j]; out r : f64 = sum(w) }"));
  const Results results = frozen({{"x", numbers({3})}});
  CHECK(results["r"].data<double>()[0] == kernel({{"w", w}})["r"].data<double>()[0]);
  CHECK(results["t"].shape()[0] == 4);
}

TEST_CASE("Freezing says what is wrong, and where") {
  const Array x = numbers({4, 3}), c = numbers({3}, 1), negative = numbers({3}, -5);
  const Kernel kernel = compile(parse(normalise));
  CHECK(code_of([&] { kernel.freeze({{"w", c}}); }) == "E0311");
  CHECK(code_of([&] { kernel.freeze({{"x", x}}); }) == "E0311");
  CHECK(code_of([&] { kernel.freeze({{"g", c}, {"g", c}}); }) == "E0311");
  CHECK(code_of([&] { kernel.freeze({{"v", negative}}); }) == "E0313");
  CHECK(code_of([&] { kernel.freeze({{"g", x}}); }) == "E0101");
  CHECK(code_of([&] { kernel.freeze({{"g", numbers({3}, 0, f64)}}); }) == "E0203");
  CHECK(code_of([&] { kernel.freeze({{"g", c}, {"v", numbers({4}, 1)}}); }) == "E0102");
  const Kernel frozen = kernel.freeze({{"g", c}});
  CHECK(code_of([&] { frozen.freeze({{"g", c}}); }) == "E0311");
  CHECK(code_of([&] { frozen({{"x", x}, {"g", c}, {"v", c}, {"b", c}}); }) == "E0312");
  CHECK(code_of([&] { kernel.refreeze({{"g", c}}); }) == "E0311");
  CHECK(code_of([&] { frozen.run({x, c}, {x}); }) == "E0308");
}

TEST_CASE("A frozen kernel runs on many threads at once") {
  const Array x = numbers({40, 3}), c = numbers({3}, 1);
  const Kernel frozen = compile(parse(normalise)).freeze({{"g", c}, {"v", c}, {"b", c}});
  const Array wanted = frozen({{"x", x}})["y"];
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const Array y = frozen({{"x", x}})["y"];
        wrong += !std::equal(y.data<float>(), y.data<float>() + 120, wanted.data<float>());
      }
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("specialise fixes the extents of labels, in the text") {
  const LoopSpec spec = parse("kernel k {\n  in  x : f32[i, j]\n  in  y : f32[j]\n  let t = x * y\n"
                              "  out z = t + y\n}\n"
                              "kernel w { in x : f32[i]; out z = x[p + 1] - x[p] }",
                              "w");
  CHECK(print(specialise(spec, {{"i", 8}})) ==
        "kernel w {\n  in  x : f32[i=8]\n  out z = x[p + 1] - x[p]\n}\n");
  const LoopSpec two =
      parse("kernel k { in x : f32[i, j]; in y : f32[j]; let t = x * y; out z = t + y }");
  CHECK(print(specialise(two, {{"j", 64}, {"i", 2}})) ==
        "kernel k {\n  in  x : f32[i=2, j=64]\n  in  y : f32[j=64]\n  let t = x * y\n"
        "  out z = t + y\n}\n");
  const Kernel kernel = compile(specialise(two, {{"j", 64}}));
  CHECK(code_of([&] { kernel({{"x", numbers({2, 3})}, {"y", numbers({3})}}); }) == "E0102");
  CHECK(code_of([&] { specialise(two, {{"k", 2}}); }) == "E0046");
  CHECK(code_of([&] { specialise(two, {{"j", 1}}); }) == "E0046");
  CHECK(code_of([&] { specialise(specialise(two, {{"j", 4}}), {{"j", 5}}); }) == "E0046");
}

TEST_CASE("an output is not computed once that is repeated along an axis of another input") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[i, j]; param z : f32[i]\n"
                                      "out a[j, i] = broadcast -z; out b = sum(x) }"));
  const Array x = numbers({2, 3}), z = numbers({2});
  const Array plain = kernel({{"x", x}, {"z", z}})["a"];
  const Array made = kernel.freeze({{"z", z}})({{"x", x}})["a"];
  REQUIRE(made.size() == 6);
  CHECK(std::memcmp(made.data<float>(), plain.data<float>(), 6 * sizeof(float)) == 0);
}

TEST_CASE("A schedule says nothing of lets that were computed once") {
  const Array w = numbers({3}, 1), x = numbers({9});
  const auto same = [&](const std::string &statements, const std::string &text) {
    const Kernel kernel = compile(parse("kernel k {\n" + statements + "\n}"));
    const Kernel frozen = kernel.freeze({{"w", w}});
    CHECK(print(frozen.spec()) == "kernel k {\n" + text + "}\n");
    const Array whole = kernel({{"x", x}, {"w", w}})["y"], rest = frozen({{"x", x}})["y"];
    REQUIRE(rest.size() == whole.size());
    CHECK(std::memcmp(rest.data<float>(), whole.data<float>(),
                      std::size_t(whole.size()) * sizeof(float)) == 0);
  };
  // An array that is gone, and one that stays.
  same("in x : f32[n]\nparam w : f32[u]\nlet h[u] = exp(w[u])\nlet t[n] = x[n] * 2\n"
       "out y[i] = sum(t[i + u] * h[u + 0], u)\n"
       "schedule { keep h; keep t; separate h, t; serial i }",
       "  in  x : f32[n]\n  param w : f32[u]\n  param h_1 : f32[:]\n  let t[n] = x[n] * 2\n"
       "  out y[i] = sum(t[i + u] * h_1[u + 0], u)\n"
       "  schedule {\n    keep t\n    serial i\n  }\n");
  // A value, in a kernel with arrays and in one without.
  same("in x : f32[n]\nparam w : f32[u]\nlet v = exp(w) / 3\nlet t[n] = x[n] * 2\n"
       "out y[i] = sum(t[i + u] * v, u)\nschedule { recompute v; fuse v, y; keep t }",
       "  in  x : f32[n]\n  param w_1 : f32[u]\n  let t[n] = x[n] * 2\n"
       "  out y[i] = sum(t[i + u] * w_1, u)\n  schedule {\n    keep t\n  }\n");
}

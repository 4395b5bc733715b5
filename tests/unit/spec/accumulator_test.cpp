// Accumulators, those of the user and scans from text to numbers, the same in every engine.
#include "analysis/analyse.hpp"
#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

using namespace broadloom;

namespace {

template <class T> std::vector<T> values(const Array &a) {
  return std::vector<T>(a.data<T>(), a.data<T>() + a.size());
}

// Runs the kernel in every engine and hands each result to `check`.
template <class Check>
void everywhere(const LoopSpec &spec, const std::vector<AnyView> &inputs, const Check &check) {
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::automatic}) {
    Options options;
    options.engine = engine;
    const Kernel kernel = compile(spec, options);
    std::vector<NamedView> named;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      named.push_back({spec.data().inputs[i]->name, inputs[i]});
    INFO("engine " << int(engine));
    check(kernel.call(named));
  }
}

LoopSpec kernel(const std::string &body) { return parse("kernel k {\n" + body + "\n}"); }

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

using I = std::vector<std::int64_t>;
using D = std::vector<double>;
using F = std::vector<float>;

const char *const damped = "accumulator damped(a; m) {\n  init a = 0\n  step a = 0.5 * a + m\n}\n";

// The variance by two passes in extended precision.
template <class T> long double two_pass(const std::vector<T> &x) {
  long double sum = 0, squares = 0;
  for (T v : x) sum += v;
  const long double mean = sum / (long double)(x.size());
  for (T v : x) squares += (v - mean) * (v - mean);
  return squares / (long double)(x.size());
}

template <class T> std::vector<T> shifted_noise(std::size_t n) {
  std::mt19937_64 random(7);
  std::vector<T> x;
  for (std::size_t k = 0; k < n; ++k) x.push_back(T(1e8 + double(random() >> 11) * 0x1p-53 * 100));
  return x;
}

} // namespace

TEST_CASE("var, std and norm are NumPy's, with its dtypes") {
  const F x{1, 2, 4, 8, -1, 0};
  everywhere(kernel("in x : f32[i, j]\nout v = var(x, j)\nout s = std(x, j, correction=1)\n"
                    "out n[] = reduce(norm) x\nout d = var(i32(x), i)"),
             {View<const float>(x.data(), {2, 3})}, [](const Results &r) {
               CHECK(r["v"].dtype() == f32);
               CHECK(values<float>(r["v"])[0] == doctest::Approx(14.0 / 9));
               CHECK(values<float>(r["s"])[1] == doctest::Approx(std::sqrt(146.0 / 6)));
               CHECK(*r["n"].data<float>() == doctest::Approx(std::sqrt(86.0)));
               CHECK(values<double>(r["d"]) == D{12.25, 2.25, 4});
             });
}

TEST_CASE("var of data far from zero is as good as two passes") {
  const auto x = shifted_noise<double>(300'001);
  const auto y = shifted_noise<float>(300'001);
  const double exact_x = double(two_pass(x)), exact_y = double(two_pass(y));
  everywhere(kernel("in x : f64[i]\nin y : f32[j]\nout a = var(x)\nout b : f64 = var(y)"),
             {View<const double>(x.data(), {300'001}), View<const float>(y.data(), {300'001})},
             [&](const Results &r) {
               const double a = *r["a"].data<double>(), b = *r["b"].data<double>();
               CHECK(std::fabs(a - exact_x) / exact_x < 1e-13);
               CHECK(std::fabs(b - exact_y) / exact_y < 1e-13);
             });
}

TEST_CASE("var of no more elements than its correction has no finite value") {
  const D x{3, 5};
  everywhere(kernel("in x : f64[i]\nout a = var(x, correction=2)\nout b = var(x, correction=9)\n"
                    "out c = var(0 * x, correction=2)"),
             {View<const double>(x.data(), {2})}, [](const Results &r) {
               CHECK(*r["a"].data<double>() == inf);
               CHECK(*r["b"].data<double>() == inf);
               CHECK(std::isnan(*r["c"].data<double>()));
             });
  everywhere(kernel("in x : f64[i]\nout a = var(x)\nout b = norm(x)"),
             {View<const double>(x.data(), {0})}, [](const Results &r) {
               CHECK(std::isnan(*r["a"].data<double>()));
               CHECK(*r["b"].data<double>() == 0);
             });
}

TEST_CASE("logsumexp neither overflows nor loses infinities") {
  const D x{1000, 1000, -inf, -inf, inf, 1, not_a_number, 1, -1000, -inf};
  everywhere(kernel("in x : f64[i, j]\nout l = logsumexp(x, j)"),
             {View<const double>(x.data(), {5, 2})}, [](const Results &r) {
               const D l = values<double>(r["l"]);
               CHECK(l[0] == doctest::Approx(1000 + std::log(2.0)).epsilon(1e-15));
               CHECK(l[1] == -inf);
               CHECK(l[2] == inf);
               CHECK(std::isnan(l[3]));
               CHECK(l[4] == -1000);
             });
  everywhere(kernel("in x : f64[i]\nout l = logsumexp(x)"), {View<const double>(x.data(), {0})},
             [](const Results &r) { CHECK(*r["l"].data<double>() == -inf); });
}

TEST_CASE("argmin and argmax give the first of equals, or the first NaN") {
  const F x{1, 3, 3, 0, -0.0f, 0, 2, float(not_a_number), float(not_a_number)};
  everywhere(kernel("in x : f32[i, j]\nout a = argmax(x, j)\nout b = argmin(x, j)\n"
                    "out c[] = reduce(argmin) x\nout d = argmax(x > 1, j)\nout e = argmax(x, i)"),
             {View<const float>(x.data(), {3, 3})}, [](const Results &r) {
               CHECK(values<std::int64_t>(r["a"]) == I{1, 0, 1});
               CHECK(values<std::int64_t>(r["b"]) == I{0, 0, 1});
               CHECK(values<std::int64_t>(r["c"]) == I{7});
               CHECK(values<std::int64_t>(r["d"]) == I{1, 0, 0});
               CHECK(values<std::int64_t>(r["e"]) == I{2, 2, 2});
             });
}

TEST_CASE("the index of argmax is logical, however the operand lies") {
  D x(60 * 70, 0);
  x[31 * 60 + 17] = 1; // element [17, 31] of a column-major array
  const View<const double> by_column(x.data(), {60, 70}, {1, 60});
  everywhere(kernel("in x : f64[i, j]\nout a = argmax(x)\nout b = argmax(x, j, i)"), {by_column},
             [](const Results &r) {
               CHECK(*r["a"].data<std::int64_t>() == 17 * 70 + 31);
               CHECK(*r["b"].data<std::int64_t>() == 17 * 70 + 31);
             });
}

TEST_CASE("argmax over the axes that like= folds at a call counts only these") {
  const F x{1, 5, 2, 7, 0, 3}, w{0, 0, 0};
  const LoopSpec spec =
      kernel("in x : f32[:, :]\nin w : f32[:, :]\nout z = argmax(x, like=w)\nout y = w");
  const View<const float> xv(x.data(), {2, 3});
  auto run = [&](std::vector<std::int64_t> shape, const I &expected) {
    everywhere(spec, {xv, View<const float>(w.data(), shape)},
               [&](const Results &r) { CHECK(values<std::int64_t>(r["z"]) == expected); });
  };
  run({1, 3}, {1, 0, 1});
  run({1, 1}, {3});
}

TEST_CASE("argmax of nothing is an error, unless it starts somewhere") {
  const D x{1};
  const View<const double> none(x.data(), {0});
  CHECK_THROWS_AS(compile(kernel("in x : f64[i]\nout a = argmax(x)"))({{"x", none}}), DataError);
  everywhere(kernel("in x : f64[i]\nout a = argmax(x, init=(2, 40))\nout m = max(x, init=-1)"),
             {none}, [](const Results &r) {
               CHECK(*r["a"].data<std::int64_t>() == 40);
               CHECK(*r["m"].data<double>() == -1);
             });
}

TEST_CASE("init= enters once and first, along the axes that it has") {
  const D x{1, 2, 3, 4, 5, 6}, b{10, 20};
  everywhere(parse(std::string(damped) + R"(kernel k {
    in x : f64[i, j]
    in b : f64[i]
    out s = sum(x, j, init=b)
    out t[] = reduce(sum, init=100) x
    out d = damped(x, j, init=b)
    out u[j] = accumulate(max, init=4.5) x
    out w = sum(1 + x * 0, j, init=sum(b))
  })"),
             {View<const double>(x.data(), {2, 3}), View<const double>(b.data(), {2})},
             [](const Results &r) {
               CHECK(values<double>(r["s"]) == D{16, 35});
               CHECK(values<double>(r["t"]) == D{121});
               CHECK(values<double>(r["d"]) == D{5.5, 12});
               CHECK(values<double>(r["u"]) == D{4.5, 5, 6});
               CHECK(values<double>(r["w"]) == D{33, 33});
             });
}

TEST_CASE("acc= says in what to accumulate, not what comes out") {
  const std::vector<std::uint8_t> x{200, 100};
  const F y{1e8f, 1};
  everywhere(
      kernel("in x : u8[i]\nin y : f32[i]\nout a = sum(x, acc=u8)\nout b = sum(x)\n"
             "out v : f64 = var(y, acc=f32)\nout w : f64 = var(y)\n"
             "out c : f64 = sum(y, acc=f32)\nout d : f64 = sum(y)\nout e = mean(x, acc=i32)"),
      {View<const std::uint8_t>(x.data(), {2}), View<const float>(y.data(), {2})},
      [](const Results &r) {
        CHECK(r["a"].dtype() == u64);
        CHECK(*r["a"].data<std::uint64_t>() == 44);
        CHECK(*r["b"].data<std::uint64_t>() == 300);
        CHECK(*r["c"].data<double>() == 1e8);
        CHECK(*r["d"].data<double>() == 1e8 + 1);
        CHECK(*r["e"].data<double>() == 150);
      });
}

TEST_CASE("an accumulator of the user folds in order where it has no combine") {
  const F x{1, 2, 3, 4, 5, 6};
  const LoopSpec spec = parse(std::string(damped) + R"(kernel k {
    in x : f32[i, j]
    out a = damped(x, j)
    out b[j] = reduce(damped) x
    out c[] = accumulate(damped) x
  })");
  everywhere(spec, {View<const float>(x.data(), {2, 3})}, [](const Results &r) {
    CHECK(r["a"].dtype() == f32);
    CHECK(values<float>(r["a"]) == F{4.25f, 9.5f});
    CHECK(values<float>(r["b"]) == F{4.5f, 6, 7.5f});
    CHECK(*r["c"].data<float>() == 10.03125f); // logical order, the last axis fastest
  });
  const auto notes = analysis::analyse(spec.data()).notes;
  REQUIRE(notes.size() == 3);
  CHECK(notes[0].topic == "ordered");
  CHECK(notes[0].text ==
        "'damped' has no combine: its fold over axis 'j' is serial, in logical order");
}

TEST_CASE("where the order of blocks matters, STATE_other is the later one") {
  // The last value, and x -> a x + b composed over a and b modulo a prime: both exact, neither
  // commutes.
  const std::vector<LoopSpec> specs = parse_all(R"(
    accumulator last(v, n; x) {
      init v = 0, n = 0; step v = x, n = 1
      combine v = where(n_other > 0, v_other, v), n = maximum(n, n_other)
    }
    accumulator compose(a, b; p, q) {
      init a = 1, b = 0
      step a = p * a % 8191, b = (p * b + q) % 8191
      combine a = a_other * a % 8191, b = (a_other * b + b_other) % 8191
      result a * 8191 + b
    }
    kernel k { in x : i64[i, j]
      out l = last(x); out li = last(x, i); out lj = last(x, j)
      out c = compose((x, x + 1)); out ci = compose((x, x + 1), i); out cj = compose((x, x + 1), j) })");
  const std::int64_t rows = 70, columns = 997; // several leaves of 128, and chunks for two threads
  I x, by_columns(std::size_t(rows * columns));
  for (std::int64_t k = 0; k < rows * columns; ++k) x.push_back((k * 7919 + 3) % 8190 + 1);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      by_columns[std::size_t(j * rows + i)] = x[std::size_t(i * columns + j)];

  struct Composed {
    std::int64_t a = 1, b = 0;
    void step(std::int64_t p) { a = p * a % 8191, b = (p * b + p + 1) % 8191; }
    std::int64_t result() const { return a * 8191 + b; }
  };
  Composed whole;
  std::vector<Composed> down(columns), along(rows);
  for (std::int64_t k = 0; k < rows * columns; ++k) {
    whole.step(x[std::size_t(k)]);
    down[std::size_t(k % columns)].step(x[std::size_t(k)]);
    along[std::size_t(k / columns)].step(x[std::size_t(k)]);
  }
  const AnyView layouts[] = {
      View<const std::int64_t>(x.data(), {rows, columns}),
      View<const std::int64_t>(by_columns.data(), {rows, columns}, {1, rows})};
  for (const AnyView &layout : layouts)
    everywhere(specs[0], {layout}, [&](const Results &r) {
      CHECK(*r["l"].data<std::int64_t>() == x.back());
      CHECK(values<std::int64_t>(r["li"]) == I(x.end() - columns, x.end()));
      CHECK(*r["c"].data<std::int64_t>() == whole.result());
      bool right = true;
      for (std::int64_t i = 0; i < rows; ++i) {
        right &= values<std::int64_t>(r["lj"])[i] == x[std::size_t((i + 1) * columns - 1)];
        right &= values<std::int64_t>(r["cj"])[i] == along[std::size_t(i)].result();
      }
      for (std::int64_t j = 0; j < columns; ++j)
        right &= values<std::int64_t>(r["ci"])[j] == down[std::size_t(j)].result();
      CHECK(right);
    });
}

TEST_CASE("an accumulator may have several states, arguments and kernels that use it") {
  const D x{1, 2, 3, 4, 5, 6}, w{1, 0, 1};
  const std::vector<LoopSpec> specs = parse_all(R"(
    accumulator weighted(s, n; x, w) {
      init s = 0, n = 0; step s = s + x * w, n = n + w
      combine s = s + s_other, n = n + n_other
      result s / n
    }
    kernel a { in x : f64[i, j]; in w : f64[j]; out m = weighted((x, w), j) }
    kernel b { in x : f64[i, j]; in w : f64[j]; out m = weighted((x, 2), i, j) - weighted((x, w)) })");
  const std::vector<AnyView> inputs{View<const double>(x.data(), {2, 3}),
                                    View<const double>(w.data(), {3})};
  everywhere(specs[0], inputs, [](const Results &r) { CHECK(values<double>(r["m"]) == D{2, 5}); });
  everywhere(specs[1], inputs, [](const Results &r) { CHECK(values<double>(r["m"]) == D{0}); });
}

TEST_CASE("a state has the type that its init and its step promote to") {
  const std::vector<std::int32_t> x{5, -7, 2};
  everywhere(parse(R"(
    accumulator count(n; x) { init n = 0; step n = n + 1; combine n = n + n_other }
    accumulator most(m; x) { init m = 0; step m = maximum(m, abs(x)); combine m = maximum(m, m_other) }
    accumulator share(s; x) { init s = 0; step s = s + x / 2 }
    accumulator seen(b; x) { init b = false; step b = b || x > 4; combine b = b || b_other }
    kernel k { in x : i32[i]; out a = count(x); out b = most(x); out c = share(x); out d = seen(x)
               out e = seen(x, i) ? 1 : 2 ; out f = most(x, acc=i32) })"),
             {View<const std::int32_t>(x.data(), {3})}, [](const Results &r) {
               CHECK(*r["a"].data<std::int64_t>() == 3);
               CHECK(*r["b"].data<std::int64_t>() == 7);
               CHECK(*r["c"].data<double>() == 0);
               CHECK(*r["d"].data<bool>());
               CHECK(*r["e"].data<std::int64_t>() == 1);
               CHECK(*r["f"].data<std::int32_t>() == 7);
             });
}

TEST_CASE("where nothing folds an accumulator takes one step") {
  const D x{4, 9};
  everywhere(parse(R"(
    accumulator count(n; x) { init n = 0; step n = n + 1; combine n = n + n_other }
    kernel k { in x : f64[i]; out a = reduce(count) x; out b = reduce(var) x
               out c = reduce(argmax) x; out d = reduce(norm) -x; out e = reduce(sum, init=1) x })"),
             {View<const double>(x.data(), {2})}, [](const Results &r) {
               CHECK(values<std::int64_t>(r["a"]) == I{1, 1});
               CHECK(values<double>(r["b"]) == D{0, 0});
               CHECK(values<std::int64_t>(r["c"]) == I{0, 0});
               CHECK(values<double>(r["d"]) == D{4, 9});
               CHECK(values<double>(r["e"]) == D{5, 10});
             });
}

TEST_CASE("a scan gives the running value, also from the end and before each step") {
  const F x{1, 2, 3, 4, 5, 6};
  everywhere(parse(std::string(damped) + R"(kernel k {
    in x : f32[i, j]
    out a = scan(sum, x, j)
    out b = scan(sum, x, j, reverse)
    out c = scan(sum, x, j, exclusive)
    out d = scan(max, -x, 0, exclusive, init=-4)
    out e = scan(damped, x, j, exclusive, reverse, init=8)
    out f = scan(prod, i32(x), i)
    out g = scan(mean, x, j, reverse)
    out h = scan(std, x, j)
  })"),
             {View<const float>(x.data(), {2, 3})}, [](const Results &r) {
               CHECK(values<float>(r["a"]) == F{1, 3, 6, 4, 9, 15});
               CHECK(values<float>(r["b"]) == F{6, 5, 3, 15, 11, 6});
               CHECK(values<float>(r["c"]) == F{0, 1, 3, 0, 4, 9});
               CHECK(values<float>(r["d"]) == F{-4, -4, -4, -1, -2, -3});
               CHECK(values<float>(r["e"]) == F{5.5f, 7, 8, 10, 10, 8});
               CHECK(values<std::int64_t>(r["f"]) == I{1, 2, 3, 4, 10, 18});
               CHECK(values<float>(r["g"]) == F{2, 2.5f, 3, 5, 5.5f, 6});
               CHECK(values<float>(r["h"])[1] == 0.5f);
             });
}

TEST_CASE("a scan gives a state where it is asked for one") {
  const D x{3, 1, 4, 1, 5};
  everywhere(
      kernel("in x : f64[i]\nout a = scan(argmax, x, i)\nout b = scan(argmax, x, i, state=v)\n"
             "out c = scan(argmin, x, i, reverse)\nout d = sum(scan(sum, x, i) * iota(i))"),
      {View<const double>(x.data(), {5})}, [](const Results &r) {
        CHECK(values<std::int64_t>(r["a"]) == I{0, 0, 2, 2, 4});
        CHECK(values<double>(r["b"]) == D{3, 3, 4, 4, 5});
        CHECK(values<std::int64_t>(r["c"]) == I{1, 1, 3, 3, 4});
        CHECK(*r["d"].data<double>() == 4 + 16 + 27 + 56);
      });
}

TEST_CASE("long scans and folds agree: the last of one is the other") {
  const auto x = shifted_noise<double>(50'001);
  everywhere(
      kernel("in x : f64[i]\nlet last = iota(i) == extent(i) - 1\n"
             "out a = sum(where(last, scan(var, x, i), 0)) / var(x)\n"
             "out b = sum(where(last, scan(logsumexp, x * 1e-6, i), 0)) - logsumexp(x * 1e-6)\n"
             "out c = max(scan(argmax, x, i)) - argmax(x)"),
      {View<const double>(x.data(), {50'001})}, [](const Results &r) {
        CHECK(*r["a"].data<double>() == doctest::Approx(1).epsilon(1e-12));
        CHECK(std::fabs(*r["b"].data<double>()) < 1e-12);
        CHECK(*r["c"].data<std::int64_t>() == 0);
      });
}

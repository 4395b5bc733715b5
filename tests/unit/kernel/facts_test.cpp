// What is declared of all elements of a parameter: each call looks whether it holds.
#include "unit/kernel/calls.hpp"

#include <xmmintrin.h>

#include <cmath>
#include <complex>
#include <limits>

using namespace broadloom;
using tests::error_of;
using tests::has;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

Array f64s(std::vector<double> values) {
  Array array(f64, {std::int64_t(values.size())});
  std::copy(values.begin(), values.end(), array.data<double>());
  return array;
}

const std::vector<Options> all_ways = [] {
  std::vector<Options> ways;
  for (const Engine engine :
       {Engine::automatic, Engine::jit, Engine::interpreter, Engine::reference})
    for (const Debug debug : {Debug::none, Debug::all}) {
      ways.push_back(tests::with(engine));
      ways.back().debug = debug;
    }
  return ways;
}();

std::string layer(const std::string &scales) {
  return "kernel layer {\n  set scales = " + scales +
         "\n  in    x : f64[n, k]\n  param w : f64[k, o]\n  param s : f64[o] > 0\n"
         "  out y = relu(sum(x * w, k)) * s\n}\n";
}

Array ones(std::vector<std::int64_t> shape) {
  Array array(f64, shape);
  std::fill_n(array.data<double>(), array.size(), 1.0);
  return array;
}

} // namespace

TEST_CASE("A fact that does not hold is told by each call in each engine, and nothing is written") {
  const Array x = ones({2, 3}), w = ones({3, 4}), bad = f64s({1, 2, -1, 0}),
              good = f64s({1, 2, 1, 3});
  for (const std::string scales : {"fold", "keep"})
    for (const Options &options : all_ways) {
      CAPTURE(scales);
      CAPTURE(int(options.engine));
      const Kernel kernel = compile(parse(layer(scales)), options);
      Array y = ones({2, 4});
      const auto is_told = [&](const auto &call) {
        try {
          call();
        } catch (const DataError &error) {
          CHECK(error.code() == "E0313");
          CHECK(error.message() == "parameter 's' is declared > 0, and its element at [2] is -1.0");
          CHECK(error.where().line == 5);
          CHECK(has(error.help(), "> 0"));
          return std::ranges::all_of(tests::values(y), [](double v) { return v == 1; });
        }
        return false;
      };
      CHECK(is_told([&] { kernel.run({x, w, bad}, {y}); }));
      CHECK(is_told([&] { kernel.run({{"x", x}, {"w", w}, {"s", bad}}, {{"y", y}}); }));
      CHECK(is_told([&] { kernel({{"x", x}, {"w", w}, {"s", bad}}); }));
      kernel.prepare({x, w, bad}); // looks at layouts only
      CHECK(is_told([&] { kernel.run({x, w, bad}, {y}); }));

      // A bound call looks at what lies there when it is called.
      const Array changes = good.copy();
      const BoundCall bound = kernel.bind({x, w, changes}, {y});
      bound();
      CHECK(tests::values(y)[3] == 9);
      std::fill_n(y.data<double>(), y.size(), 1.0);
      changes.data<double>()[2] = -1;
      CHECK(is_told([&] { bound(); }));
      changes.data<double>()[2] = 5;
      bound();
      CHECK(tests::values(y)[2] == 15);

      std::fill_n(y.data<double>(), y.size(), 1.0);
      CHECK(is_told([&] { kernel.freeze({{"s", bad}}); }));
      const Kernel frozen = kernel.freeze({{"s", good}});
      CHECK(is_told([&] { frozen.refreeze({{"s", bad}}); }));
      frozen.run({x, w}, {y});
      CHECK(tests::values(y)[3] == 9);
      std::fill_n(y.data<double>(), y.size(), 1.0);
      // Where others are frozen, those that are left are looked at.
      const Kernel other = kernel.freeze({{"w", w}});
      CHECK(is_told([&] { other.run({x, bad}, {y}); }));
      other.run({x, good}, {y});
      CHECK(tests::values(y)[3] == 9);
    }
}

TEST_CASE("Facts are asked of kernels with lets that are arrays, loops, windows, sums by position "
          "and states") {
  const Array bad = f64s({3, -0.5, 1}), good = f64s({3, 0.5, 1}), x = f64s({1, 2, 3});
  Array k(i64, {3});
  for (int i = 0; i < 3; ++i) k.data<std::int64_t>()[i] = i % 2;
  for (const char *body :
       {"let h[i] = x * s; out y[i] = h[i] + h[2 - i]",
        "let h[t < 4, i] = h[t - 1, i] * s from x; out y[i] = h[-1, i]",
        "out y[n < 2] = x[n + 1] * s[n]", "out y = sum(x * s, like=x[k[i]])",
        "out y[i < 3] = pad(s, 0: (1, 1), edge)[i + 2] + x[i]", "out y = sum(exp(x), i)"})
    for (const Options &options : all_ways) {
      CAPTURE(body);
      CAPTURE(int(options.engine));
      const bool reads_k = has(body, "k[i]");
      const Kernel kernel =
          compile(tests::kernel_of(std::string("in x : f64[i]; param s : f64[i] >= 0; ") +
                                   (reads_k ? "in k : i64[i]; " : "") + body),
                  options);
      const auto inputs = [&](const Array &s) {
        std::vector<NamedView> all{{"x", x}, {"s", s}};
        if (reads_k) all.push_back({"k", k});
        return all;
      };
      CHECK(error_of([&] { kernel.call(inputs(bad)); }).code == "E0313");
      const Results right = kernel.call(inputs(good));
      const Array changes = good.copy(), y = right["y"].copy();
      std::vector<NamedView> bound = inputs(changes);
      const BoundCall call = kernel.bind_named(bound, std::vector<NamedView>{{"y", y}});
      call();
      changes.data<double>()[0] = no_number;
      CHECK(error_of([&] { call(); }).code == "E0313");
      CHECK(tests::bytes(y) == tests::bytes(right["y"]));
    }

  StatefulKernel step(
      parse("kernel k { state w : f64[i=3]; param s : f64[i] > 0; update w = w + s }"));
  CHECK(error_of([&] { step.run({{"s", bad}}, {}); }).code == "E0313");
  step.run({{"s", good}}, {});
  CHECK(tests::values(step.get("w")) == tests::values(good));
}

TEST_CASE("Facts are asked of each block of the data, and of what the blocks are combined with") {
  const Array x = ones({300, 2}), bad = f64s({1, 0}), good = f64s({1, 2});
  const Kernel kernel = compile(
      parse("kernel k { in x : f64[i, j]; param s : f64[j] > 0; param t : f64[j] < 0; out y[j] = "
            "sum(x * s, i) * t }"));
  const Array negative = f64s({-1, -2});
  CHECK(error_of([&] { kernel.partial("i", 0, {{"x", x}, {"s", bad}, {"t", negative}}); }).code ==
        "E0313");
  const Partial block = kernel.partial("i", 0, {{"x", x}, {"s", good}, {"t", negative}});
  const std::vector<Partial> blocks{block};
  CHECK(error_of([&] { kernel.combine(blocks, std::vector<NamedView>{{"t", good}}); }).code ==
        "E0313");
  CHECK(tests::values(kernel.combine(blocks, std::vector<NamedView>{{"t", negative}})["y"]) ==
        std::vector<double>{-300, -1200});
}

TEST_CASE(
    "Each fact holds of the numbers that it says, of every dtype and layout; NaN has no sign") {
  const std::vector<std::pair<Sign, std::string>> facts = {{Sign::positive, "> 0"},
                                                           {Sign::nonnegative, ">= 0"},
                                                           {Sign::negative, "< 0"},
                                                           {Sign::nonpositive, "<= 0"},
                                                           {Sign::nonzero, "!= 0"}};
  const auto holds = [](Sign fact, double v) {
    switch (fact) {
    case Sign::positive: return v > 0;
    case Sign::nonnegative: return v >= 0;
    case Sign::negative: return v < 0;
    case Sign::nonpositive: return v <= 0;
    default: return v < 0 || v > 0;
    }
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> odd = {0,          -0.0,     1,         -1,     no_number,
                                   -no_number, infinity, -infinity, 5e-324, -5e-324};
  for (const DType dtype : {DType::Bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64})
    for (const auto &[fact, text] : facts) {
      const Kernel kernel = compile(tests::kernel_of("param s : " + std::string(name(dtype)) +
                                                     "[:, :] " + text + "; out y = s"),
                                    tests::with(Engine::interpreter));
      for (const double v : odd) {
        const double written = v != 0 && std::abs(v) < 1e-300 && dtype != f64
                                   ? std::copysign(dtype == f16 ? 6e-8 : 1e-40, v)
                                   : v; // the least numbers above 0
        if (!is_float(dtype) && (written != std::trunc(written) || std::isinf(written))) continue;
        if (written < 0 && (dtype == DType::Bool || is_unsigned_integer(dtype))) continue;
        // Such an element among many that hold, in each layout.
        Array all(dtype, {7, 70});
        const double holding = fact == Sign::negative || fact == Sign::nonpositive ? -1 : 1;
        if (holding < 0 && (dtype == DType::Bool || is_unsigned_integer(dtype))) continue;
        const auto put = [&](std::int64_t at, double value) {
          char *to = static_cast<char *>(all.raw()) + at * std::int64_t(size_of(dtype));
          switch (dtype) {
          case DType::F64: *reinterpret_cast<double *>(to) = value; break;
          case DType::F32: *reinterpret_cast<float *>(to) = float(value); break;
          case DType::F16: *reinterpret_cast<float16 *>(to) = float16(value); break;
          case DType::BF16: *reinterpret_cast<bfloat16 *>(to) = bfloat16(value); break;
          default:
            for (std::size_t b = 0; b < size_of(dtype); ++b)
              to[b] = b == 0 ? char(value) : value < 0 ? char(-1) : char(0);
          }
        };
        for (std::int64_t k = 0; k < all.size(); ++k) put(k, holding);
        put(3 * 70 + 68, written);
        const auto size = std::int64_t(size_of(dtype));
        const AnyView whole = all;
        AnyView turned = whole, sparse = whole;
        turned.layout =
            strided_layout(std::vector<std::int64_t>{70, 7}, std::vector<std::int64_t>{1, 70});
        sparse.layout =
            strided_layout(std::vector<std::int64_t>{7, 35}, std::vector<std::int64_t>{70, 2});
        AnyView backwards = whole;
        backwards.data = static_cast<char *>(whole.data) + (all.size() - 1) * size;
        backwards.layout =
            strided_layout(std::vector<std::int64_t>{7, 70}, std::vector<std::int64_t>{-70, -1});
        for (const auto &[view, at] :
             std::vector<std::pair<AnyView, std::string>>{{whole, "[3, 68]"},
                                                          {turned, "[68, 3]"},
                                                          {sparse, "[3, 34]"},
                                                          {backwards, "[3, 1]"}}) {
          CAPTURE(name(dtype));
          CAPTURE(text);
          CAPTURE(written);
          const auto caught = error_of([&] { kernel({{"s", view}}); });
          CHECK(caught.code == (holds(fact, written) ? "" : "E0313"));
          if (!holds(fact, written)) CHECK(has(caught.message, "its element at " + at + " is "));
          if (!holds(fact, written)) CHECK(has(caught.message, "no sign") == std::isnan(written));
        }
      }
    }
}

TEST_CASE(
    "Of complex numbers a fact says that none is 0, and a parameter of no element has every sign") {
  Array z(c128, {2});
  z.data<std::complex<double>>()[0] = {0, 1};
  const Kernel kernel = compile(tests::kernel_of("param s : c128[:] != 0; out y = s"));
  CHECK(error_of([&] { kernel({{"s", z}}); }).code == "E0313");
  z.data<std::complex<double>>()[1] = {-1, 0};
  CHECK(error_of([&] { kernel({{"s", z}}); }).code.empty());
  z.data<std::complex<double>>()[1] = {-1, no_number};
  CHECK(error_of([&] { kernel({{"s", z}}); }).code == "E0313");
  const Kernel none = compile(tests::kernel_of("param s : f64[:] > 0; out y = sum(s)"));
  CHECK(tests::values(none({{"s", Array(f64, {0})}})["y"]) == std::vector<double>{0});
  const Kernel single = compile(tests::kernel_of("param s : f64 > 0; out y = s"));
  CHECK(error_of([&] { single({{"s", Array(f64, {})}}); }).message ==
        "parameter 's' is declared > 0, and it is 0.0");
}

TEST_CASE(
    "Facts are asked after shapes and pointers, and whatever the caller's floating-point world") {
  const Kernel kernel =
      compile(tests::kernel_of("in x : f64[i]; param s : f64[i] > 0; out y = argmax(x * s, i)"));
  const Array x = ones({3}), bad = f64s({1, 1, -1}), longer = f64s({1, 1, -1, 1});
  CHECK(error_of([&] { kernel({{"x", x}, {"s", bad}}); }).code == "E0313");
  CHECK(error_of([&] { kernel({{"x", x}, {"s", longer}}); }).code == "E0102");
  CHECK(error_of([&] { kernel({{"x", x}, {"s", Array(f32, {3})}}); }).code == "E0203");
  AnyView nothing = bad;
  nothing.data = nullptr;
  CHECK(error_of([&] { kernel({{"x", x}, {"s", nothing}}); }).code == "E0306");
  Array small = f64s({5e-324, 1, 1});
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); // subnormals count as 0
  const std::string code = error_of([&] { kernel({{"x", x}, {"s", small}}); }).code;
  CHECK((_mm_getcsr() & 0x8040) == 0x8040);
  _mm_setcsr(before);
  CHECK(code.empty());
}

TEST_CASE("A gradient is checked where a parameter is as small as its fact allows") {
  const LoopSpec spec =
      tests::kernel_of("in x : f64[i]; param v : f64[i] >= 0; out y = x / sqrt(v + 1)");
  const Array x = ones({3}), v = f64s({0, 1, 2});
  CHECK(check_gradient(spec, {{"x", x}, {"v", v}}).passed());
  CHECK(error_of([&] { check_gradient(spec, {{"x", x}, {"v", f64s({0, -0.5, 2})}}); }).code ==
        "E0313");
}

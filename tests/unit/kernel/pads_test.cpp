// Padded inputs: what np.pad makes of an array is what is read at positions, in every engine, dtype
// and layout. The expected numbers are NumPy's.
#include "all_engines.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

using Shape = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

const Numbers data = [] {
  Numbers numbers(5000);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  return numbers;
}();
NamedView named(const char *name, const Shape &shape) {
  return {name, View<const double>(data.data(), shape)};
}
const NamedView x3 = named("x", {3}), x1 = named("x", {1}), x22 = named("x", {2, 2}),
                w3 = named("w", {3});

std::string padding(const std::string &how) {
  return "in x : f64[:]; out y = pad(x, " + how + ")[k]";
}

} // namespace

TEST_CASE("each mode adds what np.pad adds, for several periods and for one element, too") {
  CHECK(values(padding("0: (2, 1)"), {x3}) == Numbers{0, 0, 1, 2, 3, 0});
  CHECK(values(padding("0: (2, 1), zero"), {x3}) == Numbers{0, 0, 1, 2, 3, 0});
  CHECK(values(padding("0: (2, 1), 9"), {x3}) == Numbers{9, 9, 1, 2, 3, 9});
  CHECK(values(padding("0: (1, 0), -2.5"), {x3}) == Numbers{-2.5, 1, 2, 3});
  CHECK(values(padding("0: (5, 6), edge"), {x3}) ==
        Numbers{1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3});
  CHECK(values(padding("0: (5, 6), wrap"), {x3}) ==
        Numbers{2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  CHECK(values(padding("0: (5, 6), reflect"), {x3}) ==
        Numbers{2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1});
  for (const std::string mode : {"edge", "wrap", "reflect"})
    CHECK(values(padding("0: (2, 3), " + mode), {x1}) == Numbers(6, 1));
  CHECK(values(padding("0: (0, 0), reflect"), {x3}) == Numbers{1, 2, 3});
  CHECK(values("in x : f64[:]; out y = pad(x, 0: (1, 2), inf)[2]", {x3}) == Numbers{2});
}

TEST_CASE("several dims are padded at once or one inside the other, where a later one fills the "
          "corners") {
  CHECK(values("in x : f64[:, :]; out y = pad(pad(x, 0: (1, 1), edge), 1: (1, 1), 9)[i, j]",
               {x22}) == Numbers{9, 1, 2, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9, 3, 4, 9});
  CHECK(values("in x : f64[:, :]; out y = pad(pad(x, 0: (1, 0), 8), 1: (1, 1), reflect)[i, j]",
               {x22}) == Numbers{8, 8, 8, 8, 2, 1, 2, 1, 4, 3, 4, 3});
  CHECK(values("in x : f64[:, :]; out y = pad(pad(x, 0: (1, 0), 8), 1: (0, 1), 9)[i, j]", {x22}) ==
        Numbers{8, 8, 9, 1, 2, 9, 3, 4, 9});
  CHECK(values("in x : f64[:, :]; out y = pad(pad(x, 1: (0, 1), 9), 0: (1, 0), 8)[i, j]", {x22}) ==
        Numbers{8, 8, 8, 1, 2, 9, 3, 4, 9});
  CHECK(values("in x : f64[:, :]; out y = pad(x, -1: (1, 1), 0: (1, 0), edge)[i, j]", {x22}) ==
        Numbers{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4});
}

TEST_CASE(
    "a padded dim has the extent of its label and of what is added, and is read as any other") {
  const std::string same = "in x : f64[i]; in w : f64[u]; out y = sum(pad(x, i: (1, 1)";
  CHECK(values(same + ")[i + u] * w, u)", {x3, w3}) == Numbers{8, 14, 8});
  CHECK(values(same + ", edge)[i + u] * w, u)", {x3, w3}) == Numbers{9, 14, 17});
  CHECK(values("in x : f64[:]; let p = pad(x, 0: (1, 1), wrap); out y = p[i + 2] - p[i]", {x3}) ==
        Numbers{-1, 2, -1});
  // From the end, backwards, in steps, at one position.
  CHECK(values("in x : f64[:]; out y = pad(x, 0: (1, 2), 7)[-k]", {x3}) ==
        Numbers{7, 7, 3, 2, 1, 7});
  CHECK(values("in x : f64[:]; out y = pad(x, 0: (1, 2), 7)[2*k + 1]", {x3}) == Numbers{1, 3, 7});
  CHECK(values("in x : f64[:]; out y = pad(x, 0: (0, 2), edge)[-1]", {x3}) == Numbers{3});
  CHECK(code_of("in x : f64[i]; out y = pad(x, i: (1, 1))[i]", {x3}) == "E0102");
  CHECK(code_of("in x : f64[i]; in w : f64[u]; out y = pad(x, i: (1, 0))[i + u] * w", {x3, w3}) ==
        "E0142");
  CHECK(code_of("in x : f64[:]; out y = pad(x, 0: (1, 1))[5]", {x3}) == "E0142");
}

TEST_CASE("every dtype is padded with its own numbers") {
  for (const DType dtype :
       {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128}) {
    const std::string type(name(dtype));
    const Array x = run("in x : f64[k]; out y : " + type + " = x % 2", {x3});
    const std::string number = dtype == DType::Bool ? "true" : "1";
    for (const std::string &mode : {std::string("zero"), number, std::string("wrap")}) {
      const Array y =
          run("in x : " + type + "[:]; out y = pad(x, 0: (1, 2), " + mode + ")[k]", {{"x", x}});
      const Array wide = run("in y : " + type + "[k]; out z : f64 = real(" +
                                 (dtype == DType::Bool ? "f64(y)" : "y") + ")",
                             {{"y", y}});
      const double before = mode == "zero" ? 0 : 1, second = mode == "wrap" ? 0 : before;
      CHECK(Numbers(wide.data<double>(), wide.data<double>() + 6) ==
            Numbers{before, 1, 0, 1, before, second});
    }
  }
}

TEST_CASE("arrays in any order, reversed and stepped, are padded by what they show") {
  const std::string body =
      "in x : f64[:, :]; out y = pad(pad(x, 0: (2, 3), reflect), 1: (1, 2), wrap)[i, j]";
  const Array x(f64, {3, 4});
  std::iota(x.data<double>(), x.data<double>() + 12, 1.0);
  const Array other(f64, {4, 3});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) other.data<double>()[j * 3 + i] = x.data<double>()[i * 4 + j];
  const Array plain = run(body, {{"x", x}});
  CHECK(bytes(run(body, {{"x", other.transposed()}})) == bytes(plain));
  Numbers spread(200, -1);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      spread[std::size_t(100 - 40 * i + 3 * j)] = x.data<double>()[i * 4 + j];
  CHECK(bytes(run(body, {{"x", View<const double>(spread.data() + 100, {3, 4}, {-40, 3})}})) ==
        bytes(plain));
  // A row that is repeated.
  CHECK(values(body, {{"x", View<const double>(data.data(), {2, 3}, {0, 1})}}).size() == 7 * 6);
}

TEST_CASE("arrays of no element have borders of numbers only") {
  const NamedView x0 = named("x", {0}), x03 = named("x", {0, 3});
  CHECK(values(padding("0: (2, 1), 4"), {x0}) == Numbers(3, 4));
  for (const std::string mode : {"edge", "wrap", "reflect"}) {
    CHECK(code_of(padding("0: (2, 1), " + mode), {x0}) == "E0143");
    CHECK(code_of("in x : f64[:, :]; out y = pad(x, 0: (0, 1), " + mode + ")[i, j]", {x03}) ==
          "E0143");
    CHECK(values("in x : f64[:, :]; out y = pad(x, 1: (1, 1), " + mode + ")[i, j]", {x03}).empty());
    CHECK(values(padding("0: (0, 0), " + mode), {x0}).empty());
  }
}

TEST_CASE(
    "an output on a padded input has what it would have elsewhere, and a bound call pads again") {
  for (const Engine engine : {Engine::interpreter, Engine::jit, Engine::reference})
    for (const int threads : {1, 3}) {
      const Kernel kernel = compile(
          parse("kernel k { in x : f64[i]; in w : f64[u]; let p = pad(x, i: (1, 1), reflect);"
                "out y = sum(p[i + u] * w, u) }"),
          with(engine, threads));
      Numbers in = data, apart(5000);
      const View<const double> w(data.data(), {3});
      kernel.run({View<const double>(in.data(), {5000}), w}, {View<double>(apart.data(), {5000})});
      kernel.run({View<const double>(in.data(), {5000}), w}, {View<double>(in.data(), {5000})});
      CHECK(in == apart);
    }
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[:]; out y = pad(x, 0: (1, 1), edge)[k] }"));
  Numbers x{1, 2}, y(4);
  const BoundCall bound =
      kernel.bind({View<const double>(x.data(), {2})}, {View<double>(y.data(), {4})});
  bound();
  CHECK(y == Numbers{1, 1, 2, 2});
  x = {5, 6};
  bound();
  CHECK(y == Numbers{5, 5, 6, 6});
  CHECK(kernel.infer({View<const double>(x.data(), {2})}).front().shape == Shape{4});
}

TEST_CASE("a padded array that no address holds is an error") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[:, :]; out y = "
                    "sum(pad(x, 0: (1099511627776, 0), 1: (0, 1099511627776))[i, 0], i) }"));
  CHECK_THROWS_WITH_AS(kernel({{"x", View<const double>(data.data(), {2, 2})}}),
                       doctest::Contains("E0112"), ShapeError);
}

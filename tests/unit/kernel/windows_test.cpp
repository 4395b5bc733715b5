// Inputs read at positions: extents, layouts, calls of every kind. Each engine must have the bits
// of the reference, which looks at every element by itself.
#include "all_engines.hpp"

#include <cstring>
#include <numeric>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

using Shape = std::vector<std::int64_t>;

// 1, 2, 3, .. in C order; small numbers, so that any order of adding them up is exact.
template <class T = double> std::vector<T> counting(std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t k = 0; k < count; ++k) values[k] = T(k % 50 + 1);
  return values;
}

Array numbers(DType dtype, const Shape &shape) {
  Array array(f64, shape);
  std::iota(array.data<double>(), array.data<double>() + array.size(), 1.0);
  const Kernel convert = compile(
      parse("kernel c { in x : f64[:]; out y : " + std::string(name(dtype)) + " = x % 7 }"));
  const Shape flat{array.size()};
  const Array made(dtype, shape);
  convert.run({View<const double>(array.data<double>(), flat)},
              {AnyView{dtype, made.raw(), true, contiguous_layout(flat)}});
  return made;
}

View<const double> view(const std::vector<double> &data, const Shape &shape) {
  return {data.data(), shape};
}

using Numbers = std::vector<double>;
const std::vector<double> data = counting(1000);
const NamedView x7{"x", view(data, {7})}, x45{"x", view(data, {4, 5})},
    x33{"x", view(data, {3, 3})};
const NamedView w3{"w", view(data, {3})}, w33{"w", view(data, {3, 3})};

} // namespace

TEST_CASE("an axis takes the greatest extent with which every read is inside") {
  CHECK(values("in x : f64[:]; out y = x[2*i]", {x7}) == Numbers{1, 3, 5, 7});
  CHECK(values("in x : f64[:]; out y = x[2*i + 1]", {x7}) == Numbers{2, 4, 6});
  CHECK(values("in x : f64[:]; out y = x[i + 1] - x[i]", {x7}) == Numbers(6, 1));
  CHECK(values("in x : f64[:]; out y = x[i] + x[i + 2] + x[3*i]", {x7}) == Numbers{5, 10, 15});
  CHECK(values("in x : f64[:]; in w : f64[u]; out y = sum(x[i + u] * w, u)", {x7, w3}).size() == 5);
  CHECK(values("in x : f64[:]; in w : f64[u]; out y = sum(x[i + 3*u] * w, u)", {x7, w3}).size() ==
        1);
}

TEST_CASE("an axis that stands alone at every position has the extent of the dim, and all of them "
          "agree") {
  CHECK(values("in x : f64[:, :]; out y = sum(x[i, j], j)", {x45}) == Numbers{15, 40, 65, 90});
  CHECK(values("in x : f64[:, :]; out y = x[i, i]", {x33}) == Numbers{1, 5, 9});
  CHECK(code_of("in x : f64[:, :]; out y = x[i, i]", {x45}) == "E0102");
  const NamedView y4{"y", view(data, {4})}, y9{"y", view(data, {9})};
  for (const NamedView &y : {y4, y9}) {
    CHECK(code_of("in x : f64[:]; in y : f64[:]; out z = x[i] * y[i]", {x7, y}) == "E0102");
    CHECK(code_of("in x : f64[:]; in y : f64[i]; out z = x[i] * y", {x7, y}) == "E0102");
  }
}

TEST_CASE(
    "an axis that is called after one dim of an array is an error at another of its dims that "
    "has another extent") {
  const NamedView x25{"x", view(data, {2, 5})};
  const std::string let = "in x : f64[:, :]; let t[r, c] = 2 * x[r, c]; out y = ";
  CHECK(code_of(let + "sum(x[b, t_0], like=t[b, t_0])", {x25}) == "E0102");
  CHECK(code_of(let + "t[b, t_0]", {x25}) == "E0102");
  CHECK(values(let + "sum(x[b, t_0], like=t[b, t_0])", {x33}) ==
        Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(values(let + "t[0, t_0 + 0]", {x25}) == Numbers{2, 4});
}

TEST_CASE("a label has the extent of its dim, and reads that leave the array are an error") {
  const NamedView y4{"y", view(data, {4})};
  CHECK(values("in x : f64[:]; in y : f64[i]; out z = x[i + 2] * y", {x7, y4}) ==
        Numbers{3, 8, 15, 24});
  CHECK(code_of("in x : f64[:]; in y : f64[i]; out z = x[i + 4] * y", {x7, y4}) == "E0142");
  CHECK(code_of("in x : f64[:]; in y : f64[i]; out z = x[2 - i] * y", {x7, y4}) == "E0142");
  CHECK(code_of("in x : f64[i]; out z = x[i + 1]", {x7}) == "E0142");
  CHECK(code_of("in x : f64[:]; out z = x[i - 1]", {x7}) == "E0142");
  CHECK(code_of("in x : f64[:]; out z = x[7]", {x7}) == "E0142");
  CHECK(code_of("in x : f64[:]; out z = x[-8]", {x7}) == "E0142");
  CHECK(code_of("in x : f64[5]; out z = x[i + 9]", {x7}) == "E0102"); // the declaration comes first
}

TEST_CASE("positions that no axis moves up count from the end where they begin below 0") {
  CHECK(values("in x : f64[:]; out y = x[-i]", {x7}) == Numbers{7, 6, 5, 4, 3, 2, 1});
  CHECK(values("in x : f64[:]; out y = x[-2 - 2*i]", {x7}) == Numbers{6, 4, 2});
  CHECK(values("in x : f64[:]; out y = x[3 - i]", {x7}) == Numbers{4, 3, 2, 1});
  CHECK(values("in x : f64[:]; out y = x[-1] - x[0]", {x7}) == Numbers{6});
  CHECK(values("in x : f64[:, :]; out y = x[-1, -i]", {x33}) == Numbers{9, 8, 7});
}

TEST_CASE("one input under several labels is one operand of a Gram matrix") {
  const NamedView x{"x", view(data, {2, 3})};
  CHECK(values("in x : f64[:, :]; out g = sum(x[i, k] * x[j, k], k)", {x}) ==
        Numbers{14, 32, 32, 77});
  CHECK(values("in x : f64[i, k]; out g = sum(x * x[j, k], k)", {x}) == Numbers{14, 32, 32, 77});
}

TEST_CASE("windows are views of arrays in any order, reversed and stepped") {
  const std::string body =
      "in x : f64[:, :]; in w : f64[u, v]; out y = sum(x[2*i + u, j + v] * w, u, v)";
  const Shape shape{9, 8};
  for (const Shape &strides : {Shape{8, 1}, Shape{1, 9}, Shape{-8, 1}, Shape{3, 30}, Shape{-1, -9},
                               Shape{0, 1}, Shape{8, 0}, Shape{-2, 20}}) {
    const double *first = data.data() + 500;
    run(body, {{"x", View<const double>(first, shape, strides)}, w33});
    run(body, {{"w", View<const double>(first, {3, 3}, {-3, 2})},
               {"x", View<const double>(first, shape, strides)}});
  }
}

TEST_CASE("arrays of no element and of one are read at positions") {
  const NamedView x0{"x", view(data, {0})}, x1{"x", view(data, {1})}, w1{"w", view(data, {1})},
      w0{"w", view(data, {0})};
  const std::string moved = "in x : f64[:]; in w : f64[u]; out y = sum(x[i + u] * w, u)";
  CHECK(values("in x : f64[:]; out y = x[2*i + 1]", {x0}).empty());
  CHECK(values("in x : f64[:]; out y = x[-i]", {x0}).empty());
  CHECK(values("in x : f64[:]; out y = x[1000000000000*i]", {x1}) == Numbers{1});
  CHECK(values("in x : f64[:]; out y = x[9223372036854775807*i]", {x1}) == Numbers{1});
  CHECK(values(moved, {x1, w1}) == Numbers{1});
  CHECK(values(moved, {x0, w1}).empty());
  CHECK(values(moved, {x7, w0}) == Numbers(7, 0));
  CHECK(code_of(moved, {x1, w3}) == "E0142");
  CHECK(code_of("in x : f64[:]; out y = x[0]", {x0}) == "E0142");
  CHECK(code_of("in x : f64[:]; out y = max(x[i + 1])", {x0}) == "E0307");
}

TEST_CASE("every dtype is read through windows") {
  for (const DType dtype :
       {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128}) {
    const std::string type(name(dtype));
    const Array x = numbers(dtype, {11, 37}), w = numbers(dtype, {3, 3});
    run("in x : " + type + "[:, :]; in w : " + type +
            "[u, v]; out y = sum(x[i + u, j + v] * w, u, v); out r = x[-i, 2*j + 1]; out d = x[i, "
            "i + 3]",
        {{"x", x}, {"w", w}});
  }
}

TEST_CASE("a sum inside of a sum like a window goes along all of its own axis") {
  const NamedView x11{"x", view(data, {1, 1})}, x23{"x", view(data, {2, 3})};
  // The three positions of the window each have the sum of the three: 9 times 1, whatever the 1
  // that stretches is called.
  for (const std::string mode : {"wrap", "edge"}) {
    const std::string read = "pad(x, 1: (2, 3), " + mode + ")[i, j + 3]";
    const std::string fold = "out o = sum(sum(" + read + ", j), like=" + read + ")";
    CHECK(values("in x : f64[i, j?]; " + fold, {x11}) == Numbers{9});
    CHECK(values("in x : f64[a, b?]; " + fold, {x11}) == Numbers{9});
  }
  CHECK(values("in x : f64[:, :]; out o = sum(sum(x[i, j + 1], j), like=x[i, j + 1])", {x23}) ==
        Numbers{0, 5, 5, 0, 11, 11});
}

TEST_CASE("a let without elements is an array of which nothing is read") {
  const Array x(f64, {2, 0}), v(i8, {1, 0});
  run("in x : f64[a, b]; in v : i8[:, :]; let s[p, q < extent(v, 1)] = v[p, q + 0]; "
      "out y = where(s[u, u] < 1, x, prod(s[u, l], u, l)); out z = 1 - sum(s[u, u], like=s[u, l])",
      {{"x", x}, {"v", v}});
}

TEST_CASE("modes, scans, positions and extents take windows as other inputs") {
  const std::string head = "in x : f64[:]; in w : f64[u]; ";
  run(head + "out y[i] = reduce(sum) x[i + u] * w", {x7, w3});
  run(head + "out y[i, u] = broadcast x[i + u] * w", {x7, w3});
  run(head + "out y = accumulate(sum) x[i + u] * w", {x7, w3});
  run(head + "out y[u] = reduce(max) x[2*i + u] - w", {x7, w3});
  run(head + "out y = scan(sum, x[i + u] * w, i); out z = scan(max, x[-i], i, reverse)", {x7, w3});
  run(head + "out y = sum(x[2*i + u], like=w)", {x7, w3});
  CHECK(values(head + "out y = f64(extent(i)) + 0 * sum(x[2*i + u] * w)", {x7, w3}) == Numbers{3});
  CHECK(values("in x : f64[:]; out y = x[3*i] * iota(i)", {x7}) == Numbers{0, 4, 14});
  CHECK(values(head + "out y = f64(extent(u, of=w)) * x[i + 4*u] * w", {x7, {"w", view(data, {1})}})
            .size() == 7);
}

TEST_CASE("an output on the input of a stencil has what it would have elsewhere") {
  for (const Engine engine : {Engine::interpreter, Engine::jit, Engine::reference})
    for (const int threads : {1, 3}) {
      const Kernel kernel =
          compile(parse("kernel k { in x : f64[:]; out y = x[i] + 2 * x[i + 1] + x[i + 2] }"),
                  with(engine, threads));
      std::vector<double> whole = counting(5000), in = whole, apart(4998);
      kernel.run({view(in, {5000})}, {View<double>(apart.data(), {4998})});
      for (const std::int64_t shift : {0, 1, 2}) {
        in = whole;
        kernel.run({view(in, {5000})}, {View<double>(in.data() + shift, {4998})});
        CHECK(std::memcmp(in.data() + shift, apart.data(), apart.size() * sizeof(double)) == 0);
      }
      const Kernel turned =
          compile(parse("kernel k { in x : f64[:]; out y = x[-i] }"), with(engine));
      in = whole;
      turned.run({view(in, {5000})}, {View<double>(in.data(), {5000})});
      CHECK(in == std::vector<double>(whole.rbegin(), whole.rend()));
    }
}

TEST_CASE("kernels with windows bind, prepare, infer and tell their inputs") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[:]; in w : f64[u]; out y = sum(x[i + u] * w, u) }"));
  CHECK(kernel.inputs().size() == 2);
  std::vector<double> y(5), again(5);
  const View<const double> x = view(data, {7}), w = view(data, {3});
  CHECK(kernel.infer({x, w}).front().shape == Shape{5});
  kernel.prepare({x, w});
  const BoundCall bound = kernel.bind({x, w}, {View<double>(y.data(), {5})});
  bound();
  kernel.run({{"w", w}, {"x", x}}, {{"y", View<double>(again.data(), {5})}});
  CHECK(y == again);
  CHECK(y == Numbers{14, 20, 26, 32, 38});
  for (const std::int64_t n : {3, 4, 100, 7, 0 + 5}) // other shapes, the same kernel
    CHECK(shape_of(kernel({{"x", view(data, {n})}, {"w", w}})["y"]) == Shape{n - 2});
}

TEST_CASE("nothing is written where a read would leave the array") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[:]; in w : f64[u]; out y = sum(x[i + u] * w, u) }"));
  std::vector<double> y(5, -1);
  CHECK_THROWS_AS(kernel.run({view(data, {2}), view(data, {3})}, {View<double>(y.data(), {5})}),
                  ShapeError);
  CHECK_THROWS_AS(kernel.run({view(data, {8}), view(data, {3})}, {View<double>(y.data(), {5})}),
                  ShapeError);
  CHECK_THROWS_AS(kernel.run({View<const double>(nullptr, {7}), view(data, {3})},
                             {View<double>(y.data(), {5})}),
                  DataError);
  CHECK(y == Numbers(5, -1));
}

TEST_CASE("a stencil that is cancelled stops, and the next call runs") {
  for (const Engine engine : {Engine::interpreter, Engine::jit, Engine::reference}) {
    Options options = with(engine, 2);
    const auto flag = std::make_shared<std::atomic<bool>>(true);
    options.cancel = flag;
    const Kernel kernel =
        compile(parse("kernel k { in x : f64[:]; out y = x[i] + x[i + 1] }"), options);
    std::vector<double> y(6);
    CHECK_THROWS_AS(kernel.run({view(data, {7})}, {View<double>(y.data(), {6})}), CancelledError);
    *flag = false;
    kernel.run({view(data, {7})}, {View<double>(y.data(), {6})});
    CHECK(y == Numbers{3, 5, 7, 9, 11, 13});
  }
}

TEST_CASE("numbers that no address holds are an error") {
  const NamedView x{"x", View<const double>(data.data(), {3}, {200})};
  CHECK(code_of("in x : f64[:]; out y = x[4611686018427387904*i + 1]", {x}) ==
        "none"); // one element
  const NamedView w{"w", view(data, {3})};
  CHECK(code_of("in x : f64[:]; in w : f64[u]; out y = x[4611686018427387904*u] + w", {x, w}) ==
        "E0142");
}

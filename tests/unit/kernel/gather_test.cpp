// Gathers, x[k[i], j], and sums through them: what is read, in which order it is added, and what
// happens to an index that is outside. Each engine must have the bits of the reference, which looks
// at every element by itself.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

using namespace broadloom;

namespace {

using Shape = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

template <class T> Array array(const Shape &shape, const std::vector<T> &values) {
  Array made(dtype_of<T>(), shape);
  if (std::size_t(made.size()) != values.size()) throw std::logic_error("a test array");
  std::memcpy(made.raw(), values.data(), values.size() * sizeof(T));
  return made;
}

Array counting(const Shape &shape) { // 0, 1, 2, ..
  Array made(f64, shape);
  std::iota(made.data<double>(), made.data<double>() + made.size(), 0.0);
  return made;
}

Options with(Engine engine, int threads = 1) {
  Options options;
  options.engine = engine;
  options.threads = threads;
  return options;
}

std::vector<unsigned char> bytes(const Array &array) {
  const Array copy = array.copy();
  const auto *first = static_cast<const unsigned char *>(copy.raw());
  return {first, first + std::size_t(copy.size()) * size_of(copy.dtype())};
}

// The first output in the reference; all engines have its shape and bits.
Array run(const LoopSpec &spec, const std::vector<NamedView> &inputs) {
  const Results truth = compile(spec, with(Engine::reference)).call(inputs);
  for (const Options &options :
       {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)}) {
    const Results got = compile(spec, options).call(inputs);
    for (const auto &[output, elements] : truth) {
      const auto shape = got[output].shape(), wanted = elements.shape();
      CHECK(std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end()));
      CHECK(bytes(got[output]) == bytes(elements));
    }
  }
  return truth.begin()->second;
}

Numbers values(const std::string &body, const std::vector<NamedView> &inputs) {
  const Array made = run(parse("kernel k { " + body + " }"), inputs).copy();
  return {made.data<double>(), made.data<double>() + made.size()};
}

// What all engines say, code first.
std::string failure(const std::string &body, const std::vector<NamedView> &inputs,
                    Engine engine = Engine::automatic) {
  try {
    compile(parse("kernel k { " + body + " }"), with(engine)).call(inputs);
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    return error.code() + ": " + error.message();
  }
  return "none";
}
std::string code(const std::string &body, const std::vector<NamedView> &inputs) {
  std::string all;
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    const std::string now = failure(body, inputs, engine).substr(0, 5);
    CHECK((all.empty() || now == all));
    all = now;
  }
  return all;
}

const Array x34 = counting({3, 4}), x5 = counting({5});
const Array k3 = array<std::int32_t>({3}, {2, 0, 2}),
            k22 = array<std::int64_t>({2, 2}, {4, 1, 0, 4});

} // namespace

TEST_CASE("an element of an index says at which position an input is read") {
  CHECK(values("in x : f64[:, :]; in k : i32[:]; out y = x[k[i], j]", {{"x", x34}, {"k", k3}}) ==
        Numbers{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(values("in x : f64[:]; in k : i64[:, :]; out y = x[k[i, j]]", {{"x", x5}, {"k", k22}}) ==
        Numbers{4, 1, 0, 4});
  CHECK(
      values("in x : f64[:, :]; in k : i32[:]; out y = x[j, k[i] + 1]", {{"x", x34}, {"k", k3}}) ==
      Numbers{3, 1, 3, 7, 5, 7, 11, 9, 11}); // its axes are j, then i
  CHECK(values("in x : f64[:, :]; in k : i32[:]; out y = x[k[i], k[j]]", {{"x", x34}, {"k", k3}}) ==
        Numbers{10, 8, 10, 2, 0, 2, 10, 8, 10});
  CHECK(values("in x : f64[:, :]; in k : i32[:]; out y = x[k[i], k[i] + 1]",
               {{"x", x34}, {"k", k3}}) == Numbers{11, 1, 11});
  CHECK(values("in x : f64[:, :]; in k : i32[i]; out y = sum(x[k[i], j] * k, j)",
               {{"x", x34}, {"k", k3}}) == Numbers{76, 0, 76});
}

TEST_CASE(
    "positions may have multiples of elements, axes beside them, and elements that elements say") {
  const Array two = array<std::uint8_t>({}, {2});
  const NamedView x{"x", x5}, k{"k", k3}, s{"s", two};
  CHECK(values("in x : f64[:]; in k : i32[:]; out y = x[4 - 2*k[i]]", {x, k}) == Numbers{0, 4, 0});
  CHECK(values("in x : f64[:]; in s : u8; out y = x[s[]]", {x, s}) == Numbers{2});
  CHECK(values("in x : f64[:]; in k : i32[:]; in w : f64[u=2]; out y = x[k[i] + u] + 0 * w",
               {x, k, {"w", counting({2})}}) == Numbers{2, 0, 2, 3, 1, 3});
  CHECK(values("in x : f64[:]; in k : i32[:]; out y = x[k[k[i]]]", {x, k}) == Numbers{2, 2, 2});
  CHECK(values("in x : f64[:]; in k : i32[:]; out y = x[k[i] + k[2 - i]]", {x, k}) ==
        Numbers{4, 0, 4});
  CHECK(code("in x : f64[:]; in k : i32[:]; out y = sum(x[k[i] + u], u)", {x, k}) == "E0141");
}

TEST_CASE("shapes that are wrong are told before an index that is outside") {
  const Array table(f64, {3, 4}), bad = array<std::int32_t>({2}, {9, 1});
  for (const std::string body :
       {"in t : f64[:, :]; in k : i32[i]; in e : f64[i, j]; out y = t[k[i], j] * e",
        "in t : f64[:, :]; in k : i32[i]; in e : f64[i, j]; let l = t[k[i], j]; out y = l[i, j] * "
        "e"})
    for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
      INFO(body);
      const Kernel kernel = compile(parse("kernel k { " + body + " }"), with(engine));
      const auto codes = [&](const Shape &of_e, const Shape &of_y) {
        const Array e(f64, of_e), y(f64, of_y);
        std::string run = "none", bound = "none";
        try {
          kernel.run({table, bad, e}, {y});
        } catch (const Error &error) {
          run = error.code();
        }
        try {
          kernel.bind({table, bad, e}, {y})();
        } catch (const Error &error) {
          bound = error.code();
        }
        return run == bound ? run : run + " and " + bound;
      };
      CHECK(codes({3, 4}, {2, 4}) == "E0102");
      CHECK(codes({2, 4}, {2, 5}) == "E0120");
      CHECK(codes({2, 4}, {2, 4}) == "E0315");
    }
}

TEST_CASE("an index outside is an error that names the first of them, and nothing is written") {
  const std::string body = "in x : f64[:, :]; in k : i32[:]; out y = x[k[i], j]";
  const NamedView x{"x", x34};
  const Array bad = array<std::int32_t>({5}, {0, 2, 3, -1, 1});
  CHECK(code(body, {x, {"k", bad}}) == "E0315");
  CHECK(failure(body, {x, {"k", bad}}) ==
        "E0315: x[k[i], j] reads position 3 of axis 0 of 'x', which has 3 elements: k[2] is 3");
  const Array negative = array<std::int32_t>({2}, {-1, 5});
  CHECK(failure(body, {x, {"k", negative}}) ==
        "E0315: x[k[i], j] reads position -1 of axis 0 of 'x', which has 3 elements: k[0] is -1");
  const Array huge = array<std::uint64_t>({1}, {std::numeric_limits<std::uint64_t>::max()});
  CHECK(code("in x : f64[:]; in k : u64[:]; out y = x[k[i] + 1]", {{"x", x5}, {"k", huge}}) ==
        "E0315");
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    const Kernel kernel =
        compile(parse("kernel k { " + body + "; out z = x[r, j] }"), with(engine));
    Array y(f64, {5, 4}), z(f64, {5, 4});
    std::fill_n(y.data<double>(), 20, 7.0);
    CHECK_THROWS_AS(kernel.run({x, {"k", bad}}, {{"y", y}}), DataError);
    CHECK(std::count(y.data<double>(), y.data<double>() + 20, 7.0) == 20);
  }
  // In a long index, too, of which most is looked at together.
  Array first_of_two = array<std::int32_t>({1000}, std::vector<std::int32_t>(1000, 1));
  first_of_two.data<std::int32_t>()[700] = -1;
  first_of_two.data<std::int32_t>()[701] = 3;
  CHECK(failure(body, {x, {"k", first_of_two}}) ==
        "E0315: x[k[i], j] reads position -1 of axis 0 of 'x', which has 3 elements: k[700] is -1");
  // Where nothing is read, nothing is outside.
  CHECK(values(body, {{"x", Array(f64, {3, 0})}, {"k", bad}}).empty());
  CHECK(values(body, {x, {"k", Array(i32, {0})}}).empty());
  CHECK(code(body, {{"x", Array(f64, {0, 4})}, {"k", bad}}) == "E0315");
}

TEST_CASE("clip takes the nearest position inside and wrap takes it modulo the extent") {
  const Array k = array<std::int8_t>({6}, {-7, -1, 0, 4, 5, 100});
  const std::vector<NamedView> inputs{{"x", x5}, {"k", k}};
  CHECK(values("in x : f64[:]; in k : i8[:]; out y = x[clip(k[i])]", inputs) ==
        Numbers{0, 0, 0, 4, 4, 4});
  CHECK(values("in x : f64[:]; in k : i8[:]; out y = x[wrap(k[i])]", inputs) ==
        Numbers{3, 4, 0, 4, 0, 0});
  CHECK(values("in x : f64[:]; in k : i8[:]; out y = x[wrap(k[i] + 1)]", inputs) ==
        Numbers{4, 0, 1, 0, 1, 1});
  CHECK(code("in x : f64[:]; in k : i8[:]; out y = x[wrap(k[i])]",
             {{"x", Array(f64, {0})}, {"k", k}}) == "E0315");
  const Array far = array<std::uint64_t>({2}, {UINT64_MAX, UINT64_MAX - 1});
  CHECK(values("in x : f64[:]; in k : u64[:]; out y = x[wrap(k[i])] + 10 * x[clip(k[i])]",
               {{"x", x5}, {"k", far}}) == Numbers{40, 44});
}

TEST_CASE(
    "rows are gathered by many tasks, of any length, by positions that may be outside or not") {
  Numbers said(5000);
  for (std::size_t n = 0; n < said.size(); ++n) said[n] = double(n) * 7919 - 1e6;
  for (const std::int64_t columns : {1, 3, 8, 64, 200}) {
    const Array x = counting({301, columns});
    Array index(i32, {5000});
    for (std::size_t n = 0; n < said.size(); ++n)
      index.data<std::int32_t>()[n] = std::int32_t(said[n]);
    for (const std::string form : {"wrap(k[i])", "clip(k[i])", "wrap(3 * k[i] - 2)"}) {
      CAPTURE(form);
      CAPTURE(columns);
      const std::string head = "kernel g { in x : f64[:, :]; in k : i32[i]; ";
      const Array rows =
          run(parse(head + "out y = x[" + form + ", j] }"), {{"x", x}, {"k", index}});
      CHECK(rows.size() == 5000 * columns);
      run(parse(head + "out y = x[" + form + ", j] * 2 }"), {{"x", x}, {"k", index}});
      run(parse(head + "out y = x[j, " + form + "] }"),
          {{"x", counting({columns, 301})}, {"k", index}});
    }
  }
}

TEST_CASE("every dtype is gathered, from any strides, by an index of any strides") {
  for (const DType dtype :
       {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128}) {
    const std::string type(name(dtype));
    const Array numbers = compile(parse("kernel k { in x : f64[:]; out y : " + type + " = " +
                                        (dtype == bool_ ? "x > 2" : "x") + " }"))
                              .call({{{"x", counting({24})}}})[0];
    const auto size = std::int64_t(size_of(dtype));
    const AnyView back{dtype, static_cast<char *>(numbers.raw()) + 23 * size, false,
                       strided_layout(Shape{3, 4}, Shape{-2, -6})};
    const std::int32_t index[] = {0, -9, 1, -9, 2, -9, 2};
    run(parse("kernel k { in x : " + type +
              "[:, :]; in k : i32[:]; out y = x[k[i], j]; out z = x[m, k[i]] }"),
        {{"x", back}, {"k", View<const std::int32_t>(index + 6, {4}, {-2})}});
  }
}

TEST_CASE("an output on the array or on the index is as if both had been copied before") {
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    Array x = counting({5});
    const Array k = array<std::int64_t>({5}, {4, 3, 2, 1, 0});
    compile(parse("kernel k { in x : f64[:]; in k : i64[:]; out y = x[k[i]] }"), with(engine))
        .run({{"x", x}, {"k", k}}, {{"y", x}});
    CHECK(Numbers(x.data<double>(), x.data<double>() + 5) == Numbers{4, 3, 2, 1, 0});
    Array both = array<std::int64_t>({4}, {3, 3, 0, 1});
    compile(parse("kernel k { in x : i64[:]; in k : i64[:]; out y = x[k[i]] + k[i] }"),
            with(engine))
        .run({{"x", both}, {"k", both}}, {{"y", both}});
    CHECK(std::vector<std::int64_t>(both.data<std::int64_t>(), both.data<std::int64_t>() + 4) ==
          std::vector<std::int64_t>{4, 4, 3, 4});
  }
}

TEST_CASE("an output that is a gather and no more has the same elements however it lies") {
  const std::string body = "in x : f64[:, :]; in k : i32[:]; out y = x[wrap(k[i]), j]";
  Array many(i32, {3000});
  for (int i = 0; i < 3000; ++i) many.data<std::int32_t>()[i] = 7 * i - 9000;
  const Array wide = counting({11, 40});
  const Array rows = run(parse("kernel k { " + body + " }"), {{"x", wide}, {"k", many}}).copy();
  for (int i = 0; i < 3000; ++i) {
    const int row = ((7 * i - 9000) % 11 + 11) % 11;
    CHECK(rows.data<double>()[40 * i] == 40 * row);
    CHECK(rows.data<double>()[40 * i + 39] == 40 * row + 39);
  }
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(parse("kernel k { " + body + " }"), with(engine));
    const NamedView x{"x", x34}, k{"k", k3};
    const Numbers wanted{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11};
    Array plain(f64, {3, 4}), turned(f64, {12});
    kernel.run({x, k}, {{"y", plain}});
    CHECK(Numbers(plain.data<double>(), plain.data<double>() + 12) == wanted);
    kernel.run({x, k}, {{"y", View<double>(turned.data<double>(), {3, 4}, {1, 3})}});
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j)
        CHECK(turned.data<double>()[i + 3 * j] == wanted[std::size_t(4 * i + j)]);
    Array narrow(f64, {3, 3});
    CHECK_THROWS_AS(kernel.run({x, k}, {{"y", narrow}}), ShapeError);
    // Binding writes nothing, and a call only when all positions are inside.
    Array index = array<std::int32_t>({2}, {1, 2}), y(f64, {2, 4});
    std::fill_n(y.data<double>(), 8, 7.0);
    const Kernel strict = compile(
        parse("kernel k { in x : f64[:, :]; in k : i32[:]; out y = x[k[i], j] }"), with(engine));
    const BoundCall bound = strict.bind({x34, index}, {y});
    CHECK(std::count(y.data<double>(), y.data<double>() + 8, 7.0) == 8);
    index.data<std::int32_t>()[1] = 3;
    CHECK_THROWS_AS(bound(), DataError);
    CHECK(std::count(y.data<double>(), y.data<double>() + 8, 7.0) == 8);
    if (engine != Engine::reference) CHECK_THROWS_AS(strict.bind({x34, index}, {y}), DataError);
    index.data<std::int32_t>()[1] = 0;
    bound();
    CHECK(Numbers(y.data<double>(), y.data<double>() + 8) == Numbers{4, 5, 6, 7, 0, 1, 2, 3});
  }
}

TEST_CASE("a sum through a gather adds each value where it reads, and 0 elsewhere") {
  const NamedView x{"x", x34}, k{"k", k3};
  CHECK(values("in x : f64[:, :]; in k : i32[:]; in e : f64[i, j]; out d = sum(e, like=x[k[i], j])",
               {x, k, {"e", counting({3, 4})}}) == Numbers{4, 5, 6, 7, 0, 0, 0, 0, 8, 10, 12, 14});
  CHECK(values("in x : f64[:, :]; in k : i32[:]; out d = sum(1, like=x[k[i], j]) * 2.0", {x, k}) ==
        Numbers{2, 2, 2, 2, 0, 0, 0, 0, 4, 4, 4, 4});
  CHECK(
      values(
          "in x : f64[:, :]; in k : i32[:]; in e : f64[i]; out d = sum(e, like=x[k[i], k[i] + 1])",
          {x, k, {"e", counting({3})}}) == Numbers{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2});
  // Axes that the read lacks are summed up first.
  CHECK(values("in x : f64[:]; in k : i32[:]; in e : f64[i, m]; out d = sum(e, like=x[k[i]])",
               {{"x", x5}, k, {"e", counting({3, 2})}}) == Numbers{5, 0, 10, 0, 0});
  CHECK(
      values("in x : f64[:]; in k : i32[:]; in e : f64[i]; out d = sum(e, like=x[wrap(k[i] - 3)])",
             {{"x", x5}, k, {"e", counting({3})}}) == Numbers{0, 0, 1, 0, 2});
  CHECK(code("in x : f64[:]; in k : i32[:]; in e : f64[i]; out d = sum(e, like=x[k[i] - 1])",
             {{"x", x5}, k, {"e", counting({3})}}) == "E0315");
  CHECK(values("in x : f64[:]; in k : i32[:]; in e : f64[i]; out d = sum(e, like=x[k[i]])",
               {{"x", x5}, {"k", Array(i32, {0})}, {"e", Array(f64, {0})}}) == Numbers(5, 0));
}

TEST_CASE("sums through gathers stand anywhere in an expression, and in each other") {
  const Array three = counting({3});
  const NamedView x{"x", x5}, k{"k", k3}, e{"e", three};
  CHECK(values("in x : f64[p]; in k : i32[:]; in e : f64[i]; "
               "out d = sum(e, like=x[k[i]]) + sum(e * e, like=x[k[i] + 1]) + x",
               {x, k, e}) == Numbers{1, 2, 4, 7, 4});
  CHECK(values("in x : f64[:]; in k : i32[:]; in e : f64[i]; "
               "let s = sum(e, like=x[k[i]]); out d = sum(s * s)",
               {x, k, e}) == Numbers{5});
  CHECK(values("in x : f64[p]; in k : i32[:]; in q : i32[:]; in e : f64[i]; "
               "let s = sum(e, like=x[k[i]]); out d = sum(s + x, like=x[q[p]])",
               {x, k, e, {"q", array<std::int32_t>({5}, {1, 1, 0, 1, 4})}}) ==
        Numbers{4, 5, 0, 0, 4});
}

TEST_CASE("values of one position are added in the logical order of the index, for any number of "
          "threads") {
  // In this order the sum is 1, in others 0 or 2: 2^60 swallows what is added to it.
  const double big = 0x1p60;
  const Array e = array<double>({6}, {big, 1, -big, 1, 5, 6}),
              k = array<std::int32_t>({6}, {3, 3, 3, 3, 1, 0});
  const std::string body =
      "in x : f64[:]; in k : i32[:]; in e : f64[i]; out d = sum(e, like=x[k[i]])";
  for (const int threads : {1, 2, 3, 7}) {
    const Results r = compile(parse("kernel k { " + body + " }"), with(Engine::jit, threads))
                          .call({{{"x", x5}, {"k", k}, {"e", e}}});
    CHECK(Numbers(r[0].data<double>(), r[0].data<double>() + 5) == Numbers{6, 5, 0, 1, 0});
  }
  // Many values, whose rows are shared out where they are long: as if added one after the other.
  for (const int columns : {3, 48}) {
    const std::int64_t count = 900'000 / columns, rows = 1000;
    Array many(f32, {count, columns}), index(i32, {count}), x(f32, {rows, columns});
    std::vector<double> sums(std::size_t(x.size()));
    for (std::int64_t n = 0; n < count; ++n) {
      index.data<std::int32_t>()[n] = std::int32_t(n * 7919 % 1009 % rows);
      for (int j = 0; j < columns; ++j) {
        const float value = float(std::sin(double(n + j)));
        many.data<float>()[n * columns + j] = value;
        sums[std::size_t(index.data<std::int32_t>()[n] * columns + j)] += double(value);
      }
    }
    const LoopSpec spec = parse("kernel k { in x : f32[:, :]; in k : i32[:]; in e : f32[i, j]; "
                                "out d = sum(e, like=x[k[i], j]); out g = x[k[i], j] + e }");
    for (const int threads : {1, 2, 5}) {
      const Results r =
          compile(spec, with(Engine::jit, threads)).call({{{"x", x}, {"k", index}, {"e", many}}});
      CHECK(std::equal(sums.begin(), sums.end(), r["d"].data<float>(),
                       [](double sum, float got) { return float(sum) == got; }));
      CHECK(bytes(r["g"]) == bytes(many));
    }
  }
}

TEST_CASE("rows that come together are shared out by their elements, wherever they lie") {
  const std::int64_t count = 3000;
  Array k(i32, {count}), pair(i32, {60, 50});
  for (std::int64_t n = 0; n < count; ++n)
    k.data<std::int32_t>()[n] = pair.data<std::int32_t>()[n] = std::int32_t(n * n % 37);
  const auto sums = [&](const Shape &shape, const std::string &of_axes, const std::string &read,
                        const Array &index, const Shape &of) {
    Array values(f64, of);
    for (std::int64_t n = 0; n < values.size(); ++n)
      values.data<double>()[n] = double(n * 7 % 1001 - 500);
    const std::string dims = shape.size() == 2 ? "[:, :]" : "[:, :, :]";
    for (const std::string dtype : {"f64", "f32", "i32", "c64"})
      run(parse("kernel k { in x : f64" + dims + "; in k : i32" +
                (index.rank() == 1 ? "[i]" : "[i, u]") + "; in e : f64[" + of_axes +
                "]; out d = sum(" + dtype + "(e), like=x" + read + ") }"),
          {{"x", counting(shape)}, {"k", index}, {"e", values}});
  };
  sums({37, 90}, "i, j", "[k[i], j]", k, {count, 90});
  sums({90, 37}, "j, i", "[j, k[i]]", k, {90, count});
  sums({3, 37, 40}, "a, i, j", "[a, k[i], j]", k, {3, count, 40});
  sums({3, 40, 40}, "a, i, j", "[a, k[i] + 2, j]", k, {3, count, 40});
  sums({37, 20}, "i, u, j", "[k[i, u], j]", pair, {60, 50, 20});
  sums({37, 20}, "j, u, i", "[k[i, u], j]", pair, {20, 50, 60});
}

TEST_CASE("sums through gathers are of every dtype that sums have") {
  for (const DType dtype : {bool_, i8, i32, u8, u64, f16, bf16, f32, f64, c64, c128}) {
    const std::string type(name(dtype));
    const Array e = compile(parse("kernel k { in x : f64[:]; out y : " + type + " = " +
                                  (dtype == bool_ ? "x > 1" : "x") + " }"))
                        .call({{{"x", counting({6})}}})[0];
    const Array k = array<std::int16_t>({6}, {1, 1, 0, 3, 1, 0});
    run(parse("kernel k { in x : f64[:]; in k : i16[:]; in e : " + type +
              "[i]; out d = sum(e, like=x[k[i]]) }"),
        {{"x", x5}, {"k", k}, {"e", e}});
  }
}

TEST_CASE("+= adds what comes together to what is there, rounded once") {
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    Array h(f32, {3});
    std::fill_n(h.data<float>(), 3, 1.0f);
    const Array k = array<std::int32_t>({4}, {2, 0, 2, 2}), e = array<float>({4}, {1, 2, 3, 4});
    const Kernel kernel =
        compile(parse("kernel k { in shape : f32[:]; in k : i32[:]; in e : f32[i]; "
                      "out h += sum(e, like=shape[k[i]]) }"),
                with(engine));
    kernel.run({{"shape", h}, {"k", k}, {"e", e}}, {{"h", h}});
    CHECK(std::vector<float>(h.data<float>(), h.data<float>() + 3) == std::vector<float>{3, 1, 9});
    const Array bad = array<std::int32_t>({4}, {2, 0, 3, 2});
    CHECK_THROWS_AS(kernel.run({{"shape", h}, {"k", bad}, {"e", e}}, {{"h", h}}), DataError);
    CHECK(std::vector<float>(h.data<float>(), h.data<float>() + 3) == std::vector<float>{3, 1, 9});
  }
}

TEST_CASE("an output that is written at positions has the extents of the caller's array") {
  const std::string text =
      "kernel k {\n  in  k : i32[:]\n  in  e : f32[i, j]\n  out h[k[i], j] += e * 2\n}\n";
  CHECK(print(parse(text)) == text);
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(parse(text), with(engine));
    CHECK(kernel.inputs().size() == 2);
    const Array k = array<std::int32_t>({3}, {2, 0, 2}), e = array<float>({3, 1}, {1, 2, 3});
    Array h = array<float>({4, 1}, {1, 1, 1, 1});
    const auto held = [&] { return std::vector<float>(h.data<float>(), h.data<float>() + 4); };
    kernel.run({{"k", k}, {"e", e}}, {{"h", h}});
    CHECK(held() == std::vector<float>{5, 1, 9, 1});
    kernel.run({k, e}, {h});
    CHECK(held() == std::vector<float>{9, 1, 17, 1});
    const BoundCall bound = kernel.bind({{"k", k}, {"e", e}}, {{"h", h}});
    bound();
    CHECK(held() == std::vector<float>{13, 1, 25, 1});
    const Array small(f32, {2, 1}), wide(f32, {4, 2});
    const auto code_of = [&](auto call) -> std::string {
      try {
        call();
      } catch (const Error &error) {
        return error.code();
      }
      return "none";
    };
    CHECK(code_of([&] { kernel.run({{"k", k}, {"e", e}}, {{"h", small}}); }) == "E0315");
    CHECK(code_of([&] { kernel.run({{"k", k}, {"e", e}}, {{"h", wide}}); }) == "E0102");
    CHECK(code_of([&] { kernel({{"k", k}, {"e", e}}); }) == "E0316");
    CHECK(code_of([&] { kernel.infer({{"k", k}, {"e", e}}); }) == "E0316");
    CHECK(code_of([&] { kernel.run({{"k", k}, {"e", e}}, {}); }) == "E0316");
    CHECK(code_of([&] { kernel.run({{"k", k}, {"e", e}, {"h", h}}, {{"h", h}}); }) == "E0308");
    CHECK(kernel.show(Stage::loop).find("program") != std::string::npos);
  }
}

TEST_CASE("a bound call looks at the index again each time") {
  Array x = counting({5}), y(f64, {2}), d(f64, {5}), k = array<std::int32_t>({2}, {1, 2});
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    k.data<std::int32_t>()[0] = 1;
    const Kernel kernel = compile(parse("kernel k { in x : f64[:]; in k : i32[:]; out y = x[k[i]]; "
                                        "out d = sum(1., like=x[k[i]]) }"),
                                  with(engine));
    kernel.prepare({{"x", x}, {"k", k}});
    const BoundCall bound = [&] { // the views that it was made of are gone afterwards
      const std::vector<NamedView> inputs{{"x", x}, {"k", k}}, outputs{{"y", y}, {"d", d}};
      return kernel.bind_named(inputs, outputs);
    }();
    bound();
    CHECK(y.data<double>()[0] == 1);
    k.data<std::int32_t>()[0] = 4;
    bound();
    CHECK(y.data<double>()[0] == 4);
    CHECK(Numbers(d.data<double>(), d.data<double>() + 5) == Numbers{0, 0, 1, 0, 1});
    k.data<std::int32_t>()[0] = 5;
    CHECK_THROWS_AS(bound(), DataError);
  }
}

TEST_CASE("null and misaligned memory of an index is found before anything is read") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[:]; in k : i32[:]; out y = x[k[i]] }"));
  Array y(f64, {3});
  const auto code_of = [&](const AnyView &x, const AnyView &k) -> std::string {
    try {
      kernel.run({x, k}, {y});
    } catch (const Error &error) {
      return error.code();
    }
    return "none";
  };
  AnyView none = k3, crooked = k3, x = x5;
  none.data = nullptr;
  CHECK(code_of(x5, none) == "E0306");
  crooked.data = static_cast<char *>(crooked.data) + 1;
  CHECK(code_of(x5, crooked) == "E0310");
  x.data = nullptr;
  CHECK(code_of(x, k3) == "E0306");
  CHECK(code_of(x5, k3) == "none");
}

TEST_CASE("in C++ an index is a position like others") {
  const Expr x = input("x", f64, {":", ":"}), k = input("k", i32, {"i"});
  const auto text = [&](const Expr &value) {
    return print(LoopSpec("k").in(x).in(k).out("y", value));
  };
  CHECK(text(x.at({index(k.at({"i"})) + 1, "j"})).find("out y = x[k[i] + 1, j]") !=
        std::string::npos);
  CHECK(text(x.at({clip(2 * index(k)), wrap(axis("u") + index(k))}))
            .find("out y = x[clip(2*k[i]), wrap(k[i] + u)]") != std::string::npos);
  const auto code_of = [&](auto make) -> std::string {
    try {
      make();
    } catch (const Error &error) {
      return error.code();
    }
    return "none";
  };
  CHECK(code_of([&] { return index(x + 1); }) == "E0026");
  CHECK(code_of([&] { return clip(Position(1)); }) == "E0026");
  CHECK(code_of([&] { return x.at({clip(index(k)) + 1, "j"}); }) == "E0026");
  const Expr f = input("f", f32, {"i"});
  CHECK(code_of([&] { return compile(LoopSpec("k").out("y", x.at({index(f), "j"}))); }) == "E0206");
}

TEST_CASE("an index beyond i64 is told as it is") {
  const std::vector<double> x{1, 2, 3};
  const std::vector<std::uint64_t> k{0, 18446744073709551615u};
  const std::vector<NamedView> inputs{{"x", View<const double>(x.data(), {3})},
                                      {"k", View<const std::uint64_t>(k.data(), {2})}};
  const LoopSpec spec = parse("kernel k { in x : f64[:]; in k : u64[:]; out y = x[2*k[i]] }");
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    std::string said;
    try {
      compile(spec, {.engine = engine}).call(inputs);
    } catch (const DataError &error) {
      said = error.message();
    }
    CHECK_MESSAGE(said.starts_with("x[2*k[i]] reads position 36893488147419103230 of axis 0"),
                  said);
  }
}

// The slow truth against values worked out by hand and by NumPy.
#include "analysis/analyse.hpp"
#include "reference/reference.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace broadloom::reference {
namespace {

template <class T> Array array(std::vector<T> values, std::vector<std::int64_t> shape) {
  Array a(dtype_of<T>(), shape);
  std::copy(values.begin(), values.end(), a.data<T>());
  return a;
}

template <class T> std::vector<T> values(const Array &a) {
  const T *p = a.data<T>();
  return {p, p + a.size()};
}

std::vector<std::int64_t> shape(const Array &a) { return {a.shape().begin(), a.shape().end()}; }

std::vector<Array> run(const std::string &body, const std::vector<AnyView> &inputs,
                       const std::vector<AnyView> &initial = {}) {
  const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
  return evaluate(analysis::analyse(spec.data()), inputs, initial);
}

std::string code(const std::string &body, const std::vector<AnyView> &inputs) {
  try {
    run(body, inputs);
  } catch (const Error &e) {
    return e.code();
  }
  return {};
}

using F = std::vector<float>;
using D = std::vector<double>;
using I = std::vector<std::int64_t>;

TEST_CASE("operands of different rank meet at their leading or trailing dims") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3}), y = array<float>({10, 20, 30}, {3});
  const auto f = run("in x : f32[:, :]\nin y : f32[:]\nout z = x + y", {x, y});
  CHECK(values<float>(f[0]) == F{11, 22, 33, 14, 25, 36});
  const Array w = array<float>({10, 20}, {2});
  const auto c = run("order c\nin x : f32[:, :]\nin w : f32[:]\nout z = x + w", {x, w});
  CHECK(values<float>(c[0]) == F{11, 12, 13, 24, 25, 26});
}

TEST_CASE("dims of extent 1 stretch at run time, and scalars lie everywhere") {
  const Array x = array<float>({1, 2}, {2, 1}), y = array<float>({10, 20, 30}, {1, 3});
  const auto r = run("in x : f32[:, :]\nin y : f32[:, :]\nin k : f32\nout z = x * y + k",
                     {x, y, array<float>({0.5}, {})});
  CHECK(shape(r[0]) == I{2, 3});
  CHECK(values<float>(r[0]) == F{10.5, 20.5, 30.5, 20.5, 40.5, 60.5});
}

TEST_CASE("accumulate folds operands first, reduce folds values last") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3}), y = array<float>({2, 3}, {2});
  const auto r = run("in x : f32[i, j]\nin y : f32[i]\n"
                     "out a = accumulate(sum) square(x) * y\n"
                     "out b = reduce(sum) square(x) * y\n"
                     "out c[j] = reduce(max) x * y\n"
                     "out d[] = reduce(prod) x",
                     {x, y});
  CHECK(values<float>(r[0]) == F{72, 675});
  CHECK(values<float>(r[1]) == F{28, 231});
  CHECK(values<float>(r[2]) == F{12, 15, 18});
  CHECK(values<float>(r[3]) == F{720});
}

TEST_CASE("inner reductions broadcast back, like= folds or repeats") {
  const Array x = array<double>({1, 3, 2, 6}, {2, 2}), b = array<double>({1, 1}, {1, 2});
  const auto r = run("in x : f64[:, :]\nin b : f64[:, :]\n"
                     "out n = x / sum(x, 1)\nout g = sum(x, like=b)\nout t[1, 0] = x",
                     {x, b});
  CHECK(values<double>(r[0]) == D{0.25, 0.75, 0.25, 0.75});
  CHECK(shape(r[1]) == I{1, 2});
  CHECK(values<double>(r[1]) == D{3, 9});
  CHECK(values<double>(r[2]) == D{1, 2, 3, 6});
}

TEST_CASE("sums of floats are compensated, sums of integers wrap") {
  std::vector<double> hard{1, 1e100, 1, -1e100};
  CHECK(values<double>(
            run("in x : f64[i]\nout s[] = reduce(sum) x", {array<double>(hard, {4})})[0]) == D{2});
  std::vector<float> tenths(100000, 0.1f);
  CHECK(values<double>(run("in x : f32[i]\nout s[] : f64 = reduce(sum) x",
                           {array<float>(tenths, {100000})})[0]) == D{100000 * double(0.1f)});
  const std::int64_t top = std::numeric_limits<std::int64_t>::max();
  CHECK(values<std::int64_t>(run("in x : i64[i]\nout s[] = reduce(sum) x",
                                 {array<std::int64_t>({top, 1}, {2})})[0]) ==
        I{std::numeric_limits<std::int64_t>::min()});
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(values<double>(run("in x : f64[i]\nout s[] = reduce(sum) x",
                           {array<double>({1, inf, 2}, {3})})[0]) == D{inf});
}

TEST_CASE("a fold over no axes gives what its accumulator makes of one element") {
  const Array x = array<double>({0, 0.5, 2}, {3}), w = array<double>({1, 1, 1}, {3});
  const auto r = run("in x : f64[i]\nin w : f64[i]\n"
                     "out a : f64 = reduce(all) x\n"
                     "out b : i64 = any(x, like=w)\n"
                     "out c = 0.1 + sum(x / 10, like=w, acc=f32)",
                     {x, w});
  CHECK(values<double>(r[0]) == D{0, 1, 1});
  CHECK(values<std::int64_t>(r[1]) == I{0, 1, 1});
  CHECK(values<double>(r[2]) == D{0.1, 0.1 + double(0.05f), 0.1 + double(0.2f)});
}

TEST_CASE("all threads together give the bits of one, along any axis and whatever the layout") {
  const std::int64_t rows = 300, columns = 700;
  Array x(f32, std::vector<std::int64_t>{rows, columns});
  for (std::int64_t k = 0; k < x.size(); ++k) x.data<float>()[k] = float(k % 1013) / 7;
  const LoopSpec spec =
      parse("kernel k { in x : f32[i, j]; out a = x + sum(x, j); out b[j] = reduce(max) x\n"
            "out c = scan(var, x, i, reverse); out d = prod(x); out e[j, i] = exp(x) }");
  const spec::TypedSpec typed = analysis::analyse(spec.data());
  const AnyView view = x;
  AnyView backwards = view; // the same elements from the last one on
  backwards.data = x.data<float>() + (x.size() - 1);
  for (int d = 0; d < 2; ++d) backwards.layout.strides[std::size_t(d)] *= -1;
  for (const AnyView &in : {view, backwards}) {
    const std::vector<AnyView> inputs{in};
    const std::vector<Array> alone = evaluate(typed, inputs, {}, nullptr, 1);
    for (int threads : {2, 3, 7}) {
      const std::vector<Array> together = evaluate(typed, inputs, {}, nullptr, threads);
      for (std::size_t k = 0; k < alone.size(); ++k)
        CHECK(std::memcmp(alone[k].raw(), together[k].raw(),
                          std::size_t(alone[k].size()) * size_of(alone[k].dtype())) == 0);
    }
  }
}

TEST_CASE("+= adds in the accumulate type and rounds once") {
  const Array x = array<float>({0x1p-24f, 0x1p-24f, 0x1p-24f}, {3}), z = array<float>({1}, {});
  const auto r = run("in x : f32[i]\nout z[] += reduce(sum) x", {x}, {z});
  CHECK(values<float>(r[0]) == F{1 + 0x1p-22f});
  const Array y = array<float>({1, 2, 3}, {3});
  CHECK(values<float>(run("in x : f32[i]\nout z += x * 2", {y}, {y})[0]) == F{3, 6, 9});
}

TEST_CASE("views of any strides are read in place") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const View<float> reversed(x.data<float>() + 5, {3, 2}, {-1, -3});
  CHECK(values<float>(run("in x : f32[:, :]\nout z = x", {reversed})[0]) == F{6, 3, 5, 2, 4, 1});
  const View<float> repeated(x.data<float>(), {2, 2}, {0, 1});
  CHECK(values<float>(run("in x : f32[:, :]\nout z = x", {repeated})[0]) == F{1, 2, 1, 2});
}

TEST_CASE("a visitor sees every node as made of what it has changed") {
  const LoopSpec spec = parse("kernel k { in x : f64[i, j]; out z = sum(x * 2, j) }");
  const Array x = array<double>({1, 2, 3, 4}, {2, 2});
  const std::vector<AnyView> inputs{x.transposed()}; // columns 1 3, 2 4
  std::vector<std::vector<double>> seen;
  const auto visit = [&](expr::NodeId, const Array &elements) {
    seen.push_back(values<double>(elements));
    if (elements.size() == 4) static_cast<double *>(elements.raw())[0] += 10;
  };
  evaluate_nodes(analysis::analyse(spec.data()), inputs, visit);
  CHECK(seen == std::vector<std::vector<double>>{{1, 3, 2, 4}, {2}, {22, 6, 4, 8}, {38, 12}});
  CHECK(values<double>(x) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("empty folds give the identity or an error") {
  const Array none(f32, {2, 0}), nothing(f32, {0, 0});
  CHECK(values<float>(run("in x : f32[i, j]\nout s[i] = reduce(sum) x", {none})[0]) == F{0, 0});
  CHECK(values<float>(run("in x : f32[i, j]\nout s[i] = reduce(prod) x", {none})[0]) == F{1, 1});
  CHECK(code("in x : f32[i, j]\nout s[i] = reduce(max) x", {none}) == "E0307");
  CHECK(run("in x : f32[i, j]\nout s[i] = reduce(max) x", {nothing})[0].size() == 0);
  CHECK(code("in x : f32[i, j]\nout s[j] = reduce(max) x", {none}) == "");
}

TEST_CASE("wrong ranks, extents and types are named") {
  const Array x(f32, {2, 3}), y(f32, {2});
  CHECK(code("in x : f32[:]\nout z = x", {x}) == "E0101");
  CHECK(code("in x : f32[:, :]\nin y : f32[:]\nout z = x + y", {x, y}) == "E0102");
  CHECK(code("in x : f32[i, j]\nin y : f32[j]\nout z = x\nout w = y", {x, y}) == "E0102");
  CHECK(code("in x : f32[:, 4]\nout z = x", {x}) == "E0102");
  CHECK(code("stretch off\nin x : f32[:, :]\nin y : f32[:]\nout z = x + y", {x, Array(f32, {1})}) ==
        "E0102");
  CHECK(code("in x : f64[:, :]\nout z = x", {x}) == "E0203");
}

TEST_CASE("an expression of 100,000 operations is evaluated without recursion") {
  Expr e = input("x", f64, 1);
  for (int k = 0; k < 100000; ++k) e = e + 1.0;
  const LoopSpec spec = LoopSpec("deep").out("z", e);
  const Array x = array<double>({1, 2}, {2});
  const std::vector<AnyView> inputs{x};
  CHECK(values<double>(evaluate(analysis::analyse(spec.data()), inputs)[0]) == D{100001, 100002});
}

} // namespace
} // namespace broadloom::reference

// In which order allocated outputs lie: by the bytes that are read against theirs, never by who was
// written first.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace broadloom;

namespace {

using Strides = std::vector<std::int64_t>;

Layout in_c(const Strides &shape) { return contiguous_layout(shape); }
Layout in_f(const Strides &shape) {
  Layout layout = contiguous_layout(shape);
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < shape.size(); stride *= shape[d++]) layout.strides[d] = stride;
  return layout;
}

// The strides of the only output for inputs of f64 that lie so.
Strides strides(const std::string &body, const std::vector<Layout> &layouts) {
  std::vector<Array> arrays;
  const Kernel k = compile(parse("kernel k { " + body + " }"), {.engine = Engine::interpreter});
  std::vector<NamedView> views;
  const std::vector<InputInfo> infos = k.inputs();
  for (const Layout &layout : layouts) arrays.emplace_back(f64, layout.shape());
  for (std::size_t i = 0; i < layouts.size(); ++i)
    views.push_back({infos[i].name, AnyView{f64, arrays[i].raw(), false, layouts[i]}});
  const Results results = k.call(views);
  const auto found = results[std::size_t(0)].strides();
  return {found.begin(), found.end()};
}

} // namespace

TEST_CASE("an output lies as the inputs do where they agree") {
  const std::string sum = "in a : f64[:, :]; in b : f64[:, :]; out y = a + b";
  CHECK(strides(sum, {in_c({3, 5}), in_c({3, 5})}) == Strides{5, 1});
  CHECK(strides(sum, {in_f({3, 5}), in_f({3, 5})}) == Strides{1, 3});
}

TEST_CASE("of inputs in two orders the larger one decides, and C order where they are as large") {
  const Strides shape{4, 6};
  for (const std::string sum : {"a + b", "b + a"}) {
    const std::string body = "in a : f64[:, :]; in b : f64[:, :]; out y = " + sum;
    CHECK(strides(body, {in_c(shape), in_f(shape)}) == Strides{6, 1});
    CHECK(strides(body, {in_f(shape), in_c(shape)}) == Strides{6, 1});
  }
  const std::string three =
      "in a : f64[:, :]; in b : f64[:, :]; in c : f64[:, :]; out y = a + b * c";
  CHECK(strides(three, {in_c(shape), in_f(shape), in_f(shape)}) == Strides{1, 4});
  CHECK(strides(three, {in_f(shape), in_c(shape), in_c(shape)}) == Strides{6, 1});
  // A large operand that lacks no axis of the output, folded.
  const std::string folded = "in a : f64[i, j]; in b : f64[i, j, k]; out y = a + sum(b, k)";
  CHECK(strides(folded, {in_c(shape), in_f({4, 6, 9})}) == Strides{1, 4});
}

TEST_CASE("one row or one column of an input says nothing of the order") {
  const std::string body = "in a : f64[:, :]; in r : f64[:, :]; out y = a + r";
  CHECK(strides(body, {in_f({4, 6}), in_c({1, 6})}) == Strides{1, 4});
  CHECK(strides(body, {in_f({4, 6}), in_c({4, 1})}) == Strides{1, 4});
}

TEST_CASE("a wish for an order holds for what the call allocates, and for nothing else") {
  const std::string wish = "in a : f64[:, :]; out y in f = a + 1";
  CHECK(strides(wish, {in_c({3, 5})}) == Strides{1, 3});
  CHECK(strides("in a : f64[:, :]; out y : f64 in c = a + 1", {in_f({3, 5})}) == Strides{5, 1});
  CHECK(strides("in a : f64[:, :]; let h[i, j] in f = a[i, j] + 1; out y = h[k, l] * 2",
                {in_c({3, 5})}) == Strides{1, 3});
  const LoopSpec spec = parse("kernel k { " + wish + " }");
  CHECK(print(spec) == "kernel k {\n  in  a : f64[:, :]\n  out y in f = a + 1\n}\n");
  const Expr a = input("a", f64, {":", ":"});
  CHECK(print(LoopSpec("k").in(a).out("y", a + 1).store(Order::f)) == print(spec));
  std::vector<double> x{1, 2, 3, 4}, y(4);
  const std::vector<NamedView> in{{"a", View<const double>(x.data(), {2, 2})}},
      out{{"y", View<double>(y.data(), {2, 2})}};
  compile(spec).run_named(in, out);
  CHECK(y == std::vector<double>{2, 3, 4, 5});
}

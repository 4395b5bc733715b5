// Jacobians and Hessians: what they print, and that they hold against closed forms, directional
// derivatives and their own slopes.
#include <broadloom/broadloom.hpp>
#include <broadloom/jacobian.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using D = std::vector<double>;

LoopSpec kernel(const std::string &body) { return parse("kernel k {\n" + body + "\n}"); }

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

D values(const Array &array) {
  const Array dense = array.copy();
  return {dense.data<double>(), dense.data<double>() + dense.size()};
}

// In every engine, which agree; as it prints.
D run(const LoopSpec &spec, const std::vector<NamedView> &inputs) {
  INFO(print(spec));
  const LoopSpec read = parse(print(spec));
  CHECK(print(read) == print(spec));
  const D made = values(compile(read, {.engine = Engine::interpreter}).call(inputs)[0]);
  CHECK(values(compile(read, {.engine = Engine::automatic}).call(inputs)[0]) == made);
  const D wanted = values(compile(read, {.engine = Engine::reference}).call(inputs)[0]);
  REQUIRE(wanted.size() == made.size());
  for (std::size_t k = 0; k < made.size(); ++k)
    CHECK(made[k] == doctest::Approx(wanted[k]).epsilon(1e-12));
  return made;
}

// Central differences of output `of` by input `wrt`.
D measured(const LoopSpec &spec, const std::vector<NamedView> &inputs, const std::string &of,
           const std::string &wrt, std::vector<double> &data) {
  const Kernel value = compile(spec, {.engine = Engine::interpreter});
  std::vector<D> columns;
  for (double &element : data) {
    const double at = element, step = 1e-5;
    element = at + step;
    const D above = values(value.call(inputs)[of]);
    element = at - step;
    const D below = values(value.call(inputs)[of]);
    element = at;
    columns.emplace_back();
    for (std::size_t k = 0; k < above.size(); ++k)
      columns.back().push_back((above[k] - below[k]) / (2 * step));
  }
  D rows;
  for (std::size_t k = 0; !columns.empty() && k < columns[0].size(); ++k)
    for (const D &column : columns) rows.push_back(column[k]);
  CHECK(!wrt.empty());
  return rows;
}

void check_close(const D &got, const D &want, double allowed = 1e-8) {
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k)
    CHECK_MESSAGE(std::fabs(got[k] - want[k]) <= allowed * (1 + std::fabs(want[k])),
                  "element " << k << " is " << got[k] << ", not " << want[k]);
}

TEST_CASE("a Jacobian has the axes of the output and then those of the input") {
  CHECK(print(jacobian(kernel("in x : f64[i]; out y = x * x"), "y", "x")) ==
        "kernel k_jacobian {\n  in  x : f64[i]\n"
        "  out d_y_d_x[i, i_x < extent(x, 0)] : f64 = 2 * (f64(iota(i_x) == iota(i, of=x)) * "
        "x)\n}\n");
  D x{1, 2, 3};
  CHECK(run(jacobian(kernel("in x : f64[i]; out y = x * x"), "y", "x"), {{"x", x}}) ==
        D{2, 0, 0, 0, 4, 0, 0, 0, 6});
  CHECK(run(jacobian(kernel("in x : f64[i]; out s = sum(x * x)"), "s", "x"), {{"x", x}}) ==
        D{2, 4, 6});
  D s{2};
  CHECK(run(jacobian(kernel("in x : f64[i]; in s : f64; out y = x * s * s"), "y", "s"),
            {{"x", x}, {"s", View(s, {})}}) == D{4, 8, 12});
}

TEST_CASE("an output that an input does not move has a Jacobian of zeros") {
  D x{1, 2, 3}, w{4, 5};
  CHECK(run(jacobian(kernel("in x : f64[i]; in w : f64[j]; out y = x; out v = w"), "y", "w"),
            {{"x", x}, {"w", w}}) == D(6, 0.0));
}

TEST_CASE("Jacobians of products, windows, gathers and loops are those of differences") {
  D x{0.3, -0.7, 1.1, 0.4, 0.9, -0.2}, w{0.5, -1.5};
  std::vector<std::int64_t> k{2, 0, 2};
  const std::vector<NamedView> inputs{{"x", View(x, {3, 2})}, {"w", w}};
  const LoopSpec dense = kernel("in x : f64[n, i]; in w : f64[i]; out y = tanh(sum(x * w, i))");
  check_close(run(jacobian(dense, "y", "w"), inputs), measured(dense, inputs, "y", "w", w));
  check_close(run(jacobian(dense, "y", "x"), inputs), measured(dense, inputs, "y", "x", x));
  const LoopSpec softmax =
      kernel("in x : f64[n, i]; let e = exp(x - max(x, i)); out y = e / sum(e, i)");
  const std::vector<NamedView> only{{"x", View(x, {3, 2})}};
  check_close(run(jacobian(softmax, "y", "x"), only), measured(softmax, only, "y", "x", x));
  const LoopSpec filter =
      kernel("in x : f64[:]; in w : f64[u]; out y = sin(sum(x[i + u] * w, u)) + x[2*i]");
  const std::vector<NamedView> flat{{"x", x}, {"w", w}};
  check_close(run(jacobian(filter, "y", "x"), flat), measured(filter, flat, "y", "x", x));
  check_close(run(jacobian(filter, "y", "w"), flat), measured(filter, flat, "y", "w", w));
  const LoopSpec gather = kernel("in x : f64[:]; in k : i64[n]; out y = square(x[k[n]])");
  const std::vector<NamedView> indexed{{"x", x}, {"k", k}};
  check_close(run(jacobian(gather, "y", "x"), indexed), measured(gather, indexed, "y", "x", x));
  const LoopSpec loop = kernel(
      "in x : f64[t]; in w : f64[j]; let s[t, j] = tanh(x + w * s[t - 1, j]); out y[t, j] = s");
  check_close(run(jacobian(loop, "y", "w"), flat), measured(loop, flat, "y", "w", w));
  check_close(run(jacobian(loop, "y", "x"), flat), measured(loop, flat, "y", "x", x));
}

TEST_CASE("a Hessian is the Jacobian of a gradient, and symmetric") {
  D x{0.3, -0.7, 1.1}, w{0.5, -1.5, 2.0};
  CHECK(run(hessian(kernel("in x : f64[i]; out l = sum(x * x * x)"), "l", "x"), {{"x", w}}) ==
        D{3, 0, 0, 0, -9, 0, 0, 0, 12});
  for (const char *body : {"in x : f64[i]; in w : f64[i]; out l = logsumexp(x * w)",
                           "in x : f64[i]; in w : f64[i]; out l = sum(exp(x) * w) * prod(x)",
                           "in x : f64[:]; in w : f64[u]; out l = sum(sin(x[i + 1] * x[i]))"}) {
    const LoopSpec spec = kernel(body);
    const std::vector<NamedView> inputs{{"x", x}, {"w", w}};
    const D made = run(hessian(spec, "l", "x"), inputs);
    const LoopSpec slope = gradient(spec, {"x"});
    D one{1};
    const std::vector<NamedView> more{{"x", x}, {"w", w}, {"d_l", View(one, {})}};
    check_close(made, measured(slope, more, "d_x", "x", x), 1e-7);
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < a; ++b)
        CHECK(made[3 * a + b] == doctest::Approx(made[3 * b + a]).epsilon(1e-9));
  }
}

TEST_CASE("Jacobians have derivatives, forward and back, and batches") {
  const LoopSpec first =
      jacobian(kernel("in x : f64[i]; in w : f64[i]; out y = sin(x) * sum(x * w)"), "y", "x");
  D x{0.3, -0.7, 1.1}, w{0.5, -1.5, 2.0};
  const std::vector<NamedView> inputs{{"x", x}, {"w", w}};
  check_close(run(jacobian(first, "d_y_d_x", "w"), inputs),
              measured(first, inputs, "d_y_d_x", "w", w));
  check_close(run(jacobian(first, "d_y_d_x", "x"), inputs),
              measured(first, inputs, "d_y_d_x", "x", x), 1e-7);
  const GradientCheck check = check_gradient(first, inputs, {.engine = Engine::interpreter});
  for (const SlopeCheck &slope : check.slopes) CHECK(slope.slope != Slope::differs);
  CHECK(!check.slopes.empty());
  D both{0.3, -0.7, 1.1, 0.2, 0.4, -0.6};
  const D each = run(batch(first, "b", {"x"}), {{"x", View(both, {2, 3})}, {"w", w}});
  D second{0.2, 0.4, -0.6}, want = run(first, inputs);
  const D other = run(first, {{"x", second}, {"w", w}});
  want.insert(want.end(), other.begin(), other.end());
  CHECK(each == want);
}

TEST_CASE("a let that lends its extents to another is there in the gradient of a Jacobian") {
  const LoopSpec first = jacobian(kernel("in x : f64[t, i]; in w : f64[t, i]; let h = x * w; "
                                         "out y = sum(h, like=x[0 + t, i])"),
                                  "y", "x");
  const D x{0.3, -0.7, 1.1, 0.4, 0.9, -0.2}, w{0.5, -1.5, 2.0, 0.1, 0.6, 1.2};
  const D d(36, 0.5);
  const std::vector<NamedView> inputs{{"x", View<const double>(x.data(), {2, 3})},
                                      {"w", View<const double>(w.data(), {2, 3})},
                                      {"d_d_y_d_x", View<const double>(d.data(), {2, 3, 2, 3})}};
  CHECK(run(gradient(first, {"w"}), inputs) == D(6, 0.5));
}

TEST_CASE("what has no Jacobian or Hessian is refused") {
  const auto refused = [](auto make) {
    try {
      make();
    } catch (const Error &error) {
      return error.code() + " " + error.what();
    }
    return std::string("nothing");
  };
  const LoopSpec spec =
      kernel("in x : f64[i]; in n : i64; in c : c128[i]; out y = x * n; out z = x * c");
  CHECK(has(refused([&] { jacobian(spec, "y", "q"); }), "E0003"));
  CHECK(has(refused([&] { jacobian(spec, "q", "x"); }), "E0003"));
  CHECK(has(refused([&] { jacobian(spec, "y", "n"); }), "E0603"));
  CHECK(has(refused([&] { jacobian(spec, "z", "c"); }), "a Jacobian is one by real numbers"));
  CHECK(has(refused([&] { hessian(spec, "y", "x"); }), "and a Hessian is that of a single number"));
  CHECK(has(refused([&] { hessian(spec, "y", "x"); }), "E0609"));
}

TEST_CASE("axes that inputs meet by their position have names in a Jacobian") {
  CHECK(print(jacobian(kernel("in x : f64[:]; out y = x * x"), "y", "x")) ==
        "kernel k_jacobian {\n  in  x : f64[i0]\n"
        "  out d_y_d_x[i0, i0_x < extent(x, 0)] : f64 = 2 * (f64(iota(i0_x) == iota(i0, of=x)) * "
        "x)\n}\n");
  D x{0.3, -0.7, 1.1, 0.4, 0.9, -0.2}, y{0.5, -1.5}, z{1, 2, -0.5};
  const auto holds = [&](const std::string &body, const std::vector<NamedView> &inputs,
                         const std::string &of) {
    const LoopSpec spec = kernel(body);
    check_close(run(jacobian(spec, of, "x"), inputs), measured(spec, inputs, of, "x", x));
    if (of == "t") return; // like x, which has more axes
    check_close(run(jacobian(spec, of, "y"), inputs),
                measured(spec, inputs, of, "y", inputs[1].view.layout.extents[0] == 2 ? y : z));
  };
  const std::vector<NamedView> trailing{{"x", View(x, {3, 2})}, {"y", y}},
      leading{{"x", View(x, {3, 2})}, {"y", z}};
  const std::string body = "in x : f64[:, :]; in y : f64[:]; out p = sin(x) * y; "
                           "out s = sum(x * y, 1); out t[1, 0] = x * extent(-1) + y * iota(0); "
                           "out a = accumulate(sum) x * y; out c = scan(prod, x + y, -1)";
  for (const char *of : {"p", "s", "t", "a", "c"}) {
    holds(body, trailing, of);
    holds("order c; " + body, leading, of);
  }
  holds("in x : f64[:, :] axes(1, 0); in y : f64[:] dims(0); out p = x * y", trailing, "p");
  const LoopSpec mixed = kernel("in x : f64[:]; in y : f64[i]; in w : f64[:]; "
                                "out p = x[i + 1] * y * w");
  const std::vector<NamedView> three{{"x", z}, {"y", y}, {"w", y}};
  check_close(run(jacobian(mixed, "p", "x"), three), measured(mixed, three, "p", "x", z));
}

TEST_CASE("dims of 1 are repeated in a Jacobian as by position") {
  D x{0.3, -0.7, 1.1, 0.4, 0.9, -0.2}, m{0.5, -1.5}, one{2};
  const LoopSpec spec = kernel("in x : f64[:, :]; in m : f64[:, :]; out y = x * exp(m)");
  CHECK(print(jacobian(spec, "y", "m")).find("in  m : f64[i0?, i1?]") != std::string::npos);
  const std::vector<NamedView> row{{"x", View(x, {3, 2})}, {"m", View(m, {1, 2})}},
      number{{"x", View(x, {3, 2})}, {"m", View(one, {1, 1})}};
  check_close(run(jacobian(spec, "y", "m"), row), measured(spec, row, "y", "m", m));
  check_close(run(jacobian(spec, "y", "x"), row), measured(spec, row, "y", "x", x));
  check_close(run(jacobian(spec, "y", "m"), number), measured(spec, number, "y", "m", one));
}

TEST_CASE("a Hessian of what is met by position takes dims that meet to be as long") {
  D x{0.3, -0.7, 1.1}, w{0.5, -1.5, 2.0};
  const LoopSpec spec = kernel("in x : f64[:]; in w : f64[:]; out l = sum(exp(x) * w) * prod(x)");
  const LoopSpec named =
      kernel("in x : f64[i0]; in w : f64[i0]; out l = sum(exp(x) * w) * prod(x)");
  const std::vector<NamedView> inputs{{"x", x}, {"w", w}};
  check_close(run(hessian(spec, "l", "x"), inputs), run(hessian(named, "l", "x"), inputs), 1e-12);
  D one{2};
  const std::vector<NamedView> repeated{{"x", x}, {"w", one}};
  CHECK_THROWS_AS(compile(hessian(spec, "l", "x")).call(repeated), ShapeError);
}

TEST_CASE("inputs of lets that are arrays get the labels that they have there") {
  D x{0.3, -0.7, 1.1}, s{0.5, -1.5, 2.0};
  const std::vector<NamedView> inputs{{"x", x}, {"s", s}};
  const LoopSpec spec =
      kernel("in x : f64[:]; in s : f64[i]; let q = sin(x) * x; out l[i] = s * q[i] + x");
  check_close(run(jacobian(spec, "l", "x"), inputs), measured(spec, inputs, "l", "x", x));
  check_close(run(jacobian(spec, "l", "s"), inputs), measured(spec, inputs, "l", "s", s));
  D square{0.3, -0.7, 1.1, 0.4}, y{0.5, -1.5};
  const std::vector<NamedView> both{{"x", View(square, {2, 2})}, {"y", y}};
  const LoopSpec two = kernel("in x : f64[:, :]; in y : f64[:]; let p = x * y; let q = sin(y); "
                              "out l[i, j] = p[i, j] * q[i] + q[j]");
  check_close(run(jacobian(two, "l", "x"), both), measured(two, both, "l", "x", square));
  check_close(run(jacobian(two, "l", "y"), both), measured(two, both, "l", "y", y));
}

} // namespace

TEST_CASE("a number has a Hessian where nothing of the kernel has an axis but its loop") {
  const double x = 1.25;
  const std::vector<NamedView> at{{"x", View<const double>(&x, {})}};
  const LoopSpec power = kernel("in x : f64; let h[t < 5] = h[t - 1] * x from 1; out l = h[-1]");
  CHECK(run(hessian(power, "l", "x"), at)[0] == doctest::Approx(20 * x * x * x));
  CHECK(run(jacobian(power, "l", "x"), at)[0] == doctest::Approx(5 * x * x * x * x));
}

TEST_CASE("a Jacobian that is not there is told of the kernel that was asked about") {
  std::string said;
  try {
    jacobian(kernel("in x : f64[:]; out z[i < 3] = x[i + 0]; out z[i + 3] = 2 * x[i]"), "z", "x");
  } catch (const SpecError &error) {
    said = error.message();
  }
  CHECK(has(said, "kernel 'k' gets no axis of a batch: "));
}

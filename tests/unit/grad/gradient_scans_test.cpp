// Gradients of scans where axes are repeated, by inputs of extent 1, and of what cannot be seen
// from a single gradient.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

struct Given {
  std::string name;
  std::vector<std::int64_t> shape;
};

// All slopes agree, and each was measured.
void check_slopes(const LoopSpec &spec, const std::vector<Given> &inputs) {
  INFO(print(spec));
  std::vector<Array> arrays;
  std::vector<NamedView> views;
  for (const Given &in : inputs) {
    arrays.emplace_back(f64, in.shape);
    for (std::int64_t k = 0; k < arrays.back().size(); ++k)
      arrays.back().data<double>()[k] =
          0.3 + std::fmod(double(k + 1) * 0.618 + in.name[0] * 0.1, 1.4);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) views.push_back({inputs[i].name, arrays[i]});
  const GradientCheck check =
      check_gradient(spec, std::span<const NamedView>(views), {.engine = Engine::interpreter});
  for (const SlopeCheck &slope : check.slopes)
    CHECK_MESSAGE(slope.slope == Slope::agrees, describe(slope));
}

const std::string damped = "accumulator damped(a; m) { init a = 0; step a = 0.5 * a + m * m }\n";

Array in_f64(std::int64_t count, double (*value)(std::int64_t)) {
  Array made(f64, {count});
  for (std::int64_t k = 0; k < count; ++k) made.data<double>()[k] = value(k);
  return made;
}

Array slopes(const std::string &body, Engine engine, int threads, const Array &x,
             const Array &d_y) {
  Options options;
  options.engine = engine;
  options.threads = threads;
  const LoopSpec spec = parse(damped + "kernel k { in x : f64[i]; out y = " + body + " }");
  return compile(gradient(spec, {"x"}), options).call({{{"x", x}, {"d_y", d_y}}})["d_x"];
}

} // namespace

TEST_CASE("the gradient of a scan along the only axis goes back in blocks, as if step by step") {
  const Array x = in_f64(20000, [](std::int64_t k) { return std::exp(0.01 * std::sin(k * 1.7)); });
  const Array d_y = in_f64(20000, [](std::int64_t k) { return std::cos(double(k)); });
  const auto values = [](const Array &array) {
    return std::vector<double>(array.data<double>(), array.data<double>() + array.size());
  };
  for (const std::string fold :
       {"prod, x, i", "max, x, i", "min, x, i", "damped, x, i", "prod, x, i, exclusive",
        "damped, x, i, exclusive", "max, x, i, init=1.002", "prod, x, i, init=0.5"})
    for (const char *option : {"", ", reverse"}) {
      const std::string body = "scan(" + fold + option + ")";
      CAPTURE(body);
      const std::vector<double> truth = values(slopes(body, Engine::reference, 1, x, d_y)),
                                once = values(slopes(body, Engine::interpreter, 1, x, d_y));
      for (std::size_t k = 0; k < truth.size(); ++k)
        if (std::abs(truth[k] - once[k]) > 1e-9 * (1 + std::abs(truth[k]))) {
          CHECK(once[k] == truth[k]);
          break;
        }
      for (const int threads : {1, 2, 5})
        CHECK(values(slopes(body, Engine::jit, threads, x, d_y)) == once);
    }
}

TEST_CASE("nothing flows back through a block of which the product is infinite") {
  // Blocks begin at the start where they go forward, and at the end where they go back: there one
  // has 2^1100.
  const Array x = in_f64(6144, [](std::int64_t k) {
    return k < 1000 ? 0.5 : k >= 2900 && k < 4000 ? 2 : 1.0;
  });
  const Array d_y = in_f64(6144, [](std::int64_t k) { return double(k == 3); });
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    const Array got = slopes("scan(prod, x, i)", engine, 2, x, d_y);
    CHECK(std::count(got.data<double>(), got.data<double>() + 4, 0.125) == 4);
    CHECK(std::count(got.data<double>() + 4, got.data<double>() + 6144, 0.0) == 6140);
  }
}

TEST_CASE("a condition of extent 1 holds at all positions of the scan under it") {
  for (const char *option : {"", ", exclusive", ", reverse"})
    for (const char *fold : {"damped", "sum", "logsumexp", "prod"})
      check_slopes(parse(damped +
                         "kernel k { in x : f64[l]; in w : f64[l=1]\n"
                         "out o = sum(where(w > 0, exp(scan(" +
                         fold + ", x * x, l" + option + ")), 0)) }"),
                   {{"x", {5}}, {"w", {1}}});
}

TEST_CASE("a scan along an unlabelled axis has a gradient, whether its 1 is repeated or not") {
  const std::vector<std::vector<std::int64_t>> shapes{{1, 5}, {5, 5}, {5, 1}, {1, 1}};
  for (const std::string fold :
       {"sum", "mean", "damped", "max, init=0.5", "prod", "logsumexp, init=(1, 2)"})
    for (const char *option : {"", ", reverse"})
      for (const auto &shape : shapes) {
        const std::string name = fold.substr(0, fold.find(',')), init = fold.substr(name.size());
        check_slopes(parse(damped +
                           "kernel k { in x : f64[:]; in y : f64[:]\n"
                           "out z = scan(" +
                           name + ", x, 0" + option + init + ") * y }"),
                     {{"x", {shape[0]}}, {"y", {shape[1]}}});
      }
}

TEST_CASE("what a repeated scan starts from gets its share once") {
  for (const char *option : {"", ", reverse", ", exclusive", ", exclusive, reverse"})
    for (const std::int64_t n : {1, 4})
      check_slopes(parse(damped +
                         "kernel k { in x : f64[:]; in y : f64[:]; in s : f64\n"
                         "out z = scan(damped, x, 0" +
                         option + ", init=s) * y }"),
                   {{"x", {n}}, {"y", {4}}, {"s", {}}});
}

TEST_CASE("a product over two axes can be derived twice") {
  check_slopes(gradient(parse("kernel k { in x : f64[i, j]; out z = prod(x) }"), {"x"}),
               {{"x", {2, 3}}, {"d_z", {}}});
}

TEST_CASE("names that begin as those of cotangents do are told apart") {
  check_slopes(parse("accumulator odd(l_a, a; x) { init l_a = 0, a = 1\n"
                     "step l_a = 0.5 * l_a + a * x, a = a * 0.9 + x\nresult l_a + a }\n"
                     "kernel k { in x : f64[i]; out z = odd(x) }"),
               {{"x", {4}}});
}

TEST_CASE("arguments that lack the axis of an accumulator with a combine get something from each "
          "position") {
  const std::string linked =
      "accumulator linked(s, v, q; x, w) { init s = 0., v = 0., q = 0.\n"
      "step s = s + x, v = v + w, q = q + w * s\n"
      "combine s = s + s_other, v = v + v_other, q = q + q_other + s * v_other\n"
      "result q + s * 0.1 + v * v }\n"
      "kernel k { in x : f64[i]; in y : f64; in o : f64[i=1]; out z = ";
  for (const char *args : {"(x, y)", "(y, x)", "(x, o)", "(o, x)", "(y * o, x)", "(x, x)"})
    check_slopes(parse(linked + "linked(" + args + ", i) * y * sum(o) * sum(x) }"),
                 {{"x", {4}}, {"y", {}}, {"o", {1}}});
}

TEST_CASE("two folds of one accumulator have a table each where they read different arguments") {
  const std::string decayed = "accumulator decayed(s, p; x, w) { init s = 0., p = 1.\n"
                              "step s = s * w + x, p = p * w\n"
                              "combine s = s * p_other + s_other, p = p * p_other }\n"
                              "kernel k { in x : f64[i]; in y : f64; in w : f64[i]; out z = ";
  check_slopes(parse(decayed + "decayed((x, w), i) * decayed((x, y), i) }"),
               {{"x", {4}}, {"y", {}}, {"w", {4}}});
}

TEST_CASE("a scan under a sum through a window is computed first, in an array of its own") {
  const auto spec = [](const std::string &body, const std::string &before = "") {
    return parse(before + "kernel k { " + body + " }");
  };
  check_slopes(spec("in x : f64[n]; out y = prod(x[i + 1], i)"), {{"x", {5}}});
  check_slopes(spec("in x : f64[n]; out y = prod(x[i + 1] + x[i]^2, i)"), {{"x", {5}}});
  check_slopes(spec("in x : f64[n]; out y = prod(x[2*i + 1], i) + x[0]"), {{"x", {7}}});
  check_slopes(spec("in x : f64[n, j]; out y = prod(x[i + 1, j], i)"), {{"x", {4, 3}}});
  check_slopes(spec("in x : f64[n, j]; out y = prod(x[i + 1, l + 1], i, l)"), {{"x", {4, 3}}});
  check_slopes(spec("in x : f64[n]; out y = prod(pad(x, n: (1, 2), edge)[i + 1], i)"),
               {{"x", {4}}});
  check_slopes(spec("in x : f64[n]; out y = prod(pad(x, n: (1, 1), edge)[i], i)"), {{"x", {4}}});
  check_slopes(spec("in x : f64[n]; out y = scan(prod, x[i + 1], i)"), {{"x", {5}}});
  check_slopes(spec("in x : f64[n]; let h[n] = exp(x); out y = prod(h, n)"), {{"x", {5}}});
  check_slopes(spec("in x : f64[n]; let h[n] = exp(x); out y = prod(h[i + 1], i) * h[0]"),
               {{"x", {5}}});
  check_slopes(spec("in x : f64[n]; let h[n] = exp(x); out y = scan(max, h, n)"), {{"x", {5}}});
  check_slopes(spec("in x : f64[n]; let h[n] = exp(x); out y = damped(h[i + 1], i)", damped),
               {{"x", {5}}});
  check_slopes(
      spec("in x : f64[n]; out y = damped(x[i + 1], i); out z = scan(damped, x[i], i)", damped),
      {{"x", {5}}});
}

TEST_CASE("such a scan has derivatives by two inputs, and second ones") {
  const LoopSpec two = parse("kernel k { in s : f64; in q : f64[k]; out y = prod(q[a + 1] * s, a); "
                             "out z = scan(sum, q[a + 1] * s, a) }");
  check_slopes(two, {{"s", {}}, {"q", {4}}});
  const LoopSpec back = gradient(two, {"q", "s"});
  CHECK(print(parse(print(back))) == print(back));
  check_slopes(back, {{"s", {}}, {"q", {4}}, {"d_y", {}}, {"d_z", {3}}});
}

TEST_CASE("the array of such a scan ends where its axis does, by what it does not read, too") {
  const LoopSpec spec = parse("kernel k { in x : f64[n]; in w : f64[m]; out y = prod(x[i + 1], i); "
                              "out z = sum(w[2*i] * x[i], i) }");
  check_slopes(spec, {{"x", {6}}, {"w", {5}}}); // i < 3
  check_slopes(spec, {{"x", {4}}, {"w", {9}}}); // i < 3
  const LoopSpec back = gradient(spec, {"x"}, {.of = {"y"}});
  const std::string text = print(back);
  CHECK(text.find("let along[i] = ") != std::string::npos);
  CHECK(print(parse(text)) == text);
}

TEST_CASE("something flows back into what a loop begins with, though its dims have no labels") {
  const LoopSpec one = parse("kernel k { in a : f64[:]; in c : f64; "
                             "let u[t < 5, i] = u[t - 1, i]^2 * c from a; out y = u[-1, i] }");
  check_slopes(one, {{"a", {4}}, {"c", {}}});
  const LoopSpec two = parse("kernel k { in a : f64[:, :]; in c : f64; let u[i, t < 4, j] = "
                             "u[i, t - 1, j] * c + u[i, t - 1, j]^2 from a; out y = u[i, -1, j] }");
  check_slopes(two, {{"a", {2, 3}}, {"c", {}}});
}

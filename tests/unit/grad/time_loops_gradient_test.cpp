// Gradients of lets that read themselves: held against slopes, and derived again.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

// Random inputs of these shapes.
struct Given {
  std::string name;
  std::vector<std::int64_t> shape;
};

std::vector<Array> arrays_of(const std::vector<Given> &given, double scale) {
  std::vector<Array> arrays;
  std::uint64_t state = 1;
  for (const Given &one : given) {
    Array &array = arrays.emplace_back(DType::F64, one.shape);
    for (std::int64_t k = 0; k < array.size(); ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      array.data<double>()[k] = scale * (double(state >> 33) / double(1u << 31) * 2 - 1);
    }
  }
  return arrays;
}

void check_slopes(const LoopSpec &spec, const std::vector<Given> &given) {
  const std::vector<Array> arrays = arrays_of(given, 0.8);
  std::vector<NamedView> inputs;
  for (std::size_t k = 0; k < given.size(); ++k) inputs.push_back({given[k].name, arrays[k]});
  const GradientCheck check = check_gradient(spec, inputs);
  CHECK(check.passed());
  for (const SlopeCheck &slope : check.slopes) {
    CAPTURE(slope.input);
    CHECK(slope.slope == Slope::agrees);
  }
}

void first_and_second(const std::string &body, const std::vector<Given> &given,
                      const std::vector<std::string> &wrt, const std::vector<Given> &cotangents) {
  const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
  check_slopes(spec, given);
  const LoopSpec derived = gradient(spec, wrt);
  const std::string read = print(parse(print(derived))); // where `let a = b` is another name of b
  CHECK(print(parse(read)) == read);
  std::vector<Given> all = given;
  all.insert(all.end(), cotangents.begin(), cotangents.end());
  check_slopes(derived, all);
}

} // namespace

TEST_CASE(
    "the gradient of a recurrent network is that of its slopes, also by what it begins with") {
  first_and_second("in x : f64[t, n, c]\nin w : f64[c, i]\nin v : f64[k, i]\nin h0 : f64[n, k]\n"
                   "let h[t, n, i] = tanh(sum(x * w, c) + sum(h[t - 1, n, k] * v, k)) from h0\n"
                   "out y[n, i] = h[-1, n, i]",
                   {{"x", {4, 2, 2}}, {"w", {2, 3}}, {"v", {3, 3}}, {"h0", {2, 3}}},
                   {"x", "w", "v", "h0"}, {{"d_y", {2, 3}}});
}

TEST_CASE("gradients go through lets that read each other") {
  first_and_second("in x : f64[t, i]\nin u : f64[k, i]\nin f : f64[i]\n"
                   "let c[t, i] = f * c[t - 1, i] + sin(x + sum(h[t - 1, k] * u, k))\n"
                   "let h[t, i] = tanh(c) * f\n"
                   "out y[t, i] = h",
                   {{"x", {3, 2}}, {"u", {2, 2}}, {"f", {2}}}, {"x", "u", "f"}, {{"d_y", {3, 2}}});
}

TEST_CASE("gradients go through two earlier steps, and to what stands for both") {
  first_and_second("in x : f64[t]\nin a : f64\nin s0 : f64\n"
                   "let s[t] = a * s[t - 1] * s[t - 2] + x from s0\nout y[t] = s",
                   {{"x", {5}}, {"a", {}}, {"s0", {}}}, {"x", "a", "s0"}, {{"d_y", {5}}});
}

TEST_CASE("gradients go through loops that run backwards") {
  first_and_second("in x : f64[t, i]\nin a : f64[i]\nin s0 : f64[i]\n"
                   "let s[t, i] = sin(a * s[t + 1, i]) + x from s0 * 2\nout y[t, i] = s * s",
                   {{"x", {4, 2}}, {"a", {2}}, {"s0", {2}}}, {"x", "a", "s0"}, {{"d_y", {4, 2}}});
}

TEST_CASE("gradients go through steps that are counted and numbered") {
  first_and_second("in a : f64[i]\n"
                   "let u[t < 4, i] = u[t - 1, i] * sin(a) + a / (iota(t) + extent(t)) from a\n"
                   "out y[i] = u[-1, i]",
                   {{"a", {3}}}, {"a"}, {{"d_y", {3}}});
}

TEST_CASE("gradients go through a read that is folded as a whole") {
  first_and_second("in x : f64[t, i]\nlet s[t, i] = x + sin(mean(s[t - 1, k], k))\nout y[t, i] = s",
                   {{"x", {4, 3}}}, {"x"}, {{"d_y", {4, 3}}});
}

TEST_CASE("a short loop sends nothing to a start that stands further back") {
  const LoopSpec spec =
      parse("kernel k { in x : f64[t]; in a : f64; let s[t] = x + s[t - 3] from a\n"
            "out y[t] = s }");
  check_slopes(spec, {{"x", {2}}, {"a", {}}});
}

TEST_CASE("nothing flows back through a window of an earlier step, and that is told") {
  const LoopSpec spec = parse("kernel k { in u0 : f64[i]\n"
                              "let u[t < 4, i] = pad(u, 1: (1, 0))[t - 1, i] from u0\n"
                              "out y[t, i] = u }");
  try {
    gradient(spec, {"u0"});
    FAIL("it was derived");
  } catch (const SpecError &error) {
    CHECK(std::string(error.code()) == "E0607");
  }
}

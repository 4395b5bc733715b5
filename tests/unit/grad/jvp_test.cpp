// Forward mode: what it prints, and that for any weights the sum of w * t_z is that of d_x * t_x,
// d_x being the gradient for cotangents w. The numbers are such that all is exact, or
// well-conditioned.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

struct Given {
  std::string name;
  std::vector<std::int64_t> shape;
};

LoopSpec kernel(const std::string &body) { return parse("kernel k {\n" + body + "\n}"); }

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

bool is_real(DType dtype) { return dtype == f32 || dtype == f64; }
bool moves(DType dtype) { return is_real(dtype) || dtype == c64 || dtype == c128; }

std::size_t parts(const Array &a) {
  return std::size_t(a.size()) * (a.dtype() == c64 || a.dtype() == c128 ? 2 : 1);
}
double part(const Array &a, std::size_t k) {
  return a.dtype() == f32 || a.dtype() == c64 ? double(static_cast<float *>(a.raw())[k])
                                              : static_cast<double *>(a.raw())[k];
}
void set(const Array &a, std::size_t k, double value) {
  if (a.dtype() == f32 || a.dtype() == c64)
    static_cast<float *>(a.raw())[k] = float(value);
  else
    static_cast<double *>(a.raw())[k] = value;
}

using Shape = std::vector<std::int64_t>;

Array filled(DType dtype, std::span<const std::int64_t> shape, int seed) {
  Array a(dtype, {shape.begin(), shape.end()});
  if (!moves(dtype)) {
    for (std::int64_t k = 0; k < a.size(); ++k) a.data<std::int32_t>()[k] = std::int32_t(k * 5 % 4);
    return a;
  }
  for (std::size_t k = 0; k < parts(a); ++k)
    set(a, k, 0.3 + std::fmod(double(k + 1) * 0.618 + seed * 0.37, 1.4));
  return a;
}

double dot(const Array &a, const Array &b) {
  const Array x = a.copy(), y = b.copy();
  REQUIRE(parts(x) == parts(y));
  double sum = 0;
  for (std::size_t k = 0; k < parts(x); ++k) sum += part(x, k) * part(y, k);
  return sum;
}

std::vector<NamedView> views_of(const std::vector<std::pair<std::string, Array>> &arrays) {
  std::vector<NamedView> views;
  for (const auto &[name, array] : arrays) views.push_back({name, array});
  return views;
}

Array one_of(const LoopSpec &spec, const std::vector<NamedView> &views, const std::string &output) {
  return compile(spec, {.engine = Engine::interpreter}).call(views)[output].copy();
}

std::string tangent_name(const std::vector<std::pair<std::string, Array>> &inputs,
                         const std::string &of) {
  for (const auto &[name, array] : inputs)
    if (name == "t_" + of) return name + "_2";
  return "t_" + of;
}

// The sums of w * t_z and of d_x * t_x, over all outputs and all inputs that move.
struct Sums {
  double forward = 0, back = 0;
};

Sums both_ways(const LoopSpec &spec, const std::vector<Given> &inputs,
               const std::vector<std::string> &wrt, const std::vector<Array> &data = {}) {
  std::vector<std::pair<std::string, Array>> given;
  const std::vector<InputInfo> infos = compile(spec, {.engine = Engine::reference}).inputs();
  int seed = 0;
  for (const Given &input : inputs)
    for (const InputInfo &info : infos)
      if (info.name == input.name) {
        const auto n = std::size_t(seed++);
        given.emplace_back(input.name, n < data.size() ? data[n].copy()
                                                       : filled(info.dtype, input.shape, int(n)));
      }
  std::vector<std::pair<std::string, Array>> forward, back;
  for (const auto &[name, array] : given) {
    forward.emplace_back(name, array.copy());
    back.emplace_back(name, array.copy());
  }
  for (const std::string &name : wrt)
    for (const auto &[input, array] : given)
      if (input == name)
        forward.emplace_back(tangent_name(given, name),
                             filled(array.dtype(), array.shape(), ++seed + 7));
  const LoopSpec pushed = jvp(spec, wrt), pulled = gradient(spec, wrt);
  INFO(print(pushed));
  INFO(print(pulled));
  const Results tangents = compile(pushed, {.engine = Engine::interpreter}).call(views_of(forward));
  for (const auto &[name, array] :
       compile(pushed, {.engine = Engine::reference}).call(views_of(forward)))
    CHECK(dot(array, array) == doctest::Approx(dot(tangents[name], tangents[name])).epsilon(1e-5));
  Sums sums;
  for (const auto &[name, tangent] : tangents) {
    back.emplace_back("d_" + name.substr(2), filled(tangent.dtype(), tangent.shape(), ++seed + 3));
    sums.forward += dot(back.back().second, tangent);
  }
  const Results gradients = compile(pulled, {.engine = Engine::interpreter}).call(views_of(back));
  for (std::size_t k = 0; k < wrt.size(); ++k)
    for (const auto &[input, array] : forward)
      if (input == tangent_name(given, wrt[k])) sums.back += dot(gradients[k], array);
  return sums;
}

void check_both(const LoopSpec &spec, const std::vector<Given> &inputs,
                const std::vector<std::string> &wrt, const std::vector<Array> &data = {}) {
  INFO(print(spec));
  const Sums sums = both_ways(spec, inputs, wrt, data);
  CHECK(std::isfinite(sums.forward));
  CHECK(sums.forward != 0);
  CHECK(sums.forward == doctest::Approx(sums.back).epsilon(1e-6));
}

const std::string damped = "accumulator damped(a; m) { init a = 0; step a = 0.5 * a + m * m }\n";

} // namespace

TEST_CASE("what does not move has the shape of its output") {
  const LoopSpec moved = jvp(kernel("in x : f64[i, j]\nout y = x\n"
                                    "out z = broadcast min(exp2(extent(i, of=x)), like=(x, x))"),
                             {"x"});
  const std::vector<OutputInfo> outputs = compile(moved).outputs();
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[1].axes == std::vector<std::string>{"i", "j"});
}

TEST_CASE("the tangent of a product prints as one would write it") {
  CHECK(print(jvp(kernel("in x : f32[i, j]; in y : f32[i]; out z = x * exp(y)"), {"x", "y"})) ==
        "kernel k_jvp {\n"
        "  in  x : f32[i, j]\n"
        "  in  y : f32[i]\n"
        "  in  t_x : f32[i, j]\n"
        "  in  t_y : f32[i]\n"
        "  let t0 = exp(y)\n"
        "  out t_z : f32 = t_x * t0 + t_y * t0 * x\n"
        "}\n");
}

TEST_CASE("tangents and gradients are the same slopes, of every kind of operation and fold") {
  const std::vector<Given> xyw{{"x", {3, 4}}, {"y", {3}}, {"w", {4}}};
  for (const char *out : {"x * exp(y) + w",
                          "sum(x * w, j) * y",
                          "mean(x * y, j)",
                          "sum(y + w)",
                          "mean(y * y + w, i)",
                          "max(x * y, j) + min(x)",
                          "prod(x + y, j)",
                          "norm(x * w, i)",
                          "logsumexp(x * y, j)",
                          "var(x * y, j)",
                          "std(x, correction=1) * w",
                          "std(x - w)",
                          "tanh(x) * gelu(y) / sqrt(w)",
                          "where(x > 1, log(x), y * w)",
                          "relu(x - y) * w",
                          "clip(x, 0.5, 1) * y",
                          "maximum(x, y) * minimum(w, 1)",
                          "x ^ y",
                          "atan2(x, y)",
                          "hypot(x, w)",
                          "y",
                          "sum(y)",
                          "fma(x, y, w)",
                          "floor(x) * y",
                          "abs(x - y)",
                          "logaddexp(x, y)",
                          "sum(x, like=y) * y",
                          "sum(w, like=x) * x",
                          "max(x, like=y) * w",
                          "x % y",
                          "keep(x * y) * w",
                          "x - mean(x, j)",
                          "sum(x, j, init=3) * max(x, j, init=1.2)",
                          "prod(x, j, init=y)",
                          "sum(x * w, j, init=y)",
                          "max(x, j, init=y)",
                          "logsumexp(x, j, init=(y, 2))",
                          "iota(j) * x * extent(i)"})
    check_both(
        kernel(std::string("in x : f64[i, j]; in y : f64[i]; in w : f64[j]; out z = ") + out), xyw,
        {"x", "y", "w"});
}

TEST_CASE("scans go forward as they go back") {
  for (const char *fold :
       {"sum", "mean", "prod", "min", "max", "logsumexp", "norm", "var", "std", "damped"})
    for (const char *options : {"", ", reverse", ", exclusive", ", exclusive, reverse"}) {
      const bool has_none = std::string(fold) == "min" || std::string(fold) == "max";
      if (has_none && std::string(options).starts_with(", exclusive")) continue;
      const bool empty = std::string(options).starts_with(", exclusive") &&
                         std::string("logsumexp mean var std norm").find(fold) != std::string::npos;
      const std::string value = std::string("scan(") + fold + ", x * y, j" + options + ")";
      check_both(parse(damped + "kernel k { in x : f64[i, j]; in y : f64[i]; out z = " +
                       (empty ? "where(iota(j) > 0 && iota(j) < 3, " + value + ", y)" : value) +
                       " }"),
                 {{"x", {3, 4}}, {"y", {3}}}, {"x", "y"});
    }
  for (const char *scan :
       {"scan(damped, x, j, init=y)", "scan(sum, x, j, init=y)",
        "scan(logsumexp, x, j, init=(y, 2))", "scan(prod, x, j, init=y)",
        "scan(logsumexp, x, j, state=s)", "damped(x, j)", "damped(x, j, init=y)"})
    check_both(parse(damped + "kernel k { in x : f64[i, j]; in y : f64[i]; out z = " + scan + " }"),
               {{"x", {3, 4}}, {"y", {3}}}, {"x", "y"});
}

TEST_CASE("an accumulator of one's own is stepped in pairs") {
  const LoopSpec pushed =
      jvp(parse(damped + "kernel k { in x : f64[i]; out z = damped(x) }"), {"x"});
  CHECK(has(print(pushed), "accumulator damped_tangent(a, t_a; m, t_m)"));
  const std::string linked =
      "accumulator linked(s, n, q; x, w) { init s = 0., n = 0., q = 0.\n"
      "step s = s + x, n = n + 1, q = q + w * s\n"
      "combine s = s + s_other, n = n + n_other, q = q + q_other + s * n_other\n"
      "result q + s * 0.1 / n }\n";
  const std::string text =
      print(jvp(parse(linked + "kernel k { in x : f64[i]; out z = linked((x, 2), i) }"), {"x"}));
  CHECK(has(text, "accumulator linked_tangent_x(s, n, q, t_s, t_q; x, w, t_x) {\n"));
  CHECK(has(text, ", t_s = t_s + t_s_other, t_q = t_q + t_q_other + t_s * n_other\n"));
  for (const char *wrt : {"x", "y"}) {
    check_both(
        parse(linked + "kernel k { in x : f64[i]; in y : f64[i]; out z = linked((x, y), i) }"),
        {{"x", {4}}, {"y", {4}}}, {wrt});
    CHECK(!has(print(jvp(parse(linked + "kernel k { in x : f64[i]; in y : f64[i]; "
                                        "out z = linked((x, y), i) }"),
                         {wrt})),
               "t_n"));
  }
}

TEST_CASE("reads through windows, pads and gathers move by the same reads") {
  const std::vector<Given> xw{{"x", {9}}, {"w", {3}}, {"k", {5}}};
  for (const char *out :
       {"sum(x[2*i + u] * w[u], u)", "pad(x, 0: (1, 1), edge)[i + u] * w[u]",
        "pad(x, 0: (1, 1), 7)[i + u] * w[u]", "pad(x, 0: (2, 2), reflect)[i + u] * w[u]",
        "x[k[i]] * x[k[i] + 1] * w[0]", "x[-1 - i] * x[i] * w[0]", "x[i + 1] * w[0] - x[i] * w[1]"})
    check_both(kernel(std::string("in x : f64[:]; in w : f64[:]; in k : i32[:]; out z = ") + out +
                      (has(out, "k[") ? "" : " + 0 * k[i]")),
               xw, {"x", "w"});
  check_both(
      kernel(
          "in x : f64[:]; in w : f64[:]; out z = sum(x[2*i] * w[0] * x[2*i], like=x[2*i]) * w[2]"),
      {{"x", {9}}, {"w", {3}}}, {"x", "w"});
}

TEST_CASE("what is read or added at positions that are computed moves by the same positions") {
  const std::string inputs = "in x : f64[:]; in k : i32[:]; in e : f64[i]\n";
  const std::vector<Given> given{{"x", {5}}, {"k", {4}}, {"e", {4}}};
  for (const char *rest :
       {"let q = (k[i] + 1) % 4; out z = x[q[i]]^2 * e", "out z = x[(k[i] + 1) % 4] * e^2",
        "let q = k[i] % 3; out z = sum(e^2, like=x[q[i]]) * 2 + sum(x[q[i]], i)",
        "let q = k[i] % 3; let h = sum(e^2, like=x[q[i]]); out z = h[q[i]] * e * x[q[i]]",
        "let q = k[i] % 3; let s[t] = 0.5 * s[t - 1] + x[q[t]] * e[t]; out z[t] = s^2"})
    check_both(kernel(inputs + rest), given, {"x", "e"});
}

TEST_CASE("lets that are arrays have tangents beside them") {
  const LoopSpec spec = kernel("in x : f64[:]; in w : f64[u]\n"
                               "let h = exp(x[i])\n"
                               "let g = h[i + 1] - h[i]\n"
                               "out z = sum(g[i + u] * w, u)");
  const std::string text = print(jvp(spec, {"x"}));
  CHECK(has(text, "  let h = exp(x[i])\n  let t_h = t_x[i] * h[i]\n"));
  CHECK(has(text, "  let t_g = t_h[i + 1] - t_h[i]\n"));
  CHECK(has(text, "t_g[i + u]"));
  CHECK(print(parse(text)) == text);
  check_both(spec, {{"x", {8}}, {"w", {3}}}, {"x", "w"});
  check_both(spec, {{"x", {8}}, {"w", {3}}}, {"w"});
  check_both(kernel("in x : f32[n, p]; in a : f32[p, q]; in b : f32[q, r]\n"
                    "let h[n, q] = relu(sum(x * a, p) - 1)\n"
                    "out z[n, r] = sum(h[n, q] * b, q)"),
             {{"x", {3, 4}}, {"a", {4, 2}}, {"b", {2, 3}}}, {"x", "a", "b"});
}

TEST_CASE("elements that tie share what moves the result") {
  Array x(f64, {4}), t(f64, {4});
  for (int k = 0; k < 4; ++k) x.data<double>()[k] = k == 2 ? 1 : 3, t.data<double>()[k] = 1 << k;
  const auto moved = [&](const std::string &out) {
    const LoopSpec spec = jvp(kernel("in x : f64[i]; out z = " + out), {"x"});
    return one_of(spec, {{"x", x}, {"t_x", t}}, "t_z").data<double>()[0];
  };
  CHECK(moved("max(x)") == (1. + 2 + 8) / 3);
  CHECK(moved("min(x)") == 4);
  CHECK(moved("max(x, init=3)") == (1. + 2 + 8) / 4);
  CHECK(moved("maximum(x, 3)") == 0.5);
  CHECK(moved("prod(x)") == 27 * 4 + 9 * (1 + 2 + 8));
  check_both(kernel("in x : f64[i]; out z = max(x) + logsumexp(x) + norm(x)"), {{"x", {4}}}, {"x"},
             {x});
  check_both(kernel("in x : f64[i]; out z = scan(max, x, i)"), {{"x", {4}}}, {"x"}, {x});
}

TEST_CASE("what is not taken leaks no NaN") {
  const double inf = std::numeric_limits<double>::infinity();
  Array x(f64, {4});
  const double numbers[] = {-1, 0, 4, inf};
  for (int k = 0; k < 4; ++k) x.data<double>()[k] = numbers[k];
  Array t = filled(f64, Shape{4}, 1);
  for (const char *out :
       {"where(x > 1, where(x < 9, sqrt(x), 1), 2)", "sqrt(relu(where(x < 9, x, 4)))",
        "where(x > 0 && x < 9, log(x), 0) / where(x > 0 && x < 9, x, 0)", "clip(x, 0.5, 5) ^ 0.5",
        "where(x < 9, log(x) * 0, 0)"}) {
    CAPTURE(out);
    const LoopSpec spec = jvp(kernel(std::string("in x : f64[i]; out z = ") + out), {"x"});
    INFO(print(spec));
    const Array z = one_of(spec, {{"x", x}, {"t_x", t}}, "t_z");
    const LoopSpec back = gradient(kernel(std::string("in x : f64[i]; out z = ") + out), {"x"});
    const Array d = one_of(back, {{"x", x}, {"d_z", t}}, "d_x");
    for (int k = 0; k < 4; ++k) {
      const double a = z.data<double>()[k], b = d.data<double>()[k];
      CHECK(((std::isnan(a) && std::isnan(b)) || a == doctest::Approx(b)));
    }
  }
}

TEST_CASE("complex values move by their directional derivatives") {
  const std::vector<Given> given{{"x", {3, 4}}, {"y", {3}}};
  for (const char *out :
       {"x * exp(y)", "abs(x) * y", "conj(x) / y", "real(x) * imag(y)", "sqrt(x) + x ^ 2",
        "sign(x) * y", "sum(x * y, j)", "prod(x, j)", "norm(x, j) * y", "scan(sum, x * y, j)",
        "log(x) * sin(y)", "mean(abs(x), j)", "where(real(x) > 1, x, y)", "real(y) + x",
        "tanh(x) - y", "real(x) ^ y"})
    check_both(kernel(std::string("in x : c128[i, j]; in y : c128[i]; out z = ") + out), given,
               {"x", "y"});
  check_both(kernel("in x : f64[i, j]; in y : c128[i]; out z = x * y + c128(x) * exp(y)"), given,
             {"x", "y"});
}

TEST_CASE("dims of 1 that a call repeats are repeated in tangents") {
  for (const char *out :
       {"x + y", "sum(x + y)", "mean(x * y, 0)", "scan(sum, x + y, 1)", "max(x + y, 1)",
        "sum(x * y, like=y)", "broadcast(like=x) y * 2", "std(x, 0) * y"})
    for (const auto &y : std::vector<std::vector<std::int64_t>>{{3, 1}, {1, 4}, {3, 4}, {1, 1}})
      for (const char *wrt : {"x", "y"}) {
        if (std::string(out).starts_with("broadcast") && std::string(wrt) == "x") continue;
        if (std::string(out).starts_with("std") && y == std::vector<std::int64_t>{1, 1}) continue;
        check_both(kernel(std::string("in x : f64[:, :]; in y : f64[:, :]; out z = ") + out),
                   {{"x", {3, 4}}, {"y", y}}, {wrt});
      }
}

TEST_CASE("modes of outputs go forward, too") {
  for (const char *out :
       {"out z = accumulate(sum) x * y", "out z = reduce(max) x * y",
        "out z[i] = reduce(mean) x + y", "out z = broadcast sum(x, j)", "out z[j, i] = x * y",
        "out z[i, j] = broadcast y", "out z = broadcast(like=x) y", "out z = reduce(sum, like=y) x",
        "out z : f32 = x * y"})
    check_both(kernel(std::string("in x : f64[i, j]; in y : f64[i]; ") + out),
               {{"x", {3, 4}}, {"y", {3}}}, {"x", "y"});
}

TEST_CASE("directional derivatives can be derived again, and gradients pushed forward") {
  const std::string all = "accumulator own(a; m) { init a = 1; step a = a * 0.5 + sin(m) * a }\n"
                          "kernel k { in x : f64[i, j]; in y : f64[i]; out z = ";
  for (const char *out : {"x * exp(y)", "sum(x * x * y, j)", "logsumexp(x * y, j)", "std(x * y, j)",
                          "prod(x, j) * y", "scan(prod, x, j)", "own(x * y, j)",
                          "max(x * y * y, j)", "where(x > 1, x * x * y, sin(x))", "tanh(x * y)"}) {
    const LoopSpec spec = parse(all + out + " }");
    const std::vector<Given> given{{"x", {3, 4}}, {"y", {3}}};
    std::vector<Given> forward = given, back = given;
    forward.push_back({"t_x", {3, 4}});
    const Array z = [&] {
      const Array x = filled(f64, Shape{3, 4}, 1), y = filled(f64, Shape{3}, 2);
      return one_of(spec, {{"x", x}, {"y", y}}, "z");
    }();
    back.push_back({"d_z", Shape(z.shape().begin(), z.shape().end())});
    check_both(jvp(spec, {"x"}), forward, {"x", "y"});
    check_both(gradient(spec, {"x"}), back, {"x", "y"});
  }
}

TEST_CASE("the gradient of a product over two axes is pushed forward") {
  check_both(gradient(kernel("in x : f64[i, j]; out z = prod(x)"), {"x"}),
             {{"x", {2, 3}}, {"d_z", {}}}, {"x"});
}

TEST_CASE("names that are taken are made free, and the kernel's own outputs can be asked for") {
  const std::string text = print(
      jvp(kernel("in x : f64[i]; in t_x : f64[i]; out z = x * t_x; out t_z = x; out n = x > 0"),
          {"x"}, {.of = {"z"}, .value = true}));
  CHECK(has(text, "  in  t_x_2 : f64[i]\n"));
  CHECK(has(text, "  out z = x * t_x\n"));
  CHECK(has(text, "  out t_z_2 : f64 = t_x_2 * t_x\n"));
  CHECK(has(text, "  out n = x > 0\n"));
  CHECK(print(parse(text)) == text);
}

TEST_CASE("an output that adds has a tangent that adds, and what does not move is 0") {
  const std::string text =
      print(jvp(kernel("in x : f64[i]; in y : f64[i]; out z += x * 2; out w = y * 3"), {"x"}));
  CHECK(has(text, "  out t_z : f64 += t_x * 2\n"));
  CHECK(has(text, "  out t_w : f64 = broadcast(like=x) f64(0)\n"));
}

TEST_CASE("what is flat does not move what is made of it") {
  for (const char *out : {"max(floor(x), i)", "scan(mean, floor(x), i)",
                          "scan(logsumexp, floor(x), i)", "sum(floor(x))", "std(floor(x), i)",
                          "scan(damped, floor(x), i)", "where(x > 0, floor(x), 1.) * ceil(x)"}) {
    const std::string text =
        print(jvp(parse(damped + "kernel k { in x : f64[i]; out z = " + out + " }"), {"x"}));
    CHECK(has(text, "f64(0)"));
    CHECK_NOTHROW(broadloom::check(parse(text)));
  }
}

TEST_CASE("functions move by their derivative clauses") {
  const std::string f = "def f(a, b) = a ^ b * 3\n  derivative a = g * b * b\n";
  const std::string text =
      print(jvp(parse(f + "kernel k { in x : f64[i]; in y : f64[i]; out z = f(x, y) }"), {"x"}));
  CHECK(has(text, "out t_z : f64 = t_x * y * y"));
  check_both(parse(f + "kernel k { in x : f64[i]; in y : f64[i]; out z = f(x * y, y) }"),
             {{"x", {4}}, {"y", {4}}}, {"x", "y"});
  check_both(parse("def f(a) = a * a\n  derivative a = g * 5\n"
                   "accumulator own(s; x) { init s = 0.; step s = s * 0.5 + f(x) }\n"
                   "kernel k { in x : f64[i]; out z = own(x) }"),
             {{"x", {4}}}, {"x"});
}

TEST_CASE("what has no directional derivative is refused") {
  const auto code = [](const std::string &text, const std::vector<std::string> &wrt,
                       const JvpOptions &options = {}) -> std::string {
    try {
      jvp(parse(text), wrt, options);
    } catch (const Error &error) {
      return error.code();
    }
    return "none";
  };
  const std::string k = "kernel k { in x : f64[i]; in n : i32[i]; out z = ";
  CHECK(code(k + "f64(i32(x)) * n }", {"x"}) == "E0602");
  CHECK(code(k + "f64(i32(x)) * n }", {"n"}) == "E0603");
  CHECK(code(k + "x * n; out m = n }", {"x"}, {.of = {"m"}}) == "E0603");
  CHECK(code(k + "x * n }", {"q"}) == "E0003");
  CHECK(code(k + "x * n }", {"x"}, {.of = {"q"}}) == "E0003");
  CHECK(code(k + "argmax(x) * 1.5 * n }", {"x"}) == "E0601");
  CHECK(code(k + "where(f64(i32(x)) > 1, x, 0) * n }", {"x"}) == "none");
  CHECK(code("def f(a) = sum(a, i)\n  derivative a = g\n" + k + "f(x) * n }", {"x"}) == "none");
  CHECK(code("def f(a) = a\n  derivative a = g + sum(g, i)\n" + k + "f(x) * n }", {"x"}) ==
        "E0601");
  CHECK(code("kernel k { in x : f64[i]; in n : i32[i]; out h[n[i]] += x }", {"x"}) == "E0601");
}

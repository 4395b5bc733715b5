// How the backward pass comes by forward values: kernels saved, recomputed, kept; the same bits by
// every way.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

struct Inputs {
  std::vector<Array> arrays;
  std::vector<std::string> names;

  void add(const std::string &name, std::vector<std::int64_t> extents, unsigned seed) {
    Array a(f32, std::move(extents));
    std::mt19937 random(seed);
    for (std::int64_t k = 0; k < a.size(); ++k)
      a.data<float>()[k] = 0.25f + float(random() >> 8) * 0x1p-24f;
    arrays.push_back(std::move(a));
    names.push_back(name);
  }
};

// The names after `in` in the printed text: what a user would see.
std::vector<std::string> input_names(const LoopSpec &spec) {
  const std::string text = print(spec);
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = text.find("\n  in  ", at)) != std::string::npos;) {
    at += 7;
    names.push_back(text.substr(at, text.find(' ', at) - at));
  }
  return names;
}

Results call(const LoopSpec &spec, const Inputs &inputs, const Results *saved = nullptr) {
  const std::vector<std::string> wanted = input_names(spec);
  std::vector<NamedView> views;
  for (const std::string &name : wanted) {
    for (std::size_t k = 0; k < inputs.names.size(); ++k)
      if (inputs.names[k] == name) views.push_back({name, inputs.arrays[k]});
    if (saved && name.rfind("saved_", 0) == 0) views.push_back({name, (*saved)[name]});
  }
  return compile(spec).call(views);
}

bool same_bits(const Array &a, const Array &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data<float>(), b.data<float>(), std::size_t(a.size()) * sizeof(float)) == 0;
}

void check_policies(const LoopSpec &spec, const std::vector<std::string> &wrt,
                    const Inputs &inputs) {
  const LoopSpec automatic = gradient(spec, wrt);
  const Results want = call(automatic, inputs);
  GradientOptions options;
  options.policy = Policy::recompute;
  const LoopSpec again = gradient(spec, wrt, options);
  const Results recomputed = call(again, inputs);
  options.policy = Policy::save;
  const LoopSpec forward = saving_forward(spec, wrt, options), back = gradient(spec, wrt, options);
  const Results saved = call(forward, inputs);
  const Results read = call(back, inputs, &saved);
  for (const std::string &name : wrt) {
    INFO(print(back));
    CHECK(same_bits(want["d_" + name], recomputed["d_" + name]));
    CHECK(same_bits(want["d_" + name], read["d_" + name]));
  }
  // The text of both is one file.
  const auto both = parse_all(print(std::vector{forward, back}));
  REQUIRE(both.size() == 2);
  CHECK(print(both[0]) == print(forward));
  CHECK(print(both[1]) == print(back));
}

LoopSpec kernel(const std::string &body, const std::string &before = "") {
  return parse(before + "kernel k {\n" + body + "\n}");
}

std::string text(const std::string &body, Policy policy) {
  GradientOptions options;
  options.policy = policy;
  return print(gradient(kernel(body), {"x"}, options));
}

} // namespace

TEST_CASE("saved, recomputed or as the compiler likes: a gradient has the same bits") {
  Inputs inputs;
  inputs.add("x", {70, 260}, 1);
  inputs.add("w", {260}, 2);
  inputs.add("row", {1, 260}, 3);
  inputs.add("d_y", {70, 260}, 4);
  const std::string shapes = "in x : f32[i, j]\nin w : f32[j]\n";
  check_policies(kernel(shapes + "let e = exp(x - max(x, j))\nout y = e / sum(e, j)"), {"x"},
                 inputs);
  check_policies(kernel(shapes + "let m = mean(x, j)\nlet v = var(x, j)\n"
                                 "out y = (x - m) * rsqrt(v + 1e-5) * w"),
                 {"x", "w"}, inputs);
  check_policies(kernel(shapes + "out y = tanh(x * w) * sin(x) + logsumexp(x, j)"), {"x", "w"},
                 inputs);
  check_policies(kernel("in x : f32[:, :]\nin row : f32[:, :]\nout y = exp(row) * cos(x * row)"),
                 {"x", "row"}, inputs);
  check_policies(kernel(shapes + "out y = scan(sum, exp(x), j) * prod(w, j) + f32(f16(x)) * "
                                 "recompute(sqrt(x)) * keep(log(w))"),
                 {"x", "w"}, inputs);
  check_policies(kernel(shapes + "out y = where(x > 0.5, log(x), x ^ w)"), {"x", "w"}, inputs);
  check_policies(kernel(shapes +
                        "let at = f32(iota(j)) / extent(j)\n"
                        "out y : f32 = where(x > 0.5, log(x) * at, x ^ w) + sum(exp(x * at), j)"),
                 {"x", "w"}, inputs);
}

TEST_CASE("lets that are arrays, loops and joins among them, are saved as arrays") {
  Inputs inputs;
  inputs.add("x", {9}, 1);
  inputs.add("w", {3}, 2);
  inputs.add("y", {4}, 3);
  inputs.add("d_z", {}, 4);
  for (const std::string body :
       {"let h = exp(x[p])\nout z = sum(sin(h[i + u] * w), i, u)",
        "let h = exp(x[p])\nlet g[k] = h[k + 1] * h[k]\nout z = sum(g[k] * g[k + 2] + h[k + 0], k)",
        "let h[t] = tanh(x[t] + h[t - 1] * w[0]) from y[2]\nout z = h[-1] * h[3]",
        "let h[t < 5, i] = tanh(pad(h, 1: (1, 1))[t - 1, i] * pad(h, 1: (1, 1))[t - 1, i + 2] + "
        "y[i]) from 1\nout z = sum(h[-1, i] * h[2, i], i)",
        "let c[t < 6] = c[t + 1] * w[1] + h[t + 1]\nlet h[t] = sin(c)\nout z = h[0] * c[0]",
        "let u[t < 40 until u[t] > 3] = u[t - 1] * (1 + w[0]) + y[0] from y[1]\nout z = u[-1]",
        "let a = x[i + 0] * 2; let b = sin(y[i + 0]); let c[r] = concat(r, a[r], b[r])\n"
        "out z = sum(c[i] * c[i + 1]) + sum(a[i + 0] * b[i + 0])",
        "let q = i32(x[i] * 9) % 3\nlet s = exp(sum(x[i], like=w[q[i]]))\nout z = sum(s / (s + "
        "1))"}) {
    CAPTURE(body);
    const LoopSpec spec = kernel("in x : f32[:]\nin w : f32[" +
                                 std::string(body.find("* w)") != body.npos ? "u" : ":") +
                                 "]\nin y : f32[:]\n" + body);
    check_policies(spec, {"x", "w", "y"}, inputs);
    const std::string back = print(gradient(spec, {"x", "w", "y"}, {.policy = Policy::save}));
    CHECK(back.find("  in  saved_0 : ") != back.npos);
  }
}

TEST_CASE("a scan of an array that is saved goes back as one of an array that is not") {
  Inputs inputs;
  inputs.add("x", {5, 4}, 1);
  inputs.add("d_y", {4, 4}, 2);
  check_policies(kernel("in x : f32[:, :]\nlet b[i, j] = x[i, j] * x[i, j]\n"
                        "let c[i, j] = scan(max, b[i, j], j, reverse)\n"
                        "out y[i, j] = c[i + 1, j] * c[i, j]"),
                 {"x"}, inputs);
}

TEST_CASE("a let of which only the shape is named is not saved") {
  const LoopSpec spec = kernel("in x : f64[:]; in w : f64[u]; let h = 2 * x[p]\n"
                               "out z = sum(h[i + u] * w, i, u)");
  GradientOptions options;
  options.policy = Policy::save;
  CHECK(print(saving_forward(spec, {"x"}, options)).find("saved_") == std::string::npos);
  CHECK(print(saving_forward(spec, {"w"}, options)).find("out saved_0[h_0] = h[h_0]") !=
        std::string::npos);
}

TEST_CASE("folds of modes are saved like any other value") {
  Inputs inputs;
  inputs.add("x", {70, 260}, 1);
  inputs.add("w", {70}, 2);
  inputs.add("d_s", {70}, 5);
  inputs.add("d_t", {}, 6);
  check_policies(kernel("in x : f32[i, j]\nin w : f32[i]\n"
                        "out s = accumulate(logsumexp) x * w\n"
                        "out t[] = reduce(norm) sin(x * w)"),
                 {"x", "w"}, inputs);
}

TEST_CASE("a value saved is an output of the forward kernel and an input of the backward one") {
  GradientOptions options;
  options.policy = Policy::save;
  const LoopSpec spec = kernel("in x : f32[i, j]\nin y : f32[i, j=1]\nout z = x * exp(y)\n"
                               "out w = exp(y)");
  CHECK(print(std::vector{saving_forward(spec, {"x", "y"}, options),
                          gradient(spec, {"x", "y"}, options)}) ==
        "kernel k_forward {\n"
        "  in  x : f32[i, j]\n"
        "  in  y : f32[i, j=1]\n"
        "  let t0 = exp(y)\n"
        "  out z = x * t0\n"
        "  out w = exp(y)\n"
        "  out saved_0 : f32 = t0\n"
        "}\n"
        "kernel k_grad {\n"
        "  in  x : f32[i, j]\n"
        "  in  y : f32[i, j=1]\n"
        "  in  d_z : f32[i, j]\n"
        "  in  d_w : f32[i, j?]\n"
        "  in  saved_0 : f32[i, j?]\n"
        "  out d_x : f32 = d_z * saved_0\n"
        "  out d_y : f32 = sum(d_w * saved_0, like=y) + sum(d_z * x * saved_0, like=y)\n"
        "}\n");
}

TEST_CASE("keep and recompute of the kernel hold in every policy") {
  const std::string body = "in x : f32[i]\nout z = recompute(exp(x)) * keep(sin(x))";
  CHECK(text(body, Policy::save).find("exp(x)") != std::string::npos);
  CHECK(text(body, Policy::save).find("sin(x)") == std::string::npos);
  CHECK(text(body, Policy::recompute).find("keep(sin(x))") != std::string::npos);
  CHECK(text(body, Policy::automatic).find("recompute(exp(x))") != std::string::npos);
}

TEST_CASE("kernels of one text share their definitions, and may not define one name in two ways") {
  const std::string damped = "accumulator damped(a; m) { init a = 0; step a = 0.5 * a + m }\n";
  const auto one = kernel("in x : f32[i]\nout z = damped(x)", damped);
  const auto other = kernel("in x : f32[i]\nout z = 2 * damped(x)", damped);
  const std::string text = print(std::vector{one, other});
  CHECK(text.find("accumulator") == text.rfind("accumulator"));
  const auto wrong = kernel("in x : f32[i]\nout z = damped(x)",
                            "accumulator damped(a; m) { init a = 0; step a = 0.25 * a + m }\n");
  CHECK_THROWS_AS(print(std::vector{one, wrong}), SpecError);
}

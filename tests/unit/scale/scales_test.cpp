// Scales that fold: what moves, what stays and why, by the texts and codes; tests/scales has whole
// kernels.
#include "analysis/analyse.hpp"
#include "scale/fold.hpp"
#include "spec/spec.hpp"
#include "tests/scale_runs.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace broadloom {
namespace {

const std::string dense = "in x : f32[n, k]; param w : f32[k, o]; ";

// The line of the only output once its scales are folded.
std::string folded(const std::string &statements) {
  const std::string text = print(fold_scales(parse("kernel t { " + statements + " }")));
  const std::size_t at = text.find("  out ");
  return text.substr(at + 2, text.find('\n', at) - at - 2);
}

// The codes of the decisions, in order.
std::string why(const std::string &statements) {
  std::vector<Decision> decisions;
  fold_scales(parse("kernel t { " + statements + " }"), &decisions);
  std::string codes;
  for (const Decision &d : decisions) {
    CHECK(d.topic == "scales");
    codes += (codes.empty() ? "" : " ") + d.code;
  }
  return codes;
}

} // namespace

TEST_CASE("an array let that meets no parameter is called a let, not an input") {
  std::vector<Decision> decisions;
  const LoopSpec spec = parse("kernel t { in x : f32[i]; param s : f32; let h[i] = exp(x); "
                              "out y = (h[i + 1] + h[i]) * s }");
  const std::string text = print(fold_scales(spec, &decisions));
  CHECK(text.find("* s") != std::string::npos); // stays
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].text.find("let 'h', an array, is no parameter") != std::string::npos);
}

TEST_CASE("a factor behind a product of matrices becomes one of its weights") {
  CHECK(folded(dense + "param s : f32[o]; out y = sum(x * w, k) * s") ==
        "out y = sum(x * (w * s), k)");
  CHECK(folded(dense + "param s : f32[o]; out y = s * sum(w * x, k)") ==
        "out y = sum(w * s * x, k)");
  CHECK(folded(dense + "param s : f32[o] != 0; out y = sum(x * w, k) / s") ==
        "out y = sum(x * (w / s), k)");
  CHECK(folded(dense + "param s : f32; out y = -sum(x * w, k) * s") ==
        "out y = -sum(x * (w * s), k)");
}

TEST_CASE("a factor below 0 turns a maximum into a minimum, and stays behind a norm") {
  const std::string m = dense + "param m : f32[o] < 0; ";
  CHECK(folded(m + "out y = relu(sum(x * w, k)) * m") == "out y = minimum(sum(x * (w * m), k), 0)");
  CHECK(folded(m + "out y = fmax(sum(x * w, k), 1.) * m") ==
        "out y = fmin(sum(x * (w * m), k), 1. * m)");
  CHECK(folded(m + "out y = max(sum(x * w, k), n, init=0.) * m") ==
        "out y = min(sum(x * (w * m), k), n, init=0.)");
  CHECK(folded(m + "out y = clip(sum(x * w, k), -1., 2.) * m") ==
        "out y = clip(sum(x * (w * m), k), 2. * m, -1. * m)");
  CHECK(folded("in x : f32[n, k]; param m : f32 < 0; param w : f32[k, o]; "
               "out y = sum(maximum(x * m, 0) * w, k)") ==
        "out y = sum(minimum(x, 0) * (w * m), k)");
  CHECK(why(m + "out y = norm(sum(x * w, k), n) * m") == "scale-sign");
}

TEST_CASE("a factor before a product of matrices becomes one of its weights") {
  CHECK(folded(dense + "param s : f32[k]; out y = sum(x * s * w, k)") ==
        "out y = sum(x * (w * s), k)");
  CHECK(folded(dense + "param s : f32[k] != 0; out y = sum(x / s * w, k)") ==
        "out y = sum(x * (w / s), k)");
}

TEST_CASE("a bias is multiplied too, where a factor passes it") {
  CHECK(folded(dense + "param b : f32[o]; param s : f32[o]; out y = (b - sum(x * w, k)) * s") ==
        "out y = b * s - sum(x * (w * s), k)");
  // 0 stays 0.
  CHECK(folded(dense + "param s : f32[o] > 0; out y = maximum(sum(x * w, k), 0) * s") ==
        "out y = maximum(sum(x * (w * s), k), 0)");
}

TEST_CASE("what a maximum asks of a factor is proven from facts, functions and numbers") {
  const auto behind_relu = [](const std::string &scale) {
    return why(dense +
               "param s : f32[o]; param v : f32[o] >= 0; param p : f32[o] > 0; param m : "
               "f32[o] < 0; out y = relu(sum(x * w, k)) * " +
               scale);
  };
  for (const char *scale : {"p",
                            "2.5",
                            "exp(s)",
                            "(v + 1)",
                            "(m * m)",
                            "sqrt(v + 1e-5)",
                            "(p * 3)",
                            "abs(m)",
                            "(1 / (1 + s * s))",
                            "-m",
                            "maximum(s, 0.1)",
                            "sigmoid(s)",
                            "(p + v)",
                            "rsqrt(v + 1e-5)",
                            "where(s > 0, p, 1.)",
                            "(2 - m)",
                            "clip(s, 1., 2.)",
                            "p ^ 2",
                            "max(p)",
                            "m",
                            "-2"}) {
    INFO(scale);
    CHECK(behind_relu(scale) == "scale-backward");
  }
  for (const char *scale : {"s", "v", "abs(s)", "(s * s)", "relu(s)", "(p - v)", "sin(s)",
                            "(p + m)", "tanh(v)", "sum(p, o)"}) {
    INFO(scale);
    CHECK(behind_relu(scale) == "scale-sign");
  }
  // Roots of what may be below 0 and quotients by what may be 0 are no numbers.
  for (const char *scale : {"sqrt(s)", "(1 / v)", "rsqrt(v)", "log(s)", "(p / s)", "s ^ 0.5"}) {
    INFO(scale);
    CHECK(behind_relu(scale) == "scale-not-finite");
  }
}

TEST_CASE("through what is linear no sign is asked for") {
  for (const char *scale : {"s", "-2", "(s * s)", "(s - 1)", "tanh(s)"}) {
    INFO(scale);
    CHECK(why(dense + "param s : f32[o]; out y = (sum(x * w, k) + 1) * " + scale) ==
          "scale-backward");
  }
}

TEST_CASE("each refusal has its reason") {
  const std::string s = "param s : f32[o]; ";
  CHECK(why("in x : f32[o]; " + s + "out y = x * s") == "scale-data");
  CHECK(why("in x : f32[n, o]; " + s + "out y = max(x, n) * s") == "scale-sign");
  CHECK(why(dense + s + "out y = exp(sum(x * w, k)) * s") == "scale-operation");
  CHECK(why(dense + "param s : f32[n]; out y = sum(x * w, k) * s") == "scale-data");
  CHECK(why(dense + s + "out y = sum(x * w * s, o)") == "scale-backward");
  CHECK(why(dense + s + "out y = max(sum(x * w, k) * s, o)") == "scale-backward");
  CHECK(why(dense + s + "let t = sum(x * w, k); out y = t * s; out z = t") == "scale-shared");
  CHECK(why(dense + "param s : f64[o]; out y = sum(x * w, k) * s") == "scale-type");
  CHECK(why("in x : f16[n, k]; param w : f16[k, o]; param s : f16[o]; out y = sum(x * w, k) * s") ==
        "scale-type");
  CHECK(why(dense + s + "out y = accumulate(sum) x * w * s") == "scale-kernel");
  CHECK(why(dense + s + "out y = sum(x * w * iota(k), k) * s") == "scale-kernel");
  CHECK(why(dense + s + "out y = sum(x * w * iota(k, of=x), k) * s") ==
        "scale-backward scale-type");
  CHECK(why("in x : f32[o, p]; " + s + "param w : f32[o]; out y = sum(x * s, p) + 1") ==
        "scale-not-finite");
  CHECK(why("in x : f32[o, p]; " + s + "out y = max(x, p) * s; out z = max(x * s, o)") ==
        "scale-sign scale-sign");
}

TEST_CASE("without parameters nothing is looked at") {
  CHECK(why("in x : f32[n, k]; in w : f32[k, o]; out y = sum(x * w, k) * 2") == "");
  CHECK(folded("in x : f32[n, k]; in w : f32[k, o]; out y = sum(x * w, k) * 2") ==
        "out y = sum(x * w, k) * 2");
}

TEST_CASE("a value with two readers moves only if both agree") {
  const std::string two = dense + "param s : f32[o] > 0; let t = sum(x * w, k); out y = ";
  CHECK(folded(two + "(relu(t) + t) * s") == "out y = relu(t) + t");
  CHECK(folded(two + "where(t > 0, t, 0.1 * t) * s") == "out y = where(t > 0, t, 0.1 * t)");
  CHECK(folded(two + "where(t > 1, t, 0) * s") == "out y = where(t > s, t, 0)");
  CHECK(why(two + "where(t > x, t, 0) * s") == "scale-shared");
  CHECK(why(two + "relu(t) * s + t") == "scale-shared");
  CHECK(why(two + "t * t * s") == "scale-shared");
}

TEST_CASE("a leaky relu hands a factor on, however it is written") {
  const std::string leaky = dense + "param s : f32[o] > 0; let t = sum(x * w, k); out y = ";
  CHECK(folded(leaky + "maximum(t, 0.1 * t) * s") == "out y = maximum(t, 0.1 * t)");
  // Not where 0.1 takes the factor first, and relu(t) is left without it.
  CHECK(folded(leaky + "(relu(t) + 0.1 * minimum(t, 0)) * s") ==
        "out y = (relu(t) + 0.1 * minimum(t, 0)) * s");
  CHECK(folded(leaky + "(relu(t) + 0.1 * t) * s") == "out y = relu(t) + 0.1 * t");
  CHECK(folded("in x : f32[n, k]; param w : f32[k, o]; param s : f32[k] > 0; let t = x * s; out y "
               "= sum(maximum(t, 0.1 * t) * w, k)") ==
        "out y = sum(maximum(x, 0.1 * x) * (w * s), k)");
}

TEST_CASE("a factor that only comparisons see goes altogether") {
  CHECK(folded("in x : f32[n, k]; param s : f32[n] > 0; out y = argmax(x * s, k)") ==
        "out y = argmax(x, k)");
  CHECK(why("in x : f32[n, k]; param s : f32[k] > 0; out y = argmax(x * s, k)") == "scale-axes");
}

TEST_CASE("a factor leaves a product as its power by the number of elements") {
  const std::string x = "in x : f32[n, t, c]; param w : f32[n]; ";
  const std::string power = "f32(f64(s)^extent(t, of=x))";
  for (const char *sign : {"", " > 0", " < 0"})
    CHECK(folded(x + "param s : f32" + sign + "; out y = prod(x * s, t) * w") ==
          "out y = prod(x, t) * (w * " + power + ")");
  CHECK(folded(x + "param s : f32 != 0; out y = prod(x / s, t) * w") ==
        "out y = prod(x, t) * (w / " + power + ")");
  CHECK(folded(x + "param s : f32; out y = prod(x * s, t, c) * w") ==
        "out y = prod(x, t, c) * (w * f32(f64(s)^(extent(t, of=x) * extent(c, of=x))))");
  CHECK(folded(x + "param s : f32; out y = prod(x * s * s, t) * w") ==
        "out y = prod(x, t) * (w * f32(f64(s * s)^extent(t, of=x)))");
  CHECK(folded(x + "out y = prod(x * 2, t) * w") ==
        "out y = prod(x, t) * (w * f32(f64(2)^extent(t, of=x)))");
  CHECK(folded("in x : f64[t, n]; in z : f64[:]; param s : f64 > 0; param w : f64[n]; "
               "out y = relu(prod(x * s, t)) * w") ==
        "out y = relu(prod(x, t)) * (w * s^extent(t, of=x))");
  CHECK(folded("in x : f32[:, :]; in v : f32[:, :]; param s : f32; param w : f32; "
               "out y = prod(x * v * s, 0) * w") ==
        "out y = prod(x * v, 0) * (w * f32(f64(s)^extent(0, of=(x, v))))");
}

TEST_CASE("the power of a factor stays where its sign or its way back is not known") {
  const auto texts = [](const std::string &statements) {
    std::vector<Decision> decisions;
    fold_scales(parse("kernel t { " + statements + " }"), &decisions);
    std::string all;
    for (const Decision &d : decisions) all += d.text + "\n";
    return all;
  };
  const std::string x = "in x : f32[n, t]; param w : f32[n]; ";
  CHECK(texts(x + "param s : f32 < 0; out y = relu(prod(x * s, t)) * w")
            .find("'relu' needs it above 0, and how often it is multiplied says a call") !=
        std::string::npos);
  CHECK(texts("in x : f32[n, t]; param s : f32 > 0; param w : f32[t]; out y = prod(x + w, t) * s")
            .find("a factor passes 'prod' on its way forward only") != std::string::npos);
  CHECK(texts("in x : f16[n, t]; param s : f16; param w : f16[n]; out y = prod(x * s, t) * w")
            .find("the product is f16: only values of f32 and f64 are scaled") !=
        std::string::npos);
  CHECK(texts("in x : bf16[n, t]; param s : bf16; out y = max(x, t) * s")
            .find("the product is bf16: only values of f32 and f64 are scaled") !=
        std::string::npos);
}

TEST_CASE("powers by the number of elements are those of the product, for any number") {
  for (const char *sign : {"", " > 0", " < 0"}) {
    const LoopSpec spec = parse("kernel t { set scales = fold; in x : f32[n, t]; param w : f32[n]; "
                                "param s : f32" +
                                std::string(sign) + "; out y = prod(x * s, t) * w }");
    CHECK(print(fold_scales(fold_scales(spec))) == print(fold_scales(spec)));
    for (const std::int64_t count : {0, 1, 2, 3, 7, 40}) {
      const tests::Filled filled(compile(spec), {{"x", {3, count}}, {"w", {3}}, {"s", {}}},
                                 std::uint64_t(count), true);
      CHECK(filled.run(spec, Engine::jit) == filled.run(spec, Engine::reference));
    }
  }
}

TEST_CASE("factors behind each other become one") {
  CHECK(folded(dense + "param s : f32[o]; param r : f32[o]; out y = sum(x * w, k) * s * r") ==
        "out y = sum(x * (w * (s * r)), k)");
  CHECK(folded("in x : f32[n, o]; param s : f32[o]; param r : f32[o]; out y = x * s * r") ==
        "out y = x * (s * r)");
}

TEST_CASE("constants that are added become one, in every combination of signs") {
  const std::string in = "in x : f32[n, o]; param a : f32[o]; param b : f32[o]; out y = ";
  CHECK(folded(in + "x + a + b") == "out y = x + (a + b)");
  CHECK(folded(in + "x + a - b") == "out y = x + (a - b)");
  CHECK(folded(in + "x - a + b") == "out y = x + (b - a)");
  CHECK(folded(in + "x - a - b") == "out y = x - (a + b)");
  CHECK(folded(in + "b + (a + x)") == "out y = x + (a + b)");
  // A parameter of more axes than both would be larger than what was there.
  CHECK(folded("in x : f32[n, o]; param a : f32[o]; param b : f32[n]; out y = x + a + b") ==
        "out y = x + a + b");
}

TEST_CASE("a shift leaves a contraction only where the axes have one extent for all") {
  CHECK(folded("in x : f32[n, k]; param q : f32[k]; param w : f32[k, o]; out y = sum((x + q) * w, "
               "k)") == "out y = sum(x * w, k) + sum(q * w, k)");
  // x may be repeated along the dim that the sum folds: q would be counted too seldom.
  CHECK(folded("in x : f32[:]; param q : f32[:]; param w : f32[:]; out y = sum((x + q) * w)") ==
        "out y = sum((x + q) * w)");
}

TEST_CASE("batch normalisation disappears") {
  const std::string norm = "param m : f32[o]; param v : f32[o] >= 0; param g : f32[o]; param b : "
                           "f32[o]; ";
  const std::string text = print(fold_scales(parse(
      "kernel t { " + dense + norm + "out y = (sum(x * w, k) - m) / sqrt(v + 1e-5) * g + b }")));
  CHECK(text.find("let t0 = g / sqrt(v + 1e-05)") != text.npos);
  CHECK(text.find("out y = sum(x * (w * t0), k) + (b - m * t0)") != text.npos);
}

TEST_CASE("relaxed kernels fold unless they say otherwise, others only if they ask") {
  const std::string rest = dense + "param s : f32[o]; out y = sum(x * w, k) * s }";
  const auto folds = [&](const std::string &settings) {
    for (const Decision &d : analysis::analyse(parse("kernel t { " + settings + rest).data()).notes)
      if (d.code == "scale-backward") return true;
    return false;
  };
  CHECK(!folds(""));
  CHECK(folds("set scales = fold; "));
  CHECK(folds("set relaxed = on; "));
  CHECK(!folds("set relaxed = on; set scales = keep; "));
  CHECK(!folds("set scales = keep; "));
  auto x = input("x", f32, {"n", "k"});
  auto w = param("w", f32, {"k", "o"}), s = param("s", f32, {"o"});
  const LoopSpec spec = LoopSpec("t").scales(Scales::fold).out("y", sum(x * w, "k") * s);
  CHECK(print(spec).find("  set scales = fold\n") != std::string::npos);
  CHECK(print(parse(print(spec))) == print(spec));
  CHECK(print(fold_scales(spec)).find("out y = sum(x * (w * s), k)") != std::string::npos);
}

TEST_CASE("what is known of a parameter's values decides in place of its declaration") {
  const SpecData data =
      parse("kernel t { " + dense + "param s : f32[o]; out y = relu(sum(x * w, k)) * s }").data();
  const auto code = [&](const scale::Known &known) {
    std::vector<Decision> notes;
    scale::fold_scales(data, notes, {{"s", known}});
    return notes.at(0).code;
  };
  CHECK(code({true, true, true, true}) == "scale-sign");
  CHECK(code({false, false, true, true}) == "scale-backward");
  CHECK(code({false, true, true, true}) == "scale-sign");
  CHECK(code({false, false, true, false}) == "scale-not-finite"); // there is an infinity in it
}

TEST_CASE("the axes keep their order though windows are read in another one") {
  // The shift moves behind the sum, and with it the window q[v] would come after the axis n.
  const std::string text =
      "kernel t { set scales = fold; in x : f32[:, :]; param q : f32[:]; param "
      "w : f32[:]; out y = sum((q[v + 1] + x[n, v]) * w[v], v) * 2 }";
  const spec::TypedSpec typed = analysis::analyse(parse(text).data());
  const spec::TypedSpec plain = analysis::analyse(scale::unfolded(parse(text).data()));
  CHECK(std::any_of(typed.notes.begin(), typed.notes.end(),
                    [](const Decision &d) { return d.code == "shift-taken-out"; }));
  REQUIRE(typed.axes.size() == plain.axes.size());
  for (std::size_t axis = 0; axis < typed.axes.size(); ++axis)
    CHECK(typed.axes[axis].name == plain.axes[axis].name);
}

TEST_CASE("gradients are those of the kernel as it is written") {
  const std::string rest = dense + "param s : f32[o]; out y = sum(x * w, k) * s }";
  const std::string plain = print(gradient(parse("kernel t { " + rest), {"s"}));
  std::string folding = print(gradient(parse("kernel t { set scales = fold; " + rest), {"s"}));
  const std::string setting = "  set scales = fold\n";
  REQUIRE(folding.find(setting) != folding.npos);
  folding.erase(folding.find(setting), setting.size());
  CHECK(folding == plain);
}

TEST_CASE("a scale of 0 makes no number of an infinity that a maximum hides") {
  // relu(-inf) * 0 is 0; moved, it would be relu(-inf * 0). With s > 0 declared it may move, and is
  // no 0.
  const LoopSpec spec =
      parse("kernel t { set scales = fold; in x : f32[n, k]; param w : f32[k, o]; "
            "param s : f32[o] >= 0; out y = relu(sum(x * w, k)) * s }");
  std::vector<float> x{-std::numeric_limits<float>::infinity()}, w{1}, s{0};
  const Results r = compile(spec)({{"x", View<const float>(x.data(), {1, 1})},
                                   {"w", View<const float>(w.data(), {1, 1})},
                                   {"s", View<const float>(s.data(), {1})}});
  CHECK(r["y"].data<float>()[0] == 0);
}

TEST_CASE("schedules and pairings keep the lets that they name") {
  const std::string text =
      "kernel t { set scales = fold; " + dense +
      "param s : f32[k] > 0; let t = x * s; out y = sum(t * w, k); schedule { inline t } }";
  CHECK_NOTHROW(check(parse(text)));
  CHECK(print(fold_scales(parse(text))).find("let t = x\n") != std::string::npos);
}

TEST_CASE("long chains of factors and shifts become one of each") {
  std::string text = "kernel t { set scales = fold; in x : f32[n]; param s : f32; param b : f32; "
                     "out y = ";
  std::string value = "x";
  for (int k = 0; k < 300; ++k) value = "(" + value + " * s + b)";
  const LoopSpec chain = fold_scales(parse(text + value + " }"));
  CHECK(print(fold_scales(chain)) == print(chain));
}

namespace {

// The lines of lets and outputs once the scales are folded.
std::string lines(const std::string &statements) {
  const std::string text = print(fold_scales(parse("kernel t { " + statements + " }")));
  std::string made;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    if (text.compare(at, 6, "  let ") == 0 || text.compare(at, 6, "  out ") == 0)
      made += text.substr(at + 2, text.find('\n', at) - at - 1);
  return made;
}

// What is said of the first decision.
std::string reason(const std::string &statements) {
  std::vector<Decision> decisions;
  fold_scales(parse("kernel t { " + statements + " }"), &decisions);
  return decisions.empty() ? "" : decisions[0].text;
}

const std::string layers =
    "in x : f32[n, i, c]; param v : f32[u=3, c, k]; param w : f32[u=3, k, o]; "
    "param s : f32[k]; param p : f32[k] > 0; ";

} // namespace

TEST_CASE("a factor passes an array with a border of zeros, on to the weights behind it") {
  CHECK(lines("in x : f32[n, i, k]; param w : f32[u=3, k, o]; param s : f32[k]; "
              "let h[n, i, k] = x * s; out y = sum(pad(h, 1: (1, 1))[n, i + u, k] * w, u, k)") ==
        "let h[n, i, k] = x\nout y = sum(pad(h, 1: (1, 1))[n, i + u, k] * (w * s), u, k)\n");
}

TEST_CASE("a factor goes by the name that its axis has where the array is read") {
  CHECK(lines("in x : f32[n, i, k]; param w : f32[u=3, c, o]; param s : f32[k]; "
              "let h[n, i, k] = x * s; out y = sum(pad(h, 1: (1, 1))[n, i + u, c] * w, u, c)") ==
        "let h[n, i, k] = x\nout y = sum(pad(h, 1: (1, 1))[n, i + u, c] * (w * s[c]), u, c)\n");
  // Not where that name is another axis there.
  CHECK(why("in x : f32[n, i, k]; param w : f32[u=3, c, k]; param s : f32[k]; "
            "let h[n, i, k] = x * s; out y = sum(pad(h, 1: (1, 1))[n, i + u, c] * w, u, c)") ==
        "scale-data");
}

TEST_CASE("a factor behind what reads an array goes back through it") {
  CHECK(lines(layers + "let h[n, i, k] = relu(sum(x[n, i + u, c] * v, u, c)); "
                       "out y = max(h[n, 2*i + f, k], f < 2) * p") ==
        "let h[n, i, k] = relu(sum(x[n, i + u, c] * (v * p), u, c))\n"
        "out y = max(h[n, 2*i + f, k], f)\n");
}

TEST_CASE(
    "an array that is read with two factors, or by a loop, or with a border of ones keeps them") {
  const std::string h = layers + "let h[n, i, k] = sum(x[n, i + u, c] * v, u, c); ";
  CHECK(
      reason(h + "out y = h[n, i + 1, k] * s; out z = h[n, i, k] * p").find("different factors") !=
      std::string::npos);
  CHECK(reason(h + "out y = h[n, i + 1, k] * s; out z = h[n, i, k]")
            .find("is read elsewhere without the factor") != std::string::npos);
  CHECK(reason(h + "out y = max(pad(h, 1: (1, 1), 1.)[n, 2*i + f, k], f < 2) * p")
            .find("'h' has a border of 1. there") != std::string::npos);
  CHECK(reason(h + "let z[t < 4, n, i, k] = z[t - 1, n, i, k] + h[n, i, k]; "
                   "out y = z[-1, n, i, k]; out q = h[n, i + 1, k] * s")
            .find("the loop 'z' reads it") != std::string::npos);
}

TEST_CASE("a frozen scale passes a maximum by the sign of its values, and is looked at again by "
          "refreeze") {
  const LoopSpec spec =
      parse("kernel t { set scales = fold; in x : f32[n, k]; param w : f32[k, o]; "
            "param s : f32[o]; out y = relu(sum(x * w, k)) * s }");
  Array x(f32, {2, 3}), w(f32, {3, 2});
  for (int k = 0; k < 6; ++k) {
    x.data<float>()[k] = float(k - 2);
    w.data<float>()[k] = float(3 - k);
  }
  const auto frozen_by = [&](const Array &s) { return compile(spec).freeze({{"w", w}, {"s", s}}); };
  const auto expected = [&](const Array &s) {
    const std::vector<NamedView> all{{"x", x}, {"w", w}, {"s", s}};
    return compile(spec, {.engine = Engine::reference}).call(all)["y"];
  };
  Array above(f32, {2}), below(f32, {2}), both(f32, {2});
  above.data<float>()[0] = 2, above.data<float>()[1] = 4;
  below.data<float>()[0] = -2, below.data<float>()[1] = -4;
  both.data<float>()[0] = -2, both.data<float>()[1] = 4;
  const Kernel first = frozen_by(above);
  CHECK(print(first.spec()).find("relu") != std::string::npos);
  CHECK(print(first.spec()).find(") *") == std::string::npos); // no product is left
  const Kernel mirrored = first.refreeze({{"w", w}, {"s", below}});
  CHECK(mirrored.version() == 2);
  CHECK(print(mirrored.spec()).find("minimum") != std::string::npos);
  const Kernel kept = mirrored.refreeze({{"w", w}, {"s", both}});
  CHECK(kept.version() == 3);
  CHECK(print(kept.spec()).find(") *") != std::string::npos);
  const std::pair<Kernel, Array> all[] = {{first, above}, {mirrored, below}, {kept, both}};
  for (const auto &[kernel, s] : all) {
    const std::vector<NamedView> rest{{"x", x}};
    const Array got = kernel.call(rest)["y"], wanted = expected(s);
    for (int k = 0; k < 4; ++k) CHECK(got.data<float>()[k] == wanted.data<float>()[k]);
  }
}

} // namespace broadloom

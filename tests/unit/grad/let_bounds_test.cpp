// Gradients and directional derivatives of kernels with lets that are arrays, where windows alone
// say how long an axis is and what is derived does not read the one that ends it: what flows stops
// where the kernel does.
#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace broadloom;

namespace {

struct Given {
  std::string name;
  std::int64_t extent; // -1: a scalar
};

Array wavy(std::int64_t extent, double start) {
  Array array(DType::F64, extent < 0 ? std::vector<std::int64_t>{} : std::vector{extent});
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<double>()[k] = start + 0.07 * double(k * k % 11);
  return array;
}

// The slopes of the kernel, of its directional derivative and of its gradient, each in native code
// and as text that is read again.
void check_all(const std::string &body, const std::vector<Given> &given) {
  const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
  std::vector<std::string> wrt;
  std::vector<Array> values, tangents, cotangent;
  for (const Given &one : given) {
    wrt.push_back(one.name);
    values.push_back(wavy(one.extent, 0.3 + 0.1 * double(values.size())));
    tangents.push_back(wavy(one.extent, -0.2 + 0.1 * double(values.size())));
  }
  std::vector<NamedView> views, moving, pulled;
  for (std::size_t k = 0; k < given.size(); ++k) views.push_back({given[k].name, values[k]});
  moving = pulled = views;
  std::vector<std::string> names;
  for (const Given &one : given) names.push_back("t_" + one.name);
  for (std::size_t k = 0; k < given.size(); ++k) moving.push_back({names[k], tangents[k]});
  const Array one = wavy(-1, 0.8);
  pulled.push_back({"d_y", one});
  const auto agrees = [](const LoopSpec &kernel, const std::vector<NamedView> &inputs) {
    CAPTURE(print(kernel));
    CHECK(print(parse(print(kernel))) == print(kernel));
    CHECK(check_gradient(kernel, inputs).passed());
  };
  agrees(spec, views);
  agrees(jvp(spec, wrt), moving);
  agrees(gradient(spec, wrt), pulled);
  for (const std::string &name : wrt) agrees(gradient(spec, {name}), pulled);
}

std::string gradient_text(const std::string &body, const std::string &by) {
  return print(gradient(parse("kernel k {\n" + body + "\n}"), {by}));
}

} // namespace

TEST_CASE("what flows into a let that is an array stops where a window ends that is not read") {
  check_all("in x : f64[:]\nin z : f64[:]\nlet h[i] = keep(exp(x[i + 0] * 0.1))\n"
            "out y = sum(h[k + 1]^2 + z[k + 0], k)",
            {{"x", 10}, {"z", 5}});
  check_all("in x : f64[:]\nin z : f64[:]\nlet q[j] = x[j + 1] * 2\n"
            "out y = sum(q[k + 0]^2, k) + sum(q[k + 1] + z[k + 0], k)",
            {{"x", 10}, {"z", 5}});
  check_all("in x : f64[:]\nin s : f64\nin z : f64[:]\nlet h[i] = keep(exp(x[i + 0] * 0.1))\n"
            "out y = s * sum(h[k + 1], k) + sum(z[k + 0], k)",
            {{"x", 10}, {"s", -1}, {"z", 4}});
}

TEST_CASE("what flows into an input stops where a let ends that is not read") {
  check_all("in x : f64[:]\nin z : f64[:]\nlet h[i] = keep(exp(x[i + 0] * 0.1))\n"
            "out y = sum(h, i) + sum(z[i + 0] * 2, i)",
            {{"x", 4}, {"z", 9}});
  check_all("in x : f64[:]\nin s : f64\nin z : f64[:]\n"
            "let h[i] = sum(x[i + u] * s, u) + sum(z[u + 0], u)\nout y = sum(h[k + 1]^2, k)",
            {{"x", 10}, {"s", -1}, {"z", 3}});
}

TEST_CASE("what flows through the steps of a loop stops where a window ends that is not read") {
  check_all("in x : f64[:]\nin z : f64[:]\n"
            "let h[t < 4] = sum(x[k + 1] * 0.1, k) * h[t - 1] + sum(z[k + 0], k) from 0.5\n"
            "out y = sum(h, t)",
            {{"x", 8}, {"z", 4}});
}

TEST_CASE("a condition stands only where no window of the value bounds the axis as it was bound") {
  const std::string head = "in x : f64[:]\nin w : f64[u]\nlet h[i] = keep(exp(x[i + 0]))\n";
  for (const std::string by : {"x", "w"})
    CHECK(gradient_text(head + "out y = sum(h[k + u] * w, u)", by).find("iota") ==
          std::string::npos);
  CHECK(gradient_text("in x : f64[:]\nin z : f64[k]\nlet h[i] = keep(exp(x[i + 0]))\n"
                      "out y = sum(h[k + 1]^2 + z, k)",
                      "x")
            .find("iota") == std::string::npos); // its declaration says it
  CHECK(gradient_text("in x : f64[:]\nin z : f64[:]\nlet h[i] = keep(exp(x[i + 0]))\n"
                      "out y = sum(h[k + 1]^2 + z[k + 0], k)",
                      "x")
            .find("where(iota(k, of=z[k + 0]) >= 0, h[k + 1], 0)") != std::string::npos);
}

TEST_CASE("a cotangent as long as a let is read as far as an axis goes that is shorter there") {
  check_all("in x : f64[i]\nin v : f64[:]\nlet h[q] = v[q] * 0.5\n"
            "let e = sum(exp(x), like=h[i])\nlet g[q] = e[q] * h[q]\nout y = sum(g[q], q) + "
            "sum(h[i] * x, i)",
            {{"x", 3}, {"v", 5}});
}

TEST_CASE(
    "axes without labels keep their names beside lets, also where a border asks for extents") {
  check_all("in x : f64[:]\nin w : f64[b]\nin v : f64[:]\nlet h[q] = v[q + 1] - v[q]\n"
            "out y = sum(h[k + 1], k) + "
            "sum(where(sum(v) > 9, sum(w, like=pad(x, 0: (2, 0))[2*b]), 0.1))",
            {{"x", 7}, {"w", 4}, {"v", 6}});
}

TEST_CASE(
    "a directional derivative has its axes in the order of the output, whatever it reads first") {
  const LoopSpec spec = parse("kernel k {\nin w : f64\nin v : f64[:, :]\n"
                              "let t = w - v[a, u]\nout y = v[2*q, -a] / t\n}");
  CHECK(print(jvp(spec, {"w", "v"})).find("out t_y[a, u, q] : f64 = ") != std::string::npos);
  const Array w = wavy(-1, 2.5), v = [] {
    Array array(DType::F64, {5, 4});
    for (std::int64_t k = 0; k < 20; ++k) array.data<double>()[k] = 0.1 * double(k * k % 7);
    return array;
  }();
  const std::vector<NamedView> inputs{{"w", w}, {"v", v}, {"t_w", w}, {"t_v", v}};
  const Array y = compile(spec).call({inputs.begin(), inputs.begin() + 2})["y"].copy();
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Array t = compile(jvp(spec, {"w", "v"}), {.engine = engine}).call(inputs)["t_y"].copy();
    CHECK(std::vector(t.shape().begin(), t.shape().end()) ==
          std::vector(y.shape().begin(), y.shape().end()));
  }
}

TEST_CASE("an axis that an output lists and an idle let alone has stays in what is derived") {
  const LoopSpec spec = parse("kernel k {\nin x : f64[i]\nin v : f64[:]\n"
                              "let t = v[u + 1] * 0.5\nout y[u, i] = broadcast x * x\n}");
  const Array x = wavy(3, 0.2), v = wavy(5, 0.1);
  const Results moved =
      compile(jvp(spec, {"x"})).call(std::vector<NamedView>{{"x", x}, {"v", v}, {"t_x", x}});
  const Array t = moved["t_y"].copy();
  CHECK(std::vector(t.shape().begin(), t.shape().end()) == std::vector<std::int64_t>{4, 3});
}

TEST_CASE("accumulators that lets and outputs need for their gradients have names of their own") {
  const std::string scans = "sum(scan(prod, v + 1, u) * scan(logsumexp, v, u), u)";
  const std::string body = "in x : f64[:]\nin v : f64[u]\nlet h[b] = exp(x[b + 0]) * " + scans +
                           "\nout y = sum(h[q], q) * " + scans;
  check_all(body, {{"x", 3}, {"v", 4}});
  CHECK(gradient_text(body, "v").find("logsumexp_back_2") != std::string::npos);
}

TEST_CASE("an extent that an output says holds where other outputs alone are derived") {
  const LoopSpec spec = parse("kernel k {\nin x : f64[:, :]\nin y : f64[:]\n"
                              "out a[d < 2 + extent(y, 0) - 3] = y[d + 0]\n"
                              "out b[d] = mean(x[c, d + 1], c)\n}");
  JvpOptions options;
  options.of = {"b"};
  const LoopSpec forward = jvp(spec, {"x"}, options);
  CHECK(print(forward).find("out t_b[d < extent(y, 0) - 1]") != std::string::npos);
  const Array y = wavy(4, 0.1), x = [] {
    Array array(DType::F64, {3, 7});
    for (std::int64_t k = 0; k < 21; ++k) array.data<double>()[k] = 0.1 * double(k);
    return array;
  }();
  const Results moved =
      compile(forward).call(std::vector<NamedView>{{"x", x}, {"y", y}, {"t_x", x}});
  CHECK(moved["t_b"].copy().size() == 3);
}

TEST_CASE("a directional derivative that folds an axis has not the axes of what it folds") {
  const LoopSpec spec =
      parse("kernel k {\nin x : f64[j]\nin y : f64[i]\nout z = mean(y * y + x * x, j)\n}");
  const Array x = wavy(3, 0.1), y = wavy(2, 0.2);
  for (const Engine engine : {Engine::jit, Engine::reference}) {
    const Results moved = compile(jvp(spec, {"x"}), {.engine = engine})
                              .call(std::vector<NamedView>{{"x", x}, {"y", y}, {"t_x", x}});
    const Array t = moved["t_z"].copy();
    CHECK(std::vector(t.shape().begin(), t.shape().end()) == std::vector<std::int64_t>{2});
  }
}

TEST_CASE("a let's cotangent reads windows alone that stand beside others in the kernel") {
  check_all("in x : f64[:]\nin z : f64[:]\nlet h[b] = abs(x[b + 2] + 0.5)\n"
            "out y = sum(x[m + 2] * hypot(1 + square(sum(h, b)), z[m]), m)",
            {{"x", 5}, {"z", 4}});
}

TEST_CASE("a let that no output asked about needs is not in the gradient, whatever slope it has") {
  const LoopSpec spec = parse("kernel k { in x : f64[:]; in w : f64[i]\n"
                              "let h[i] = sqrt(x[i + 1])\n"
                              "out y[i] = h[i + 1] * w[i + 0]; out z = 2 * w }");
  const std::string text = print(gradient(spec, {"x", "w"}, {.of = {"z"}}));
  CAPTURE(text);
  CHECK(text.find("let") == std::string::npos);
  CHECK(text.find("out d_w : f64 = reduce(sum, like=w) d_z * 2") != std::string::npos);
  const Array x = wavy(6, 0), w = wavy(5, 1), d_z = wavy(5, 2); // x[0] is 0
  const Results results = compile(gradient(spec, {"x", "w"}, {.of = {"z"}}))
                              .call(std::vector<NamedView>{{"x", x}, {"w", w}, {"d_z", d_z}});
  for (int k = 0; k < 6; ++k) CHECK(results["d_x"].data<double>()[k] == 0);
}

TEST_CASE(
    "an axis of what flows back through a let is not the one of a cotangent of the same name") {
  const LoopSpec spec = parse("kernel k { in v : f64[:]; in x : f64\n"
                              "let h[q] = v[q + 1] + v[q] + h[q - 1] from 1\n"
                              "out a = x * h[-2*w + 2]; out b = sum(x, like=h[u]) }");
  const Array v = wavy(5, 0), x = wavy(-1, 2), d_a = wavy(2, 1), d_b = wavy(4, 3);
  const std::vector<NamedView> some{{"v", v}, {"x", x}, {"d_a", d_a}};
  std::vector<NamedView> all = some;
  all.push_back({"d_b", d_b});
  const Results both = compile(gradient(spec, {"v", "x"})).call(all),
                one = compile(gradient(spec, {"v"}, {.of = {"a"}})).call(some);
  for (int k = 0; k < 5; ++k) CHECK(both["d_v"].data<double>()[k] == one["d_v"].data<double>()[k]);
}

namespace {

// All gradients of a kernel, of all outputs together and of each alone.
void check_placed(const std::string &body, const std::vector<std::string> &wrt,
                  const std::vector<NamedView> &inputs) {
  INFO(body);
  const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
  CHECK(check_gradient(spec, inputs).passed());
  const Results kept = compile(spec).call(inputs);
  std::vector<NamedView> pulled = inputs;
  std::vector<std::string> names;
  std::vector<Array> cotangents;
  for (const auto &output : spec.data().outputs) names.push_back("d_" + output.name);
  for (const auto &output : spec.data().outputs) cotangents.push_back(kept[output.name].copy());
  for (std::size_t k = 0; k < names.size(); ++k) pulled.push_back({names[k], cotangents[k]});
  const LoopSpec all = gradient(spec, wrt, {.value = true});
  CAPTURE(print(all));
  CHECK(print(parse(print(all))) == print(all));
  const Results both = compile(all).call(pulled);
  for (const auto &output : spec.data().outputs) {
    const Array was = kept[output.name].copy(), is = both[output.name].copy();
    CHECK(std::vector(is.shape().begin(), is.shape().end()) ==
          std::vector(was.shape().begin(), was.shape().end()));
  }
  CHECK(check_gradient(all, pulled).passed());
}

Array table() {
  Array array(DType::F64, {3, 4});
  for (std::int64_t k = 0; k < 12; ++k) array.data<double>()[k] = 0.3 + 0.07 * double(k * k % 11);
  return array;
}

} // namespace

TEST_CASE("unlabelled inputs lie in what flows back where they lie in the kernel") {
  const Array x = wavy(4, 0.3), b = wavy(4, 0.5), w = wavy(2, 0.2), three = wavy(3, 0.4);
  check_placed("in x : f64[i]\nin b : f64[:]\nlet h[t] = h[t - 1] * 0.5 + x[t]\n"
               "out z = x * b\nout y = h[-1]",
               {"x", "b"}, {{"x", x}, {"b", b}});
  check_placed("in x : f64[i]\nin w : f64[u]\nin b : f64[:]\nlet h[p] = sum(x[p + u] * w[u], u)\n"
               "out z = x * b\nout y = h[m]",
               {"x", "w", "b"}, {{"x", x}, {"w", w}, {"b", three}});
  check_placed("in x : f64[i]\nin w : f64[:]\nin b : f64[:]\nlet h[p] = sum(x[p + u] * w[u], u)\n"
               "out z = x * b\nout y = h[m]",
               {"x", "w", "b"}, {{"x", x}, {"w", w}, {"b", three}});
  check_placed("order c\nin x : f64[i]\nin b : f64[:]\nlet h[p] = x[p + 1] * 2\n"
               "out z = x * b\nout y = h[m] * b",
               {"x", "b"}, {{"x", x}, {"b", b}});
  check_placed("in x : f64[i]\nin b : f64[:]\nout z = x * b\nout y = x[k + 1] * x[k]", {"x", "b"},
               {{"x", x}, {"b", three}});
  const Array pairs = table(), row = wavy(4, 0.6);
  check_placed("in x : f64[:, :]\nin w : f64[:]\nlet h[t] = h[t - 1] * 0.5 + x[t, 1]\n"
               "out y = h[-1]\nout z = x * w\nout p = sum(x * w, like=w)",
               {"x", "w"}, {{"x", pairs}, {"w", row}});
}

TEST_CASE("a number of an axis names in what flows back the axis that it names in the kernel") {
  const Array x = table();
  for (const std::string dims : {"i, j", ":, :"})
    check_placed("in x : f64[" + dims +
                     "]\nlet h[t] = h[t - 1] * 0.5 + x[t, 1]\nout y = h[-1]\n"
                     "out z = sum(x * x, -1)\nout q = max(x, -2)\nout s = scan(sum, x * x, -1)\n"
                     "out e = x * iota(-1) * extent(0)",
                 {"x"}, {{"x", x}});
}

TEST_CASE("outputs keep their shapes beside lets that a forward kernel saves") {
  const LoopSpec spec = parse("kernel k { in x : f64[i]; in b : f64[:]; in k : i64[i]\n"
                              "let h = sum(x * x, like=b[k[i]])\n"
                              "out z = h * b; out y = h[k[i]] * x }");
  const Array x = wavy(4, 0.3), b = wavy(4, 0.5), k(i64, {4});
  for (int n = 0; n < 4; ++n) k.data<std::int64_t>()[n] = n * n % 4;
  const std::vector<NamedView> inputs{{"x", x}, {"b", b}, {"k", k}};
  const Results plain = compile(spec).call(inputs),
                saving = compile(saving_forward(spec, {"x"})).call(inputs);
  for (const char *name : {"z", "y"}) {
    const Array was = plain[name].copy(), is = saving[name].copy();
    REQUIRE(std::vector(is.shape().begin(), is.shape().end()) ==
            std::vector(was.shape().begin(), was.shape().end()));
    for (std::int64_t n = 0; n < was.size(); ++n)
      CHECK(is.data<double>()[n] == was.data<double>()[n]);
  }
}

TEST_CASE("an input that would lie in two places in what flows back is an error") {
  const LoopSpec spec = parse("kernel k { in x : f64[i]; in b : f64[:]\n"
                              "let h[p] = x[p + 1] * b\nout z = x * h[m] * b }");
  try {
    gradient(spec, {"x"});
    FAIL("no error");
  } catch (const SpecError &error) {
    CHECK(error.code() == "E0607");
    CHECK(std::string(error.what()).find("lies elsewhere") != std::string::npos);
  }
}

TEST_CASE("what flows back through computed positions knows the extents that outputs say") {
  const LoopSpec spec =
      parse("kernel k { in x : f64[7]; in k : i64[i]; out y[i, u < 3] = x[(k[i] + u) % 7]^2 }");
  CHECK(print(gradient(spec, {"x"})).find("axis u < 3") != std::string::npos);
  const Array x = wavy(7, 0.3), k(i64, {4});
  for (int n = 0; n < 4; ++n) k.data<std::int64_t>()[n] = n * n;
  CHECK(check_gradient(spec, {{"x", x}, {"k", k}}).passed());
}

TEST_CASE("what a fold says of its axis holds by whatever name the axis has in what is derived") {
  for (const std::string rest :
       {"out y = sum(h[t] * h[t], t)", "let z[t] = h[t] * h[t]\nout y = sum(z[m] * z[m + 1], m)"})
    check_all("in x : f64[:]\nlet h[t] = sum(x[t + u] * x[u + 0], u < 2)\n" + rest, {{"x", 7}});
}

TEST_CASE("inputs that meet no label of a window have labels of their own beside it") {
  const LoopSpec spec = gradient(parse("kernel k { in x : f64[:]; in w : f64[:]; in b : f64[:]\n"
                                       "let h[p] = sum(x[p + u] * w[u], u)\n"
                                       "out z = x * b; out y = h[m] }"),
                                 {"x", "w", "b"});
  CAPTURE(print(spec));
  const Array x = wavy(5, 0.3), w = wavy(3, 0.4), b = wavy(5, 0.5), d_z = wavy(5, -0.2),
              d_y = wavy(3, 0.1);
  const std::vector<NamedView> inputs{{"x", x}, {"w", w}, {"b", b}, {"d_z", d_z}, {"d_y", d_y}};
  CHECK(check_gradient(spec, inputs).passed()); // what flows into d_x is as long as x
  const Results made = compile(parse(print(spec))).call(inputs);
  const auto at = [](const Array &array, int k) { return array.data<double>()[k]; };
  for (int u = 0; u < 3; ++u) {
    double sum = 0;
    for (int m = 0; m < 3; ++m) sum += at(d_y, m) * at(x, m + u);
    CHECK(made["d_w"].data<double>()[u] == doctest::Approx(sum));
  }
  for (int k = 0; k < 5; ++k) {
    CHECK(made["d_b"].data<double>()[k] == at(d_z, k) * at(x, k));
    double sum = at(d_z, k) * at(b, k);
    for (int u = 0; u < 3; ++u)
      if (k - u >= 0 && k - u < 3) sum += at(d_y, k - u) * at(w, u);
    CHECK(made["d_x"].data<double>()[k] == doctest::Approx(sum));
  }
}

TEST_CASE("the gradient of a part that is read again prints as a text that prints itself") {
  const LoopSpec spec =
      gradient(parse("kernel k { in l : f64[lb, la]; in w : f64[la]; let m[la, lb] = l\n"
                     "let s[t < 4, la, lb] = s[t - 1, la, lb] * m[la, lb] + m from 1\n"
                     "let r[n, la, lb] = stack(n, m * m + s[-1, la, lb], m, s[-1, la, lb])\n"
                     "out y = sin(w) * r[1, la, lb] * l }"),
               {"l", "w"});
  const std::string text = print(spec);
  CAPTURE(text);
  CHECK(text.find("let d_r_part2[r_part2_0, r_part2_1] = d_r[2, ") !=
        std::string::npos); // no other name of it
  CHECK(print(parse(text)) == text);
}

TEST_CASE(
    "what flows into an array has its dims in their order, whatever is read along them first") {
  // The bound of the outer pad is the extent of dim 1, which would come before dim 0.
  const LoopSpec spec = parse("kernel k { in x : f64[:, :]; in d : f64[q]\n"
                              "let h[i, j] = x[i, j]^2\n"
                              "let g = sum(d * pad(h, 0: (1, 2))[5 - q, 3 - q], like=pad(h, 0: (1, "
                              "2))[5 - q, 3 - q])\nout z = g[h_0, h_1] }");
  for (const std::int64_t columns : {4, 5, 7}) {
    Array x(DType::F64, {5, columns});
    for (std::int64_t k = 0; k < x.size(); ++k)
      x.data<double>()[k] = 0.3 + 0.07 * double(k * k % 11);
    const Array d = wavy(4, 0.5), d_z = wavy(5 * columns, -0.2);
    CHECK(check_gradient(spec, std::vector<NamedView>{{"x", x}, {"d", d}}).passed());
    const View<const double> d_z_view(d_z.data<double>(), {5, columns});
    const LoopSpec derived = gradient(spec, {"x", "d"});
    CAPTURE(print(derived));
    CHECK(check_gradient(derived, std::vector<NamedView>{{"x", x}, {"d", d}, {"d_z", d_z_view}})
              .passed());
  }
}

TEST_CASE("an array that has copies of a value is not taken for it in what flows back") {
  check_all("in x : f64[:]\nlet h[i < 7] = tanh(x[0] * x[1])\nout y = h[-1] * h[2]", {{"x", 3}});
  check_all("in x : f64[i]\nin z : f64[:]\nlet h[i, j < 3] = relu(exp(x) - 1.4)\n"
            "out y = sum(h[i, j] * z[j + i], i, j)",
            {{"x", 4}, {"z", 6}});
  check_all("in x : f64[t]\nlet u[t, i < 3] = tanh(u[t - 1, 0] * 0.5 + x)\n"
            "out y = sum(u[-1, i] * exp(u[1, i]), i)",
            {{"x", 4}});
}

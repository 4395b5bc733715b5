// Batches: what they print, that each element has the bits of a call of its own, and what has no
// such form.
#include <broadloom/broadloom.hpp>
#include <broadloom/jacobian.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

LoopSpec kernel(const std::string &body) { return parse("kernel k {\n" + body + "\n}"); }

// Without the kernel around it.
std::string printed(const std::string &body, const std::vector<std::string> &inputs = {},
                    const std::string &axis = "b") {
  const LoopSpec made = batch(kernel(body), axis, inputs);
  const std::string text = print(made);
  CHECK(print(parse(text)) == text);
  const std::size_t first = text.find("k_batch {\n") + 10;
  return text.substr(first, text.rfind("}") - first);
}

std::string refused(const std::string &body, const std::vector<std::string> &inputs = {},
                    const std::string &axis = "b") {
  try {
    batch(kernel(body), axis, inputs);
  } catch (const SpecError &error) {
    return error.code() + ": " + error.what();
  }
  return "nothing";
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

struct Given {
  std::string name;
  std::vector<std::int64_t> shape; // of one element
  bool moves = true;
};

constexpr std::int64_t elements = 3;

// In each engine element b of each output has the bits of the kernel itself for element b of the
// inputs.
void check_elements(const LoopSpec &spec, const std::vector<Given> &inputs) {
  std::vector<std::string> names;
  for (const Given &input : inputs)
    if (input.moves) names.push_back(input.name);
  const LoopSpec made = batch(spec, "b_of_all", names);
  INFO(print(made));
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::automatic}) {
    const Kernel one = compile(spec, {.engine = engine}), many = compile(made, {.engine = engine});
    std::vector<Array> arrays;
    std::vector<NamedView> all;
    const std::vector<InputInfo> infos = one.inputs();
    for (const Given &input : inputs)
      for (const InputInfo &info : infos) {
        if (info.name != input.name) continue;
        std::vector<std::int64_t> shape = input.shape;
        if (input.moves) shape.insert(shape.begin(), elements);
        Array array(info.dtype, shape);
        for (std::int64_t k = 0; k < array.size(); ++k) {
          if (info.dtype == f64) array.data<double>()[k] = std::sin(double(k * 7 + 1)) + 1.3;
          if (info.dtype == f32) array.data<float>()[k] = float(std::sin(double(k * 5 + 2)));
          if (info.dtype == i64) array.data<std::int64_t>()[k] = k * 5 % 3;
        }
        arrays.push_back(std::move(array));
      }
    REQUIRE(arrays.size() == inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) all.push_back({inputs[i].name, arrays[i]});
    const Results results = many.call(all);
    for (std::int64_t b = 0; b < elements; ++b) {
      std::vector<NamedView> single = all;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].moves) continue;
        AnyView &view = single[i].view;
        const AnyView whole = all[i].view;
        --view.layout.rank;
        for (std::size_t d = 0; d < std::size_t(view.layout.rank); ++d) {
          view.layout.extents[d] = whole.layout.extents[d + 1];
          view.layout.strides[d] = whole.layout.strides[d + 1];
        }
        view.data = static_cast<char *>(whole.data) +
                    b * whole.layout.strides[0] * std::int64_t(size_of(whole.dtype));
      }
      for (const auto &[name, want] : one.call(single)) {
        const Array got = results[name].copy(), expected = want.copy();
        const std::size_t bytes = std::size_t(expected.size()) * size_of(expected.dtype());
        const bool moves = got.rank() > expected.rank();
        REQUIRE(std::size_t(got.size()) * size_of(got.dtype()) == bytes * (moves ? elements : 1));
        const char *part =
            static_cast<const char *>(got.raw()) + (moves ? bytes * std::size_t(b) : 0);
        CHECK_MESSAGE(std::memcmp(part, expected.raw(), bytes) == 0,
                      "output " << name << ", " << b);
      }
    }
  }
}

TEST_CASE("a batch puts its axis before the dims of inputs and of outputs that depend on them") {
  CHECK(printed("in x : f32[i, j]; in y : f32[i]; out z = x * y; out w = y + 1") ==
        "  in  x : f32[b, i, j]\n  in  y : f32[b, i]\n  out z = x * y\n  out w = y + 1\n");
  CHECK(printed("in x : f32[i, j]; in y : f32[i]; out z = x * y; out w = y + 1", {"x"}) ==
        "  in  x : f32[b, i, j]\n  in  y : f32[i]\n  out z = x * y\n  out w = y + 1\n");
  // Here the new axis is no first one of the iteration space.
  CHECK(printed("in x : f32[i, j]; in y : f32[i]; out z = x * y", {"y"}, "n") ==
        "  in  x : f32[i, j]\n  in  y : f32[n, i]\n  out z[n, i, j] = x * y\n");
  CHECK(printed("in s : f32; in x : f32[i]; out z = s * x", {"s"}) ==
        "  in  s : f32[b]\n  in  x : f32[i]\n  out z = s * x\n");
  CHECK(printed("in s : f32; out z = s * s", {"s"}) == "  in  s : f32[b]\n  out z = s * s\n");
}

TEST_CASE("what folds all axes of a value folds the same ones in a batch") {
  CHECK(printed("in x : f32[i, j]; out s = x / sum(x); out a = argmax(x)") ==
        "  in  x : f32[b, i, j]\n  out s = x / sum(x, i, j)\n  out a = argmax(x, i, j)\n");
  CHECK(printed("in x : f32[i]; in s : f32; out z = x * max(s)", {"s"}) ==
        "  in  x : f32[i]\n  in  s : f32[b]\n  out z[b, i] = x * f32(s)\n");
  CHECK(has(
      refused("in s : f32; out z = var(s)", {"s"}),
      "E0061: E0061: kernel 'k' gets no axis of a batch: a reduction folds a value without axes"));
}

TEST_CASE("modes keep the axes that they keep without a batch") {
  CHECK(printed("in x : f32[i, j]; in y : f32[i]; out a = accumulate(sum) x * y; "
                "out r = reduce(max) x * y; out b = broadcast sum(x, j)",
                {}, "n") ==
        "  in  x : f32[n, i, j]\n  in  y : f32[n, i]\n  out a[n, i] = accumulate(sum) x * y\n"
        "  out r[n, i] = reduce(max) x * y\n  out b = broadcast sum(x, j)\n");
  // y is the input of the least rank; with the axis of the batch it would be no more.
  CHECK(printed("in x : f32[i, j]; in y : f32[i]; out r = reduce(max) x * y", {"y"}) ==
        "  in  x : f32[i, j]\n  in  y : f32[b, i]\n  out r[b, i] = reduce(max) x * y\n");
  // Where a reduction folds what accumulate leaves, the mode is written out.
  CHECK(printed("in x : f32[i, j]; in y : f32[i]; out a = accumulate(sum) x * sum(y)") ==
        "  in  x : f32[b, i, j]\n  in  y : f32[b, i]\n  out a = sum(x, j) * sum(y, i)\n");
  check_elements(kernel("in x : f64[i, j]; in y : f64[i]; out a = accumulate(sum) x * sum(y);\n"
                        "out c = accumulate(prod) x * y; out d = broadcast(like=x) y"),
                 {{"x", {3, 4}}, {"y", {3}}});
}

TEST_CASE("axes without labels are counted one further in a batch") {
  CHECK(printed("in x : f32[:, :]; in y : f32[:]; out z = x * y; out s = sum(x, -1) / extent(1); "
                "out t[1, 0] = x") ==
        "  in  x : f32[:, :, :]\n  in  y : f32[:, :] dims(0, 2)\n  out z = x * y\n"
        "  out s = sum(x, 2) / extent(2)\n  out t[0, 2, 1] = x\n");
  CHECK(printed("order c; in x : f32[:, :]; in y : f32[:]; out z = x * y", {"y"}) ==
        "  order c\n  in  x : f32[:, :] axes(1, 2)\n  in  y : f32[:, :] axes(0, 1)\n  out z = x * "
        "y\n");
  CHECK(printed("in x : f32[i, j]; in y : f32[:]; out z = x * y; out w = sum(x, 0)", {"x"}) ==
        "  in  x : f32[b, i, j]\n  in  y : f32[:] dims(2)\n  out z = x * y\n  out w = sum(x, i)\n");
  check_elements(kernel("in x : f64[:, :]; in y : f64[:]; in s : f64; out z = x * y + s;\n"
                        "out q = sum(x * s, like=y); out a = argmin(x); out c = scan(sum, x, 1);\n"
                        "out r = reduce(max) x - y"),
                 {{"x", {3, 4}}, {"y", {4}}, {"s", {}}});
  check_elements(kernel("in x : f64[:, :]; in y : f64[:]; out z = x - mean(x, 0) * y"),
                 {{"x", {3, 4}, false}, {"y", {4}}});
  check_elements(kernel("order none; in x : f64[:, :]; in y : f64[:, :]; out z = x * y"),
                 {{"x", {3, 4}}, {"y", {1, 4}, false}});
}

TEST_CASE("dims of 1 of an element stretch as they do without a batch") {
  check_elements(
      kernel("in x : f64[:, :]; in m : f64[:, :]; out z = x - m; out s = sum(x, like=m)"),
      {{"x", {3, 4}}, {"m", {1, 4}}});
  check_elements(kernel("in x : f64[i, j]; in m : f64[i?, j]; out z = x - m"),
                 {{"x", {3, 4}, false}, {"m", {1, 4}}});
}

TEST_CASE("a reduction like an input that lacks the axis names what it folds, where labels tell") {
  CHECK(printed("in x : f32[i, j]; in w : f32[j]; out z = sum(x, like=w); "
                "out r = reduce(max, like=w) x; out l = broadcast(like=x) w",
                {"x"}) ==
        "  in  x : f32[b, i, j]\n  in  w : f32[j]\n  out z = sum(x, i)\n  out r = max(x, i)\n"
        "  out l[b, i, j] = broadcast(like=x) w\n");
  CHECK(printed("in x : f32[i, j]; in w : f32[j]; out l = broadcast(like=x) w; "
                "out m = sum(w, like=x) + 1",
                {"w"}) == "  in  x : f32[i, j]\n  in  w : f32[b, j]\n  let t0 = f32(w)\n  out l[b, "
                          "i, j] = broadcast w\n"
                          "  out m[b, i, j] = where(iota(i, of=x) >= 0, t0, t0) + 1\n");
  check_elements(kernel("in x : f64[i, j]; in w : f64[j]; out z = sum(x, like=w);\n"
                        "out l = broadcast(like=x) w; out m = sum(w, like=x) + 1"),
                 {{"x", {3, 4}, false}, {"w", {4}}});
  CHECK(has(refused("in x : f32[:, :]; in w : f32[:]; out z = sum(x, like=w)", {"x"}),
            "a reduction is like 'w', which lacks the axis, and dims may be 1"));
}

TEST_CASE("reads at positions have the axis of the batch first") {
  CHECK(printed("in x : f64[:]; in w : f64[u]; out y = sum(x[i + u] * w, u); out r = x[-n]") ==
        "  in  x : f64[:, :]\n  in  w : f64[b, u]\n  out y = sum(x[b, i + u] * w, u)\n"
        "  out r = x[b, -n]\n");
  CHECK(printed("in x : f64[:, :]; in k : i64[n]; let p = pad(x, 0: (1, 1), edge); "
                "out y = p[k[n] + 1, j + extent(x, 1) - 1]",
                {"x"}) ==
        "  in  x : f64[:, :, :]\n  in  k : i64[n]\n"
        "  out y[b, n, j] = pad(x, 1: (1, 1), edge)[b, k[n] + 1, j + extent(x, 2) - 1]\n");
  check_elements(kernel("in x : f64[:]; in w : f64[u]; out y = sum(x[i + u] * w, u);\n"
                        "out d = x[2*k + 1]; out p = pad(x, 0: (2, 1), reflect)[m]"),
                 {{"x", {9}}, {"w", {3}}});
  check_elements(kernel("in x : f64[:, :]; in k : i64[:]; out y = x[k[i], j];\n"
                        "out s = sum(x[k[i], j] + 1, like=x[wrap(k[i] + 1), j])"),
                 {{"x", {4, 2}}, {"k", {5}}});
  check_elements(kernel("in x : f64[:, :]; in k : i64[:]; out y = x[k[i], j];\n"
                        "out s = sum(x[k[i], j], like=x[k[i], j])"),
                 {{"x", {4, 2}, false}, {"k", {5}}});
}

TEST_CASE("a sum back through a window of what all elements share has the shape of all of them") {
  const std::string body =
      "in x : f64[:]; in d : f64[i]; out s = sum(d, like=x[i + 1]) + sum(-d, like=x[i])";
  CHECK(printed(body, {"d"}) ==
        "  in  x : f64[:]\n  in  d : f64[b, i]\n"
        "  let x_b[b < extent(d, 0), x_b_d0 < extent(x, 0)] = f64(0)\n"
        "  out s[x_b_0, x_b_1] = sum(d, like=x_b[b, i + 1]) + sum(-d, like=x_b[b, i])\n");
  check_elements(kernel(body), {{"x", {6}, false}, {"d", {5}}});
  check_elements(kernel("in x : f64[:]; in d : f64[i]; out s = sin(sum(d, like=x[2*i + 1]))"),
                 {{"x", {8}, false}, {"d", {4}}});
  CHECK(has(refused("in x : f64[:]; out s = 1 + sum(x[n] * x[n], like=pad(x, 0: (1, 1))[n]); "
                    "in d : f64[:]; out t = 2 * sum(d[n], like=x[n + 1]); out u = x[n + 2]",
                    {"d"}),
            "a sum like a window is a part of another value, and both go along 'n'"));
}

TEST_CASE(
    "lets that are arrays list the axis of the batch, and loops over time go on for each element") {
  CHECK(printed("in x : f64[:]; let d = x[i + 1] - x[i]; out y = d[i + 1] - d[i]") ==
        "  in  x : f64[:, :]\n  let d[b, i] = x[b, i + 1] - x[b, i]\n  out y[b, i] = d[b, i + 1] - "
        "d[b, i]\n");
  const std::string rnn =
      "in x : f64[t, n, c]; in w : f64[c, i]; in v : f64[k, i]; in h0 : f64[n, k]\n"
      "let h[t, n, i] = tanh(sum(x * w, c) + sum(h[t - 1, n, k] * v, k)) from h0\n"
      "out y[n, i] = h[-1, n, i]; out z = h";
  CHECK(has(printed(rnn, {"x"}), "  let h_from[b < extent(x, 0), n, k] = h0\n"));
  CHECK(has(printed(rnn, {"x"}), " from h_from[b, n, i]\n"));
  for (const char *moved : {"x", "w", "v", "h0"})
    check_elements(kernel(rnn), {{"x", {5, 2, 3}, *moved == 'x'},
                                 {"w", {3, 4}, *moved == 'w'},
                                 {"v", {4, 4}, *moved == 'v'},
                                 {"h0", {2, 4}, *moved == 'h'}});
  check_elements(kernel("in x : f64[t]; in a : f64; let s[t] = x + a * s[t + 1]; out y[t] = s"),
                 {{"x", {5}, false}, {"a", {}}});
  CHECK(has(
      refused(
          "in x : f64[t, i]; in a : f64; let s[t, i] = x + s[t - 1, i] from a; out y = s[-1, i]",
          {"a"}),
      "let 's' begins with one value, which is another for each element of it"));
}

TEST_CASE("joins have parts of one batch") {
  const std::string body =
      "in x : f64[:, :]; in y : f64[:, :]\n"
      "let both[i, j] = concat(i, x[i, j], 10 * y[i, j]); out d = both[m + 1, j] - both[m, j]\n"
      "out s[j, k] = stack(k, x[0, j], y[0, j])";
  check_elements(kernel(body), {{"x", {2, 3}}, {"y", {1, 3}}});
  check_elements(kernel(body), {{"x", {2, 3}, false}, {"y", {1, 3}}});
  CHECK(has(refused("in x : f64[:]; out z[i < 3] = x[i + 0]; out z[i + 3] = 2 * x[i]"),
            "a let or an output that is written by parts at positions hangs on it"));
}

TEST_CASE("extents that are said hold in a batch") {
  CHECK(printed("in x : f64[:]; out twice[n < 2, j < extent(x, 0) - 3] = x[j + 0]; "
                "out m = max(x[2*i + u], u < 2)") ==
        "  in  x : f64[:, :]\n  axis u < 2\n"
        "  out twice[b, n < 2, j < extent(x, 1) - 3] = x[b, j + 0]\n  out m[b, i] = max(x[b, 2*i + "
        "u], "
        "u)\n");
}

TEST_CASE("a batch can be batched, and derived") {
  const LoopSpec spec = kernel("in x : f64[i]; in w : f64[i]; out y = sum(x * w) * x");
  check_elements(batch(spec, "n"), {{"x", {2, 4}}, {"w", {2, 4}}});
  check_elements(gradient(batch(spec, "n", {"x"}), {"x", "w"}),
                 {{"x", {2, 4}}, {"w", {4}}, {"d_y", {2, 4}}});
  CHECK(has(print(gradient(batch(spec, "n", {"x"}), {"w"})), "  out d_w : f64"));
}

TEST_CASE("an axis that is called after a dim of an array is called after the next one") {
  check_elements(kernel("in x : f64[i]; let h[c] = 2 * x[c]; let g[c] = 3 * x[c]; "
                        "let d = sum(g[h_0], like=h[h_0]); out y = d[k] * x[k]"),
                 {{"x", {7}}});
  check_elements(gradient(kernel("in x : f64[i]; let t[c] = concat(c, x[c], x[c]); "
                                 "out y = t[2*i] * x"),
                          {"x"}),
                 {{"x", {5}}, {"d_y", {5}, false}});
}

TEST_CASE("a sum like an input that lacks the axis sees the rest of the kernel") {
  check_elements(kernel("in x : f64[t]; in z : f64[t]; let a[t] = z + c[t + 1]; let c[t] = a[t]; "
                        "out y = sum(a * x, like=x)"),
                 {{"x", {3}, false}, {"z", {3}}});
  check_elements(kernel("in x : f64[t]; in z : f64[k]; let a = sum(z, like=x[k]); "
                        "out y = sum(a[t], like=x)"),
                 {{"x", {3}, false}, {"z", {3}}});
  check_elements(kernel("in x : f64[i]; in z : f64; axis c < 3; "
                        "out y = sum(z * x[i] * sum(x[a + c], c, a), like=x)"),
                 {{"x", {5}, false}, {"z", {}}});
}

TEST_CASE("what has no form with one more axis is refused") {
  CHECK(has(refused("in x : f64[i, b]; out y = x"), "E0061: kernel 'k' has an axis 'b' already"));
  CHECK(has(refused("in x : f64[i]; out y = x", {"z"}),
            "there is no input 'z' to give axis of a batch"));
  CHECK(has(refused("in s : f64; out y = s"), "no input has dims"));
  CHECK(has(refused("state s : f64[i]; update s = s + 1"), "'s' is a state"));
  CHECK(has(refused("in x : f64[i]; out y = x", {}, "2b"), "E0001"));
  CHECK(has(refused("in x : f64[:]; in k : i64[:]; out h[k[i]] += x[i]"),
            "output 'h' is written at positions"));
}

} // namespace

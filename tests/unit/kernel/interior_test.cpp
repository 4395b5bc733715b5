// Padded reads without copies of whole arrays: the interior reads the arrays themselves, boxes
// around it read copies of what they see. The interpreter on whole copies, with BROADLOOM_SPLIT
// beyond all sizes, says what is right.
#include "split_calls.hpp"

#include <algorithm>

using namespace broadloom;
using namespace broadloom::tests;

namespace {

// Whether native code and the interpreter go in parts, and have the bits of the interpreter that
// does not.
bool splits(const LoopSpec &spec, const Inputs &inputs) {
  const auto in = views(inputs);
  std::vector<std::vector<unsigned char>> truth;
  {
    const SplitFrom never("4000000000000");
    const Kernel whole = compile(spec, with(Engine::interpreter));
    for (const auto &[name, array] : whole.call(in)) truth.push_back(bytes(array));
    CHECK_FALSE(has(whole, "padding-split"));
  }
  const SplitFrom always("0");
  std::size_t split = 0, engines = 0;
  for (const Options &options :
       {with(Engine::interpreter), with(Engine::jit), with(Engine::jit, 3)}) {
    const Kernel kernel = compile(spec, options);
    std::size_t o = 0;
    for (const auto &[name, array] : kernel.call(in)) {
      INFO(print(spec) << name);
      CHECK(bytes(array) == truth[o++]);
    }
    split += has(kernel, "padding-split");
    ++engines;
    CHECK(has(kernel, "padding-split") != has(kernel, "padding-copied"));
  }
  CHECK((split == 0 || split == engines));
  return split > 0;
}
bool splits(const std::string &body, const Inputs &inputs) {
  return splits(kernel_of(body), inputs);
}

const std::string stencil =
    "in x : f64[i, j]; out y[i, j] = p[i, j + 1] + 2*p[i + 3, j] - p[i + 1, "
    "j + 2]*p[i + 1, j + 1]; ";
std::string with_pads(std::string text, const std::string &padded) {
  for (std::size_t at; (at = text.find("p[")) != std::string::npos;) text.replace(at, 1, padded);
  return text;
}

} // namespace

TEST_CASE("a stencil reads its interior where it lies, whatever is around it") {
  const Inputs inputs{{"x", counted({37, 150})}};
  for (const std::string mode : {"", ", 9", ", edge", ", wrap", ", reflect"}) {
    CHECK(splits(with_pads(stencil, "pad(x, 0: (1, 2), 1: (1, 1)" + mode + ")"), inputs));
    CHECK(splits(with_pads(stencil, "pad(pad(x, 0: (1, 2), 5), 1: (1, 1)" + mode + ")"), inputs));
    CHECK(
        splits(with_pads(stencil, "pad(pad(x, 1: (1, 1)" + mode + "), 0: (2, 1), edge)"), inputs));
  }
  Array turned = counted({150, 37}).transposed();
  CHECK(splits(with_pads(stencil, "pad(x, 0: (1, 2), 1: (1, 1), wrap)"), {{"x", turned}}));
}

// In a copy of four rows v would lie right behind u, as it does in w, and the two would be folded
// as one axis.
TEST_CASE("a fold has the order that the caller's arrays give it, not copies of their borders") {
  CHECK(splits(
      "in x : f64[:, :, :, :]; in w : f64[u, v, c, o]; out y[n, i, j, o] = sum(pad(x, 1: (1, "
      "1), 2: (0, 2), wrap)[n, i + 2*u, 3*j + v, c] * w, c, u, v)",
      {{"x", counted({1, 65, 100, 1}, 0.1).transposed()},
       {"w", counted({1, 1, 3, 3}, 0.3).transposed()}}));
  const Array row = counted({90}, 0.1);
  const std::int64_t shape[] = {70, 90}, strides[] = {0, 1};
  const Array repeated(std::make_shared<Array>(row), DType::F64, row.raw(),
                       strided_layout(shape, strides));
  CHECK(splits(
      "in x : f64[:, :]; in w : f64[u, v]; out y[i, j] = sum(pad(x, 0: (1, 1), 1: (1, 1))[i + "
      "u, j + v] * w, u, v)",
      {{"x", repeated}, {"w", counted({3, 3}, 0.3).transposed()}}));
}

TEST_CASE("a convolution is split along its positions, and folds channels and taps in each part") {
  CHECK(splits(
      "in x : f64[n, a, b, c]; in w : f64[u, v, c, o]; out y[n, i, j, o] = sum(pad(x, 1: (1, "
      "1), 2: (1, 1))[n, i + u, j + v, c] * w, u, v, c)",
      {{"x", counted({2, 15, 17, 3})}, {"w", counted({3, 3, 3, 4})}}));
  CHECK(splits("in x : f64[:]; in w : f64[u]; out y[i] = sum(pad(x, 0: (2, 0))[i + 2 - u] * w, u)",
               {{"x", counted({90})}, {"w", counted({3})}}));
  CHECK(splits("in x : f64[:]; out y = pad(x, 0: (3, 3), reflect)[2*k + 1] - pad(x, 0: (3, 3), "
               "reflect)[-2*k - 2]",
               {{"x", counted({101})}}));
}

TEST_CASE("a call is made as a whole where a part is not computed as in the whole") {
  const Inputs inputs{{"x", counted({60, 70})}};
  const std::string p = "pad(x, 0: (1, 1), 1: (1, 1))";
  const auto whole = [&](const std::string &output) {
    return !splits("in x : f64[:, :]; " + output, inputs);
  };
  CHECK(whole("out y[j] = sum(" + p + "[i, j + 1], i)"));
  CHECK(whole("out y[i, j] = scan(sum, " + p + "[i + 1, j + 2], i)"));
  CHECK(whole("out y[i, j] = " + p + "[i, j + 1] * iota(i)"));
  CHECK(whole("out y[i, j] = " + p + "[i, j + 1] / extent(i)"));
  CHECK(whole("out y[i, j] = " + p + "[i, j + 1]; out z[j] = x[3, j]"));
  CHECK(whole("out y[i, j] = pad(x, 0: (100, 100))[i + j, 1] + x[i, j]"));     // no box
  CHECK(whole("out y[i, j] = " + p + "[i + 1, j + 1] + " + p + "[0, j + 1]")); // always outside
  // Hardly an interior.
  CHECK(whole("out y[i, j] = pad(x, 0: (40, 40))[i, j] + pad(x, 0: (40, 40))[i + 1, j]"));
}

TEST_CASE("only axes along which something is padded are split") {
  const Inputs inputs{{"x", counted({60, 70})}};
  CHECK(splits(
      "in x : f64[:, :]; out y[i, j] = pad(x, 0: (1, 1))[i + 2, j] + sum(x[i, k], k) * iota(j)",
      inputs));
}

TEST_CASE("nothing is copied where no border is read") {
  CHECK(splits("in x : f64[:]; out y = pad(x, 0: (1, 1))[k + 1] - pad(x, 0: (5, 6))[k + 5]",
               {{"x", counted({60})}}));
}

TEST_CASE("a stencil in place is computed as if its input had been copied") {
  const SplitFrom always("0");
  const std::string text = with_pads(stencil, "pad(x, 0: (1, 2), 1: (1, 1), edge)");
  const Array x = counted({37, 150});
  const Array wanted = run(text, {{"x", x}});
  const Array both = x.copy();
  const Kernel kernel = compile(kernel_of(text), with(Engine::jit, 2));
  kernel.run_named(std::vector<NamedView>{{"x", both}}, std::vector<NamedView>{{"y", both}});
  CHECK(bytes(both) == bytes(wanted));
  CHECK(has(kernel, "padding-copied"));
}

TEST_CASE("a bound call in parts sees what its input holds now") {
  const SplitFrom always("0");
  const Kernel kernel = compile(kernel_of(with_pads(stencil, "pad(x, 0: (1, 2), 1: (1, 1), wrap)")),
                                with(Engine::jit));
  const Array x = counted({37, 150}), y(DType::F64, {37, 150});
  const BoundCall call =
      kernel.bind_named(std::vector<NamedView>{{"x", x}}, std::vector<NamedView>{{"y", y}});
  for (int turn = 0; turn < 2; ++turn) {
    call();
    CHECK(bytes(y) == bytes(kernel.call(std::vector<NamedView>{{"x", x}})["y"]));
    for (std::int64_t k = 0; k < x.size(); ++k) x.data<double>()[k] = double(k % 17);
  }
  CHECK(has(kernel, "padding-split"));
}

TEST_CASE("mistakes are told of the whole, and nothing is written") {
  const SplitFrom always("0");
  const Kernel kernel = compile(kernel_of(with_pads(stencil, "pad(x, 0: (1, 2), 1: (1, 1), edge)")),
                                with(Engine::jit));
  const Array x = counted({37, 150});
  Array y(DType::F64, {36, 150});
  CHECK(code_thrown_by([&] {
          kernel.run_named(std::vector<NamedView>{{"x", x}}, std::vector<NamedView>{{"y", y}});
        }) == "E0120");
  CHECK(
      std::all_of(y.data<double>(), y.data<double>() + y.size(), [](double v) { return v == 0; }));
}

TEST_CASE("the steps of a loop over time are split, and of its rows only the last are kept") {
  const std::string heat = "in u0 : f64[i]; let u[t < 40, i] = u[t - 1, i] / 2 + (pad(u, 1: (1, "
                           "1), edge)[t - 1, i] + pad(u, "
                           "1: (1, 1), edge)[t - 1, i + 2]) / 4 from u0; out y[i] = u[-1, i]";
  const std::string backwards = "in u0 : f64[i]; let u[t < 41, i] = u[t + 3, i] / 2 + pad(u, 1: "
                                "(1, 1), wrap)[t + 1, i] / 4 + iota(t) "
                                "from u0; out y[i] = u[0, i]";
  const std::string two =
      "in u0 : f64[i]; let u[t < 17, i] = v[t - 2, i] / 2 + u[t - 1, i] from u0; let "
      "v[t < 17, i] = pad(u, 1: (1, 1), reflect)[t, i + 2] + v[t - 1, i]; out y[i] = "
      "u[-1, i] + v[-1, i]; out z[i] = v[-1, i]";
  for (const std::string &text : {heat, backwards, two})
    for (const char *bytes_from : {"0", "1000000000"}) {
      const SplitFrom from(bytes_from);
      const Array u0 = counted({300});
      run(text, {{"u0", u0}});
      const Kernel kernel = compile(kernel_of(text), with(Engine::jit, 2));
      kernel.call(std::vector<NamedView>{{"u0", u0}});
      CHECK(has(kernel, "let-keeps-rows"));
      INFO(text << bytes_from);
      CHECK(has(kernel, *bytes_from == '0' ? "padding-split" : "padding-copied"));
      for (const Decision &decision : kernel.why())
        if (decision.code == "lets-share-memory") CHECK(*decision.cost.bytes < 10 * 300 * 8);
    }
}

TEST_CASE("a loop of which only the shape is asked for is not run, and takes no memory") {
  const std::string text = "in x : f64[i]; let u[t < 1000000000000, i] = u[t - 1, i] * 0.5 from x; "
                           "out y[i] = x[i] * extent(t, of=u[t, i])";
  for (const Engine engine : {Engine::jit, Engine::interpreter}) {
    const Kernel kernel = compile(kernel_of(text), with(engine, 2));
    const Results made = kernel.call(std::vector<NamedView>{{"x", counted({3})}});
    for (int i = 0; i < 3; ++i)
      CHECK(made["y"].data<double>()[i] == 1e12 * counted({3}).data<double>()[i]);
  }
}

TEST_CASE("all rows of a loop are kept where another one may be read") {
  const Array u0 = counted({30});
  const auto keeps_all = [&](const std::string &rest) {
    const std::string text =
        "in u0 : f64[i]; let u[t < 9, i] = u[t - 1, i] / 2 + iota(t) from u0; " + rest;
    run(text, {{"u0", u0}});
    return !has(compile(kernel_of(text)), "let-keeps-rows");
  };
  CHECK_FALSE(keeps_all("out y[i] = u[-1, i]"));
  CHECK_FALSE(keeps_all("let h[i] = u[-1, i] * 2; out y[i] = u[-1, i] + h[-i]"));
  CHECK(keeps_all("out y[i] = u[-2, i]"));
  CHECK(keeps_all("out y[i] = u[0, i]"));
  CHECK(keeps_all("out y[i] = u[8, i]"));
  CHECK(keeps_all("out y[t, i] = u"));
  CHECK(keeps_all("out y[i] = sum(u, t)"));
  CHECK(keeps_all("out y[i] = u[-1, i] + u[3, i]"));
  CHECK(keeps_all("out y[i] = u[-1, i]; out z[t, i] = u[t, -i]"));
  CHECK(keeps_all("let v[s < 3, i] = v[s - 1, i] + u[s, i]; out y[s, i] = v + u[-1, i]"));
  CHECK(keeps_all("out y[i] = pad(u, 0: (0, 1), 7)[-1, i]"));
}

// Halos: blocks of loops over time have the bits of the whole. And what Stages say of joins.
#include "parts_of_arrays.hpp"
#include "unit/kernel/all_engines.hpp"
#include "unit/kernel/block_arrays.hpp"

#include <broadloom/block_kernel.hpp>

#include <map>

using namespace broadloom;
using tests::bytes;
using tests::call;
using tests::code_thrown_by;
using tests::dense;
using tests::dense_copy;
using tests::layouts_of;
using tests::numbers;
using tests::part_of;

// Blocks of so many positions, each in the middle of a call with parts of the inputs. All outputs
// have the axis as their last dim.
static void check_middles(const std::string &text, const std::string &axis,
                          const std::vector<Array> &inputs, std::int64_t step) {
  INFO(text);
  const LoopSpec spec = tests::kernel_of(text);
  const Halos halos(spec);
  const std::vector<Halos::Halo> around = halos.along(axis, layouts_of(inputs));
  const Kernel kernel = compile(spec);
  const Results wanted = call(kernel, inputs);
  const std::int64_t extent = wanted.begin()->second.shape().back();
  for (std::int64_t begin = 0; begin < extent; begin += step) {
    const std::int64_t end = extent - begin < step + 2 ? extent : begin + step;
    std::int64_t first = begin, last = extent;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (around[i].dim < 0) continue;
      first = std::min(first, begin - around[i].before);
      last = std::min(last, inputs[i].shape()[std::size_t(around[i].dim)] - end - around[i].after);
    }
    first = std::max<std::int64_t>(first, 0), last = std::max<std::int64_t>(last, 0);
    std::vector<Array> parts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int dim = around[i].dim;
      parts.push_back(dim < 0 ? inputs[i]
                              : dense_copy(part_of(inputs[i], dim, first,
                                                   inputs[i].shape()[std::size_t(dim)] - last)));
    }
    halos.check(layouts_of(inputs), layouts_of(parts));
    const Results got = call(kernel, parts);
    for (const auto &[name, array] : wanted) {
      const int dim = int(array.shape().size()) - 1;
      CHECK(bytes(dense_copy(part_of(got[name], dim, begin - first, end - first))) ==
            bytes(dense_copy(part_of(array, dim, begin, end))));
    }
    if (end == extent) break;
  }
}

TEST_CASE("A block of a loop over time is the middle of a longer one") {
  const Array u = numbers({60}), v = numbers({60}, 2), w = numbers({3}), x = numbers({5, 60}, 3);
  const std::string heat =
      "let u[t < 6, i] = u[t - 1, i] / 2 + (pad(u, 1: (1, 1), edge)[t - 1, i] + "
      "pad(u, 1: (1, 1), edge)[t - 1, i + 2]) / 4 from u0\n";
  check_middles("in u0 : f64[:]\n" + heat + "out y[i] = u[-1, i]", "i", {u}, 10);
  check_middles("in u0 : f64[:]\n" + heat + "out y[t, i] = u\nout d[i] = u[-1, i] - u0[i]", "i",
                {u}, 13);
  // Two lets that read each other, at the same step, too.
  check_middles("in u0 : f64[:]; in v0 : f64[:]\n"
                "let u[t < 4, i] = u[t - 1, i] + 0.1 * v[t - 1, i] from u0\n"
                "let v[t < 4, i] = v[t - 1, i] - pad(u, 1: (2, 0))[t, i] from v0\n"
                "out a[i] = u[-1, i]; out b[i] = v[-1, i]",
                "i", {u, v}, 11);
  // A fold of the taps, an input of each step, and a let before and behind.
  check_middles("in x : f64[t, i]; in u0 : f64[:]; in w : f64[u]\n"
                "let g[i] = u0[i] * 2\n"
                "let h[t, i] = x + sum(pad(h, 1: (1, 1), reflect)[t - 1, i + u] * w, u) from g\n"
                "let e[k] = h[-1, k + 2] - h[-1, k]\nout y[p] = e[p] * e[p]",
                "p", {x, u, w}, 12);
  check_middles("in x : f64[t, i]\nlet s[t, i] = 0.5 * s[t + 1, i] + x\nout y[t, i] = s * s", "i",
                {x}, 7);
  // Arrays side by side along another axis.
  check_middles(
      "in u0 : f64[:]\nlet z[c, i] = stack(c, u0[i], exp(-u0[i]^2))\n"
      "let s[t < 3, i] = s[t - 1, i] * 0.5 + sum(pad(z, 1: (1, 1))[c, i] * (iota(c) + 1), c)\n"
      "out y[i] = s[-1, i]",
      "i", {u}, 9);
}

TEST_CASE("The halo of a loop is as long as its steps reach") {
  const std::string text = "in u0 : f64[:]\nlet u[t < 7, i] = pad(u, 1: (2, 1))[t - 1, i] + "
                           "pad(u, 1: (2, 1))[t - 1, i + 3] from u0\nout y[i] = u[-1, i]";
  const auto of = [&](std::int64_t n) {
    return Halos(tests::kernel_of(text)).along("i", std::vector<Layout>{dense({n})})[0];
  };
  CHECK(of(1000).dim == 0);
  CHECK(of(1000).before == 14);
  CHECK(of(1000).after == 7);
  CHECK(of(5).before == 5); // all that there is
}

TEST_CASE("What has no halo says why") {
  const auto why = [](const std::string &text, const std::string &axis = "i") {
    const LoopSpec spec = tests::kernel_of(text);
    std::vector<Layout> layouts;
    const Kernel kernel = compile(spec);
    for (const InputInfo &input : kernel.inputs())
      layouts.push_back(dense(std::vector<std::int64_t>(input.axes.size(), 20)));
    try {
      Halos(spec).along(axis, layouts);
    } catch (const Error &error) {
      return std::string(error.code()) + " " + error.message();
    }
    return std::string("none");
  };
  const std::string u = "in u0 : f64[:]\nlet u[t < 3, i] = u[t - 1, i] * 0.5 from u0\n";
  CHECK(why(u + "out y[i] = u[-1, i]") == "none");
  CHECK(why(u + "out y[i] = u[-1, i]", "k").find("E0104") == 0);
  CHECK(why(u + "out y[i] = u[-1, i]; out s = max(u[-1, k], k)")
            .find("output 's' does not have it") != std::string::npos);
  CHECK(why(u + "out y[i] = u[-1, i] - max(u[-1, k], k)").find("all of 'u' is read at once") !=
        std::string::npos);
  CHECK(why(u + "out y[i] = u[-1, -i]").find("does not move position by position") !=
        std::string::npos);
  CHECK(why(u + "out y[i] = u[-1, 2*i]").find("does not move position by position") !=
        std::string::npos);
  CHECK(why(u + "out y[i] = u[-1, i] * iota(i)").find("numbers its positions") !=
        std::string::npos);
  CHECK(why(u + "out y[i] = scan(sum, u[-1, i], i)").find("scans by 'sum'") != std::string::npos);
  CHECK(why(u + "out y[i] = pad(u, 1: (1, 1), wrap)[-1, i]").find("wraps around") !=
        std::string::npos);
  CHECK(why("in u0 : f64[:]\nlet u[t < 3, i < 9] = u[t - 1, i] * 0.5 + u0[i + 0]\n"
            "out y[i] = u[-1, i]")
            .find("says how long it is") != std::string::npos);
  CHECK(
      why("in x : f64[i]\nlet s[i] = x + 0.5 * s[i - 1]\nout y[i] = s").find("goes step by step") !=
      std::string::npos);
  CHECK(why("in u0 : f64[:]\n"
            "let u[t < 9 until max(abs(u[t, i] - u[t - 1, i]), i) < 1e-3, i] = u[t - 1, i] / 2 "
            "from u0\n"
            "out y[i] = u[-1, i]")
            .find("all of 'u' is read at once") != std::string::npos);
  CHECK(why("in x : f64[i]; in y : f64[i]\nlet z[r] = concat(r, x[r], y[r])\n"
            "let s[t < 3, r] = s[t - 1, r] + z[r]\nout o[r] = s[-1, r]",
            "r")
            .find("joins arrays along it") != std::string::npos);
}

TEST_CASE("Folds of a part in another order than in the whole are refused") {
  const std::string text = "in x : f64[:, :, :]\n"
                           "let h[t < 2, p] = h[t - 1, p] + sum(x[u, p + 3*v, w], u, v < 2, w)\n"
                           "out y[p] = h[-1, p]";
  const Halos halos(tests::kernel_of(text));
  const std::vector<Layout> whole{dense({4, 30, 3})};
  CHECK(halos.along("p", whole)[0].dim == 1);
  halos.check(whole, std::vector<Layout>{dense({4, 12, 3})});
  CHECK(code_thrown_by([&] { halos.check(whole, std::vector<Layout>{dense({4, 6, 3})}); }) ==
        "E0060");
}

TEST_CASE("Stages say of what a let is made up") {
  const LoopSpec spec = tests::kernel_of(
      "in x : f64[n]; in y : f64[n]\nlet z[r] = concat(r, x[r], y[r], x[r])\nlet s[k, n] = "
      "stack(k, x, y)\n"
      "out a = z[i + 1] - z[i]; out b[2*i] = x[i]; out b[2*i + 1] = y[i]; out c[n] = s[0, n]");
  const Stages stages(spec);
  const auto parts = stages.parts(std::vector<Layout>{dense({4}), dense({4})});
  REQUIRE(parts.size() + 1 == stages.kernels().size());
  std::map<std::string, std::string> made;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string text = print(stages.kernels()[k]);
    std::string &places = made[text.substr(text.find("out ") + 4, 1)];
    for (const Stages::Part &part : parts[k]) {
      for (const Stages::PartDim &dim : part.dims)
        places += std::to_string(dim.first) + "+" + std::to_string(dim.times) + "*" +
                  std::to_string(dim.own) + ",";
      places += " ";
    }
  }
  CHECK(made["z"].find("0+1*0, 4+1*0, 8+1*0, ") == 0);
  CHECK(made["s"].find("0+1*-1,0+1*0, 1+1*-1,0+1*0, ") == 0);
  CHECK(made["b"].find("0+2*0, 1+2*0, ") == 0);
}

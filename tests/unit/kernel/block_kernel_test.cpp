// BlockKernel and Stages: blocks of outputs that read beyond the borders of blocks have the bits of
// the whole.
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

namespace {

// The parts of the inputs that are read there, as copies of their own.
struct Cut {
  Cut(const BlockKernel &kernel, const std::vector<Array> &inputs,
      const std::vector<BlockKernel::Interval> &parts) {
    const auto reads = kernel.reads(layouts_of(inputs), parts);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Array part = inputs[i];
      std::vector<std::int64_t> begin;
      for (std::size_t d = 0; d < reads[i].size(); ++d) {
        part = dense_copy(part_of(part, int(d), reads[i][d].begin, reads[i][d].end));
        begin.push_back(reads[i][d].begin);
      }
      arrays.push_back(part);
      begins.push_back(begin);
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) slices.push_back({arrays[i], begins[i]});
  }
  std::vector<Array> arrays;
  std::vector<std::vector<std::int64_t>> begins;
  std::vector<BlockKernel::Slice> slices;
};

// All blocks of so many positions along the axis, each against its part of one call.
void check_blocks(const std::string &text, const std::string &axis,
                  const std::vector<Array> &inputs, std::int64_t step) {
  INFO(text);
  const LoopSpec spec = tests::kernel_of(text);
  const Kernel whole = compile(spec);
  const Results wanted = call(whole, inputs);
  for (const Engine engine : {Engine::automatic, Engine::interpreter}) {
    const BlockKernel kernel(spec, {.engine = engine});
    REQUIRE(kernel.why_not(axis).empty());
    std::int64_t extent = 0;
    for (const auto &one : kernel.extents(layouts_of(inputs)))
      if (one.axis == axis) extent = one.extent;
    REQUIRE(extent > 0);
    for (std::int64_t begin = 0; begin < extent; begin += step) {
      const std::int64_t end = std::min(begin + step, extent);
      const std::vector<BlockKernel::Interval> parts{{axis, begin, end}};
      const Cut cut(kernel, inputs, parts);
      const Results made = kernel.run(layouts_of(inputs), parts, cut.slices);
      for (std::size_t o = 0; o < made.size(); ++o) {
        int dim = 0;
        while (whole.outputs()[o].axes[std::size_t(dim)] != axis) ++dim;
        CHECK(bytes(made[o]) == bytes(dense_copy(part_of(wanted[o], dim, begin, end))));
      }
    }
  }
}

} // namespace

TEST_CASE("Blocks of stencils have the bits of the whole") {
  for (const std::int64_t step : {1, 2, 7, 100}) {
    check_blocks("in x : f64[:]; out y = x[i + 1] - x[i]", "i", {numbers({50})}, step);
    check_blocks("in x : f64[:]; out y = x[-i] * iota(i) + extent(i); out z = x[i + 0]", "i",
                 {numbers({50})}, step);
    check_blocks("in x : f64[:]; in y : f64[:]; out z[i < 9] = x[3*i + 2] * y[i + 1]", "i",
                 {numbers({50}), numbers({20}, 2)}, step);
  }
}

TEST_CASE(
    "Blocks with borders have them at the ends of the whole, and sums the trees of the whole") {
  for (const std::string mode : {"zero", "edge", "reflect", "wrap", "2.5"})
    for (const std::string axis : {"p", "q"})
      check_blocks("in x : f64[:, :]; in w : f64[u, v]; out y[p, q] = sum(pad(x, 0: (1, 1), "
                   "1: (2, 0), " +
                       mode + ")[p + u, q + v] * w, u, v)",
                   axis, {numbers({20, 30}), numbers({3, 3}, 2)}, 4);
}

TEST_CASE("A block reads its halo and no more") {
  const BlockKernel k(parse("kernel k { in x : f64[:]; in t : f64[:, :]; in n : i64[:]; out y = "
                            "pad(x, 0: (1, 1), edge)[2*i + 2] * t[n[i], 3] }"));
  const std::vector<Layout> whole{dense({100}), dense({8, 5}), dense({50})};
  const auto reads = k.reads(whole, std::vector<BlockKernel::Interval>{{"i", 10, 20}});
  CHECK(reads[0][0].begin == 21);
  CHECK(reads[0][0].end == 40);
  CHECK(reads[1][0].end == 8); // any row
  CHECK(reads[1][1].begin == 3);
  CHECK(reads[1][1].end == 4);
  CHECK(reads[2][0].begin == 10);
  CHECK(reads[2][0].end == 20);
  const auto last = k.reads(whole, std::vector<BlockKernel::Interval>{{"i", 49, 50}});
  CHECK(last[0][0].begin == 99);
  CHECK(last[0][0].end == 100);
}

TEST_CASE("What has no blocks says why, and a slice that is too short is refused") {
  const auto why = [](const std::string &body, const std::string &axis) {
    return BlockKernel(tests::kernel_of("in x : f64[:]; " + body)).why_not(axis);
  };
  CHECK(why("out s = sum(x[i + 1], i)", "i") == "it folds by 'sum' along it");
  CHECK(why("out c = scan(sum, x[i + 1], i)", "i") == "it scans by 'sum' along it");
  CHECK(why("out y = x[i + 1]; out s[] = sum(x[k], k)", "i") == "output 's' does not have it");
  CHECK(code_thrown_by([&] { why("out y = x[i + 1]", "j"); }) == "E0104");
  CHECK(code_thrown_by([&] { why("let d = x[i + 1]; out y = d[i + 1]", "i"); }) == "E0060");

  const BlockKernel k(tests::kernel_of("in x : f64[:]; out y = x[i + 1] - x[i]"));
  const std::vector<Layout> whole{dense({10})};
  const Array part = numbers({3});
  const auto run = [&](std::int64_t begin, std::int64_t end, std::int64_t at) {
    return code_thrown_by([&] {
      k.run(whole, std::vector<BlockKernel::Interval>{{"i", begin, end}},
            std::vector<BlockKernel::Slice>{{part, {at}}});
    });
  };
  CHECK(run(4, 6, 4) == "none");
  CHECK(run(4, 7, 4) == "E0102");
  CHECK(run(4, 6, 5) == "E0102");
  CHECK(run(8, 11, 8) == "E0150");
  const BlockKernel sums(tests::kernel_of("in x : f64[:]; out y = sum(x[i + u], u < 3)"));
  CHECK(code_thrown_by([&] {
          sums.run(whole, std::vector<BlockKernel::Interval>{{"i", 4, 5}},
                   std::vector<BlockKernel::Slice>{{part, {4}}});
        }) == "E0150");
}

TEST_CASE(
    "Sums of integers at positions add up, where no position follows from where a block begins") {
  const auto adds_up = [](const std::string &value, const std::string &axis) {
    return BlockKernel(tests::kernel_of("in bins : i64[:, :]; in real : f64[:]; in k : i64[n, t]; "
                                        "in w : i64[n, c]; in v : f64[:]; out h = " +
                                        value))
        .adds_up(axis);
  };
  CHECK(adds_up("sum(w, like=bins[k[n, t], c])", "n"));
  CHECK(adds_up("sum(w, like=bins[k[n, t], c])", "t"));
  CHECK(!adds_up("sum(w, like=bins[k[n, t], c])", "c"));
  CHECK(!adds_up("sum(w, like=bins[wrap(k[n, t] + n), c])", "n"));
  CHECK(!adds_up("sum(w * iota(n), like=bins[k[n, t], c])", "n"));
  CHECK(!adds_up("sum(w, like=bins[k[n, t], c]) + 1", "n"));
  CHECK(!adds_up("sum(v[n], like=real[k[n, t]])", "n"));
  CHECK(!adds_up("w * 2", "n"));
}

TEST_CASE("Stages are a kernel for each let that is an array, and the one that reads them") {
  const LoopSpec spec = parse("kernel k { in x : f64[:]; let d = x[i + 1] - x[i]; let e = d[i + 1] "
                              "* d[i]; out y = e[i + 1] - d[i] }");
  const Array x = numbers({20});
  const Stages stages(spec);
  REQUIRE(stages.kernels().size() == 3);
  std::map<std::string, Array> values{{"x", x}};
  for (const LoopSpec &one : stages.kernels()) {
    const Kernel kernel = compile(one);
    std::vector<Array> inputs;
    for (const InputInfo &input : kernel.inputs()) inputs.push_back(values.at(input.name));
    const Results made = call(kernel, inputs);
    values[kernel.outputs()[0].name] = made[0];
  }
  CHECK(bytes(values.at("y")) == bytes(call(compile(spec), {x})[0]));
  const std::vector<Layout> lets = stages.lets(std::vector<Layout>{dense({20})});
  REQUIRE(lets.size() == 2);
  CHECK(lets[0].extents[0] == 19);
  CHECK(lets[1].extents[0] == 18);
  CHECK(Stages(tests::kernel_of("in x : f64[:]; out y = x[i + 1]")).kernels().size() == 1);
  CHECK(code_thrown_by([] {
          Stages(parse("kernel k { in x : f64[:]; let h[t] = 0.5 * h[t - 1] + x[t] from 0; out y = "
                       "h[t + 1] }"));
        }) == "E0060");
}

TEST_CASE("Dims without a label that all reads walk along one axis are cut by it") {
  const Kernel k = compile(tests::kernel_of("in x : f64[:]; out s = sum(x[i] * x[i], i)"));
  CHECK(k.why_no_map("i") == "it folds by 'sum' along it");
  const Array x = numbers({9000});
  std::vector<Partial> blocks;
  for (const auto &[begin, end] : {std::pair(0, 4096), std::pair(4096, 9000)}) {
    const Array part = dense_copy(part_of(x, 0, begin, end));
    blocks.push_back(k.partial("i", begin, std::vector<NamedView>{{"x", part}}));
  }
  CHECK(bytes(k.combine(blocks, std::vector<NamedView>())[0]) == bytes(call(k, {x})[0]));
}

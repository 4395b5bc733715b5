// Which phases go through an input together, and that no bit depends on it.
#include "analysis/analyse.hpp"
#include "plan/interleave.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

namespace broadloom {
namespace {

constexpr support::Machine small{.own_caches = 64 << 10, .last_level_cache = 4 << 20, .threads = 2};

plan::Plan plan_of(const std::string &body, const std::vector<Layout> &inputs,
                   const support::Machine &machine = small) {
  const spec::TypedSpec typed = analysis::analyse(parse("kernel k {\n" + body + "\n}").data());
  const std::vector<bool> wanted(typed.outputs.size(), true);
  const plan::Resolved resolved = plan::resolve(typed, inputs, wanted);
  std::vector<Layout> outputs;
  for (const auto &shape : resolved.output_shapes) outputs.push_back(contiguous_layout(shape));
  return plan::make_plan(typed, resolved, inputs, outputs, wanted, machine);
}

// "0 1: 64" for phases 0 and 1 in 64 blocks.
std::string interleaved(const plan::Plan &plan) {
  std::string text;
  for (const plan::Interleaving &together : plan.binding.interleavings) {
    if (!text.empty()) text += ", ";
    for (const std::size_t p : together.phases)
      text += (p == together.phases.front() ? "" : " ") + std::to_string(p);
    text += ": " + std::to_string(together.blocks);
  }
  return text;
}

Layout shaped(std::vector<std::int64_t> shape) { return contiguous_layout(shape); }

const std::string ranks = "in x : f32[:, :, :]; out z = x * 2; out r[0, 1] = reduce(sum) x;\n"
                          "out q[0] = reduce(sum) x; out s[] = reduce(sum) x";

} // namespace

TEST_CASE("Folds to several ranks go through their input together") {
  const plan::Plan plan = plan_of(ranks, {shaped({256, 64, 64})}); // 4 MB
  CHECK(interleaved(plan) == "0 1: 32");
  bool told = false;
  for (const Decision &d : plan.why) told = told || d.code == "read-in-blocks";
  CHECK(told);
  // Half of a core's caches for each block, and blocks for all threads.
  CHECK(interleaved(plan_of(ranks, {shaped({256, 64, 64})},
                            {.own_caches = 2 << 20, .last_level_cache = 64 << 20, .threads = 2})) ==
        "0 1: 16");
}

TEST_CASE("What joins the chunks of one phase waits for those that go through the input with it") {
  const plan::Plan plan =
      plan_of("in x : f32[i, j]; out r = mean(x, j); out c = max(x, i); out s = sum(x)",
              {shaped({4096, 1024})}, {.own_caches = 256 << 10, .threads = 2});
  CAPTURE(loop::print(plan.program));
  CHECK(plan.program.phases.size() ==
        4); // rows and columns, the join of columns, the total, its join
  CHECK(interleaved(plan) == "0 2: 32");
}

TEST_CASE("Phases run one after the other where blocks would gain nothing") {
  const Layout x = shaped({256, 64, 64});
  CHECK(interleaved(plan_of(ranks, {x}, {.own_caches = 8 << 20})).empty()); // in the caches anyway
  CHECK(interleaved(plan_of(ranks, {shaped({3, 1000, 1000})})).empty());    // three blocks only
  // The second needs what the first gives.
  CHECK(
      interleaved(plan_of("in x : f32[i, j]; out y = x / sum(x)", {shaped({1000, 1000})})).empty());
  // Two inputs, each read once.
  CHECK(interleaved(plan_of("in x : f32[i, j]; in y : f32[i, j]; out r = sum(x, j); out s = sum(y)",
                            {shaped({1000, 1000}), shaped({1000, 1000})}))
            .empty());
  // One walks x by its columns: a block of them is spread over all of x.
  Layout across = shaped({1000, 1000});
  across.strides = {1, 1000};
  CHECK(interleaved(plan_of("in y : f32[i, j]; in x : f32[i, j]; out z = y * x + 1; out s = sum(x)",
                            {shaped({1000, 1000}), across}))
            .empty());
  // The schedule says how the axis is to be shared out.
  CHECK(interleaved(
            plan_of("in x : f32[i, j]; out r = sum(x, j); out s = sum(x); schedule { serial i }",
                    {shaped({1000, 1000})}))
            .empty());
}

TEST_CASE("Interleaved or not, on any number of threads: every element is written once, to the "
          "same bits") {
  const auto numbers = [](const std::vector<std::int64_t> &shape, double factor) {
    const Array array(f32, shape);
    for (std::int64_t k = 0; k < array.size(); ++k)
      array.data<float>()[k] = float(factor * (double(k * 7919 % 10007) / 700 + 0.1));
    return array;
  };
  for (const std::string &body :
       {ranks + "; out c[2] = reduce(max) x; in w : f32[1]",
        std::string("in x : f32[i, j, k]; in w : f32[k]; out s = sum(x); out y += x * w")}) {
    const LoopSpec spec = parse("kernel k { " + body + " }");
    const Kernel interpreter = compile(spec, {.engine = Engine::interpreter});
    for (const std::vector<std::int64_t> &shape :
         std::vector<std::vector<std::int64_t>>{{67, 100, 101}, {1000, 31, 33}, {4099, 2, 300}}) {
      const Array w = numbers({body.starts_with("in x : f32[i") ? shape[2] : 1}, 0.5);
      const Array x = numbers(shape, 1), other = numbers(shape, -1);
      const std::vector<AnyView> inputs{x, w}, others{other, w};
      std::vector<Array> outputs;
      for (const Signature &of : interpreter.infer(inputs)) outputs.emplace_back(f32, of.shape);
      const std::vector<AnyView> views(outputs.begin(), outputs.end());
      std::vector<std::vector<char>> expected;
      for (const int threads : {0, 1, 2, 3, 7}) {
        const Kernel kernel = compile(
            spec, {.threads = threads, .engine = threads == 0 ? Engine::interpreter : Engine::jit});
        interpreter.run(others, views); // leaves other results in what is between phases
        for (const Array &output : outputs)
          for (std::int64_t k = 0; k < output.size(); ++k) output.data<float>()[k] = 7;
        kernel.run(inputs, views);
        std::vector<std::vector<char>> bytes;
        for (const Array &output : outputs) {
          const auto *data = static_cast<const char *>(output.raw());
          bytes.emplace_back(data, data + std::size_t(output.size()) * size_of(output.dtype()));
        }
        if (expected.empty()) expected = bytes;
        CAPTURE(threads);
        CHECK((bytes == expected));
      }
    }
  }
}

} // namespace broadloom

// Forward and backward passes against the least traffic that they need.
//
// Each row alternates rounds of ours with a loop that moves the same bytes and computes next to
// nothing (the better of plain and streaming stores): `ratio` is ours / theirs. A forward pass
// reads x and writes y; a backward pass reads x and the cotangent of y and writes that of x, and
// whatever it needs of the forward pass it computes again. `forward` of a backward row is its time
// over that of the forward kernel, also in alternating rounds.
#include "bench/hand_written.hpp"
#include "bench/paired.hpp"

#include <broadloom/broadloom.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bl = broadloom;

namespace {

using Shape = std::vector<std::int64_t>;

struct Case {
  std::string name, text;
  std::vector<Shape> inputs; // all f32; x is the first
  std::vector<std::string> wrt;
  Shape output;
};

bl::Array filled(const Shape &shape) {
  bl::Array array(bl::f32, shape);
  // Neither sorted nor periodic in a row: maxima move about.
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<float>()[k] = float(k * 2654435761u % 1000) * 0.002f - 1;
  return array;
}

// A kernel with memory of its own.
struct Ready {
  std::vector<bl::Array> outputs;
  bl::BoundCall call;
};

Ready ready(const bl::LoopSpec &spec, const std::vector<bl::Array> &inputs) {
  const bl::Kernel kernel = bl::compile(spec);
  const std::vector<bl::AnyView> views(inputs.begin(), inputs.end());
  std::vector<bl::Array> outputs;
  for (const bl::Signature &output : kernel.infer(views))
    outputs.emplace_back(output.dtype, output.shape);
  const std::vector<bl::AnyView> results(outputs.begin(), outputs.end());
  bl::BoundCall call = kernel.bind(views, results);
  return {std::move(outputs), std::move(call)};
}

bench::Paired better(const bench::Paired &a, const bench::Paired &b) {
  return a.ratio > b.ratio ? a : b;
}

constexpr int rounds = 21;

void run(benchmark::State &state, const Case &c, bool backward) {
  std::vector<bl::Array> inputs;
  for (const Shape &shape : c.inputs) inputs.push_back(filled(shape));
  const bl::LoopSpec spec = bl::parse(c.text);
  const Ready forward = ready(spec, inputs);
  if (backward) inputs.push_back(filled(c.output)); // the cotangent
  const Ready ours = backward ? ready(bl::gradient(spec, c.wrt), inputs) : forward;

  const std::int64_t n =
      backward ? std::min(inputs[0].size(), inputs.back().size()) : inputs[0].size();
  const bl::Array z = filled(c.inputs[0]);
  const auto probe = [&](bool stream) {
    const float *x = inputs[0].data<float>();
    if (backward)
      bench::read_read_write_by_hand(x, inputs.back().data<float>(), z.data<float>(), n, stream);
    else
      bench::read_write_by_hand(x, z.data<float>(), n, stream);
  };
  for (auto _ : state) {
    const bench::Paired paired =
        better(bench::run_paired(
                   rounds, 1, [&] { ours.call(); }, [&] { probe(false); }),
               bench::run_paired(rounds, 1, [&] { ours.call(); }, [&] { probe(true); }));
    state.SetIterationTime(paired.ours);
    state.counters["hand_ms"] = paired.theirs * 1e3;
    state.counters["ratio"] = paired.ratio;
    state.counters["GBps"] = (backward ? 12.0 : 8.0) * double(n) / paired.ours * 1e-9;
    if (backward)
      state.counters["forward"] =
          bench::run_paired(rounds, 1, [&] { ours.call(); }, [&] { forward.call(); }).ratio;
  }
}

const std::vector<Case> cases = {
    {"broadcast x*row",
     "kernel k { in x : f32[:, :, :]; in row : f32[1, :, 1]; out y = x * row }",
     {{64, 256, 1024}, {1, 256, 1}},
     {"x", "row"},
     {64, 256, 1024}},
    {"softmax",
     "kernel k { in x : f32[i, j]; let e = exp(x - max(x, j)); out y = e / sum(e, j) }",
     {{4096, 1024}},
     {"x"},
     {4096, 1024}},
    {"layernorm",
     "kernel k { in x : f32[i, j]; in scale : f32[j]; in shift : f32[j]\n"
     "out y = (x - mean(x, j)) / sqrt(var(x, j) + 1e-5) * scale + shift }",
     {{4096, 1024}, {1024}, {1024}},
     {"x", "scale", "shift"},
     {4096, 1024}},
    {"chain tanh(x*w+b)*s+x",
     "kernel k { in x : f32[i, j]; in w : f32[j]; in b : f32[j]; in s : f32[j]\n"
     "out y = tanh(x * w + b) * s + x }",
     {{4096, 1024}, {1024}, {1024}, {1024}},
     {"x", "w", "b", "s"},
     {4096, 1024}},
    {"W2 exp(-x*x)*sin(y)+sqrt(abs(z))",
     "kernel k { in x : f32[i]; in y : f32[i]; in z : f32[i]\n"
     "out o = exp(-x * x) * sin(y) + sqrt(abs(z)) }",
     {{1 << 22}, {1 << 22}, {1 << 22}},
     {"x", "y", "z"},
     {1 << 22}},
    {"five points, padded",
     "kernel k { in x : f32[i, j]\n"
     "let p = pad(x, i: (1, 1), j: (1, 1))\n"
     "out y[i, j] = p[i, j + 1] + p[i + 2, j + 1] + p[i + 1, j] + p[i + 1, j + 2] - 4 * p[i + 1, j "
     "+ 1] }",
     {{2048, 2048}},
     {"x"},
     {2048, 2048}},
    {"convolution 3x3 in steps of 2",
     "kernel k { in x : f32[n, h, w, c]; in k : f32[u, v, c, o]\n"
     "out y[n, i, j, o] = sum(x[n, 2*i + u, 2*j + v, c] * k[u, v, c, o], u, v, c) }",
     {{8, 57, 57, 64}, {3, 3, 64, 64}},
     {"x"},
     {8, 28, 28, 64}},
};

[[maybe_unused]] const bool registered = [] {
  for (const Case &c : cases)
    for (const bool backward : {false, true})
      benchmark::RegisterBenchmark(
          (c.name + (backward ? "/backward" : "/forward")).c_str(),
          [&c, backward](benchmark::State &state) { run(state, c, backward); })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
  return true;
}();

} // namespace

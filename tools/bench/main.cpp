// broadloom-bench: kernels against hand-written loops in the same run.
//
// Each row alternates rounds of ours and theirs (paired.hpp). Columns: Time is ours; `hand_ms` the best
// hand-written loop; `ratio` ours / theirs, below 1 is faster; `GBps` ours, in bytes that must move.
#include "bench/hand_written.hpp"
#include "bench/paired.hpp"

#include <broadloom/broadloom.hpp>

#include <benchmark/benchmark.h>

#include <string>

namespace bl = broadloom;

namespace {

bl::Array filled(std::int64_t n, float start) {
  bl::Array array(bl::f32, {n});
  for (std::int64_t k = 0; k < n; ++k) array.data<float>()[k] = start + float(k % 97) * 0.01f;
  return array;
}

void report(benchmark::State &state, const bench::Paired &paired, double bytes) {
  state.SetIterationTime(paired.ours);
  state.counters["hand_ms"] = paired.theirs * 1e3;
  state.counters["ratio"] = paired.ratio;
  state.counters["GBps"] = bytes / paired.ours * 1e-9;
}

// a * b + c on f32: the plainest kernel, bound by memory.
void triad(benchmark::State &state) {
  const std::int64_t n = state.range(0);
  const bl::Array a = filled(n, 1), b = filled(n, 2), c = filled(n, 3), z = filled(n, 0),
                  w = filled(n, 0);
  const bl::Kernel kernel = bl::compile(
      bl::parse("kernel k { in a : f32[:]\n in b : f32[:]\n in c : f32[:]\n out z = a * b + c }"));
  const auto ours = kernel.bind({a, b, c}, {z});
  const int repeat = int(std::max<std::int64_t>(1, (1 << 20) / n)), rounds = 41;
  const auto hand = [&](bool stream) {
    bench::triad_by_hand(a.data<float>(), b.data<float>(), c.data<float>(), w.data<float>(), n,
                         stream);
  };
  for (auto _ : state) {
    // The better of the two ways to write it by hand is the yardstick.
    const bench::Paired plain =
        bench::run_paired(rounds, repeat, [&] { ours(); }, [&] { hand(false); });
    const bench::Paired stream =
        bench::run_paired(rounds, repeat, [&] { ours(); }, [&] { hand(true); });
    report(state, plain.ratio > stream.ratio ? plain : stream, 16.0 * double(n));
  }
}
BENCHMARK(triad)
    ->Name("a*b+c f32")
    ->Arg(1 << 24)
    ->Arg(1 << 16)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void total(benchmark::State &state) {
  const std::int64_t n = state.range(0);
  const bl::Array a = filled(n, 1), s(bl::f64, {});
  const bl::Kernel kernel =
      bl::compile(bl::parse("kernel k { in a : f32[:]\n out s : f64 = sum(a) }"));
  const auto ours = kernel.bind({a}, {s});
  double keep = 0;
  for (auto _ : state)
    report(state,
           bench::run_paired(
               41, 1, [&] { ours(); }, [&] { keep += bench::sum_by_hand(a.data<float>(), n); }),
           4.0 * double(n));
  benchmark::DoNotOptimize(keep);
}
BENCHMARK(total)->Name("sum f32")->Arg(1 << 24)->UseManualTime()->Iterations(1)->Unit(
    benchmark::kMillisecond);

// The cost of a call: 16 elements, the same layout again and again.
void small_call(benchmark::State &state) {
  const bl::Array a = filled(16, 1), b = filled(16, 2), c = filled(16, 3), z = filled(16, 0);
  const bl::Kernel kernel = bl::compile(
      bl::parse("kernel k { in a : f32[:]\n in b : f32[:]\n in c : f32[:]\n out z = a * b + c }"));
  const bl::AnyView inputs[] = {a, b, c}, outputs[] = {z};
  kernel.run(inputs, outputs);
  for (auto _ : state) kernel.run(inputs, outputs);
}
BENCHMARK(small_call)->Name("call on 16 elements/run");

void small_bound_call(benchmark::State &state) {
  const bl::Array a = filled(16, 1), b = filled(16, 2), c = filled(16, 3), z = filled(16, 0);
  const bl::Kernel kernel = bl::compile(
      bl::parse("kernel k { in a : f32[:]\n in b : f32[:]\n in c : f32[:]\n out z = a * b + c }"));
  const auto call = kernel.bind({a, b, c}, {z});
  for (auto _ : state) call();
}
BENCHMARK(small_bound_call)->Name("call on 16 elements/bind");

// From a parsed spec to the first result. Every round compiles a kernel that no cache knows.
void first_call(benchmark::State &state, const std::string &expression) {
  const bl::Array x = filled(1000, 1), z = filled(1000, 0);
  const bl::AnyView inputs[] = {x}, outputs[] = {z};
  static int serial = 0;
  for (auto _ : state) {
    const bl::LoopSpec spec = bl::parse("kernel k { in x : f32[:]\n out z = " + expression + " + " +
                                        std::to_string(++serial) + " }");
    const auto start = std::chrono::steady_clock::now();
    bl::compile(spec).run(inputs, outputs);
    state.SetIterationTime(bench::seconds_since(start));
  }
}
BENCHMARK_CAPTURE(first_call, map, std::string("x * 2"))
    ->Name("first call/x*2+k")
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(first_call, exp, std::string("exp(x)"))
    ->Name("first call/exp(x)+k")
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(first_call, softmax, std::string("exp(x - max(x)) / sum(exp(x - max(x)))"))
    ->Name("first call/softmax")
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();

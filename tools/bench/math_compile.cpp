// What functions cost when a kernel is compiled: linking their bitcode and inlining it.
//
//   build/tools/broadloom-bench --benchmark_filter='compile/'
//
// Kernels of 0, 1, 4 and 8 distinct functions of f32, each with a + around, on one phase. Columns
// in ms, the least of many compilations: `link` the bitcode, `optimise` with the inliner,
// `codegen`, `total`; `math` is what linking and optimising take more than in the kernel without
// functions, which is promised to stay below `allowed`: 0.6 ms and 0.5 for each function.
#include "analysis/analyse.hpp"
#include "jit/engine/engine.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bl = broadloom;

namespace {

const char *const functions[] = {"exp", "log", "sin", "tanh", "sigmoid", "cos", "silu", "softplus"};

bl::loop::Program program_of(int count) {
  std::string text = "kernel k { in x : f32[:]; out z = x";
  for (int k = 0; k < count; ++k) text += std::string(" + ") + functions[k] + "(x)";
  const bl::spec::TypedSpec typed = bl::analysis::analyse(bl::parse(text + " }").data());
  const std::int64_t shape[] = {1000};
  const std::vector<bl::Layout> layouts{bl::contiguous_layout(shape)};
  const std::vector<bool> wanted{true};
  const bl::plan::Resolved resolved = bl::plan::resolve(typed, layouts, wanted);
  return bl::plan::make_plan(typed, resolved, layouts, layouts, wanted, {}).program;
}

struct Least {
  double link = 1e9, optimise = 1e9, codegen = 1e9, total = 1e9;
};
Least least_of(int count, int rounds) {
  const bl::loop::Program program = program_of(count);
  const bl::jit::Target target = bl::jit::find_target("");
  Least least;
  for (int k = 0; k < rounds; ++k) {
    const bl::jit::CompileTimes times = bl::jit::compile_native(program, target)->times();
    least.link = std::min(least.link, times.link_math);
    least.optimise = std::min(least.optimise, times.optimise);
    least.codegen = std::min(least.codegen, times.codegen);
    least.total = std::min(least.total, times.total());
  }
  return least;
}

void compile_functions(benchmark::State &state) {
  const int count = int(state.range(0));
  for (auto _ : state) {
    const Least plain = least_of(0, 30), least = least_of(count, 30);
    state.SetIterationTime(least.total * 1e-3);
    state.counters["link"] = least.link;
    state.counters["optimise"] = least.optimise;
    state.counters["codegen"] = least.codegen;
    state.counters["math"] = least.link + least.optimise - plain.link - plain.optimise;
    state.counters["allowed"] = count == 0 ? 0 : 0.6 + 0.5 * count;
  }
}
BENCHMARK(compile_functions)
    ->Name("compile/functions")
    ->Arg(0)
    ->Arg(1)
    ->Arg(4)
    ->Arg(8)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

} // namespace

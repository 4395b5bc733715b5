// Every math function over 64K elements, on one thread, against SLEEF and libmvec.
//
//   build/tools/broadloom-bench --benchmark_filter=math
//
// Ours is a kernel `out z = exp(x)`; the peers are called on one register after another. Columns,
// in ns per element, the least of many rounds that take turns: `ns` ours, `sleef`, `libmvec`;
// `to_sleef` is the median of ours / SLEEF's, round by round: below 1 is faster. Another mode than
// high has a row where the function has a form of its own for it.
#include "bench/math_peers.hpp"
#include "bench/paired.hpp"

#include "jit/math/array_table.hpp"

#include <broadloom/broadloom.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace bl = broadloom;

namespace {

constexpr std::int64_t elements = 1 << 16;

// Where the function does its usual work; the others have -10 .. 10.
struct Range {
  double low, high;
};
Range range_of(std::string_view name) {
  static const std::map<std::string_view, Range> ranges = {
      {"log", {1e-3, 100}},   {"log2", {1e-3, 100}},  {"log10", {1e-3, 100}}, {"log1p", {-0.9, 10}},
      {"rsqrt", {1e-3, 100}}, {"pow", {0.1, 10}},     {"asin", {-1, 1}},      {"acos", {-1, 1}},
      {"atanh", {-1, 1}},     {"acosh", {1, 100}},    {"erf", {-4, 4}},       {"erfc", {-4, 9}},
      {"lgamma", {0.1, 30}},  {"digamma", {0.1, 30}}, {"cbrt", {-100, 100}},
  };
  const auto found = ranges.find(name);
  return found == ranges.end() ? Range{-10, 10} : found->second;
}

// Spread over the range in no order.
template <class T> bl::Array spread(Range range, unsigned factor) {
  bl::Array array(bl::dtype_of<T>(), {elements});
  for (std::int64_t k = 0; k < elements; ++k) {
    const double part = double((std::uint32_t(k) * factor) >> 8) * 0x1p-24;
    array.data<T>()[k] = T(range.low + (range.high - range.low) * part);
  }
  return array;
}

template <class T> void math(benchmark::State &state, const bl::jit::ArrayForm<T> &form) {
  const std::string type = sizeof(T) == 4 ? "f32" : "f64", name(form.name);
  const std::string call = name == "pow" ? "x ^ y" : name + (form.arity == 2 ? "(x, y)" : "(x)");
  const bl::Array x = spread<T>(range_of(name), 2654435761u), y = spread<T>({-4, 4}, 2246822519u),
                  z = spread<T>({0, 0}, 1), w = spread<T>({0, 0}, 1);
  const bl::Kernel kernel = bl::compile(
      bl::parse("kernel k { set accuracy = " + std::string(bl::jit::word_for(form.accuracy)) +
                "; in x : " + type + "[:]" + (form.arity == 2 ? "; in y : " + type + "[:]" : "") +
                "; out z = " + call + " }"),
      {.threads = 1});
  const bl::BoundCall ours = form.arity == 2 ? kernel.bind({x, y}, {z}) : kernel.bind({x}, {z});
  const auto sleef = bench::find_peer<T>(bench::Library::Sleef, name, form.arity);
  const auto libmvec = bench::find_peer<T>(bench::Library::Libmvec, name, form.arity);

  const auto time = [](const auto &run) {
    constexpr int repeat = 4;
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < repeat; ++k) run();
    return bench::seconds_since(start) / repeat / elements * 1e9;
  };
  const auto peer = [&](const bench::OverArrays<T> &function) {
    return time([&] { function(elements, x.data<T>(), y.data<T>(), w.data<T>()); });
  };
  constexpr int rounds = 61;
  for (auto _ : state) {
    double best = 1e9, best_sleef = 1e9, best_libmvec = 1e9;
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
      const double now = time(ours);
      best = std::min(best, now);
      if (sleef) {
        const double theirs = peer(sleef);
        best_sleef = std::min(best_sleef, theirs);
        ratios.push_back(now / theirs);
      }
      if (libmvec) best_libmvec = std::min(best_libmvec, peer(libmvec));
    }
    state.SetIterationTime(best * 1e-9 * elements);
    state.counters["ns"] = best;
    if (sleef) {
      state.counters["sleef"] = best_sleef;
      state.counters["to_sleef"] = bench::median(ratios);
    }
    if (libmvec) state.counters["libmvec"] = best_libmvec;
  }
}

template <class T> void add_all() {
  for (const bl::jit::ArrayForm<T> &form : bl::jit::array_forms<T>()) {
    const std::string name = "math " + std::string(form.name) +
                             (sizeof(T) == 4 ? " f32 " : " f64 ") +
                             std::string(bl::jit::word_for(form.accuracy));
    benchmark::RegisterBenchmark(name.c_str(), [&form](benchmark::State &s) { math<T>(s, form); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  }
}

const bool added = [] {
  add_all<float>();
  add_all<double>();
  return true;
}();

} // namespace

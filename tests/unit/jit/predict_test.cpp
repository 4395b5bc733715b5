// Predicted times: that there are some, and what they follow from. None is held against a clock.
#include "jit/show/predict.hpp"

#include "jit/cache/disk.hpp"
#include "support/rates.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace broadloom {
namespace {

Prediction of(const Kernel &kernel, std::vector<std::int64_t> shape) {
  std::vector<AnyView> views;
  for (const InputInfo &input : kernel.inputs()) {
    Array made(input.dtype, {shape.begin(), shape.begin() + input.rank()});
    views.push_back(made);
    views.back().data = nullptr; // only looked at
  }
  kernel.prepare(views);
  return kernel.predict();
}

TEST_CASE("a call has a predicted time, which grows with its operands and is made of those of its "
          "phases") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[i, j]\n"
                                      "out r[i] = reduce(sum) exp(x); out s[] = reduce(sum) x }"));
  const Prediction small = of(kernel, {64, 64}), large = of(kernel, {1024, 1024});
  CHECK(small.seconds > 0);
  CHECK(large.seconds > 4 * small.seconds);
  double sum = 0;
  for (const double seconds : large.phases) sum += seconds;
  CHECK(!large.phases.empty());
  CHECK(sum <= large.seconds);
}

TEST_CASE("more work on the same operands is predicted to take longer") {
  const Kernel light = compile(parse("kernel k { in x : f32[:]; out y = x + 1 }"));
  const Kernel heavy = compile(parse("kernel k { in x : f32[:]; out y = lgamma(lgamma(x)) }"));
  CHECK(of(heavy, {4096}).seconds > 2 * of(light, {4096}).seconds);
}

TEST_CASE("windows of one array are predicted to read it once") {
  const Kernel map = compile(parse("kernel k { in x : f32[:, :]; out y[i, j] = x[i, j] + 1 }"));
  const Kernel windows = compile(parse("kernel k { in x : f32[:, :]\n"
                                       "out y[i, j] = x[i, j] + x[i + 1, j] + x[i, j + 1] + x[i + "
                                       "2, j] + x[i, j + 2] + x[i + 1, j + 2] }"));
  const std::vector<std::int64_t> large{4096, 4096};
  CHECK(of(windows, large).seconds < 2 * of(map, large).seconds);
}

TEST_CASE("a loop over time is predicted to take as long as all its steps") {
  const auto heat = [](int steps) {
    return compile(parse("kernel k { in u0 : f64[i]\n let u[t < " + std::to_string(steps) +
                         ", i] = (u[t - 1, i] + pad(u, 1: (1, 1), edge)[t - 1, i]) / 2 from u0\n"
                         "out y[i] = u[-1, i] }"));
  };
  const double few = of(heat(10), {100000}).seconds, many = of(heat(1000), {100000}).seconds;
  CHECK(many > 50 * few);
  CHECK(many < 200 * few);
}

TEST_CASE("a copy without a nest has a predicted time and no phases") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i, j]; in p : i64[m]; out y[m, j] = x[p[m], j] }"));
  const Prediction small = of(kernel, {256, 256}), large = of(kernel, {2048, 2048});
  CHECK(small.seconds > 0);
  CHECK(large.seconds > 4 * small.seconds);
  CHECK(large.phases.empty());
}

TEST_CASE("a let whose rows stay in the caches is predicted to cost less than two kernels") {
  const std::string rows = "(x[i, j] + x[i, j + 1] + x[i, j + 2])";
  const std::string columns = "(h[i, j] + h[i + 1, j] + h[i + 2, j])";
  const Kernel both = compile(parse("kernel k { in x : f32[:, :]\n let h[i, j] = " + rows +
                                    "\n out y[i, j] = " + columns + " }"));
  const Kernel first = compile(parse("kernel k { in x : f32[:, :]; out y[i, j] = " + rows + " }"));
  const Kernel second =
      compile(parse("kernel k { in h : f32[:, :]; out y[i, j] = " + columns + " }"));
  const std::vector<std::int64_t> shape{4096, 4096};
  CHECK(of(both, shape).seconds < 0.9 * (of(first, shape).seconds + of(second, shape).seconds));
}

TEST_CASE("a kernel without native code has no predicted time") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[:]; out y = x + 1 }"), {.engine = Engine::interpreter});
  CHECK_THROWS_AS(kernel.predict(), CompileError);
}

TEST_CASE("why as JSON ends with a predicted time for each phase") {
  const Kernel kernel = compile(parse("kernel k { in x : f32[:]; out y = x + 1 }"));
  ShowFormat format;
  format.json = true;
  const std::string text = kernel.show(Stage::why, format);
  CHECK(text.find("\"code\":\"predicted-time\",\"subject\":\"phase 0\"") != text.npos);
  CHECK(kernel.show(Stage::why).find("predicted") == std::string::npos);
}

} // namespace
} // namespace broadloom

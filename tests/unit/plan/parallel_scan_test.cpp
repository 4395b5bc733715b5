// Scans that run in parallel, block by block: the same bits for any number of threads, and what a
// cancelled one leaves.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace broadloom {
namespace {

constexpr std::int64_t many = 70 * 4096 + 21;

std::vector<float> some_values() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(many);
  for (float &value : x) value = normal(random);
  return x;
}

std::vector<char> bytes_of(const std::string &expression, const std::vector<float> &x,
                           const Options &options) {
  const Kernel kernel =
      compile(parse("kernel k {\n in x : f32[i]\n out z = " + expression + "\n}"), options);
  const View<const float> view(x.data(), {std::int64_t(x.size())});
  const Results results = kernel({{"x", view}});
  const Array &z = results["z"];
  const auto *data = static_cast<const char *>(z.raw());
  return {data, data + z.size() * std::int64_t(size_of(z.dtype()))};
}

} // namespace

TEST_CASE("a parallel scan has the bits of the interpreter for any number of threads") {
  const std::vector<float> x = some_values();
  for (const char *expression :
       {"scan(sum, x, i)", "scan(sum, x, i, reverse, exclusive, init=3)",
        "scan(prod, 1 + x / 1000, i, exclusive)", "scan(argmax, x, i, reverse, state=i)",
        "scan(sum, exp(x), i) / sum(x)", "scan(sum, x, i) - scan(sum, x * x, i, reverse)",
        "scan(sum, scan(sum, x, i), i)", "scan(var, x, i)"}) {
    INFO(expression);
    Options told;
    told.engine = Engine::interpreter;
    const std::vector<char> expected = bytes_of(expression, x, told);
    for (const int threads : {1, 2, 3}) {
      Options options;
      options.threads = threads;
      CHECK(bytes_of(expression, x, options) == expected);
    }
  }
}

TEST_CASE("a parallel scan that is cancelled says so on every thread count") {
  const std::vector<float> x = some_values();
  for (const int threads : {1, 2}) {
    auto cancel = std::make_shared<std::atomic<bool>>(true);
    Options options;
    options.threads = threads;
    options.cancel = cancel;
    CHECK_THROWS_AS(bytes_of("scan(sum, x, i)", x, options), CancelledError);
    *cancel = false;
    CHECK(bytes_of("scan(sum, x, i)", x, options).size() == sizeof(float) * many);
  }
}

} // namespace broadloom

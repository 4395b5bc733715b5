// What is compiled, derived and run while the caller has changed the floating-point control words.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>

using namespace broadloom;

namespace {

struct World {
  unsigned sse;
  unsigned short x87;
};
const World nearest{0x1f80, 0x37f};

World current() {
  unsigned short x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return {_mm_getcsr(), x87};
}
void enter(const World &world) {
  _mm_setcsr(world.sse);
  __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(world.x87));
}

std::vector<World> odd_worlds() {
  std::vector<World> worlds;
  for (unsigned rounding = 0; rounding < 4; ++rounding)
    for (unsigned subnormals : {0u, 0x8040u})
      for (bool traps : {false, true})
        for (unsigned precision : {0u, 2u, 3u}) {
          const unsigned masks = traps ? 0 : 0x3f;
          worlds.push_back(
              {masks << 7 | rounding << 13 | subnormals,
               static_cast<unsigned short>(masks | 0x40 | precision << 8 | rounding << 10)});
        }
  return worlds;
}

// Of one kernel: its print, that of its gradient, its machine-independent code and its results.
struct Made {
  std::vector<std::string> texts;
  std::vector<double> results;
};

Made make(const std::string &text, const Array &x, Engine engine) {
  Made made;
  const LoopSpec spec = parse(text);
  check(spec);
  made.texts.push_back(print(spec));
  const LoopSpec derived = gradient(spec, {"x"}, {.value = true});
  made.texts.push_back(print(derived));
  const Kernel kernel = compile(spec, {.threads = 1, .engine = engine});
  const Results results = kernel({{"x", x}});
  if (engine == Engine::jit) made.texts.push_back(kernel.show(Stage::llvm));
  if (engine != Engine::reference) made.texts.push_back(kernel.show(Stage::loop));
  kernel.why();
  const Array weights = results[0].copy();
  const Results slopes =
      compile(derived, {.threads = 1, .engine = engine})({{"x", x}, {"d_y", weights}});
  for (const Array &array : {results[0].copy(), slopes["d_x"].copy()})
    for (std::int64_t k = 0; k < array.size(); ++k) made.results.push_back(array.data<double>()[k]);
  return made;
}

bool same(const std::vector<double> &a, const std::vector<double> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

const std::string bodies[] = {
    "y = x * (1 / 3) + exp(1.1) * sqrt(2.) - 4.9e-324 * x + f64(f32(0.1)) ^ 1.7",
    "y = gelu_tanh(x) / norm(x) + polygamma(2, x) * f64(f16(1 / 3))",
    "y = (x - mean(x)) / std(x) + scan(sum, x * 1e-310, 0)",
};

} // namespace

TEST_CASE("Kernels made and run in an odd floating-point world have the bits of the usual one") {
  const Array x(DType::F64, {37});
  for (int k = 0; k < 37; ++k) x.data<double>()[k] = 0.3 + k / 7.;
  const std::vector<World> worlds = odd_worlds();
  for (const std::string &body : bodies)
    for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference})
      for (std::size_t w = 0; w < worlds.size(); ++w) {
        // A number of its own, so that no code of another world is found in the cache.
        const std::string text =
            "kernel k { in x : f64[:]; out " + body + " + " + std::to_string(w) + ".1 }";
        enter(worlds[w]);
        const Made odd = make(text, x, engine);
        const World after = current();
        enter(nearest);
        const Made usual = make(text, x, engine == Engine::jit ? Engine::interpreter : engine);
        CAPTURE(text);
        CAPTURE(w);
        CHECK(after.sse == worlds[w].sse);
        CHECK(after.x87 == worlds[w].x87);
        CHECK(same(odd.results, usual.results));
        CHECK(odd.texts.at(0) == usual.texts.at(0));
        CHECK(odd.texts.at(1) == usual.texts.at(1));
        CHECK(odd.texts.back() == usual.texts.back());
        if (engine == Engine::jit) CHECK(odd.texts.at(2) == make(text, x, engine).texts.at(2));
      }
}

TEST_CASE("check_gradient in an odd floating-point world finds what it finds in the usual one") {
  const Array x(DType::F64, {5});
  for (int k = 0; k < 5; ++k) x.data<double>()[k] = 0.3 + k / 7.;
  const LoopSpec spec = parse("kernel k { in x : f64[:]; out y = exp(x) * sum(x / 3) }");
  const auto told = [&] { return describe(check_gradient(spec, {{"x", x}}).worst()); };
  const std::string usual = told();
  for (const World &world : odd_worlds()) {
    enter(world);
    const std::string odd = told();
    const World after = current();
    enter(nearest);
    CHECK(odd == usual);
    CHECK(after.sse == world.sse);
    CHECK(after.x87 == world.x87);
  }
}
#endif

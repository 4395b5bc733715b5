// Kernels on the device that this processor plays: its memory is the host's to touch at no time, so
// all that a call does around its launches is proven with it.
#include "jit/gpu/device.hpp"
#include "jit/gpu/played_device.hpp"
#include "math/functions/fmod.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

namespace broadloom {
namespace {

std::string code_of(const std::function<void()> &work) {
  try {
    work();
  } catch (const Error &error) {
    return error.code();
  }
  return "";
}

Array numbers(const ExtentList &shape, double step = 0.37) {
  Array array(DType::F32, shape);
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<float>()[k] = float(std::sin(double(k) * step) * 3);
  return array;
}

bool same(const Array &a, const Array &b) {
  return a.size() == b.size() &&
         std::memcmp(a.raw(), b.raw(), std::size_t(a.size()) * size_of(a.dtype())) == 0;
}

// The outputs of a call on the device are, bit for bit, those of one in this process.
void agree(const std::string &text, std::initializer_list<NamedView> inputs) {
  const LoopSpec spec = parse(text);
  const Device device("played");
  const Results expected = compile(spec)(inputs);
  std::vector<Array> there;
  std::vector<NamedView> views;
  for (const NamedView &input : inputs) there.push_back(device.to_device(input.view));
  std::size_t k = 0;
  for (const NamedView &input : inputs) views.push_back({input.name, there[k++]});
  const Results got = compile(spec, {.device = "played"}).call(views);
  for (const auto &[name, array] : expected) {
    CAPTURE(name);
    CHECK(same(device.to_host(got[name]), array));
  }
}

TEST_CASE("maps, folds, scans and rows have the same bits on a device") {
  const Array x = numbers({37, 300});
  agree("kernel k { in x : f32[i, j]; out y[i, j] = exp(x) / sum(exp(x), j) }", {{"x", x}});
  agree("kernel k { in x : f32[i, j]; out s[j] = sum(x * x, i); out m = max(x, i, j) }",
        {{"x", x}});
  agree("kernel k { in x : f32[i, j]; out c[i, j] = scan(sum, x, j) }", {{"x", x}});
  agree("kernel k { in x : f32[i, j]; out y[i, j] = (x - mean(x, j)) * rsqrt(var(x, j) + 1e-5) }",
        {{"x", x}});
}

TEST_CASE("what the host does around a device's launches has the same bits, too") {
  const Array x = numbers({40, 50});
  agree("kernel k { in x : f32[i, j]; out y[i, j] = sum(pad(x, i: (1, 1))[i + u, j], u < 3) + x }",
        {{"x", x}});
  agree("kernel k { in x : f32[i, j]; let u[t < 9, i, j] = u[t - 1, i, j] / 2 + x from x\n"
        "out y[i, j] = u[8, i, j] }",
        {{"x", x}});
  Array at(DType::I64, {7});
  for (std::int64_t k = 0; k < 7; ++k) at.data<std::int64_t>()[k] = k * 5 % 40;
  agree("kernel k { in x : f32[i, j]; in at : i64[k]; out y[k, j] = x[at[k], j] }",
        {{"x", x}, {"at", at}});
}

TEST_CASE("an output that is added to begins with zeros where the call allocates it") {
  agree("kernel k { in x : f32[i, j]; out y[i] += sum(x, j) }", {{"x", numbers({5, 90})}});
}

TEST_CASE("inputs may overlap outputs on a device") {
  const Device device("played");
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; out y[i] = x * 2 }"), {.device = "played"});
  const Array x = device.to_device(numbers({100}));
  const Array before = device.to_host(x);
  AnyView shifted = x, begin = x;
  shifted.layout = begin.layout = contiguous_layout(std::vector<std::int64_t>{99});
  shifted.data = static_cast<float *>(x.raw()) + 1;
  kernel.run({begin}, {shifted});
  const Array after = device.to_host(x);
  for (std::int64_t k = 0; k < 99; ++k) CHECK(after.at<float>(k + 1) == before.at<float>(k) * 2);
}

TEST_CASE("a bound call on a device runs again and again") {
  const Device device("played");
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; out y[i] = sum(x) + x }"), {.device = "played"});
  const Array x = device.to_device(numbers({1000})), y = device.allocate(DType::F32, {1000});
  const BoundCall call = kernel.bind({AnyView(x)}, {AnyView(y)});
  const auto before = jit::gpu::launched_on_played_device();
  call();
  call();
  CHECK(jit::gpu::launched_on_played_device().launches >= before.launches + 2);
  CHECK(same(device.to_host(y), compile(parse("kernel k { in x : f32[i]; out y[i] = sum(x) + x }"))(
                                    {{"x", device.to_host(x)}})["y"]));
}

TEST_CASE("an array of the host is refused by a kernel of a device, with its name: E0322") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; out y[i] = x }"), {.device = "played"});
  const Array x = numbers({10});
  try {
    kernel({{"x", x}});
    FAIL("it was taken");
  } catch (const DataError &error) {
    CHECK(error.code() == "E0322");
    CHECK(error.message() == "input 'x' of kernel 'k' does not lie on the device 'played', where "
                             "the kernel runs");
  }
  CHECK(code_of([&] { Device("played").to_host(x); }) == "E0322");
}

TEST_CASE("what does not go with a device is refused: E0506") {
  const LoopSpec spec = parse("kernel k { in x : f32[i]; out y[i] = x }");
  for (const Options &options : {Options{.device = "played", .engine = Engine::interpreter},
                                 Options{.device = "played", .debug = Debug::nan},
                                 Options{.target = "x86-64-v3", .device = "played"}})
    CHECK(code_of([&] { compile(spec, options); }) == "E0506");
  CHECK(code_of([&] { compile(spec, {.target = "sm_90"})({{"x", numbers({10})}}); }) == "E0506");
  CHECK(code_of([] {
          compile(parse("kernel k { in x : f32[i]; out y[i] = polygamma(1, x) }"),
                  {.target = "sm_90", .engine = Engine::jit})
              .show(Stage::assembly);
        }) == "E0506");
}

TEST_CASE("code of a device is shown without one") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i, j]; out y[i] = sum(x, j) }"), {.target = "sm_80"});
  const std::string code = kernel.show(Stage::assembly, {.whole = true});
  CHECK(code.find(".target sm_80") != code.npos);
  CHECK(code.find(".visible .entry phase_0(") != code.npos);
  CHECK(code.find("shfl.sync.idx") != code.npos);
  CHECK(code.find("bar.warp.sync") != code.npos); // between loops, for memory
  CHECK(code.find(".ftz") == code.npos);
  CHECK(kernel.show(Stage::block).find("warps of 32") != std::string::npos);
}

TEST_CASE("a call that is cancelled stops before its next phase") {
  auto cancel = std::make_shared<std::atomic<bool>>(true);
  const Device device("played");
  const Kernel kernel = compile(parse("kernel k { in x : f32[i]; out y[i] = x }"),
                                {.device = "played", .cancel = cancel});
  const Array x = device.to_device(numbers({10}));
  CHECK(code_of([&] { kernel({{"x", x}}); }) == "E0701");
  *cancel = false;
  CHECK(same(device.to_host(kernel({{"x", x}})["y"]), numbers({10})));
}

TEST_CASE("positions are boxes of their own, but for lanes, of which a box has whole turns") {
  using namespace jit;
  loop::Program program;
  program.axes.resize(2);
  loop::Loop inner, outer;
  inner.axis = {1};
  inner.parallel = inner.vector = true;
  outer.axis = {0};
  outer.parallel = true;
  outer.body = {loop::Stmt::run({1})};
  program.loops = {outer, inner};
  program.phases = {{{loop::Stmt::run({0})}, {{0}, {1}}, 1}};
  const auto cut = [&](std::int64_t i, std::int64_t j, int warps) {
    const std::vector<std::int64_t> extents{i, j};
    return gpu::grid_of(program, 0, extents, warps);
  };
  CHECK(cut(3, 100, 1000).count == std::vector<std::int64_t>{3, 4});
  CHECK(cut(3, 100, 1000).step == std::vector<std::int64_t>{1, 32});
  CHECK(cut(1, 32 * 1000, 10).step == std::vector<std::int64_t>{1, 32 * 16});
  CHECK(cut(1, 32 * 1000, 500).step == std::vector<std::int64_t>{1, 64});
  CHECK(cut(1, 32 * 1000, 90).step == std::vector<std::int64_t>{1, 32 * 8}); // not of 11 turns
  CHECK(cut(0, 100, 10).blocks == 0);
}

TEST_CASE("the remainder by shifts is that of the system's libm, to the bit") {
  const double special[] = {0.0,    -0.0,   1.0,    -1.0,  0.1,      3.0,       7.0, 1e300, -1e300,
                            5e-324, 1e-310, 2e-308, 1e308, INFINITY, -INFINITY, NAN, 0.75,  1e16};
  const auto check = [](auto x, auto y) {
    const auto wanted = std::fmod(x, y), got = math::fmod_by_shifts(x, y);
    CAPTURE(x);
    CAPTURE(y);
    CHECK((std::isnan(wanted) ? std::isnan(got) : std::memcmp(&wanted, &got, sizeof got) == 0));
  };
  std::uint64_t seed = 1;
  for (const double x : special)
    for (const double y : special) check(x, y), check(float(x), float(y));
  for (int k = 0; k < 20000; ++k) {
    const auto next = [&] { return seed = seed * 6364136223846793005u + 1442695040888963407u; };
    const std::uint64_t a = next(), b = next();
    check(std::bit_cast<double>(a), std::bit_cast<double>(b));
    check(std::bit_cast<float>(std::uint32_t(a >> 32)),
          std::bit_cast<float>(std::uint32_t(b >> 32)));
  }
}

} // namespace
} // namespace broadloom

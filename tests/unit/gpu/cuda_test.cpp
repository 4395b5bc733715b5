// The host's side of CUDA devices, against a driver that notes what it is asked for
// (fake_cuda.cpp).
#include "jit/gpu/cuda.hpp"
#include "jit/gpu/device.hpp"
#include "jit/runtime/launch.hpp"
#include "tests/places.hpp"
#include "tests/unit/gpu/fake_cuda.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <dlfcn.h>

namespace broadloom {
namespace {

using gpu::test::Seen;

// The driver's place is taken for the rest of the process.
Seen &fake() {
  setenv("BROADLOOM_CUDA", BROADLOOM_FAKE_CUDA, 1);
  void *library = dlopen(BROADLOOM_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  Seen &seen = *reinterpret_cast<Seen *(*)()>(dlsym(library, "fake_cuda_seen"))();
  seen.launches.clear();
  seen.fails_at.clear();
  return seen;
}

std::string code_of(const std::function<void()> &work) {
  try {
    work();
  } catch (const Error &error) {
    return error.code();
  }
  return "";
}

TEST_CASE("without a driver, or with one that does not begin, a CUDA device is not there: E0505") {
  if (std::getenv("BROADLOOM_CUDA") == nullptr) { // no other test was first
    setenv("BROADLOOM_CUDA", "/nowhere/libcuda.so", 1);
    CHECK(code_of([] { Device("cuda"); }) == "E0505");
    Seen &seen = fake();
    seen.fails_at = "cuInit";
    CHECK(code_of([] { Device("cuda"); }) == "E0505");
    seen.fails_at.clear();
    seen.version = 10020;
    CHECK(code_of([] { Device("cuda"); }) == "E0505");
    seen.version = 12040;
  }
  fake();
  CHECK(code_of([] { Device("cuda:2"); }) == "E0505"); // of two
  CHECK(code_of([] { Device("cuda:1"); }) == "E0505"); // too old
  CHECK(code_of([] { Device("cuda:x"); }) == "E0505");
  CHECK(code_of([] { Device("metal"); }) == "E0505");
  CHECK(Device("cuda").name() == "cuda:0");
  CHECK(Device("cuda:0").description() == "cuda:0 Fake 90, sm_90");
}

TEST_CASE("a kernel is launched once for each phase, with the tables of its frame and its boxes") {
  Seen &seen = fake();
  const Device device("cuda");
  {
    const Kernel kernel =
        compile(parse("kernel k { in x : f32[i, j]; out y[i, j] = x + 1 }"), {.device = "cuda"});
    const Array x = device.to_device(Array(DType::F32, {3, 1000}));
    const Array y = device.allocate(DType::F32, {3, 1000});
    kernel.run({AnyView(x)}, {AnyView(y)});
    REQUIRE(seen.launches.size() == 1);
    const Seen::Launch &launch = seen.launches[0];
    CHECK(launch.phase == "phase_0");
    CHECK(launch.threads == 128);
    CHECK(seen.modules >= 1);
    // One axis of 3,000 elements, 96 warps: 94 boxes of a turn each.
    CHECK(launch.words.front() == 3000);
    CHECK(launch.groups == 24);
    const auto has = [&](std::int64_t word) {
      return std::ranges::find(launch.words, word) != launch.words.end();
    };
    CHECK(has(94));
    CHECK(has(32));
    CHECK(has(std::int64_t(reinterpret_cast<std::uintptr_t>(x.raw()))));
    CHECK(has(std::int64_t(reinterpret_cast<std::uintptr_t>(y.raw()))));
    CHECK(seen.depth == 0);
  }
}

TEST_CASE("memory of a device is kept for the next array, and given back where there is no more") {
  Seen &seen = fake();
  const Device device("cuda");
  const std::size_t before = seen.bytes;
  void *first = device.allocate(DType::F32, {100000}).raw();
  CHECK(device.allocate(DType::F32, {100000}).raw() == first);
  CHECK(seen.bytes > before);
  seen.most_bytes = seen.bytes + 100;
  CHECK(device.allocate(DType::U8, {350000}).raw() != nullptr); // in place of what nobody holds
  CHECK(code_of([&] { device.allocate(DType::F64, {1 << 20}); }) == "E0305");
  seen.most_bytes = std::size_t(1) << 30;
}

TEST_CASE("what the driver says of a call that failed comes as E0505") {
  Seen &seen = fake();
  const Device device("cuda");
  const Array x = device.allocate(DType::F32, {10});
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; out y[i] = x * 3 }"), {.device = "cuda"});
  seen.fails_at = "cuModuleLoadDataEx";
  CHECK(code_of([&] { kernel({{"x", x}}); }) == "E0505");
  seen.fails_at = "cuLaunchKernel";
  CHECK(code_of([&] { kernel({{"x", x}}); }) == "E0505");
  seen.fails_at = "cuStreamSynchronize";
  CHECK(code_of([&] { device.wait(); }) == "E0505");
  seen.fails_at.clear();
  CHECK(kernel({{"x", x}})["y"].size() == 10);
  CHECK(seen.depth == 0);
}

} // namespace
} // namespace broadloom

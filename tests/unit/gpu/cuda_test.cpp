// The host's side of CUDA devices, against a driver that notes what it is asked for
// (fake_cuda.cpp).
#include "jit/gpu/cuda.hpp"
#include "jit/gpu/device.hpp"
#include "jit/runtime/launch.hpp"
#include "tests/places.hpp"
#include "tests/unit/gpu/fake_cuda.hpp"

#include <broadloom/broadloom.hpp>
#include <broadloom/streams.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <functional>

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
  seen.waits.clear();
  seen.fails_at.clear();
  seen.fails_with = 0;
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

std::string help_of(const std::function<void()> &work) {
  try {
    work();
  } catch (const Error &error) {
    return error.code() + " " + error.help();
  }
  return "";
}

TEST_CASE(
    "each failure of the driver is told with what to do about it: E0505, or E0305 of memory") {
  Seen &seen = fake();
  const Device device("cuda");
  const Array x = device.allocate(DType::F32, {10});
  const auto kernel = [](int times) {
    return compile(
        parse("kernel k { in x : f32[i]; out y[i] = x * " + std::to_string(times) + " }"),
        {.device = "cuda", .cache_dir = "/nowhere"});
  };
  const auto help = [&](const char *at, int with, const std::function<void()> &work) {
    seen.fails_at = at;
    seen.fails_with = with;
    const std::string said = help_of(work);
    seen.fails_at.clear();
    return said;
  };
  int n = 3;
  const auto call = [&] { kernel(n)({{"x", x}}); };
  CHECK(help("cuLinkAddData_v2", 218, call).starts_with("E0505 this is a bug of ours"));
  CHECK(help("cuLinkAddData_v2", 222, call).starts_with("E0505 install a newer driver"));
  CHECK(help("cuModuleLoadDataEx", 209, call).starts_with("E0505 install a newer driver"));
  CHECK(help("cuModuleLoadDataEx", 2, call).starts_with("E0305 let arrays go"));
  CHECK(help("cuLaunchKernel", 701, call).starts_with("E0505 the kernel needs more of the device"));
  CHECK(help("cuLaunchKernel", 2, call).starts_with("E0305 let arrays go"));
  CHECK(help("cuLaunchKernel", 12345, call).starts_with("E0505 see `nvidia-smi`"));
  CHECK(help("cuCtxSynchronize", 46, [&] { device.wait(); }).starts_with("E0505 another process"));
  CHECK(kernel(n)({{"x", x}})["y"].size() == 10); // none of these was its end
  CHECK(seen.depth == 0);
}

TEST_CASE("an array of another device is refused by its name, either way: E0322") {
  fake();
  const LoopSpec spec = parse("kernel k { in x : f32[i]; out y[i] = x * 4 }");
  const Device cuda("cuda"), played("played");
  const Array there = cuda.allocate(DType::F32, {10}), here = played.allocate(DType::F32, {10});
  CHECK(code_of([&] { compile(spec, {.device = "cuda"})({{"x", here}}); }) == "E0322");
  CHECK(code_of([&] { compile(spec, {.device = "played"})({{"x", there}}); }) == "E0322");
  CHECK(code_of([&] {
          compile(spec, {.device = "cuda"}).run({AnyView(there)}, {AnyView(here)});
        }) == "E0322");
  CHECK(code_of([&] { cuda.to_host(here); }) == "E0322");
}

TEST_CASE(
    "a call for which a device has too little memory launches nothing, and may be made again") {
  Seen &seen = fake();
  const Device device("cuda");
  constexpr std::int64_t n = 1 << 22;
  const Array x = device.allocate(DType::F32, {n});
  AnyView shifted = x, begin = x; // which overlap, so that the call copies its input first
  shifted.layout = begin.layout = contiguous_layout(std::vector<std::int64_t>{n - 1});
  shifted.data = static_cast<float *>(x.raw()) + 1;
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; out y[i] = x * 11 }"), {.device = "cuda"});
  const int copies = seen.copies_there;
  const std::size_t before = seen.bytes;
  seen.most_bytes = before; // the copy has no place
  CHECK(help_of([&] { kernel.run({begin}, {shifted}); }) ==
        "E0305 let arrays go that nobody needs");
  CHECK(seen.launches.empty());
  CHECK(seen.copies_there == copies);
  CHECK(seen.bytes <= before);
  CHECK(seen.depth == 0);
  seen.most_bytes = std::size_t(1) << 30;
  kernel.run({begin}, {shifted});
  CHECK(seen.launches.size() == 1);
  CHECK(seen.copies_there == copies + 1);
}

TEST_CASE("a call that is cancelled after a launch begins no other: E0701") {
  Seen &seen = fake();
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  const Device device("cuda");
  const Array x = device.allocate(DType::F32, {1 << 20});
  const Kernel kernel = compile(parse("kernel k { in x : f32[i]; out y = sum(x * 7) }"),
                                {.device = "cuda", .cancel = cancel});
  seen.sets = cancel.get();
  CHECK(code_of([&] { kernel({{"x", x}}); }) == "E0701");
  CHECK(seen.launches.size() == 1); // of two
  seen.sets = nullptr;
  *cancel = false;
  kernel({{"x", x}});
  CHECK(seen.launches.size() == 3);
}

TEST_CASE(
    "inputs that overlap outputs are copied by the device itself, and borders are filled there") {
  Seen &seen = fake();
  const Device device("cuda");
  const Array x = device.to_device(Array(DType::F32, {100}));
  AnyView shifted = x, begin = x;
  shifted.layout = begin.layout = contiguous_layout(std::vector<std::int64_t>{99});
  shifted.data = static_cast<float *>(x.raw()) + 1;
  const int before = seen.copies_out, there = seen.copies_there;
  compile(parse("kernel k { in x : f32[i]; out y[i] = x * 2 }"), {.device = "cuda"})
      .run({begin}, {shifted});
  CHECK(seen.copies_there == there + 1);
  seen.launches.clear();
  compile(parse("kernel k { in x : f32[i]; out y[i] = sum(pad(x, i: (1, 1))[i + u], u < 3) }"),
          {.device = "cuda"})({{"x", x}});
  REQUIRE(seen.launches.size() >= 4); // two borders, the elements, and the kernel
  CHECK(seen.launches[0].phase == "bl_step_Copy4");
  CHECK(seen.launches.back().phase == "phase_0");
  CHECK(seen.copies_out == before);
}

TEST_CASE("rows of a device's warps have bounded memory: where they are long, fewer warps run") {
  CHECK(jit::gpu::warps_with_rows(4224, 0) == 4224);
  CHECK(jit::gpu::warps_with_rows(4224, 4096) == 4224);
  CHECK(jit::gpu::warps_with_rows(4224, 1 << 20) == 256);
  CHECK(jit::gpu::warps_with_rows(4224, std::int64_t(1) << 40) == 8);
  CHECK(jit::gpu::warps_with_rows(4224, (256 << 20) / 11) == 8); // started by fours
}

TEST_CASE("tables that are too large for a parameter lie in the device's memory") {
  Seen &seen = fake();
  const Device device("cuda");
  std::string inputs, terms = "0";
  std::vector<Array> arrays;
  std::vector<AnyView> views;
  for (int k = 0; k < 130; ++k) {
    inputs += "in x" + std::to_string(k) + " : f32[i, j, l]; ";
    terms += " + x" + std::to_string(k);
    arrays.push_back(device.allocate(DType::F32, {2, 3, 4}));
    views.push_back(arrays.back());
    std::swap(views.back().layout.strides[0], views.back().layout.strides[1]);
    views.back().layout.strides[0] = k % 2 == 0 ? 4 : 8;
    views.back().layout.extents = {2, 2, 4};
  }
  const Array y = device.allocate(DType::F32, {2, 2, 4});
  compile(parse("kernel k { " + inputs + "out y[i, j, l] = " + terms + " }"), {.device = "cuda"})
      .run(views, std::vector<AnyView>{y});
  REQUIRE(seen.launches.back().words.size() == 1); // an address
  const auto *words = reinterpret_cast<const std::int64_t *>(seen.launches.back().words[0]);
  CHECK(std::find(words, words + 1000, std::int64_t(reinterpret_cast<std::uintptr_t>(y.raw()))) !=
        words + 1000);
}

// This program again, for one test, as another process.
// A process so short may end while another thread still makes LLVM's tables: those are no leak.
int run_again(const std::string &variable, const std::string &test) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  return std::system((variable + " ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" '" + program +
                      "' -tc='" + test + "*' > /dev/null 2>&1")
                         .c_str());
}

TEST_CASE("machine code of a device is kept on disk, so that the next process compiles nothing") {
  const auto folder = std::filesystem::temp_directory_path() / "broadloom-cuda-images";
  const char *links = std::getenv("BROADLOOM_TEST_LINKS");
  if (links == nullptr) {
    std::filesystem::remove_all(folder);
    const std::string test = "machine code of a device is kept on disk";
    CHECK(run_again("BROADLOOM_TEST_LINKS=2", test) == 0); // the step's and the kernel's
    CHECK(run_again("BROADLOOM_TEST_LINKS=0", test) == 0);
    std::filesystem::remove_all(folder);
    return;
  }
  setenv("BROADLOOM_CACHE_DIR", folder.c_str(), 1);
  setenv("BROADLOOM_CACHE", "1", 1);
  Seen &seen = fake();
  const Device device("cuda");
  const Array x = device.allocate(DType::F32, {10});
  compile(parse("kernel k { in x : f32[i]; out y[i] += x * 77 }"), {.device = "cuda"})({{"x", x}});
  CHECK(seen.links == std::atoi(links));
  CHECK(seen.launches.back().phase == "phase_0");
}

TEST_CASE("calls run on the caller's stream, and streams wait for each other where they are told") {
  Seen &seen = fake();
  const Device device("cuda");
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; out y[i] = x * 5 }"), {.device = "cuda"});
  const Array x = device.allocate(DType::F32, {10});
  int mine = 0, other = 0; // whose addresses are streams
  {
    const OnStream here(device, &mine);
    kernel({{"x", x}});
    CHECK(seen.launches.back().stream == &mine);
    wait_for_stream(device, &other);
    let_stream_wait(device, &other);
  }
  kernel({{"x", x}});
  CHECK(seen.launches.back().stream == nullptr);
  REQUIRE(seen.waits.size() == 2);
  CHECK(seen.waits[0].stream == &mine);
  CHECK(seen.waits[0].for_stream == &other);
  CHECK(seen.waits[1].stream == &other);
  CHECK(seen.waits[1].for_stream == &mine);
  CHECK(seen.events == 0);
}

TEST_CASE("memory that was let go on one stream is not given to another") {
  fake();
  const Device device("cuda");
  int stream = 0;
  void *first = device.allocate(DType::F32, {123456}).raw();
  {
    const OnStream here(device, &stream);
    CHECK(device.allocate(DType::F32, {123456}).raw() != first);
  }
  CHECK(device.allocate(DType::F32, {123456}).raw() == first);
}

TEST_CASE("a device that is lost in a call is so for the rest of the process") {
  Seen &seen = fake();
  if (std::getenv("BROADLOOM_LOSE_DEVICE") == nullptr) { // in a process of its own: tests/unit/gpu
    CHECK(run_again("BROADLOOM_LOSE_DEVICE=1", "a device that is lost in a call") == 0);
    return;
  }
  const Device device("cuda");
  const Array x = device.allocate(DType::F32, {10});
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[i]; out y[i] = x * 9 }"), {.device = "cuda"});
  seen.fails_at = "cuLaunchKernel";
  seen.fails_with = 700;
  CHECK(code_of([&] { kernel({{"x", x}}); }) == "E0505");
  seen.fails_at.clear();
  CHECK(help_of([&] { kernel({{"x", x}}); }) ==
        "E0505 what its arrays hold is of no use; begin another process");
  CHECK(code_of([&] { device.to_host(x); }) == "E0505");
  CHECK(seen.depth == 0);
}

} // namespace
} // namespace broadloom

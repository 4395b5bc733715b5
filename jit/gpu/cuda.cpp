// See cuda.hpp.
#include "jit/gpu/cuda.hpp"

#include "support/fail.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace broadloom::jit::gpu {
namespace {

constexpr int least_driver = 11000; // the first that takes code for sm_80

[[noreturn]] void fail_no_driver(const std::string &why) {
  support::fail("E0505", "there is no CUDA device here: " + why, {},
                "install NVIDIA's driver, or leave Options::device out to run on the processor");
}

Cuda load() {
  const char *other =
      std::getenv("BROADLOOM_CUDA"); // a file that takes the driver's place, for tests
  void *library = dlopen(other != nullptr && *other != '\0' ? other : "libcuda.so.1",
                         RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) fail_no_driver(dlerror());
  Cuda cuda;
  const auto find = [&](auto &function, const char *name) {
    void *found = dlsym(library, name);
    if (found == nullptr) fail_no_driver(std::string("the driver has no ") + name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  find(cuda.init, "cuInit");
  find(cuda.driver_version, "cuDriverGetVersion");
  find(cuda.device_count, "cuDeviceGetCount");
  find(cuda.device, "cuDeviceGet");
  find(cuda.device_name, "cuDeviceGetName");
  find(cuda.attribute, "cuDeviceGetAttribute");
  find(cuda.retain_context, "cuDevicePrimaryCtxRetain");
  find(cuda.push_context, "cuCtxPushCurrent_v2");
  find(cuda.pop_context, "cuCtxPopCurrent_v2");
  find(cuda.load_module, "cuModuleLoadDataEx");
  find(cuda.unload_module, "cuModuleUnload");
  find(cuda.function, "cuModuleGetFunction");
  find(cuda.launch, "cuLaunchKernel");
  find(cuda.wait, "cuStreamSynchronize");
  find(cuda.allocate, "cuMemAlloc_v2");
  find(cuda.free, "cuMemFree_v2");
  find(cuda.copy_in, "cuMemcpyHtoDAsync_v2");
  find(cuda.copy_out, "cuMemcpyDtoHAsync_v2");
  find(cuda.copy, "cuMemcpyDtoDAsync_v2");
  find(cuda.wait_for_all, "cuCtxSynchronize");
  find(cuda.make_event, "cuEventCreate");
  find(cuda.drop_event, "cuEventDestroy_v2");
  find(cuda.record_event, "cuEventRecord");
  find(cuda.stream_waits, "cuStreamWaitEvent");
  find(cuda.begin_link, "cuLinkCreate_v2");
  find(cuda.add_to_link, "cuLinkAddData_v2");
  find(cuda.end_link, "cuLinkComplete");
  find(cuda.drop_link, "cuLinkDestroy");
  find(cuda.pointer_attribute, "cuPointerGetAttribute");
  find(cuda.error_text, "cuGetErrorString");
  cuda.check(cuda.init(0), "does not begin");
  cuda.driver_version(&cuda.version);
  if (cuda.version < least_driver)
    support::fail("E0505",
                  "there is no CUDA device here: its driver is for CUDA " +
                      std::to_string(cuda.version / 1000) + "." +
                      std::to_string(cuda.version % 1000 / 10) +
                      ", and 11.0 is the oldest that does",
                  {}, "install a newer driver of NVIDIA's, or leave Options::device out");
  return cuda;
}

} // namespace

const Cuda &Cuda::instance() {
  static const Cuda &loaded = *new Cuda(load()); // a failure is tried again
  return loaded;
}

namespace {

// What to do about a result of the driver.
struct Meaning {
  Cuda::Result result;
  const char *help;
  bool is_end = false; // the context is of no use any more
};
constexpr const char *again = "what its arrays hold is of no use; begin another process";
constexpr const char *none =
    "see whether `nvidia-smi` lists one and CUDA_VISIBLE_DEVICES names it; "
    "leave Options::device out to run on the processor";
constexpr const char *mended = "see `nvidia-smi` and the system's log: the driver has to be loaded "
                               "anew, or the machine begun anew";
constexpr const char *newer = "install a newer driver of NVIDIA's: this one does not take our code";
constexpr Meaning meanings[] = {
    {3, again}, // not initialised: a child of a fork
    {4, "the process is at its end: let no call begin any more"},
    {46, "another process has the device for itself: end it, or let `nvidia-smi -c 0` share it"},
    {100, none},
    {101, none},
    {200, newer},
    {209, newer},
    {214, mended, true}, // a bit of its memory was wrong
    {218, "this is a bug of ours: tell us the kernel and what `broadloom show --stage asm` says"},
    {222, newer},
    {304, mended},
    {700, again, true}, // an address that is nobody's
    {701,
     "the kernel needs more of the device than it has: split it, or leave Options::device out"},
    {702, "a display runs on this device and a kernel took too long: use another device", true},
    {709, again, true},
    {710, again, true},
    {714, again, true},
    {715, again, true},
    {716, again, true},
    {717, again, true},
    {718, again, true},
    {719, again, true},
    {802, mended},
    {803, "driver and system do not fit: begin the machine anew after the driver was changed"},
    {804, newer},
    {999, mended, true},
};

const Meaning *meaning_of(Cuda::Result result) {
  for (const Meaning &meaning : meanings)
    if (meaning.result == result) return &meaning;
  return nullptr;
}

} // namespace

bool Cuda::is_end(Result result) {
  const Meaning *meaning = meaning_of(result);
  return meaning != nullptr && meaning->is_end;
}

void Cuda::check(Result result, const char *what) const {
  if (result == 0) return;
  const char *text = nullptr;
  error_text(result, &text);
  const std::string why = text != nullptr ? text : "error " + std::to_string(result);
  if (result == cuda_out_of_memory)
    support::fail("E0305", std::string("the device ") + what + ": " + why, {},
                  "let arrays go that nobody needs, in other processes, too");
  const Meaning *meaning = meaning_of(result);
  support::fail("E0505", std::string("the device ") + what + ": " + why, {},
                meaning != nullptr ? meaning->help : mended);
}

} // namespace broadloom::jit::gpu

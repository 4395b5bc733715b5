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
  find(cuda.copy_in, "cuMemcpyHtoD_v2");
  find(cuda.copy_out, "cuMemcpyDtoH_v2");
  find(cuda.pointer_attribute, "cuPointerGetAttribute");
  find(cuda.error_text, "cuGetErrorString");
  if (const Cuda::Result result = cuda.init(0); result != 0) {
    const char *text = nullptr;
    cuda.error_text(result, &text);
    fail_no_driver(text != nullptr ? text : "the driver does not begin");
  }
  int version = 0;
  cuda.driver_version(&version);
  if (version < least_driver)
    fail_no_driver("its driver is for CUDA " + std::to_string(version / 1000) + "." +
                   std::to_string(version % 1000 / 10) + ", and 11.0 is the oldest that does");
  return cuda;
}

} // namespace

const Cuda &Cuda::instance() {
  static const Cuda &loaded = *new Cuda(load()); // a failure is tried again
  return loaded;
}

void Cuda::check(Result result, const char *what) const {
  if (result == 0) return;
  const char *text = nullptr;
  error_text(result, &text);
  support::fail("E0505",
                std::string("the device ") + what + ": " +
                    (text != nullptr ? text : "error " + std::to_string(result)),
                {}, "what its arrays hold is of no use; begin another process");
}

} // namespace broadloom::jit::gpu

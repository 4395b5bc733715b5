// See open.hpp.
#include "jit/gpu/open.hpp"

#include "jit/gpu/cuda_device.hpp"
#include "jit/gpu/played_device.hpp"
#include "support/fail.hpp"
#include "support/number.hpp"
#include "support/undivided.hpp"

#include <map>
#include <mutex>

namespace broadloom::jit::gpu {
namespace {

struct Opened { // never destroyed
  support::Mutex mutex;
  std::map<int, std::shared_ptr<Device>> cuda;
};

[[noreturn]] void refuse(std::string_view name) {
  support::fail("E0505", "there is no device '" + std::string(name) + "'", {},
                "name \"cuda\", \"cuda:1\" for the second, or \"played\", which is this processor");
}

} // namespace

std::shared_ptr<Device> open(std::string_view name) {
  if (name == "played") return played_device();
  int number = 0;
  if (name != "cuda") {
    if (!name.starts_with("cuda:")) refuse(name);
    const auto given = support::number_of<std::int64_t>(name.substr(5));
    if (!given || *given < 0 || *given > 1024) refuse(name);
    number = int(*given);
  }
  static Opened &opened = *new Opened;
  const std::lock_guard lock(opened.mutex);
  std::shared_ptr<Device> &device = opened.cuda[number];
  if (!device) device = open_cuda(number);
  return device;
}

} // namespace broadloom::jit::gpu

// A CUDA device: see device.hpp.
#include "jit/gpu/cuda_device.hpp"

#include "jit/gpu/cuda.hpp"
#include "jit/native/backend.hpp"
#include "jit/runtime/launch.hpp"
#include "support/fail.hpp"
#include "support/undivided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace broadloom::jit::gpu {
namespace {

constexpr unsigned warps_of_group = 4; // that the device starts together
constexpr int warps_of_processor =
    32; // at once, where each needs half of the registers that there are
constexpr std::size_t granule = 512; // bytes

// The context that all in the process share: arrays of CuPy, PyTorch and JAX lie in it.
class Entered {
public:
  Entered(const Cuda &cuda, Cuda::Handle context) : cuda_(cuda) {
    cuda_.check(cuda_.push_context(context), "cannot be entered");
  }
  Entered(const Entered &) = delete;
  ~Entered() {
    Cuda::Handle before = nullptr;
    cuda_.pop_context(&before);
  }

private:
  const Cuda &cuda_;
};

// The code of a program in a device's memory: goes with the last who holds it.
struct Module {
  const Cuda &cuda;
  Cuda::Handle context, module = nullptr;
  std::vector<Cuda::Handle> phases;
  ~Module() { // throws nothing: the context cannot be entered in a child of a fork, or at the end
    if (module == nullptr || cuda.push_context(context) != 0) return;
    cuda.wait(nullptr); // what was launched may still run it
    cuda.unload_module(module);
    Cuda::Handle before = nullptr;
    cuda.pop_context(&before);
  }
};

class CudaDevice final : public Device, public std::enable_shared_from_this<CudaDevice> {
public:
  CudaDevice(int number, int device, std::string name, Target target, int warps)
      : Device(std::move(name), std::move(target), warps), cuda_(Cuda::instance()),
        number_(number) {
    cuda_.check(cuda_.retain_context(&context_, device), "cannot be opened");
  }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    bytes = std::max(granule, (bytes + granule - 1) / granule * granule);
    Cuda::Pointer memory = taken(bytes);
    return {reinterpret_cast<void *>(memory),
            [self = shared_from_this(), bytes](void *given) { self->keep(given, bytes); }};
  }

  void copy_in(void *to, const void *from, std::size_t bytes) override {
    if (bytes == 0) return;
    const Entered here(cuda_, context_);
    cuda_.check(cuda_.copy_in(reinterpret_cast<Cuda::Pointer>(to), from, bytes),
                "takes no elements");
  }
  void copy_out(void *to, const void *from, std::size_t bytes) override {
    if (bytes == 0) return;
    const Entered here(cuda_, context_);
    cuda_.check(cuda_.copy_out(to, reinterpret_cast<Cuda::Pointer>(from), bytes),
                "gives no elements");
  }

  bool has(const void *memory) const override {
    const Entered here(cuda_, context_);
    unsigned type = 0;
    int ordinal = -1;
    const auto pointer = reinterpret_cast<Cuda::Pointer>(memory);
    return cuda_.pointer_attribute(&type, cuda_pointer_memory_type, pointer) == 0 &&
           type == cuda_memory_of_device &&
           cuda_.pointer_attribute(&ordinal, cuda_pointer_ordinal, pointer) == 0 &&
           ordinal == number_;
  }

  void wait() override {
    const Entered here(cuda_, context_);
    cuda_.check(cuda_.wait(nullptr), "has failed");
  }

  std::shared_ptr<const Code> compile(const loop::Program &program) override {
    block::Program blocks = blocks_of(program, target());
    const std::string text = backend().asm_text(program, blocks, target(), nullptr);
    const Entered here(cuda_, context_);
    auto module = std::make_shared<Module>(Module{cuda_, context_, nullptr, {}});
    cuda_.check(cuda_.load_module(&module->module, text.c_str(), 0, nullptr, nullptr),
                "takes no code");
    for (std::size_t k = 0; k < program.phases.size(); ++k)
      cuda_.check(
          cuda_.function(&module->phases.emplace_back(), module->module, phase_name(k).c_str()),
          "has no phase");
    return std::make_shared<const Code>(Code::Place{{}, std::move(module)},
                                        std::vector<PhaseFn>(program.phases.size()),
                                        std::move(blocks), text.size(), CompileTimes());
  }

  void launch(const Code &code, const loop::Program &program, std::size_t phase,
              const loop::Frame &frame, const plan::Grid &grid, std::int64_t row_bytes) override {
    std::vector<std::int64_t> words = words_of(program, phase, frame, grid, row_bytes);
    const std::int64_t warps = std::min<std::int64_t>(grid.blocks, this->warps());
    const auto groups = unsigned((warps + warps_of_group - 1) / warps_of_group);
    void *parameters[] = {words.data()};
    const Entered here(cuda_, context_);
    cuda_.check(cuda_.launch(static_cast<const Module *>(code.linked())->phases[phase], groups, 1,
                             1, warps_of_group * runtime::warp_threads, 1, 1, 0, nullptr,
                             parameters, nullptr),
                "does not run");
  }

private:
  // So many bytes or more, which `bytes` becomes.
  Cuda::Pointer taken(std::size_t &bytes) {
    const std::lock_guard lock(mutex_);
    auto found = idle_.lower_bound(bytes);
    if (found != idle_.end() && found->first > 2 * bytes) found = idle_.end();
    Cuda::Pointer memory = 0;
    if (found != idle_.end()) {
      bytes = found->first;
      memory = found->second;
      idle_.erase(found);
    } else {
      const Entered here(cuda_, context_);
      Cuda::Result result = cuda_.allocate(&memory, bytes);
      if (result == cuda_out_of_memory) {
        release_idle();
        result = cuda_.allocate(&memory, bytes);
      }
      if (result == cuda_out_of_memory)
        support::fail("E0305", fmt::format("the device '{}' has no {} bytes left", name(), bytes),
                      {}, "let arrays go that nobody needs");
      cuda_.check(result, "gives no memory");
    }
    return memory;
  }

  void keep(void *given, std::size_t bytes) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      idle_.emplace(bytes, reinterpret_cast<Cuda::Pointer>(given));
    } catch (const std::exception &) { // no memory to note it in, or a torn child: it is lost
    }
  }

  void release_idle() { // under the lock, in the context
    cuda_.wait(nullptr);
    for (const auto &[bytes, memory] : idle_) cuda_.free(memory);
    idle_.clear();
  }

  const Cuda &cuda_;
  const int number_;
  Cuda::Handle context_ = nullptr;
  support::Mutex mutex_;
  std::multimap<std::size_t, Cuda::Pointer> idle_; // under the lock
};

// The newest set of instructions that we write and the device has.
const char *isa_of(int capability) {
  return capability >= 90 ? "sm_90" : capability >= 80 ? "sm_80" : "sm_70";
}

} // namespace

std::shared_ptr<Device> open_cuda(int number) {
  const Cuda &cuda = Cuda::instance();
  const auto refuse = [](const std::string &why) {
    support::fail("E0505", why, {}, "name one that is there, or leave Options::device out");
  };
  int count = 0;
  cuda.check(cuda.device_count(&count), "is not counted");
  if (number >= count)
    refuse(fmt::format("there is no device cuda:{}: there {} {}", number, count == 1 ? "is" : "are",
                       count));
  int device = 0, processors = 0, major = 0, minor = 0;
  char name[128] = {};
  cuda.check(cuda.device(&device, number), "is not found");
  cuda.check(cuda.device_name(name, sizeof name, device), "has no name");
  for (const auto &[value, attribute] :
       {std::pair(&processors, cuda_multiprocessors), {&major, cuda_major}, {&minor, cuda_minor}})
    cuda.check(cuda.attribute(value, attribute, device), "does not tell what it is");
  if (major < 7)
    refuse(fmt::format("the device cuda:{} ({}) is too old: it has compute capability {}.{}, and "
                       "7.0 is the oldest that kernels run on",
                       number, name, major, minor));
  Target target = target_to_build(isa_of(10 * major + minor));
  target.cpu = fmt::format("cuda:{} {}", number, name);
  return std::make_shared<CudaDevice>(number, device, fmt::format("cuda:{}", number),
                                      std::move(target), processors * warps_of_processor);
}

} // namespace broadloom::jit::gpu

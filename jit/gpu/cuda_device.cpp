// A CUDA device: see device.hpp.
#include "jit/gpu/cuda_device.hpp"

#include "jit/cache/disk.hpp"
#include "jit/cache/kept_code.hpp"
#include "jit/gpu/cuda.hpp"
#include "jit/gpu/steps.hpp"
#include "jit/native/backend.hpp"
#include "jit/runtime/launch.hpp"
#include "support/fail.hpp"
#include "support/undivided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace broadloom::jit::gpu {
namespace {

constexpr unsigned warps_of_group = runtime::warps_of_group;
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
    cuda.wait_for_all(); // what was launched may still run it
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
    const Cuda::Handle stream = here();
    Cuda::Pointer memory = taken(bytes, stream);
    return {reinterpret_cast<void *>(memory),
            [self = shared_from_this(), bytes, stream](void *given) {
              self->keep(given, bytes, stream);
            }};
  }

  void copy_in(void *to, const void *from, std::size_t bytes) override {
    if (bytes == 0) return;
    in_context([&] {
      check(cuda_.copy_in(address(to), from, bytes, here()), "takes no elements");
      check(cuda_.wait(here()), "takes no elements"); // the caller's memory is free again
    });
  }
  void copy_out(void *to, const void *from, std::size_t bytes) override {
    if (bytes == 0) return;
    in_context([&] {
      check(cuda_.copy_out(to, address(from), bytes, here()), "gives no elements");
      check(cuda_.wait(here()), "gives no elements");
    });
  }
  void copy(void *to, const void *from, std::size_t bytes) override {
    if (bytes == 0) return;
    in_context([&] {
      check(cuda_.copy(address(to), address(from), bytes, here()), "copies no elements");
    });
  }

  bool has(const void *memory) const override {
    const Entered entered(cuda_, context_);
    unsigned type = 0;
    int ordinal = -1;
    return cuda_.pointer_attribute(&type, cuda_pointer_memory_type, address(memory)) == 0 &&
           type == cuda_memory_of_device &&
           cuda_.pointer_attribute(&ordinal, cuda_pointer_ordinal, address(memory)) == 0 &&
           ordinal == number_;
  }

  void wait() override {
    in_context([&] { check(cuda_.wait_for_all(), "has failed"); });
  }

  void *on_stream(void *stream) override { return std::exchange(here(), stream); }
  void wait_for(void *stream) override { order(stream, here()); }
  void let_wait(void *stream) override { order(here(), stream); }

  std::shared_ptr<const Code> compile(const loop::Program &program, const std::string &key,
                                      const std::string &folder) override {
    block::Program blocks = blocks_of(program, target());
    const std::string image = image_of(program.name, key, folder, [&] {
      return backend().asm_text(program, blocks, target(), nullptr);
    });
    std::vector<std::string> names;
    for (std::size_t k = 0; k < program.phases.size(); ++k) names.push_back(phase_name(k));
    return std::make_shared<const Code>(Code::Place{{}, loaded(image, names)},
                                        std::vector<PhaseFn>(program.phases.size()),
                                        std::move(blocks), image.size(), CompileTimes());
  }

  void launch(const Code &code, const loop::Program &program, std::size_t phase,
              const loop::Frame &frame, const plan::Grid &grid,
              const runtime::Rows &rows) override {
    std::vector<std::int64_t> words = words_of(program, phase, frame, grid, rows.bytes);
    const std::int64_t warps = std::min<std::int64_t>(grid.blocks, rows.threads);
    const auto groups = unsigned((warps + warps_of_group - 1) / warps_of_group);
    const Cuda::Handle function = static_cast<const Module *>(code.linked())->phases[phase];
    if (runtime::LaunchLayout(program, phase).is_parameter())
      return begin(function, groups, words.data());
    const std::size_t bytes = words.size() * sizeof words[0];
    const std::shared_ptr<void> there = allocate(bytes); // freed memory is taken again in order
    copy_in(there.get(), words.data(), bytes);
    void *parameter = there.get();
    begin(function, groups, &parameter);
  }

  void step(Step step, const void *arguments, std::int64_t points) override {
    if (points == 0) return;
    constexpr std::int64_t threads = warps_of_group * runtime::warp_threads;
    const std::int64_t most = warps() / std::int64_t(warps_of_group);
    begin(function_of(step), unsigned(std::min(most, (points + threads - 1) / threads)), arguments);
  }

private:
  static Cuda::Pointer address(const void *memory) {
    return reinterpret_cast<Cuda::Pointer>(memory);
  }

  // This thread's stream.
  Cuda::Handle &here() const {
    thread_local std::map<int, Cuda::Handle> streams;
    return streams[number_];
  }

  template <class Work> void in_context(Work work) {
    if (is_lost_.load(std::memory_order_relaxed))
      support::fail("E0505", "the device '" + name() + "' was lost in an earlier call", {},
                    "what its arrays hold is of no use; begin another process");
    const Entered entered(cuda_, context_);
    work();
  }

  void check(Cuda::Result result, const char *what) {
    if (Cuda::is_end(result) && !is_lost_.exchange(true)) {
      const std::lock_guard lock(mutex_); // nothing can be freed any more
      idle_.clear();
    }
    cuda_.check(result, what);
  }

  void begin(Cuda::Handle function, unsigned groups, const void *parameter) {
    void *parameters[] = {const_cast<void *>(parameter)};
    in_context([&] {
      check(cuda_.launch(function, groups, 1, 1, warps_of_group * runtime::warp_threads, 1, 1, 0,
                         here(), parameters, nullptr),
            "does not run");
    });
  }

  // What is on one stream now comes before what the other gets later.
  void order(Cuda::Handle first, Cuda::Handle second) {
    if (first == second) return;
    in_context([&] {
      Cuda::Handle event = nullptr;
      check(cuda_.make_event(&event, cuda_event_without_time), "orders no streams");
      const Cuda::Result recorded = cuda_.record_event(event, first);
      const Cuda::Result waits = recorded == 0 ? cuda_.stream_waits(second, event, 0) : recorded;
      cuda_.drop_event(event); // once it is over
      check(waits, "orders no streams");
    });
  }

  // The driver's machine code, from the disk or made of the text.
  std::string image_of(const std::string &name, const std::string &key, const std::string &folder,
                       const std::function<std::string()> &text) {
    const std::optional<DiskCache> cache = DiskCache::open(folder);
    const std::string whole =
        code_version_key() +
        fmt::format("\nCUDA {}\n{}\n{}\n{}", cuda_.version, target().cpu, target().isa->name, key);
    if (cache)
      if (std::optional<std::string> kept = cache->load(whole)) return std::move(*kept);
    std::string made = text();
    Cuda::Handle link = nullptr;
    void *image = nullptr;
    std::size_t bytes = 0;
    in_context([&] {
      check(cuda_.begin_link(0, nullptr, nullptr, &link), "links no code");
      Cuda::Result result = cuda_.add_to_link(link, cuda_text, made.data(), made.size() + 1,
                                              name.c_str(), 0, nullptr, nullptr);
      if (result == 0) result = cuda_.end_link(link, &image, &bytes);
      if (result == 0) made.assign(static_cast<const char *>(image), bytes);
      cuda_.drop_link(link);
      check(result, "takes no code");
    });
    if (cache) cache->store(whole, name + " for " + target().cpu, made);
    return made;
  }

  std::shared_ptr<Module> loaded(const std::string &image, const std::vector<std::string> &names) {
    auto module = std::make_shared<Module>(Module{cuda_, context_, nullptr, {}});
    in_context([&] {
      check(cuda_.load_module(&module->module, image.c_str(), 0, nullptr, nullptr),
            "takes no code");
      for (const std::string &name : names)
        check(cuda_.function(&module->phases.emplace_back(), module->module, name.c_str()),
              "has no phase");
    });
    return module;
  }

  // The kernel of a step: each is made once, when it is first asked for.
  Cuda::Handle function_of(Step step) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto &module = steps_[std::size_t(step)]) return module->phases[0];
    }
    const std::string name = kernel_of(step).name;
    auto made = loaded(image_of(name, name, "", [&] { return text_of(step); }), {name});
    const std::lock_guard lock(mutex_);
    auto &kept = steps_[std::size_t(step)];
    if (!kept) kept = std::move(made);
    return kept->phases[0];
  }

  // So many bytes or more, which `bytes` becomes. What was let go on a stream is free for it.
  Cuda::Pointer taken(std::size_t &bytes, Cuda::Handle stream) {
    {
      const std::lock_guard lock(mutex_);
      auto &idle = idle_[stream];
      const auto found = idle.lower_bound(bytes);
      if (found != idle.end() && found->first <= 2 * bytes) {
        bytes = found->first;
        const Cuda::Pointer memory = found->second;
        idle.erase(found);
        return memory;
      }
    }
    Cuda::Pointer memory = 0;
    in_context([&] {
      Cuda::Result result = cuda_.allocate(&memory, bytes);
      if (result == cuda_out_of_memory) {
        release_idle();
        result = cuda_.allocate(&memory, bytes);
      }
      if (result == cuda_out_of_memory)
        support::fail("E0305", fmt::format("the device '{}' has no {} bytes left", name(), bytes),
                      {}, "let arrays go that nobody needs");
      check(result, "gives no memory");
    });
    return memory;
  }

  void keep(void *given, std::size_t bytes, Cuda::Handle stream) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      if (!is_lost_.load(std::memory_order_relaxed))
        idle_[stream].emplace(bytes, reinterpret_cast<Cuda::Pointer>(given));
    } catch (const std::exception &) { // no memory to note it in, or a torn child: it is lost
    }
  }

  void release_idle() { // in the context; nobody waits for us meanwhile
    decltype(idle_) idle;
    {
      const std::lock_guard lock(mutex_);
      idle.swap(idle_);
    }
    cuda_.wait_for_all();
    for (const auto &[stream, pieces] : idle)
      for (const auto &[bytes, memory] : pieces) cuda_.free(memory);
  }

  const Cuda &cuda_;
  const int number_;
  Cuda::Handle context_ = nullptr;
  std::atomic<bool> is_lost_{false};
  support::Mutex mutex_;
  std::map<Cuda::Handle, std::multimap<std::size_t, Cuda::Pointer>> idle_; // under the lock
  std::array<std::shared_ptr<Module>, step_count> steps_;                  // under the lock
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

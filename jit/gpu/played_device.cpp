// See played_device.hpp.
#include "jit/gpu/played_device.hpp"

#include "jit/gpu/steps.hpp"
#include "jit/native/backend.hpp"
#include "jit/runtime/threads.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/undivided.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace broadloom::jit::gpu {
namespace {

class PlayedDevice final : public Device, public std::enable_shared_from_this<PlayedDevice> {
public:
  PlayedDevice() : Device("played", target_of_played(), 8) {}

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    const auto page = std::size_t(sysconf(_SC_PAGESIZE));
    bytes = std::max(page, (bytes + page - 1) / page * page);
    void *made =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
      support::fail("E0305", "the device 'played' has no " + std::to_string(bytes) + " bytes left",
                    {}, "let arrays go that nobody needs");
    const std::lock_guard lock(mutex_);
    pieces_[static_cast<char *>(made)] = bytes;
    return {made, [self = shared_from_this()](void *piece) { self->give_back(piece); }};
  }

  void copy_in(void *to, const void *from, std::size_t bytes) override {
    opened([&] { std::memcpy(to, from, bytes); });
  }
  void copy_out(void *to, const void *from, std::size_t bytes) override {
    opened([&] {
      ++launched_.copies_out;
      std::memcpy(to, from, bytes);
    });
  }
  void copy(void *to, const void *from, std::size_t bytes) override {
    opened([&] { std::memmove(to, from, bytes); });
  }
  void wait() override {}
  void *on_stream(void *stream) override { // all work is in one order
    thread_local void *here = nullptr;
    return std::exchange(here, stream);
  }
  void wait_for(void *) override { count(&Launched::waits_for); }
  void let_wait(void *) override { count(&Launched::lets_wait); }

  bool has(const void *memory) const override {
    const std::lock_guard lock(mutex_);
    const auto *at = static_cast<const char *>(memory);
    const auto after = pieces_.upper_bound(const_cast<char *>(at));
    return after != pieces_.begin() && at < std::prev(after)->first + std::prev(after)->second;
  }

  std::shared_ptr<const Code> compile(const loop::Program &program, const std::string &,
                                      const std::string &) override {
    return backend().compile(program, blocks_of(program, target()), target(), Profile::paths, 1,
                             nullptr);
  }

  void launch(const Code &code, const loop::Program &program, std::size_t phase,
              const loop::Frame &frame, const plan::Grid &grid,
              const runtime::Rows &rows) override {
    words_of(program, phase, frame, grid, rows.bytes);
    const std::int64_t warps = std::min<std::int64_t>(rows.threads, grid.blocks);
    std::vector<std::int64_t> lo(grid.lo.size()), hi(grid.lo.size());
    std::vector<char *> buffers(frame.buffers, frame.buffers + program.buffers.size());
    loop::Frame own = frame;
    own.buffers = buffers.data();
    opened([&] {
      const support::FloatControl control;
      ++launched_.launches;
      launched_.boxes += grid.blocks;
      // As a device's warps take them, the last warp first.
      for (std::int64_t warp = warps; warp-- > 0;) {
        for (std::size_t b = 0; b < buffers.size(); ++b)
          if (program.buffers[b].role == loop::Role::Row)
            buffers[b] = frame.buffers[b] + warp * rows.bytes;
        for (std::int64_t box = warp; box < grid.blocks; box += warps) {
          runtime::place_block(grid, box, lo.data(), hi.data());
          code.phases()[phase](&own, lo.data(), hi.data());
        }
      }
    });
  }

  void step(Step step, const void *arguments, std::int64_t points) override {
    if (points == 0) return;
    opened([&] {
      const support::FloatControl control;
      ++launched_.steps;
      play(step, arguments);
    });
  }

  Launched launched() const {
    const std::lock_guard lock(mutex_);
    return launched_;
  }

private:
  static Target target_of_played() {
    Target found = target_to_build("warp");
    found.cpu = "played";
    return found;
  }
  void count(std::int64_t Launched::*what) {
    const std::lock_guard lock(mutex_);
    ++(launched_.*what);
  }
  template <class Work> void opened(Work work) {
    const std::lock_guard lock(mutex_);
    protect(PROT_READ | PROT_WRITE);
    work();
    protect(PROT_NONE);
  }
  void protect(int how) {
    for (const auto &[piece, bytes] : pieces_)
      if (mprotect(piece, bytes, how) != 0) support::bug("a piece of a played device is gone");
  }
  void give_back(void *piece) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      const auto found = pieces_.find(static_cast<char *>(piece));
      munmap(found->first, found->second);
      pieces_.erase(found);
    } catch (const std::exception &) { // a torn child: it is lost
    }
  }

  mutable support::Mutex mutex_; // of all below, and of the memory
  std::map<char *, std::size_t> pieces_;
  Launched launched_;
};

PlayedDevice &instance() {
  static const std::shared_ptr<PlayedDevice> &made = // never destroyed
      *new std::shared_ptr<PlayedDevice>(std::make_shared<PlayedDevice>());
  return *made;
}

} // namespace

std::shared_ptr<Device> played_device() { return instance().shared_from_this(); }

Launched launched_on_played_device() { return instance().launched(); }

} // namespace broadloom::jit::gpu

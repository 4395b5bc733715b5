// See warp.hpp.
#include "jit/native/warp.hpp"

#include "jit/runtime/abi.hpp"
#include "support/check.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace broadloom::jit {
namespace {

constexpr std::size_t threads = 32;
constexpr std::size_t shared_bytes = std::size_t{12} << 10; // a quarter of a group's
constexpr std::size_t stack_bytes = std::size_t{2} << 20;   // of each: a phase takes at most half

class Warp {
public:
  Warp() {
    void *made = mmap(nullptr, threads * stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    stacks_ = static_cast<char *>(made);
  }
  Warp(const Warp &) = delete;
  Warp &operator=(const Warp &) = delete;
  ~Warp() { munmap(stacks_, threads * stack_bytes); }

  void run(PhaseFn phase, const loop::Frame *frame, const std::int64_t *lo,
           const std::int64_t *hi) {
    phase_ = phase;
    frame_ = frame;
    lo_ = lo;
    hi_ = hi;
    std::size_t left = threads;
    for (std::size_t k = 0; k < threads; ++k) start(k);
    waiting_for_.fill(Wait::Nothing);
    while (left > 0) {
      order_ = order_ * 1103515245 + 12345;
      const std::size_t first = order_ >> 16, step = (order_ >> 8) | 1; // odd: all come
      std::size_t ended = 0;
      for (std::size_t k = 0; k < threads; ++k) {
        now_ = (first + k * step) % threads;
        swapcontext(&caller_, &fibres_[now_]);
        ended += waiting_for_[now_] == Wait::Nothing;
      }
      for (std::size_t k = 1; k < threads; ++k)
        support::check(waiting_for_[k] == waiting_for_[0], "the threads of a warp have gone apart");
      if (ended > 0) left -= ended;
      turn_ ^= 1;
    }
  }

  std::uint32_t thread() const { return std::uint32_t(now_); }

  std::uint32_t shuffle(std::uint32_t value, std::uint32_t number) {
    const std::size_t turn = turn_;
    values_[turn][now_] = value;
    wait(Wait::Shuffle);
    return values_[turn][number % threads];
  }

  void meet() { wait(Wait::Meeting); }

  char *shared(std::size_t bytes) {
    support::check(bytes <= shared_.size(), "the threads of a warp share more than there is");
    return shared_.data();
  }

  static Warp &own() {
    thread_local Warp warp;
    return warp;
  }

private:
  enum class Wait : std::uint8_t { Nothing, Shuffle, Meeting };

  void start(std::size_t k) {
    ucontext_t &fibre = fibres_[k];
    getcontext(&fibre);
    fibre.uc_stack.ss_sp = stacks_ + k * stack_bytes;
    fibre.uc_stack.ss_size = stack_bytes;
    fibre.uc_link = &caller_;
    makecontext(&fibre, &Warp::enter, 0);
  }

  static void enter() {
    Warp &warp = own();
    warp.phase_(warp.frame_, warp.lo_, warp.hi_);
    warp.waiting_for_[warp.now_] = Wait::Nothing;
  }

  void wait(Wait what) {
    waiting_for_[now_] = what;
    swapcontext(&fibres_[now_], &caller_);
  }

  char *stacks_ = nullptr;
  alignas(16) std::array<char, shared_bytes> shared_;
  std::array<ucontext_t, threads> fibres_;
  ucontext_t caller_;
  std::array<Wait, threads> waiting_for_{};
  std::array<std::array<std::uint32_t, threads>, 2> values_{};
  std::size_t now_ = 0, turn_ = 0;
  std::uint32_t order_ = 1;
  PhaseFn phase_ = nullptr;
  const loop::Frame *frame_ = nullptr;
  const std::int64_t *lo_ = nullptr, *hi_ = nullptr;
};

void run_warp(PhaseFn phase, const loop::Frame *frame, const std::int64_t *lo,
              const std::int64_t *hi) {
  Warp::own().run(phase, frame, lo, hi);
}
std::uint32_t thread_of_warp() { return Warp::own().thread(); }
std::uint32_t shuffle_warp(std::uint32_t value, std::uint32_t number) {
  return Warp::own().shuffle(value, number);
}
void meet_in_warp() { Warp::own().meet(); }
char *shared_of_warp(std::size_t bytes) { return Warp::own().shared(bytes); }

} // namespace

std::span<const WarpSymbol> warp_symbols() {
  static const std::array symbols = {
      WarpSymbol{"bl_warp_run", reinterpret_cast<void *>(&run_warp)},
      WarpSymbol{"bl_warp_thread", reinterpret_cast<void *>(&thread_of_warp)},
      WarpSymbol{"bl_warp_shuffle", reinterpret_cast<void *>(&shuffle_warp)},
      WarpSymbol{"bl_warp_meet", reinterpret_cast<void *>(&meet_in_warp)},
      WarpSymbol{"bl_warp_shared", reinterpret_cast<void *>(&shared_of_warp)},
  };
  return symbols;
}

} // namespace broadloom::jit

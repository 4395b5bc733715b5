// See warp.hpp.
#include "jit/native/warp.hpp"

#include "jit/runtime/abi.hpp"
#include "support/check.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

// bl_switch_stack(kept, other): keeps what a callee must keep on this stack, and the stack's place
// in *kept; goes on where `other` was kept. A system's own way (swapcontext) calls the kernel twice
// for signals, which takes 50 times as long.
extern "C" void bl_switch_stack(void **kept, void *other);
#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .hidden bl_switch_stack
  .globl bl_switch_stack
  .type bl_switch_stack, @function
bl_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .size bl_switch_stack, .-bl_switch_stack
)");
constexpr int kept_words = 8, kept_address = 6; // the address to go on at, among those words
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .hidden bl_switch_stack
  .globl bl_switch_stack
  .type bl_switch_stack, %function
bl_switch_stack:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
  .size bl_switch_stack, .-bl_switch_stack
)");
constexpr int kept_words = 20, kept_address = 1;
#endif

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
        bl_switch_stack(&caller_, fibres_[now_]);
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

  // The stack as bl_switch_stack leaves it, which goes on at enter().
  void start(std::size_t k) {
    auto *top = reinterpret_cast<void **>(stacks_ + (k + 1) * stack_bytes) - kept_words;
    std::fill_n(top, kept_words, nullptr);
    top[kept_address] = reinterpret_cast<void *>(&Warp::enter);
    fibres_[k] = top;
  }

  static void enter() {
    Warp &warp = own();
    warp.phase_(warp.frame_, warp.lo_, warp.hi_);
    warp.wait(Wait::Nothing); // for ever
  }

  void wait(Wait what) {
    waiting_for_[now_] = what;
    bl_switch_stack(&fibres_[now_], caller_);
  }

  char *stacks_ = nullptr;
  alignas(16) std::array<char, shared_bytes> shared_;
  std::array<void *, threads> fibres_{};
  void *caller_ = nullptr;
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

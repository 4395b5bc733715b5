// Default floating-point control bits for the time of a block.
//
// A caller may have set flush-to-zero, another rounding mode or unmasked traps; neither what a
// kernel computes nor the constants that it is compiled with may depend on that, nor may anything
// be left changed. So a block notes the control word, loads the default one if another is in place,
// and afterwards puts back what it found, the sticky exception flags too. Both writes happen only
// where there is something to write: reading is cheap.
//
// FloatControl is for code that kernels consist of, which has no x87 instructions (polygamma, which
// has, sees to itself). FloatWorld is for all else: everything that a public function does.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace broadloom::support {

class FloatControl {
public:
#if defined(__x86_64__)
  FloatControl() : found_(_mm_getcsr()) {
    if ((found_ & ~flags) != normal) _mm_setcsr(normal);
  }
  ~FloatControl() {
    if (_mm_getcsr() != found_) _mm_setcsr(found_);
  }

private:
  static constexpr unsigned flags = 0x3f;    // the sticky exception flags
  static constexpr unsigned normal = 0x1f80; // all traps masked, round to nearest, subnormals kept
  unsigned found_;
#elif defined(__aarch64__)
  FloatControl() {
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(found_), "=r"(flags_));
    if (found_ != normal) __asm__ volatile("msr fpcr, %0" : : "r"(normal));
  }
  ~FloatControl() {
    unsigned long now;
    __asm__ volatile("mrs %0, fpcr" : "=r"(now));
    if (now != found_) __asm__ volatile("msr fpcr, %0" : : "r"(found_));
    __asm__ volatile("mrs %0, fpsr" : "=r"(now));
    if (now != flags_) __asm__ volatile("msr fpsr, %0" : : "r"(flags_));
  }

private:
  static constexpr unsigned long normal = 0; // no traps, round to nearest, subnormals kept
  unsigned long found_, flags_;
#endif

public:
  FloatControl(const FloatControl &) = delete;
  FloatControl &operator=(const FloatControl &) = delete;
};

// The same of x87, which long double is computed with.
class X87Control {
public:
#if defined(__x86_64__)
  X87Control() {
    unsigned short control, status;
    __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(control), "=m"(status));
    changed_ = control != normal || (status & flags) != 0;
    if (!changed_) return;
    __asm__ volatile("fnstenv %0" : "=m"(found_)); // masks all traps
    __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(normal));
  }
  // A trap that is pending in what is put back waits for the caller's next instruction, as it did
  // before.
  ~X87Control() {
    if (changed_) {
      __asm__ volatile("fldenv %0" : : "m"(found_));
      return;
    }
    __asm__ volatile("fnclex");
  }

private:
  struct Environment { // as fnstenv writes it
    unsigned words[7];
  };
  static constexpr unsigned short normal = 0x37f; // all masked, 64 bits, round to nearest
  static constexpr unsigned short flags = 0x7f;   // exceptions and stack fault
  Environment found_;
  bool changed_;
#else // which has none
  X87Control() {}
  ~X87Control() {}
#endif

public:
  X87Control(const X87Control &) = delete;
  X87Control &operator=(const X87Control &) = delete;
};

class FloatWorld {
  X87Control x87_;
  FloatControl sse_;
};

} // namespace broadloom::support

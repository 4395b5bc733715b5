// Default floating-point control bits for the time of a block.
//
// A caller may have set flush-to-zero, another rounding mode or unmasked traps; a kernel must neither
// compute differently for that nor leave anything changed. So a block notes the control word, loads
// the default one if another is in place, and afterwards puts back what it found, the sticky
// exception flags too. Both writes happen only where there is something to write: reading is cheap.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace broadloom::jit::runtime {

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
#else
  FloatControl() {}
  ~FloatControl() {}
#endif

public:
  FloatControl(const FloatControl &) = delete;
  FloatControl &operator=(const FloatControl &) = delete;
};

} // namespace broadloom::jit::runtime

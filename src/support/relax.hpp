// For a loop that looks at memory until another thread changes it: the processor's word for a short
// wait.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif !defined(__aarch64__)
#error "Broadloom makes code for x86-64 and aarch64"
#endif

namespace broadloom::support {

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  __asm__ volatile("yield");
#endif
}

} // namespace broadloom::support

// One loop over an array for each math function; see array_forms.hpp.
#include <cstddef>

#include "math/functions.hpp"
#include "math/functions/huge_angle.hpp"
#include "math/functions/sum_near_one.hpp"

namespace {

using broadloom::math::Vec;

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__aarch64__)
constexpr int vector_bytes = 16;
#else
constexpr int vector_bytes = 32;
#endif

template <class T> constexpr int lane_count = vector_bytes / int{sizeof(T)};

// Arrays need no more alignment than their elements.
template <class T, int N> struct Unaligned {
  typedef Vec<T, N> type __attribute__((aligned(alignof(T))));
};
template <class T, int N> Vec<T, N> load(const T *p) {
  return *reinterpret_cast<const typename Unaligned<T, N>::type *>(p);
}
template <class T, int N> void store(T *p, Vec<T, N> v) {
  *reinterpret_cast<typename Unaligned<T, N>::type *>(p) = v;
}

} // namespace

// `form` is the template: name, exact::name or fast::name.
#define BL_UNARY_FORM(symbol, form, T)                                                             \
  extern "C" void bl_array_##symbol(std::size_t n, const T *x, T *out) {                           \
    constexpr int lanes = lane_count<T>;                                                           \
    std::size_t i = 0;                                                                             \
    for (; i + lanes <= n; i += lanes) {                                                           \
      store<T, lanes>(out + i, broadloom::math::lanes::form<T, lanes>(load<T, lanes>(x + i)));     \
    }                                                                                              \
    for (; i < n; ++i) {                                                                           \
      out[i] = broadloom::math::lanes::form<T, 1>(x[i]);                                           \
    }                                                                                              \
  }
#define BL_BINARY_FORM(symbol, form, T)                                                            \
  extern "C" void bl_array_##symbol(std::size_t n, const T *x, const T *y, T *out) {               \
    constexpr int lanes = lane_count<T>;                                                           \
    std::size_t i = 0;                                                                             \
    for (; i + lanes <= n; i += lanes) {                                                           \
      store<T, lanes>(out + i, broadloom::math::lanes::form<T, lanes>(load<T, lanes>(x + i),       \
                                                                      load<T, lanes>(y + i)));     \
    }                                                                                              \
    for (; i < n; ++i) {                                                                           \
      out[i] = broadloom::math::lanes::form<T, 1>(x[i], y[i]);                                     \
    }                                                                                              \
  }

#define BL_UNARY(name)                                                                             \
  BL_UNARY_FORM(name##_f32, name, float) BL_UNARY_FORM(name##_f64, name, double)
#define BL_BINARY(name)                                                                            \
  BL_BINARY_FORM(name##_f32, name, float) BL_BINARY_FORM(name##_f64, name, double)
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY

#define BL_EXACT_UNARY(name) BL_UNARY_FORM(exact_##name##_f32, exact::name, float)
#define BL_EXACT_BINARY(name) BL_BINARY_FORM(exact_##name##_f32, exact::name, float)
#define BL_FAST_UNARY(name) BL_UNARY_FORM(fast_##name##_f32, fast::name, float)
#define BL_FAST_BINARY(name) BL_BINARY_FORM(fast_##name##_f32, fast::name, float)
#include "math/modes.def"

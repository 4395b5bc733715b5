// See array_table.hpp.
#include "jit/math/array_table.hpp"

#include "jit/math/array_forms.hpp"
#include "math/scalar.hpp"

#include <algorithm>
#include <vector>

namespace broadloom::jit {
namespace {

template <class T, void (*form)(std::size_t, const T *, T *)>
void one(std::size_t n, const T *x, const T *, T *out) {
  form(n, x, out);
}
template <class T, T (*form)(T)> void each(std::size_t n, const T *x, const T *, T *out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = form(x[i]);
}
template <class T, T (*form)(T, T)> void each_two(std::size_t n, const T *x, const T *y, T *out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = form(x[i], y[i]);
}

#define BL_UNARY_ROW(name, mode, scalar, symbol)                                                   \
  {#name,                                                                                          \
   Accuracy::mode,                                                                                 \
   1,                                                                                              \
   each<T, scalar>,                                                                                \
   one<T, v3_bl_array_##symbol>,                                                                   \
   one<T, v4_bl_array_##symbol>},
#define BL_BINARY_ROW(name, mode, scalar, symbol)                                                  \
  {#name, Accuracy::mode, 2, each_two<T, scalar>, v3_bl_array_##symbol, v4_bl_array_##symbol},

std::vector<ArrayForm<float>> f32_forms() {
  using T = float;
  std::vector<ArrayForm<T>> high = {
#define BL_UNARY(name) BL_UNARY_ROW(name, high, math::name, name##_f32)
#define BL_BINARY(name) BL_BINARY_ROW(name, high, math::name, name##_f32)
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY
  };
  const std::vector<ArrayForm<T>> others = {
#define BL_EXACT_UNARY(name) BL_UNARY_ROW(name, exact, math::exact::name, exact_##name##_f32)
#define BL_EXACT_BINARY(name) BL_BINARY_ROW(name, exact, math::exact::name, exact_##name##_f32)
#define BL_FAST_UNARY(name) BL_UNARY_ROW(name, fast, math::fast::name, fast_##name##_f32)
#define BL_FAST_BINARY(name) BL_BINARY_ROW(name, fast, math::fast::name, fast_##name##_f32)
#include "math/modes.def"
  };
  std::vector<ArrayForm<T>> all;
  for (const ArrayForm<T> &form : high) {
    all.push_back(form);
    std::copy_if(others.begin(), others.end(), std::back_inserter(all),
                 [&](const ArrayForm<T> &other) { return other.name == form.name; });
  }
  return all;
}

std::vector<ArrayForm<double>> f64_forms() {
  using T = double;
  return {
#define BL_UNARY(name) BL_UNARY_ROW(name, high, math::name, name##_f64)
#define BL_BINARY(name) BL_BINARY_ROW(name, high, math::name, name##_f64)
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY
  };
}

} // namespace

template <> std::span<const ArrayForm<float>> array_forms<float>() {
  static const std::vector<ArrayForm<float>> forms = f32_forms();
  return forms;
}
template <> std::span<const ArrayForm<double>> array_forms<double>() {
  static const std::vector<ArrayForm<double>> forms = f64_forms();
  return forms;
}

#if defined(__aarch64__)
bool has_v3() { return true; }
bool has_v4() { return false; }
#else
bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
#endif

std::string_view word_for(Accuracy accuracy) {
  switch (accuracy) {
  case Accuracy::high: return "high";
  case Accuracy::exact: return "exact";
  case Accuracy::fast: return "fast";
  }
  return {};
}

} // namespace broadloom::jit

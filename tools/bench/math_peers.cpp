// See math_peers.hpp.
#include "bench/math_peers.hpp"

#include "jit/math/array_table.hpp"

#include <dlfcn.h>
#include <immintrin.h>

#include <cstdio>
#include <string>

namespace bench {
namespace {

// One loop for each register and arity; the attribute lets this file be compiled for any machine.
#define BL_LOOPS(suffix, isa, T, V, load, store)                                                   \
  __attribute__((target(isa))) void one_##suffix(void *function, std::size_t n, const T *x,        \
                                                 const T *, T *out) {                              \
    const auto f = reinterpret_cast<V (*)(V)>(function);                                           \
    for (std::size_t i = 0; i < n; i += sizeof(V) / sizeof(T)) store(out + i, f(load(x + i)));     \
  }                                                                                                \
  __attribute__((target(isa))) void two_##suffix(void *function, std::size_t n, const T *x,        \
                                                 const T *y, T *out) {                             \
    const auto f = reinterpret_cast<V (*)(V, V)>(function);                                        \
    for (std::size_t i = 0; i < n; i += sizeof(V) / sizeof(T))                                     \
      store(out + i, f(load(x + i), load(y + i)));                                                 \
  }
BL_LOOPS(v4_f32, "avx512f", float, __m512, _mm512_loadu_ps, _mm512_storeu_ps)
BL_LOOPS(v4_f64, "avx512f", double, __m512d, _mm512_loadu_pd, _mm512_storeu_pd)
BL_LOOPS(v3_f32, "avx2", float, __m256, _mm256_loadu_ps, _mm256_storeu_ps)
BL_LOOPS(v3_f64, "avx2", double, __m256d, _mm256_loadu_pd, _mm256_storeu_pd)
#undef BL_LOOPS

void *opened(Library library) {
  static const auto open = [](const char *file, const char *advice) {
    void *handle = dlopen(file, RTLD_NOW);
    if (!handle) std::fprintf(stderr, "SKIPPED: %s is not here; %s\n", file, advice);
    return handle;
  };
  static void *const sleef = open("libsleef.so.3", "apt-get install libsleef3");
  static void *const libmvec = open("libmvec.so.1", "it comes with glibc on x86-64");
  return library == Library::Sleef ? sleef : libmvec;
}

// Sleef_expf16_u10avx512f; _ZGVeN16v_expf
template <class T> void *find_symbol(Library library, std::string_view name, int arity, bool wide) {
  void *const handle = opened(library);
  if (!handle) return nullptr;
  const std::string function = std::string(name) + (sizeof(T) == 4 ? "f" : "");
  const std::string lanes = std::to_string((wide ? 64 : 32) / sizeof(T));
  if (library == Library::Libmvec) {
    const std::string symbol = std::string("_ZGV") + (wide ? "e" : "d") + "N" + lanes +
                               (arity == 2 ? "vv_" : "v_") + function;
    return dlsym(handle, symbol.c_str());
  }
  for (const char *error : {"u10", "u15", "u05"}) { // erfc has u15 only, hypot u05
    const std::string symbol = "Sleef_" + function.substr(0, name.size()) +
                               (sizeof(T) == 4 ? "f" : "d") + lanes + "_" + error +
                               (wide ? "avx512f" : "avx2");
    if (void *found = dlsym(handle, symbol.c_str())) return found;
  }
  return nullptr;
}

} // namespace

bool is_here(Library library) { return opened(library) != nullptr; }

template <class T> OverArrays<T> find_peer(Library library, std::string_view name, int arity) {
  const bool wide = broadloom::jit::has_v4();
  if (!broadloom::jit::has_v3()) return {};
  void *const function = find_symbol<T>(library, name, arity, wide);
  if (!function) return {};
  const auto loop = [&] {
    if constexpr (sizeof(T) == 4)
      return wide ? arity == 2 ? two_v4_f32 : one_v4_f32 : arity == 2 ? two_v3_f32 : one_v3_f32;
    else
      return wide ? arity == 2 ? two_v4_f64 : one_v4_f64 : arity == 2 ? two_v3_f64 : one_v3_f64;
  }();
  return [=](std::size_t n, const T *x, const T *y, T *out) { loop(function, n, x, y, out); };
}
template OverArrays<float> find_peer(Library, std::string_view, int);
template OverArrays<double> find_peer(Library, std::string_view, int);

} // namespace bench

// The vector math of other libraries over arrays: SLEEF (u10, at most 1 ulp) and glibc's libmvec
// (at most 4).
//
// Method: both are opened while the program runs, so that neither is needed to build it. Their
// functions take one register, AVX-512's or AVX2's; which name a function has follows from its own.
// Example: find_peer<float>(Library::Sleef, "exp", 1)(n, x, nullptr, out);
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace bench {

enum class Library { Sleef, Libmvec };

template <class T>
using OverArrays = std::function<void(std::size_t n, const T *x, const T *y, T *out)>;

// Empty where the library lacks it; n must be a multiple of 16.
template <class T> OverArrays<T> find_peer(Library library, std::string_view name, int arity);

// Whether the library itself is here; if not, one line on stderr says so, once.
bool is_here(Library library);

} // namespace bench

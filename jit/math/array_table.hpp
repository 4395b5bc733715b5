// A table of the array forms: every function, type and accuracy mode, at every level.
//
// Problem: the proof, the tests and the benchmark of the math go through all functions and must
// cover a new one without being told.
// Method: the rows follow from functions.def and modes.def. All forms have one signature; unary
// ones do not read y. Example:
//   for (const ArrayForm<float> &form : array_forms<float>()) form.scalar(n, x, y, out);
#pragma once

#include <broadloom/accuracy.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace broadloom::jit {

template <class T> using OverArrays = void (*)(std::size_t n, const T *x, const T *y, T *out);

template <class T> struct ArrayForm {
  std::string_view name; // "exp"
  Accuracy accuracy;     // f64 has high only
  int arity;
  OverArrays<T> scalar; // what the interpreter calls, in a loop
  OverArrays<T> v3;     // may run only where has_v3()
  OverArrays<T> v4;     // .. has_v4()
};

// In the order of functions.def; the other modes of a function follow its high form.
template <class T> std::span<const ArrayForm<T>> array_forms();

// What this machine can run.
bool has_v3();
bool has_v4();

std::string_view word_for(Accuracy accuracy); // "high", "exact", "fast"

} // namespace broadloom::jit

// Runs all forms of one function of one type over its arguments and holds them against the
// reference.
//
// f32 functions of one argument see all 2^32 (or every `stride`th), all others a list of samples.
// Example: prove<float>("exp", {}) -> worst error, misrounded arguments, equal bits of each mode.
#pragma once

#include "jit/math/array_table.hpp"

#include <broadloom/accuracy.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace broadloom::prove {

struct Options {
  std::uint64_t stride = 1;           // over the bit patterns of f32
  std::uint64_t samples = 10'000'000; // of f64 and of functions of two arguments, beside the edges
  unsigned threads = 0;               // 0: all
  std::uint64_t scalar_every = 16; // blocks of 4096 arguments of which one goes to the scalar form
};

inline constexpr std::size_t most_examples = 32;

// What was found of one form.
template <class T> struct Finding {
  Accuracy accuracy = Accuracy::high;
  double worst = 0.5; // in ulps; infinity for a wrong special value
  T worst_x = 0, worst_y = 0;
  std::uint64_t misrounded = 0;
  std::vector<std::pair<T, T>> examples; // some of them
  std::uint64_t unequal = 0;             // arguments where scalar, AVX2 and AVX-512 form differ
  T unequal_x = 0, unequal_y = 0;
  std::uint64_t hash = 0;
};

template <class T> struct Proof {
  std::string_view name;
  int arity = 1;
  std::uint64_t inputs = 0;
  bool all = false;                 // every value of the type
  std::vector<Finding<T>> findings; // one for each form: high, then the others
  double seconds = 0;
  std::uint64_t by_mpfr = 0; // arguments that MPFR decided
};

// The function must be in the tables of forms and of references.
template <class T> Proof<T> prove(std::string_view name, const Options &options);

// The same of these forms, which claim to be `name`.
template <class T>
Proof<T> prove(std::string_view name, std::span<const jit::ArrayForm<T>> forms,
               const Options &options);

} // namespace broadloom::prove

// Whether results are near enough to those of the reference.
//
// Elements differ from the reference only by the rounding of folds, and what becomes of it: the
// compiled fold adds up in another order. So an output that depends on no such fold must have equal
// bits. Others may be off by 4096 units of f64 and 64 of the narrowest type that a fold is rounded
// to, of the greatest
// element: folds are good to 64 units, and few kernels make an error larger than 64 times.
//
// What cancels does: sum(x - mean(x, j), j) is all rounding. Where an output does not keep to this,
// the reference is evaluated some more times with the elements of folds moved by 64 units, and an
// element may be off by 4 times what that moves it. An element of which no bound can be had that
// way may be anything: it is NaN in one of these and not in another, or moves more where errors are
// less.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <atomic>
#include <span>
#include <string>
#include <vector>

namespace broadloom::checked {

// An output against the reference.
struct OutputCheck {
  std::string name;
  bool passed = true; // equal bits, or no element is off by more than it may be
  // Of the element that uses most of its tolerance, in C order: its difference is NaN where only
  // one of the two is finite.
  double difference = 0;
  double tolerance =
      0; // 0 where no fold rounds: then all bits must be equal; inf where anything may come out
  std::int64_t at = -1; // which element that is; -1: all are equal
};

// The results of one kernel for one call.
struct Results {
  std::vector<std::string> names; // of the outputs that were computed
  std::vector<AnyView> got, wanted;
  std::vector<AnyView> before; // what `+=` adds to
};

// Throws CancelledError once `cancel` is true. `inputs` are those of a call, then the shapes that
// outputs lend.
std::vector<OutputCheck> hold_against(const spec::TypedSpec &typed, std::span<const AnyView> inputs,
                                      const Results &results, const std::atomic<bool> *cancel);

// Equal bits, all NaNs being equal; of complex numbers, part by part.
bool same_bits(const char *a, const char *b, DType dtype);

// As the array that it is of would print it.
std::string value_text(const char *element, DType dtype);
// The indices of an element by its number in C order, and these as text: "[3, 0]".
std::vector<std::int64_t> indices_of(const Layout &layout, std::int64_t element);
std::string position_text(std::span<const std::int64_t> indices);
// Its address.
const char *element_at(const AnyView &view, std::int64_t element);

} // namespace broadloom::checked

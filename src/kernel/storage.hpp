// In which order the arrays between kernels lie: by what all that write and read them cost,
// whichever was written first in the text.
//
//   let h[i, j] = x * 2          x in C order: a producer that writes rows
//   out y = h[k, r] + h[k + 1, r] + h[k + 2, r] + w        w[r, k] in C order: a consumer that
//                                                          reads columns, three times
//
// A kernel costs the bytes that its operands have to go through, those that lie across its fastest
// axis up to four times, along the axis for which this is least. The choice follows from the text,
// shapes and strides of inputs alone.
//
// Source: the orders of all arrays are variables, the cost of each kernel a factor over those that
// it touches. Variables are eliminated one after the other (Dechter, "Bucket elimination", 1999):
// exact wherever the tables stay small, as on trees; else each is improved in turn.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace broadloom::kernel {

struct StoredArray {
  Layout layout;        // to begin with, and that of arrays that are given
  bool is_free = false; // it may lie in another order, without gaps
};

// A kernel between them: which array each input is that it is given, and which one it writes, if
// that is one of them.
struct StorageStep {
  const spec::TypedSpec *typed = nullptr;
  std::vector<std::size_t> inputs;
  std::ptrdiff_t output = -1;
};

// The layouts of all arrays, and what the steps cost, in bytes: with the best layouts that were
// found, and as it was before. Where the best saves less than a tenth, all stay as they were.
struct Storage {
  std::vector<Layout> layouts;
  double bytes = 0, bytes_before = 0;
};
Storage choose_storage(std::span<const StoredArray> arrays, std::span<const StorageStep> steps);

} // namespace broadloom::kernel

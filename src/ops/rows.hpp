// The operations of ops.hpp on many elements at a time, as they lie in memory.
//
// A row is elements `step` bytes apart, each as an array of its type holds it. What is done to one
// element is what `evaluate` and `convert` do to it, to the bit; only the choice of the operation
// and of the types is made once for the row instead of once for each element.
//
//   evaluate_row(Op::Add, f32, {{x, 4}, {y, 0}}, {z, 4}, 100)   z[i] = x[i] + y[0]
#pragma once

#include "ops/ops.hpp"

namespace broadloom::ops {

struct Row {
  const char *data = nullptr;
  std::int64_t step = 0; // 0: one element for all; negative: from the end
};
struct WritableRow {
  char *data = nullptr;
  std::int64_t step = 0;
};

// What is done to a row: the result of args[0][i], args[1][i], .. goes to out[i], which may be on
// one of them. `accuracy` chooses among the forms of a function of f32.
using RowFunction = void (*)(const Row *args, WritableRow out, std::int64_t count, Accuracy);

// `evaluate` on each element. The result is written as the type that `op` gives: bool for
// comparisons and predicates, the type of the parts for abs, real and imag of complex numbers, else
// `compute`.
RowFunction row_function(Op op, DType compute);
// `convert` on each element.
RowFunction row_conversion(DType from, DType to);

inline void evaluate_row(Op op, DType compute, std::span<const Row> args, WritableRow out,
                         std::int64_t count, Accuracy accuracy = Accuracy::high) {
  row_function(op, compute)(args.data(), out, count, accuracy);
}
inline void convert_row(Row from, DType from_type, WritableRow to, DType to_type,
                        std::int64_t count) {
  row_conversion(from_type, to_type)(&from, to, count, Accuracy::high);
}

} // namespace broadloom::ops

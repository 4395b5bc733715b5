// What one value is at one position: shared by the interpreters of loops and of blocks, which
// differ in how loops run.
#pragma once

#include "loop/loop.hpp"

#include <vector>

namespace broadloom::loop::interpreted {

using ops::Scalar;
using States = std::vector<Scalar>;

// Literals and extents have their value before a phase runs.
inline bool is_ready(const Value &v) {
  return v.kind == ValueKind::Literal || v.kind == ValueKind::Extent;
}
inline Scalar ready(const Value &v, const Frame &frame) {
  return v.kind == ValueKind::Extent ? ops::scalar_from(frame.extents[v.axis.index]) : v.literal;
}

// Of an operation or a cast.
inline Scalar compute(const Value &v, const Scalar (&args)[3], Accuracy accuracy) {
  return v.kind == ValueKind::Cast ? ops::convert(args[0], v.compute, v.dtype)
                                   : ops::evaluate(v.op, v.compute, args, accuracy);
}

// Runs the code of an accumulator on its states. Once it has run, nothing is allocated.
struct RecipeRunner {
  const ops::Recipe *recipe = nullptr;
  Accuracy accuracy = Accuracy::high;
  States inputs, work;

  // On `inputs`.
  void take(const ops::Code &code, States &out) {
    ops::run(code, inputs, work, accuracy);
    out.resize(code.results.size());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = work[code.results[k]];
  }
  void join(const States &a, const States &b, States &out) {
    inputs = a;
    inputs.insert(inputs.end(), b.begin(), b.end());
    take(recipe->combine, out);
  }
};

} // namespace broadloom::loop::interpreted

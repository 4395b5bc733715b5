// An accumulator for certain element types: where it starts, what one step and one join of two
// blocks do.
//
//   sum in f64        states s = 0             step s + x                    combine s + s_other
//   argmax of f32     states v = 0, i = -1     step takes x where larger     combine likewise
//   a' = 0.5 a + m    states a = 0             step 0.5 * a + m
//       none: the fold is ordered
//
// Everything after analysis knows accumulators only in this form: the reference, the plan, the
// interpreter and the emitter run its code, and none of them knows an accumulator by name.
#pragma once

#include "ops/ops.hpp"

#include <string>
#include <vector>

namespace broadloom::ops {

// Straight-line code over scalars. Values are numbered: the inputs first, then one for each line.
struct Code {
  struct Line {
    enum class Kind : std::uint8_t { Literal, Op, Cast } kind = Kind::Op;
    Op op = Op::Add;
    DType compute =
        DType::F64; // Op: type of the arguments (of args[1] for Where); Cast: the type cast from
    DType dtype = DType::F64; // of the result
    std::uint32_t args[3] = {};
    int arg_count = 0;
    Scalar literal;
    friend bool operator==(const Line &, const Line &) = default;
  };
  int inputs = 0;
  std::vector<Line> lines;
  std::vector<std::uint32_t> results;
  friend bool operator==(const Code &, const Code &) = default;
};

struct Recipe {
  std::string name; // for people: equal recipes may have different names
  std::vector<DType> states;
  std::vector<Scalar> start; // of each state; the identity of `combine` where there is one
  std::vector<DType> args;
  Code step; // inputs: the states, then the arguments; results: the states
  Code
      combine; // inputs: the states, then those of the later block; no results: the fold is ordered
  bool exact = false;    // steps and joins in any order give the same bits
  bool commutes = false; // combine may take blocks in any order: lanes may share the elements out
  bool needs_value = false; // folding nothing is an error

  bool has_combine() const { return !combine.results.empty(); }
};
bool same(const Recipe &a, const Recipe &b); // but for the names

// The place of this recipe in a table, that of the old one where there is an equal one.
std::uint32_t intern(std::vector<Recipe> &table, const Recipe &recipe);

// The one-operation accumulators of the table: `value (op) value` in the accumulate type.
Recipe recipe_of(Fold fold, DType accumulate);

// The accumulator that folds the results of whole blocks: its step is the combine.
Recipe joining(const Recipe &recipe);

// The operation of a recipe that is a single one: sum's is Add.
std::optional<Op> only_op(const Recipe &recipe);

// The sum of x * y, which is not rounded on the way.
Recipe dot_product(DType dtype);

// Whether a step adds its argument, or the product of its two by fma: zeros change no state.
bool adds_up(const Recipe &recipe);

// Whether a step joins a block, as that of `joining` does, and that of an accumulator of one
// operation.
bool step_is_join(const Recipe &recipe);

// Whether the states are a number as a mantissa and a count of factors that have been taken out of
// it: a float, and an integer that goes by the float, where a step is a join. Products that must
// not leave the range of a type are such.
bool is_scaled_number(const Recipe &recipe);

// Whether a block that has stepped, joined with the identity as the later block, is seen to stay as
// it is to the bit.
//   sum: 0 + x is never -0, so that + 0 changes nothing, as + -0 never does
//       logsumexp: its combine calls exp, nobody knows
bool identity_is_neutral(const Recipe &recipe);

// Whether a combine is seen to give the same states with the two blocks exchanged: by its form, so
// that an answer of no means nothing.
//   s + s_other, max(m, m_other) do     a * b_other + b     does not
bool is_symmetric(const Code &combine);

// Runs code on one element of each input; `work` is the caller's, to be reused. The results are
// work[code.results[k]].
void run(const Code &code, std::span<const Scalar> inputs, std::vector<Scalar> &work,
         Accuracy accuracy = Accuracy::high);

// Makes the values of code that is written out in another form: literal(line), cast(line, value)
// and operation(line, values) make one each. Gives the results.
template <class Value, class Literal, class Cast, class Operation>
std::vector<Value> write_out(const Code &code, std::vector<Value> values, Literal literal,
                             Cast cast, Operation operation) {
  for (const Code::Line &line : code.lines) {
    std::vector<Value> args;
    for (int k = 0; k < line.arg_count; ++k) args.push_back(values[line.args[k]]);
    switch (line.kind) {
    case Code::Line::Kind::Literal: values.push_back(literal(line)); break;
    case Code::Line::Kind::Cast: values.push_back(cast(line, args[0])); break;
    case Code::Line::Kind::Op: values.push_back(operation(line, args)); break;
    }
  }
  std::vector<Value> results;
  for (const std::uint32_t result : code.results) results.push_back(values[result]);
  return results;
}

} // namespace broadloom::ops

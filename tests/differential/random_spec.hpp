// Random kernels as text, with shapes that fit them.
//
// A case is a function of its seed. It is either exact or general:
// - exact: all data are small powers of two and zeros, and only operations are used that keep sums
//   exact in f64, so every order of summation gives the same bits and the reference must be met
//   exactly;
// - general: any operation, any values, NaN and infinities too. An output without a float sum or
//   product must still be met exactly; a sum that is the whole output must lie within the bound.
#pragma once

#include <broadloom/broadloom.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace broadloom::differential {

// Any: all that the language has. Smooth: what has slopes that can be measured, on few points, so
// that the gradient exists and can be checked: real and complex inputs mostly, few jumps, no way
// through integers. Large: shapes of 10^4 to 10^6 points for which the planner has ways of its own
// (large_shapes.hpp), and cheap functions.
enum class Style { Any, Smooth, Large };

// Of an output with the reference. Loose: floats to a few digits, all else equal.
enum class Agreement { Equal, Bound, None, Loose };

struct RandomInput {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
};

struct RandomOutput {
  std::string name;
  bool add = false;
  Agreement agreement = Agreement::Equal;
};

struct RandomSpec {
  std::uint64_t seed = 0;
  bool exact = false;
  std::string text;
  // The same kernel where every output that is to be met within a bound is the f64 sum of the
  // absolute values; empty where there is none.
  std::string bound_text;
  std::vector<RandomInput> inputs;
  std::vector<RandomOutput> outputs;
};

RandomSpec random_spec(std::uint64_t seed, Style style = Style::Any);

} // namespace broadloom::differential
